// From sums to activations, N values a cycle, fixed latency, as workloads/deconv/fixed.py has it: bias, rounding half up
// r = (sum + bias + 2^(shift-1)) >> shift, then `activation` 0: linear, r saturated; 1: clip, the same but never
// negative; 2: the table.
//
// TABLE: 1,024 words for $readmemh that cover r from -4 to just below 4, the lowest first; beyond, r saturates.
// BITS = 8: an entry is the result. BITS = 16: the upper 10 of the 18 bits of r choose a word {slope[10], value[16]},
// slope being the next entry minus this one, and the lower 8 interpolate: value + ((slope * low + 128) >> 8). That lies
// between two entries, so it needs no saturation. Without TABLE activation 2 must not be used.
//
// `shift` and `activation` must not change while values are in flight.
// LATENCY = 6 without a table, 8 with one of 8 bits, 9 with one of 16: take `out_valid` and `out_tag`.
`default_nettype none

module deconv_finish #(
    // Bits of a result: 8 or 16.
    parameter int BITS  = 16,
    // Bits of a sum and of a bias.
    parameter int ACC   = 40,
    // Values a cycle.
    parameter int N     = 2,
    // Bits of the tag.
    parameter int TAG   = 1,
    // Memory image of the activation, or "".
    parameter     TABLE = ""
) (
    input wire clk,
    input wire rst,

    input wire [5:0] shift,
    input wire [1:0] activation,

    input wire valid,
    input wire [TAG-1:0] tag,
    input wire [N*ACC-1:0] sums,
    input wire [N*ACC-1:0] biases,

    output wire out_valid,
    output wire [TAG-1:0] out_tag,
    output wire [N*BITS-1:0] values
);
  if (BITS != 8 && BITS != 16) begin : g_bits
    $error("deconv_finish: BITS must be 8 or 16");
  end
  if (ACC < BITS + 3 || ACC > 62) begin : g_acc
    $error("deconv_finish: ACC must be at least BITS + 3 and at most 62");
  end
  if (N < 1 || TAG < 1) begin : g_size
    $error("deconv_finish: N and TAG must be at least 1");
  end

  localparam int LATENCY = TABLE == "" ? 6 : BITS == 8 ? 8 : 9;
  localparam int RANGE = BITS + 2;  // bits of r once it lies in [-4, 4)
  localparam int Y = ACC + 2;  // a sum with its bias, and one bit below the point for rounding
  localparam int WORD = BITS == 8 ? 8 : 26;

  logic [LATENCY-1:0] valid_line;

  always_ff @(posedge clk) begin
    valid_line <= {valid_line[LATENCY-2:0], valid};
    if (rst) valid_line <= '0;
  end
  assign out_valid = valid_line[LATENCY-1];

  delay #(
      .WIDTH (TAG),
      .STAGES(LATENCY)
  ) u_tag (
      .clk(clk),
      .in (tag),
      .out(out_tag)
  );

  wire clip = activation == 2'd1;
  wire table_used = activation == 2'd2;

  // Addresses of the table, those of two values for each memory.
  wire [N*10-1:0] addresses;
  wire [N*WORD-1:0] words;

  for (genvar i = 0; i < N; i++) begin : g_value
    wire signed [ACC-1:0] sum = sums[i*ACC+:ACC];
    wire signed [ACC-1:0] bias = biases[i*ACC+:ACC];

    // Shifting in two steps, coarse after fine.
    logic signed [ACC:0] biased;
    logic signed [Y-1:0] fine, coarse;
    wire signed [Y-1:0] point = {biased, 1'b0};

    always_ff @(posedge clk) begin
      biased <= {sum[ACC-1], sum} + {bias[ACC-1], bias};
      fine   <= point >>> shift[2:0];
      coarse <= fine >>> {shift[5:3], 3'b000};
    end

    logic signed [Y-1:0] rounded;
    wire  [Y-2:0] upper = coarse[Y-1:1];
    always_ff @(posedge clk) rounded <= {upper[Y-2], upper} + {{(Y - 1) {1'b0}}, coarse[0]};

    // Into [-4, 4).
    logic signed [RANGE-1:0] r;
    wire beyond = rounded[Y-1:RANGE-1] != {(Y - RANGE + 1) {rounded[Y-1]}};
    always_ff @(posedge clk) r <= beyond ? {rounded[Y-1], {(RANGE - 1) {!rounded[Y-1]}}} : rounded[RANGE-1:0];

    // Into BITS.
    logic signed [BITS-1:0] plain;
    wire outside = r[RANGE-1:BITS-1] != {(RANGE - BITS + 1) {r[RANGE-1]}};
    always_ff @(posedge clk) begin
      plain <= outside ? {r[RANGE-1], {(BITS - 1) {!r[RANGE-1]}}} : r[BITS-1:0];
      if (clip && r[RANGE-1]) plain <= '0;
    end

    assign addresses[i*10+:10] = {!r[RANGE-1], r[RANGE-2-:9]};

    if (TABLE == "") begin : g_plain
      assign values[i*BITS+:BITS] = plain;
    end else begin : g_table
      wire [BITS-1:0] plain_late;
      logic [BITS-1:0] result;

      delay #(
          .WIDTH (BITS),
          .STAGES(LATENCY - 7)
      ) u_plain (
          .clk(clk),
          .in (plain),
          .out(plain_late)
      );

      if (BITS == 8) begin : g_entry
        always_ff @(posedge clk) result <= table_used ? words[i*WORD+:WORD] : plain_late;
      end else begin : g_interpolate
        wire [8:0] low;
        wire signed [9:0] slope = words[i*WORD+16+:10];
        wire signed [8:0] part = low;
        logic signed [18:0] step;
        logic [15:0] value;

        delay #(
            .WIDTH (9),
            .STAGES(2)
        ) u_low (
            .clk(clk),
            .in ({1'b0, r[7:0]}),
            .out(low)
        );

        wire signed [18:0] half = step + 19'sd128;
        wire [15:0] moved = {{5{half[18]}}, half[18:8]};
        always_ff @(posedge clk) begin
          step   <= slope * part;
          value  <= words[i*WORD+:16];
          result <= table_used ? value + moved : plain_late;
        end
        wire unused_low = &{1'b0, half[7:0]};
      end
      assign values[i*BITS+:BITS] = result;
    end
  end

  if (TABLE == "") begin : g_no_table
    assign words = '0;
    wire unused = &{1'b0, words, addresses, table_used};
  end else begin : g_tables
    for (genvar i = 0; i < N; i += 2) begin : g_pair
      // Asked for: Yosys would take a LUT for every 64 bits on the parts of Xilinx.
      (* rom_style = "block" *) logic [WORD-1:0] entries[1024];
      initial $readmemh(TABLE, entries);

      for (genvar j = i; j < N && j < i + 2; j++) begin : g_port
        logic [WORD-1:0] entry, late;
        always_ff @(posedge clk) begin
          entry <= entries[addresses[j*10+:10]];
          late  <= entry;
        end
        assign words[j*WORD+:WORD] = late;
      end
    end
  end
endmodule

`default_nettype wire
