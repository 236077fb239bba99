// Width converter: splits a word into BYTES bytes, the lowest bits first; one byte a cycle without gaps.
// tlast of a word goes with its last byte. s_axis_tready is combinational from m_axis_tready.
`default_nettype none

module stream_unpack #(
    // Bytes in a word, at least 1.
    parameter int BYTES = 4
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [8*BYTES-1:0] s_axis_tdata,
    input wire s_axis_tlast,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [7:0] m_axis_tdata,
    output wire m_axis_tlast
);
  if (BYTES < 1) begin : g_bytes
    $error("stream_unpack: BYTES must be at least 1");
  end

  localparam int COUNT = $clog2(BYTES + 1);

  logic [8*BYTES-1:0] word;  // the bytes still to go, the next one lowest
  logic last;
  logic [COUNT-1:0] left;  // bytes still to go

  assign s_axis_tready = left == '0 || (left == COUNT'(1) && m_axis_tready);
  assign m_axis_tvalid = left != '0;
  assign m_axis_tdata = word[7:0];
  assign m_axis_tlast = last && left == COUNT'(1);
  wire take = s_axis_tvalid && s_axis_tready;

  always_ff @(posedge clk) begin
    if (take) begin
      word <= s_axis_tdata;
      last <= s_axis_tlast;
    end else if (m_axis_tready) begin
      word <= word >> 8;
    end
  end

  always_ff @(posedge clk) begin
    if (take) left <= COUNT'(BYTES);
    else if (m_axis_tvalid && m_axis_tready) left <= left - 1'b1;
    if (rst) left <= '0;
  end
endmodule

`default_nettype wire
