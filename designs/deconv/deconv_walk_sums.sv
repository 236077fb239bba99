// The order in which deconv_drain empties a half: phase after phase, and in each all outputs in raster order, DZ x DR x DC
// of them a step. `address` is that of the banks, `part` which of the blocks of DZ x DR x DC banks, and (z, r, c) the
// output of the first of them; the others follow a stride apart, and those past the end of a side are no outputs.
//
// `restart` goes to the first step, `step` to the next; `last` is the last one of a half.
`default_nettype none

module deconv_walk_sums #(
    // Lanes along z, powers of two.
    parameter int TZ = 2,
    // Lanes along rows.
    parameter int TR = 2,
    // Lanes along columns.
    parameter int TC = 2,
    // Of these, drained at a time, powers of two; TC before more than one row, TR before more than one slice.
    parameter int DZ = 1,
    parameter int DR = 1,
    parameter int DC = 2,
    // Bits of an address of partial sums.
    parameter int PSUM = 6,
    // Bits of a part; derived.
    parameter int PART = TZ * TR * TC > DZ * DR * DC ? $clog2(TZ * TR * TC / (DZ * DR * DC)) : 1
) (
    input wire clk,
    input wire restart,
    input wire step,

    // The lanes along z hold channels: only the banks of z = 0 have sums.
    input wire merged,
    input wire [2:0] stride,
    input wire [2:0] stride_z,
    input wire [9:0] out_z,
    input wire [9:0] out_r,
    input wire [9:0] out_c,
    input wire [9:0] q_blocks_z,
    // As from deconv_tiles.
    input wire [PSUM-1:0] q_plane,
    input wire [PSUM-1:0] q_row,

    output logic [PSUM-1:0] address,
    output wire [PART-1:0] part,
    output logic [11:0] z,
    output logic [11:0] r,
    output logic [11:0] c,
    output wire last
);
  // Steps within a block of lanes, by dimension.
  localparam int SZ = TZ / DZ, SR = TR / DR, SC = TC / DC;
  localparam int BZ = SZ > 1 ? $clog2(SZ) : 1, BR = SR > 1 ? $clog2(SR) : 1, BC = SC > 1 ? $clog2(SC) : 1;
  localparam int LZ = SZ - 1, LR = SR - 1, LC = SC - 1;

  logic [1:0] fz, fr, fc;
  logic [BZ-1:0] within_z;
  logic [BR-1:0] within_r;
  logic [BC-1:0] within_c;
  logic [PSUM-1:0] row, slice, phase, volume;
  logic [11:0] move_z, move_r, move_c;  // outputs from a step to the next
  logic [11:0] ahead_z, ahead_r, ahead_c;  // where the next step would be

  wire [11:0] wide_stride = {9'd0, stride};
  wire [11:0] wide_stride_z = {9'd0, stride_z};
  wire [23:0] wide_slices = {14'd0, q_blocks_z};

  always_ff @(posedge clk) begin
    volume <= q_plane * wide_slices[PSUM-1:0];
    move_z <= merged ? wide_stride_z : wide_stride_z << $clog2(DZ);
    move_r <= wide_stride << $clog2(DR);
    move_c <= wide_stride << $clog2(DC);
  end

  wire last_c = ahead_c >= {2'b00, out_c};
  wire last_r = ahead_r >= {2'b00, out_r};
  wire last_z = ahead_z >= {2'b00, out_z};
  wire last_fc = {1'b0, fc} + 3'd1 == stride;
  wire last_fr = {1'b0, fr} + 3'd1 == stride;
  wire last_fz = {1'b0, fz} + 3'd1 == stride_z;
  assign last = last_c && last_r && last_z && last_fc && last_fr && last_fz;

  wire wrap_c = within_c == LC[BC-1:0];
  wire wrap_r = within_r == LR[BR-1:0];
  wire wrap_z = merged || within_z == LZ[BZ-1:0];
  wire [PSUM-1:0] next_row = wrap_r ? row + q_row : row;
  wire [PSUM-1:0] next_slice = wrap_z ? slice + q_plane : slice;
  wire [PSUM-1:0] next_phase = phase + volume;

  wire [1:0] next_fc = last_fc ? '0 : fc + 2'd1;
  wire [1:0] next_fr = !last_fc ? fr : last_fr ? '0 : fr + 2'd1;
  wire [1:0] next_fz = !(last_fc && last_fr) ? fz : fz + 2'd1;

  always_ff @(posedge clk) begin
    if (step) begin
      c <= ahead_c;
      ahead_c <= ahead_c + move_c;
      within_c <= wrap_c ? '0 : within_c + 1'b1;
      if (wrap_c) address <= address + 1'b1;
      if (last_c) begin
        c <= {10'd0, fc};
        ahead_c <= {10'd0, fc} + move_c;
        within_c <= '0;
        r <= ahead_r;
        ahead_r <= ahead_r + move_r;
        within_r <= wrap_r ? '0 : within_r + 1'b1;
        row <= next_row;
        address <= next_row;
        if (last_r) begin
          r <= {10'd0, fr};
          ahead_r <= {10'd0, fr} + move_r;
          within_r <= '0;
          z <= ahead_z;
          ahead_z <= ahead_z + move_z;
          within_z <= wrap_z ? '0 : within_z + 1'b1;
          slice <= next_slice;
          row <= next_slice;
          address <= next_slice;
          if (last_z) begin
            fz <= next_fz;
            fr <= next_fr;
            fc <= next_fc;
            z <= {10'd0, next_fz};
            r <= {10'd0, next_fr};
            c <= {10'd0, next_fc};
            ahead_z <= {10'd0, next_fz} + move_z;
            ahead_r <= {10'd0, next_fr} + move_r;
            ahead_c <= {10'd0, next_fc} + move_c;
            within_z <= '0;
            phase <= next_phase;
            slice <= next_phase;
            row <= next_phase;
            address <= next_phase;
          end
        end
      end
    end
    if (restart) begin
      {fz, fr, fc} <= '0;
      {z, r, c} <= '0;
      ahead_z <= move_z;
      ahead_r <= move_r;
      ahead_c <= move_c;
      within_z <= '0;
      within_r <= '0;
      within_c <= '0;
      phase <= '0;
      slice <= '0;
      row <= '0;
      address <= '0;
    end
  end

  // Blocks of banks in order: z, r, c.
  wire [31:0] number = (32'(within_z) * SR + 32'(within_r)) * SC + 32'(within_c);
  assign part = number[PART-1:0];
  wire unused = &{1'b0, number[31:PART], wide_slices};
endmodule

`default_nettype wire
