// Scheduler of reverse_loop: for each group of output channels and each output in raster order, exactly those inputs
// that reach it (a box: a range in each dimension), each with all folds of its channels. An output that no input reaches
// gets one issue without a lane, so that its bias is written. No cycle is lost between outputs.
//
// Two parts. The outer one counts groups and outputs and adds up where an output's box begins, a job; the inner one walks
// the boxes, with registers for where the present fold, tap, row and slice began, so that a step is one addition.
// Addresses of activations count parts of TN channels, those of results parts of TM channels.
//
// The tag is {last result of the RUN, address of the result}.
`default_nettype none

module deconv_reverse #(
    // Bits of an address of activation memory.
    parameter int ADDRESS = 10,
    // Parts of TN channels in a word, a power of two.
    parameter int SOURCES = 1,
    // Parts of TM channels in a word, a power of two.
    parameter int PARTS = 8,
    // Bits of a weight address.
    parameter int WEIGHT = 10,
    // Bits of addresses of parts; derived.
    parameter int SOURCE = ADDRESS + $clog2(SOURCES),
    parameter int RESULT = ADDRESS + $clog2(PARTS)
) (
    input wire clk,
    input wire rst,
    input wire start,

    input wire [ADDRESS-1:0] src_base,
    input wire [9:0] in_z,
    input wire [9:0] in_r,
    input wire [9:0] in_c,
    input wire [11:0] in_folds,
    input wire [ADDRESS-1:0] in_stride_z,
    input wire [ADDRESS-1:0] in_stride_r,
    input wire [ADDRESS-1:0] in_stride_c,
    input wire [11:0] groups,
    input wire [ADDRESS-1:0] dst_base,
    input wire [9:0] out_z,
    input wire [9:0] out_r,
    input wire [9:0] out_c,
    input wire [ADDRESS-1:0] out_stride_z,
    input wire [ADDRESS-1:0] out_stride_r,
    input wire [ADDRESS-1:0] out_stride_c,
    input wire [2:0] stride,
    input wire [2:0] stride_z,
    input wire [WEIGHT-1:0] k_stride_z,
    input wire [WEIGHT-1:0] k_stride_r,
    input wire [WEIGHT-1:0] k_stride_c,
    input wire [WEIGHT-1:0] k_step_z,
    input wire [WEIGHT-1:0] k_step_r,
    input wire [WEIGHT-1:0] k_step_c,
    input wire [23:0] start_high_z,
    input wire [23:0] start_high_r,
    input wire [23:0] start_high_c,
    input wire [23:0] start_low_z,
    input wire [23:0] start_low_r,
    input wire [23:0] start_low_c,

    input wire group_ready,
    input wire group_next,
    output logic group_done,
    // A group waits for its weights.
    output logic stalled,

    output logic issue_valid,
    output logic [SOURCE-1:0] issue_address,
    output logic issue_mask,
    output logic [WEIGHT-1:0] issue_weight,
    output logic issue_first,
    output logic issue_last,
    // The last fold of a tap.
    output logic issue_fold_last,
    output logic [RESULT:0] issue_tag
);
  if ((SOURCES & (SOURCES - 1)) != 0 || (PARTS & (PARTS - 1)) != 0) begin : g_parts
    $error("deconv_reverse: SOURCES and PARTS must be powers of two");
  end

  localparam int SOURCE_SHIFT = $clog2(SOURCES);
  localparam int PART_SHIFT = $clog2(PARTS);
  // Jobs that may be on their way or wait.
  localparam int DEPTH = 8;

  wire [SOURCE-1:0] source_base = SOURCE'(src_base) << SOURCE_SHIFT;
  wire [SOURCE-1:0] source_z = SOURCE'(in_stride_z) << SOURCE_SHIFT;
  wire [SOURCE-1:0] source_r = SOURCE'(in_stride_r) << SOURCE_SHIFT;
  wire [SOURCE-1:0] source_c = SOURCE'(in_stride_c) << SOURCE_SHIFT;
  wire [RESULT-1:0] result_base = RESULT'(dst_base) << PART_SHIFT;
  wire [RESULT-1:0] result_z = RESULT'(out_stride_z) << PART_SHIFT;
  wire [RESULT-1:0] result_r = RESULT'(out_stride_r) << PART_SHIFT;
  wire [RESULT-1:0] result_c = RESULT'(out_stride_c) << PART_SHIFT;

  // Outer part: which output.

  logic setup, running, room;
  logic [3:0] credits;
  logic [9:0] z_left, r_left, c_left;
  logic [11:0] g_left;
  logic z_last, r_last, c_last, g_last;
  logic z_one, r_one, c_one;  // a side of one
  logic [RESULT-1:0] result, result_row, result_slice, result_group;

  wire ready_z, ready_r, ready_c;
  wire begins = setup && ready_z && ready_r && ready_c;
  wire emit = running && room;
  wire row_ends = emit && c_last;
  wire slice_ends = row_ends && r_last;
  wire group_ends = slice_ends && z_last;

  wire [RESULT-1:0] next_row = result_row + result_r;
  wire [RESULT-1:0] next_slice = result_slice + result_z;
  wire [RESULT-1:0] next_group = result_group + 1'b1;

  always_ff @(posedge clk) begin
    setup <= !rst && (start || (setup && !begins));
    running <= !rst && (begins || (running && !(group_ends && g_last)));
    z_one <= out_z == 10'd1;
    r_one <= out_r == 10'd1;
    c_one <= out_c == 10'd1;
    if (emit) begin
      result <= result + result_c;
      c_left <= c_left - 10'd1;
      c_last <= c_left == 10'd2;
    end
    if (row_ends) begin
      result <= next_row;
      result_row <= next_row;
      c_left <= out_c;
      c_last <= c_one;
      r_left <= r_left - 10'd1;
      r_last <= r_left == 10'd2;
    end
    if (slice_ends) begin
      result <= next_slice;
      result_row <= next_slice;
      result_slice <= next_slice;
      r_left <= out_r;
      r_last <= r_one;
      z_left <= z_left - 10'd1;
      z_last <= z_left == 10'd2;
    end
    if (group_ends) begin
      result <= next_group;
      result_row <= next_group;
      result_slice <= next_group;
      result_group <= next_group;
      z_left <= out_z;
      z_last <= z_one;
      g_left <= g_left - 12'd1;
      g_last <= g_left == 12'd2;
    end
    if (begins) begin
      result <= result_base;
      result_row <= result_base;
      result_slice <= result_base;
      result_group <= result_base;
      c_left <= out_c;
      c_last <= c_one;
      r_left <= out_r;
      r_last <= r_one;
      z_left <= out_z;
      z_last <= z_one;
      g_left <= groups;
      g_last <= groups == 12'd1;
    end
  end

  wire [SOURCE-1:0] from_z, from_r, from_c;
  wire [WEIGHT-1:0] weight_z, weight_r, weight_c;
  wire [5:0] more_z, more_r, more_c;
  wire empty_z, empty_r, empty_c;

  deconv_range #(
      .ADDRESS(SOURCE),
      .WEIGHT (WEIGHT)
  ) u_z (
      .clk(clk),
      .start(start),
      .ready(ready_z),
      .restart(begins || group_ends),
      .advance(slice_ends),
      .inputs(in_z),
      .stride(stride_z),
      .start_high(start_high_z),
      .start_low(start_low_z),
      .address_stride(source_z),
      .k_stride(k_stride_z),
      .address(from_z),
      .weight(weight_z),
      .more(more_z),
      .empty(empty_z)
  );

  deconv_range #(
      .ADDRESS(SOURCE),
      .WEIGHT (WEIGHT)
  ) u_r (
      .clk(clk),
      .start(start),
      .ready(ready_r),
      .restart(begins || slice_ends),
      .advance(row_ends),
      .inputs(in_r),
      .stride(stride),
      .start_high(start_high_r),
      .start_low(start_low_r),
      .address_stride(source_r),
      .k_stride(k_stride_r),
      .address(from_r),
      .weight(weight_r),
      .more(more_r),
      .empty(empty_r)
  );

  deconv_range #(
      .ADDRESS(SOURCE),
      .WEIGHT (WEIGHT)
  ) u_c (
      .clk(clk),
      .start(start),
      .ready(ready_c),
      .restart(begins || row_ends),
      .advance(emit),
      .inputs(in_c),
      .stride(stride),
      .start_high(start_high_c),
      .start_low(start_low_c),
      .address_stride(source_c),
      .k_stride(k_stride_c),
      .address(from_c),
      .weight(weight_c),
      .more(more_c),
      .empty(empty_c)
  );

  // Two stages add the dimensions up.
  logic [SOURCE-1:0] from_zr, from_cb, from;
  logic [WEIGHT-1:0] weight_zr, weight_cb, weight;
  logic [5:0] box_z, box_r, box_c;
  logic none, box_none, one_z, one_r, one_c;
  logic [5:0] late_z, late_r, late_c;
  logic [2:0] job_valid_line;
  wire [RESULT-1:0] job_result;
  wire job_group_last, job_run_last;

  always_ff @(posedge clk) begin
    job_valid_line <= rst ? '0 : {job_valid_line[1:0], emit};
    from_zr <= from_z + from_r;
    from_cb <= from_c + source_base;
    weight_zr <= weight_z + weight_r;
    weight_cb <= weight_c;
    late_z <= more_z;
    late_r <= more_r;
    late_c <= more_c;
    none <= empty_z || empty_r || empty_c;
    from <= from_zr + from_cb;
    weight <= weight_zr + weight_cb;
    box_z <= late_z;
    box_r <= late_r;
    box_c <= late_c;
    one_z <= none || late_z == '0;
    one_r <= none || late_r == '0;
    one_c <= none || late_c == '0;
    box_none <= none;
  end

  delay #(
      .WIDTH (RESULT + 2),
      .STAGES(3)
  ) u_result (
      .clk(clk),
      .in ({result, c_last && r_last && z_last, c_last && r_last && z_last && g_last}),
      .out({job_result, job_group_last, job_run_last})
  );

  localparam int JOB = SOURCE + WEIGHT + RESULT + 18 + 6;
  wire [JOB-1:0] job;
  wire job_valid, job_take, unused_ready, unused_last;

  stream_fifo #(
      .WIDTH(JOB),
      .DEPTH(DEPTH)
  ) u_jobs (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(job_valid_line[2]),
      .s_axis_tready(unused_ready),
      .s_axis_tdata({
        from, weight, job_result, box_z, box_r, box_c, one_z, one_r, one_c, box_none, job_group_last, job_run_last
      }),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(job_valid),
      .m_axis_tready(job_take),
      .m_axis_tdata(job),
      .m_axis_tlast(unused_last)
  );

  wire [SOURCE-1:0] next_from;
  wire [WEIGHT-1:0] next_weight;
  wire [RESULT-1:0] next_result;
  wire [5:0] next_z, next_r, next_c;
  wire next_one_z, next_one_r, next_one_c, next_none, next_group_last, next_run_last;
  assign {
    next_from, next_weight, next_result, next_z, next_r, next_c, next_one_z, next_one_r, next_one_c, next_none,
    next_group_last, next_run_last
  } = job;

  wire taken = job_valid && job_take;

  always_ff @(posedge clk) begin
    if (emit != taken) begin
      credits <= credits + {{3{emit}}, 1'b1};  // plus or minus one with one adder
      room <= taken || credits != 4'd1;
    end
    if (rst) begin
      credits <= DEPTH[3:0];
      room <= 1'b1;
    end
  end

  // Inner part: walks the box of a job from its highest input down.

  logic active, fresh;  // a job is walked; its first issue comes
  logic [SOURCE-1:0] place, tap, row, slice;
  logic [WEIGHT-1:0] place_w, tap_w, row_w, slice_w;
  logic [11:0] fold_left, folds_less;
  logic [5:0] left_z, left_r, left_c, all_r, all_c;
  logic fold_one, all_one_r, all_one_c;
  logic fold_last, last_z, last_r, last_c;
  logic none_here, group_last, run_last;
  logic [RESULT-1:0] to;

  // A group begins only with its weights.
  wire group_ok = group_done ? group_next : group_ready;
  wire step = active && (!fresh || group_ok);
  wire finished = fold_last && last_c && last_r && last_z;
  assign job_take = !active || (step && finished);

  wire [SOURCE-1:0] next_tap = tap - source_c;
  wire [SOURCE-1:0] next_row_from = row - source_r;
  wire [SOURCE-1:0] next_slice_from = slice - source_z;
  wire [WEIGHT-1:0] next_tap_w = tap_w + k_step_c;
  wire [WEIGHT-1:0] next_row_w = row_w + k_step_r;
  wire [WEIGHT-1:0] next_slice_w = slice_w + k_step_z;

  always_ff @(posedge clk) begin
    folds_less <= in_folds - 12'd1;
    fold_one   <= in_folds == 12'd1;
    if (step) begin
      fresh <= 1'b0;
      if (!fold_last) begin
        place <= place + 1'b1;
        place_w <= place_w + 1'b1;
        fold_left <= fold_left - 12'd1;
        fold_last <= fold_left == 12'd1;
      end else begin
        fold_left <= folds_less;
        fold_last <= fold_one;
        if (!last_c) begin
          {place, tap} <= {2{next_tap}};
          {place_w, tap_w} <= {2{next_tap_w}};
          left_c <= left_c - 6'd1;
          last_c <= left_c == 6'd1;
        end else begin
          left_c <= all_c;
          last_c <= all_one_c;
          if (!last_r) begin
            {place, tap, row} <= {3{next_row_from}};
            {place_w, tap_w, row_w} <= {3{next_row_w}};
            left_r <= left_r - 6'd1;
            last_r <= left_r == 6'd1;
          end else begin
            {place, tap, row, slice} <= {4{next_slice_from}};
            {place_w, tap_w, row_w, slice_w} <= {4{next_slice_w}};
            left_r <= all_r;
            last_r <= all_one_r;
            left_z <= left_z - 6'd1;
            last_z <= left_z == 6'd1;
          end
        end
      end
    end
    if (job_take) begin
      active <= job_valid;
      fresh <= 1'b1;
      {place, tap, row, slice} <= {4{next_from}};
      {place_w, tap_w, row_w, slice_w} <= {4{next_weight}};
      fold_left <= folds_less;
      fold_last <= fold_one || next_none;
      left_z <= next_z;
      left_r <= next_r;
      left_c <= next_c;
      all_r <= next_r;
      all_c <= next_c;
      last_z <= next_one_z;
      last_r <= next_one_r;
      last_c <= next_one_c;
      all_one_r <= next_one_r;
      all_one_c <= next_one_c;
      none_here <= next_none;
      group_last <= next_group_last;
      run_last <= next_run_last;
      to <= next_result;
    end
    if (rst) active <= 1'b0;
  end

  always_ff @(posedge clk) begin
    stalled <= active && !step && !rst;
    issue_valid <= step && !rst;
    group_done <= step && finished && group_last && !rst;
    issue_address <= place;
    issue_weight <= place_w;
    issue_mask <= !none_here;
    issue_first <= fresh;
    issue_last <= finished;
    issue_fold_last <= fold_last;
    issue_tag <= {run_last, to};
  end

  wire unused = &{1'b0, unused_ready, unused_last};
endmodule

`default_nettype wire
