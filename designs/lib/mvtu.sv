// Matrix-vector-threshold unit: for each input vector of SYNAPSES numbers, NEURONS sums of products with a row of
// weights each, as sums or compared with a threshold each. Folded: PE rows by SIMD columns of the matrix a cycle.
//
// Input: SYNAPSES / SIMD beats of SIMD activations, the first in the lowest bits; output: NEURONS / PE beats of PE
// results, neuron 0 lowest in the first. In the steady state a vector takes exactly SYNAPSES / SIMD * NEURONS / PE
// cycles: the next vector comes in meanwhile, and results wait in a FIFO; no other beat is lost or added.
//
// Arithmetic. A_BITS == 1 and W_BITS == 1: bits are +1 (1) and -1 (0). MASK_GROUP = G > 0: the input is SIMD / G groups
// of {mask bit, G bits}; where the mask is 0 the group adds nothing to the sum. A_BITS > 1: activations are two's
// complement, weights signs (W_BITS == 1) or two's complement (W_BITS > 1: multipliers). Sums are exact modulo
// 2^ACC_BITS; with W_BITS == 1 ACC_BITS must hold every possible sum, with W_BITS > 1 it is for the user to see to that.
// THRESHOLD = 1: a bit a neuron, sum >= threshold (both two's complement of ACC_BITS); 0: sums of ACC_BITS bits.
//
// WEIGHTS is a $readmemh file of NEURONS / PE * SYNAPSES / SIMD words of PE * SIMD * W_BITS bits: for each neuron fold all
// synapse folds; in a word PE p (neuron fold * PE + p) has bits p * SIMD * W_BITS and up, its first synapse lowest.
// THRESHOLDS is a file of NEURONS / PE words of PE * ACC_BITS bits, PE 0 lowest; unused with THRESHOLD = 0.
//
// m_axis_* and s_axis_tready come from registers; no path leads through the module within a cycle.
//
//   mvtu #(.SIMD(384), .PE(32), .SYNAPSES(1152), .NEURONS(128), .MASK_GROUP(128), .ACC_BITS(12),
//          .WEIGHTS("conv2_weights.hex"), .THRESHOLDS("conv2_thresholds.hex")) u_conv2 (.clk, .rst, .s_axis_*, .m_axis_*);
`default_nettype none

module mvtu #(
    // Columns of the matrix a cycle; divides SYNAPSES.
    parameter int SIMD = 8,
    // Rows of the matrix a cycle; divides NEURONS.
    parameter int PE = 4,
    // Columns of the matrix.
    parameter int SYNAPSES = 64,
    // Rows of the matrix.
    parameter int NEURONS = 16,
    // Bits of an activation; 1: +1 or -1.
    parameter int A_BITS = 1,
    // Bits of a weight; 1: +1 or -1.
    parameter int W_BITS = 1,
    // Activations that share a mask bit, a divisor of SIMD; 0: no mask.
    parameter int MASK_GROUP = 0,
    // Bits of a sum and of a threshold.
    parameter int ACC_BITS = 16,
    // 1: results are bits; 0: results are sums.
    parameter bit THRESHOLD = 1,
    // File of the weights.
    parameter WEIGHTS = "",
    // File of the thresholds.
    parameter THRESHOLDS = "",
    // Words above which a memory has a second register for its read, since it is made of block RAM then.
    parameter int SLOW_ABOVE = 32
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [SIMD*A_BITS+(MASK_GROUP > 0 ? SIMD / MASK_GROUP : 0)-1:0] s_axis_tdata,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [PE*(THRESHOLD ? 1 : ACC_BITS)-1:0] m_axis_tdata
);
  // Largest magnitude of a sum.
  localparam longint BOUND = longint'(SYNAPSES) << (A_BITS + W_BITS - 2);

  if (SIMD < 1 || PE < 1 || SYNAPSES < 1 || NEURONS < 1 || A_BITS < 1 || W_BITS < 1) begin : g_size
    $error("mvtu: SIMD, PE, SYNAPSES, NEURONS, A_BITS and W_BITS must be at least 1");
  end
  if (SYNAPSES % (SIMD < 1 ? 1 : SIMD) != 0) begin : g_synapses
    $error("mvtu: SIMD must divide SYNAPSES");
  end
  if (NEURONS % (PE < 1 ? 1 : PE) != 0) begin : g_neurons
    $error("mvtu: PE must divide NEURONS");
  end
  if (A_BITS == 1 && W_BITS > 1) begin : g_bits
    $error("mvtu: W_BITS above 1 needs A_BITS above 1");
  end
  if (MASK_GROUP < 0 || (MASK_GROUP > 0 && (A_BITS > 1 || SIMD % (MASK_GROUP < 1 ? 1 : MASK_GROUP) != 0))) begin : g_mask
    $error("mvtu: MASK_GROUP must be 0, or divide SIMD with A_BITS of 1");
  end
  if (ACC_BITS < 2 || (W_BITS == 1 && ACC_BITS < 63 && (64'd1 << (ACC_BITS < 1 ? 0 : ACC_BITS - 1)) <= BOUND)) begin : g_acc
    $error("mvtu: ACC_BITS must hold every possible sum");
  end
  if (WEIGHTS == "" || (THRESHOLD && THRESHOLDS == "")) begin : g_files
    $error("mvtu: WEIGHTS, and THRESHOLDS with THRESHOLD = 1, must name files");
  end

  localparam int SYNAPSE_FOLDS = SYNAPSES / (SIMD < 1 ? 1 : SIMD);
  localparam int NEURON_FOLDS = NEURONS / (PE < 1 ? 1 : PE);
  localparam int GROUPS = MASK_GROUP > 0 ? SIMD / MASK_GROUP : 1;
  localparam int WORDS = SYNAPSE_FOLDS * NEURON_FOLDS;
  localparam int ADDRESS = WORDS > 1 ? $clog2(WORDS) : 1;
  localparam int FOLD = NEURON_FOLDS > 1 ? $clog2(NEURON_FOLDS) : 1;
  localparam int RESULT = THRESHOLD ? 1 : ACC_BITS;

  // Registers of the dot product: one for each two levels of adders, one behind the first level of a popcount.
  localparam int COUNTED = MASK_GROUP > 0 ? MASK_GROUP : SIMD;  // bits of one popcount
  localparam int ADDED = A_BITS > 1 ? SIMD : GROUPS;  // numbers of the adder tree
  localparam int FIRST = A_BITS > 1 ? (W_BITS > 1 ? 2 : 1) : 1 + ($clog2((COUNTED + 2) / 3) + 1) / 2;
  localparam int SECOND = ADDED > 1 ? ($clog2(ADDED) + 1) / 2 : MASK_GROUP > 0 ? 1 : 0;
  localparam int DOT = FIRST + SECOND;
  localparam int READ = WORDS > SLOW_ABOVE ? 2 : 1;  // cycles in which weights are read
  localparam int STAGE = READ + DOT - 1;  // of `valid`, at the accumulators
  // From the step that reads the last beat of a pass to its result in the FIFO: read, dot product, sum, comparison.
  localparam int LATENCY = READ + DOT + 1 + (THRESHOLD ? 1 : 0);
  // Results that may be on their way or wait; a place is taken by the first beat of a pass.
  localparam int PLACES = (LATENCY + 3) / SYNAPSE_FOLDS + 2;
  localparam int DEPTH = 1 << $clog2(PLACES);
  localparam int CREDIT = $clog2(DEPTH + 1);

  // A pass over the vector begins only with a place for its results.
  logic [CREDIT-1:0] credits;
  logic returned;
  wire allow = credits != '0;
  wire step, first, last;
  wire take = step && first;

  always_ff @(posedge clk) begin
    returned <= m_axis_tvalid && m_axis_tready && !rst;
    if (take != returned) credits <= credits + {{(CREDIT - 1) {take}}, 1'b1};  // plus or minus one with one adder
    if (rst) credits <= CREDIT'(DEPTH);
  end

  localparam int WORD = SIMD * A_BITS + (MASK_GROUP > 0 ? GROUPS : 0);
  wire [WORD-1:0] read, word;

  replay_buffer #(
      .WIDTH(WORD),
      .BEATS(SYNAPSE_FOLDS),
      .REPEATS(NEURON_FOLDS)
  ) u_buffer (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(s_axis_tready),
      .s_axis_tdata(s_axis_tdata),
      .allow(allow),
      .step(step),
      .first(first),
      .last(last),
      .data(read)
  );

  delay #(
      .WIDTH (WORD),
      .STAGES(READ - 1)
  ) u_word (
      .clk(clk),
      .in (read),
      .out(word)
  );

  wire [SIMD*A_BITS-1:0] activations;
  wire [GROUPS-1:0] mask;

  if (MASK_GROUP > 0) begin : g_groups
    for (genvar g = 0; g < GROUPS; g++) begin : g_group
      assign {mask[g], activations[g*MASK_GROUP+:MASK_GROUP]} = word[g*(MASK_GROUP+1)+:MASK_GROUP+1];
    end
  end else begin : g_no_groups
    assign activations = word;
    assign mask = '0;
  end

  // Weights, in step with the buffer.
  logic [ADDRESS-1:0] address;
  wire [PE*SIMD*W_BITS-1:0] weights;

  always_ff @(posedge clk) begin
    if (step) address <= address == ADDRESS'(WORDS - 1) ? '0 : address + 1'b1;
    if (rst) address <= '0;
  end

  rom #(
      .WIDTH(PE * SIMD * W_BITS),
      .DEPTH(WORDS),
      .FILE(WEIGHTS),
      .REGISTERS(READ)
  ) u_weights (
      .clk(clk),
      .address(address),
      .data(weights)
  );

  // Beside the pipeline: a beat is at the accumulator, and it is the last of its pass.
  logic [STAGE:0] valid, final_beat;

  always_ff @(posedge clk) begin
    valid <= rst ? '0 : (STAGE + 1)'({valid, step});
    final_beat <= (STAGE + 1)'({final_beat, step && last});
  end

  wire [ACC_BITS-1:0] activation_sum;

  wire [SIMD*A_BITS-1:0] operands;  // by bit where dot_product wants it so

  if (A_BITS > 1 && W_BITS == 1) begin : g_activation_sum
    for (genvar i = 0; i < SIMD; i++) begin : g_number
      for (genvar b = 0; b < A_BITS; b++) begin : g_bit
        assign operands[b*SIMD+i] = activations[i*A_BITS+b];
      end
    end

    adder_tree #(
        .COUNT(SIMD),
        .BITS(A_BITS),
        .SIGNED(1),
        .LATENCY(SECOND),
        .OUT_BITS(ACC_BITS)
    ) u_sum (
        .clk (clk),
        .data(activations),
        .sum (activation_sum)
    );
  end else begin : g_no_activation_sum
    assign operands = activations;
    assign activation_sum = '0;
  end

  // What the sums of a vector start with: see dot_product.
  localparam logic [ACC_BITS-1:0] START = A_BITS == 1 ? ACC_BITS'(-SYNAPSES) : '0;

  logic [PE-1:0][ACC_BITS-1:0] sums;
  logic sums_valid;

  always_ff @(posedge clk) sums_valid <= valid[STAGE] && final_beat[STAGE] && !rst;

  for (genvar p = 0; p < PE; p++) begin : g_pe
    wire [ACC_BITS-1:0] part, total;

    dot_product #(
        .SIMD(SIMD),
        .A_BITS(A_BITS),
        .W_BITS(W_BITS),
        .MASK_GROUP(MASK_GROUP),
        .OUT_BITS(ACC_BITS),
        .FIRST(FIRST),
        .SECOND(SECOND)
    ) u_dot (
        .clk(clk),
        .activations(operands),
        .mask(mask),
        .weights(weights[p*SIMD*W_BITS+:SIMD*W_BITS]),
        .activation_sum(activation_sum),
        .sum(part)
    );

    if (SYNAPSE_FOLDS == 1) begin : g_whole
      assign total = START + part;
    end else begin : g_parts
      logic [ACC_BITS-1:0] accumulator;

      assign total = accumulator + part;
      always_ff @(posedge clk) begin
        if (valid[STAGE]) accumulator <= total;
        if (rst || (valid[STAGE] && final_beat[STAGE])) accumulator <= START;
      end
    end

    always_ff @(posedge clk) sums[p] <= total;
  end

  wire [PE*RESULT-1:0] results;
  wire results_valid;

  if (THRESHOLD) begin : g_threshold
    localparam int THRESHOLD_READ = NEURON_FOLDS > SLOW_ABOVE ? 2 : 1;
    localparam int EARLY = STAGE + 1 - THRESHOLD_READ;
    logic [FOLD-1:0] fold;
    wire [PE*ACC_BITS-1:0] thresholds;
    logic [PE-1:0] bits;
    logic bits_valid;

    // The sums and their thresholds are there in the same cycle.
    always_ff @(posedge clk) begin
      bits_valid <= sums_valid && !rst;
      if (valid[EARLY] && final_beat[EARLY]) fold <= fold == FOLD'(NEURON_FOLDS - 1) ? '0 : fold + 1'b1;
      if (rst) fold <= '0;
    end

    rom #(
        .WIDTH(PE * ACC_BITS),
        .DEPTH(NEURON_FOLDS),
        .FILE(THRESHOLDS),
        .REGISTERS(THRESHOLD_READ)
    ) u_thresholds (
        .clk(clk),
        .address(fold),
        .data(thresholds)
    );

    for (genvar p = 0; p < PE; p++) begin : g_compare
      always_ff @(posedge clk) bits[p] <= $signed(sums[p]) >= $signed(thresholds[p*ACC_BITS+:ACC_BITS]);
    end

    assign results = bits;
    assign results_valid = bits_valid;
  end else begin : g_sums
    assign results = sums;
    assign results_valid = sums_valid;
  end

  wire fifo_ready, unused_last;

  stream_fifo #(
      .WIDTH(PE * RESULT),
      .DEPTH(DEPTH)
  ) u_fifo (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(results_valid),
      .s_axis_tready(fifo_ready),
      .s_axis_tdata(results),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tlast(unused_last)
  );

`ifdef SYNTHESIS
  wire unused = &{1'b0, unused_last, fifo_ready};
`else
  wire  unused = &{1'b0, unused_last};
  logic started;  // before the first reset everything is random
  initial started = 1'b0;

  always_ff @(posedge clk) begin
    if (rst) started <= 1'b1;
    if (started && !rst) assert (!results_valid || fifo_ready) else $error("mvtu: a result found the FIFO full");
  end
`endif
endmodule

`default_nettype wire
