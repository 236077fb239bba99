// Signed product in four stages of pieces that fit multipliers of 18 bits: 1 the factors, 2 the products of the pieces, 3
// those of one weight added, 4 all added. A number of at most 18 bits is one piece; a longer one is cut above bit 17.
`default_nettype none

module md_product #(
    // Bits of the factors, at most 35.
    parameter int A = 18,
    parameter int B = 18,
    // As in md_multiply.
    parameter bit ECP5 = 0
) (
    input wire clk,
    input wire signed [A-1:0] a,
    input wire signed [B-1:0] b,
    // Four cycles later.
    output logic signed [A+B-1:0] product
);
  if (A < 1 || A > 35 || B < 1 || B > 35) begin : g_bits
    $error("md_product: A and B must be 1 to 35");
  end

  localparam int OUT = A + B;

  if (A <= 18 && B <= 18) begin : g_one
    wire signed [OUT-1:0] whole;
    logic signed [OUT-1:0] again;
    md_multiply #(
        .A(A),
        .B(B),
        .ECP5(ECP5)
    ) u_whole (
        .clk(clk),
        .a(a),
        .b(b),
        .product(whole)
    );
    always_ff @(posedge clk) begin
      again   <= whole;
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
    wire signed [17+SHORT:0] low;
    wire signed [HIGH+SHORT-1:0] high;
    logic signed [OUT-1:0] whole;
    wire signed [SHORT:0] carried = low[17+SHORT:17];

    md_multiply #(
        .A(18),
        .B(SHORT),
        .ECP5(ECP5)
    ) u_low (
        .clk(clk),
        .a({1'b0, cut[16:0]}),
        .b(narrow),
        .product(low)
    );
    md_multiply #(
        .A(HIGH),
        .B(SHORT),
        .ECP5(ECP5)
    ) u_high (
        .clk(clk),
        .a(cut[LONG-1:17]),
        .b(narrow),
        .product(high)
    );

    always_ff @(posedge clk) begin
      whole[16:0] <= low[16:0];
      whole[OUT-1:17] <= high + (HIGH + SHORT)'(carried);
      product <= whole;
    end
  end else begin : g_four
    localparam int HA = A - 17;
    localparam int HB = B - 17;
    // Of the products of a high and a low piece, and of their sum.
    localparam int CROSS = (HA > HB ? HA : HB) + 18;
    wire signed [35:0] low;
    wire signed [HA+17:0] cross_a;
    wire signed [HB+17:0] cross_b;
    wire signed [HA+HB-1:0] high;
    logic signed [CROSS:0] crossed;
    logic signed [OUT-1:0] outer;  // high and low together: they do not overlap
    wire signed [OUT-18:0] outer_part = outer[OUT-1:17];

    md_multiply #(
        .ECP5(ECP5)
    ) u_low (
        .clk(clk),
        .a({1'b0, a[16:0]}),
        .b({1'b0, b[16:0]}),
        .product(low)
    );
    md_multiply #(
        .A(HA),
        .ECP5(ECP5)
    ) u_cross_a (
        .clk(clk),
        .a(a[A-1:17]),
        .b({1'b0, b[16:0]}),
        .product(cross_a)
    );
    md_multiply #(
        .A(HB),
        .ECP5(ECP5)
    ) u_cross_b (
        .clk(clk),
        .a(b[B-1:17]),
        .b({1'b0, a[16:0]}),
        .product(cross_b)
    );
    md_multiply #(
        .A(HA),
        .B(HB),
        .ECP5(ECP5)
    ) u_high (
        .clk(clk),
        .a(a[A-1:17]),
        .b(b[B-1:17]),
        .product(high)
    );

    always_ff @(posedge clk) begin
      crossed <= (CROSS + 1)'(cross_a) + (CROSS + 1)'(cross_b);
      outer <= {high, low[33:0]};
      product[16:0] <= outer[16:0];
      product[OUT-1:17] <= outer_part + (OUT - 17)'(crossed);
    end
    wire unused = &{1'b0, low[35:34]};
  end
endmodule

`default_nettype wire
