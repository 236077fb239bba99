// Reset for one clock domain: asserted at once while `ready` is low (a PLL that is not locked, a button), released
// CYCLES clock edges after it stays high. Also asserted after configuration.
`default_nettype none

module reset_sync #(
    // Clock edges from `ready` to the release of the reset, at least 2.
    parameter int CYCLES = 4
) (
    input wire clk,
    input wire ready,
    output wire rst
);
  if (CYCLES < 2) begin : g_cycles
    $error("reset_sync: CYCLES must be at least 2");
  end

  logic [CYCLES-1:0] held;
  initial held = '1;

  always_ff @(posedge clk or negedge ready) begin
    if (!ready) held <= '1;
    else held <= CYCLES'({held, 1'b0});
  end

  assign rst = held[CYCLES-1];
endmodule

`default_nettype wire
