// The force pipeline: a pair a cycle in, its force out LATENCY cycles later. It never waits.
//
// 1-9 distance and exact test, 8-9 place in the table, 10-15 (19 with COEFS) interpolation, then six stages for the sum of
// the terms times difference and rounding. The tag comes along; of the force the bits that SUM has.
`default_nettype none

module md_pairs #(
    // Bits as in md_worker.
    parameter int P = 24,
    parameter int B = 8,
    parameter int S = 4,
    parameter int D = 14,
    parameter int VALUE = 32,
    parameter int SLOPE = 27,
    parameter int SUM = 36,
    parameter int TERMS = 2,
    parameter int KINDS = 1,
    parameter logic [63:0] RC2 = 64'd277027000000000,
    parameter logic [63:0] RMIN2 = 64'd20000000000000,
    // Memory images, as in md_terms.
    parameter TABLE_0 = "",
    parameter TABLE_1 = "",
    parameter TABLE_2 = "",
    parameter COEFS = "",
    // As in md_multiply, and as RING in md_delay.
    parameter bit ECP5 = 0,
    parameter bit RINGS = 0,
    // Bits that come along.
    parameter int TAG = 1,
    // Cycles; derived.
    parameter int LATENCY = COEFS == "" ? 21 : 25
) (
    input wire clk,
    input wire rst,

    input wire valid,
    // The home particle and the particle of the stream, {z, y, x}; the latter's cell from the home cell.
    input wire [3*P-1:0] here,
    input wire [3*P-1:0] there,
    input wire [4:0] shift,
    input wire [1:0] kinds,
    input wire [TAG-1:0] tag,

    // Of a pair within the cutoff.
    output wire force_valid,
    // On the particle of the stream, {z, y, x}; on the home particle it is the opposite.
    output wire [3*SUM-1:0] force_out,
    output wire [TAG-1:0] tag_out,

    // A pulse for each pair that counts, and for each that is too close.
    output wire counts,
    output wire close
);
  localparam int WORDS = S << B;
  localparam int ADDRESS = $clog2(WORDS);
  localparam int K = VALUE + $clog2(TERMS);

  wire [3*(P+1)-1:0] difference, late_difference;
  wire [2*P-1:0] square;
  wire [ADDRESS-1:0] address;
  wire [D-1:0] delta;
  wire [1:0] late_kinds;
  wire signed [K-1:0] k;

  md_distance #(
      .P(P),
      .RC2(RC2),
      .RMIN2(RMIN2),
      .ECP5(ECP5)
  ) u_distance (
      .clk(clk),
      .rst(rst),
      .valid(valid),
      .here(here),
      .there(there),
      .shift(shift),
      .difference(difference),
      .square(square),
      .counts(counts),
      .close(close)
  );

  md_normalise #(
      .P(P),
      .B(B),
      .S(S),
      .D(D)
  ) u_normalise (
      .clk(clk),
      .square(square),
      .address(address),
      .delta(delta)
  );

  delay #(
      .WIDTH (2),
      .STAGES(9)
  ) u_kinds (
      .clk(clk),
      .in (kinds),
      .out(late_kinds)
  );

  md_terms #(
      .TERMS(TERMS),
      .KINDS(KINDS),
      .WORDS(WORDS),
      .D(D),
      .VALUE(VALUE),
      .SLOPE(SLOPE),
      .TABLE_0(TABLE_0),
      .TABLE_1(TABLE_1),
      .TABLE_2(TABLE_2),
      .COEFS(COEFS),
      .ECP5(ECP5)
  ) u_terms (
      .clk(clk),
      .address(address),
      .delta(delta),
      .kinds(late_kinds),
      .k(k)
  );

  md_delay #(
      .WIDTH (3 * (P + 1)),
      .STAGES(LATENCY - 8),
      .RING  (RINGS)
  ) u_difference (
      .clk(clk),
      .in (difference),
      .out(late_difference)
  );

  for (genvar i = 0; i < 3; i++) begin : g_axis
    md_force #(
        .P(P),
        .K(K),
        .SUM(SUM),
        .ECP5(ECP5)
    ) u_force (
        .clk(clk),
        .k(k),
        .difference(late_difference[i*(P+1)+:P+1]),
        .force_out(force_out[i*SUM+:SUM])
    );
  end

  md_delay #(
      .WIDTH (TAG),
      .STAGES(LATENCY),
      .RING  (RINGS)
  ) u_tag (
      .clk(clk),
      .in (tag),
      .out(tag_out)
  );

  logic [LATENCY-10:0] line;
  always_ff @(posedge clk) begin
    line <= {line[LATENCY-11:0], counts};
    if (rst) line <= '0;
  end
  assign force_valid = line[LATENCY-10];
endmodule

`default_nettype wire
