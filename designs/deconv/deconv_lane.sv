// The products of one lane: TN activations, each with TM weights, added up to TM partial sums, new ones each cycle.
// TREE = 1, for synthesis: registers on both sides of the multipliers and behind each level of adders, in all
// 2 + clog2(TN) of them, or 4 + clog2(TN) with ECP5. TREE = 0, for simulators: the same sums at once, without a register; deconv_array delays them.
// A lane that is masked gives zeros.
//
// Kept apart in synthesis: a large array maps one lane, not 64, and each lane keeps its own copy of the weights, which
// is what the registers inside DSP blocks take.
`default_nettype none

(* keep_hierarchy *)
module deconv_lane #(
    // Bits of an activation and of a weight, two's complement.
    parameter int BITS = 16,
    // Output channels.
    parameter int TM   = 2,
    // Input channels, a power of two.
    parameter int TN   = 4,
    // Bits of a partial sum: sums are exact modulo 2^OUT.
    parameter int OUT  = 2 * BITS + $clog2(TN),
    // 1: multipliers with the registers of the DSP blocks of an ECP5; activations of a masked lane must be zero then.
    parameter bit ECP5 = 0,
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
    input wire mask,
    input wire [TN*BITS-1:0] activations,
    input wire [TM*TN*BITS-1:0] weights,
    output wire [TM*OUT-1:0] sums
);
  if (TREE) begin : g_tree
    logic awake;
    logic [TN*BITS-1:0] a;
    logic [TM*TN*BITS-1:0] w;

    always_ff @(posedge clk) begin
      awake <= mask;
      a <= activations;
      w <= weights;
    end
    if (ECP5) begin : g_unused
      wire unused = &{1'b0, awake};
    end

    for (genvar m = 0; m < TM; m++) begin : g_channel
      wire [TN*2*BITS-1:0] products;

      for (genvar n = 0; n < TN && ECP5; n++) begin : g_dsp
        // DSP blocks lie in rows across the chip: the way to each and from each takes a cycle of its own.
        wire [2*BITS-1:0] ready;
        logic [2*BITS-1:0] product;

        ecp5_multiplier #(
            .BITS(BITS)
        ) u_product (
            .clk(clk),
            .x(a[n*BITS+:BITS]),
            .y(w[(m*TN+n)*BITS+:BITS]),
            .product(ready)
        );
        always_ff @(posedge clk) product <= ready;
        assign products[n*2*BITS+:2*BITS] = product;
      end

      for (genvar n = 0; n < TN && !ECP5; n++) begin : g_product
        wire signed [BITS-1:0] x = a[n*BITS+:BITS];
        wire signed [BITS-1:0] y = w[(m*TN+n)*BITS+:BITS];
        logic signed [2*BITS-1:0] product;

        always_ff @(posedge clk) begin
          product <= x * y;
          if (!awake) product <= '0;  // the register's own reset: no gates
        end
        assign products[n*2*BITS+:2*BITS] = product;
      end

      adder_tree #(
          .COUNT(TN),
          .BITS(2 * BITS),
          .SIGNED(1),
          .LATENCY($clog2(TN)),
          .OUT_BITS(OUT),
          .TREE(1)
      ) u_sum (
          .clk (clk),
          .data(products),
          .sum (sums[m*OUT+:OUT])
      );
    end
  end else begin : g_simulation
    for (genvar m = 0; m < TM; m++) begin : g_channel
      logic signed [2*BITS-1:0] product;
      logic signed [2*BITS+$clog2(TN)-1:0] total;

      always_comb begin
        total = '0;
        product = '0;
        if (mask) begin
          for (int n = 0; n < TN; n++) begin
            product = $signed(activations[n*BITS+:BITS]) * $signed(weights[(m*TN+n)*BITS+:BITS]);
            total = total + (2 * BITS + $clog2(TN))'(product);
          end
        end
      end
      assign sums[m*OUT+:OUT] = OUT'(total);
    end
    wire unused = &{1'b0, clk};
  end
endmodule

`default_nettype wire
