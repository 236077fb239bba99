// The weights and biases of the engine. Schedulers give addresses within a group of output channels; this unit knows
// which group is computed: `group_done` goes to the next in the next cycle.
//
// Resident: memory images of a whole network, group g of a RUN from weight_base + g * weight_group on, its biases at
// bias_base + g. Streamed: two halves, filled in turn by the stream, which brings a beat with the biases of a group,
// then a beat for each of its words, the last one with tlast; it runs ahead of the computation, also into the next RUN.
//
// `weights` are there READ = 4 cycles after their address, `bias` two cycles after `bias_address`.
`default_nettype none

module deconv_weights #(
    // Bits of a word of weights.
    parameter int WORD = 64,
    // Words; of both halves where streamed.
    parameter int WORDS = 64,
    // Bits of the biases of a group.
    parameter int BIAS_WORD = 32,
    // Groups of biases; 4 where streamed.
    parameter int BIAS_WORDS = 4,
    // Memory images, or "" to stream.
    parameter WEIGHTS = "",
    parameter BIASES = "",
    // Bits of a beat.
    parameter int BEAT = WORD > BIAS_WORD ? WORD : BIAS_WORD,
    // Bits of addresses; derived.
    parameter int WEIGHT = WORDS > 1 ? $clog2(WORDS) : 1,
    parameter int BIAS = BIAS_WORDS > 1 ? $clog2(BIAS_WORDS) : 1
) (
    input wire clk,
    input wire rst,

    input wire start,
    input wire [WEIGHT-1:0] weight_base,
    input wire [WEIGHT-1:0] weight_group,
    input wire [BIAS-1:0] bias_base,

    // The weights of the group that is computed are there; those of the group after it are.
    output wire group_ready,
    output wire group_next,
    output wire [BIAS-1:0] group_bias,
    input wire group_done,

    input wire [WEIGHT-1:0] address,
    output wire [WORD-1:0] weights,
    input wire [BIAS-1:0] bias_address,
    output wire [BIAS_WORD-1:0] bias,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [BEAT-1:0] s_axis_tdata,
    input wire s_axis_tlast
);
  if (BEAT < WORD || BEAT < BIAS_WORD) begin : g_beat
    $error("deconv_weights: BEAT must hold a word of weights and the biases of a group");
  end

  logic [WEIGHT-1:0] read_address;

  if (WEIGHTS != "") begin : g_resident
    if (BIASES == "") begin : g_files
      $error("deconv_weights: WEIGHTS needs BIASES");
    end

    logic [WEIGHT-1:0] base;
    logic [BIAS-1:0] present;

    assign group_ready = 1'b1;
    assign group_next = 1'b1;
    assign group_bias = present;
    assign s_axis_tready = 1'b0;

    always_ff @(posedge clk) begin
      if (group_done) begin
        base <= base + weight_group;
        present <= present + 1'b1;
      end
      if (start) begin
        base <= weight_base;
        present <= bias_base;
      end
      read_address <= base + address;
    end

    deconv_rom #(
        .WIDTH(WORD),
        .DEPTH(WORDS),
        .FILE (WEIGHTS)
    ) u_weights (
        .clk(clk),
        .address(read_address),
        .data(weights)
    );

    rom #(
        .WIDTH(BIAS_WORD),
        .DEPTH(BIAS_WORDS),
        .FILE(BIASES),
        .REGISTERS(2)
    ) u_biases (
        .clk(clk),
        .address(bias_address),
        .data(bias)
    );

    wire unused = &{1'b0, rst, s_axis_tvalid, s_axis_tdata, s_axis_tlast};
  end else begin : g_streamed
    if (BIAS_WORDS != 4 || WORDS < 2 || (WORDS & (WORDS - 1)) != 0) begin : g_size
      $error("deconv_weights: streamed weights need BIAS_WORDS of 4 and WORDS that are a power of two of at least 2");
    end

    // A group's slot: its half is the lowest bit. Biases stay for four groups, since they are used last.
    logic [1:0] filling, present;
    logic [1:0] full;
    logic biases_next;  // the next beat has biases
    logic [WEIGHT-1:0] fill_address;

    assign group_ready = full[present[0]];
    assign group_next = full[!present[0]];
    assign group_bias = present;
    assign s_axis_tready = !full[filling[0]];

    wire take = s_axis_tvalid && s_axis_tready;
    wire complete = take && s_axis_tlast && !biases_next;

    (* no_rw_check *) logic [WORD-1:0] memory[WORDS];
    (* no_rw_check *) logic [BIAS_WORD-1:0] bias_memory[4];
    logic [WORD-1:0] word, word_late, word_out;
    logic [BIAS_WORD-1:0] bias_word, bias_out;

    always_ff @(posedge clk) begin
      if (take && !biases_next) memory[fill_address] <= s_axis_tdata[WORD-1:0];
      if (take && biases_next) bias_memory[filling] <= s_axis_tdata[BIAS_WORD-1:0];
      read_address <= {present[0], {(WEIGHT - 1) {1'b0}}} | address;
      word <= memory[read_address];
      word_late <= word;
      word_out <= word_late;
      bias_word <= bias_memory[bias_address];
      bias_out <= bias_word;
    end
    assign weights = word_out;
    assign bias = bias_out;

    always_ff @(posedge clk) begin
      if (take) begin
        biases_next  <= complete;
        fill_address <= biases_next ? {filling[0], {(WEIGHT - 1) {1'b0}}} : fill_address + 1'b1;
      end
      if (complete) begin
        filling <= filling + 2'd1;
        full[filling[0]] <= 1'b1;
      end
      if (group_done) begin
        present <= present + 2'd1;
        full[present[0]] <= 1'b0;
      end
      if (rst) begin
        filling <= '0;
        present <= '0;
        full <= '0;
        biases_next <= 1'b1;
      end
    end

    wire unused = &{1'b0, start, weight_base, weight_group, bias_base};
    if (BEAT > WORD) begin : g_beat
      wire unused_high = &{1'b0, s_axis_tdata[BEAT-1:WORD]};
    end
  end
endmodule

`default_nettype wire
