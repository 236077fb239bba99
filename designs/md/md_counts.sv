// Particles in each cell, in two halves: the present state, and the one that the motion is filling. `half` says which is
// the present. In distributed RAM: read within the cycle, so that one particle a cycle finds its slot.
`default_nettype none

module md_counts #(
    parameter int CELLS = 64,
    // Slots of a cell.
    parameter int CAPACITY = 32,
    // Derived.
    parameter int CELL = $clog2(CELLS),
    parameter int COUNT = $clog2(CAPACITY + 1)
) (
    input wire clk,

    input wire half,

    // The present counts; not while particles are placed into them.
    input  wire [ CELL-1:0] read_cell,
    output wire [COUNT-1:0] read_count,

    // Place one more particle into a cell of the half `place_half`: `place_count` is how many there were. A full cell
    // keeps its count.
    input wire place,
    input wire place_half,
    input wire [CELL-1:0] place_cell,
    output wire [COUNT-1:0] place_count,
    output wire place_full,

    // Set to zero a cell of some halves. No particle is placed in that cycle.
    input wire [1:0] zero,
    input wire [CELL-1:0] zero_cell
);
  if (CELLS < 2 || CAPACITY < 2) begin : g_size
    $error("md_counts: CELLS and CAPACITY must be at least 2");
  end

  localparam bit [COUNT-1:0] FULL = COUNT'(CAPACITY);
  wire [COUNT-1:0] counts[2];

  assign read_count = counts[half];
  assign place_count = counts[place_half];
  assign place_full = place_count == FULL;

  for (genvar h = 0; h < 2; h++) begin : g_half
    localparam bit HALF = h != 0;
    (* ram_style = "distributed" *) logic [COUNT-1:0] memory[CELLS];
    wire own = place && place_half == HALF;
    wire [CELL-1:0] address = own ? place_cell : read_cell;

    assign counts[h] = memory[address];

    always_ff @(posedge clk) begin
      if (zero[h] || (own && !place_full)) begin
        memory[zero[h] ? zero_cell : place_cell] <= zero[h] ? '0 : counts[h] + 1'b1;
      end
    end
  end
endmodule

`default_nettype wire
