// One register of the engine's commands: `value` is written when `code` is its own, and what the unit sees changes only
// with `copy`, so that the next layer's values can wait here.
`default_nettype none

module deconv_register #(
    // Opcode.
    parameter int CODE = 1,
    // Bits.
    parameter int BITS = 1
) (
    input wire clk,
    input wire write,
    input wire [7:0] code,
    input wire [23:0] value,
    input wire copy,
    output logic [BITS-1:0] q
);
  if (BITS < 1 || BITS > 24) begin : g_bits
    $error("deconv_register: BITS must be 1 to 24");
  end

  logic [BITS-1:0] waiting;

  always_ff @(posedge clk) begin
    if (write && code == CODE[7:0]) waiting <= value[BITS-1:0];
    if (copy) q <= waiting;
  end

  if (BITS < 24) begin : g_unused
    wire unused = &{1'b0, value[23:BITS]};
  end
endmodule

`default_nettype wire
