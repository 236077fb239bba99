// Square of an unsigned number in two stages: products of pieces of at most 18 bits, then their sum.
`default_nettype none

module md_square #(
    // Bits, at most 36.
    parameter int BITS = 24
) (
    input wire clk,
    input wire [BITS-1:0] a,
    // Two cycles later.
    output logic [2*BITS-1:0] squared
);
  if (BITS < 1 || BITS > 36) begin : g_bits
    $error("md_square: BITS must be 1 to 36");
  end

  if (BITS <= 18) begin : g_one
    logic [2*BITS-1:0] whole;
    always_ff @(posedge clk) begin
      whole   <= a * a;
      squared <= whole;
    end
  end else begin : g_three
    localparam int HIGH = BITS - 18;
    wire [17:0] low_piece = a[17:0];
    wire [HIGH-1:0] high_piece = a[BITS-1:18];
    logic [35:0] low;
    logic [BITS-1:0] crossed;
    logic [2*HIGH-1:0] high;

    always_ff @(posedge clk) begin
      low <= low_piece * low_piece;
      crossed <= high_piece * low_piece;
      high <= high_piece * high_piece;
      squared[18:0] <= low[18:0];
      squared[2*BITS-1:19] <= {high, low[35:19]} + (2 * BITS - 19)'(crossed);
    end
  end
endmodule

`default_nettype wire
