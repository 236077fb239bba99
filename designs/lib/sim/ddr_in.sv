// Stands in for lattice/ddr_in.sv in simulation: the same cycles, no delay.
`default_nettype none

module ddr_in #(
    parameter int WIDTH = 1,
    // As in lattice/ddr_in.sv; without effect here.
    parameter int DELAY = 0
) (
    input wire clk,
    input wire [WIDTH-1:0] d,
    output logic [WIDTH-1:0] rise,
    output logic [WIDTH-1:0] fall
);
  logic [WIDTH-1:0] first, second;

  always_ff @(negedge clk) second <= DELAY < 0 ? '0 : d;

  always_ff @(posedge clk) begin
    first <= d;
    rise <= first;
    fall <= second;
  end
endmodule

`default_nettype wire
