// Stands in for the vendor's MMCM: the first output is the input clock, and the lock comes after eight cycles.
// Parameters are as the vendor's, without effect, but for a VCO outside the limits of speed grade -2, which is an error.
`default_nettype none

module MMCME2_BASE #(
    parameter real CLKIN1_PERIOD = 5.0,
    parameter int DIVCLK_DIVIDE = 1,
    parameter real CLKFBOUT_MULT_F = 5.0,
    parameter real CLKOUT0_DIVIDE_F = 1.0
) (
    input  wire CLKIN1,
    input  wire CLKFBIN,
    output wire CLKFBOUT,
    output wire CLKFBOUTB,
    output wire CLKOUT0,
    output wire CLKOUT0B,
    output wire CLKOUT1,
    output wire CLKOUT1B,
    output wire CLKOUT2,
    output wire CLKOUT2B,
    output wire CLKOUT3,
    output wire CLKOUT3B,
    output wire CLKOUT4,
    output wire CLKOUT5,
    output wire CLKOUT6,
    output wire LOCKED,
    input  wire PWRDWN,
    input  wire RST
);
  localparam real VCO_MHZ = 1000.0 / CLKIN1_PERIOD / DIVCLK_DIVIDE * CLKFBOUT_MULT_F;
  if (VCO_MHZ < 600.0 || VCO_MHZ > 1440.0 || CLKOUT0_DIVIDE_F < 1.0) begin : g_vco
    $error("MMCME2_BASE: the VCO must run from 600 to 1440 MHz");
  end

  logic [3:0] count;
  initial count = 4'd0;

  always_ff @(posedge CLKIN1) if (!LOCKED) count <= count + 1'b1;

  wire unused = &{1'b0, CLKFBIN, PWRDWN, RST};
  assign LOCKED = count[3];
  assign CLKOUT0 = CLKIN1;
  assign CLKFBOUT = CLKIN1;
  assign {CLKFBOUTB, CLKOUT0B, CLKOUT1, CLKOUT1B, CLKOUT2, CLKOUT2B, CLKOUT3, CLKOUT3B, CLKOUT4, CLKOUT5} = '0;
  assign CLKOUT6 = 1'b0;
endmodule

`default_nettype wire
