// Gives units, of at most FILTERS home particles, to workers that are ready, in turn: a worker that takes a unit ahead
// does not get it before one that has none. All workers see the same unit; `unit_valid` tells which one it is for. A unit
// takes three cycles to give away, and a worker many times that to do.
`default_nettype none

module md_dispatch #(
    parameter int WORKERS = 4,
    // Home particles of a unit, at most.
    parameter int FILTERS = 8,
    parameter int CELLS_X = 4,
    parameter int CELLS_Y = 4,
    parameter int CELLS_Z = 4,
    // Slots of a cell.
    parameter int CAPACITY = 32,
    // Derived.
    parameter int X = $clog2(CELLS_X),
    parameter int Y = $clog2(CELLS_Y),
    parameter int Z = $clog2(CELLS_Z),
    parameter int CELL = $clog2(CELLS_X * CELLS_Y * CELLS_Z),
    parameter int SLOT = $clog2(CAPACITY),
    parameter int COUNT = $clog2(CAPACITY + 1),
    parameter int SIZE = $clog2(FILTERS + 1)
) (
    input wire clk,
    input wire rst,

    input wire start,
    // From `start` until a worker has taken the last unit.
    output logic busy,

    // Particles of a cell, read within the cycle.
    output wire [ CELL-1:0] count_cell,
    input  wire [COUNT-1:0] count_value,

    output logic [WORKERS-1:0] unit_valid,
    input wire [WORKERS-1:0] unit_ready,
    output logic [X-1:0] unit_x,
    output logic [Y-1:0] unit_y,
    output logic [Z-1:0] unit_z,
    output logic [CELL-1:0] unit_cell,
    output logic [SLOT-1:0] unit_first,
    output logic [SIZE-1:0] unit_count
);
  localparam int UNIT = X + Y + Z + CELL + SLOT + SIZE;
  localparam int ADDRESS = $clog2(CELLS_X * CELLS_Y * CELLS_Z * CAPACITY);

  wire walking, walk_valid;
  wire [UNIT-1:0] walk_unit;
  wire [ADDRESS-1:0] walk_address;

  wire offered = unit_valid != '0;
  wire taken = (unit_valid & unit_ready) != '0;
  // Workers are far away: who is ready is looked at a cycle later, and not in the cycle after one has taken a unit.
  logic [WORKERS-1:0] ready;
  logic old;
  // The lowest of those that are ready, above the last one that got a unit where there is one.
  logic [WORKERS-1:0] above;
  wire [WORKERS-1:0] behind = ready & above;
  wire [WORKERS-1:0] asking = behind != '0 ? behind : ready;
  wire [WORKERS-1:0] chosen = asking & (~asking + WORKERS'(1));
  wire give = walk_valid && !offered && !old && ready != '0;

  md_walk #(
      .CELLS_X(CELLS_X),
      .CELLS_Y(CELLS_Y),
      .CELLS_Z(CELLS_Z),
      .CAPACITY(CAPACITY),
      .STEP(FILTERS)
  ) u_walk (
      .clk(clk),
      .rst(rst),
      .start(start),
      .busy(walking),
      .count_cell(count_cell),
      .count_value(count_value),
      .unit_valid(walk_valid),
      .unit_ready(give),
      .unit_x(walk_unit[UNIT-1-:X]),
      .unit_y(walk_unit[UNIT-1-X-:Y]),
      .unit_z(walk_unit[UNIT-1-X-Y-:Z]),
      .unit_cell(walk_unit[SIZE+SLOT+:CELL]),
      .unit_first(walk_unit[SIZE+:SLOT]),
      .unit_address(walk_address),
      .unit_count(walk_unit[SIZE-1:0])
  );

  always_ff @(posedge clk) begin
    if (give) {unit_x, unit_y, unit_z, unit_cell, unit_first, unit_count} <= walk_unit;
    ready <= unit_ready;
    old   <= taken;
    if (give) above <= ~(chosen | (chosen - WORKERS'(1)));
    if (give || taken) unit_valid <= give ? chosen : '0;
    if (rst) begin
      above <= '0;
      unit_valid <= '0;
    end
  end

  assign busy = walking || offered;
  wire unused = &{1'b0, walk_address};
endmodule

`default_nettype wire
