// The force phase: units go to the workers, and their sums on home particles come back to a memory.
`default_nettype none

module md_forces #(
    parameter int WORKERS = 4,
    // As in md_dispatch.
    parameter int FILTERS = 16,
    parameter int CELLS_X = 4,
    parameter int CELLS_Y = 4,
    parameter int CELLS_Z = 4,
    parameter int CAPACITY = 32,
    // Bits of a sum of forces.
    parameter int SUM = 36,
    // As in md_memory.
    parameter bit HUGE = 0,
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

    input wire start,
    // Units are left to give, or sums on their way.
    output wire dispatch_busy,
    output wire collect_busy,

    output wire [ CELL-1:0] count_cell,
    input  wire [COUNT-1:0] count_value,

    output wire [WORKERS-1:0] unit_valid,
    input wire [WORKERS-1:0] unit_ready,
    output wire [X-1:0] unit_x,
    output wire [Y-1:0] unit_y,
    output wire [Z-1:0] unit_z,
    output wire [CELL-1:0] unit_cell,
    output wire [SLOT-1:0] unit_first,
    output wire [SIZE-1:0] unit_count,

    input wire [WORKERS-1:0] home_valid,
    output wire [WORKERS-1:0] home_ready,
    input wire [WORKERS*ADDRESS-1:0] home_address,
    input wire [WORKERS*3*SUM-1:0] home_force,

    // Answered after two cycles.
    input wire [ADDRESS-1:0] read_address,
    output wire [3*SUM-1:0] read_force
);
  localparam int HOME = ADDRESS + 3 * SUM;
  wire [WORKERS*HOME-1:0] words;
  wire [HOME-1:0] word;
  wire write;

  md_dispatch #(
      .WORKERS(WORKERS),
      .FILTERS(FILTERS),
      .CELLS_X(CELLS_X),
      .CELLS_Y(CELLS_Y),
      .CELLS_Z(CELLS_Z),
      .CAPACITY(CAPACITY)
  ) u_dispatch (
      .clk(clk),
      .rst(rst),
      .start(start),
      .busy(dispatch_busy),
      .count_cell(count_cell),
      .count_value(count_value),
      .unit_valid(unit_valid),
      .unit_ready(unit_ready),
      .unit_x(unit_x),
      .unit_y(unit_y),
      .unit_z(unit_z),
      .unit_cell(unit_cell),
      .unit_first(unit_first),
      .unit_count(unit_count)
  );

  for (genvar w = 0; w < WORKERS; w++) begin : g_home
    assign words[w*HOME+:HOME] = {home_address[w*ADDRESS+:ADDRESS], home_force[w*3*SUM+:3*SUM]};
  end

  md_collect #(
      .WORKERS(WORKERS),
      .BITS(HOME)
  ) u_collect (
      .clk(clk),
      .rst(rst),
      .s_valid(home_valid),
      .s_ready(home_ready),
      .s_data(words),
      .m_valid(write),
      .m_data(word),
      .busy(collect_busy)
  );

  md_memory #(
      .WORDS(CELLS_X * CELLS_Y * CELLS_Z * CAPACITY),
      .BITS (3 * SUM),
      .HUGE (HUGE)
  ) u_home (
      .clk(clk),
      .write(write),
      .write_address(word[3*SUM+:ADDRESS]),
      .write_data(word[3*SUM-1:0]),
      .read_address(read_address),
      .read_data(read_force)
  );
endmodule

`default_nettype wire
