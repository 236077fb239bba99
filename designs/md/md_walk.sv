// Walks the occupied slots of all cells in order, up to STEP at a time: a unit. The particles of a cell are spread
// evenly over its units: 13 of STEP 8 are 7 and 6, because a unit costs as much for one particle as for a few.
// A unit a cycle where cells are not empty; an empty cell costs a cycle only where there is no unit to hide it behind.
`default_nettype none

module md_walk #(
    parameter int CELLS_X = 4,
    parameter int CELLS_Y = 4,
    parameter int CELLS_Z = 4,
    // Slots of a cell.
    parameter int CAPACITY = 32,
    // Particles of a unit, at most.
    parameter int STEP = 1,
    // Derived.
    parameter int CELLS = CELLS_X * CELLS_Y * CELLS_Z,
    parameter int X = $clog2(CELLS_X),
    parameter int Y = $clog2(CELLS_Y),
    parameter int Z = $clog2(CELLS_Z),
    parameter int CELL = $clog2(CELLS),
    parameter int SLOT = $clog2(CAPACITY),
    parameter int COUNT = $clog2(CAPACITY + 1),
    parameter int ADDRESS = $clog2(CELLS * CAPACITY),
    parameter int SIZE = $clog2(STEP + 1)
) (
    input wire clk,
    input wire rst,

    input wire start,
    // From `start` until the last unit is taken.
    output logic busy,

    // Particles of a cell, read within the cycle.
    output wire [ CELL-1:0] count_cell,
    input  wire [COUNT-1:0] count_value,

    output wire unit_valid,
    input wire unit_ready,
    output wire [X-1:0] unit_x,
    output wire [Y-1:0] unit_y,
    output wire [Z-1:0] unit_z,
    output wire [CELL-1:0] unit_cell,
    // First slot, its address, and the number of particles.
    output wire [SLOT-1:0] unit_first,
    output wire [ADDRESS-1:0] unit_address,
    output wire [SIZE-1:0] unit_count
);
  if (STEP < 1) begin : g_step
    $error("md_walk: STEP must be at least 1");
  end

  localparam int PLACE = X + Y + Z + CELL;

  // Particles of a unit, by the particles of the cell.
  wire [(CAPACITY+1)*SIZE-1:0] sizes;
  for (genvar n = 0; n <= CAPACITY; n++) begin : g_size
    localparam int UNITS = n == 0 ? 1 : (n + STEP - 1) / STEP;
    assign sizes[n*SIZE+:SIZE] = SIZE'((n + UNITS - 1) / UNITS);
  end

  // The next cell to look at.
  logic [X-1:0] x;
  logic [Y-1:0] y;
  logic [Z-1:0] z;
  logic [CELL-1:0] cell_index;
  logic [ADDRESS-1:0] base;
  logic looking;

  // A cell that is not empty, waiting.
  logic [PLACE-1:0] wait_place;
  logic [ADDRESS-1:0] wait_base;
  logic [COUNT-1:0] wait_count;
  logic waiting;
  wire [SIZE-1:0] wait_size = sizes[wait_count*SIZE+:SIZE];

  // The cell whose units go out.
  logic [PLACE-1:0] place;
  logic [ADDRESS-1:0] address;
  logic [SLOT-1:0] slot;
  logic [COUNT-1:0] left;
  logic [SIZE-1:0] size, count;
  logic valid;

  localparam bit [X-1:0] LAST_X = X'(CELLS_X - 1);
  localparam bit [Y-1:0] LAST_Y = Y'(CELLS_Y - 1);
  localparam bit [CELL-1:0] LAST_CELL = CELL'(CELLS - 1);

  wire take = valid && unit_ready;
  wire last = left == COUNT'(count);
  wire free = !valid || (take && last);
  wire look = looking && (!waiting || free);
  wire [COUNT-1:0] left_next = left - COUNT'(count);

  assign count_cell = cell_index;
  assign unit_valid = valid;
  assign {unit_x, unit_y, unit_z, unit_cell} = place;
  assign unit_first = slot;
  assign unit_address = address;
  assign unit_count = count;

  always_ff @(posedge clk) begin
    if (look) begin
      x <= x == LAST_X ? '0 : x + 1'b1;
      if (x == LAST_X) y <= y == LAST_Y ? '0 : y + 1'b1;
      if (x == LAST_X && y == LAST_Y) z <= z + 1'b1;
      cell_index <= cell_index + 1'b1;
      base <= base + ADDRESS'(CAPACITY);
      wait_place <= {x, y, z, cell_index};
      wait_base <= base;
      wait_count <= count_value;
    end
    if (start) begin
      x <= '0;
      y <= '0;
      z <= '0;
      cell_index <= '0;
      base <= '0;
    end

    if (free) begin
      place <= wait_place;
      address <= wait_base;
      slot <= '0;
      left <= wait_count;
      size <= wait_size;
      count <= wait_size;
    end else if (take) begin
      address <= address + ADDRESS'(count);
      slot <= slot + SLOT'(count);
      left <= left_next;
      count <= left_next < COUNT'(size) ? SIZE'(left_next) : size;
    end
  end

  always_ff @(posedge clk) begin
    if (look) waiting <= count_value != '0;
    else if (free) waiting <= 1'b0;
    if (free) valid <= waiting;
    looking <= start || (looking && !(look && cell_index == LAST_CELL));
    if (rst) begin
      looking <= 1'b0;
      waiting <= 1'b0;
      valid   <= 1'b0;
    end
  end

  assign busy = looking || waiting || valid;
endmodule

`default_nettype wire
