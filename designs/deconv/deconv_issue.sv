// The second part of deconv_tiles: takes jobs out of a FIFO and issues their folds, one a cycle. Only at the first job of
// a group it waits, for weights and for a half of the banks of partial sums, which groups take in turn.
//
// A job, lowest bits first: {last of the group, first of the group, tag without its two lowest bits, mask c, r, z, kept,
// present, weight address, address}.
`default_nettype none

module deconv_issue #(
    // Lanes along z.
    parameter int TZ = 2,
    // Lanes along rows.
    parameter int TR = 2,
    // Lanes along columns.
    parameter int TC = 2,
    // Bits of an address of activation memory.
    parameter int ADDRESS = 10,
    // Bits of an address of weights.
    parameter int WEIGHT = 10,
    // Bits of the tag of deconv_scatter.
    parameter int TAG = 20,
    // Derived.
    parameter int COUNT = $clog2(TZ * TR * TC) + 1,
    parameter int JOB = ADDRESS + WEIGHT + 2 * COUNT + TZ + TR + TC + TAG
) (
    input wire clk,
    input wire rst,

    input wire [11:0] in_folds,

    input wire available,
    input wire [JOB-1:0] job,
    output wire pop,

    input wire group_ready,
    input wire group_next,
    output logic group_done,
    input wire [1:0] half_done,
    output logic group_start,
    output logic group_half,

    output logic issue_valid,
    output logic [ADDRESS-1:0] issue_address,
    output logic [TZ*TR*TC-1:0] issue_mask,
    output logic [WEIGHT-1:0] issue_weight,
    output logic issue_first,
    output logic issue_last,
    output logic [11:0] issue_fold,
    output logic [COUNT-1:0] issue_present,
    output logic [COUNT-1:0] issue_kept,
    output logic [TAG-1:0] issue_tag,
    output wire stall_weights,
    output wire stall_drain
);
  logic job_valid, job_first, job_last;
  logic [ADDRESS-1:0] job_address;
  logic [WEIGHT-1:0] job_weight;
  logic [COUNT-1:0] job_present, job_kept;
  logic [TZ-1:0] job_mask_z;
  logic [TR-1:0] job_mask_r;
  logic [TC-1:0] job_mask_c;
  logic [TAG-3:0] job_tag;
  logic [11:0] fold;
  logic half;
  logic [1:0] half_busy;

  wire weights_there = group_done ? group_next : group_ready;
  wire at_first = job_first && fold == '0;
  wire last_fold = fold + 12'd1 == in_folds;
  wire free = !half_busy[half];
  wire step = job_valid && (!at_first || (weights_there && free));
  assign pop = available && (!job_valid || (step && last_fold));
  assign stall_weights = job_valid && at_first && !weights_there;
  assign stall_drain = job_valid && at_first && weights_there && !free;

  wire [TZ*TR*TC-1:0] mask;
  for (genvar l = 0; l < TZ * TR * TC; l++) begin : g_mask
    assign mask[l] = job_mask_z[l/(TR*TC)] && job_mask_r[(l/TC)%TR] && job_mask_c[l%TC];
  end

  always_ff @(posedge clk) begin
    issue_valid <= step;
    issue_address <= job_address;
    issue_mask <= mask;
    issue_weight <= job_weight;
    issue_first <= fold == '0;
    issue_last <= last_fold;
    issue_fold <= fold;
    issue_present <= job_present;
    issue_kept <= job_kept;
    issue_tag <= {job_tag, half, job_last};
    group_start <= step && at_first;
    group_half <= half;
    group_done <= step && job_last && last_fold;

    if (step) begin
      fold <= fold + 12'd1;
      job_address <= job_address + 1'b1;
      job_weight <= job_weight + 1'b1;
      if (last_fold) begin
        fold <= '0;
        job_valid <= 1'b0;
        if (job_last) half <= !half;
      end
    end
    if (pop) begin
      job_valid <= 1'b1;
      {job_address, job_weight, job_present, job_kept, job_mask_z, job_mask_r, job_mask_c, job_tag, job_first, job_last} <=
          job;
    end

    half_busy <= half_busy & ~half_done;
    if (step && at_first) half_busy[half] <= 1'b1;

    if (rst) begin
      issue_valid <= 1'b0;
      group_start <= 1'b0;
      group_done <= 1'b0;
      job_valid <= 1'b0;
      fold <= '0;
      half <= 1'b0;
      half_busy <= '0;
    end
  end
endmodule

`default_nettype wire
