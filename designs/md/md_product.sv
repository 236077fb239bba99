// Signed product in three stages of pieces that fit multipliers of 18 bits: 1 the products of the pieces, 2 those of one
// weight added, 3 all added. A number of at most 18 bits is one piece; a longer one is cut above bit 17.
`default_nettype none

module md_product #(
    // Bits of the factors, at most 35.
    parameter int A = 18,
    parameter int B = 18
) (
    input wire clk,
    input wire signed [A-1:0] a,
    input wire signed [B-1:0] b,
    // Three cycles later.
    output logic signed [A+B-1:0] product
);
  if (A < 1 || A > 35 || B < 1 || B > 35) begin : g_bits
    $error("md_product: A and B must be 1 to 35");
  end

  localparam int OUT = A + B;

  if (A <= 18 && B <= 18) begin : g_one
    logic signed [OUT-1:0] whole, again;
    always_ff @(posedge clk) begin
      whole <= a * b;
      again <= whole;
      product <= again;
    end
  end else if (A <= 18 || B <= 18) begin : g_two
    // `cut` is the one in two pieces.
    localparam int LONG = A > 18 ? A : B;
    localparam int SHORT = A > 18 ? B : A;
    localparam int HIGH = LONG - 17;
    wire signed [LONG-1:0] cut;
    wire signed [SHORT-1:0] narrow;
    if (A > 18) begin : g_a
      assign cut = a;
      assign narrow = b;
    end else begin : g_b
      assign cut = b;
      assign narrow = a;
    end
    wire signed [17:0] low_piece = {1'b0, cut[16:0]};
    wire signed [HIGH-1:0] high_piece = cut[LONG-1:17];
    logic signed [17+SHORT:0] low;
    logic signed [HIGH+SHORT-1:0] high;
    logic signed [OUT-1:0] whole;
    wire signed [SHORT:0] carried = low[17+SHORT:17];

    always_ff @(posedge clk) begin
      low <= low_piece * narrow;
      high <= high_piece * narrow;
      whole[16:0] <= low[16:0];
      whole[OUT-1:17] <= high + (HIGH + SHORT)'(carried);
      product <= whole;
    end
  end else begin : g_four
    localparam int HA = A - 17;
    localparam int HB = B - 17;
    // Of the products of a high and a low piece, and of their sum.
    localparam int CROSS = (HA > HB ? HA : HB) + 18;
    wire signed [17:0] a_low = {1'b0, a[16:0]};
    wire signed [17:0] b_low = {1'b0, b[16:0]};
    wire signed [HA-1:0] a_high = a[A-1:17];
    wire signed [HB-1:0] b_high = b[B-1:17];
    logic signed [35:0] low;
    logic signed [HA+17:0] cross_a;
    logic signed [HB+17:0] cross_b;
    logic signed [CROSS:0] crossed;
    logic signed [HA+HB-1:0] high;
    logic signed [OUT-1:0] outer;  // high and low together: they do not overlap
    wire signed [OUT-18:0] outer_part = outer[OUT-1:17];

    always_ff @(posedge clk) begin
      low <= a_low * b_low;
      cross_a <= a_high * b_low;
      cross_b <= b_high * a_low;
      high <= a_high * b_high;
      crossed <= (CROSS + 1)'(cross_a) + (CROSS + 1)'(cross_b);
      outer <= {high, low[33:0]};
      product[16:0] <= outer[16:0];
      product[OUT-1:17] <= outer_part + (OUT - 17)'(crossed);
    end
    wire unused = &{1'b0, low[35:34]};
  end
endmodule

`default_nettype wire
