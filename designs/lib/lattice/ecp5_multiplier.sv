// Product of two signed numbers in one DSP block of an ECP5, with the registers in it: `product` is that of the numbers
// of two cycles before. Synthesis does not find these registers by itself.
// Numbers lie in the upper bits of the block's inputs: sign bits spread over the unused ones would be wires to route.
`default_nettype none

module ecp5_multiplier #(
    // Bits of a number, at most 18.
    parameter int BITS = 8
) (
    input wire clk,
    input wire [BITS-1:0] x,
    input wire [BITS-1:0] y,
    output wire [2*BITS-1:0] product
);
  if (BITS < 2 || BITS > 18) begin : g_bits
    $error("ecp5_multiplier: BITS must be 2 to 18");
  end

  wire [17:0] a, b;
  wire [35:0] p;

  if (BITS < 18) begin : g_low
    assign a = {x, {(18 - BITS) {1'b0}}};
    assign b = {y, {(18 - BITS) {1'b0}}};
    wire unused = &{1'b0, p[35-2*BITS:0]};
  end else begin : g_full
    assign a = x;
    assign b = y;
  end
  assign product = p[35-:2*BITS];

  MULT18X18D #(
      .REG_INPUTA_CLK("CLK0"),
      .REG_INPUTB_CLK("CLK0"),
      .REG_OUTPUT_CLK("CLK0")
  ) u_mult (
      .A0(a[0]), .A1(a[1]), .A2(a[2]), .A3(a[3]), .A4(a[4]), .A5(a[5]), .A6(a[6]), .A7(a[7]), .A8(a[8]),
      .A9(a[9]), .A10(a[10]), .A11(a[11]), .A12(a[12]), .A13(a[13]), .A14(a[14]), .A15(a[15]), .A16(a[16]), .A17(a[17]),
      .B0(b[0]), .B1(b[1]), .B2(b[2]), .B3(b[3]), .B4(b[4]), .B5(b[5]), .B6(b[6]), .B7(b[7]), .B8(b[8]),
      .B9(b[9]), .B10(b[10]), .B11(b[11]), .B12(b[12]), .B13(b[13]), .B14(b[14]), .B15(b[15]), .B16(b[16]), .B17(b[17]),
      .C0(1'b0), .C1(1'b0), .C2(1'b0), .C3(1'b0), .C4(1'b0), .C5(1'b0), .C6(1'b0), .C7(1'b0), .C8(1'b0),
      .C9(1'b0), .C10(1'b0), .C11(1'b0), .C12(1'b0), .C13(1'b0), .C14(1'b0), .C15(1'b0), .C16(1'b0), .C17(1'b0),
      .P0(p[0]), .P1(p[1]), .P2(p[2]), .P3(p[3]), .P4(p[4]), .P5(p[5]), .P6(p[6]), .P7(p[7]), .P8(p[8]),
      .P9(p[9]), .P10(p[10]), .P11(p[11]), .P12(p[12]), .P13(p[13]), .P14(p[14]), .P15(p[15]), .P16(p[16]), .P17(p[17]),
      .P18(p[18]), .P19(p[19]), .P20(p[20]), .P21(p[21]), .P22(p[22]), .P23(p[23]), .P24(p[24]), .P25(p[25]), .P26(p[26]),
      .P27(p[27]), .P28(p[28]), .P29(p[29]), .P30(p[30]), .P31(p[31]), .P32(p[32]), .P33(p[33]), .P34(p[34]), .P35(p[35]),
      .SIGNEDA(1'b1),
      .SIGNEDB(1'b1),
      .SOURCEA(1'b0),
      .SOURCEB(1'b0),
      .CLK0(clk),
      .CLK1(1'b0),
      .CLK2(1'b0),
      .CLK3(1'b0),
      .CE0(1'b1),
      .CE1(1'b1),
      .CE2(1'b1),
      .CE3(1'b1),
      .RST0(1'b0),
      .RST1(1'b0),
      .RST2(1'b0),
      .RST3(1'b0)
  );
endmodule

`default_nettype wire
