// The whole positions of the home particles, in two sets: written as the stream loads the filters, read by the pairs. In
// distributed RAM; `read_data` comes a cycle after its place.
`default_nettype none

module md_homes #(
    // Home particles of a set.
    parameter int FILTERS = 8,
    // Bits of a particle.
    parameter int BITS = 72,
    // Derived.
    parameter int INDEX = FILTERS > 1 ? $clog2(FILTERS) : 1
) (
    input wire clk,
    // One of them, or none.
    input wire [FILTERS-1:0] load,
    input wire load_set,
    input wire [BITS-1:0] particle,
    input wire read_set,
    input wire [INDEX-1:0] read_index,
    output logic [BITS-1:0] read_data
);
  (* ram_style = "distributed" *) logic [BITS-1:0] memory[2<<INDEX];
  logic [INDEX-1:0] place;

  always_comb begin
    place = '0;
    for (int f = 0; f < FILTERS; f++) if (load[f]) place |= INDEX'(f);
  end

  always_ff @(posedge clk) begin
    if (load != '0) memory[{load_set, place}] <= particle;
    read_data <= memory[{read_set, read_index}];
  end
endmodule

`default_nettype wire
