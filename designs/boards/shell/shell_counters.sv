// What is counted at the core's pins and on the line. All events are taken a cycle late, so that they load no path of the
// core; differences of cycles stay exact.
`default_nettype none

module shell_counters #(
    // Words of an item in and out, 0: no fixed length.
    parameter int IN_ITEM  = 1,
    parameter int OUT_ITEM = 1
) (
    input wire clk,
    input wire rst,
    input wire clear,

    // The core's handshakes.
    input wire in_valid,
    input wire in_ready,
    input wire out_valid,
    input wire out_ready,

    // First byte of a frame in, a DATA frame was accepted, the last byte of a DATA frame out.
    input wire frame_start,
    input wire data_in,
    input wire data_out,
    input wire frame_ok,
    input wire frame_bad,

    output wire [31:0] frames_ok,
    output wire [31:0] frames_bad,
    output wire [31:0] words_in,
    output wire [31:0] words_out,
    output wire [31:0] items_in,
    output wire [31:0] items_out,
    output wire [47:0] cycles,
    output wire [47:0] steady,
    output wire [31:0] latency_min,
    output wire [31:0] latency_max,
    output wire [47:0] latency_sum,
    output wire latency_overflow,
    output wire [31:0] stall_in,
    output wire [31:0] stall_out,
    output logic stalled_out,
    output wire [47:0] line
);
  logic word_in, word_out, stalled_in, none;

  always_ff @(posedge clk) begin
    word_in <= in_valid && in_ready && !rst;
    word_out <= out_valid && out_ready && !rst;
    stalled_in <= in_valid && !in_ready && !rst;
    stalled_out <= out_valid && !out_ready && !rst;
    none <= rst || clear;
  end

  wire item_begins, item_enters, item_leaves, unused_begin;

  shell_items #(.WORDS(IN_ITEM)) u_in (.clk(clk), .rst(rst), .word(word_in), .first(item_begins), .last(item_enters));
  shell_items #(.WORDS(OUT_ITEM)) u_out (.clk(clk), .rst(rst), .word(word_out), .first(unused_begin), .last(item_leaves));

  shell_count u_ok (.clk(clk), .clear(none), .seen(frame_ok), .count(frames_ok));
  shell_count u_bad (.clk(clk), .clear(none), .seen(frame_bad), .count(frames_bad));
  shell_count u_words_in (.clk(clk), .clear(none), .seen(word_in), .count(words_in));
  shell_count u_words_out (.clk(clk), .clear(none), .seen(word_out), .count(words_out));
  shell_count u_items_in (.clk(clk), .clear(none), .seen(item_enters), .count(items_in));
  shell_count u_items_out (.clk(clk), .clear(none), .seen(item_leaves), .count(items_out));
  shell_count u_stall_in (.clk(clk), .clear(none), .seen(stalled_in), .count(stall_in));
  shell_count u_stall_out (.clk(clk), .clear(none), .seen(stalled_out), .count(stall_out));

  shell_span u_cycles (.clk(clk), .clear(none), .start(word_in), .stop(word_out), .cycles(cycles));
  shell_span u_steady (.clk(clk), .clear(none), .start(item_leaves), .stop(item_leaves), .cycles(steady));

  shell_latency u_latency (
      .clk(clk),
      .rst(rst),
      .clear(none),
      .enter(item_begins),
      .leave(item_leaves && IN_ITEM > 0),
      .least(latency_min),
      .most(latency_max),
      .sum(latency_sum),
      .overflow(latency_overflow)
  );

  // Whether a frame is DATA is known later than its first byte: each frame is the first one until one was.
  logic line_known, line_begins, line_start, line_stop;

  always_ff @(posedge clk) begin
    line_begins <= frame_start && !line_known;
    line_start <= line_begins;
    line_stop <= data_out;
    line_known <= !none && (line_known || data_in);
  end

  shell_span u_line (
      .clk(clk),
      .clear(none || line_begins),
      .start(line_start),
      .stop(line_stop && line_known),
      .cycles(line)
  );

  wire unused = &{1'b0, unused_begin};
endmodule

`default_nettype wire
