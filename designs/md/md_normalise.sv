// The place of a squared distance in the table. R = its top S + B + D bits; the segment is the number of leading zeros of
// R, at most S - 1; the B bits below the leading one are the bin, the D bits below those how far the distance lies in it.
// What lies below all segments gets the first bin of the last one. Two stages: 1 leading zeros, 2 shifted.
`default_nettype none

module md_normalise #(
    // Bits of a position; the square has twice as many.
    parameter int P = 24,
    // Bits of a bin's number.
    parameter int B = 8,
    // Segments.
    parameter int S = 4,
    // Bits of the place in a bin.
    parameter int D = 14,
    // Bits of an address; derived.
    parameter int ADDRESS = $clog2(S << B)
) (
    input wire clk,
    input wire [2*P-1:0] square,
    // Two cycles later.
    output logic [ADDRESS-1:0] address,
    output logic [D-1:0] delta
);
  localparam int R = S + B + D;

  if (S < 1 || B < 1 || D < 1 || R > 2 * P) begin : g_bits
    $error("md_normalise: S, B and D must be at least 1 and together at most 2 P");
  end

  logic [R-2:0] top;
  logic [S-1:0] leads;  // the leading one is at R - 1 - s; of two that are set the first
  wire [S-1:0] high = square[2*P-1-:S];

  always_ff @(posedge clk) begin
    top <= square[2*P-2-:R-1];
    for (int s = 0; s < S; s++) leads[s] <= (high >> (S - 1 - s)) == S'(1);
  end

  logic [ADDRESS-1:0] chosen;
  logic [D-1:0] rest;
  wire [S*(B+D)-1:0] mantissas;
  for (genvar s = 0; s < S; s++) begin : g_segment
    assign mantissas[s*(B+D)+:B+D] = top[R-2-s-:B+D];
  end

  always_comb begin
    chosen = ADDRESS'((S - 1) << B);
    rest   = '0;
    for (int s = 0; s < S; s++) begin
      if (leads[s]) begin
        chosen = ADDRESS'(s << B) | ADDRESS'(mantissas[s*(B+D)+D+:B]);
        rest   = mantissas[s*(B+D)+:D];
      end
    end
  end

  always_ff @(posedge clk) begin
    address <= chosen;
    delta   <= rest;
  end
  wire unused = &{1'b0, square};
endmodule

`default_nettype wire
