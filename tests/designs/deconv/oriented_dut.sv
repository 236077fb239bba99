// The datapath of input_oriented with memories that only read: scheduler, array, scatter, drain. For tests.
`default_nettype none

module oriented_dut #(
    parameter int BITS = 8,
    parameter int ACC = 24,
    parameter int TM = 2,
    parameter int TN = 4,
    parameter int TZ = 1,
    parameter int TR = 2,
    parameter int TC = 2,
    parameter int DRAIN = 1,
    parameter int PSUM_WORDS = 64,
    parameter TABLE = "",
    // Images and their words, powers of two: a word of all lanes, of weights, of biases.
    parameter SOURCE = "source.hex",
    parameter WEIGHTS = "weights.hex",
    parameter BIASES = "biases.hex",
    parameter TAPS = "taps.hex",
    parameter int SOURCE_WORDS = 256,
    parameter int WEIGHT_WORDS = 256,
    parameter int BIAS_WORDS = 64,
    // Derived.
    parameter int ADDRESS = 12,
    parameter int LANES = TZ * TR * TC,
    parameter int PSUM = $clog2(PSUM_WORDS),
    parameter int COUNT = $clog2(LANES) + 1
) (
    input wire clk,
    input wire rst,
    input wire start,
    // Cycles that the weights of each group come late.
    input wire [11:0] lag,

    input wire [ADDRESS-1:0] src_base,
    input wire [9:0] in_z,
    input wire [9:0] in_r,
    input wire [9:0] in_c,
    input wire [9:0] in_blocks_z,
    input wire [9:0] in_blocks_r,
    input wire [9:0] in_blocks_c,
    input wire [11:0] in_folds,
    input wire [ADDRESS-1:0] in_stride_z,
    input wire [ADDRESS-1:0] in_stride_r,
    input wire [ADDRESS-1:0] in_stride_c,
    input wire [11:0] groups,
    input wire merged_in,
    input wire merged_out,
    input wire [1:0] activation,
    input wire [5:0] shift,
    input wire [2:0] stride,
    input wire [2:0] stride_z,
    input wire [9:0] out_z,
    input wire [9:0] out_r,
    input wire [9:0] out_c,
    input wire [ADDRESS-1:0] dst_base,
    input wire [ADDRESS-1:0] out_stride_z,
    input wire [ADDRESS-1:0] out_stride_r,
    input wire [ADDRESS-1:0] out_stride_c,
    input wire [8:0] taps,
    input wire [7:0] tap_base,
    input wire [9:0] q_blocks_z,
    input wire [9:0] q_blocks_r,
    input wire [9:0] q_blocks_c,
    input wire [15:0] weight_base,
    input wire [15:0] weight_group,
    input wire [7:0] bias_base,

    output wire ready,
    output wire busy,
    output wire issue_valid,
    output wire [11:0] issue_fold,
    output wire [COUNT-1:0] issue_present,
    output wire [COUNT-1:0] issue_kept,
    output wire group_done,
    output wire stall_weights,
    output wire stall_drain,
    output wire [LANES-1:0] write_enable,
    output wire [LANES*ADDRESS-1:0] write_address,
    output wire [(TN>TM?$clog2(TN/TM):1)-1:0] write_part,
    output wire [LANES*TM*BITS-1:0] write_data
);
  localparam int BZ = TZ > 1 ? $clog2(TZ) : 1, BR = TR > 1 ? $clog2(TR) : 1, BC = TC > 1 ? $clog2(TC) : 1;
  localparam int BG = LANES > DRAIN ? $clog2(LANES / DRAIN) : 1;
  localparam int TAG = 2 + PSUM + 2 * (BZ + BR + BC) + TZ + TR + TC;
  localparam int READ = 3;

  logic [LANES*TN*BITS-1:0] source[SOURCE_WORDS];
  logic [TM*TZ*TN*BITS-1:0] weight_words[WEIGHT_WORDS];
  logic [TM*ACC-1:0] bias_words[BIAS_WORDS];
  logic [23:0] tap_words[256];
  initial begin
    $readmemh(SOURCE, source);
    $readmemh(WEIGHTS, weight_words);
    $readmemh(BIASES, bias_words);
    $readmemh(TAPS, tap_words);
  end

  wire [7:0] tap_address;
  logic [23:0] tap_data;
  always_ff @(posedge clk) tap_data <= tap_words[tap_address];

  // Weights: late by `lag` cycles for each group.
  wire group_start, group_half;
  logic [11:0] late;
  logic [15:0] base;
  logic [7:0] group_bias;
  always_ff @(posedge clk) begin
    if (late != '0) late <= late - 1'b1;
    if (group_done) begin
      base <= base + weight_group;
      group_bias <= group_bias + 1'b1;
      late <= lag;
    end
    if (start) begin
      base <= weight_base;
      group_bias <= bias_base;
      late <= lag;
    end
  end

  wire [ADDRESS-1:0] issue_address;
  wire [LANES-1:0] issue_mask;
  wire [15:0] issue_weight;
  wire issue_first, issue_last;
  wire [TAG-1:0] issue_tag;
  wire [1:0] half_done, full;
  wire [PSUM-1:0] q_plane, q_row;

  deconv_tiles #(
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .ADDRESS(ADDRESS),
      .WEIGHT(16),
      .PSUM(PSUM)
  ) u_tiles (
      .merged(merged_in),
      .group_ready(late == '0),
      .group_next(lag == '0),
      .*
  );

  // Memories: three cycles of a read.
  logic [LANES*TN*BITS-1:0] a1, a2, a3;
  logic [TM*TZ*TN*BITS-1:0] w1, w2, w3;
  wire [15:0] weight_address = base + issue_weight;
  always_ff @(posedge clk) begin
    a1 <= source[issue_address[$clog2(SOURCE_WORDS)-1:0]];
    a2 <= a1;
    a3 <= a2;
    w1 <= weight_words[weight_address[$clog2(WEIGHT_WORDS)-1:0]];
    w2 <= w1;
    w3 <= w2;
  end

  wire array_first, array_last;
  wire [LANES-1:0] array_mask;
  wire [TAG-1:0] array_tag, sum_tag;
  wire sum_valid;
  wire [LANES*TM*ACC-1:0] sums;
  logic [READ-1:0] valid_line;
  always_ff @(posedge clk) valid_line <= rst ? '0 : {valid_line[READ-2:0], issue_valid};

  delay #(
      .WIDTH (2 + LANES + TAG),
      .STAGES(READ)
  ) u_read (
      .clk(clk),
      .in ({issue_first, issue_last, issue_mask, issue_tag}),
      .out({array_first, array_last, array_mask, array_tag})
  );

  deconv_array #(
      .BITS(BITS),
      .ACC (ACC),
      .TM  (TM),
      .TN  (TN),
      .TZ  (TZ),
      .TR  (TR),
      .TC  (TC),
      .TAG (TAG)
  ) u_array (
      .valid(valid_line[READ-1]),
      .first(array_first),
      .last(array_last),
      .merged(merged_in),
      .tag(array_tag),
      .mask(array_mask),
      .activations(a3),
      .weights(w3),
      .*
  );

  wire drain_enable, drain_half;
  wire [PSUM-1:0] drain_address;
  wire [BG-1:0] drain_group;
  wire [DRAIN*TM*ACC-1:0] drain_data;

  deconv_scatter #(
      .ACC(ACC),
      .TM(TM),
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .DRAIN(DRAIN),
      .PSUM_WORDS(PSUM_WORDS)
  ) u_scatter (
      .*
  );

  wire [7:0] bias_address;
  logic [TM*ACC-1:0] bias1, bias;
  always_ff @(posedge clk) begin
    bias1 <= bias_words[bias_address[$clog2(BIAS_WORDS)-1:0]];
    bias  <= bias1;
  end

  deconv_drain #(
      .BITS(BITS),
      .ACC(ACC),
      .TM(TM),
      .TN(TN),
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .DRAIN(DRAIN),
      .ADDRESS(ADDRESS),
      .PSUM(PSUM),
      .BIAS(8),
      .TABLE(TABLE)
  ) u_drain (
      .*
  );
endmodule

`default_nettype wire
