// Number of ones in a word, pipelined: LATENCY registers between `data` and `count`, a new word each cycle.
// Two forms with the same result and latency. TREE = 1, for synthesis: full adders over three bits each, their register,
// and a tree of adders; logic before `data` goes into the LUTs of the full adders. TREE = 0: one $countones with all
// registers behind it, which simulates many times faster.
//
//   popcount #(.WIDTH(128), .LATENCY(3)) u_count (.clk, .data(~(a ^ b)), .count);
`default_nettype none

module popcount #(
    // Bits of the word.
    parameter int WIDTH = 64,
    // Registers from input to output, at least 1.
    parameter int LATENCY = 2,
    // 1: for synthesis; 0: for simulators.
`ifdef VERILATOR
`ifdef SYNTHESIS_FORMS
    parameter bit TREE = 1
`else
    parameter bit TREE = 0
`endif
`else
    parameter bit TREE = 1
`endif
) (
    input wire clk,
    input wire [WIDTH-1:0] data,
    output wire [$clog2(WIDTH+1)-1:0] count
);
  if (WIDTH < 1) begin : g_width
    $error("popcount: WIDTH must be at least 1");
  end
  if (LATENCY < 1) begin : g_latency
    $error("popcount: LATENCY must be at least 1");
  end

  localparam int COUNT = $clog2(WIDTH + 1);

  if (!TREE) begin : g_simulation
    delay #(
        .WIDTH (COUNT),
        .STAGES(LATENCY)
    ) u_delay (
        .clk(clk),
        .in (COUNT'($countones(data))),
        .out(count)
    );
  end else begin : g_tree
    localparam int LEAVES = (WIDTH + 2) / 3;
    wire [3*LEAVES-1:0] bits = (3 * LEAVES)'(data);
    wire [2*LEAVES-1:0] leaves, late;

    for (genvar i = 0; i < LEAVES; i++) begin : g_leaf
      wire a = bits[3*i];
      wire b = bits[3*i+1];
      wire c = bits[3*i+2];
      assign leaves[2*i+:2] = {(a & b) | (a & c) | (b & c), a ^ b ^ c};
    end

    delay #(
        .WIDTH (2 * LEAVES),
        .STAGES(1)
    ) u_leaves (
        .clk(clk),
        .in (leaves),
        .out(late)
    );

    adder_tree #(
        .COUNT(LEAVES),
        .BITS(2),
        .SIGNED(0),
        .LATENCY(LATENCY - 1),
        .OUT_BITS(COUNT)
    ) u_tree (
        .clk (clk),
        .data(late),
        .sum (count)
    );
  end
endmodule

`default_nettype wire
