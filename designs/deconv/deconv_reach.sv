// One dimension of a candidate of deconv_tiles: T inputs of block b meet a kernel element (d, f), so that input i
// belongs to output stride * (i + d) + f. Which lanes have an input, and which banks of partial sums an output of it?
//
// Lane l works on input T * b + (l - b) mod T; q = i + d lies in bank q mod T at block q div T. So the sums turn by
// (d - b) mod T, and the banks below `low` = d mod T lie a block after `block` = b + floor(d / T). With `flat`
// the dimension is worked as if T were 1: only bank 0 counts, and all lanes take part.
//
// b and d are given in cycle 0 and f in cycle 1. block: cycle 1. The rest: cycle 3.
`default_nettype none

module deconv_reach #(
    // Positions in parallel, a power of two.
    parameter int T = 4,
    // Bits of a bank's number; derived.
    parameter int BANK = T > 1 ? $clog2(T) : 1,
    // Bits of a number of banks; derived.
    parameter int COUNT = $clog2(T) + 1
) (
    input wire clk,

    input wire flat,
    input wire [9:0] inputs,
    input wire [9:0] outputs,
    input wire [2:0] stride,

    input wire [9:0] b,
    input wire signed [5:0] d,
    input wire [1:0] f,

    output logic signed [11:0] block,
    output logic [BANK-1:0] low,
    output logic [BANK-1:0] turn,
    // Lanes with an input, and how many positions.
    output logic [T-1:0] mask,
    output logic [COUNT-1:0] present,
    // Banks in which an input reaches an output, and how many.
    output logic [T-1:0] reached,
    output logic [COUNT-1:0] kept
);
  localparam int SHIFT = $clog2(T);
  localparam int TOP = T - 1;
  localparam logic [BANK-1:0] PLACES = TOP[BANK-1:0];

  wire signed [11:0] wide_b = {2'b00, b};
  wire signed [11:0] wide_d = {{6{d[5]}}, d};
  wire signed [11:0] shifted_d = wide_d >>> SHIFT;

  // Cycle 1.
  logic [BANK-1:0] low1, turn1, first1;
  logic signed [11:0] base1, limit1, left1;

  always_ff @(posedge clk) begin
    block  <= wide_b + (flat ? wide_d : shifted_d);
    low1   <= flat ? '0 : d[BANK-1:0] & PLACES;
    turn1  <= flat ? '0 : (d[BANK-1:0] - b[BANK-1:0]) & PLACES;
    first1 <= b[BANK-1:0] & PLACES;  // lane of the block's first input
    base1  <= flat ? wide_b : wide_b <<< SHIFT;
    limit1 <= {2'b00, inputs} + wide_d;  // q must be less
  end
  always_comb left1 = {2'b00, inputs} - base1;  // inputs from the block's first on

  // Cycle 2: of each bank q and the output, of each lane whether it has an input.
  logic [BANK-1:0] low2, turn2;
  logic signed [11:0] limit2;
  logic [T-1:0] mask2, member2;

  always_ff @(posedge clk) begin
    low2   <= low1;
    turn2  <= turn1;
    limit2 <= limit1;
    low    <= low2;
    turn   <= turn2;
    mask   <= mask2;
  end

  for (genvar j = 0; j < T; j++) begin : g_bank
    localparam logic [BANK-1:0] J = j[BANK-1:0];
    wire next_block = j < T - 1 && low1 > J;
    wire signed [11:0] own_block = block + {11'd0, next_block};
    wire signed [11:0] own_q = flat ? block : (own_block <<< SHIFT) + j;
    logic signed [11:0] q;
    logic signed [14:0] output_of_q;

    // Times stride, which is at most 4.
    wire signed [14:0] wide_q = {{3{own_q[11]}}, own_q};
    wire signed [14:0] twice = stride[1] ? wide_q <<< 1 : '0;
    wire signed [14:0] once = stride[0] ? wide_q : stride[2] ? wide_q <<< 2 : '0;

    always_ff @(posedge clk) begin
      q <= own_q;
      output_of_q <= once + twice + {13'd0, f};
    end

    wire hit = !q[11] && q < limit2 && output_of_q < {5'd0, outputs} && (!flat || j == 0);
    always_ff @(posedge clk) reached[j] <= hit;

    // Lane j has input number `place` of the block.
    wire [BANK-1:0] place = (J - first1) & PLACES;
    wire member = flat ? !left1[11] && left1 != '0 : {{(12 - BANK) {1'b0}}, place} < left1;
    assign member2[j] = member;
  end

  always_ff @(posedge clk) mask2 <= member2;

  // How many.
  logic [COUNT-1:0] kept_now, present_now;
  always_comb begin
    kept_now   = '0;
    present_now = '0;
    for (int j = 0; j < T; j++) begin
      kept_now   = kept_now + {{(COUNT - 1) {1'b0}}, reached[j]};
      present_now = present_now + {{(COUNT - 1) {1'b0}}, mask[j] && (!flat || j == 0)};
    end
  end
  assign kept   = kept_now;
  assign present = present_now;
endmodule

`default_nettype wire
