// Transposed convolutions layer by layer, as a stream of commands says (designs/deconv/commands.py): activations come in
// and go out by streams, and lie in two activation memories between layers; weights are resident or streamed.
//
//   s_cmd -> deconv_commands -> registers, start
//   s_axis -> deconv_load -> memory A | B -> deconv_store -> m_axis
//   scheduler -> memories, weights -> deconv_array -> results -> memory B | A
//
// DATAFLOW 0, reverse_loop: deconv_reverse gathers each output; deconv_write finishes it. DATAFLOW 1, input_oriented:
// deconv_tiles spreads inputs over all taps; deconv_scatter adds the overlapping sums; deconv_drain finishes them.
`default_nettype none

module deconv_engine #(
    // 0: reverse_loop; 1: input_oriented.
    parameter int DATAFLOW = 0,
    // Bits of activations and weights: 8 or 16.
    parameter int BITS = 8,
    // Bits of a sum.
    parameter int ACC = 26,
    // Output channels in parallel, a power of two.
    parameter int TM = 4,
    // Input channels of a lane in parallel, a power of two.
    parameter int TN = 32,
    // Positions in parallel, powers of two; 1 in reverse_loop.
    parameter int TZ = 1,
    parameter int TR = 1,
    parameter int TC = 1,
    // Words of a bank of the activation memories.
    parameter int A_WORDS = 64,
    parameter int B_WORDS = 64,
    // Words of weights; of both halves where streamed.
    parameter int W_WORDS = 64,
    // Groups of biases where resident.
    parameter int BIAS_WORDS = 16,
    // Memory images of weights and biases, or "" to stream them.
    parameter WEIGHTS = "",
    parameter BIASES = "",
    // Memory image of the activation's table, or "".
    parameter TABLE = "",
    // Positions finished in a cycle in input_oriented.
    parameter int DRAIN = 1,
    // Words of partial sums of a bank and half in input_oriented.
    parameter int PSUM_WORDS = 16,
    // Columns of a beat, a power of two that divides TC.
    parameter int IO = 1,
    // 1: multipliers as an ECP5 has them, in synthesis (designs/lib/lattice/ecp5_multiplier).
    parameter bit ECP5 = 0,
    // 1: count; 0: the counters are 0.
    parameter bit COUNTERS = 1,
    // Bits of beats; derived.
    parameter int WORD = (TM > TN ? TM : TN) * BITS,
    parameter int WEIGHT_WORD = TM * TN * TZ * BITS,
    parameter int WEIGHT_BEAT = WEIGHT_WORD > TM * ACC ? WEIGHT_WORD : TM * ACC
) (
    input wire clk,
    input wire rst,

    input wire s_cmd_tvalid,
    output wire s_cmd_tready,
    input wire [31:0] s_cmd_tdata,
    output wire ended,
    // Of units: store, run, load.
    output wire [2:0] busy,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [IO*WORD-1:0] s_axis_tdata,

    input wire s_weight_tvalid,
    output wire s_weight_tready,
    input wire [WEIGHT_BEAT-1:0] s_weight_tdata,
    input wire s_weight_tlast,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [IO*WORD-1:0] m_axis_tdata,
    output wire m_axis_tlast,

    output wire [63:0] count_busy,
    output wire [63:0] count_issues,
    output wire [63:0] count_stalled_weights,
    output wire [63:0] count_stalled_drain,
    output wire [63:0] count_useful,
    output wire [63:0] count_kept,
    output wire [63:0] count_loaded,
    output wire [63:0] count_stored,
    output wire [63:0] count_weighed
);
  localparam int WIDE = TM > TN ? TM : TN;
  localparam int LANES = TZ * TR * TC;
  localparam int DEEP = A_WORDS > B_WORDS ? A_WORDS : B_WORDS;
  localparam int ADDRESS = DEEP > 1 ? $clog2(DEEP) : 1;
  localparam int WEIGHT = W_WORDS > 1 ? $clog2(W_WORDS) : 1;
  localparam int GROUPS = WEIGHTS == "" ? 4 : BIAS_WORDS;
  localparam int BIAS = GROUPS > 1 ? $clog2(GROUPS) : 1;
  localparam int PARTS = WIDE / (TM < 1 ? 1 : TM);
  localparam int PART = PARTS > 1 ? $clog2(PARTS) : 1;
  localparam int COUNT = $clog2(LANES) + 1;
  localparam int SOURCES = WIDE / (TN < 1 ? 1 : TN);
  // Cycles from an issue to its data and weights.
  localparam int READ = 4;

  if (BITS != 8 && BITS != 16) begin : g_bits
    $error("deconv_engine: BITS must be 8 or 16");
  end
  if (TM < 1 || TN < 1 || (TM & (TM - 1)) != 0 || (TN & (TN - 1)) != 0) begin : g_channels
    $error("deconv_engine: TM and TN must be powers of two");
  end
  if (TZ < 1 || TR < 1 || TC < 1 || (TZ & (TZ - 1)) != 0 || (TR & (TR - 1)) != 0 || (TC & (TC - 1)) != 0) begin : g_lanes
    $error("deconv_engine: TZ, TR and TC must be powers of two");
  end
  if (DATAFLOW != 0 && DATAFLOW != 1) begin : g_dataflow
    $error("deconv_engine: DATAFLOW must be 0 or 1");
  end
  if (DATAFLOW == 0 && LANES != 1) begin : g_single
    $error("deconv_engine: reverse_loop needs TZ, TR and TC of 1");
  end
  if (DATAFLOW == 1 && TM > TN) begin : g_wide
    $error("deconv_engine: input_oriented needs TM of at most TN");
  end
  if (IO < 1 || (IO & (IO - 1)) != 0 || IO > TC) begin : g_io
    $error("deconv_engine: IO must be a power of two of at most TC");
  end
  if (A_WORDS < 1 || B_WORDS < 1 || W_WORDS < 2 || BIAS_WORDS < 1) begin : g_words
    $error("deconv_engine: A_WORDS, B_WORDS and BIAS_WORDS must be at least 1, W_WORDS at least 2");
  end

  // Registers.
  wire src;
  wire [ADDRESS-1:0] src_base;
  wire [9:0] in_z;
  wire [9:0] in_r;
  wire [9:0] in_c;
  wire [9:0] in_blocks_z;
  wire [9:0] in_blocks_r;
  wire [9:0] in_blocks_c;
  wire [11:0] in_folds;
  wire [ADDRESS-1:0] in_stride_z;
  wire [ADDRESS-1:0] in_stride_r;
  wire [ADDRESS-1:0] in_stride_c;
  wire [3:0] in_skew_z;
  wire [11:0] channels_in;
  wire [11:0] channels_out;
  wire [11:0] groups;
  wire [ADDRESS-1:0] dst_base;
  wire [9:0] out_z;
  wire [9:0] out_r;
  wire [9:0] out_c;
  wire [ADDRESS-1:0] out_stride_z;
  wire [ADDRESS-1:0] out_stride_r;
  wire [ADDRESS-1:0] out_stride_c;
  wire [3:0] out_skew_z;
  wire [3:0] mode;
  wire [2:0] stride;
  wire [2:0] stride_z;
  wire [5:0] shift;
  wire [WEIGHT-1:0] weight_base;
  wire [WEIGHT-1:0] weight_group;
  wire [BIAS-1:0] bias_base;
  wire [8:0] taps;
  wire [7:0] tap_base;
  wire [9:0] q_blocks_z;
  wire [9:0] q_blocks_r;
  wire [9:0] q_blocks_c;
  wire [WEIGHT-1:0] k_stride_z;
  wire [WEIGHT-1:0] k_stride_r;
  wire [WEIGHT-1:0] k_stride_c;
  wire [WEIGHT-1:0] k_step_z;
  wire [WEIGHT-1:0] k_step_r;
  wire [WEIGHT-1:0] k_step_c;
  wire [23:0] start_high_z;
  wire [23:0] start_high_r;
  wire [23:0] start_high_c;
  wire [23:0] start_low_z;
  wire [23:0] start_low_r;
  wire [23:0] start_low_c;
  wire load_mem;
  wire [ADDRESS-1:0] load_base;
  wire [9:0] load_z;
  wire [9:0] load_r;
  wire [9:0] load_c;
  wire [11:0] load_words;
  wire [ADDRESS-1:0] load_stride_z;
  wire [ADDRESS-1:0] load_stride_r;
  wire [ADDRESS-1:0] load_stride_c;
  wire load_merged;
  wire [3:0] load_skew_z;
  wire store_mem;
  wire [ADDRESS-1:0] store_base;
  wire [9:0] store_z;
  wire [9:0] store_r;
  wire [9:0] store_c;
  wire [11:0] store_words;
  wire [ADDRESS-1:0] store_stride_z;
  wire [ADDRESS-1:0] store_stride_r;
  wire [ADDRESS-1:0] store_stride_c;
  wire store_merged;
  wire [3:0] store_skew_z;
  wire store_last;

  wire run_start, load_start, store_start, run_busy, load_busy, store_busy;
  wire tap_write;
  wire [7:0] tap_index;
  wire [23:0] tap_value;

  assign busy = {store_busy, run_busy, load_busy};

  deconv_commands #(
      .ADDRESS(ADDRESS),
      .WEIGHT (WEIGHT),
      .BIAS   (BIAS)
  ) u_commands (
      .clk(clk),
      .rst(rst),
      .s_cmd_tvalid(s_cmd_tvalid),
      .s_cmd_tready(s_cmd_tready),
      .s_cmd_tdata(s_cmd_tdata),
      .run_busy(run_busy),
      .load_busy(load_busy),
      .store_busy(store_busy),
      .run_start(run_start),
      .load_start(load_start),
      .store_start(store_start),
      .ended(ended),
      .tap_write(tap_write),
      .tap_index(tap_index),
      .tap_value(tap_value),
      .src(src),
      .src_base(src_base),
      .in_z(in_z),
      .in_r(in_r),
      .in_c(in_c),
      .in_blocks_z(in_blocks_z),
      .in_blocks_r(in_blocks_r),
      .in_blocks_c(in_blocks_c),
      .in_folds(in_folds),
      .in_stride_z(in_stride_z),
      .in_stride_r(in_stride_r),
      .in_stride_c(in_stride_c),
      .in_skew_z(in_skew_z),
      .channels_in(channels_in),
      .channels_out(channels_out),
      .groups(groups),
      .dst_base(dst_base),
      .out_z(out_z),
      .out_r(out_r),
      .out_c(out_c),
      .out_stride_z(out_stride_z),
      .out_stride_r(out_stride_r),
      .out_stride_c(out_stride_c),
      .out_skew_z(out_skew_z),
      .mode(mode),
      .stride(stride),
      .stride_z(stride_z),
      .shift(shift),
      .weight_base(weight_base),
      .weight_group(weight_group),
      .bias_base(bias_base),
      .taps(taps),
      .tap_base(tap_base),
      .q_blocks_z(q_blocks_z),
      .q_blocks_r(q_blocks_r),
      .q_blocks_c(q_blocks_c),
      .k_stride_z(k_stride_z),
      .k_stride_r(k_stride_r),
      .k_stride_c(k_stride_c),
      .k_step_z(k_step_z),
      .k_step_r(k_step_r),
      .k_step_c(k_step_c),
      .start_high_z(start_high_z),
      .start_high_r(start_high_r),
      .start_high_c(start_high_c),
      .start_low_z(start_low_z),
      .start_low_r(start_low_r),
      .start_low_c(start_low_c),
      .load_mem(load_mem),
      .load_base(load_base),
      .load_z(load_z),
      .load_r(load_r),
      .load_c(load_c),
      .load_words(load_words),
      .load_stride_z(load_stride_z),
      .load_stride_r(load_stride_r),
      .load_stride_c(load_stride_c),
      .load_merged(load_merged),
      .load_skew_z(load_skew_z),
      .store_mem(store_mem),
      .store_base(store_base),
      .store_z(store_z),
      .store_r(store_r),
      .store_c(store_c),
      .store_words(store_words),
      .store_stride_z(store_stride_z),
      .store_stride_r(store_stride_r),
      .store_stride_c(store_stride_c),
      .store_merged(store_merged),
      .store_skew_z(store_skew_z),
      .store_last(store_last)
  );

  // Activations in and out.
  wire [LANES-1:0] load_write;
  wire [ADDRESS-1:0] load_address, store_address;
  wire [IO*WORD-1:0] load_data;
  wire [1:0] load_ready, store_ready;  // of memories B and A
  wire [LANES*WORD-1:0] a_data, b_data;

  deconv_load #(
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .COLUMNS(IO),
      .WORD(WORD),
      .ADDRESS(ADDRESS)
  ) u_load (
      .clk(clk),
      .rst(rst),
      .start(load_start),
      .busy(load_busy),
      .base(load_base),
      .depth(load_z),
      .rows(load_r),
      .columns(load_c),
      .words(load_words),
      .stride_z(load_stride_z),
      .stride_r(load_stride_r),
      .stride_c(load_stride_c),
      .merged(load_merged),
      .skew_z(load_skew_z),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(s_axis_tready),
      .s_axis_tdata(s_axis_tdata),
      .write(load_write),
      .write_address(load_address),
      .write_data(load_data),
      .write_ready(load_ready[load_mem])
  );

  deconv_store #(
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .COLUMNS(IO),
      .WORD(WORD),
      .ADDRESS(ADDRESS),
      .READ(READ - 1)
  ) u_store (
      .clk(clk),
      .rst(rst),
      .start(store_start),
      .busy(store_busy),
      .base(store_base),
      .depth(store_z),
      .rows(store_r),
      .columns(store_c),
      .words(store_words),
      .stride_z(store_stride_z),
      .stride_r(store_stride_r),
      .stride_c(store_stride_c),
      .merged(store_merged),
      .skew_z(store_skew_z),
      .mark_last(store_last),
      .read_address(store_address),
      .read_ready(store_ready[store_mem]),
      .read_data(store_mem ? b_data : a_data),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tlast(m_axis_tlast)
  );

  // The issue bus: one a cycle. `group_bias` is that of the group on the bus.
  wire issue_valid, issue_first, issue_last, issue_fold_last;
  wire [ADDRESS-1:0] issue_address;
  wire [LANES-1:0] issue_mask;
  wire [COUNT-1:0] issue_inside, issue_kept;  // positions, for the counters
  wire [WEIGHT-1:0] issue_weight;
  wire group_ready, group_next, group_done, stalled_weights, stalled_drain;
  wire [BIAS-1:0] group_bias, bias_address;
  wire [TM*ACC-1:0] bias;
  wire [WEIGHT_WORD-1:0] weights;
  logic [LANES*TN*BITS-1:0] activations;

  // Results, into the memory that is not read.
  wire [LANES-1:0] result_write;
  wire [LANES*ADDRESS-1:0] result_address;
  wire [LANES*PART-1:0] result_part;
  wire [LANES*TM*BITS-1:0] result_data;

  deconv_memory #(
      .LANES(LANES),
      .WORDS(A_WORDS),
      .PARTS(PARTS),
      .BITS(TM * BITS),
      .COLUMNS(IO),
      .ADDRESS(ADDRESS)
  ) u_a (
      .clk(clk),
      .run_read(issue_valid && !src),
      .run_address(issue_address),
      .store_address(store_address),
      .store_ready(store_ready[0]),
      .data(a_data),
      .run_write(src ? result_write : '0),
      .run_write_address(result_address),
      .run_write_part(result_part),
      .run_write_data(result_data),
      .load_write(load_mem ? '0 : load_write),
      .load_address(load_address),
      .load_data(load_data),
      .load_ready(load_ready[0])
  );

  deconv_memory #(
      .LANES(LANES),
      .WORDS(B_WORDS),
      .PARTS(PARTS),
      .BITS(TM * BITS),
      .COLUMNS(IO),
      .ADDRESS(ADDRESS)
  ) u_b (
      .clk(clk),
      .run_read(issue_valid && src),
      .run_address(issue_address),
      .store_address(store_address),
      .store_ready(store_ready[1]),
      .data(b_data),
      .run_write(src ? '0 : result_write),
      .run_write_address(result_address),
      .run_write_part(result_part),
      .run_write_data(result_data),
      .load_write(load_mem ? load_write : '0),
      .load_address(load_address),
      .load_data(load_data),
      .load_ready(load_ready[1])
  );

  deconv_weights #(
      .WORD(WEIGHT_WORD),
      .WORDS(W_WORDS),
      .BIAS_WORD(TM * ACC),
      .BIAS_WORDS(GROUPS),
      .WEIGHTS(WEIGHTS),
      .BIASES(BIASES),
      .BEAT(WEIGHT_BEAT)
  ) u_weights (
      .clk(clk),
      .rst(rst),
      .start(run_start),
      .weight_base(weight_base),
      .weight_group(weight_group),
      .bias_base(bias_base),
      .group_ready(group_ready),
      .group_next(group_next),
      .group_bias(group_bias),
      .group_done(group_done),
      .address(issue_weight),
      .weights(weights),
      .bias_address(bias_address),
      .bias(bias),
      .s_axis_tvalid(s_weight_tvalid),
      .s_axis_tready(s_weight_tready),
      .s_axis_tdata(s_weight_tdata),
      .s_axis_tlast(s_weight_tlast)
  );

  if (DATAFLOW == 0) begin : g_reverse
    localparam int SOURCE = ADDRESS + $clog2(SOURCES);
    localparam int RESULT = ADDRESS + $clog2(PARTS);
    localparam int TAG = BIAS + 1 + RESULT;

    wire [SOURCE-1:0] place;
    wire [RESULT:0] tag;
    wire array_valid, array_first, array_last, read_mask, sum_valid, done;
    logic array_mask;
    wire [TAG-1:0] array_tag, sum_tag;
    wire [TM*ACC-1:0] sums;
    logic running;

    assign run_busy = running;
    always_ff @(posedge clk) running <= !rst && (run_start || (running && !done));

    deconv_reverse #(
        .ADDRESS(ADDRESS),
        .SOURCES(SOURCES),
        .PARTS  (PARTS),
        .WEIGHT (WEIGHT)
    ) u_scheduler (
        .clk(clk),
        .rst(rst),
        .start(run_start),
        .src_base(src_base),
        .in_z(in_z),
        .in_r(in_r),
        .in_c(in_c),
        .in_folds(in_folds),
        .in_stride_z(in_stride_z),
        .in_stride_r(in_stride_r),
        .in_stride_c(in_stride_c),
        .groups(groups),
        .dst_base(dst_base),
        .out_z(out_z),
        .out_r(out_r),
        .out_c(out_c),
        .out_stride_z(out_stride_z),
        .out_stride_r(out_stride_r),
        .out_stride_c(out_stride_c),
        .stride(stride),
        .stride_z(stride_z),
        .k_stride_z(k_stride_z),
        .k_stride_r(k_stride_r),
        .k_stride_c(k_stride_c),
        .k_step_z(k_step_z),
        .k_step_r(k_step_r),
        .k_step_c(k_step_c),
        .start_high_z(start_high_z),
        .start_high_r(start_high_r),
        .start_high_c(start_high_c),
        .start_low_z(start_low_z),
        .start_low_r(start_low_r),
        .start_low_c(start_low_c),
        .group_ready(group_ready),
        .group_next(group_next),
        .group_done(group_done),
        .stalled(stalled_weights),
        .issue_valid(issue_valid),
        .issue_address(place),
        .issue_mask(issue_mask),
        .issue_weight(issue_weight),
        .issue_first(issue_first),
        .issue_last(issue_last),
        .issue_fold_last(issue_fold_last),
        .issue_tag(tag)
    );

    assign issue_inside = issue_mask;
    assign issue_kept = issue_mask;  // only inputs of outputs are asked for
    assign stalled_drain = 1'b0;
    assign issue_address = place[SOURCE-1-:ADDRESS];

    if (SOURCES == 1) begin : g_word
      always_ff @(posedge clk) begin
        activations <= src ? b_data : a_data;
        if (!read_mask) activations <= '0;
      end
    end else begin : g_part
      wire [$clog2(SOURCES)-1:0] part;
      wire [WORD-1:0] word = src ? b_data : a_data;

      delay #(
          .WIDTH ($clog2(SOURCES)),
          .STAGES(READ - 1)
      ) u_part (
          .clk(clk),
          .in (place[$clog2(SOURCES)-1:0]),
          .out(part)
      );
      always_ff @(posedge clk) begin
        activations <= word[part*TN*BITS+:TN*BITS];
        if (!read_mask) activations <= '0;
      end
    end

    delay #(
        .WIDTH (TAG + 2),
        .STAGES(READ)
    ) u_issue (
        .clk(clk),
        .in ({issue_first, issue_last, group_bias, tag}),
        .out({array_first, array_last, array_tag})
    );

    delay #(
        .WIDTH (1),
        .STAGES(READ - 1)
    ) u_mask (
        .clk(clk),
        .in (issue_mask),
        .out(read_mask)
    );
    always_ff @(posedge clk) array_mask <= read_mask;

    logic [READ-1:0] valid;
    always_ff @(posedge clk) valid <= rst ? '0 : {valid[READ-2:0], issue_valid};
    assign array_valid = valid[READ-1];

    deconv_array #(
        .BITS(BITS),
        .ACC (ACC),
        .TM  (TM),
        .TN  (TN),
        .TZ  (1),
        .TR  (1),
        .TC  (1),
        .TAG (TAG),
        .ECP5(ECP5)
    ) u_array (
        .clk(clk),
        .rst(rst),
        .valid(array_valid),
        .first(array_first),
        .last(array_last),
        .merged(1'b0),
        .tag(array_tag),
        .mask(array_mask),
        .activations(activations),
        .weights(weights),
        .sum_valid(sum_valid),
        .sum_tag(sum_tag),
        .sums(sums)
    );

    deconv_write #(
        .TM(TM),
        .BITS(BITS),
        .ACC(ACC),
        .PARTS(PARTS),
        .ADDRESS(ADDRESS),
        .BIAS(BIAS),
        .TABLE(TABLE)
    ) u_write (
        .clk(clk),
        .rst(rst),
        .shift(shift),
        .activation(mode[3:2]),
        .sum_valid(sum_valid),
        .sum_tag(sum_tag),
        .sums(sums),
        .bias_address(bias_address),
        .bias(bias),
        .write(result_write),
        .write_address(result_address),
        .write_part(result_part),
        .write_data(result_data),
        .done(done)
    );

    wire unused_tiles = &{
      1'b0, in_blocks_z, in_blocks_r, in_blocks_c, in_skew_z, out_skew_z, mode[1:0], taps, tap_base, q_blocks_z,
      q_blocks_r, q_blocks_c, tap_write, tap_index, tap_value, DRAIN[0], PSUM_WORDS[0]
    };
  end else begin : g_input
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
        .clk(clk),
        .rst(rst),
        .start(started),
        .src_base(src_base),
        .in_z(in_z),
        .in_r(in_r),
        .in_c(in_c),
        .in_blocks_z(in_blocks_z),
        .in_blocks_r(in_blocks_r),
        .in_blocks_c(in_blocks_c),
        .in_folds(in_folds),
        .in_stride_z(in_stride_z),
        .in_stride_r(in_stride_r),
        .in_stride_c(in_stride_c),
        .in_skew_z(in_skew_z),
        .groups(groups),
        .merged(mode[0]),
        .stride(stride),
        .stride_z(stride_z),
        .out_z(out_z),
        .out_r(out_r),
        .out_c(out_c),
        .taps(taps),
        .tap_base(tap_base),
        .q_blocks_z(q_blocks_z),
        .q_blocks_r(q_blocks_r),
        .q_blocks_c(q_blocks_c),
        .tap_address(tap_address),
        .tap_data(tap_data),
        .group_ready(group_ready),
        .group_next(group_next),
        .group_done(group_done),
        .half_done(half_done),
        .group_start(group_start),
        .group_half(group_half),
        .issue_valid(issue_valid),
        .issue_address(issue_address),
        .issue_mask(issue_mask),
        .issue_weight(issue_weight),
        .issue_first(issue_first),
        .issue_last(issue_last),
        .issue_fold(issue_fold),
        .issue_present(issue_inside),
        .issue_kept(issue_kept),
        .issue_tag(issue_tag),
        .stall_weights(stalled_weights),
        .stall_drain(stalled_drain),
        .q_plane(q_plane),
        .q_row(q_row)
    );

    assign issue_fold_last = issue_last;
    always_ff @(posedge clk) begin
      for (int l = 0; l < LANES; l++) begin
        activations[l*WORD+:WORD] <= src ? b_data[l*WORD+:WORD] : a_data[l*WORD+:WORD];
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
        .clk(clk),
        .rst(rst),
        .valid(array_valid),
        .first(array_first),
        .last(array_last),
        .merged(mode[0]),
        .tag(array_tag),
        .mask(array_mask),
        .activations(activations),
        .weights(weights),
        .sum_valid(sum_valid),
        .sum_tag(sum_tag),
        .sums(sums)
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
        .clk(clk),
        .rst(rst),
        .q_plane(q_plane),
        .q_row(q_row),
        .sum_valid(sum_valid),
        .sum_tag(sum_tag),
        .sums(sums),
        .drain_enable(drain_enable),
        .drain_half(drain_half),
        .drain_address(drain_address),
        .drain_group(drain_group),
        .drain_data(drain_data),
        .full(full),
        .ready(scatter_ready)
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
        .clk(clk),
        .rst(rst),
        .start(started),
        .groups(groups),
        .merged_in(mode[0]),
        .merged_out(mode[1]),
        .activation(mode[3:2]),
        .shift(shift),
        .stride(stride),
        .stride_z(stride_z),
        .out_z(out_z),
        .out_r(out_r),
        .out_c(out_c),
        .dst_base(dst_base),
        .out_stride_z(out_stride_z),
        .out_stride_r(out_stride_r),
        .out_stride_c(out_stride_c),
        .out_skew_z(out_skew_z),
        .q_blocks_z(q_blocks_z),
        .q_plane(q_plane),
        .q_row(q_row),
        .group_start(group_start),
        .group_half(group_half),
        .group_bias(group_bias),
        .full(full),
        .half_done(half_done),
        .busy(drain_busy),
        .bias_address(bias_address),
        .bias(bias),
        .drain_enable(drain_enable),
        .drain_half(drain_half),
        .drain_address(drain_address),
        .drain_group(drain_group),
        .drain_data(drain_data),
        .write_enable(result_write),
        .write_address(result_address),
        .write_part(part),
        .write_data(result_data)
    );

    wire unused_reverse = &{
      1'b0, issue_fold, k_stride_z, k_stride_r, k_stride_c, k_step_z, k_step_r, k_step_c, start_high_z, start_high_r,
      start_high_c, start_low_z, start_low_r, start_low_c
    };
  end

  if (COUNTERS) begin : g_counters
    deconv_counters #(
        .LANES(LANES),
        .TM(TM)
    ) u_counters (
        .clk(clk),
        .rst(rst),
        .start(run_start),
        .busy(run_busy),
        .channels_in(channels_in),
        .channels_out(channels_out),
        .issue_valid(issue_valid),
        .issue_inside(issue_inside),
        .issue_kept(issue_kept),
        .issue_fold_last(issue_fold_last),
        .group_done(group_done),
        .stalled_weights(stalled_weights),
        .stalled_drain(stalled_drain),
        .loaded(s_axis_tvalid && s_axis_tready),
        .stored(m_axis_tvalid && m_axis_tready),
        .weighed(s_weight_tvalid && s_weight_tready),
        .count_busy(count_busy),
        .count_issues(count_issues),
        .count_stalled_weights(count_stalled_weights),
        .count_stalled_drain(count_stalled_drain),
        .count_useful(count_useful),
        .count_kept(count_kept),
        .count_loaded(count_loaded),
        .count_stored(count_stored),
        .count_weighed(count_weighed)
    );
  end else begin : g_no_counters
    assign count_busy = '0;
    assign count_issues = '0;
    assign count_stalled_weights = '0;
    assign count_stalled_drain = '0;
    assign count_useful = '0;
    assign count_kept = '0;
    assign count_loaded = '0;
    assign count_stored = '0;
    assign count_weighed = '0;
    wire unused_counters = &{
      1'b0, channels_in, channels_out, issue_inside, issue_kept, issue_fold_last, stalled_weights, stalled_drain
    };
  end
endmodule

`default_nettype wire
