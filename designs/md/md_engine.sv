// The time-step loop around the force workers: state, units, sums, motion, commands. Nothing outside takes part in a step.
//
// FORCE: md_dispatch gives units to workers; their sums on home particles come back by md_collect to a memory. MOVE: the
// particles are read one a cycle in the order of their addresses. The sums of all workers and the home sum are added up
// and meet the particle, read later for that; md_motion moves it; md_place finds its slot in the other half of the master
// memory, and all workers get the new position and count.
//
// The beats of both streams are in md_control (commands), md_load (particles) and md_answers. Worker ports are side by
// side, worker 0 lowest.
`default_nettype none

module md_engine #(
    parameter int WORKERS = 4,
    // Home particles of a unit, at most.
    parameter int FILTERS = 16,
    // Cells of the box, at least 3 a side.
    parameter int CELLS_X = 4,
    parameter int CELLS_Y = 4,
    parameter int CELLS_Z = 4,
    // Slots of a cell.
    parameter int CAPACITY = 32,
    // Kinds of particles, 1 or 2.
    parameter int KINDS = 1,
    // Mass of kind 0 by that of kind 1; 2^17 is 1.
    parameter bit [17:0] RATIO = 18'h20000,
    // Bits of a position within a cell.
    parameter int P = 24,
    // Fraction bits of a velocity, beyond those of a position.
    parameter int V = 10,
    // Bits of a velocity.
    parameter int VELOCITY = 32,
    // Bits of a sum of forces.
    parameter int SUM = 36,
    // Bits of the number of a particle that are kept, at most 24.
    parameter int ID = 24,
    // Bits of a worker's counters.
    parameter int COUNTER = 40,
    // 1: the large memories are of the larger RAM blocks of the part.
    parameter bit HUGE = 0,
    // Cycles from `sum_read` to `sum_force`.
    parameter int SUM_LATENCY = 3,
    // Derived.
    parameter int CELLS = CELLS_X * CELLS_Y * CELLS_Z,
    parameter int X = $clog2(CELLS_X),
    parameter int Y = $clog2(CELLS_Y),
    parameter int Z = $clog2(CELLS_Z),
    parameter int CELL = $clog2(CELLS),
    parameter int SLOT = $clog2(CAPACITY),
    parameter int COUNT = $clog2(CAPACITY + 1),
    parameter int ADDRESS = $clog2(CELLS * CAPACITY),
    parameter int SIZE = $clog2(FILTERS + 1),
    parameter int PARTICLE = 3 * P + 3 * VELOCITY + 48,
    parameter int BEAT = (PARTICLE > 216 ? PARTICLE + 7 : 216) / 8 * 8
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [BEAT-1:0] s_axis_tdata,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [BEAT-1:0] m_axis_tdata,
    output wire m_axis_tlast,

    output wire [WORKERS-1:0] pos_write,
    output wire [WORKERS*ADDRESS-1:0] pos_address,
    output wire [WORKERS*(3*P+1)-1:0] pos_data,
    output wire [WORKERS-1:0] count_write,
    output wire [WORKERS*CELL-1:0] count_cell,
    output wire [WORKERS*COUNT-1:0] count_value,

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

    output wire [WORKERS-1:0] sum_read,
    output wire [WORKERS*ADDRESS-1:0] sum_address,
    input wire [WORKERS*3*SUM-1:0] sum_force,

    input wire [WORKERS-1:0] idle,
    input wire [WORKERS-1:0] close,
    output wire worker_clear,
    input wire [WORKERS*COUNTER-1:0] pairs,
    input wire [WORKERS*COUNTER-1:0] candidates,
    input wire [WORKERS*COUNTER-1:0] stalled
);
  if (CELLS_X < 3 || CELLS_Y < 3 || CELLS_Z < 3) begin : g_cells
    $error("md_engine: CELLS_X, CELLS_Y and CELLS_Z must be at least 3");
  end
  if (WORKERS < 1 || WORKERS > 255) begin : g_workers
    $error("md_engine: WORKERS must be 1 to 255");
  end
  if (FILTERS < 1 || CAPACITY < 2) begin : g_filters
    $error("md_engine: FILTERS must be at least 1 and CAPACITY at least 2");
  end
  if (SUM_LATENCY < 2) begin : g_latency
    $error("md_engine: SUM_LATENCY must be at least 2");
  end

  localparam int WORDS = CELLS * CAPACITY;
  localparam int GROUP = 8;  // workers that a register of a broadcast drives
  localparam int SPREAD = WORKERS > GROUP ? 2 : 1;  // registers of a broadcast
  localparam int STATE = 3 * P + 3 * VELOCITY + ID + 1;  // bits of a particle: {kind, number, velocity, position}
  // Cycles from an address of the walk to its particle.
  localparam int READ = SPREAD + SUM_LATENCY + $clog2(WORKERS + 1);

  // ------------------------------------------------------------------------------------------------- control
  wire half, half_kick, drift, clearing, loading, forcing, moving, telling, dumping, reporting;
  wire start_load, start_force, start_move, start_dump, start_status;
  wire load_busy, dispatch_busy, walk_busy, dump_busy, status_busy, collect_busy;
  wire depart, placed, dropped, unknown, invalid, step_done;
  wire [31:0] argument;
  wire [ADDRESS-1:0] sweep;
  wire sweep_cell_valid, command_ready, load_ready;
  wire [CELL-1:0] sweep_cell;
  wire all_occupied;
  logic quiet;

  assign s_axis_tready = command_ready || load_ready;

  md_control #(
      .CELLS(CELLS),
      .WORDS(WORDS)
  ) u_control (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(command_ready),
      .s_axis_tdata(s_axis_tdata[47:0]),
      .argument(argument),
      .unknown(unknown),
      .half(half),
      .half_kick(half_kick),
      .drift(drift),
      .clearing(clearing),
      .loading(loading),
      .forcing(forcing),
      .moving(moving),
      .telling(telling),
      .dumping(dumping),
      .reporting(reporting),
      .start_load(start_load),
      .start_force(start_force),
      .start_move(start_move),
      .start_dump(start_dump),
      .start_status(start_status),
      .load_busy(load_busy),
      .dispatch_busy(dispatch_busy),
      .walk_busy(walk_busy),
      .dump_busy(dump_busy),
      .status_busy(status_busy),
      .quiet(quiet),
      .depart(depart),
      .arrive(placed || dropped),
      .all_occupied(all_occupied),
      .sweep(sweep),
      .sweep_cell_valid(sweep_cell_valid),
      .sweep_cell(sweep_cell),
      .step_done(step_done)
  );

  always_ff @(posedge clk) quiet <= idle == '1 && !collect_busy;

  // ------------------------------------------------------------------------------------------------- counts of cells
  wire [CELL-1:0] dispatch_cell, walk_cell, place_cell, placed_cell;
  wire [COUNT-1:0] read_count, place_count, placed_count;
  wire place, place_full;
  wire zero_next = sweep_cell_valid && (forcing || clearing);
  wire zero_present = sweep_cell_valid && clearing;

  md_counts #(
      .CELLS(CELLS),
      .CAPACITY(CAPACITY)
  ) u_counts (
      .clk(clk),
      .half(half),
      .read_cell(forcing ? dispatch_cell : telling ? sweep_cell : walk_cell),
      .read_count(read_count),
      .place(place),
      .place_half(half ^ moving),
      .place_cell(place_cell),
      .place_count(place_count),
      .place_full(place_full),
      .zero(half ? {zero_present, zero_next} : {zero_next, zero_present}),
      .zero_cell(sweep_cell)
  );

  // Cells of the other half that hold a particle.
  logic [CELL:0] occupied;
  always_ff @(posedge clk) begin
    if (forcing) occupied <= '0;
    else if (placed && placed_count == COUNT'(1)) occupied <= occupied + 1'b1;
  end
  assign all_occupied = occupied == (CELL + 1)'(CELLS);

  // ------------------------------------------------------------------------------------------------- force phase
  wire [3*SUM-1:0] home_sum;
  wire [ADDRESS-1:0] home_read;

  md_forces #(
      .WORKERS(WORKERS),
      .FILTERS(FILTERS),
      .CELLS_X(CELLS_X),
      .CELLS_Y(CELLS_Y),
      .CELLS_Z(CELLS_Z),
      .CAPACITY(CAPACITY),
      .SUM(SUM),
      .HUGE(HUGE)
  ) u_forces (
      .clk(clk),
      .rst(rst),
      .start(start_force),
      .dispatch_busy(dispatch_busy),
      .collect_busy(collect_busy),
      .count_cell(dispatch_cell),
      .count_value(read_count),
      .unit_valid(unit_valid),
      .unit_ready(unit_ready),
      .unit_x(unit_x),
      .unit_y(unit_y),
      .unit_z(unit_z),
      .unit_cell(unit_cell),
      .unit_first(unit_first),
      .unit_count(unit_count),
      .home_valid(home_valid),
      .home_ready(home_ready),
      .home_address(home_address),
      .home_force(home_force),
      .read_address(home_read),
      .read_force(home_sum)
  );

  // ------------------------------------------------------------------------------------------------- walk over particles
  localparam int PLACE = X + Y + Z + CELL;
  wire walk_valid, walk_ready, dump_ready;
  wire [PLACE-1:0] walk_place;
  wire [SLOT-1:0] walk_slot;
  wire walk_count;
  wire [ADDRESS-1:0] walk_address;

  assign walk_ready = moving || dump_ready;
  wire walk_take = walk_valid && moving;

  md_walk #(
      .CELLS_X(CELLS_X),
      .CELLS_Y(CELLS_Y),
      .CELLS_Z(CELLS_Z),
      .CAPACITY(CAPACITY),
      .STEP(1)
  ) u_walk (
      .clk(clk),
      .rst(rst),
      .start(start_move || start_dump),
      .busy(walk_busy),
      .count_cell(walk_cell),
      .count_value(read_count),
      .unit_valid(walk_valid),
      .unit_ready(walk_ready),
      .unit_x(walk_place[CELL+Z+Y+:X]),
      .unit_y(walk_place[CELL+Z+:Y]),
      .unit_z(walk_place[CELL+:Z]),
      .unit_cell(walk_place[CELL-1:0]),
      .unit_first(walk_slot),
      .unit_address(walk_address),
      .unit_count(walk_count)
  );

  // ------------------------------------------------------------------------------------------------- master and motion
  wire [STATE-1:0] read_particle, moved_particle, load_particle, placed_particle;
  wire [ADDRESS-1:0] placed_address;
  wire [CELL-1:0] particle_cell, moved_cell, load_cell;
  wire moved_valid, moved_fast, load_valid;

  md_move #(
      .WORKERS(WORKERS),
      .CELLS_X(CELLS_X),
      .CELLS_Y(CELLS_Y),
      .CELLS_Z(CELLS_Z),
      .CAPACITY(CAPACITY),
      .KINDS(KINDS),
      .RATIO(RATIO),
      .P(P),
      .V(V),
      .VELOCITY(VELOCITY),
      .SUM(SUM),
      .ID(ID),
      .HUGE(HUGE),
      .SUMS(SPREAD + SUM_LATENCY)
  ) u_move (
      .clk(clk),
      .half(half_kick),
      .drift(drift),
      .valid(walk_take),
      .address(walk_address),
      .place(walk_place),
      .sum_force(sum_force),
      .home_address(home_read),
      .home_force(home_sum),
      .read_half(half),
      .write(placed),
      .write_half(half ^ moving),
      .write_address(placed_address),
      .write_particle(placed_particle),
      .read_particle(read_particle),
      .read_cell(particle_cell),
      .moved_valid(moved_valid),
      .moved_cell(moved_cell),
      .moved_particle(moved_particle),
      .moved_fast(moved_fast)
  );

  logic [31:0] load_count;  // a command's argument is there only while the command is taken
  always_ff @(posedge clk) load_count <= argument;

  md_load #(
      .BEAT(BEAT),
      .P(P),
      .VELOCITY(VELOCITY),
      .ID(ID),
      .KINDS(KINDS),
      .CELLS(CELLS)
  ) u_load (
      .clk(clk),
      .rst(rst),
      .start(start_load),
      .count(load_count),
      .busy(load_busy),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(load_ready),
      .s_axis_tdata(s_axis_tdata),
      .valid(load_valid),
      .invalid(invalid),
      .cell_index(load_cell),
      .particle(load_particle)
  );

  assign depart = moving ? walk_take : load_valid;

  md_place #(
      .CELLS(CELLS),
      .CAPACITY(CAPACITY),
      .BITS(STATE)
  ) u_place (
      .clk(clk),
      .rst(rst),
      .valid(moving ? moved_valid : load_valid),
      .cell_in(moving ? moved_cell : load_cell),
      .particle(moving ? moved_particle : load_particle),
      .place(place),
      .place_cell(place_cell),
      .place_count(place_count),
      .place_full(place_full),
      .placed(placed),
      .dropped(dropped),
      .address(placed_address),
      .placed_cell(placed_cell),
      .count(placed_count),
      .placed_particle(placed_particle)
  );

  // ------------------------------------------------------------------------------------------------- to the workers
  md_bus #(
      .WORKERS(WORKERS),
      .GROUP(GROUP),
      .ADDRESS(ADDRESS),
      .DATA(3 * P + 1),
      .CELL(CELL),
      .COUNT(COUNT)
  ) u_bus (
      .clk(clk),
      .rst(rst),
      .position(placed),
      .address(placed_address),
      .data({placed_particle[STATE-1], placed_particle[3*P-1:0]}),
      .placed_cell(placed_cell),
      .placed_count(placed_count),
      .tell(sweep_cell_valid && (telling || clearing)),
      .tell_cell(sweep_cell),
      .tell_count(clearing ? {COUNT{1'b0}} : read_count),
      .read(walk_take || clearing),
      .read_address(clearing ? sweep : walk_address),
      .pos_write(pos_write),
      .pos_address(pos_address),
      .pos_data(pos_data),
      .count_write(count_write),
      .count_cell(count_cell),
      .count_value(count_value),
      .sum_read(sum_read),
      .sum_address(sum_address)
  );

  // ------------------------------------------------------------------------------------------------- answers
  wire [7:0] flags;
  wire [31:0] steps, particles, lost;
  wire [47:0] force_cycles, run_cycles;

  md_account u_account (
      .clk(clk),
      .clear(clearing),
      .forcing(forcing),
      .moving(moving || telling),
      .step_done(step_done),
      .loaded(placed && loading),
      .invalid(invalid),
      .load_dropped(dropped && loading),
      .move_dropped(dropped && moving),
      .unknown(unknown),
      .close(|close),
      .fast(moved_valid && moved_fast && moving),
      .flags(flags),
      .steps(steps),
      .force_cycles(force_cycles),
      .run_cycles(run_cycles),
      .particles(particles),
      .lost(lost)
  );
  assign worker_clear = clearing;

  md_answers #(
      .BEAT(BEAT),
      .WORKERS(WORKERS),
      .COUNTER(COUNTER),
      .LATENCY(READ),
      .PARTICLE(PARTICLE)
  ) u_answers (
      .clk(clk),
      .rst(rst),
      .start_dump(start_dump),
      .start_status(start_status),
      .dumping(dumping),
      .reporting(reporting),
      .dump_busy(dump_busy),
      .status_busy(status_busy),
      .walk_valid(walk_valid),
      .walk_ready(dump_ready),
      .particle({
        16'(particle_cell),
        24'(read_particle[STATE-2-:ID]),
        7'd0,
        read_particle[STATE-1],
        read_particle[STATE-2-ID:0]
      }),
      .particles(particles),
      .engine({lost, particles, run_cycles, force_cycles, steps, 8'(WORKERS), flags}),
      .pairs(pairs),
      .candidates(candidates),
      .stalled(stalled),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tlast(m_axis_tlast)
  );

  wire unused = &{1'b0, walk_slot, walk_count};
endmodule

`default_nettype wire
