// Ports and parameters of Lattice's PLL primitive, without behaviour: for lint only.
`default_nettype none
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */

module EHXPLLL #(
    parameter int CLKI_DIV = 1,
    parameter int CLKFB_DIV = 1,
    parameter FEEDBK_PATH = "CLKOP",
    parameter CLKOP_ENABLE = "ENABLED",
    parameter int CLKOP_DIV = 8,
    parameter int CLKOP_CPHASE = 0,
    parameter int CLKOP_FPHASE = 0,
    parameter CLKOS_ENABLE = "ENABLED",
    parameter int CLKOS_DIV = 8,
    parameter int CLKOS_CPHASE = 0,
    parameter int CLKOS_FPHASE = 0,
    parameter OUTDIVIDER_MUXA = "DIVA",
    parameter OUTDIVIDER_MUXB = "DIVB",
    parameter PLLRST_ENA = "DISABLED",
    parameter INTFB_WAKE = "DISABLED",
    parameter STDBY_ENABLE = "DISABLED",
    parameter DPHASE_SOURCE = "DISABLED"
) (
    input wire CLKI,
    input wire CLKFB,
    input wire RST,
    input wire STDBY,
    input wire PHASESEL0,
    input wire PHASESEL1,
    input wire PHASEDIR,
    input wire PHASESTEP,
    input wire PHASELOADREG,
    input wire PLLWAKESYNC,
    input wire ENCLKOP,
    input wire ENCLKOS,
    output wire CLKOP,
    output wire CLKOS,
    output wire LOCK
);
  assign CLKOP = CLKI;
  assign CLKOS = CLKI;
  assign LOCK = 1'b1;
endmodule

`default_nettype wire
