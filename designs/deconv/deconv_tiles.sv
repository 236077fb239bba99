// Scheduler of input_oriented: for each group of output channels, each block of inputs, and each kernel element (tap),
// the folds of the input channels; all lanes work on the same tap. Taps by which no lane reaches an output are skipped.
//
// Two parts. The first counts candidates, a block with a tap, one a cycle, works out which lanes and banks they concern
// (deconv_reach) and puts those that reach an output into a FIFO. The second, deconv_issue, takes them out and issues
// their folds, one a cycle; only at the first of a group it waits for weights and for a half of the banks. No cycle is
// lost otherwise, except to skipped taps when jobs have a single fold.
//
// Addresses of weights are those within a group. The table of taps, entry `tap_address`, is read with one register:
// {phase[5:0], dz, dr, dc}, six bits each, signed. The tag is that of deconv_scatter.
`default_nettype none

module deconv_tiles #(
    // Lanes along z, powers of two.
    parameter int TZ = 2,
    // Lanes along rows.
    parameter int TR = 2,
    // Lanes along columns.
    parameter int TC = 2,
    // Bits of an address of activation memory.
    parameter int ADDRESS = 10,
    // Bits of an address of weights.
    parameter int WEIGHT = 10,
    // Bits of an address of partial sums.
    parameter int PSUM = 6,
    // Derived.
    parameter int BZ = TZ > 1 ? $clog2(TZ) : 1,
    parameter int BR = TR > 1 ? $clog2(TR) : 1,
    parameter int BC = TC > 1 ? $clog2(TC) : 1,
    parameter int TAG = 2 + PSUM + 2 * (BZ + BR + BC) + TZ + TR + TC,
    parameter int COUNT = $clog2(TZ * TR * TC) + 1
) (
    input wire clk,
    input wire rst,
    input wire start,

    // Constant from `start` on until deconv_drain is no longer busy.
    input wire [ADDRESS-1:0] src_base,
    input wire [9:0] in_z,
    input wire [9:0] in_r,
    input wire [9:0] in_c,
    input wire [9:0] in_blocks_z,
    input wire [9:0] in_blocks_r,
    input wire [9:0] in_blocks_c,
    input wire [11:0] in_folds,
    input wire [ADDRESS-1:0] in_stride_z,
    input wire [ADDRESS-1:0] in_stride_r,
    input wire [ADDRESS-1:0] in_stride_c,
    input wire [11:0] groups,
    input wire merged,
    input wire [2:0] stride,
    input wire [2:0] stride_z,
    input wire [9:0] out_z,
    input wire [9:0] out_r,
    input wire [9:0] out_c,
    input wire [8:0] taps,
    input wire [7:0] tap_base,
    input wire [9:0] q_blocks_z,
    input wire [9:0] q_blocks_r,
    input wire [9:0] q_blocks_c,

    output logic [7:0] tap_address,
    input wire [23:0] tap_data,

    // As in deconv_weights.
    input wire group_ready,
    input wire group_next,
    output wire group_done,
    // A half of the banks has been emptied.
    input wire [1:0] half_done,
    // With the first issue of a group: the half that it goes to.
    output wire group_start,
    output wire group_half,

    output wire issue_valid,
    output wire [ADDRESS-1:0] issue_address,
    output wire [TZ*TR*TC-1:0] issue_mask,
    output wire [WEIGHT-1:0] issue_weight,
    output wire issue_first,
    output wire issue_last,
    output wire [11:0] issue_fold,
    // Positions with an input, and those of them that reach an output.
    output wire [COUNT-1:0] issue_present,
    output wire [COUNT-1:0] issue_kept,
    output wire [TAG-1:0] issue_tag,
    output wire stall_weights,
    output wire stall_drain,

    // For deconv_scatter.
    output wire [PSUM-1:0] q_plane,
    output wire [PSUM-1:0] q_row
);
  // Candidates that may be on their way or wait.
  localparam int DEPTH = 16;
  // Cycles from a candidate's counters to its job.
  localparam int STAGES = 6;
  localparam int JOB = 2 + ADDRESS + WEIGHT + 2 * (TZ + TR + TC + BZ + BR + BC) + PSUM + 2 * COUNT;

  if (PSUM < 1 || PSUM > 24) begin : g_size
    $error("deconv_tiles: PSUM must be 1 to 24");
  end

  wire [5:0] phase_index = tap_data[23:18];
  wire [PSUM-1:0] base2;
  wire [1:0] fz2, fr2, fc2;
  wire filled;

  deconv_phases #(
      .PSUM(PSUM)
  ) u_phases (
      .clk(clk),
      .rst(rst),
      .start(start),
      .stride(stride),
      .stride_z(stride_z),
      .q_blocks_z(q_blocks_z),
      .q_blocks_r(q_blocks_r),
      .q_blocks_c(q_blocks_c),
      .q_plane(q_plane),
      .q_row(q_row),
      .filled(filled),
      .index(phase_index),
      .base(base2),
      .fz(fz2),
      .fr(fr2),
      .fc(fc2)
  );

  // Candidates: groups, blocks, taps.
  logic running;
  logic [8:0] tap;
  logic [9:0] bz, br, bc;
  logic [11:0] g;
  logic [ADDRESS-1:0] slice, row, column;
  logic [WEIGHT-1:0] weight;
  logic [4:0] credits;

  wire emit = running && credits != '0;
  wire last_tap = tap + 9'd1 == taps;
  wire last_bc = bc + 10'd1 == in_blocks_c;
  wire last_br = br + 10'd1 == in_blocks_r;
  wire last_bz = bz + 10'd1 == in_blocks_z;
  wire last_block = last_bc && last_br && last_bz;
  wire last_g = g + 12'd1 == groups;
  wire first_candidate = tap == '0 && bc == '0 && br == '0 && bz == '0;
  wire [ADDRESS-1:0] next_slice = slice + in_stride_z;
  wire [ADDRESS-1:0] next_row = row + in_stride_r;

  always_ff @(posedge clk) begin
    if (filled) running <= 1'b1;
    if (emit) begin
      tap <= tap + 9'd1;
      tap_address <= tap_address + 8'd1;
      weight <= weight + WEIGHT'(in_folds);
      if (last_tap) begin
        tap <= '0;
        tap_address <= tap_base;
        weight <= '0;
        bc <= bc + 10'd1;
        column <= column + in_stride_c;
        if (last_bc) begin
          bc <= '0;
          br <= br + 10'd1;
          row <= next_row;
          column <= next_row;
          if (last_br) begin
            br <= '0;
            bz <= bz + 10'd1;
            slice <= next_slice;
            row <= next_slice;
            column <= next_slice;
            if (last_bz) begin
              bz <= '0;
              g <= g + 12'd1;
              slice <= src_base;
              row <= src_base;
              column <= src_base;
              if (last_g) running <= 1'b0;
            end
          end
        end
      end
    end
    if (start) begin
      tap <= '0;
      tap_address <= tap_base;
      weight <= '0;
      bc <= '0;
      br <= '0;
      bz <= '0;
      g <= '0;
      slice <= src_base;
      row <= src_base;
      column <= src_base;
    end
    if (rst) running <= 1'b0;
  end

  // Cycle 1: the tap is there. Cycle 2: its phase is there, from deconv_phases.
  logic [9:0] bz1, br1, bc1;

  always_ff @(posedge clk) begin
    bz1 <= bz;
    br1 <= br;
    bc1 <= bc;
  end

  wire signed [11:0] block_z, block_r, block_c;
  wire [BZ-1:0] low_z, turn_z;
  wire [BR-1:0] low_r, turn_r;
  wire [BC-1:0] low_c, turn_c;
  wire [TZ-1:0] mask_z, reached_z;
  wire [TR-1:0] mask_r, reached_r;
  wire [TC-1:0] mask_c, reached_c;
  wire [$clog2(TZ):0] present_z, kept_z;
  wire [$clog2(TR):0] present_r, kept_r;
  wire [$clog2(TC):0] present_c, kept_c;

  deconv_reach #(
      .T(TZ)
  ) u_z (
      .clk(clk),
      .flat(merged),
      .inputs(in_z),
      .outputs(out_z),
      .stride(stride_z),
      .b(bz1),
      .d(tap_data[17:12]),
      .f(fz2),
      .block(block_z),
      .low(low_z),
      .turn(turn_z),
      .mask(mask_z),
      .present(present_z),
      .reached(reached_z),
      .kept(kept_z)
  );

  deconv_reach #(
      .T(TR)
  ) u_r (
      .clk(clk),
      .flat(1'b0),
      .inputs(in_r),
      .outputs(out_r),
      .stride(stride),
      .b(br1),
      .d(tap_data[11:6]),
      .f(fr2),
      .block(block_r),
      .low(low_r),
      .turn(turn_r),
      .mask(mask_r),
      .present(present_r),
      .reached(reached_r),
      .kept(kept_r)
  );

  deconv_reach #(
      .T(TC)
  ) u_c (
      .clk(clk),
      .flat(1'b0),
      .inputs(in_c),
      .outputs(out_c),
      .stride(stride),
      .b(bc1),
      .d(tap_data[5:0]),
      .f(fc2),
      .block(block_c),
      .low(low_c),
      .turn(turn_c),
      .mask(mask_c),
      .present(present_c),
      .reached(reached_c),
      .kept(kept_c)
  );

  // The address of partial sums: base + (block_z * Q_BLOCKS_R + block_r) * Q_BLOCKS_C + block_c, modulo 2^PSUM.
  logic [PSUM-1:0] rest3, rest4, rest5, lines3, line4, words5, address6;
  logic [PSUM-1:0] block_r3;
  wire [23:0] wide_rows = {14'd0, q_blocks_r};
  wire [23:0] wide_z = {{12{block_z[11]}}, block_z};
  wire [23:0] wide_r = {{12{block_r[11]}}, block_r};
  wire [23:0] wide_c = {{12{block_c[11]}}, block_c};
  wire unused_high = &{1'b0, wide_rows, wide_z, wide_r, wide_c};

  always_ff @(posedge clk) begin
    lines3   <= wide_z[PSUM-1:0] * wide_rows[PSUM-1:0];
    block_r3 <= wide_r[PSUM-1:0];
    rest3    <= base2 + wide_c[PSUM-1:0];
    line4    <= lines3 + block_r3;
    rest4    <= rest3;
    words5   <= line4 * q_row;
    rest5    <= rest4;
    address6 <= words5 + rest5;
  end

  // Cycles 4 to 6: is it kept, and the counts.
  logic [TZ-1:0] mask_z5, mask_z6, reached_z5, reached_z6;
  logic [TR-1:0] mask_r5, mask_r6, reached_r5, reached_r6;
  logic [TC-1:0] mask_c5, mask_c6, reached_c5, reached_c6;
  logic [BZ-1:0] low_z5, low_z6, turn_z5, turn_z6;
  logic [BR-1:0] low_r5, low_r6, turn_r5, turn_r6;
  logic [BC-1:0] low_c5, low_c6, turn_c5, turn_c6;
  logic any5, any6;
  logic [COUNT-1:0] present_zr5, kept_zr5, present_c5, kept_c5, present6, kept6;

  always_ff @(posedge clk) begin
    any5 <= reached_z != '0 && reached_r != '0 && reached_c != '0;
    any6 <= any5;
    present_zr5 <= COUNT'(present_z) * COUNT'(present_r);
    kept_zr5 <= COUNT'(kept_z) * COUNT'(kept_r);
    present_c5 <= COUNT'(present_c);
    kept_c5 <= COUNT'(kept_c);
    present6 <= present_zr5 * present_c5;
    kept6 <= kept_zr5 * kept_c5;
    {mask_z5, mask_r5, mask_c5} <= {mask_z, mask_r, mask_c};
    {mask_z6, mask_r6, mask_c6} <= {mask_z5, mask_r5, mask_c5};
    {reached_z5, reached_r5, reached_c5} <= {reached_z, reached_r, reached_c};
    {reached_z6, reached_r6, reached_c6} <= {reached_z5, reached_r5, reached_c5};
    {low_z5, low_r5, low_c5, turn_z5, turn_r5, turn_c5} <= {low_z, low_r, low_c, turn_z, turn_r, turn_c};
    {low_z6, low_r6, low_c6, turn_z6, turn_r6, turn_c6} <= {low_z5, low_r5, low_c5, turn_z5, turn_r5, turn_c5};
  end

  logic [STAGES-1:0] valid_line;
  wire [ADDRESS-1:0] address_of_job;
  wire [WEIGHT-1:0] weight_of_job;
  wire first6, last6;
  wire valid6 = valid_line[STAGES-1];

  delay #(
      .WIDTH (ADDRESS + WEIGHT + 2),
      .STAGES(STAGES)
  ) u_job (
      .clk(clk),
      .in ({column, weight, first_candidate, last_tap && last_block}),
      .out({address_of_job, weight_of_job, first6, last6})
  );

  // A job that is kept waits until it is known whether another of its group follows: the last one is marked. A group
  // without any has its last candidate as a job that reaches nothing.
  logic [JOB-3:0] held;
  logic held_valid, held_first, held_last, begun;
  wire [JOB-3:0] job6 = {
    address_of_job, weight_of_job, present6, kept6, mask_z6, mask_r6, mask_c6,
    reached_c6, reached_r6, reached_z6, turn_c6, turn_r6, turn_z6, low_c6, low_r6, low_z6, address6
  };
  wire begun6 = begun && !first6;  // a job of its group was kept before
  wire keep = valid6 && (any6 || (last6 && !begun6));
  wire ends = valid6 && last6 && !keep;  // the held job turns out to be the last
  wire push = held_valid && (held_last || keep || ends);

  always_ff @(posedge clk) begin
    if (push) held_valid <= 1'b0;
    if (keep) begin
      held <= job6;
      held_valid <= 1'b1;
      held_first <= !begun6;
      held_last <= last6;
    end
    if (valid6) begun <= begun6 || keep;
    if (rst) begin
      held_valid <= 1'b0;
      begun <= 1'b0;
    end
  end

  (* no_rw_check *) logic [JOB-1:0] fifo[DEPTH];
  logic [3:0] write_at, read_at;
  logic [4:0] waiting;
  wire pop;
  wire available = waiting != '0;
  wire [JOB-1:0] next_job = fifo[read_at];

  always_ff @(posedge clk) begin
    valid_line <= {valid_line[STAGES-2:0], emit};
    if (push) begin
      fifo[write_at] <= {held, held_first, held_last || ends};
      write_at <= write_at + 4'd1;
    end
    if (pop) read_at <= read_at + 4'd1;
    waiting <= waiting + {4'd0, push} - {4'd0, pop};
    credits <= credits - {4'd0, emit} + {4'd0, pop} + {4'd0, valid6 && !keep};
    if (rst) begin
      valid_line <= '0;
      write_at <= '0;
      read_at <= '0;
      waiting <= '0;
      credits <= 5'd16;
    end
  end

  deconv_issue #(
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .ADDRESS(ADDRESS),
      .WEIGHT(WEIGHT),
      .TAG(TAG)
  ) u_issue (
      .clk(clk),
      .rst(rst),
      .in_folds(in_folds),
      .available(available),
      .job(next_job),
      .pop(pop),
      .group_ready(group_ready),
      .group_next(group_next),
      .group_done(group_done),
      .half_done(half_done),
      .group_start(group_start),
      .group_half(group_half),
      .issue_valid(issue_valid),
      .issue_address(issue_address),
      .issue_mask(issue_mask),
      .issue_weight(issue_weight),
      .issue_first(issue_first),
      .issue_last(issue_last),
      .issue_fold(issue_fold),
      .issue_present(issue_present),
      .issue_kept(issue_kept),
      .issue_tag(issue_tag),
      .stall_weights(stall_weights),
      .stall_drain(stall_drain)
  );
endmodule

`default_nettype wire
