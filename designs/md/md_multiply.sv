// Product of two signed numbers of at most 18 bits, with a register before and one behind: a single multiplier block with
// its own registers. Synthesis for ECP5 does not find those, so there the block is named; a register of the fabric
// beside each of its wires would crowd the rows of blocks.
`default_nettype none

module md_multiply #(
    // Bits of the factors.
    parameter int A = 18,
    parameter int B = 18,
    // 1: as an ECP5 has them (designs/lib/lattice/ecp5_multiplier).
    parameter bit ECP5 = 0
) (
    input wire clk,
    input wire signed [A-1:0] a,
    input wire signed [B-1:0] b,
    // Two cycles later.
    output wire signed [A+B-1:0] product
);
  if (A < 1 || A > 18 || B < 1 || B > 18) begin : g_bits
    $error("md_multiply: A and B must be 1 to 18");
  end

  if (ECP5) begin : g_ecp5
    // In the upper bits, so that the unused ones are zeros, which need no wire, and not signs, which do.
    wire [35:0] whole;
    ecp5_multiplier #(
        .BITS(18)
    ) u_block (
        .clk(clk),
        .x(18'(a) << (18 - A)),
        .y(18'(b) << (18 - B)),
        .product(whole)
    );
    assign product = whole[35-:A+B];
    wire unused = &{1'b0, whole};
  end else begin : g_plain
    logic signed [A-1:0] first;
    logic signed [B-1:0] second;
    logic signed [A+B-1:0] both;
    always_ff @(posedge clk) begin
      first  <= a;
      second <= b;
      both   <= first * second;
    end
    assign product = both;
  end
endmodule

`default_nettype wire
