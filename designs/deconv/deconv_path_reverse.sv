// What computes in reverse_loop: deconv_reverse asks for the inputs of one output after another, deconv_array multiplies
// them, deconv_write finishes each output. `run_busy` from the cycle after `run_start` until the last one is written.
`default_nettype none

module deconv_path_reverse #(
    // As in deconv_engine.
    parameter int BITS = 8,
    parameter int ACC = 26,
    parameter int TM = 4,
    parameter int TN = 32,
    parameter TABLE = "",
    parameter bit ECP5 = 0,
    // Bits of addresses: of activation memory, of weights, of biases.
    parameter int ADDRESS = 10,
    parameter int WEIGHT = 10,
    parameter int BIAS = 4,
    // Derived: channels and bits of a word; parts of a word that are written and read, and the bits of a part's number.
    parameter int WIDE = TM > TN ? TM : TN,
    parameter int WORD = WIDE * BITS,
    parameter int PARTS = WIDE / (TM < 1 ? 1 : TM),
    parameter int SOURCES = WIDE / (TN < 1 ? 1 : TN),
    parameter int PART = PARTS > 1 ? $clog2(PARTS) : 1
) (
    input wire clk,
    input wire rst,
    input wire run_start,
    output wire run_busy,

    // Registers of the RUN.
    input wire [ADDRESS-1:0] src_base,
    input wire [9:0] in_z,
    input wire [9:0] in_r,
    input wire [9:0] in_c,
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
    input wire [1:0] activation,
    input wire [2:0] stride,
    input wire [2:0] stride_z,
    input wire [5:0] shift,
    input wire [WEIGHT-1:0] k_stride_z,
    input wire [WEIGHT-1:0] k_stride_r,
    input wire [WEIGHT-1:0] k_stride_c,
    input wire [WEIGHT-1:0] k_step_z,
    input wire [WEIGHT-1:0] k_step_r,
    input wire [WEIGHT-1:0] k_step_c,
    input wire [23:0] start_high_z,
    input wire [23:0] start_high_r,
    input wire [23:0] start_high_c,
    input wire [23:0] start_low_z,
    input wire [23:0] start_low_r,
    input wire [23:0] start_low_c,

    // Words of the memory that is read, READ - 1 = 3 cycles after `issue_address`.
    output wire issue_valid,
    output wire [ADDRESS-1:0] issue_address,
    input wire [WORD-1:0] source,

    // Weights READ = 4 cycles after `issue_weight`; biases two cycles after `bias_address`.
    input wire group_ready,
    input wire group_next,
    input wire [BIAS-1:0] group_bias,
    output wire group_done,
    output wire [WEIGHT-1:0] issue_weight,
    input wire [TM*TN*BITS-1:0] weights,
    output wire [BIAS-1:0] bias_address,
    input wire [TM*ACC-1:0] bias,

    // For the counters: positions of an issue, whether it is the last fold of its tap, and why there was none.
    output wire issue_inside,
    output wire issue_kept,
    output wire issue_fold_last,
    output wire stalled_weights,
    output wire stalled_drain,

    // Results, into the memory that is not read.
    output wire result_write,
    output wire [ADDRESS-1:0] result_address,
    output wire [PART-1:0] result_part,
    output wire [TM*BITS-1:0] result_data
);
  // Cycles from an issue to its data and weights.
  localparam int READ = 4;
  localparam int SOURCE = ADDRESS + $clog2(SOURCES);
  localparam int RESULT = ADDRESS + $clog2(PARTS);
  localparam int TAG = BIAS + 1 + RESULT;

  wire [SOURCE-1:0] place;
  wire [RESULT:0] tag;
  wire array_valid, array_first, array_last, read_mask, sum_valid, done;
  logic array_mask;
  wire [TAG-1:0] array_tag, sum_tag;
  wire [TM*ACC-1:0] sums;
  wire issue_mask, issue_first, issue_last;
  logic [TN*BITS-1:0] activations;
  logic running;

  assign run_busy = running;
  always_ff @(posedge clk) running <= !rst && (run_start || (running && !done));

  deconv_reverse #(
      .ADDRESS(ADDRESS),
      .SOURCES(SOURCES),
      .PARTS  (PARTS),
      .WEIGHT (WEIGHT)
  ) u_scheduler (
      .start(run_start),
      .stalled(stalled_weights),
      .issue_address(place),
      .issue_tag(tag),
      .*
  );

  assign issue_inside = issue_mask;
  assign issue_kept = issue_mask;  // only inputs of outputs are asked for
  assign stalled_drain = 1'b0;
  assign issue_address = place[SOURCE-1-:ADDRESS];

  if (SOURCES == 1) begin : g_word
    always_ff @(posedge clk) begin
      activations <= source;
      if (!read_mask) activations <= '0;
    end
  end else begin : g_part
    wire [$clog2(SOURCES)-1:0] part;
    delay #(
        .WIDTH ($clog2(SOURCES)),
        .STAGES(READ - 1)
    ) u_part (
        .clk(clk),
        .in (place[$clog2(SOURCES)-1:0]),
        .out(part)
    );
    always_ff @(posedge clk) begin
      activations <= source[part*TN*BITS+:TN*BITS];
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
      .write(result_write),
      .write_address(result_address),
      .write_part(result_part),
      .write_data(result_data),
      .*
  );
endmodule

`default_nettype wire
