// Width converter: collects BYTES bytes into one word, the first byte in the lowest bits; one byte a cycle.
// A byte with tlast ends its word at once, with zeros in the bytes that did not come, and passes tlast on.
// s_axis_tready is combinational from m_axis_tready.
`default_nettype none

module stream_pack #(
    // Bytes in a word, at least 1.
    parameter int BYTES = 4
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [7:0] s_axis_tdata,
    input wire s_axis_tlast,

    output logic m_axis_tvalid,
    input wire m_axis_tready,
    output logic [8*BYTES-1:0] m_axis_tdata,
    output logic m_axis_tlast
);
  if (BYTES < 1) begin : g_bytes
    $error("stream_pack: BYTES must be at least 1");
  end

  localparam int COUNT = BYTES > 1 ? $clog2(BYTES) : 1;

  logic [COUNT-1:0] count;  // bytes that the word has so far

  assign s_axis_tready = !m_axis_tvalid || m_axis_tready;
  wire take = s_axis_tvalid && s_axis_tready;
  wire complete = s_axis_tlast || count == COUNT'(BYTES - 1);

  always_ff @(posedge clk) begin
    for (int i = 0; i < BYTES; i++) begin
      if (take && count == COUNT'(i)) m_axis_tdata[8*i+:8] <= s_axis_tdata;
      else if (take && count == '0) m_axis_tdata[8*i+:8] <= '0;
    end
    if (take) m_axis_tlast <= s_axis_tlast;
  end

  always_ff @(posedge clk) begin
    if (s_axis_tready) m_axis_tvalid <= take && complete;
    if (take) count <= complete ? '0 : count + 1'b1;
    if (rst) begin
      m_axis_tvalid <= 1'b0;
      count <= '0;
    end
  end
endmodule

`default_nettype wire
