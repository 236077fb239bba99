// Clock for a design on the VC709 out of the differential system clock, by the MMCM of a Virtex-7.
// VCO = 200 MHz / DIVIDE * MULTIPLY, output = VCO / OUTPUT. `designs.boards.vendor.clocks.mmcm` finds values inside the
// limits of the data sheet. For simulation take the stand-ins of the primitives in sim/, which pass the clock through.
`default_nettype none

module vc709_clock #(
    // Divider of the input clock, 1 to 106.
    parameter int DIVIDE = 1,
    // Multiplier to the VCO, 2 to 64.
    parameter int MULTIPLY = 5,
    // Divider from the VCO to the output, 1 to 128.
    parameter int OUTPUT = 10
) (
    input wire sysclk_p,
    input wire sysclk_n,
    output wire clk,
    output wire locked
);
  if (DIVIDE < 1 || DIVIDE > 106 || MULTIPLY < 2 || MULTIPLY > 64 || OUTPUT < 1 || OUTPUT > 128) begin : g_divider
    $error("vc709_clock: DIVIDE must be from 1 to 106, MULTIPLY from 2 to 64, OUTPUT from 1 to 128");
  end

  wire input_clock, output_clock, feedback;

  IBUFDS u_buffer (
      .I (sysclk_p),
      .IB(sysclk_n),
      .O (input_clock)
  );

  MMCME2_BASE #(
      .CLKIN1_PERIOD(5.0),
      .DIVCLK_DIVIDE(DIVIDE),
      .CLKFBOUT_MULT_F(MULTIPLY),
      .CLKOUT0_DIVIDE_F(OUTPUT)
  ) u_mmcm (
      .CLKIN1(input_clock),
      .CLKFBIN(feedback),
      .CLKFBOUT(feedback),
      .CLKOUT0(output_clock),
      .LOCKED(locked),
      .PWRDWN(1'b0),
      .RST(1'b0),
      // verilator lint_off PINCONNECTEMPTY
      .CLKFBOUTB(),
      .CLKOUT0B(),
      .CLKOUT1(),
      .CLKOUT1B(),
      .CLKOUT2(),
      .CLKOUT2B(),
      .CLKOUT3(),
      .CLKOUT3B(),
      .CLKOUT4(),
      .CLKOUT5(),
      .CLKOUT6()
      // verilator lint_on PINCONNECTEMPTY
  );

  BUFG u_global (
      .I(output_clock),
      .O(clk)
  );
endmodule

`default_nettype wire
