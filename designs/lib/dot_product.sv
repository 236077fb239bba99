// Part of a dot product: SIMD products a cycle, pipelined over FIRST + SECOND registers, for the accumulator of mvtu.
// The sum of products is START + the sum of the outputs over all parts, modulo 2^OUT_BITS, with START = -SYNAPSES for
// bits and 0 otherwise: for bits the output is twice the number of products that are +1, in which a masked group of G
// counts as G halves.
// For A_BITS > 1 with W_BITS == 1 a sum of +-a is twice that of the +a, minus that of all a, which all rows share: it
// comes as `activation_sum`, SECOND cycles after the activations. Here `activations` come by bit: bit 0 of all, then
// bit 1 of all, and so on, since simulators count the ones of a whole bit at once (TREE = 0, equal to the adders).
`default_nettype none

module dot_product #(
    // Products.
    parameter int SIMD = 8,
    // Bits of an activation; 1: +1 or -1.
    parameter int A_BITS = 1,
    // Bits of a weight; 1: +1 or -1.
    parameter int W_BITS = 1,
    // Products that share a mask bit; 0: no mask.
    parameter int MASK_GROUP = 0,
    // Bits of the output.
    parameter int OUT_BITS = 8,
    // Registers that count bits or multiply, at least 1.
    parameter int FIRST = 1,
    // Registers of the adders behind them; at least 1 with masks.
    parameter int SECOND = 1,
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
    input wire [SIMD*A_BITS-1:0] activations,
    input wire [(MASK_GROUP > 0 ? SIMD / MASK_GROUP : 1)-1:0] mask,
    input wire [SIMD*W_BITS-1:0] weights,
    input wire [OUT_BITS-1:0] activation_sum,
    output wire [OUT_BITS-1:0] sum
);
  if (A_BITS == 1) begin : g_bits
    localparam int GROUP = MASK_GROUP > 0 ? MASK_GROUP : SIMD;
    localparam int GROUPS = SIMD / GROUP;
    localparam bit ODD = MASK_GROUP % 2 != 0;  // half a masked group is not a whole number then
    localparam int COUNT = $clog2(GROUP + 1);
    localparam int TERM = COUNT + (ODD ? 1 : 0);

    wire [SIMD-1:0] products = activations ~^ weights;
    wire [GROUPS*TERM-1:0] terms;

    for (genvar g = 0; g < GROUPS; g++) begin : g_group
      wire [COUNT-1:0] count;

      popcount #(
          .WIDTH(GROUP),
          .LATENCY(FIRST)
      ) u_count (
          .clk(clk),
          .data(products[g*GROUP+:GROUP]),
          .count(count)
      );

      wire [TERM-1:0] term = ODD ? TERM'({count, 1'b0}) : TERM'(count);

      if (MASK_GROUP > 0) begin : g_mask
        wire unmasked;

        delay #(
            .STAGES(FIRST)
        ) u_mask (
            .clk(clk),
            .in (mask[g]),
            .out(unmasked)
        );
        assign terms[g*TERM+:TERM] = unmasked ? term : TERM'(ODD ? GROUP : GROUP / 2);
      end else begin : g_plain
        assign terms[g*TERM+:TERM] = term;
      end
    end

    localparam int TOTAL = TERM + $clog2(GROUPS);
    wire [TOTAL-1:0] total;

    adder_tree #(
        .COUNT(GROUPS),
        .BITS(TERM),
        .SIGNED(0),
        .LATENCY(SECOND),
        .OUT_BITS(TOTAL)
    ) u_sum (
        .clk (clk),
        .data(terms),
        .sum (total)
    );

    assign sum = ODD ? OUT_BITS'(total) : OUT_BITS'({total, 1'b0});
    wire unused = &{1'b0, activation_sum, MASK_GROUP > 0 || mask[0]};
  end else if (W_BITS == 1) begin : g_signs
    wire [OUT_BITS-1:0] positive;
    wire [OUT_BITS-1:0] difference = OUT_BITS'({positive, 1'b0}) - activation_sum;

    if (TREE) begin : g_adders
      wire [SIMD*A_BITS-1:0] terms;

      for (genvar i = 0; i < SIMD; i++) begin : g_term
        for (genvar b = 0; b < A_BITS; b++) begin : g_bit
          assign terms[i*A_BITS+b] = weights[i] & activations[b*SIMD+i];
        end
      end

      adder_tree #(
          .COUNT(SIMD),
          .BITS(A_BITS),
          .SIGNED(1),
          .LATENCY(SECOND),
          .OUT_BITS(OUT_BITS)
      ) u_sum (
          .clk (clk),
          .data(terms),
          .sum (positive)
      );
    end else begin : g_counts
      logic [OUT_BITS-1:0] counted;

      always_comb begin
        counted = '0;
        for (int b = 0; b < A_BITS - 1; b++) begin
          counted = counted + (OUT_BITS'($countones(weights & activations[b*SIMD+:SIMD])) << b);
        end
        // The highest bit of a number counts negative.
        counted = counted - (OUT_BITS'($countones(weights & activations[(A_BITS-1)*SIMD+:SIMD])) << (A_BITS - 1));
      end

      delay #(
          .WIDTH (OUT_BITS),
          .STAGES(SECOND)
      ) u_counted (
          .clk(clk),
          .in (counted),
          .out(positive)
      );
    end

    delay #(
        .WIDTH (OUT_BITS),
        .STAGES(FIRST)
    ) u_difference (
        .clk(clk),
        .in (difference),
        .out(sum)
    );
    wire unused = &{1'b0, mask};
  end else begin : g_numbers
    localparam int PRODUCT = A_BITS + W_BITS;
    wire [SIMD*(A_BITS+W_BITS)-1:0] operands;
    wire [SIMD*PRODUCT-1:0] products, late;

    // Registers on both sides of the multipliers: a block RAM and a DSP block do not fit one fast cycle.
    delay #(
        .WIDTH (SIMD * (A_BITS + W_BITS)),
        .STAGES(FIRST - 1)
    ) u_operands (
        .clk(clk),
        .in ({activations, weights}),
        .out(operands)
    );

    for (genvar i = 0; i < SIMD; i++) begin : g_product
      wire signed [A_BITS-1:0] a = operands[SIMD*W_BITS+i*A_BITS+:A_BITS];
      wire signed [W_BITS-1:0] w = operands[i*W_BITS+:W_BITS];
      assign products[i*PRODUCT+:PRODUCT] = a * w;
    end

    delay #(
        .WIDTH (SIMD * PRODUCT),
        .STAGES(1)
    ) u_products (
        .clk(clk),
        .in (products),
        .out(late)
    );

    adder_tree #(
        .COUNT(SIMD),
        .BITS(PRODUCT),
        .SIGNED(1),
        .LATENCY(SECOND),
        .OUT_BITS(OUT_BITS)
    ) u_sum (
        .clk (clk),
        .data(late),
        .sum (sum)
    );
    wire unused = &{1'b0, mask, activation_sum};
  end
endmodule

`default_nettype wire
