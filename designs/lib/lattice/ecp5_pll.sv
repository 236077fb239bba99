// Clock for a design out of the board's oscillator, by the ECP5 PLL (EHXPLLL).
// VCO = input / CLKI_DIV * CLKOP_DIV (the feedback output), output = VCO / CLKOS_DIV. `designs.boards.pll.solve` finds
// dividers inside the limits of the data sheet. For simulation use sim/ecp5_pll.sv, which passes the clock through.
`default_nettype none

module ecp5_pll #(
    // Divider of the input clock, 1 to 128.
    parameter int CLKI_DIV  = 1,
    // Divider of the feedback output, 1 to 128: the VCO runs at this multiple of the divided input.
    parameter int CLKOP_DIV = 24,
    // Divider from the VCO to the output, 1 to 128.
    parameter int CLKOS_DIV = 6
) (
    input  wire clk_in,
    output wire clk_out,
    output wire locked
);
  if (CLKI_DIV < 1 || CLKI_DIV > 128 || CLKOP_DIV < 1 || CLKOP_DIV > 128 || CLKOS_DIV < 1 || CLKOS_DIV > 128) begin : g_divider
    $error("ecp5_pll: CLKI_DIV, CLKOP_DIV and CLKOS_DIV must be from 1 to 128");
  end

  wire feedback;

  EHXPLLL #(
      .CLKI_DIV(CLKI_DIV),
      .CLKFB_DIV(1),
      .FEEDBK_PATH("CLKOP"),
      .CLKOP_ENABLE("ENABLED"),
      .CLKOP_DIV(CLKOP_DIV),
      .CLKOP_CPHASE(CLKOP_DIV - 1),
      .CLKOP_FPHASE(0),
      .CLKOS_ENABLE("ENABLED"),
      .CLKOS_DIV(CLKOS_DIV),
      .CLKOS_CPHASE(CLKOS_DIV - 1),
      .CLKOS_FPHASE(0),
      .OUTDIVIDER_MUXA("DIVA"),
      .OUTDIVIDER_MUXB("DIVB"),
      .PLLRST_ENA("DISABLED"),
      .INTFB_WAKE("DISABLED"),
      .STDBY_ENABLE("DISABLED"),
      .DPHASE_SOURCE("DISABLED")
  ) u_pll (
      .CLKI(clk_in),
      .CLKFB(feedback),
      .CLKOP(feedback),
      .CLKOS(clk_out),
      .LOCK(locked),
      .RST(1'b0),
      .STDBY(1'b0),
      .PHASESEL0(1'b0),
      .PHASESEL1(1'b0),
      .PHASEDIR(1'b0),
      .PHASESTEP(1'b0),
      .PHASELOADREG(1'b0),
      .PLLWAKESYNC(1'b0),
      .ENCLKOP(1'b0),
      .ENCLKOS(1'b0)
  );
endmodule

`default_nettype wire
