// The way of a particle through a step: its address goes to all memories at such times that the sums of all workers, the
// home sum and the particle itself meet; then md_motion moves it. One particle a cycle.
`default_nettype none

module md_move #(
    parameter int WORKERS = 4,
    parameter int CELLS_X = 4,
    parameter int CELLS_Y = 4,
    parameter int CELLS_Z = 4,
    // Slots of a cell.
    parameter int CAPACITY = 32,
    // As in md_motion.
    parameter int KINDS = 1,
    parameter bit [17:0] RATIO = 18'h20000,
    parameter int P = 24,
    parameter int V = 10,
    parameter int VELOCITY = 32,
    parameter int SUM = 36,
    // Bits of the number of a particle.
    parameter int ID = 24,
    // Cycles from an address to the sums of the workers, at least 2.
    parameter int SUMS = 4,
    // Derived.
    parameter int X = $clog2(CELLS_X),
    parameter int Y = $clog2(CELLS_Y),
    parameter int Z = $clog2(CELLS_Z),
    parameter int CELL = $clog2(CELLS_X * CELLS_Y * CELLS_Z),
    parameter int ADDRESS = $clog2(CELLS_X * CELLS_Y * CELLS_Z * CAPACITY),
    parameter int PLACE = X + Y + Z + CELL
) (
    input wire clk,
    input wire half,
    input wire drift,

    input wire valid,
    input wire [ADDRESS-1:0] address,
    // {x, y, z, cell}
    input wire [PLACE-1:0] place,
    // {z, y, x} of each worker, SUMS cycles after the address.
    input wire [WORKERS*3*SUM-1:0] sum_force,
    // Answered after two cycles.
    output wire [ADDRESS-1:0] home_address,
    input wire [3*SUM-1:0] home_force,
    // Answered after three cycles.
    output wire [ADDRESS-1:0] master_address,
    input wire [ID-1:0] master_id,
    input wire master_kind,
    input wire [3*VELOCITY-1:0] master_velocity,
    input wire [3*P-1:0] master_position,
    // Of the particle that is read.
    output wire [CELL-1:0] master_cell,

    output wire moved_valid,
    output wire [CELL-1:0] moved_cell,
    output wire [ID-1:0] moved_id,
    output wire moved_kind,
    output wire [3*VELOCITY-1:0] moved_velocity,
    output wire [3*P-1:0] moved_position,
    output wire moved_fast
);
  localparam int TREE = $clog2(WORKERS + 1);
  localparam int MEET = SUMS + TREE;

  wire met_valid;
  wire [X-1:0] x;
  wire [Y-1:0] y;
  wire [Z-1:0] z;
  wire [3*SUM-1:0] total;

  delay #(
      .WIDTH (ADDRESS),
      .STAGES(SUMS - 2)
  ) u_home (
      .clk(clk),
      .in (address),
      .out(home_address)
  );

  delay #(
      .WIDTH (ADDRESS),
      .STAGES(MEET - 3 - (SUMS - 2))
  ) u_master (
      .clk(clk),
      .in (home_address),
      .out(master_address)
  );

  delay #(
      .WIDTH (1 + PLACE),
      .STAGES(MEET)
  ) u_met (
      .clk(clk),
      .in ({valid, place}),
      .out({met_valid, x, y, z, master_cell})
  );

  for (genvar d = 0; d < 3; d++) begin : g_total
    wire [(WORKERS+1)*SUM-1:0] parts;
    assign parts[WORKERS*SUM+:SUM] = home_force[d*SUM+:SUM];
    for (genvar w = 0; w < WORKERS; w++) begin : g_part
      assign parts[w*SUM+:SUM] = sum_force[(w*3+d)*SUM+:SUM];
    end

    // Sums wrap: the bits above SUM fall away, those of the tree's adders too.
    adder_tree #(
        .COUNT(WORKERS + 1),
        .BITS(SUM),
        .SIGNED(0),
        .LATENCY(TREE),
        .OUT_BITS(SUM)
    ) u_tree (
        .clk (clk),
        .data(parts),
        .sum (total[d*SUM+:SUM])
    );
  end

  md_motion #(
      .CELLS_X(CELLS_X),
      .CELLS_Y(CELLS_Y),
      .CELLS_Z(CELLS_Z),
      .KINDS(KINDS),
      .RATIO(RATIO),
      .P(P),
      .V(V),
      .VELOCITY(VELOCITY),
      .SUM(SUM),
      .ALONG(ID + 2)
  ) u_motion (
      .clk(clk),
      .half(half),
      .drift(drift),
      .along({met_valid, master_kind, master_id}),
      .new_along({moved_valid, moved_kind, moved_id}),
      .force_in(total),
      .velocity(master_velocity),
      .position(master_position),
      .kind(master_kind),
      .x(x),
      .y(y),
      .z(z),
      .cell_in(master_cell),
      .new_velocity(moved_velocity),
      .new_position(moved_position),
      .new_cell(moved_cell),
      .fast(moved_fast)
  );
endmodule

`default_nettype wire
