// The smallest core that a board top takes: adds one to the low 20 bits of 21, and keeps the top bit.
`default_nettype none

module loopback_core (
    input wire clk,
    input wire rst,
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [20:0] s_axis_tdata,
    input wire s_axis_tlast,
    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [20:0] m_axis_tdata,
    output wire m_axis_tlast
);
  wire [20:0] pipe_in_data;
  logic [20:0] first, second;

  always_ff @(posedge clk) begin
    first <= {pipe_in_data[20], pipe_in_data[19:0] + 1'b1};
    second <= first;
  end

  credit_stream #(
      .IN_WIDTH(21),
      .OUT_WIDTH(21),
      .LATENCY(2)
  ) u_credit (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(s_axis_tready),
      .s_axis_tdata(s_axis_tdata),
      .s_axis_tlast(s_axis_tlast),
      .pipe_in_data(pipe_in_data),
      .pipe_out_data(second),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tlast(m_axis_tlast)
  );
endmodule

`default_nettype wire
