// For simulation: as lattice/ecp5_multiplier.
`default_nettype none

module ecp5_multiplier #(
    parameter int BITS = 8
) (
    input wire clk,
    input wire [BITS-1:0] x,
    input wire [BITS-1:0] y,
    output logic [2*BITS-1:0] product
);
  logic signed [BITS-1:0] a, b;

  always_ff @(posedge clk) begin
    a <= x;
    b <= y;
    product <= a * b;
  end
endmodule

`default_nettype wire
