// One term of the force law: linear interpolation in a table over the squared distance,
// value = c0 + floor(c1 * delta / 2^D). FILE holds S * 2^B words {c1, c0}, c0 lowest.
//
// Six stages: 1 the table, 2 to 5 the product, 6 the sum.
`default_nettype none

module md_table #(
    // Words.
    parameter int WORDS = 1024,
    // Bits of the place in a bin.
    parameter int D = 14,
    // Bits of c0 and of the value, signed.
    parameter int VALUE = 32,
    // Bits of c1, signed.
    parameter int SLOPE = 27,
    // Memory image.
    parameter FILE = "",
    // As in md_multiply.
    parameter bit ECP5 = 0,
    // Bits of an address; derived.
    parameter int ADDRESS = $clog2(WORDS)
) (
    input wire clk,
    input wire [ADDRESS-1:0] address,
    input wire [D-1:0] delta,
    // Six cycles later.
    output logic signed [VALUE-1:0] value
);
  wire [SLOPE+VALUE-1:0] word;

  rom #(
      .WIDTH(SLOPE + VALUE),
      .DEPTH(WORDS),
      .FILE(FILE),
      .REGISTERS(1)
  ) u_rom (
      .clk(clk),
      .address(address),
      .data(word)
  );

  wire [D-1:0] late_delta;
  delay #(
      .WIDTH (D),
      .STAGES(1)
  ) u_delta (
      .clk(clk),
      .in (delta),
      .out(late_delta)
  );

  wire signed [SLOPE+D:0] product;
  md_product #(
      .A(SLOPE),
      .B(D + 1),
      .ECP5(ECP5)
  ) u_product (
      .clk(clk),
      .a(word[SLOPE+VALUE-1:VALUE]),
      .b({1'b0, late_delta}),
      .product(product)
  );

  wire [VALUE-1:0] base;
  delay #(
      .WIDTH (VALUE),
      .STAGES(4)
  ) u_base (
      .clk(clk),
      .in (word[VALUE-1:0]),
      .out(base)
  );

  wire signed [SLOPE:0] step = product[SLOPE+D:D];
  always_ff @(posedge clk) value <= base + VALUE'(step);
  wire unused = &{1'b0, product[D-1:0]};
endmodule

`default_nettype wire
