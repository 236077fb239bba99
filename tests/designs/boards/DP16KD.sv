// What the lattice memory of the shell uses of the ECP5's block RAM: port A writes, port B reads with an output register.
// Address bits and byte enables are those that Yosys' own mapping drives; OCEB enables the output register.
`default_nettype none
/* verilator lint_off UNUSEDPARAM */

module DP16KD #(
    parameter int DATA_WIDTH_A = 18,
    parameter int DATA_WIDTH_B = 18,
    parameter REGMODE_A = "NOREG",
    parameter REGMODE_B = "NOREG",
    parameter RESETMODE = "SYNC",
    parameter ASYNC_RESET_RELEASE = "SYNC",
    parameter CSDECODE_A = "0b000",
    parameter CSDECODE_B = "0b000",
    parameter WRITEMODE_A = "NORMAL",
    parameter WRITEMODE_B = "NORMAL",
    parameter GSR = "ENABLED"
) (
    input wire
    CLKA, CEA, OCEA, WEA, RSTA, CSA0, CSA1, CSA2, ADA0, ADA1, ADA2, ADA3,
    ADA4, ADA5, ADA6, ADA7, ADA8, ADA9, ADA10, ADA11, ADA12, ADA13, DIA0, DIA1,
    DIA2, DIA3, DIA4, DIA5, DIA6, DIA7, DIA8, DIA9, DIA10, DIA11, DIA12, DIA13,
    DIA14, DIA15, DIA16, DIA17, CLKB, CEB, OCEB, WEB, RSTB, CSB0, CSB1, CSB2,
    ADB0, ADB1, ADB2, ADB3, ADB4, ADB5, ADB6, ADB7, ADB8, ADB9, ADB10, ADB11,
    ADB12, ADB13, DIB0, DIB1, DIB2, DIB3, DIB4, DIB5, DIB6, DIB7, DIB8, DIB9,
    DIB10, DIB11, DIB12, DIB13, DIB14, DIB15, DIB16, DIB17,
    output wire
    DOB0, DOB1, DOB2, DOB3, DOB4, DOB5, DOB6, DOB7, DOB8, DOB9, DOB10, DOB11,
    DOB12, DOB13, DOB14, DOB15, DOB16, DOB17
);
  if (REGMODE_B != "OUTREG" || DATA_WIDTH_A != DATA_WIDTH_B) begin : g_mode
    $error("DP16KD: this model only has an output register and equal widths");
  end

  // Places of nine bits of which the narrow widths use eight.
  localparam int UNIT = DATA_WIDTH_A > 8 ? 9 : 8;
  localparam int PLACES = 2048;
  logic [UNIT-1:0] bytes[PLACES];
  logic [17:0] word, register;
  wire [13:0] to = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
  wire [13:0] from = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  wire [17:0] in = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} = register;

  always_ff @(posedge CLKA) begin
    if (CEA && WEA && !CSA0 && !CSA1 && !CSA2) begin
      if (DATA_WIDTH_A == 18) begin
        if (ADA0) bytes[{to[13:4], 1'b0}] <= UNIT'(in[8:0]);
        if (ADA1) bytes[{to[13:4], 1'b1}] <= UNIT'(in[17:9]);
      end else begin
        for (int i = 0; i < DATA_WIDTH_A; i++) bytes[to[13:3]][DATA_WIDTH_A==9?i : int'(to[2:0])+i] <= in[i];
      end
    end
  end

  always_ff @(posedge CLKB) begin
    if (CEB) begin
      if (DATA_WIDTH_B == 18) word <= 18'({bytes[{from[13:4], 1'b1}], bytes[{from[13:4], 1'b0}]});
      else word <= 18'(bytes[from[13:3]] >> (DATA_WIDTH_B == 9 ? 0 : from[2:0]));
    end
    if (OCEB) register <= word;
  end

  wire unused = &{1'b0, OCEA, RSTA, RSTB, WEB, CSB0, CSB1, CSB2, DIB0, DIB1, DIB2, DIB3, DIB4, DIB5, DIB6, DIB7, DIB8, DIB9, DIB10, DIB11, DIB12, DIB13, DIB14, DIB15, DIB16, DIB17};
endmodule

`default_nettype wire
