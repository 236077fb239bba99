// A force on a particle of a kind of another mass: (force * RATIO) >>> 17 for kind 1, as it is for kind 0. LATENCY cycles.
`default_nettype none

module md_scale #(
    // Bits of a force; the result has one more.
    parameter int SUM = 36,
    // Mass of kind 0 by that of kind 1; 2^17 is 1.
    parameter bit [17:0] RATIO = 18'h20000
) (
    input wire clk,
    input wire kind,
    input wire [SUM-1:0] force_in,
    output logic [SUM:0] force_out
);
  localparam int PRODUCT = SUM + 19;

  logic signed [SUM-1:0] value;
  logic signed [18:0] ratio;
  logic signed [PRODUCT-1:0] product, late;

  always_ff @(posedge clk) begin
    value <= force_in;
    ratio <= {1'b0, kind ? RATIO : 18'h20000};
    product <= PRODUCT'(value) * PRODUCT'(ratio);
    late <= product;
    force_out <= late[SUM+17:17];
  end

  wire unused = &{1'b0, late[PRODUCT-1:SUM+18], late[16:0]};
endmodule

`default_nettype wire
