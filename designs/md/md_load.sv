// Reads particles from the stream, one a cycle: `count` of them after `start`. A particle of a cell or a kind that is not
// there is not let through: `invalid`. A beat, from bit 0 up: position in the cell x, y, z (P bits each), velocity x, y, z
// (VELOCITY each), kind 8, number 24, cell 16.
`default_nettype none

module md_load #(
    // Bits of a beat.
    parameter int BEAT = 216,
    // Bits of a position and of a velocity.
    parameter int P = 24,
    parameter int VELOCITY = 32,
    // Bits of the number of a particle that are kept.
    parameter int ID = 24,
    parameter int KINDS = 1,
    parameter int CELLS = 64,
    // Derived.
    parameter int CELL = $clog2(CELLS),
    parameter int PARTICLE = 3 * P + 3 * VELOCITY + ID + 1
) (
    input wire clk,
    input wire rst,

    input wire start,
    input wire [31:0] count,
    // From `start` until the last particle is out.
    output wire busy,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [BEAT-1:0] s_axis_tdata,

    output logic valid,
    output logic invalid,
    output logic [CELL-1:0] cell_index,
    // {kind, number, velocity, position}
    output logic [PARTICLE-1:0] particle
);
  localparam int REST = 3 * P + 3 * VELOCITY;  // kind 8, id 24, cell 16

  if (BEAT < REST + 48) begin : g_beat
    $error("md_load: BEAT must hold a particle");
  end
  if (ID < 1 || ID > 24) begin : g_id
    $error("md_load: ID must be 1 to 24");
  end
  if (KINDS < 1 || KINDS > 2) begin : g_kinds
    $error("md_load: KINDS must be 1 or 2");
  end
  if (CELL > 16) begin : g_cells
    $error("md_load: at most 65536 cells");
  end

  logic [31:0] left;
  logic loading;  // left != 0, as a register

  wire take = s_axis_tvalid && loading;
  wire [7:0] kind_in = s_axis_tdata[REST+:8];
  wire [23:0] id_in = s_axis_tdata[REST+8+:24];
  wire [15:0] cell_in = s_axis_tdata[REST+32+:16];
  wire good = kind_in < 8'(KINDS) && {1'b0, cell_in} < 17'(CELLS);

  assign s_axis_tready = loading;
  assign busy = loading || valid || invalid;

  always_ff @(posedge clk) begin
    particle <= {kind_in[0], id_in[ID-1:0], s_axis_tdata[REST-1:0]};
    cell_index <= cell_in[CELL-1:0];
  end

  always_ff @(posedge clk) begin
    if (start) left <= count;
    else if (take) left <= left - 1'b1;
    loading <= start ? count != '0 : loading && !(take && left == 32'd1);
    valid <= take && good;
    invalid <= take && !good;
    if (rst) begin
      loading <= 1'b0;
      valid   <= 1'b0;
      invalid <= 1'b0;
    end
  end

  wire unused = &{1'b0, s_axis_tdata, id_in};
endmodule

`default_nettype wire
