// One component of the force of a pair: k * difference / 2^P, rounded to nearest, halves away from zero, so that the
// force changes only its sign when the two particles change places. Six stages: 1 to 4 the product, 5 which way to
// round, 6 rounded.
`default_nettype none

module md_force #(
    // Bits of a position.
    parameter int P = 24,
    // Bits of k, signed.
    parameter int K = 33,
    // Bits of the force, enough for k's.
    parameter int SUM = 36,
    // As in md_multiply.
    parameter bit ECP5 = 0
) (
    input wire clk,
    input wire signed [K-1:0] k,
    input wire signed [P:0] difference,
    // Six cycles later.
    output logic signed [SUM-1:0] force_out
);
  localparam int WHOLE = K + 1;  // bits of the product above P

  if (SUM < WHOLE) begin : g_sum
    $error("md_force: SUM must be more than K");
  end

  wire signed [K+P:0] product;
  md_product #(
      .A(K),
      .B(P + 1),
      .ECP5(ECP5)
  ) u_product (
      .clk(clk),
      .a(k),
      .b(difference),
      .product(product)
  );

  logic signed [WHOLE-1:0] whole;
  logic up;
  always_ff @(posedge clk) begin
    whole <= product[K+P:P];
    up <= product[P-1] && (!product[K+P] || product[P-2:0] != '0);
    force_out <= SUM'(whole) + SUM'(up);
  end
endmodule

`default_nettype wire
