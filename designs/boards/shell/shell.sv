// The shell of a streaming core: frames over a byte stream on one side, the core's pins on the other, FIFOs between.
// designs/boards/frames.py says what the frames are and what the registers hold. It knows no UART: whatever carries bytes
// both ways can wrap it. `rx_ready` is low only in a reset by the host, of 16 cycles.
//
//   rx -> decode -> receive -> input FIFO -> word -> FIFO -> hold -> core -> FIFO -> bytes -> ring -> transmit -> encode -> tx
//
// A word travels as whole bytes, lowest first; bits above the word are ignored on the way in and zero on the way out.
`default_nettype none

module shell #(
    // Bits of the core's words.
    parameter int IN_BITS = 8,
    parameter int OUT_BITS = 8,
    // Words of an item, 0: no fixed length.
    parameter int IN_ITEM = 1,
    parameter int OUT_ITEM = 1,
    // Words that wait before and behind the core, powers of two.
    parameter int IN_DEPTH = 512,
    parameter int OUT_DEPTH = 512,
    // Bytes of received frames that wait to become words, a power of two from 512 to 16384.
    parameter int FRAME_BYTES = 4096,
    // Cycles without a result after which a frame that is not full is sent.
    parameter int IDLE = 1000,
    // Registers 0 to 17.
    parameter logic [575:0] IDENTIFICATION = '0
) (
    input wire clk,
    input wire rst,

    input wire rx_valid,
    output wire rx_ready,
    input wire [7:0] rx_data,
    output wire tx_valid,
    input wire tx_ready,
    output wire [7:0] tx_data,

    // Pulses of a serial receiver, for the flags: a stop bit was missing, a byte was lost.
    input wire frame_error,
    input wire overrun,
    // Pulse: something was lost or damaged.
    output logic trouble,

    // The core.
    output logic core_rst,
    output wire core_in_valid,
    input wire core_in_ready,
    output wire [IN_BITS-1:0] core_in_data,
    input wire core_out_valid,
    output wire core_out_ready,
    input wire [OUT_BITS-1:0] core_out_data
);
  if (IN_BITS < 1 || OUT_BITS < 1) begin : g_bits
    $error("shell: IN_BITS and OUT_BITS must be at least 1");
  end

  localparam int IN_BYTES = (IN_BITS + 7) / 8;
  localparam int OUT_BYTES = (OUT_BITS + 7) / 8;

  // Control: a reset by the host leaves the frames' own machinery alone.
  wire resetting, settling, hold, clear, written;
  wire [7:0] last_tag;
  logic anew, clean;

  always_ff @(posedge clk) begin
    anew <= rst;
    core_rst <= resetting;
    clean <= resetting;
  end

  assign rx_ready = !clean;

  logic rx_taken;
  logic [7:0] rx_byte;

  always_ff @(posedge clk) begin
    rx_taken <= rx_valid && rx_ready;
    rx_byte <= rx_data;
  end

  // Frames in.
  wire start, byte_valid, frame_end, frame_good;
  wire [7:0] byte_data, byte_index, frame_length;

  shell_decode u_decode (
      .clk(clk),
      .rst(anew),
      .s_valid(rx_taken),
      .s_data(rx_byte),
      .start(start),
      .byte_valid(byte_valid),
      .byte_data(byte_data),
      .byte_index(byte_index),
      .frame_end(frame_end),
      .frame_good(frame_good),
      .frame_length(frame_length)
  );

  wire [7:0] expected, own_limit, put_data, ack, limit, tag, address;
  wire [31:0] value;
  wire room, put, commit, cancel, heard, resend, ask_state, ask_nak, do_write, do_read;
  wire frame_ok, frame_bad, disordered, overflow;

  shell_receive u_receive (
      .clk(clk),
      .rst(clean),
      .byte_valid(byte_valid),
      .byte_data(byte_data),
      .byte_index(byte_index),
      .frame_end(frame_end),
      .frame_good(frame_good),
      .frame_length(frame_length),
      .expected(expected),
      .room(room),
      .put(put),
      .put_data(put_data),
      .commit(commit),
      .cancel(cancel),
      .heard(heard),
      .resend(resend),
      .ack(ack),
      .limit(limit),
      .ask_state(ask_state),
      .ask_nak(ask_nak),
      .do_write(do_write),
      .do_read(do_read),
      .tag(tag),
      .address(address),
      .value(value),
      .ok(frame_ok),
      .bad(frame_bad),
      .disordered(disordered),
      .overflow(overflow)
  );

  shell_control u_control (
      .clk(clk),
      .rst(anew),
      .do_write(do_write),
      .tag(tag),
      .address(address),
      .value(value),
      .resetting(resetting),
      .settling(settling),
      .hold(hold),
      .clear(clear),
      .written(written),
      .last_tag(last_tag)
  );

  // Bytes to words.
  wire in_byte_valid, in_byte_ready, packed_valid, packed_ready, packed_last, word_valid, gate_ready;
  wire [7:0] in_byte;
  wire [8*IN_BYTES-1:0] packed_data;
  wire [IN_BITS-1:0] word_data;

  shell_input #(
      .DEPTH(FRAME_BYTES)
  ) u_input (
      .clk(clk),
      .rst(clean),
      .put(put),
      .put_data(put_data),
      .commit(commit),
      .cancel(cancel),
      .expected(expected),
      .limit(own_limit),
      .room(room),
      .m_valid(in_byte_valid),
      .m_ready(in_byte_ready),
      .m_data(in_byte)
  );

  stream_pack #(
      .BYTES(IN_BYTES)
  ) u_pack (
      .clk(clk),
      .rst(clean),
      .s_axis_tvalid(in_byte_valid),
      .s_axis_tready(in_byte_ready),
      .s_axis_tdata(in_byte),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(packed_valid),
      .m_axis_tready(packed_ready),
      .m_axis_tdata(packed_data),
      .m_axis_tlast(packed_last)
  );

  shell_fifo #(
      .WIDTH(IN_BITS),
      .DEPTH(IN_DEPTH)
  ) u_words (
      .clk(clk),
      .rst(clean),
      .s_valid(packed_valid),
      .s_ready(packed_ready),
      .s_data(packed_data[IN_BITS-1:0]),
      .m_valid(word_valid),
      .m_ready(gate_ready && !hold),
      .m_data(word_data)
  );

  // Registers at the core's pins, as everywhere on a board, so that its clock is its own.
  wire core_in_last, result_valid, result_ready, result_last;
  wire [OUT_BITS-1:0] result_data;

  stream_fifo #(
      .WIDTH(IN_BITS),
      .DEPTH(16)
  ) u_into (
      .clk(clk),
      .rst(clean),
      .s_axis_tvalid(word_valid && !hold),
      .s_axis_tready(gate_ready),
      .s_axis_tdata(word_data),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(core_in_valid),
      .m_axis_tready(core_in_ready),
      .m_axis_tdata(core_in_data),
      .m_axis_tlast(core_in_last)
  );

  stream_fifo #(
      .WIDTH(OUT_BITS),
      .DEPTH(16)
  ) u_out_of (
      .clk(clk),
      .rst(clean),
      .s_axis_tvalid(core_out_valid),
      .s_axis_tready(core_out_ready),
      .s_axis_tdata(core_out_data),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(result_valid),
      .m_axis_tready(result_ready),
      .m_axis_tdata(result_data),
      .m_axis_tlast(result_last)
  );

  // Words to bytes to frames.
  wire answer_valid, answer_ready, out_byte_valid, out_byte_ready, out_byte_last;
  wire [OUT_BITS-1:0] answer_data;
  wire [7:0] out_byte;

  shell_fifo #(
      .WIDTH(OUT_BITS),
      .DEPTH(OUT_DEPTH)
  ) u_answers (
      .clk(clk),
      .rst(clean),
      .s_valid(result_valid),
      .s_ready(result_ready),
      .s_data(result_data),
      .m_valid(answer_valid),
      .m_ready(answer_ready),
      .m_data(answer_data)
  );

  stream_unpack #(
      .BYTES(OUT_BYTES)
  ) u_unpack (
      .clk(clk),
      .rst(clean),
      .s_axis_tvalid(answer_valid),
      .s_axis_tready(answer_ready),
      .s_axis_tdata((8 * OUT_BYTES)'(answer_data)),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(out_byte_valid),
      .m_axis_tready(out_byte_ready),
      .m_axis_tdata(out_byte),
      .m_axis_tlast(out_byte_last)
  );

  wire available, take;
  wire [7:0] out_seq, out_length, place, out_data;

  shell_ring #(
      .IDLE(IDLE)
  ) u_ring (
      .clk(clk),
      .rst(clean),
      .s_valid(out_byte_valid),
      .s_ready(out_byte_ready),
      .s_data(out_byte),
      .heard(heard),
      .resend(resend),
      .ack(ack),
      .limit(limit),
      .available(available),
      .seq(out_seq),
      .length(out_length),
      .take(take),
      .place(place),
      .data(out_data)
  );

  // Frames out.
  wire sample, free, quiet, out_put, out_put_last, out_put_counts, data_sent;
  wire [7:0] index, out_put_data;
  wire [31:0] register;

  shell_transmit u_transmit (
      .clk(clk),
      .rst(anew),
      .ask_state(ask_state),
      .ask_nak(ask_nak),
      .do_write(do_write),
      .do_read(do_read),
      .tag(tag),
      .address(address),
      .value(value),
      .ack(expected),
      .limit(own_limit),
      .available(available),
      .seq(out_seq),
      .length(out_length),
      .take(take),
      .place(place),
      .data(out_data),
      .index(index),
      .sample(sample),
      .word(register),
      .free(free && !settling),
      .quiet(quiet),
      .put(out_put),
      .put_data(out_put_data),
      .put_last(out_put_last),
      .put_counts(out_put_counts)
  );

  shell_encode u_encode (
      .clk(clk),
      .rst(anew),
      .free(free),
      .quiet(quiet),
      .put(out_put),
      .put_data(out_put_data),
      .put_last(out_put_last),
      .put_counts(out_put_counts),
      .m_valid(tx_valid),
      .m_ready(tx_ready),
      .m_data(tx_data),
      .sent(data_sent)
  );

  // What is counted.
  wire [31:0] frames_ok, frames_bad, words_in, words_out, items_in, items_out;
  wire [31:0] latency_min, latency_max, stall_in, stall_out;
  wire [47:0] cycles, steady, latency_sum, line;
  wire latency_overflow, stalled_out;

  shell_counters #(
      .IN_ITEM (IN_ITEM),
      .OUT_ITEM(OUT_ITEM)
  ) u_counters (
      .clk(clk),
      .rst(clean),
      .clear(clear),
      .in_valid(core_in_valid),
      .in_ready(core_in_ready),
      .out_valid(core_out_valid),
      .out_ready(core_out_ready),
      .frame_start(start),
      .data_in(commit),
      .data_out(data_sent),
      .frame_ok(frame_ok),
      .frame_bad(frame_bad),
      .frames_ok(frames_ok),
      .frames_bad(frames_bad),
      .words_in(words_in),
      .words_out(words_out),
      .items_in(items_in),
      .items_out(items_out),
      .cycles(cycles),
      .steady(steady),
      .latency_min(latency_min),
      .latency_max(latency_max),
      .latency_sum(latency_sum),
      .latency_overflow(latency_overflow),
      .stall_in(stall_in),
      .stall_out(stall_out),
      .stalled_out(stalled_out),
      .line(line)
  );

  shell_registers #(
      .IDENTIFICATION(IDENTIFICATION)
  ) u_registers (
      .clk(clk),
      .rst(clean),
      .clear(clear),
      .index(index),
      .sample(sample),
      .word(register),
      .flags({stalled_out, latency_overflow, overflow, disordered, frame_bad, overrun, frame_error}),
      .hold(hold),
      .written(written),
      .last_tag(last_tag),
      .frames_ok(frames_ok),
      .frames_bad(frames_bad),
      .words_in(words_in),
      .words_out(words_out),
      .items_in(items_in),
      .items_out(items_out),
      .cycles(cycles),
      .steady(steady),
      .latency_min(latency_min),
      .latency_max(latency_max),
      .latency_sum(latency_sum),
      .stall_in(stall_in),
      .stall_out(stall_out),
      .line(line)
  );

  always_ff @(posedge clk) trouble <= overflow || disordered || frame_bad || overrun || frame_error;

  wire unused = &{1'b0, packed_last, core_in_last, result_last, out_byte_last, packed_data};
endmodule

`default_nettype wire
