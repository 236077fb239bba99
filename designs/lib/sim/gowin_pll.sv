// Stands in for gowin/gowin_pll.sv in simulation: the clock passes through, and the lock comes after eight cycles.
`default_nettype none

module gowin_pll #(
    // As in gowin/gowin_pll.sv; without effect here.
    parameter FCLKIN = "27",
    // As in gowin/gowin_pll.sv; without effect here.
    parameter DEVICE = "GW1NR-9C",
    // As in gowin/gowin_pll.sv; without effect here.
    parameter int IDIV_SEL = 0,
    // As in gowin/gowin_pll.sv; without effect here.
    parameter int FBDIV_SEL = 0,
    // As in gowin/gowin_pll.sv; without effect here.
    parameter int ODIV_SEL = 32
) (
    input  wire clk_in,
    output wire clk_out,
    output wire locked
);
  localparam int UNUSED = IDIV_SEL + FBDIV_SEL + ODIV_SEL + $bits(FCLKIN) + $bits(DEVICE);

  logic [3:0] count;
  initial count = UNUSED < 0 ? 4'd1 : 4'd0;

  always_ff @(posedge clk_in) if (!locked) count <= count + 1'b1;

  assign clk_out = clk_in;
  assign locked = count[3];
endmodule

`default_nettype wire
