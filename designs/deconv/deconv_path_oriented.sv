// What computes in input_oriented: deconv_tiles goes over inputs and taps, deconv_array multiplies, deconv_scatter adds the
// overlapping sums, deconv_drain finishes a group's outputs while the next group is added up. `run_busy` from the cycle
// after `run_start` until the last output is written; a RUN begins when the partial sums are zero.
`default_nettype none

module deconv_path_oriented #(
    // As in deconv_engine.
    parameter int BITS = 8,
    parameter int ACC = 26,
    parameter int TM = 4,
    parameter int TN = 32,
    parameter int TZ = 1,
    parameter int TR = 1,
    parameter int TC = 1,
    parameter TABLE = "",
    parameter int DRAIN = 1,
    parameter int PSUM_WORDS = 16,
    parameter bit ECP5 = 0,
    // Bits of addresses: of activation memory, of weights, of biases.
    parameter int ADDRESS = 10,
    parameter int WEIGHT = 10,
    parameter int BIAS = 4,
    // Derived: lanes and bits of their number, bits of a word and of the number of the part of it that is written.
    parameter int LANES = TZ * TR * TC,
    parameter int COUNT = $clog2(LANES) + 1,
    parameter int WORD = TN * BITS,
    parameter int PART = TN > TM ? $clog2(TN / TM) : 1
) (
    input wire clk,
    input wire rst,
    input wire run_start,
    output wire run_busy,

    // The table of taps.
    input wire tap_write,
    input wire [7:0] tap_index,
    input wire [23:0] tap_value,

    // Registers of the RUN.
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
    input wire [ADDRESS-1:0] dst_base,
    input wire [9:0] out_z,
    input wire [9:0] out_r,
    input wire [9:0] out_c,
    input wire [ADDRESS-1:0] out_stride_z,
    input wire [ADDRESS-1:0] out_stride_r,
    input wire [ADDRESS-1:0] out_stride_c,
    input wire merged_in,
    input wire merged_out,
    input wire [1:0] activation,
    input wire [2:0] stride,
    input wire [2:0] stride_z,
    input wire [5:0] shift,
    input wire [8:0] taps,
    input wire [7:0] tap_base,
    input wire [9:0] q_blocks_z,
    input wire [9:0] q_blocks_r,
    input wire [9:0] q_blocks_c,

    // Words of the memory that is read, READ - 1 = 3 cycles after `issue_address`.
    output wire issue_valid,
    output wire [ADDRESS-1:0] issue_address,
    input wire [LANES*WORD-1:0] source,

    // Weights READ = 4 cycles after `issue_weight`; biases two cycles after `bias_address`.
    input wire group_ready,
    input wire group_next,
    input wire [BIAS-1:0] group_bias,
    output wire group_done,
    output wire [WEIGHT-1:0] issue_weight,
    input wire [TM*TN*TZ*BITS-1:0] weights,
    output wire [BIAS-1:0] bias_address,
    input wire [TM*ACC-1:0] bias,

    // For the counters: positions of an issue, whether it is the last fold of its tap, and why there was none.
    output wire [COUNT-1:0] issue_inside,
    output wire [COUNT-1:0] issue_kept,
    output wire issue_fold_last,
    output wire stalled_weights,
    output wire stalled_drain,

    // Results, into the memory that is not read.
    output wire [LANES-1:0] result_write,
    output wire [LANES*ADDRESS-1:0] result_address,
    output wire [LANES*PART-1:0] result_part,
    output wire [LANES*TM*BITS-1:0] result_data
);
  // Cycles from an issue to its data and weights.
  localparam int READ = 4;
  localparam int PSUM = PSUM_WORDS > 1 ? $clog2(PSUM_WORDS) : 1;
  localparam int BZ = TZ > 1 ? $clog2(TZ) : 1;
  localparam int BR = TR > 1 ? $clog2(TR) : 1;
  localparam int BC = TC > 1 ? $clog2(TC) : 1;
  localparam int BG = LANES > DRAIN ? $clog2(LANES / DRAIN) : 1;
  localparam int TAG = 2 + PSUM + 2 * (BZ + BR + BC) + TZ + TR + TC;

  wire group_start, group_half, scatter_ready, drain_busy;
  wire [1:0] full, half_done;
  wire [11:0] issue_fold;
  wire [TAG-1:0] issue_tag, array_tag, sum_tag;
  wire issue_first, issue_last;
  wire [LANES-1:0] issue_mask;
  logic [LANES*WORD-1:0] activations;
  wire array_valid, array_first, array_last, sum_valid;
  wire [LANES-1:0] read_mask;
  logic [LANES-1:0] array_mask;
  wire [LANES*TM*ACC-1:0] sums;
  wire [PSUM-1:0] q_plane, q_row, drain_address;
  wire [BG-1:0] drain_group;
  wire drain_enable, drain_half;
  wire [DRAIN*TM*ACC-1:0] drain_data;

  // The table of taps.
  (* no_rw_check *) logic [23:0] taps_table[256];
  logic [23:0] tap_data;
  wire [7:0] tap_address;

  always_ff @(posedge clk) begin
    if (tap_write) taps_table[tap_index] <= tap_value;
    tap_data <= taps_table[tap_address];
  end

  // A RUN begins when the partial sums are zero.
  logic waiting, started;
  always_ff @(posedge clk) begin
    waiting <= !rst && (run_start || (waiting && !scatter_ready));
    started <= !rst && waiting && scatter_ready;
  end
  assign run_busy = waiting || started || drain_busy;

  deconv_tiles #(
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .ADDRESS(ADDRESS),
      .WEIGHT(WEIGHT),
      .PSUM(PSUM)
  ) u_scheduler (
      .start(started),
      .merged(merged_in),
      .issue_present(issue_inside),
      .stall_weights(stalled_weights),
      .stall_drain(stalled_drain),
      .*
  );

  assign issue_fold_last = issue_last;
  always_ff @(posedge clk) begin
    for (int l = 0; l < LANES; l++) begin
      activations[l*WORD+:WORD] <= source[l*WORD+:WORD];
      if (!read_mask[l]) activations[l*WORD+:WORD] <= '0;
    end
    array_mask <= read_mask;
  end

  delay #(
      .WIDTH (TAG + 2),
      .STAGES(READ)
  ) u_issue (
      .clk(clk),
      .in ({issue_first, issue_last, issue_tag}),
      .out({array_first, array_last, array_tag})
  );

  delay #(
      .WIDTH (LANES),
      .STAGES(READ - 1)
  ) u_mask (
      .clk(clk),
      .in (issue_mask),
      .out(read_mask)
  );

  logic [READ-1:0] valid;
  always_ff @(posedge clk) valid <= rst ? '0 : {valid[READ-2:0], issue_valid};
  assign array_valid = valid[READ-1];

  deconv_array #(
      .BITS(BITS),
      .ACC (ACC),
      .TM  (TM),
      .TN  (TN),
      .TZ  (TZ),
      .TR  (TR),
      .TC  (TC),
      .TAG (TAG),
      .ECP5(ECP5)
  ) u_array (
      .valid(array_valid),
      .first(array_first),
      .last(array_last),
      .merged(merged_in),
      .tag(array_tag),
      .mask(array_mask),
      .*
  );

  deconv_scatter #(
      .ACC(ACC),
      .TM(TM),
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .DRAIN(DRAIN),
      .PSUM_WORDS(PSUM_WORDS)
  ) u_scatter (
      .ready(scatter_ready),
      .*
  );

  wire [PART-1:0] part;
  assign result_part = {LANES{part}};

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
      .BIAS(BIAS),
      .TABLE(TABLE)
  ) u_drain (
      .start(started),
      .busy(drain_busy),
      .write_enable(result_write),
      .write_address(result_address),
      .write_part(part),
      .write_data(result_data),
      .*
  );

  wire unused = &{1'b0, issue_fold};
endmodule

`default_nettype wire
