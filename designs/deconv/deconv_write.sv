// The end of reverse_loop: a complete sum of TM channels gets bias, rounding and activation and is written.
// The tag is {address of the bias, last result of the RUN, address of the result}; addresses of results count parts of
// TM channels. `done` is high with the last write of a RUN.
`default_nettype none

module deconv_write #(
    // Output channels.
    parameter int TM = 4,
    // Bits of a result.
    parameter int BITS = 8,
    // Bits of a sum.
    parameter int ACC = 26,
    // Parts of TM channels in a word, a power of two.
    parameter int PARTS = 8,
    // Bits of an address of activation memory.
    parameter int ADDRESS = 10,
    // Bits of an address of a bias.
    parameter int BIAS = 4,
    // Memory image of the activation's table, or "".
    parameter TABLE = "",
    // Bits of the address of a part, and of a part's number; derived.
    parameter int RESULT = ADDRESS + $clog2(PARTS),
    parameter int PART = PARTS > 1 ? $clog2(PARTS) : 1
) (
    input wire clk,
    input wire rst,

    input wire [5:0] shift,
    input wire [1:0] activation,

    input wire sum_valid,
    input wire [BIAS+RESULT:0] sum_tag,
    input wire [TM*ACC-1:0] sums,

    output wire [BIAS-1:0] bias_address,
    input wire [TM*ACC-1:0] bias,

    output wire write,
    output wire [ADDRESS-1:0] write_address,
    output wire [PART-1:0] write_part,
    output wire [TM*BITS-1:0] write_data,
    output wire done
);
  wire [TM*ACC-1:0] late_sums;
  wire [RESULT:0] late_tag, tag;
  logic [1:0] valid;

  assign bias_address = sum_tag[RESULT+1+:BIAS];
  always_ff @(posedge clk) valid <= rst ? '0 : {valid[0], sum_valid};

  // While the bias is read.
  delay #(
      .WIDTH (TM * ACC + RESULT + 1),
      .STAGES(2)
  ) u_late (
      .clk(clk),
      .in ({sums, sum_tag[RESULT:0]}),
      .out({late_sums, late_tag})
  );

  deconv_finish #(
      .BITS (BITS),
      .ACC  (ACC),
      .N    (TM),
      .TAG  (RESULT + 1),
      .TABLE(TABLE)
  ) u_finish (
      .clk(clk),
      .rst(rst),
      .shift(shift),
      .activation(activation),
      .valid(valid[1]),
      .tag(late_tag),
      .sums(late_sums),
      .biases(bias),
      .out_valid(write),
      .out_tag(tag),
      .values(write_data)
  );

  assign done = write && tag[RESULT];
  assign write_address = tag[RESULT-1-:ADDRESS];

  if (PARTS > 1) begin : g_part
    assign write_part = tag[PART-1:0];
  end else begin : g_whole
    assign write_part = '0;
  end
endmodule

`default_nettype wire
