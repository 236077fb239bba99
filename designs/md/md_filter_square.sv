// The square of a short number in LUTs, combinational: (2^L h + l)^2 = 2^2L h^2 + l^2 + 2^(L+1) h l. The two squares are
// tables of at most four bits, so one LUT a bit; the product is a sum of rows. A product would take a DSP.
`default_nettype none

module md_filter_square #(
    // Bits, 2 to 8.
    parameter int BITS = 7
) (
    input wire [BITS-1:0] a,
    output wire [2*BITS-1:0] squared
);
  if (BITS < 2 || BITS > 8) begin : g_bits
    $error("md_filter_square: BITS must be 2 to 8");
  end

  localparam int L = BITS / 2;
  localparam int H = BITS - L;

  wire [L-1:0] low = a[L-1:0];
  wire [H-1:0] high = a[BITS-1:L];
  wire [(2*L<<L)-1:0] low_squares;
  wire [(2*H<<H)-1:0] high_squares;
  for (genvar i = 0; i < 1 << L; i++) begin : g_low
    assign low_squares[i*2*L+:2*L] = (2 * L)'(i * i);
  end
  for (genvar i = 0; i < 1 << H; i++) begin : g_high
    assign high_squares[i*2*H+:2*H] = (2 * H)'(i * i);
  end

  logic [BITS-1:0] product;
  always_comb begin
    product = '0;
    for (int b = 0; b < L; b++) product = product + (low[b] ? BITS'(high) << b : '0);
  end

  wire [2*BITS-1:0] squares = {high_squares[high*2*H+:2*H], low_squares[low*2*L+:2*L]};
  assign squared = squares + ((2 * BITS)'(product) << (L + 1));
endmodule

`default_nettype wire
