// A core with a memory, for tests of lines that lose bytes: each result depends on every word since the reset.
// The word 0xdeadbeef hangs it until the next reset.
`default_nettype none

module remembering_core (
    input wire clk,
    input wire rst,
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [31:0] s_axis_tdata,
    input wire s_axis_tlast,
    output logic m_axis_tvalid,
    input wire m_axis_tready,
    output logic [31:0] m_axis_tdata,
    output wire m_axis_tlast
);
  logic hung;

  assign s_axis_tready = !hung && (!m_axis_tvalid || m_axis_tready);
  assign m_axis_tlast  = 1'b0;

  always_ff @(posedge clk) begin
    if (s_axis_tvalid && s_axis_tready) begin
      hung          <= s_axis_tdata == 32'hdeadbeef;
      m_axis_tvalid <= 1'b1;
      m_axis_tdata  <= {m_axis_tdata[24:0], m_axis_tdata[31:25]} + (s_axis_tdata ^ 32'h9e3779b9);
    end else if (m_axis_tready) begin
      m_axis_tvalid <= 1'b0;
    end
    if (rst) begin
      hung          <= 1'b0;
      m_axis_tvalid <= 1'b0;
      m_axis_tdata  <= '0;
    end
  end

  wire unused = &{1'b0, s_axis_tlast};
endmodule

`default_nettype wire
