// A free-running pipeline (adds one, LATENCY registers) behind credit_stream.
`default_nettype none

module credit_dut #(
    // Bits of a word.
    parameter int WIDTH   = 32,
    // Registers in the pipeline.
    parameter int LATENCY = 4
) (
    input wire clk,
    input wire rst,
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [WIDTH-1:0] s_axis_tdata,
    input wire s_axis_tlast,
    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [WIDTH-1:0] m_axis_tdata,
    output wire m_axis_tlast
);
  wire [WIDTH-1:0] pipe_in_data, pipe_out_data;
  logic [LATENCY-1:0][WIDTH-1:0] stage;

  always_ff @(posedge clk) begin
    stage[0] <= pipe_in_data + 1'b1;
    for (int i = 1; i < LATENCY; i++) stage[i] <= stage[i-1];
  end
  assign pipe_out_data = stage[LATENCY-1];

  credit_stream #(
      .IN_WIDTH(WIDTH),
      .OUT_WIDTH(WIDTH),
      .LATENCY(LATENCY)
  ) u_credit (
      .*
  );
endmodule

`default_nettype wire
