// The places of a tensor's words in activation memory, in the order of the stream: positions in raster order, COLUMNS
// neighbours at a time, the words of a position one after another. `address` and the banks are those of the present
// step; `step` goes to the next. Bank of a position p of T in parallel: (p + p div T) mod T.
//
// merged: word w of a position lies in z-bank w mod TZ, at the address of the position plus w div TZ.
`default_nettype none

module deconv_walk #(
    // Positions in parallel, powers of two.
    parameter int TZ = 1,
    parameter int TR = 1,
    parameter int TC = 1,
    // Columns of a step, a power of two that divides TC.
    parameter int COLUMNS = 1,
    // Bits of an address.
    parameter int ADDRESS = 10,
    // Bits of a bank's number in a dimension; derived.
    parameter int BZ = TZ > 1 ? $clog2(TZ) : 1,
    parameter int BR = TR > 1 ? $clog2(TR) : 1,
    parameter int BC = TC > 1 ? $clog2(TC) : 1
) (
    input wire clk,
    input wire start,
    input wire step,

    input wire [ADDRESS-1:0] base,
    input wire [9:0] depth,
    input wire [9:0] rows,
    input wire [9:0] columns,
    input wire [11:0] words,
    input wire [ADDRESS-1:0] stride_z,
    input wire [ADDRESS-1:0] stride_r,
    input wire [ADDRESS-1:0] stride_c,
    input wire merged,

    output logic [ADDRESS-1:0] address,
    output wire [BZ-1:0] bank_z,
    output wire [BR-1:0] bank_r,
    // Bank of the first of the COLUMNS.
    output wire [BC-1:0] bank_c,
    output wire last
);
  // Masks: where a dimension has one bank, its numbers stay 0.
  localparam int LZ = TZ - 1, LR = TR - 1, LC = TC - 1;
  localparam logic [BZ-1:0] MASK_Z = LZ[BZ-1:0];
  localparam logic [BR-1:0] MASK_R = LR[BR-1:0];
  localparam logic [BC-1:0] MASK_C = LC[BC-1:0];
  localparam logic [BC-1:0] STEP_C = COLUMNS[BC-1:0] & MASK_C;
  localparam int STEPS = $clog2(COLUMNS);

  // Place within the block, and the bank's offset from it, in each dimension.
  logic [BZ-1:0] place_z, shift_z, word_z;
  logic [BR-1:0] place_r, shift_r;
  logic [BC-1:0] place_c, shift_c;
  logic [ADDRESS-1:0] slice, row, column;  // addresses of word 0 where these begin

  // How many steps come after the present one in each dimension; whether none does. A reload takes a cycle to work out.
  logic [9:0] z_left, r_left, c_left, r_all, c_all;
  logic [11:0] w_left, w_all;
  logic last_z, last_r, last_c, last_w, r_one, c_one, w_one;
  wire [9:0] columns_less = (columns - 10'd1) >> STEPS;

  assign bank_z = (merged ? word_z : place_z + shift_z) & MASK_Z;
  assign bank_r = (place_r + shift_r) & MASK_R;
  assign bank_c = (place_c + shift_c) & MASK_C;

  assign last = last_w && last_c && last_r && last_z;

  wire [BZ-1:0] next_z = (place_z + 1'b1) & MASK_Z;
  wire [BR-1:0] next_r = (place_r + 1'b1) & MASK_R;
  wire [BC-1:0] next_c = (place_c + STEP_C) & MASK_C;
  wire [BZ-1:0] next_word_z = (word_z + 1'b1) & MASK_Z;
  wire [ADDRESS-1:0] next_slice = next_z == '0 ? slice + stride_z : slice;
  wire [ADDRESS-1:0] next_row = next_r == '0 ? row + stride_r : row;
  wire [ADDRESS-1:0] next_column = next_c == '0 ? column + stride_c : column;

  always_ff @(posedge clk) begin
    w_all <= words - 12'd1;
    w_one <= words == 12'd1;
    c_all <= columns_less;
    c_one <= columns_less == '0;
    r_all <= rows - 10'd1;
    r_one <= rows == 10'd1;
    if (step) begin
      if (!last_w) begin
        w_left <= w_left - 12'd1;
        last_w <= w_left == 12'd1;
        word_z <= next_word_z;
        if (!merged || next_word_z == '0) address <= address + 1'b1;
      end else begin
        w_left <= w_all;
        last_w <= w_one;
        word_z <= '0;
        if (!last_c) begin
          c_left <= c_left - 10'd1;
          last_c <= c_left == 10'd1;
          place_c <= next_c;
          if (next_c == '0) shift_c <= shift_c + 1'b1;
          column  <= next_column;
          address <= next_column;
        end else begin
          c_left <= c_all;
          last_c <= c_one;
          place_c <= '0;
          shift_c <= '0;
          if (!last_r) begin
            r_left <= r_left - 10'd1;
            last_r <= r_left == 10'd1;
            place_r <= next_r;
            if (next_r == '0) shift_r <= shift_r + 1'b1;
            row <= next_row;
            column <= next_row;
            address <= next_row;
          end else begin
            r_left <= r_all;
            last_r <= r_one;
            place_r <= '0;
            shift_r <= '0;
            z_left <= z_left - 10'd1;
            last_z <= z_left == 10'd1;
            place_z <= next_z;
            if (next_z == '0) shift_z <= shift_z + 1'b1;
            slice <= next_slice;
            row <= next_slice;
            column <= next_slice;
            address <= next_slice;
          end
        end
      end
    end
    if (start) begin
      w_left <= words - 12'd1;
      last_w <= words == 12'd1;
      word_z <= '0;
      c_left <= columns_less;
      last_c <= columns_less == '0;
      place_c <= '0;
      shift_c <= '0;
      r_left <= rows - 10'd1;
      last_r <= rows == 10'd1;
      place_r <= '0;
      shift_r <= '0;
      z_left <= depth - 10'd1;
      last_z <= depth == 10'd1;
      place_z <= '0;
      shift_z <= '0;
      slice <= base;
      row <= base;
      column <= base;
      address <= base;
    end
  end
endmodule

`default_nettype wire
