// A core with a block memory for tests of configuration: answers byte x with 37 * x + 11, out of a table.
`default_nettype none

module table_core (
    input wire clk,
    input wire rst,
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [7:0] s_axis_tdata,
    input wire s_axis_tlast,
    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [7:0] m_axis_tdata,
    output wire m_axis_tlast
);
  // Large enough that synthesis takes a block memory for it.
  (* ram_style = "block" *)
  logic [7:0] table_[1024];
  initial for (int i = 0; i < 1024; i++) table_[i] = 8'(37 * i + 11);

  wire  [7:0] pipe_in_data;
  logic [7:0] answer;
  always_ff @(posedge clk) answer <= table_[{2'b00, pipe_in_data}];

  credit_stream #(
      .IN_WIDTH(8),
      .OUT_WIDTH(8),
      .LATENCY(1)
  ) u_credit (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(s_axis_tready),
      .s_axis_tdata(s_axis_tdata),
      .s_axis_tlast(s_axis_tlast),
      .pipe_in_data(pipe_in_data),
      .pipe_out_data(answer),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tlast(m_axis_tlast)
  );
endmodule

`default_nettype wire
