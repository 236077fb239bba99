// Delay line as `delay`: `out` is `in` of STAGES cycles ago. With RING it is made of rings in distributed RAM of 16 words,
// for parts without shift registers in LUTs: a register a stage and bit would have to be placed and wired.
//
// A ring has as many words as stages: the word that is read is the oldest, and the new one takes its place. Where in the
// ring that is at the start does not matter; the counter comes back into range by itself.
`default_nettype none

module md_delay #(
    // Bits.
    parameter int WIDTH  = 1,
    // Cycles.
    parameter int STAGES = 1,
    // 1: rings, for all but short lines.
    parameter bit RING   = 0
) (
    input wire clk,
    input wire [WIDTH-1:0] in,
    output wire [WIDTH-1:0] out
);
  // Words of distributed RAM; below SHORT a ring's address is more wires than registers would be.
  localparam int WORDS = 16;
  localparam int SHORT = 5;

  if (!RING || STAGES < SHORT) begin : g_registers
    delay #(
        .WIDTH (WIDTH),
        .STAGES(STAGES)
    ) u_line (
        .clk(clk),
        .in (in),
        .out(out)
    );
  end else begin : g_ring
    localparam int OWN = STAGES < WORDS ? STAGES : WORDS;
    logic [$clog2(WORDS)-1:0] place;
    wire [WIDTH-1:0] oldest;
    (* ram_style = "distributed" *) logic [WIDTH-1:0] memory[WORDS];

    assign oldest = memory[place];
    always_ff @(posedge clk) begin
      memory[place] <= in;
      place <= place >= 4'(OWN - 1) ? '0 : place + 1'b1;
    end

    md_delay #(
        .WIDTH (WIDTH),
        .STAGES(STAGES - OWN),
        .RING  (RING)
    ) u_rest (
        .clk(clk),
        .in (oldest),
        .out(out)
    );
  end
endmodule

`default_nettype wire
