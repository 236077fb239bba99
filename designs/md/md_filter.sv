// One filter: holds the top BITS bits of a home particle's position and tells of each particle of the stream whether it
// may be within the cutoff. It never says no to one that is; see md_filters for THRESHOLD.
//
// Five stages: 1 difference in each dimension, 2 its magnitude in SHORT bits, 3 squares, 4 their sum, 5 the comparison.
`default_nettype none

module md_filter #(
    // Bits of a position that are looked at.
    parameter int BITS = 9,
    // Largest sum of squares that passes.
    parameter logic [63:0] THRESHOLD = 64'd16000,
    // Bits of a magnitude; derived.
    parameter int SHORT = BITS - 2
) (
    input wire clk,

    // The particle of the stream, {z, y, x}, and its cell from the home cell, {dz, dy, dx}.
    input wire [3*BITS-1:0] particle,
    input wire [4:0] shift,
    // It becomes the home particle.
    input wire load,
    // It meets the home particle: `passes` tells five cycles later.
    input wire meets,
    output logic passes
);
  localparam int SQUARE = 2 * SHORT;
  localparam int WIDE = SQUARE + 2;

  logic [3*BITS-1:0] home;
  always_ff @(posedge clk) if (load) home <= particle;

  wire [5:0] shifts = {1'b0, shift};
  wire [3*SQUARE-1:0] squared;
  logic [2:0] beyond;
  logic meets1, meets2, meets3, meets4;

  for (genvar i = 0; i < 3; i++) begin : g_axis
    logic signed [BITS+1:0] difference;
    logic [SHORT-1:0] magnitude;
    // The magnitude in ones' complement, cut by two bits; 2^SHORT counts as 2^SHORT - 1, more is too far.
    wire [BITS:0] ones = difference[BITS:0] ^ {(BITS + 1) {difference[BITS+1]}};
    wire [SHORT:0] cut = ones[BITS:2];
    wire [SQUARE-1:0] square;

    always_ff @(posedge clk) begin
      difference <= {shifts[2*i+:2], particle[i*BITS+:BITS]} - {2'b0, home[i*BITS+:BITS]};
      magnitude <= cut[SHORT] ? '1 : cut[SHORT-1:0];
      beyond[i] <= cut[SHORT] && cut[SHORT-1:0] != '0;
    end

    md_filter_square #(
        .BITS(SHORT)
    ) u_square (
        .a(magnitude),
        .squared(square)
    );

    logic [SQUARE-1:0] registered;
    always_ff @(posedge clk) registered <= square;
    assign squared[i*SQUARE+:SQUARE] = registered;

    wire unused = &{1'b0, ones[1:0]};
  end

  logic [WIDE-1:0] sum;
  always_ff @(posedge clk) begin
    meets1 <= meets;
    meets2 <= meets1;
    meets3 <= meets2 && beyond == '0;
    meets4 <= meets3;
    sum <= WIDE'(squared[0+:SQUARE]) + WIDE'(squared[SQUARE+:SQUARE]) + WIDE'(squared[2*SQUARE+:SQUARE]);
    passes <= meets4 && 64'(sum) <= THRESHOLD;
  end
endmodule

`default_nettype wire
