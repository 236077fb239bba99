// Stands in for lattice/ecp5_pll.sv in simulation: the clock passes through, and the lock comes after eight cycles.
`default_nettype none

module ecp5_pll #(
    // As in lattice/ecp5_pll.sv; without effect here.
    parameter int CLKI_DIV  = 1,
    // As in lattice/ecp5_pll.sv; without effect here.
    parameter int CLKOP_DIV = 24,
    // As in lattice/ecp5_pll.sv; without effect here.
    parameter int CLKOS_DIV = 6
) (
    input  wire clk_in,
    output wire clk_out,
    output wire locked
);
  localparam int UNUSED = CLKI_DIV + CLKOP_DIV + CLKOS_DIV;

  logic [3:0] count;
  initial count = UNUSED < 0 ? 4'd1 : 4'd0;

  always_ff @(posedge clk_in) if (!locked) count <= count + 1'b1;

  assign clk_out = clk_in;
  assign locked = count[3];
endmodule

`default_nettype wire
