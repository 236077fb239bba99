// Stands in for lattice/ice40_pll.sv in simulation: the clock passes through, and the lock comes after eight cycles.
`default_nettype none

module ice40_pll #(
    // As in lattice/ice40_pll.sv; without effect here.
    parameter int DIVR = 0,
    // As in lattice/ice40_pll.sv; without effect here.
    parameter int DIVF = 63,
    // As in lattice/ice40_pll.sv; without effect here.
    parameter int DIVQ = 5,
    // As in lattice/ice40_pll.sv; without effect here.
    parameter int FILTER_RANGE = 1
) (
    input  wire clk_in,
    output wire clk_out,
    output wire locked
);
  localparam int UNUSED = DIVR + DIVF + DIVQ + FILTER_RANGE;

  logic [3:0] count;
  initial count = UNUSED < 0 ? 4'd1 : 4'd0;

  always_ff @(posedge clk_in) if (!locked) count <= count + 1'b1;

  assign clk_out = clk_in;
  assign locked = count[3];
endmodule

`default_nettype wire
