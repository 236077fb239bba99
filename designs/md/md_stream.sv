// Streams the particles of a unit's cells, one a cycle. The particles of the unit itself lead the home cell: each meets
// those before it and then becomes a home particle (`load`), so that loading them costs no cycle of its own.
//
// The unit's home particles and their sums lie in one of two sets, so that the next unit may begin while pairs of the
// last are on their way. A unit waits until its set was `freed`. It waits as well while the queue has no `room`.
// The last particle of a unit is marked; a particle that is not `real` stands for it when the last cell is empty.
// A unit without particles is dropped.
`default_nettype none

module md_stream #(
    // Particles of a unit, at most.
    parameter int FILTERS = 8,
    // Bits of an address, of a cell's count; as in md_cells.
    parameter int ADDRESS = 11,
    parameter int COUNT = 6,
    // Derived.
    parameter int SIZE = $clog2(FILTERS + 1)
) (
    input wire clk,
    input wire rst,

    input wire cell_valid,
    output wire cell_ready,
    input wire [ADDRESS-1:0] cell_address,
    input wire [COUNT-1:0] cell_left,
    input wire cell_empty,
    input wire cell_single,
    input wire [4:0] cell_shift,
    input wire cell_home,
    input wire cell_last,
    input wire [SIZE-1:0] cell_loads,

    input wire room,
    input wire [1:0] freed,
    // Sets in use.
    output logic [1:0] held,

    // A unit begins: its set, the address of its first particle, and how many it has.
    output logic begin_valid,
    output logic begin_set,
    output logic [ADDRESS-1:0] begin_address,
    output logic [SIZE-1:0] begin_count,

    output logic valid,
    output logic real_particle,
    output logic last,
    output logic set,
    output logic [ADDRESS-1:0] address,
    output logic [4:0] shift,
    // Home particles that it meets, and how many; the place that it takes itself.
    output logic [FILTERS-1:0] meets,
    output logic [SIZE-1:0] met,
    output logic [FILTERS-1:0] load,

    // Waiting for the queue.
    output logic waits
);
  logic fresh;  // at the first particle of a cell
  logic [ADDRESS-1:0] next_address;
  logic [COUNT-1:0] left;
  logic [FILTERS-1:0] loaded;
  logic [SIZE-1:0] loaded_count, to_load;
  logic own_set, next_set, skip;
  logic one_left;  // left == 1

  wire starts = fresh && cell_home;
  wire [COUNT-1:0] left_now = fresh ? cell_left : left;
  wire [ADDRESS-1:0] address_now = fresh ? cell_address : next_address;
  wire [FILTERS-1:0] loaded_now = starts ? '0 : loaded;
  wire [SIZE-1:0] loaded_count_now = starts ? '0 : loaded_count;
  wire [SIZE-1:0] to_load_now = starts ? cell_loads : to_load;
  wire set_now = starts ? next_set : own_set;

  wire empty = fresh && cell_empty;
  wire final_particle = fresh ? cell_single : one_left;
  wire skipping = starts ? empty : skip;
  wire blocked = starts && held[next_set];
  wire go = cell_valid && !skipping && room && !blocked;
  wire loads = cell_home && to_load_now != '0;

  assign cell_ready = (cell_valid && skipping) || (go && (empty || final_particle));

  always_ff @(posedge clk) begin
    if (go) begin
      next_address <= address_now + 1'b1;
      left <= left_now - 1'b1;
      one_left <= left_now == COUNT'(2);
      own_set <= set_now;
      loaded <= loads ? FILTERS'({loaded_now, 1'b1}) : loaded_now;
      loaded_count <= loaded_count_now + SIZE'(loads);
      to_load <= to_load_now - SIZE'(loads);
    end
    if (cell_valid && starts) skip <= empty;
    if (go && starts) next_set <= !next_set;
    if (cell_ready) fresh <= 1'b1;
    else if (go) fresh <= 1'b0;

    held <= held & ~freed;
    if (go && starts) held[next_set] <= 1'b1;

    begin_valid <= go && starts;
    begin_set <= next_set;
    begin_address <= cell_address;
    begin_count <= cell_loads;

    valid <= go && (!empty || cell_last);
    real_particle <= go && !empty;
    last <= cell_last && (empty || final_particle);
    set <= set_now;
    address <= address_now;
    shift <= cell_shift;
    meets <= loaded_now;
    met <= go && !empty ? loaded_count_now : '0;
    load <= go && loads ? FILTERS'({loaded_now, 1'b1}) & ~loaded_now : '0;
    waits <= cell_valid && !skipping && !room && !blocked;

    if (rst) begin
      fresh <= 1'b1;
      skip <= 1'b0;
      next_set <= 1'b0;
      held <= '0;
      begin_valid <= 1'b0;
      valid <= 1'b0;
      real_particle <= 1'b0;
      load <= '0;
      met <= '0;
      waits <= 1'b0;
    end
  end
endmodule

`default_nettype wire
