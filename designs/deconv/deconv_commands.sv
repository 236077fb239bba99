// Takes the command stream: writes registers and the table of taps, starts units, waits for them. Opcodes and fields are
// those of designs/deconv/commands.py. A command that must wait holds those behind it.
// A unit's registers are stable from its `start` on; its `busy` rises in the cycle after `start`.
`default_nettype none

module deconv_commands #(
    // Bits of an address and of a stride of activation memory.
    parameter int ADDRESS = 10,
    // Bits of an address of the weights.
    parameter int WEIGHT = 10,
    // Bits of an address of the biases.
    parameter int BIAS = 4
) (
    input wire clk,
    input wire rst,

    input wire s_cmd_tvalid,
    output wire s_cmd_tready,
    input wire [31:0] s_cmd_tdata,

    input wire run_busy,
    input wire load_busy,
    input wire store_busy,
    output logic run_start,
    output logic load_start,
    output logic store_start,
    // END was taken.
    output logic ended,

    output logic tap_write,
    output logic [7:0] tap_index,
    output logic [23:0] tap_value,

    // Registers of a RUN.
    output wire src,
    output wire [ADDRESS-1:0] src_base,
    output wire [9:0] in_z,
    output wire [9:0] in_r,
    output wire [9:0] in_c,
    output wire [9:0] in_blocks_z,
    output wire [9:0] in_blocks_r,
    output wire [9:0] in_blocks_c,
    output wire [11:0] in_folds,
    output wire [ADDRESS-1:0] in_stride_z,
    output wire [ADDRESS-1:0] in_stride_r,
    output wire [ADDRESS-1:0] in_stride_c,
    output wire [11:0] channels_in,
    output wire [11:0] channels_out,
    output wire [11:0] groups,
    output wire [ADDRESS-1:0] dst_base,
    output wire [9:0] out_z,
    output wire [9:0] out_r,
    output wire [9:0] out_c,
    output wire [ADDRESS-1:0] out_stride_z,
    output wire [ADDRESS-1:0] out_stride_r,
    output wire [ADDRESS-1:0] out_stride_c,
    output wire [3:0] mode,
    output wire [2:0] stride,
    output wire [2:0] stride_z,
    output wire [5:0] shift,
    output wire [WEIGHT-1:0] weight_base,
    output wire [WEIGHT-1:0] weight_group,
    output wire [BIAS-1:0] bias_base,
    output wire [8:0] taps,
    output wire [7:0] tap_base,
    output wire [9:0] q_blocks_z,
    output wire [9:0] q_blocks_r,
    output wire [9:0] q_blocks_c,
    output wire [WEIGHT-1:0] k_stride_z,
    output wire [WEIGHT-1:0] k_stride_r,
    output wire [WEIGHT-1:0] k_stride_c,
    output wire [WEIGHT-1:0] k_step_z,
    output wire [WEIGHT-1:0] k_step_r,
    output wire [WEIGHT-1:0] k_step_c,
    output wire [23:0] start_high_z,
    output wire [23:0] start_high_r,
    output wire [23:0] start_high_c,
    output wire [23:0] start_low_z,
    output wire [23:0] start_low_r,
    output wire [23:0] start_low_c,

    // Registers of a LOAD and of a STORE.
    output wire load_mem,
    output wire [ADDRESS-1:0] load_base,
    output wire [9:0] load_z,
    output wire [9:0] load_r,
    output wire [9:0] load_c,
    output wire [11:0] load_words,
    output wire [ADDRESS-1:0] load_stride_z,
    output wire [ADDRESS-1:0] load_stride_r,
    output wire [ADDRESS-1:0] load_stride_c,
    output wire load_merged,
    output wire store_mem,
    output wire [ADDRESS-1:0] store_base,
    output wire [9:0] store_z,
    output wire [9:0] store_r,
    output wire [9:0] store_c,
    output wire [11:0] store_words,
    output wire [ADDRESS-1:0] store_stride_z,
    output wire [ADDRESS-1:0] store_stride_r,
    output wire [ADDRESS-1:0] store_stride_c,
    output wire store_merged,
    output wire store_last
);
  localparam logic [7:0] TAP_INDEX = 8'h50;
  localparam logic [7:0] TAP = 8'h80;
  localparam logic [7:0] RUN = 8'h81;
  localparam logic [7:0] LOAD = 8'h82;
  localparam logic [7:0] STORE = 8'h83;
  localparam logic [7:0] WAIT = 8'h84;
  localparam logic [7:0] END = 8'h85;

  logic write, run_copy, load_copy, store_copy;
  logic [7:0] code;
  logic [23:0] value;

  // A unit is taken from the cycle in which its command is read.
  wire run_active = run_copy || run_start || run_busy;
  wire load_active = load_copy || load_start || load_busy;
  wire store_active = store_copy || store_start || store_busy;
  wire [2:0] active = {store_active, run_active, load_active};

  wire [7:0] next = s_cmd_tdata[31:24];
  wire blocked = (next == RUN && run_active) || (next == LOAD && load_active) || (next == STORE && store_active)
      || (next == WAIT && (s_cmd_tdata[2:0] & active) != '0);
  wire take = s_cmd_tvalid && !blocked;
  assign s_cmd_tready = !blocked;

  always_ff @(posedge clk) begin
    code <= next;
    value <= s_cmd_tdata[23:0];
    write <= take && !rst;
    run_copy <= take && next == RUN && !rst;
    load_copy <= take && next == LOAD && !rst;
    store_copy <= take && next == STORE && !rst;
    run_start <= run_copy && !rst;
    load_start <= load_copy && !rst;
    store_start <= store_copy && !rst;
    ended <= take && next == END && !rst;
  end

  logic [7:0] index;

  always_ff @(posedge clk) begin
    if (write && code == TAP_INDEX) index <= value[7:0];
    else if (write && code == TAP) index <= index + 8'd1;
    tap_write <= write && code == TAP && !rst;
    tap_index <= index;
    tap_value <= value;
  end

  deconv_register #(.CODE(1), .BITS(1)) u_src (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(src));
  deconv_register #(.CODE(2), .BITS(ADDRESS)) u_src_base (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(src_base));
  deconv_register #(.CODE(3), .BITS(10)) u_in_z (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(in_z));
  deconv_register #(.CODE(4), .BITS(10)) u_in_r (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(in_r));
  deconv_register #(.CODE(5), .BITS(10)) u_in_c (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(in_c));
  deconv_register #(.CODE(6), .BITS(10)) u_in_blocks_z (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(in_blocks_z));
  deconv_register #(.CODE(7), .BITS(10)) u_in_blocks_r (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(in_blocks_r));
  deconv_register #(.CODE(8), .BITS(10)) u_in_blocks_c (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(in_blocks_c));
  deconv_register #(.CODE(9), .BITS(12)) u_in_folds (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(in_folds));
  deconv_register #(.CODE(10), .BITS(ADDRESS)) u_in_stride_z (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(in_stride_z));
  deconv_register #(.CODE(11), .BITS(ADDRESS)) u_in_stride_r (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(in_stride_r));
  deconv_register #(.CODE(12), .BITS(ADDRESS)) u_in_stride_c (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(in_stride_c));
  deconv_register #(.CODE(14), .BITS(12)) u_channels_in (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(channels_in));
  deconv_register #(.CODE(15), .BITS(12)) u_channels_out (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(channels_out));
  deconv_register #(.CODE(16), .BITS(12)) u_groups (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(groups));
  deconv_register #(.CODE(17), .BITS(ADDRESS)) u_dst_base (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(dst_base));
  deconv_register #(.CODE(18), .BITS(10)) u_out_z (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(out_z));
  deconv_register #(.CODE(19), .BITS(10)) u_out_r (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(out_r));
  deconv_register #(.CODE(20), .BITS(10)) u_out_c (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(out_c));
  deconv_register #(.CODE(21), .BITS(ADDRESS)) u_out_stride_z (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(out_stride_z));
  deconv_register #(.CODE(22), .BITS(ADDRESS)) u_out_stride_r (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(out_stride_r));
  deconv_register #(.CODE(23), .BITS(ADDRESS)) u_out_stride_c (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(out_stride_c));
  deconv_register #(.CODE(25), .BITS(4)) u_mode (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(mode));
  deconv_register #(.CODE(26), .BITS(3)) u_stride (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(stride));
  deconv_register #(.CODE(27), .BITS(3)) u_stride_z (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(stride_z));
  deconv_register #(.CODE(28), .BITS(6)) u_shift (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(shift));
  deconv_register #(.CODE(29), .BITS(WEIGHT)) u_weight_base (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(weight_base));
  deconv_register #(.CODE(30), .BITS(WEIGHT)) u_weight_group (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(weight_group));
  deconv_register #(.CODE(31), .BITS(BIAS)) u_bias_base (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(bias_base));
  deconv_register #(.CODE(32), .BITS(9)) u_taps (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(taps));
  deconv_register #(.CODE(33), .BITS(8)) u_tap_base (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(tap_base));
  deconv_register #(.CODE(34), .BITS(10)) u_q_blocks_z (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(q_blocks_z));
  deconv_register #(.CODE(35), .BITS(10)) u_q_blocks_r (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(q_blocks_r));
  deconv_register #(.CODE(36), .BITS(10)) u_q_blocks_c (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(q_blocks_c));
  deconv_register #(.CODE(40), .BITS(WEIGHT)) u_k_stride_z (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(k_stride_z));
  deconv_register #(.CODE(41), .BITS(WEIGHT)) u_k_stride_r (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(k_stride_r));
  deconv_register #(.CODE(42), .BITS(WEIGHT)) u_k_stride_c (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(k_stride_c));
  deconv_register #(.CODE(43), .BITS(WEIGHT)) u_k_step_z (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(k_step_z));
  deconv_register #(.CODE(44), .BITS(WEIGHT)) u_k_step_r (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(k_step_r));
  deconv_register #(.CODE(45), .BITS(WEIGHT)) u_k_step_c (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(k_step_c));
  deconv_register #(.CODE(48), .BITS(24)) u_start_high_z (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(start_high_z));
  deconv_register #(.CODE(49), .BITS(24)) u_start_high_r (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(start_high_r));
  deconv_register #(.CODE(50), .BITS(24)) u_start_high_c (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(start_high_c));
  deconv_register #(.CODE(51), .BITS(24)) u_start_low_z (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(start_low_z));
  deconv_register #(.CODE(52), .BITS(24)) u_start_low_r (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(start_low_r));
  deconv_register #(.CODE(53), .BITS(24)) u_start_low_c (.clk(clk), .write(write), .code(code), .value(value), .copy(run_copy), .q(start_low_c));
  deconv_register #(.CODE(64), .BITS(1)) u_load_mem (.clk(clk), .write(write), .code(code), .value(value), .copy(load_copy), .q(load_mem));
  deconv_register #(.CODE(65), .BITS(ADDRESS)) u_load_base (.clk(clk), .write(write), .code(code), .value(value), .copy(load_copy), .q(load_base));
  deconv_register #(.CODE(66), .BITS(10)) u_load_z (.clk(clk), .write(write), .code(code), .value(value), .copy(load_copy), .q(load_z));
  deconv_register #(.CODE(67), .BITS(10)) u_load_r (.clk(clk), .write(write), .code(code), .value(value), .copy(load_copy), .q(load_r));
  deconv_register #(.CODE(68), .BITS(10)) u_load_c (.clk(clk), .write(write), .code(code), .value(value), .copy(load_copy), .q(load_c));
  deconv_register #(.CODE(69), .BITS(12)) u_load_words (.clk(clk), .write(write), .code(code), .value(value), .copy(load_copy), .q(load_words));
  deconv_register #(.CODE(70), .BITS(ADDRESS)) u_load_stride_z (.clk(clk), .write(write), .code(code), .value(value), .copy(load_copy), .q(load_stride_z));
  deconv_register #(.CODE(71), .BITS(ADDRESS)) u_load_stride_r (.clk(clk), .write(write), .code(code), .value(value), .copy(load_copy), .q(load_stride_r));
  deconv_register #(.CODE(72), .BITS(ADDRESS)) u_load_stride_c (.clk(clk), .write(write), .code(code), .value(value), .copy(load_copy), .q(load_stride_c));
  deconv_register #(.CODE(73), .BITS(1)) u_load_merged (.clk(clk), .write(write), .code(code), .value(value), .copy(load_copy), .q(load_merged));
  deconv_register #(.CODE(64), .BITS(1)) u_store_mem (.clk(clk), .write(write), .code(code), .value(value), .copy(store_copy), .q(store_mem));
  deconv_register #(.CODE(65), .BITS(ADDRESS)) u_store_base (.clk(clk), .write(write), .code(code), .value(value), .copy(store_copy), .q(store_base));
  deconv_register #(.CODE(66), .BITS(10)) u_store_z (.clk(clk), .write(write), .code(code), .value(value), .copy(store_copy), .q(store_z));
  deconv_register #(.CODE(67), .BITS(10)) u_store_r (.clk(clk), .write(write), .code(code), .value(value), .copy(store_copy), .q(store_r));
  deconv_register #(.CODE(68), .BITS(10)) u_store_c (.clk(clk), .write(write), .code(code), .value(value), .copy(store_copy), .q(store_c));
  deconv_register #(.CODE(69), .BITS(12)) u_store_words (.clk(clk), .write(write), .code(code), .value(value), .copy(store_copy), .q(store_words));
  deconv_register #(.CODE(70), .BITS(ADDRESS)) u_store_stride_z (.clk(clk), .write(write), .code(code), .value(value), .copy(store_copy), .q(store_stride_z));
  deconv_register #(.CODE(71), .BITS(ADDRESS)) u_store_stride_r (.clk(clk), .write(write), .code(code), .value(value), .copy(store_copy), .q(store_stride_r));
  deconv_register #(.CODE(72), .BITS(ADDRESS)) u_store_stride_c (.clk(clk), .write(write), .code(code), .value(value), .copy(store_copy), .q(store_stride_c));
  deconv_register #(.CODE(73), .BITS(1)) u_store_merged (.clk(clk), .write(write), .code(code), .value(value), .copy(store_copy), .q(store_merged));
  deconv_register #(.CODE(75), .BITS(1)) u_store_last (.clk(clk), .write(write), .code(code), .value(value), .copy(store_copy), .q(store_last));
endmodule

`default_nettype wire
