// The difference of two positions, exact, the square of their distance, and the exact tests on it.
//
// Nine stages: 1 differences, 2 to 4 magnitudes and their squares, 5 and 6 their sum in two halves, 7 the halves joined, 8 the
// halves compared with the limits, 9 the tests. The square is there after seven, so that the tests cost no time.
`default_nettype none

module md_distance #(
    // Bits of a position.
    parameter int P = 24,
    // A pair counts if the square is less, and is too close if it is less than RMIN2.
    parameter logic [63:0] RC2 = 64'd277027000000000,
    parameter logic [63:0] RMIN2 = 64'd20000000000000,
    // As in md_multiply.
    parameter bit ECP5 = 0
) (
    input wire clk,
    input wire rst,

    input wire valid,
    // Home particle and particle of the stream, {z, y, x}; the latter's cell from the home cell, {dz, dy, dx}.
    input wire [3*P-1:0] here,
    input wire [3*P-1:0] there,
    input wire [4:0] shift,

    // From here to there, {z, y, x}, signed, two cycles later; right for pairs that count.
    output logic [3*(P+1)-1:0] difference,
    // Seven cycles later.
    output logic [2*P-1:0] square,
    // Nine cycles later.
    output logic counts,
    output logic close
);
  localparam int SUM = 2 * P + 2;
  localparam int HIGH = P + 2;  // bits of the upper half; the lower has P

  logic [3*(P+2)-1:0] wide;
  logic [2:0] beyond;
  wire [3*2*P-1:0] squares;
  wire [5:0] shifts = {1'b0, shift};

  for (genvar i = 0; i < 3; i++) begin : g_axis
    wire [P+1:0] own = wide[i*(P+2)+:P+2];
    wire [P:0] absolute = own[P+1] ? -own[P:0] : own[P:0];

    always_ff @(posedge clk) begin
      wide[i*(P+2)+:P+2] <= {shifts[2*i+:2], there[i*P+:P]} - {2'b0, here[i*P+:P]};
      difference[i*(P+1)+:P+1] <= own[P:0];
      // 2^P or more; the negative of 2^(P+1) does not occur.
      beyond[i] <= absolute[P];
    end

    md_square #(
        .BITS(P),
        .ECP5(ECP5)
    ) u_square (
        .clk(clk),
        .a(absolute[P-1:0]),
        .squared(squares[i*2*P+:2*P])
    );
  end

  // Sum of the squares, the third a cycle later.
  logic [P:0] xy_low, xy_high;
  logic [P-1:0] z_low, z_high;
  logic [P+1:0] low, high;
  logic [SUM-1:0] sum;

  always_ff @(posedge clk) begin
    xy_low <= (P + 1)'(squares[0+:P]) + (P + 1)'(squares[2*P+:P]);
    xy_high <= (P + 1)'(squares[P+:P]) + (P + 1)'(squares[3*P+:P]);
    z_low <= squares[4*P+:P];
    z_high <= squares[5*P+:P];
    low <= (P + 2)'(xy_low) + (P + 2)'(z_low);
    high <= (P + 2)'(xy_high) + (P + 2)'(z_high);
    sum <= {high + (P + 2)'(low[P+1:P]), low[P-1:0]};
  end
  assign square = sum[2*P-1:0];

  // Both limits are at most 2^2P.
  localparam logic [SUM-1:0] FAR = SUM'(RC2);
  localparam logic [SUM-1:0] NEAR = SUM'(RMIN2);
  // The borrow of a difference tells which is less.
  wire [HIGH:0] far_high = {1'b0, sum[P+:HIGH]} - {1'b0, FAR[P+:HIGH]};
  wire [HIGH:0] near_high = {1'b0, sum[P+:HIGH]} - {1'b0, NEAR[P+:HIGH]};
  wire [P:0] far_rest = {1'b0, sum[P-1:0]} - {1'b0, FAR[P-1:0]};
  wire [P:0] near_rest = {1'b0, sum[P-1:0]} - {1'b0, NEAR[P-1:0]};
  logic far_less, far_equal, far_low, near_less, near_equal, near_low, valid8;
  logic [4:0] line;  // valid and not beyond; the youngest lowest
  logic valid1, valid2;

  always_ff @(posedge clk) begin
    valid1 <= valid;
    valid2 <= valid1;
    line <= {line[3:0], valid2 && beyond == '0};
    valid8 <= line[4];
    far_less <= far_high[HIGH];
    far_equal <= sum[P+:HIGH] == FAR[P+:HIGH];
    far_low <= far_rest[P];
    near_less <= near_high[HIGH];
    near_equal <= sum[P+:HIGH] == NEAR[P+:HIGH];
    near_low <= near_rest[P];
    counts <= valid8 && (far_less || (far_equal && far_low));
    close <= valid8 && (near_less || (near_equal && near_low));
    if (rst) begin
      valid1 <= 1'b0;
      valid2 <= 1'b0;
      line <= '0;
      valid8 <= 1'b0;
      counts <= 1'b0;
      close <= 1'b0;
    end
  end
  wire unused = &{1'b0, far_high, near_high, far_rest, near_rest};
endmodule

`default_nettype wire
