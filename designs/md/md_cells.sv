// The 14 cells of a unit, one after the other: the home cell, then the 13 neighbours of the half shell in increasing
// (dz, dy, dx), across the periodic faces. For each: the address of its first particle, how many there are, and where it
// lies from the home cell. The home cell is given from the unit's first particle on, for only pairs with a later particle
// of it count.
//
// Cells are worked out ahead, one a cycle: 1 where the neighbour lies, 2 and 3 its number, 4 its base and its count,
// 5 the result, then a short FIFO. The next unit is taken while the cells of the last are still waiting.
`default_nettype none

module md_cells #(
    parameter int CELLS_X = 4,
    parameter int CELLS_Y = 4,
    parameter int CELLS_Z = 4,
    // Slots of a cell.
    parameter int CAPACITY = 32,
    // Particles of a unit, at most.
    parameter int FILTERS = 8,
    // Derived.
    parameter int X = $clog2(CELLS_X),
    parameter int Y = $clog2(CELLS_Y),
    parameter int Z = $clog2(CELLS_Z),
    parameter int CELL = $clog2(CELLS_X * CELLS_Y * CELLS_Z),
    parameter int SLOT = $clog2(CAPACITY),
    parameter int COUNT = $clog2(CAPACITY + 1),
    parameter int ADDRESS = $clog2(CELLS_X * CELLS_Y * CELLS_Z * CAPACITY),
    parameter int SIZE = $clog2(FILTERS + 1)
) (
    input wire clk,
    input wire rst,

    input wire count_write,
    input wire [CELL-1:0] count_cell,
    input wire [COUNT-1:0] count_value,

    input wire unit_valid,
    output wire unit_ready,
    input wire [X-1:0] unit_x,
    input wire [Y-1:0] unit_y,
    input wire [Z-1:0] unit_z,
    input wire [CELL-1:0] unit_cell,
    input wire [SLOT-1:0] unit_first,
    input wire [SIZE-1:0] unit_count,

    output wire cell_valid,
    input wire cell_ready,
    output wire [ADDRESS-1:0] cell_address,
    output wire [COUNT-1:0] cell_left,
    // cell_left is 0, is 1.
    output wire cell_empty,
    output wire cell_single,
    // {dz, dy, dx}: dz is 0 or 1, dy and dx are -1, 0 or 1 in two bits.
    output wire [4:0] cell_shift,
    output wire cell_home,
    output wire cell_last,
    // Particles of the unit.
    output wire [SIZE-1:0] cell_loads,

    output wire busy
);
  if (CELLS_X < 3 || CELLS_Y < 3 || CELLS_Z < 3) begin : g_cells
    $error("md_cells: CELLS_X, CELLS_Y and CELLS_Z must be at least 3");
  end
  if (CAPACITY < 2 || FILTERS < 1) begin : g_capacity
    $error("md_cells: CAPACITY must be at least 2 and FILTERS at least 1");
  end

  localparam int CELLS = CELLS_X * CELLS_Y * CELLS_Z;
  localparam int PLANE = CELLS_X * CELLS_Y;
  localparam logic [31:0] STRIDE = CAPACITY;

  // Adders instead of a product, which would take a DSP.
  function automatic logic [ADDRESS-1:0] base_of(input logic [CELL-1:0] index);
    base_of = '0;
    for (int b = 0; b < COUNT; b++) begin
      if (STRIDE[b]) base_of = base_of + (ADDRESS'(index) << b);
    end
  endfunction

  wire step;  // all stages move
  logic active;
  logic [X-1:0] x;
  logic [Y-1:0] y;
  logic [Z-1:0] z;
  logic [CELL-1:0] own;
  logic [SLOT-1:0] first;
  logic [SIZE-1:0] loads;
  logic [1:0] dx, dy;
  logic dz;

  wire home = {dz, dy, dx} == 5'b0;
  wire last = {dz, dy, dx} == 5'b1_01_01;
  wire take = unit_valid && unit_ready;

  assign unit_ready = !active || (last && step);

  always_ff @(posedge clk) begin
    if (take) begin
      x <= unit_x;
      y <= unit_y;
      z <= unit_z;
      own <= unit_cell;
      first <= unit_first;
      loads <= unit_count;
      {dz, dy, dx} <= 5'b0;
    end else if (step) begin
      dx <= dx == 2'b01 ? 2'b11 : dx + 2'b01;
      if (dx == 2'b01) dy <= dy == 2'b01 ? 2'b11 : dy + 2'b01;
      if (dx == 2'b01 && dy == 2'b01) dz <= 1'b1;
    end
    if (take) active <= 1'b1;
    else if (step && last) active <= 1'b0;
    if (rst) active <= 1'b0;
  end

  // Steps of the cell's number, modulo 2^CELL.
  wire at_x = dx[1] ? x == '0 : x == X'(CELLS_X - 1);
  wire at_y = dy[1] ? y == '0 : y == Y'(CELLS_Y - 1);
  wire at_z = z == Z'(CELLS_Z - 1);
  logic [CELL-1:0] step_x, step_y, step_z;

  always_comb begin
    step_x = '0;
    step_y = '0;
    step_z = '0;
    if (dx[0]) step_x = dx[1] ? (at_x ? CELL'(CELLS_X - 1) : CELL'(-1)) : (at_x ? CELL'(1 - CELLS_X) : CELL'(1));
    if (dy[0]) begin
      step_y = dy[1] ? CELL'(-CELLS_X) : CELL'(CELLS_X);
      if (at_y) step_y = dy[1] ? CELL'(PLANE - CELLS_X) : CELL'(CELLS_X - PLANE);
    end
    if (dz) step_z = at_z ? CELL'(PLANE - CELLS) : CELL'(PLANE);
  end

  (* ram_style = "distributed" *) logic [COUNT-1:0] counts[CELLS];
  always_ff @(posedge clk) if (count_write) counts[count_cell] <= count_value;

  logic valid1, valid2, valid3, valid4;
  logic [CELL-1:0] row1, plane1, cell2;
  logic [ADDRESS-1:0] base3, address4;
  logic [COUNT-1:0] count3, left4;
  logic [SLOT-1:0] first1, first2, first3;
  logic [SIZE-1:0] loads1, loads2, loads3, loads4;
  logic [4:0] shift1, shift2, shift3, shift4;

  always_ff @(posedge clk) begin
    if (step) begin
      row1 <= own + step_x;
      plane1 <= step_y + step_z;
      first1 <= home ? first : '0;
      loads1 <= loads;
      shift1 <= {dz, dy, dx};

      cell2 <= row1 + plane1;
      first2 <= first1;
      loads2 <= loads1;
      shift2 <= shift1;

      base3 <= base_of(cell2);
      count3 <= counts[cell2];
      first3 <= first2;
      loads3 <= loads2;
      shift3 <= shift2;

      address4 <= base3 + ADDRESS'(first3);
      left4 <= count3 - COUNT'(first3);
      loads4 <= loads3;
      shift4 <= shift3;

      valid1 <= active;
      valid2 <= valid1;
      valid3 <= valid2;
      valid4 <= valid3;
    end
    if (rst) begin
      valid1 <= 1'b0;
      valid2 <= 1'b0;
      valid3 <= 1'b0;
      valid4 <= 1'b0;
    end
  end

  wire unused_last;

  stream_fifo #(
      .WIDTH(ADDRESS + COUNT + SIZE + 9),
      .DEPTH(4)
  ) u_fifo (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(valid4),
      .s_axis_tready(step),
      .s_axis_tdata({
        address4,
        left4,
        left4 == COUNT'(0),
        left4 == COUNT'(1),
        shift4,
        shift4 == 5'b0,
        shift4 == 5'b1_01_01,
        loads4
      }),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(cell_valid),
      .m_axis_tready(cell_ready),
      .m_axis_tdata({
        cell_address, cell_left, cell_empty, cell_single, cell_shift, cell_home, cell_last, cell_loads
      }),
      .m_axis_tlast(unused_last)
  );

  // A FIFO with words always shows one.
  assign busy = active || valid1 || valid2 || valid3 || valid4 || cell_valid;
  wire unused = &{1'b0, unused_last};
endmodule

`default_nettype wire
