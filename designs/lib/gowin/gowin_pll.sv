// Clock for a design out of the board's oscillator, by the Gowin PLL (rPLL of GW1N(R)-9 and GW2A(R)-18).
// output = input / (IDIV_SEL + 1) * (FBDIV_SEL + 1), VCO = output * ODIV_SEL. `designs.boards.plls.solve_gowin` finds
// dividers inside the limits of the data sheet. For simulation use sim/gowin_pll.sv, which passes the clock through.
`default_nettype none

module gowin_pll #(
    // Frequency of the input in MHz, as text.
    parameter FCLKIN = "27",
    // Device, as text: the primitive wants it.
    parameter DEVICE = "GW1NR-9C",
    // Divider of the input clock less one, 0 to 63.
    parameter int IDIV_SEL = 0,
    // Multiplier less one, 0 to 63.
    parameter int FBDIV_SEL = 0,
    // Divider from the VCO to the output: 2, 4, 8, 16, 32, 48, 64, 80, 96, 112 or 128.
    parameter int ODIV_SEL = 32
) (
    input  wire clk_in,
    output wire clk_out,
    output wire locked
);
  if (IDIV_SEL < 0 || IDIV_SEL > 63 || FBDIV_SEL < 0 || FBDIV_SEL > 63 || ODIV_SEL < 2 || ODIV_SEL > 128) begin : g_divider
    $error("gowin_pll: IDIV_SEL and FBDIV_SEL must be from 0 to 63, ODIV_SEL from 2 to 128");
  end

  rPLL #(
      .FCLKIN(FCLKIN),
      .DEVICE(DEVICE),
      .IDIV_SEL(IDIV_SEL),
      .FBDIV_SEL(FBDIV_SEL),
      .ODIV_SEL(ODIV_SEL),
      .DYN_IDIV_SEL("false"),
      .DYN_FBDIV_SEL("false"),
      .DYN_ODIV_SEL("false"),
      .CLKFB_SEL("internal")
  ) u_pll (
      .CLKIN(clk_in),
      .CLKOUT(clk_out),
      .LOCK(locked),
      .CLKFB(1'b0),
      .RESET(1'b0),
      .RESET_P(1'b0),
      .FBDSEL(6'b0),
      .IDSEL(6'b0),
      .ODSEL(6'b0),
      .PSDA(4'b0),
      .DUTYDA(4'b0),
      .FDLY(4'b0)
  );
endmodule

`default_nettype wire
