// Empties the halves of the partial sums, group after group in turn: reads DRAIN outputs a cycle (deconv_walk_sums),
// finishes them (deconv_finish) and writes them into the destination memory (deconv_place), TM channels of each.
// Positions past the sides of the output are dropped. TM must divide TN, the channels of a word of that memory.
//
// A RUN: `start`, then `group_start` with each group, which brings the half that it goes to and the address of its biases,
// then `full` when its sums are complete. `half_done` tells that a half is empty. `busy` is high from `start` on until the
// last output of the last group has been written. Registers are constant meanwhile.
//
// `bias` is there two cycles after `bias_address`, and `drain_data` three cycles after `drain_enable`.
`default_nettype none

module deconv_drain #(
    // Bits of an activation: 8 or 16.
    parameter int BITS = 16,
    // Bits of a sum.
    parameter int ACC = 40,
    // Output channels of a group.
    parameter int TM = 2,
    // Channels of a word of the destination.
    parameter int TN = 4,
    // Lanes along z, powers of two.
    parameter int TZ = 2,
    // Lanes along rows.
    parameter int TR = 2,
    // Lanes along columns.
    parameter int TC = 2,
    // Outputs of a cycle, a power of two.
    parameter int DRAIN = 2,
    // Bits of an address of activation memory.
    parameter int ADDRESS = 10,
    // Bits of an address of partial sums.
    parameter int PSUM = 6,
    // Bits of an address of biases.
    parameter int BIAS = 4,
    // Memory image of the activation, or "", as in deconv_finish.
    parameter TABLE = "",
    // Derived.
    parameter int BG = TZ * TR * TC > DRAIN ? $clog2(TZ * TR * TC / DRAIN) : 1,
    parameter int PART = TN > TM ? $clog2(TN / TM) : 1
) (
    input wire clk,
    input wire rst,
    input wire start,

    input wire [11:0] groups,
    input wire merged_in,
    input wire merged_out,
    input wire [1:0] activation,
    input wire [5:0] shift,
    input wire [2:0] stride,
    input wire [2:0] stride_z,
    input wire [9:0] out_z,
    input wire [9:0] out_r,
    input wire [9:0] out_c,
    input wire [ADDRESS-1:0] dst_base,
    input wire [ADDRESS-1:0] out_stride_z,
    input wire [ADDRESS-1:0] out_stride_r,
    input wire [ADDRESS-1:0] out_stride_c,
    input wire [9:0] q_blocks_z,
    input wire [PSUM-1:0] q_plane,
    input wire [PSUM-1:0] q_row,

    input wire group_start,
    input wire group_half,
    input wire [BIAS-1:0] group_bias,
    input wire [1:0] full,
    output logic [1:0] half_done,
    output logic busy,

    output logic [BIAS-1:0] bias_address,
    input wire [TM*ACC-1:0] bias,

    output logic drain_enable,
    output logic drain_half,
    output logic [PSUM-1:0] drain_address,
    output logic [BG-1:0] drain_group,
    input wire [DRAIN*TM*ACC-1:0] drain_data,

    // Into the destination: TM channels of a word of each bank that is enabled, the part `write_part` of the word.
    output wire [TZ*TR*TC-1:0] write_enable,
    output wire [TZ*TR*TC*ADDRESS-1:0] write_address,
    output wire [PART-1:0] write_part,
    output wire [TZ*TR*TC*TM*BITS-1:0] write_data
);
  // The block of lanes that is drained at a time: columns first.
  localparam int DC = DRAIN < TC ? DRAIN : TC;
  localparam int DR = DRAIN / DC < TR ? DRAIN / DC : TR;
  localparam int DZ = DRAIN / DC / DR;
  localparam int BZ = TZ > 1 ? $clog2(TZ) : 1;
  localparam int PARTS = TN / TM;
  localparam int TOP_PART = PARTS - 1, TOP_BANK = TZ - 1;

  if (TM < 1 || TN < TM || TN % TM != 0) begin : g_parts
    $error("deconv_drain: TM must divide TN");
  end
  if (DRAIN < 1 || DRAIN > TZ * TR * TC || (DRAIN & (DRAIN - 1)) != 0) begin : g_drain
    $error("deconv_drain: DRAIN must be a power of two and at most the lanes");
  end

  // Which half, and where the group's channels go.
  logic active, half;
  logic [1:0] waiting;
  logic [BIAS-1:0] biases[2];
  logic [11:0] left;
  logic [PART-1:0] part;
  logic [BZ-1:0] bank;
  logic [ADDRESS-1:0] base;

  wire [PSUM-1:0] address;
  wire [BG-1:0] group;
  wire [11:0] z, r, c;
  wire last;
  wire ends = active && last;

  deconv_walk_sums #(
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .DZ(DZ),
      .DR(DR),
      .DC(DC),
      .PSUM(PSUM)
  ) u_walk (
      .clk(clk),
      .restart(!active),
      .step(active),
      .merged(merged_in),
      .stride(stride),
      .stride_z(stride_z),
      .out_z(out_z),
      .out_r(out_r),
      .out_c(out_c),
      .q_blocks_z(q_blocks_z),
      .q_plane(q_plane),
      .q_row(q_row),
      .address(address),
      .part(group),
      .z(z),
      .r(r),
      .c(c),
      .last(last)
  );

  always_ff @(posedge clk) begin
    if (group_start) biases[group_half] <= group_bias;
    waiting <= waiting | full;
    half_done <= '0;
    if (!active && waiting[half]) begin
      active <= 1'b1;
      waiting[half] <= full[half];
    end
    if (ends) begin
      active <= 1'b0;
      half <= !half;
      half_done[half] <= 1'b1;
      left <= left - 12'd1;
      part <= part == TOP_PART[PART-1:0] ? '0 : part + 1'b1;
      if (part == TOP_PART[PART-1:0]) begin
        bank <= merged_out && bank != TOP_BANK[BZ-1:0] ? bank + 1'b1 : '0;
        if (!merged_out || bank == TOP_BANK[BZ-1:0]) base <= base + 1'b1;
      end
    end
    if (start) begin
      left <= groups;
      part <= '0;
      bank <= '0;
      base <= dst_base;
    end
    if (rst) begin
      active <= 1'b0;
      half <= 1'b0;
      waiting <= '0;
      half_done <= '0;
    end
  end

  // The read, and what goes with it to where the data come.
  localparam int TAG = 1 + PART + BZ + ADDRESS + 36;
  logic [TAG-1:0] tag;
  wire [TAG-1:0] tag_of_data, tag_of_values;
  wire data_valid, values_valid;

  always_ff @(posedge clk) begin
    drain_enable <= active;
    drain_half <= half;
    drain_address <= address;
    drain_group <= group;
    bias_address <= biases[half];
    tag <= {last && left == 12'd1, part, bank, base, z, r, c};
    if (rst) drain_enable <= 1'b0;
  end

  delay #(
      .WIDTH (TAG),
      .STAGES(3)
  ) u_tag (
      .clk(clk),
      .in (tag),
      .out(tag_of_data)
  );

  logic [2:0] reading;
  always_ff @(posedge clk) begin
    reading <= {reading[1:0], drain_enable};
    if (rst) reading <= '0;
  end
  assign data_valid = reading[2];

  logic [TM*ACC-1:0] bias_of_data;
  always_ff @(posedge clk) bias_of_data <= bias;

  wire [DRAIN*TM*BITS-1:0] values;

  deconv_finish #(
      .BITS (BITS),
      .ACC  (ACC),
      .N    (DRAIN * TM),
      .TAG  (TAG),
      .TABLE(TABLE)
  ) u_finish (
      .clk(clk),
      .rst(rst),
      .shift(shift),
      .activation(activation),
      .valid(data_valid),
      .tag(tag_of_data),
      .sums(drain_data),
      .biases({DRAIN{bias_of_data}}),
      .out_valid(values_valid),
      .out_tag(tag_of_values),
      .values(values)
  );

  wire final_of_values, final_written, written;
  wire [PART-1:0] part_of_values;
  wire [BZ-1:0] bank_of_values;
  wire [ADDRESS-1:0] base_of_values;
  wire [11:0] z_of_values, r_of_values, c_of_values;
  assign {final_of_values, part_of_values, bank_of_values, base_of_values, z_of_values, r_of_values, c_of_values} =
      tag_of_values;

  deconv_place #(
      .WIDTH(TM * BITS),
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .DZ(DZ),
      .DR(DR),
      .DC(DC),
      .ADDRESS(ADDRESS),
      .TAG(1 + PART)
  ) u_place (
      .clk(clk),
      .rst(rst),
      .merged_in(merged_in),
      .merged_out(merged_out),
      .stride(stride),
      .stride_z(stride_z),
      .out_z(out_z),
      .out_r(out_r),
      .out_c(out_c),
      .out_stride_z(out_stride_z),
      .out_stride_r(out_stride_r),
      .out_stride_c(out_stride_c),
      .valid(values_valid),
      .tag({final_of_values, part_of_values}),
      .bank(bank_of_values),
      .base(base_of_values),
      .z(z_of_values),
      .r(r_of_values),
      .c(c_of_values),
      .values(values),
      .out_valid(written),
      .out_tag({final_written, write_part}),
      .write_enable(write_enable),
      .write_address(write_address),
      .write_data(write_data)
  );

  always_ff @(posedge clk) begin
    if (written && final_written) busy <= 1'b0;
    if (start) busy <= 1'b1;
    if (rst) busy <= 1'b0;
  end
endmodule

`default_nettype wire
