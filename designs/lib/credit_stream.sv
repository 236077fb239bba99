// Turns a free-running pipeline of fixed latency (no enable, no valid) into a stream with back-pressure.
// The pipeline never stops, so it needs no clock enable: a word enters only while a place for its result is reserved
// (a credit), its valid bit runs beside it, and the results that the sink does not take at once wait in a FIFO.
// Sustains one word a cycle. Latency from s_axis to m_axis: LATENCY + 1 cycles (the output register).
// Connect pipe_in_data to the pipeline's input and its output to pipe_out_data; no logic lies between s_axis_tdata and
// pipe_in_data, so the pipeline should begin with a register or with logic that the source's register can feed.
`default_nettype none

module credit_stream #(
    // Bits of a word into the pipeline.
    parameter int IN_WIDTH = 8,
    // Bits of a word out of the pipeline.
    parameter int OUT_WIDTH = 8,
    // Registers between pipe_in_data and pipe_out_data, at least 1.
    parameter int LATENCY = 4,
    // Words that may be on their way or waiting, a power of two of at least LATENCY + 3 (fewer would cost rate).
    parameter int DEPTH = 1 << $clog2(LATENCY + 3)
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output logic s_axis_tready,
    input wire [IN_WIDTH-1:0] s_axis_tdata,
    input wire s_axis_tlast,

    output wire [IN_WIDTH-1:0] pipe_in_data,
    input wire [OUT_WIDTH-1:0] pipe_out_data,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [OUT_WIDTH-1:0] m_axis_tdata,
    output wire m_axis_tlast
);
  if (IN_WIDTH < 1 || OUT_WIDTH < 1) begin : g_width
    $error("credit_stream: IN_WIDTH and OUT_WIDTH must be at least 1");
  end
  if (LATENCY < 1) begin : g_latency
    $error("credit_stream: LATENCY must be at least 1");
  end
  if (DEPTH < LATENCY + 3 || (DEPTH & (DEPTH - 1)) != 0) begin : g_depth
    $error("credit_stream: DEPTH must be a power of two of at least LATENCY + 3");
  end

  localparam int CREDIT = $clog2(DEPTH + 1);

  assign pipe_in_data = s_axis_tdata;

  // The valid and last bits run beside the pipeline.
  logic [LATENCY-1:0] valid, last;
  wire take = s_axis_tvalid && s_axis_tready;

  always_ff @(posedge clk) begin
    valid <= rst ? '0 : LATENCY'({valid, take});
    last <= LATENCY'({last, s_axis_tlast});
  end

  // Credits: places in the FIFO that no word has a claim on. A taken word gives its place back one cycle later.
  logic [CREDIT-1:0] credits;
  logic returned;

  always_ff @(posedge clk) begin
    returned <= m_axis_tvalid && m_axis_tready && !rst;
    if (take != returned) credits <= credits + {{(CREDIT - 1) {take}}, 1'b1};  // plus or minus one with one adder
    s_axis_tready <= returned || credits > CREDIT'(1) || (credits == CREDIT'(1) && !take);
    if (rst) begin
      credits <= CREDIT'(DEPTH);
      s_axis_tready <= 1'b0;
    end
  end

  wire fifo_ready;

  stream_fifo #(
      .WIDTH(OUT_WIDTH),
      .DEPTH(DEPTH)
  ) u_fifo (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(valid[LATENCY-1]),
      .s_axis_tready(fifo_ready),
      .s_axis_tdata(pipe_out_data),
      .s_axis_tlast(last[LATENCY-1]),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tlast(m_axis_tlast)
  );

`ifndef SYNTHESIS
  logic started;  // before the first reset everything is random
  initial started = 1'b0;

  always_ff @(posedge clk) begin
    if (rst) started <= 1'b1;
    if (started && !rst) assert (!valid[LATENCY-1] || fifo_ready) else $error("credit_stream: a result found the FIFO full");
  end
`endif
endmodule

`default_nettype wire
