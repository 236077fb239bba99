// Clock for a design out of the board's oscillator, by the iCE40 PLL (SB_PLL40_PAD: the clock pin belongs to the PLL).
// output = input / (DIVR + 1) * (DIVF + 1) / 2^DIVQ. `designs.boards.plls.solve_ice40` finds dividers inside the limits
// of the data sheet. For simulation use sim/ice40_pll.sv, which passes the clock through.
`default_nettype none

module ice40_pll #(
    // Divider of the input clock less one, 0 to 15.
    parameter int DIVR = 0,
    // Multiplier less one, 0 to 127.
    parameter int DIVF = 63,
    // Power of two that divides the VCO, 1 to 6.
    parameter int DIVQ = 5,
    // Loop filter by the frequency at the phase detector, 1 to 6.
    parameter int FILTER_RANGE = 1
) (
    input  wire clk_in,
    output wire clk_out,
    output wire locked
);
  if (DIVR < 0 || DIVR > 15 || DIVF < 0 || DIVF > 127 || DIVQ < 1 || DIVQ > 6 || FILTER_RANGE < 1 || FILTER_RANGE > 6) begin : g_divider
    $error("ice40_pll: DIVR must be from 0 to 15, DIVF from 0 to 127, DIVQ and FILTER_RANGE from 1 to 6");
  end

  SB_PLL40_PAD #(
      .FEEDBACK_PATH("SIMPLE"),
      .PLLOUT_SELECT("GENCLK"),
      .DIVR(4'(DIVR)),
      .DIVF(7'(DIVF)),
      .DIVQ(3'(DIVQ)),
      .FILTER_RANGE(3'(FILTER_RANGE))
  ) u_pll (
      .PACKAGEPIN(clk_in),
      .PLLOUTGLOBAL(clk_out),
      .LOCK(locked),
      .RESETB(1'b1),
      .BYPASS(1'b0)
  );
endmodule

`default_nettype wire
