// A force worker: one force pipeline with the filters that feed it and memories of its own: the positions of all
// particles, the counts of all cells, and its sums of forces on neighbours.
//
// A unit is some particles of one cell, at most FILTERS, from slot `unit_first` on. The worker finds all their pairs within
// the cutoff with later particles of that cell and with those of the 13 neighbour cells of the half shell, and the force
// of each. The sum of the forces on a home particle goes out once (`home_*`); what is the opposite, on the particles that
// passed by, stays in `sum_*` until the motion reads it.
//
//   md_cells      the 14 cells of a unit: where, how many particles
//   md_stream     their particles, one a cycle; the unit's own become home particles on the way
//   md_filters    coarse test of each against all home particles; nothing within the cutoff is lost
//   md_queue      particles that some filter let pass, with the mask of those; out comes a pair a cycle
//   md_homes      whole positions of the home particles
//   md_pairs      exact distance and test, table, force
//   md_home_sums, md_neighbour_sums   the force on both
//
// A unit costs about as many cycles as the larger of its candidates and its pairs. Units overlap: the stream of one runs
// while pairs of the one before are queued.
//
// Kept apart in synthesis: workers are equal, and are mapped once.
//
// The sums start unknown, and so do counts and positions: after a reset the engine reads all sums once and writes all
// counts. Positions and counts are written, and sums read, only while `idle`.
`default_nettype none

(* keep_hierarchy *)
module md_worker #(
    // Bits of a position in its cell.
    parameter int P = 24,
    // Table: bits of a bin's number, segments, bits of the place in a bin, bits of c0 and of c1 (signed).
    parameter int B = 8,
    parameter int S = 4,
    parameter int D = 14,
    parameter int VALUE = 32,
    parameter int SLOPE = 27,
    // Bits of a sum of forces in one dimension.
    parameter int SUM = 36,
    // Terms of the force law, 1 to 3; kinds of particles, 1 or 2.
    parameter int TERMS = 2,
    parameter int KINDS = 1,
    // Squares of the cutoff, at most 2^2P, and of the distance that is too close.
    parameter logic [63:0] RC2 = 64'd277027000000000,
    parameter logic [63:0] RMIN2 = 64'd20000000000000,
    // Cells of the box, at least 3 each; slots of a cell, at least 2.
    parameter int CELLS_X = 4,
    parameter int CELLS_Y = 4,
    parameter int CELLS_Z = 4,
    parameter int CAPACITY = 32,
    // Filters, and bits of a position that they look at.
    parameter int FILTERS = 8,
    parameter int FILTER_BITS = 9,
    // Words of the queue, a power of two.
    parameter int QUEUE = 512,
    // Whether positions and sums on neighbours are to lie in UltraRAM, where there is one.
    parameter bit HUGE = 0,
    // Multipliers as an ECP5 has them (md_multiply); long delay lines in distributed RAM (md_delay).
    parameter bit ECP5 = 0,
    parameter bit RINGS = 0,
    // Memory images, as in md_terms.
    parameter TABLE_0 = "",
    parameter TABLE_1 = "",
    parameter TABLE_2 = "",
    parameter COEFS = "",
    // Derived.
    parameter int CELLS = CELLS_X * CELLS_Y * CELLS_Z,
    parameter int X = $clog2(CELLS_X),
    parameter int Y = $clog2(CELLS_Y),
    parameter int Z = $clog2(CELLS_Z),
    parameter int CELL = $clog2(CELLS),
    parameter int SLOT = $clog2(CAPACITY),
    parameter int COUNT = $clog2(CAPACITY + 1),
    parameter int ADDRESS = $clog2(CELLS * CAPACITY),
    parameter int SIZE = $clog2(FILTERS + 1)
) (
    input wire clk,
    input wire rst,

    input wire pos_write,
    input wire [ADDRESS-1:0] pos_address,
    // {kind, z, y, x}
    input wire [3*P:0] pos_data,
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

    // {z, y, x}
    output wire home_valid,
    input wire home_ready,
    output wire [ADDRESS-1:0] home_address,
    output wire [3*SUM-1:0] home_force,

    // sum_force comes three cycles after sum_read.
    input wire sum_read,
    input wire [ADDRESS-1:0] sum_address,
    output wire [3*SUM-1:0] sum_force,

    output logic idle,
    // A pulse for each pair closer than RMIN2.
    output wire close,

    // Pairs within the cutoff, pairs that the filters tested, cycles in which the stream waited for the queue.
    input wire clear,
    output logic [39:0] pairs,
    output logic [39:0] candidates,
    output logic [39:0] stalled
);
  localparam int INDEX = FILTERS > 1 ? $clog2(FILTERS) : 1;
  localparam int KIND = KINDS > 1 ? 1 : 0;
  localparam int PARTICLE = 3 * P + KIND;

  // What the engine writes is registered: it goes to all workers.
  logic write_position, write_count;
  logic [ADDRESS-1:0] write_address;
  logic [PARTICLE-1:0] write_data;
  logic [CELL-1:0] write_cell;
  logic [COUNT-1:0] write_value;

  always_ff @(posedge clk) begin
    write_position <= pos_write;
    write_address <= pos_address;
    write_data <= pos_data[PARTICLE-1:0];
    write_count <= count_write;
    write_cell <= count_cell;
    write_value <= count_value;
  end
  if (KIND == 0) begin : g_one_kind
    wire unused = &{1'b0, pos_data[3*P]};
  end

  // After a reset the lines without one hold unknown bits: until they have run out nothing is believed or begun.
  logic [5:0] warming;
  wire warm = warming == '0;
  always_ff @(posedge clk) begin
    if (!warm) warming <= warming - 1'b1;
    if (rst) warming <= '1;
  end

  wire cell_valid, cell_ready, cell_home, cell_last, cell_empty, cell_single, cells_busy;
  wire [ADDRESS-1:0] cell_address;
  wire [COUNT-1:0] cell_left;
  wire [4:0] cell_shift;
  wire [SIZE-1:0] cell_loads;

  md_cells #(
      .CELLS_X(CELLS_X),
      .CELLS_Y(CELLS_Y),
      .CELLS_Z(CELLS_Z),
      .CAPACITY(CAPACITY),
      .FILTERS(FILTERS)
  ) u_cells (
      .clk(clk),
      .rst(rst),
      .count_write(write_count),
      .count_cell(write_cell),
      .count_value(write_value),
      .unit_valid(unit_valid),
      .unit_ready(unit_ready),
      .unit_x(unit_x),
      .unit_y(unit_y),
      .unit_z(unit_z),
      .unit_cell(unit_cell),
      .unit_first(unit_first),
      .unit_count(unit_count),
      .cell_valid(cell_valid),
      .cell_ready(cell_ready),
      .cell_address(cell_address),
      .cell_left(cell_left),
      .cell_empty(cell_empty),
      .cell_single(cell_single),
      .cell_shift(cell_shift),
      .cell_home(cell_home),
      .cell_last(cell_last),
      .cell_loads(cell_loads),
      .busy(cells_busy)
  );

  wire room, sums_ready;
  logic may;
  always_ff @(posedge clk) may <= room && sums_ready && warm && !rst;

  // The stream, at the address of the position memory; two cycles later the position is there.
  wire waits, begin_valid, begin_set;
  wire [1:0] freed, held;
  wire [ADDRESS-1:0] begin_address;
  wire [SIZE-1:0] begin_count, met;
  wire stream_valid, stream_real, stream_last, stream_set;
  wire [ADDRESS-1:0] stream_address;
  wire [4:0] stream_shift;
  wire [FILTERS-1:0] stream_meets, stream_load;

  md_stream #(
      .FILTERS(FILTERS),
      .ADDRESS(ADDRESS),
      .COUNT(COUNT)
  ) u_stream (
      .clk(clk),
      .rst(rst),
      .cell_valid(cell_valid),
      .cell_ready(cell_ready),
      .cell_address(cell_address),
      .cell_left(cell_left),
      .cell_empty(cell_empty),
      .cell_single(cell_single),
      .cell_shift(cell_shift),
      .cell_home(cell_home),
      .cell_last(cell_last),
      .cell_loads(cell_loads),
      .room(may),
      .freed(freed),
      .held(held),
      .begin_valid(begin_valid),
      .begin_set(begin_set),
      .begin_address(begin_address),
      .begin_count(begin_count),
      .valid(stream_valid),
      .real_particle(stream_real),
      .last(stream_last),
      .set(stream_set),
      .address(stream_address),
      .shift(stream_shift),
      .meets(stream_meets),
      .met(met),
      .load(stream_load),
      .waits(waits)
  );

  wire [PARTICLE-1:0] particle;

  md_memory #(
      .WORDS(CELLS * CAPACITY),
      .BITS (PARTICLE),
      .HUGE (HUGE)
  ) u_positions (
      .clk(clk),
      .write(write_position),
      .write_address(write_address),
      .write_data(write_data),
      .read_address(stream_address),
      .read_data(particle)
  );

  wire late_valid, late_last, late_set;
  wire [ADDRESS-1:0] late_address;
  wire [4:0] late_shift;
  wire [FILTERS-1:0] late_meets, late_load;

  delay #(
      .WIDTH (2 * FILTERS + 8 + ADDRESS),
      .STAGES(2)
  ) u_read (
      .clk(clk),
      .in({
        stream_valid,
        stream_last,
        stream_set,
        stream_address,
        stream_shift,
        stream_real ? stream_meets : FILTERS'(0),
        stream_load
      }),
      .out({late_valid, late_last, late_set, late_address, late_shift, late_meets, late_load})
  );

  // Filters and queue. What goes into the queue: a particle, its shift, address, and the set of its unit.
  localparam int DATA = PARTICLE + 5 + ADDRESS + 1;
  wire [FILTERS-1:0] mask;
  wire filtered_valid, filtered_last;
  wire [DATA-1:0] filtered;

  md_filters #(
      .FILTERS(FILTERS),
      .P(P),
      .BITS(FILTER_BITS),
      .RC2(RC2),
      .INFO(DATA + 2),
      .RINGS(RINGS)
  ) u_filters (
      .clk(clk),
      .particle(particle[3*P-1:0]),
      .shift(late_shift),
      .load(late_load),
      .meets(late_meets),
      .info({late_valid, late_last, late_set, late_address, late_shift, particle}),
      .mask(mask),
      .info_out({filtered_valid, filtered_last, filtered})
  );

  logic push, push_last;
  logic [FILTERS-1:0] push_mask;
  logic [DATA-1:0] push_data;

  always_ff @(posedge clk) begin
    push <= filtered_valid && (filtered_last || mask != '0);
    push_last <= filtered_last;
    push_mask <= mask;
    push_data <= filtered;
  end

  wire issued, issued_last;
  wire [INDEX-1:0] issued_index;
  wire [DATA-1:0] issued_data;

  // On their way when `room` falls: at most 12 words. The stream's register, memory 2, filters 5, the push, the count,
  // `room` and `may`.
  md_queue #(
      .FILTERS(FILTERS),
      .DATA(DATA),
      .WORDS(QUEUE),
      .MARGIN(16)
  ) u_queue (
      .clk(clk),
      .rst(rst),
      .push(push && warm),
      .push_mask(push_mask),
      .push_last(push_last),
      .push_data(push_data),
      .room(room),
      .pair_valid(issued),
      .pair_index(issued_index),
      .pair_last(issued_last),
      .pair_data(issued_data)
  );

  // The pair's home particle, a cycle later.
  wire [PARTICLE-1:0] here, there;
  wire [4:0] shift;
  wire pair_valid, pair_last, pair_set;
  wire [INDEX-1:0] pair_index;
  wire [ADDRESS-1:0] pair_address;

  md_homes #(
      .FILTERS(FILTERS),
      .BITS(PARTICLE)
  ) u_homes (
      .clk(clk),
      .load(late_load),
      .load_set(late_set),
      .particle(particle),
      .read_set(issued_data[DATA-1]),
      .read_index(issued_index),
      .read_data(here)
  );

  delay #(
      .WIDTH (DATA + INDEX + 2),
      .STAGES(1)
  ) u_issue (
      .clk(clk),
      .in ({issued, issued_last, issued_index, issued_data}),
      .out({pair_valid, pair_last, pair_index, pair_set, pair_address, shift, there})
  );

  wire [1:0] kinds;
  if (KIND == 1) begin : g_kinds
    assign kinds = {here[3*P], there[3*P]};
  end else begin : g_no_kinds
    assign kinds = '0;
  end

  wire force_valid, force_last, force_set, counts;
  wire [INDEX-1:0] force_index;
  wire [ADDRESS-1:0] force_address;
  wire [3*SUM-1:0] pair_force;

  md_pairs #(
      .P(P),
      .B(B),
      .S(S),
      .D(D),
      .VALUE(VALUE),
      .SLOPE(SLOPE),
      .SUM(SUM),
      .TERMS(TERMS),
      .KINDS(KINDS),
      .RC2(RC2),
      .RMIN2(RMIN2),
      .TABLE_0(TABLE_0),
      .TABLE_1(TABLE_1),
      .TABLE_2(TABLE_2),
      .COEFS(COEFS),
      .ECP5(ECP5),
      .RINGS(RINGS),
      .TAG(INDEX + ADDRESS + 2)
  ) u_pairs (
      .clk(clk),
      .rst(rst),
      .valid(pair_valid && warm),
      .here(here[3*P-1:0]),
      .there(there[3*P-1:0]),
      .shift(shift),
      .kinds(kinds),
      .tag({pair_last, pair_set, pair_index, pair_address}),
      .force_valid(force_valid),
      .force_out(pair_force),
      .tag_out({force_last, force_set, force_index, force_address}),
      .counts(counts),
      .close(close)
  );

  md_home_sums #(
      .FILTERS(FILTERS),
      .SUM(SUM),
      .ADDRESS(ADDRESS)
  ) u_home_sums (
      .clk(clk),
      .rst(rst),
      .ready(sums_ready),
      .begin_valid(begin_valid),
      .begin_set(begin_set),
      .begin_address(begin_address),
      .begin_count(begin_count),
      .add(force_valid),
      .add_last(force_last && warm),
      .add_set(force_set),
      .add_index(force_index),
      .add_force(pair_force),
      .home_valid(home_valid),
      .home_ready(home_ready),
      .home_address(home_address),
      .home_force(home_force),
      .freed(freed)
  );

  md_neighbour_sums #(
      .WORDS(CELLS * CAPACITY),
      .SUM  (SUM),
      .HUGE (HUGE)
  ) u_neighbour_sums (
      .clk(clk),
      .rst(rst),
      .add(force_valid),
      .address(force_address),
      .add_force(pair_force),
      .read(sum_read),
      .read_address(sum_address),
      .read_force(sum_force)
  );

  // A unit holds its set until its last sum has gone out, long after its last pair was added to the neighbours.
  assign idle = !cells_busy && held == '0 && sums_ready && warm;

  always_ff @(posedge clk) begin
    pairs <= pairs + 40'(counts);
    candidates <= candidates + 40'(met);
    stalled <= stalled + 40'(waits);
    if (rst || clear) begin
      pairs <= '0;
      candidates <= '0;
      stalled <= '0;
    end
  end
endmodule

`default_nettype wire
