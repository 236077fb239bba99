// Sends the status: a beat of the engine's own, then one for each worker with its counters.
`default_nettype none

module md_status #(
    // Bits of a beat.
    parameter int BEAT = 216,
    parameter int WORKERS = 4,
    // Bits of a counter of a worker.
    parameter int COUNTER = 40
) (
    input wire clk,
    input wire rst,

    input wire start,
    output wire busy,

    input wire [BEAT-1:0] engine,
    input wire [WORKERS*COUNTER-1:0] pairs,
    input wire [WORKERS*COUNTER-1:0] candidates,
    input wire [WORKERS*COUNTER-1:0] stalled,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [BEAT-1:0] m_axis_tdata,
    output wire m_axis_tlast
);
  localparam int INDEX = $clog2(WORKERS + 1);
  localparam bit [INDEX-1:0] LAST = INDEX'(WORKERS);

  if (BEAT < 144 || COUNTER > 48) begin : g_beat
    $error("md_status: BEAT must be at least 144 and COUNTER at most 48");
  end

  logic [INDEX-1:0] index;  // 0 the engine, w + 1 a worker
  logic [1:0] phase;  // 0 nothing to send, 1 choose, 2 read, 3 offer
  logic [3*COUNTER-1:0] counters;
  logic first;

  wire [WORKERS*3*COUNTER-1:0] all;
  for (genvar w = 0; w < WORKERS; w++) begin : g_worker
    assign all[w*3*COUNTER+:3*COUNTER] = {
      stalled[w*COUNTER+:COUNTER], candidates[w*COUNTER+:COUNTER], pairs[w*COUNTER+:COUNTER]
    };
  end

  logic [INDEX-1:0] worker;

  always_ff @(posedge clk) begin
    worker <= index == '0 ? '0 : index - 1'b1;
    counters <= all[worker*3*COUNTER+:3*COUNTER];
    first <= index == '0;
  end

  always_ff @(posedge clk) begin
    if (start) begin
      index <= '0;
      phase <= 2'd1;
    end else if (phase == 2'd3 && m_axis_tready) begin
      index <= index + 1'b1;
      phase <= index == LAST ? 2'd0 : 2'd1;
    end else if (phase == 2'd1 || phase == 2'd2) begin
      phase <= phase + 1'b1;
    end
    if (rst) phase <= 2'd0;
  end

  assign busy = phase != 2'd0;
  assign m_axis_tvalid = phase == 2'd3;
  assign m_axis_tlast = index == LAST;

  localparam int GAP = 48 - COUNTER;
  wire [143:0] wide = {
    {GAP{1'b0}}, counters[2*COUNTER+:COUNTER], {GAP{1'b0}}, counters[COUNTER+:COUNTER], {GAP{1'b0}}, counters[0+:COUNTER]
  };
  assign m_axis_tdata = first ? engine : BEAT'(wide);
endmodule

`default_nettype wire
