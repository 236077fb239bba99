// The inputs that an output takes in one dimension, for outputs one after another; see designs/deconv/commands.py.
// `restart` goes to the first output, `advance` to the next. One cycle later the outputs tell: address of the highest
// input, weight address of the kernel element that it meets (both only this dimension's part), how many more inputs
// there are below it, or that there is none.
//
// Only additions: START's input and offset are multiplied out by adding, from `start` until `ready`.
`default_nettype none

module deconv_range #(
    // Bits of an address.
    parameter int ADDRESS = 10,
    // Bits of a weight address.
    parameter int WEIGHT  = 10
) (
    input wire clk,
    input wire start,
    output logic ready,
    input wire restart,
    input wire advance,

    input wire [9:0] inputs,
    input wire [2:0] stride,
    input wire [23:0] start_high,
    input wire [23:0] start_low,
    input wire [ADDRESS-1:0] address_stride,
    input wire [WEIGHT-1:0] k_stride,

    output logic [ADDRESS-1:0] address,
    output logic [WEIGHT-1:0] weight,
    output logic [5:0] more,
    output logic empty
);
  logic [ADDRESS-1:0] first_address, high_address;
  logic [WEIGHT-1:0] first_weight, high_weight;
  logic [9:0] high_left;
  logic [7:0] k_left;

  always_ff @(posedge clk) begin
    ready <= high_left == '0 && k_left == '0 && !start;
    if (high_left != '0) begin
      high_left <= high_left - 10'd1;
      first_address <= first_address + address_stride;
    end
    if (k_left != '0) begin
      k_left <= k_left - 8'd1;
      first_weight <= first_weight + k_stride;
    end
    if (start) begin
      high_left <= start_high[9:0];
      k_left <= start_high[23:16];
      first_address <= '0;
      first_weight <= '0;
    end
  end

  logic [9:0] high, highest;  // of the present output; of all
  logic [7:0] k;  // kernel element that the highest input meets
  logic signed [10:0] low;
  logic [2:0] low_offset, last_offset;

  // At the last input the kernel elements go on; before it, every `stride` outputs begin with the next input.
  wire onward = high != highest && k == {5'd0, last_offset};
  wire low_onward = low_offset == last_offset;

  always_ff @(posedge clk) begin
    highest <= inputs - 10'd1;
    last_offset <= stride - 3'd1;
    if (restart) begin
      high <= start_high[9:0];
      k <= start_high[23:16];
      high_address <= first_address;
      high_weight <= first_weight;
      low <= start_low[10:0];
      low_offset <= start_low[18:16];
    end else if (advance) begin
      if (onward) begin
        high <= high + 10'd1;
        k <= '0;
        high_address <= high_address + address_stride;
        high_weight <= '0;
      end else begin
        k <= k + 8'd1;
        high_weight <= high_weight + k_stride;
      end
      low_offset <= low_onward ? '0 : low_offset + 3'd1;
      if (low_onward) low <= low + 11'sd1;
    end
  end

  // The range is [max(low, 0), high].
  wire signed [10:0] top = {1'b0, high};
  wire signed [10:0] bottom = low[10] ? '0 : low;
  wire [5:0] span = top[5:0] - bottom[5:0];

  always_ff @(posedge clk) begin
    address <= high_address;
    weight <= high_weight;
    more <= span;
    empty <= top < bottom;
  end

  wire unused = &{1'b0, start_high[15:10], start_low[15:11], start_low[23:19]};
endmodule

`default_nettype wire
