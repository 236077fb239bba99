// Gives particles their slots: the first free one of the cell. LATENCY cycles, one particle a cycle. A particle that finds
// its cell full is not placed: `dropped`. Each particle that came in gives `placed` or `dropped` once.
`default_nettype none

module md_place #(
    parameter int CELLS = 64,
    // Slots of a cell.
    parameter int CAPACITY = 32,
    // Bits of a particle.
    parameter int BITS = 180,
    // Derived.
    parameter int CELL = $clog2(CELLS),
    parameter int COUNT = $clog2(CAPACITY + 1),
    parameter int ADDRESS = $clog2(CELLS * CAPACITY)
) (
    input wire clk,
    input wire rst,

    input wire valid,
    input wire [CELL-1:0] cell_in,
    input wire [BITS-1:0] particle,

    // To md_counts.
    output wire place,
    output wire [CELL-1:0] place_cell,
    input wire [COUNT-1:0] place_count,
    input wire place_full,

    output logic placed,
    output logic dropped,
    output logic [ADDRESS-1:0] address,
    output logic [CELL-1:0] placed_cell,
    // Particles of the cell, with this one.
    output logic [COUNT-1:0] count,
    output logic [BITS-1:0] placed_particle
);
  localparam int LATENCY = 3;

  logic valid1, valid2, full2;
  logic [CELL-1:0] cell1, cell2;
  logic [COUNT-1:0] count2;
  logic [ADDRESS-1:0] base2;
  logic [BITS-1:0] particle2;

  assign place = valid1;
  assign place_cell = cell1;

  always_ff @(posedge clk) begin
    cell1 <= cell_in;
    cell2 <= cell1;
    base2 <= ADDRESS'(cell1) * ADDRESS'(CAPACITY);
    count2 <= place_count;
    full2 <= place_full;
    address <= base2 + ADDRESS'(count2);
    placed_cell <= cell2;
    count <= count2 + 1'b1;
    placed_particle <= particle2;

    valid1 <= valid && !rst;
    valid2 <= valid1 && !rst;
    placed <= valid2 && !full2 && !rst;
    dropped <= valid2 && full2 && !rst;
  end

  delay #(
      .WIDTH (BITS),
      .STAGES(LATENCY - 1)
  ) u_particle (
      .clk(clk),
      .in (particle),
      .out(particle2)
  );
endmodule

`default_nettype wire
