// Number of ones in a word, pipelined: LATENCY registers between `data` and `count`, a new word each cycle.
// Two forms with the same result and latency: a compressor tree for synthesis (TREE = 1), and one $countones with its
// registers behind it, which simulates many times faster (TREE = 0). Logic before `data` is mapped into the first level
// of the tree.
//
//   popcount #(.WIDTH(128), .LATENCY(3)) u_count (.clk, .data(~(a ^ b)), .count);
`default_nettype none

module popcount #(
    // Bits of the word.
    parameter int WIDTH = 64,
    // Registers from input to output, at least 1.
    parameter int LATENCY = 2,
    // 1: adders with the registers between them; 0: for simulators.
`ifdef VERILATOR
    parameter bit TREE = 0
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
    adder_tree #(
        .COUNT(WIDTH),
        .BITS(1),
        .SIGNED(0),
        .LATENCY(LATENCY),
        .OUT_BITS(COUNT)
    ) u_tree (
        .clk(clk),
        .data(data),
        .sum(count)
    );
  end
endmodule

`default_nettype wire
