// Clock for a design out of the board's oscillator, by the GateMate PLL (CC_PLL). The dividers are found by place and
// route from the two frequencies; `designs.boards.families` checks what it found. For simulation use
// sim/gatemate_pll.sv, which passes the clock through.
`default_nettype none

module gatemate_pll #(
    // Frequencies of the input and of the output in MHz, as text with a decimal point.
    parameter REF_CLK = "10.0",
    parameter OUT_CLK = "20.0",
    // Performance mode, which depends on the core voltage: LOWPOWER (0.9 V), ECONOMY (1.0 V) or SPEED (1.1 V).
    parameter PERF_MD = "ECONOMY"
) (
    input  wire clk_in,
    output wire clk_out,
    output wire locked
);
  CC_PLL #(
      .REF_CLK(REF_CLK),
      .OUT_CLK(OUT_CLK),
      .PERF_MD(PERF_MD),
      .LOCK_REQ(1),
      .LOW_JITTER(1),
      .CI_FILTER_CONST(2),
      .CP_FILTER_CONST(4)
  ) u_pll (
      .CLK_REF(clk_in),
      .CLK0(clk_out),
      .USR_PLL_LOCKED(locked),
      .CLK_FEEDBACK(1'b0),
      .USR_CLK_REF(1'b0),
      .USR_LOCKED_STDY_RST(1'b0)
  );
endmodule

`default_nettype wire
