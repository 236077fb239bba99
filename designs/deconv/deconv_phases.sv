// What deconv_tiles needs to know of the phases of a RUN's outputs: the offsets (fz, fr, fc) of phase number
// (fz * stride + fr) * stride + fc, and where its partial sums begin. Filled after `start`, a phase a cycle; `filled` is
// high with the last. A read takes one cycle.
`default_nettype none

module deconv_phases #(
    // Bits of an address of partial sums.
    parameter int PSUM = 6
) (
    input wire clk,
    input wire rst,
    input wire start,

    input wire [2:0] stride,
    input wire [2:0] stride_z,
    input wire [9:0] q_blocks_z,
    input wire [9:0] q_blocks_r,
    input wire [9:0] q_blocks_c,

    // Words of a slice and of a row of blocks.
    output logic [PSUM-1:0] q_plane,
    output wire [PSUM-1:0] q_row,
    output wire filled,

    input wire [5:0] index,
    output logic [PSUM-1:0] base,
    output logic [1:0] fz,
    output logic [1:0] fr,
    output logic [1:0] fc
);
  // Only the bits of an address count: sums of addresses are modulo 2^PSUM.
  wire [23:0] wide_rows = {14'd0, q_blocks_r};
  wire [23:0] wide_columns = {14'd0, q_blocks_c};
  wire [23:0] wide_slices = {14'd0, q_blocks_z};
  wire unused = &{1'b0, wide_rows, wide_columns, wide_slices};
  assign q_row = wide_columns[PSUM-1:0];

  logic [2:0] setup;  // until the products are there
  logic filling;
  logic [PSUM-1:0] volume, next_base;
  logic [1:0] z, r, c;
  logic [5:0] number;
  logic [PSUM+5:0] phases[64];
  wire last_c = {1'b0, c} + 3'd1 == stride;
  wire last_r = {1'b0, r} + 3'd1 == stride;
  wire last_z = {1'b0, z} + 3'd1 == stride_z;
  assign filled = filling && last_c && last_r && last_z;

  always_ff @(posedge clk) begin
    setup   <= {setup[1:0], start};
    q_plane <= wide_rows[PSUM-1:0] * q_row;
    volume  <= q_plane * wide_slices[PSUM-1:0];
    if (setup[2]) filling <= 1'b1;
    if (filling) begin
      phases[number] <= {next_base, z, r, c};
      number <= number + 6'd1;
      next_base <= next_base + volume;
      c <= last_c ? '0 : c + 2'd1;
      if (last_c) r <= last_r ? '0 : r + 2'd1;
      if (last_c && last_r) z <= last_z ? '0 : z + 2'd1;
    end
    if (filled) filling <= 1'b0;
    {base, fz, fr, fc} <= phases[index];
    if (start) begin
      number <= '0;
      next_base <= '0;
      z <= '0;
      r <= '0;
      c <= '0;
    end
    if (rst) begin
      setup   <= '0;
      filling <= 1'b0;
    end
  end
endmodule

`default_nettype wire
