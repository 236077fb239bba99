// Transposed convolutions layer by layer, as a stream of commands says (designs/deconv/commands.py): activations come in
// and go out by streams, and lie in two activation memories between layers; weights are resident or streamed.
//
//   s_cmd -> deconv_commands -> registers, start
//   s_axis -> deconv_load -> memory A | B -> deconv_store -> m_axis
//   scheduler -> memories, weights -> array -> results -> memory B | A
//
// DATAFLOW 0, reverse_loop, gathers each output (deconv_path_reverse); 1, input_oriented, spreads inputs over all taps
// (deconv_path_oriented).
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

  // Registers of a RUN, of a LOAD and of a STORE; see deconv_commands.
  wire src, load_mem, load_merged, store_mem, store_merged, store_last;
  wire [ADDRESS-1:0] src_base, in_stride_z, in_stride_r, in_stride_c;
  wire [ADDRESS-1:0] dst_base, out_stride_z, out_stride_r, out_stride_c;
  wire [9:0] in_z, in_r, in_c, in_blocks_z, in_blocks_r, in_blocks_c, out_z, out_r, out_c;
  wire [9:0] q_blocks_z, q_blocks_r, q_blocks_c;
  wire [11:0] in_folds, channels_in, channels_out, groups;
  wire [3:0] mode;
  wire [2:0] stride, stride_z;
  wire [5:0] shift;
  wire [WEIGHT-1:0] weight_base, weight_group;
  wire [BIAS-1:0] bias_base;
  wire [8:0] taps;
  wire [7:0] tap_base;
  wire [WEIGHT-1:0] k_stride_z, k_stride_r, k_stride_c, k_step_z, k_step_r, k_step_c;
  wire [23:0] start_high_z, start_high_r, start_high_c, start_low_z, start_low_r, start_low_c;
  wire [ADDRESS-1:0] load_base, load_stride_z, load_stride_r, load_stride_c;
  wire [ADDRESS-1:0] store_base, store_stride_z, store_stride_r, store_stride_c;
  wire [9:0] load_z, load_r, load_c, store_z, store_r, store_c;
  wire [11:0] load_words, store_words;

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
      .*
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
      .write(load_write),
      .write_address(load_address),
      .write_data(load_data),
      .write_ready(load_ready[load_mem]),
      .*
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
      .mark_last(store_last),
      .read_address(store_address),
      .read_ready(store_ready[store_mem]),
      .read_data(store_mem ? b_data : a_data),
      .*
  );

  // The issue bus: one a cycle. `group_bias` is that of the group on the bus.
  wire issue_valid, issue_fold_last;
  wire [ADDRESS-1:0] issue_address;
  wire [COUNT-1:0] issue_inside, issue_kept;  // positions, for the counters
  wire [WEIGHT-1:0] issue_weight;
  wire group_ready, group_next, group_done, stalled_weights, stalled_drain;
  wire [BIAS-1:0] group_bias, bias_address;
  wire [TM*ACC-1:0] bias;
  wire [WEIGHT_WORD-1:0] weights;

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
      .start(run_start),
      .address(issue_weight),
      .s_axis_tvalid(s_weight_tvalid),
      .s_axis_tready(s_weight_tready),
      .s_axis_tdata(s_weight_tdata),
      .s_axis_tlast(s_weight_tlast),
      .*
  );

  wire [LANES*WORD-1:0] source = src ? b_data : a_data;
  wire merged_in = mode[0], merged_out = mode[1];
  wire [1:0] activation = mode[3:2];

  if (DATAFLOW == 0) begin : g_reverse
    deconv_path_reverse #(
        .BITS(BITS),
        .ACC(ACC),
        .TM(TM),
        .TN(TN),
        .TABLE(TABLE),
        .ECP5(ECP5),
        .ADDRESS(ADDRESS),
        .WEIGHT(WEIGHT),
        .BIAS(BIAS)
    ) u_path (
        .*
    );

    wire unused = &{
      1'b0, in_blocks_z, in_blocks_r, in_blocks_c, merged_in, merged_out, taps, tap_base, q_blocks_z, q_blocks_r,
      q_blocks_c, tap_write, tap_index, tap_value, DRAIN[0], PSUM_WORDS[0]
    };
  end else begin : g_input
    deconv_path_oriented #(
        .BITS(BITS),
        .ACC(ACC),
        .TM(TM),
        .TN(TN),
        .TZ(TZ),
        .TR(TR),
        .TC(TC),
        .TABLE(TABLE),
        .DRAIN(DRAIN),
        .PSUM_WORDS(PSUM_WORDS),
        .ECP5(ECP5),
        .ADDRESS(ADDRESS),
        .WEIGHT(WEIGHT),
        .BIAS(BIAS)
    ) u_path (
        .*
    );

    wire unused = &{
      1'b0, k_stride_z, k_stride_r, k_stride_c, k_step_z, k_step_r, k_step_c, start_high_z, start_high_r,
      start_high_c, start_low_z, start_low_r, start_low_c
    };
  end

  if (COUNTERS) begin : g_counters
    deconv_counters #(
        .LANES(LANES),
        .TM(TM)
    ) u_counters (
        .start(run_start),
        .busy(run_busy),
        .loaded(s_axis_tvalid && s_axis_tready),
        .stored(m_axis_tvalid && m_axis_tready),
        .weighed(s_weight_tvalid && s_weight_tready),
        .*
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
