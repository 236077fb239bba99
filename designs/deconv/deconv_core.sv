// The engine with its program in a memory: for boards. Weights are resident. An item's activations come in by s_axis and
// its results leave by m_axis; the program begins again when it ends.
`default_nettype none

module deconv_core #(
    // Memory image of the commands, 32 bits each; the last one is END.
    parameter PROGRAM = "",
    // Commands.
    parameter int PROGRAM_WORDS = 64,
    // As in deconv_engine.
    parameter int DATAFLOW = 0,
    parameter int BITS = 8,
    parameter int ACC = 26,
    parameter int TM = 4,
    parameter int TN = 32,
    parameter int TZ = 1,
    parameter int TR = 1,
    parameter int TC = 1,
    parameter int A_WORDS = 64,
    parameter int B_WORDS = 64,
    parameter int W_WORDS = 64,
    parameter int BIAS_WORDS = 16,
    parameter WEIGHTS = "",
    parameter BIASES = "",
    parameter TABLE = "",
    parameter int DRAIN = 1,
    parameter int PSUM_WORDS = 16,
    parameter int IO = 1,
    parameter bit ECP5 = 0,
    // 1: count, for a simulation.
    parameter bit COUNTERS = 0,
    // Bits of a word of the streams; derived.
    parameter int BEAT = IO * (TM > TN ? TM : TN) * BITS
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [BEAT-1:0] s_axis_tdata,
    input wire s_axis_tlast,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [BEAT-1:0] m_axis_tdata,
    output wire m_axis_tlast
);
  if (PROGRAM == "" || WEIGHTS == "" || BIASES == "") begin : g_files
    $error("deconv_core: PROGRAM, WEIGHTS and BIASES must name files");
  end
  if (PROGRAM_WORDS < 2) begin : g_words
    $error("deconv_core: PROGRAM_WORDS must be at least 2");
  end

  localparam int ADDRESS = $clog2(PROGRAM_WORDS);
  localparam int WEIGHT_WORD = TM * TN * TZ * BITS;
  localparam int WEIGHT_BEAT = WEIGHT_WORD > TM * ACC ? WEIGHT_WORD : TM * ACC;
  localparam int LAST = PROGRAM_WORDS - 1;

  // Commands are read ahead into a queue, so that the engine gets one in each cycle.
  localparam int QUEUE = 8;
  localparam int ROOM = $clog2(QUEUE + 1);

  logic [ADDRESS-1:0] address;
  logic [1:0] reading;
  logic [ROOM-1:0] room;  // places in the queue for which nothing has been read
  wire fetch = room != '0;
  wire valid, ready, queue_ready, queue_last;
  wire [31:0] read, command;

  always_ff @(posedge clk) begin
    reading <= {reading[0], fetch};
    if (fetch) address <= address == LAST[ADDRESS-1:0] ? '0 : address + 1'b1;
    room <= room - ROOM'(fetch) + ROOM'(valid && ready);
    if (rst) begin
      address <= '0;
      reading <= '0;
      room <= ROOM'(QUEUE);
    end
  end

  rom #(
      .WIDTH(32),
      .DEPTH(PROGRAM_WORDS),
      .FILE(PROGRAM),
      .REGISTERS(2)
  ) u_program (
      .clk(clk),
      .address(address),
      .data(read)
  );

  stream_fifo #(
      .WIDTH(32),
      .DEPTH(QUEUE)
  ) u_queue (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(reading[1]),
      .s_axis_tready(queue_ready),
      .s_axis_tdata(read),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(valid),
      .m_axis_tready(ready),
      .m_axis_tdata(command),
      .m_axis_tlast(queue_last)
  );

  wire ended, weight_ready;
  wire [2:0] busy;
  wire [63:0] counts[9];

  deconv_engine #(
      .DATAFLOW(DATAFLOW),
      .BITS(BITS),
      .ACC(ACC),
      .TM(TM),
      .TN(TN),
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .A_WORDS(A_WORDS),
      .B_WORDS(B_WORDS),
      .W_WORDS(W_WORDS),
      .BIAS_WORDS(BIAS_WORDS),
      .WEIGHTS(WEIGHTS),
      .BIASES(BIASES),
      .TABLE(TABLE),
      .DRAIN(DRAIN),
      .PSUM_WORDS(PSUM_WORDS),
      .IO(IO),
      .ECP5(ECP5),
      .COUNTERS(COUNTERS)
  ) u_engine (
      .clk(clk),
      .rst(rst),
      .s_cmd_tvalid(valid),
      .s_cmd_tready(ready),
      .s_cmd_tdata(command),
      .ended(ended),
      .busy(busy),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(s_axis_tready),
      .s_axis_tdata(s_axis_tdata),
      .s_weight_tvalid(1'b0),
      .s_weight_tready(weight_ready),
      .s_weight_tdata({WEIGHT_BEAT{1'b0}}),
      .s_weight_tlast(1'b0),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tlast(m_axis_tlast),
      .count_busy(counts[0]),
      .count_issues(counts[1]),
      .count_stalled_weights(counts[2]),
      .count_stalled_drain(counts[3]),
      .count_useful(counts[4]),
      .count_kept(counts[5]),
      .count_loaded(counts[6]),
      .count_stored(counts[7]),
      .count_weighed(counts[8])
  );

  wire unused = &{
    1'b0, queue_ready, queue_last, s_axis_tlast, ended, busy, weight_ready, counts[0], counts[1], counts[2],
    counts[3], counts[4], counts[5], counts[6], counts[7], counts[8]
  };
endmodule

`default_nettype wire
