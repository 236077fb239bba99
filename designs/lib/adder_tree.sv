// Sum of COUNT numbers, pipelined: LATENCY registers between `data` and `sum`, new numbers each cycle.
// TREE = 1, for synthesis: a tree of two-input adders, each as wide as its sums, with the registers spread evenly over
// its levels. TREE = 0: one sum with all registers behind it, which simulators build and run faster.
//
//   adder_tree #(.COUNT(27), .BITS(8), .SIGNED(1), .LATENCY(3), .OUT_BITS(13)) u_sum (.clk, .data, .sum);
`default_nettype none

module adder_tree #(
    // Numbers to add.
    parameter int COUNT = 8,
    // Bits of a number.
    parameter int BITS = 8,
    // 1: two's complement; 0: unsigned.
    parameter bit SIGNED = 1,
    // Registers from input to output; 0 makes the tree combinational.
    parameter int LATENCY = 2,
    // Bits of the sum: the value is extended, or cut to its lowest bits.
    parameter int OUT_BITS = BITS + $clog2(COUNT),
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
    input wire [COUNT*BITS-1:0] data,
    output wire [OUT_BITS-1:0] sum
);
  if (COUNT < 1 || BITS < 1 || OUT_BITS < 1) begin : g_size
    $error("adder_tree: COUNT, BITS and OUT_BITS must be at least 1");
  end
  if (LATENCY < 0) begin : g_latency
    $error("adder_tree: LATENCY must be at least 0");
  end

  localparam int LEVELS = $clog2(COUNT);
  localparam int WHOLE = BITS + LEVELS;
  wire [WHOLE-1:0] whole;

  if (!TREE) begin : g_simulation
    logic [WHOLE-1:0] total;

    always_comb begin
      total = '0;
      for (int i = 0; i < COUNT; i++) begin
        total = total + WHOLE'({{(LEVELS + 1) {SIGNED && data[i*BITS+BITS-1]}}, data[i*BITS+:BITS]});
      end
    end

    delay #(
        .WIDTH (WHOLE),
        .STAGES(LATENCY)
    ) u_delay (
        .clk(clk),
        .in (total),
        .out(whole)
    );
  end else begin : g_tree
    // Registers behind level l: as many as bring the total to l / LEVELS of LATENCY, all of them where nothing is added.
    localparam int SPREAD = LEVELS < 1 ? 1 : LEVELS;

    for (genvar l = 0; l <= LEVELS; l++) begin : g_level
      localparam int NUMBERS = (COUNT + (1 << l) - 1) >> l;
      localparam int WIDTH = BITS + l;
      localparam int REGISTERS = LEVELS < 1 ? LATENCY : l * LATENCY / SPREAD - (l < 1 ? 0 : (l - 1) * LATENCY / SPREAD);
      wire [NUMBERS*WIDTH-1:0] sums;  // straight out of the adders
      wire [NUMBERS*WIDTH-1:0] value;  // behind the registers

      if (l == 0) begin : g_input
        assign sums = data;
      end else begin : g_adders
        localparam int BEFORE = (COUNT + (1 << (l - 1)) - 1) >> (l - 1);
        localparam int IN = WIDTH - 1;
        for (genvar i = 0; i < NUMBERS; i++) begin : g_adder
          wire [IN-1:0] a = g_level[l-1].value[2*i*IN+:IN];
          wire a_top = SIGNED ? a[IN-1] : 1'b0;
          if (2 * i + 1 < BEFORE) begin : g_pair
            wire [IN-1:0] b = g_level[l-1].value[(2*i+1)*IN+:IN];
            wire b_top = SIGNED ? b[IN-1] : 1'b0;
            assign sums[i*WIDTH+:WIDTH] = {a_top, a} + {b_top, b};
          end else begin : g_alone
            assign sums[i*WIDTH+:WIDTH] = {a_top, a};
          end
        end
      end

      delay #(
          .WIDTH (NUMBERS * WIDTH),
          .STAGES(REGISTERS)
      ) u_registers (
          .clk(clk),
          .in (sums),
          .out(value)
      );
    end

    assign whole = g_level[LEVELS].value;
  end

  if (OUT_BITS > WHOLE) begin : g_extend
    assign sum = {{(OUT_BITS - WHOLE) {SIGNED && whole[WHOLE-1]}}, whole};
  end else begin : g_cut
    assign sum = whole[OUT_BITS-1:0];
    if (OUT_BITS < WHOLE) begin : g_unused
      wire unused_bits = &{1'b0, whole[WHOLE-1:OUT_BITS]};
    end
  end
endmodule

`default_nettype wire
