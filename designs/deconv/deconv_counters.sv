// Counts what the engine does, for simulation and for tuning on a chip. All from reset on.
//
// A product is useful when its lane holds an input, its input channel and its output channel are of the layer; it is kept
// when its sum also goes to an output. Both are counted at the last fold of a tap: lanes x input channels x output
// channels of the group. An inserted zero would show as more kept products than the layer has.
`default_nettype none

module deconv_counters #(
    // Lanes.
    parameter int LANES = 1,
    // Lanes of one z, which are those that count when the lanes along z are merged.
    parameter int PLANE = 1,
    // Output channels of a group.
    parameter int TM = 4
) (
    input wire clk,
    input wire rst,

    input wire start,
    input wire busy,
    input wire [11:0] channels_in,
    input wire [11:0] channels_out,
    input wire merged,

    input wire issue_valid,
    input wire [LANES-1:0] issue_mask,
    input wire [LANES-1:0] issue_kept,
    input wire issue_fold_last,
    input wire group_done,
    input wire stalled_weights,
    input wire stalled_drain,
    input wire loaded,
    input wire stored,
    input wire weighed,

    // Cycles of RUNs, cycles with an issue, cycles in which one waited for weights, for room for sums.
    output logic [63:0] count_busy,
    output logic [63:0] count_issues,
    output logic [63:0] count_stalled_weights,
    output logic [63:0] count_stalled_drain,
    // Products.
    output logic [63:0] count_useful,
    output logic [63:0] count_kept,
    // Beats of activations in and out, and of weights in.
    output logic [63:0] count_loaded,
    output logic [63:0] count_stored,
    output logic [63:0] count_weighed
);
  localparam int LANE = $clog2(LANES + 1);
  localparam logic [LANES-1:0] FIRST_PLANE = {{(LANES - PLANE + 1) {1'b0}}, {(PLANE - 1) {1'b1}}} << 1 | 1'b1;

  logic [11:0] out_left;
  wire [11:0] outs = out_left < TM[11:0] ? out_left : TM[11:0];
  wire [LANES-1:0] counted = merged ? FIRST_PLANE : '1;

  function automatic [LANE-1:0] ones(input [LANES-1:0] lanes);
    ones = '0;
    for (int l = 0; l < LANES; l++) ones = ones + {{(LANE - 1) {1'b0}}, lanes[l]};
  endfunction

  logic valid;
  logic [LANE-1:0] lanes, kept;
  logic [11:0] outs_late;
  logic [63:0] pairs;

  always_ff @(posedge clk) begin
    if (group_done) out_left <= out_left - outs;
    if (start) out_left <= channels_out;
    valid <= issue_valid && issue_fold_last && !rst;
    lanes <= ones(issue_mask & counted);
    kept <= ones(issue_kept & counted);
    outs_late <= outs;
  end

  assign pairs = {52'd0, channels_in} * {52'd0, outs_late};

  always_ff @(posedge clk) begin
    count_busy <= count_busy + {63'd0, busy};
    count_issues <= count_issues + {63'd0, issue_valid};
    count_stalled_weights <= count_stalled_weights + {63'd0, stalled_weights};
    count_stalled_drain <= count_stalled_drain + {63'd0, stalled_drain};
    count_loaded <= count_loaded + {63'd0, loaded};
    count_stored <= count_stored + {63'd0, stored};
    count_weighed <= count_weighed + {63'd0, weighed};
    if (valid) begin
      count_useful <= count_useful + pairs * {{(64 - LANE) {1'b0}}, lanes};
      count_kept   <= count_kept + pairs * {{(64 - LANE) {1'b0}}, kept};
    end
    if (rst) begin
      count_busy <= '0;
      count_issues <= '0;
      count_stalled_weights <= '0;
      count_stalled_drain <= '0;
      count_useful <= '0;
      count_kept <= '0;
      count_loaded <= '0;
      count_stored <= '0;
      count_weighed <= '0;
    end
  end
endmodule

`default_nettype wire
