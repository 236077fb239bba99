// The bank of filters: the particles of the stream pass all of them, one a cycle, and come out five cycles later with
// the mask of the filters that let them pass.
//
// No pair within the cutoff may be lost. With u = 2^(P - BITS) a difference of cut positions lies less than u from the
// true one, so a magnitude of md_filter, in steps of 4u, is less than (|d| + u) / 4u, and the root of the sum of three
// squares is less than (r + sqrt(3) u) / 4u. Hence THRESHOLD, with 7/4 for the root of 3.
`default_nettype none

module md_filters #(
    // Filters.
    parameter int FILTERS = 8,
    // Bits of a position.
    parameter int P = 24,
    // Bits of a position that the filters look at.
    parameter int BITS = 9,
    // A pair counts if the square of its distance is less; at most 2^2P.
    parameter logic [63:0] RC2 = 64'd277027000000000,
    // Bits that come along.
    parameter int INFO = 1,
    // As RING in md_delay.
    parameter bit RINGS = 0
) (
    input wire clk,

    input wire [3*P-1:0] particle,
    input wire [4:0] shift,
    input wire [FILTERS-1:0] load,
    input wire [FILTERS-1:0] meets,
    input wire [INFO-1:0] info,

    // Five cycles later.
    output wire [FILTERS-1:0] mask,
    output wire [INFO-1:0] info_out
);
  if (FILTERS < 1) begin : g_filters
    $error("md_filters: FILTERS must be at least 1");
  end
  if (BITS < 4 || BITS > 10 || BITS + 2 > P || P > 30) begin : g_bits
    $error("md_filters: BITS must be 4 to 10, at most P - 2, and P at most 30");
  end
  if (RC2 > 64'd1 << 2 * P) begin : g_cutoff
    $error("md_filters: RC2 must be at most 2^2P");
  end

  // The least number whose square is at least `square`.
  function automatic logic [63:0] root_of(input logic [63:0] square);
    root_of = '0;
    for (int b = 31; b >= 0; b--) begin
      if ((root_of + (64'd1 << b)) * (root_of + (64'd1 << b)) <= square) root_of = root_of + (64'd1 << b);
    end
    if (root_of * root_of < square) root_of = root_of + 64'd1;
  endfunction

  localparam logic [63:0] REACH = root_of(RC2) + (64'd7 << P - BITS - 2);
  localparam logic [63:0] THRESHOLD = (REACH * REACH) >> 2 * (P - BITS + 2);

  wire [3*BITS-1:0] top = {
    particle[3*P-1-:BITS], particle[2*P-1-:BITS], particle[P-1-:BITS]
  };

  for (genvar f = 0; f < FILTERS; f++) begin : g_filter
    md_filter #(
        .BITS(BITS),
        .THRESHOLD(THRESHOLD)
    ) u_filter (
        .clk(clk),
        .particle(top),
        .shift(shift),
        .load(load[f]),
        .meets(meets[f]),
        .passes(mask[f])
    );
  end

  md_delay #(
      .WIDTH (INFO),
      .STAGES(5),
      .RING  (RINGS)
  ) u_info (
      .clk(clk),
      .in (info),
      .out(info_out)
  );

  wire unused = &{1'b0, particle};
endmodule

`default_nettype wire
