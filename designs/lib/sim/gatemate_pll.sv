// Stands in for gatemate/gatemate_pll.sv in simulation: the clock passes through, the lock comes after eight cycles.
`default_nettype none

module gatemate_pll #(
    // As in gatemate/gatemate_pll.sv; without effect here.
    parameter REF_CLK = "10.0",
    // As in gatemate/gatemate_pll.sv; without effect here.
    parameter OUT_CLK = "20.0",
    // As in gatemate/gatemate_pll.sv; without effect here.
    parameter PERF_MD = "ECONOMY"
) (
    input  wire clk_in,
    output wire clk_out,
    output wire locked
);
  localparam int UNUSED = $bits(REF_CLK) + $bits(OUT_CLK) + $bits(PERF_MD);

  logic [3:0] count;
  initial count = UNUSED < 0 ? 4'd1 : 4'd0;

  always_ff @(posedge clk_in) if (!locked) count <= count + 1'b1;

  assign clk_out = clk_in;
  assign locked = count[3];
endmodule

`default_nettype wire
