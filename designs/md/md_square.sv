// Square of an unsigned number in three stages: 1 the number, 2 products of pieces, 3 their sum. A number of at most 17
// bits is one piece, which fits a signed multiplier of 18; a longer one is cut above bit 17.
`default_nettype none

module md_square #(
    // Bits, at most 34.
    parameter int BITS = 24,
    // As in md_multiply.
    parameter bit ECP5 = 0
) (
    input wire clk,
    input wire [BITS-1:0] a,
    // Three cycles later.
    output logic [2*BITS-1:0] squared
);
  if (BITS < 1 || BITS > 34) begin : g_bits
    $error("md_square: BITS must be 1 to 34");
  end

  if (BITS <= 17) begin : g_one
    wire [2*BITS+1:0] whole;
    md_multiply #(
        .A(BITS + 1),
        .B(BITS + 1),
        .ECP5(ECP5)
    ) u_whole (
        .clk(clk),
        .a({1'b0, a}),
        .b({1'b0, a}),
        .product(whole)
    );
    always_ff @(posedge clk) squared <= whole[2*BITS-1:0];
    wire unused = &{1'b0, whole};
  end else begin : g_three
    localparam int HIGH = BITS - 17;
    wire [17:0] low_piece = {1'b0, a[16:0]};
    wire [HIGH:0] high_piece = {1'b0, a[BITS-1:17]};
    wire [35:0] low;
    wire [HIGH+18:0] crossed;
    wire [2*HIGH+1:0] high;

    md_multiply #(
        .ECP5(ECP5)
    ) u_low (
        .clk(clk),
        .a(low_piece),
        .b(low_piece),
        .product(low)
    );
    md_multiply #(
        .A(HIGH + 1),
        .ECP5(ECP5)
    ) u_crossed (
        .clk(clk),
        .a(high_piece),
        .b(low_piece),
        .product(crossed)
    );
    if (ECP5 && HIGH >= 2 && HIGH <= 8) begin : g_short
      // In LUTs: a block for so few bits would only crowd the others.
      logic [HIGH-1:0] short_piece;
      logic [2*HIGH-1:0] short_square;
      wire [2*HIGH-1:0] now;
      md_filter_square #(
          .BITS(HIGH)
      ) u_high (
          .a(short_piece),
          .squared(now)
      );
      always_ff @(posedge clk) begin
        short_piece  <= a[BITS-1:17];
        short_square <= now;
      end
      assign high = {2'b00, short_square};
    end else begin : g_block
      md_multiply #(
          .A(HIGH + 1),
          .B(HIGH + 1),
          .ECP5(ECP5)
      ) u_high (
          .clk(clk),
          .a(high_piece),
          .b(high_piece),
          .product(high)
      );
    end

    // Products of numbers without sign: of each the two top bits are zero.
    always_ff @(posedge clk) begin
      squared[17:0] <= low[17:0];
      squared[2*BITS-1:18] <= {high[2*HIGH-1:0], low[33:18]} + (2 * BITS - 18)'(crossed[HIGH+16:0]);
    end
    wire unused = &{1'b0, low[35:34], crossed[HIGH+18:HIGH+17], high[2*HIGH+1:2*HIGH]};
  end
endmodule

`default_nettype wire
