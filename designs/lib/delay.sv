// Delay line: `out` is `in` of STAGES cycles ago, without reset; 0 is a wire.
`default_nettype none

module delay #(
    // Bits.
    parameter int WIDTH  = 1,
    // Registers.
    parameter int STAGES = 1
) (
    input wire clk,
    input wire [WIDTH-1:0] in,
    output wire [WIDTH-1:0] out
);
  if (WIDTH < 1) begin : g_width
    $error("delay: WIDTH must be at least 1");
  end
  if (STAGES < 0) begin : g_stages
    $error("delay: STAGES must be at least 0");
  end

  if (STAGES == 0) begin : g_wire
    assign out = in;
    wire unused = &{1'b0, clk};
  end else begin : g_line
    logic [STAGES*WIDTH-1:0] line;  // the youngest lowest

    always_ff @(posedge clk) line <= (STAGES * WIDTH)'({line, in});
    assign out = line[STAGES*WIDTH-1-:WIDTH];
  end
endmodule

`default_nettype wire
