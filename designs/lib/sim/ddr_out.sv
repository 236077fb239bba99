// Stands in for lattice/ddr_out.sv in simulation: the same order of values, no delay.
`default_nettype none

module ddr_out #(
    parameter int WIDTH = 1,
    // As in lattice/ddr_out.sv; without effect here.
    parameter int DELAY = 0
) (
    input wire clk,
    input wire [WIDTH-1:0] rise,
    input wire [WIDTH-1:0] fall,
    output wire [WIDTH-1:0] q
);
  logic [WIDTH-1:0] first, second;

  always_ff @(posedge clk) begin
    first  <= rise;
    second <= DELAY < 0 ? '0 : fall;
  end

  assign q = clk ? first : second;
endmodule

`default_nettype wire
