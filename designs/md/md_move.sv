// The particles, and their way through a step: an address goes to all memories at such times that the sums of all workers,
// the home sum and the particle itself meet; then md_motion moves it. One particle a cycle.
//
// A particle is {kind, number, velocity, position}; the master memory keeps its kind only where there are two.
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
    // 1: as in md_memory.
    parameter bit HUGE = 0,
    // Cycles from an address to the sums of the workers, at least 2.
    parameter int SUMS = 4,
    // Derived.
    parameter int X = $clog2(CELLS_X),
    parameter int Y = $clog2(CELLS_Y),
    parameter int Z = $clog2(CELLS_Z),
    parameter int CELL = $clog2(CELLS_X * CELLS_Y * CELLS_Z),
    parameter int ADDRESS = $clog2(CELLS_X * CELLS_Y * CELLS_Z * CAPACITY),
    parameter int PLACE = X + Y + Z + CELL,
    parameter int PARTICLE = 3 * P + 3 * VELOCITY + ID + 1,
    parameter int MEET = SUMS + $clog2(WORKERS + 1)
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

    // The master memory: a half is read, a half is written.
    input wire read_half,
    input wire write,
    input wire write_half,
    input wire [ADDRESS-1:0] write_address,
    input wire [PARTICLE-1:0] write_particle,

    // The particle of an address as it was, MEET cycles later, and its cell.
    output wire [PARTICLE-1:0] read_particle,
    output wire [CELL-1:0] read_cell,
    // The particle as it is then.
    output wire moved_valid,
    output wire [CELL-1:0] moved_cell,
    output wire [PARTICLE-1:0] moved_particle,
    output wire moved_fast
);
  localparam int TREE = $clog2(WORKERS + 1);
  localparam int KEPT = KINDS > 1 ? PARTICLE : PARTICLE - 1;  // bits in the master memory

  wire met_valid, kind, moved_kind;
  wire [ID-1:0] id, moved_id;
  wire [3*VELOCITY-1:0] velocity, moved_velocity;
  wire [3*P-1:0] position, moved_position;
  wire [KEPT-1:0] kept;
  wire [ADDRESS-1:0] master_address;
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
      .out({met_valid, x, y, z, read_cell})
  );

  md_master #(
      .WORDS(CELLS_X * CELLS_Y * CELLS_Z * CAPACITY),
      .BITS (KEPT),
      .HUGE (HUGE)
  ) u_particles (
      .clk(clk),
      .write(write),
      .write_half(write_half),
      .write_address(write_address),
      .write_data(write_particle[KEPT-1:0]),
      .read_half(read_half),
      .read_address(master_address),
      .read_data(kept)
  );

  if (KINDS > 1) begin : g_kind
    assign read_particle = kept;
  end else begin : g_one_kind
    assign read_particle = {1'b0, kept};
    wire unused = write_particle[PARTICLE-1];
  end
  assign {kind, id, velocity, position} = read_particle;
  assign moved_particle = {moved_kind, moved_id, moved_velocity, moved_position};

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
      .along({met_valid, kind, id}),
      .new_along({moved_valid, moved_kind, moved_id}),
      .force_in(total),
      .velocity(velocity),
      .position(position),
      .kind(kind),
      .x(x),
      .y(y),
      .z(z),
      .cell_in(read_cell),
      .new_velocity(moved_velocity),
      .new_position(moved_position),
      .new_cell(moved_cell),
      .fast(moved_fast)
  );
endmodule

`default_nettype wire
