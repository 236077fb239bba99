// Counts what the engine does, for simulation and for tuning on a chip. All from reset on.
//
// A product is useful when its position holds an input, its input channel and its output channel are of the layer; it is
// kept when its sum also goes to an output. Both are counted at the last fold of a tap: positions x input channels x output
// channels of the group. An inserted zero would show as more kept products than the layer has.
`default_nettype none

module deconv_counters #(
    // Lanes.
    parameter int LANES = 1,
    // Output channels of a group.
    parameter int TM = 4,
    // Bits of a number of positions; derived.
    parameter int COUNT = $clog2(LANES) + 1
) (
    input wire clk,
    input wire rst,

    input wire start,
    input wire busy,
    input wire [11:0] channels_in,
    input wire [11:0] channels_out,

    input wire issue_valid,
    // Positions with an input, and those of them whose sum goes to an output.
    input wire [COUNT-1:0] issue_inside,
    input wire [COUNT-1:0] issue_kept,
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
  logic [11:0] out_left;
  wire [11:0] outs = out_left < TM[11:0] ? out_left : TM[11:0];

  logic valid;
  logic [COUNT-1:0] inside_late, kept_late;
  logic [11:0] outs_late;
  logic [63:0] pairs;

  always_ff @(posedge clk) begin
    if (group_done) out_left <= out_left - outs;
    if (start) out_left <= channels_out;
    valid <= issue_valid && issue_fold_last && !rst;
    inside_late <= issue_inside;
    kept_late <= issue_kept;
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
      count_useful <= count_useful + pairs * {{(64 - COUNT) {1'b0}}, inside_late};
      count_kept   <= count_kept + pairs * {{(64 - COUNT) {1'b0}}, kept_late};
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
