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
  if (BEAT < 144 || COUNTER > 48) begin : g_beat
    $error("md_status: BEAT must be at least 144 and COUNTER at most 48");
  end

  logic [WORKERS:0] turn;  // one bit: 0 the engine, w + 1 a worker
  logic [1:0] phase;  // 0 nothing to send, 1 and 2 read, 3 offer
  logic [3*COUNTER-1:0] counters;
  logic first;

  // The counters of the worker whose turn it is: of two workers together first, which makes small logic, then of all.
  localparam int COUNTERS = 3 * COUNTER;
  localparam int PAIRS = (WORKERS + 1) / 2;
  logic [PAIRS*COUNTERS-1:0] two;
  logic [COUNTERS-1:0] all;

  for (genvar p = 0; p < PAIRS; p++) begin : g_pair
    logic [COUNTERS-1:0] own;
    always_comb begin
      own = '0;
      for (int w = 2 * p; w < 2 * p + 2 && w < WORKERS; w++) begin
        own = own | ({COUNTERS{turn[w+1]}}
            & {stalled[w*COUNTER+:COUNTER], candidates[w*COUNTER+:COUNTER], pairs[w*COUNTER+:COUNTER]});
      end
    end
    always_ff @(posedge clk) two[p*COUNTERS+:COUNTERS] <= own;
  end

  always_comb begin
    all = '0;
    for (int p = 0; p < PAIRS; p++) all = all | two[p*COUNTERS+:COUNTERS];
  end

  always_ff @(posedge clk) begin
    counters <= all;
    first <= turn[0];
  end

  always_ff @(posedge clk) begin
    if (start) begin
      turn <= (WORKERS + 1)'(1);
      phase <= 2'd1;
    end else if (phase == 2'd3 && m_axis_tready) begin
      turn <= turn << 1;
      phase <= m_axis_tlast ? 2'd0 : 2'd1;
    end else if (phase == 2'd1 || phase == 2'd2) begin
      phase <= phase + 1'b1;
    end
    if (rst) phase <= 2'd0;
  end

  assign busy = phase != 2'd0;
  assign m_axis_tvalid = phase == 2'd3;
  assign m_axis_tlast = turn[WORKERS];

  localparam int GAP = 48 - COUNTER;
  wire [143:0] wide = {
    {GAP{1'b0}}, counters[2*COUNTER+:COUNTER], {GAP{1'b0}}, counters[COUNTER+:COUNTER], {GAP{1'b0}}, counters[0+:COUNTER]
  };
  assign m_axis_tdata = first ? engine : BEAT'(wide);
endmodule

`default_nettype wire
