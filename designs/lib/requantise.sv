// Brings the sums of a layer's neurons to their output formats: offset, optional ReLU, rounding, then overflow by
// saturating or wrapping, each neuron in a fixed-point format of its own; see workloads/track/network.py, Format.
// A vector comes in FOLDS beats of LANES sums. Two registers; a beat a cycle. s_axis_tready is combinational from
// m_axis_tready.
//
// All on one fine grid, of which an output step is 2^RIGHT: y = (sum << LEFT) + offset. The offset is the neuron's bias
// plus half a step of its format, so that cutting y's low bits rounds half up, and ReLU may follow the cut. A format
// with step 2^a output steps and values up to 2^p keeps the bits from a to p: no shifter, two masks a neuron.
//
// OFFSETS: FOLDS words of LANES * SUM bits, two's complement, lane 0 lowest. FORMATS: FORMAT_WORDS words (FOLDS, or 1
// when all neurons have the same) of LANES fields {signed, upper[OUT], keep[OUT]}: `keep` has ones from a to p - 1,
// `upper` from p on; a neuron that is always zero has none in either and is unsigned. Both are read with $readmemh.
`default_nettype none

module requantise #(
    // Sums in a beat.
    parameter int LANES = 1,
    // Beats in a vector.
    parameter int FOLDS = 1,
    // Bits of a sum, two's complement.
    parameter int IN = 16,
    // Bits by which a sum is shifted left onto the fine grid.
    parameter int LEFT = 0,
    // Bits of y, enough for every sum with its offset.
    parameter int SUM = 17,
    // Bits of y below the output grid.
    parameter int RIGHT = 4,
    // Bits of a result, two's complement.
    parameter int OUT = 8,
    // Whether negative sums become zero.
    parameter bit RELU = 0,
    // Whether a result beyond its format saturates; else it wraps.
    parameter bit SATURATE = 1,
    // Words of FORMATS.
    parameter int FORMAT_WORDS = FOLDS,
    // Memory images.
    parameter OFFSETS = "",
    parameter FORMATS = ""
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [LANES*IN-1:0] s_axis_tdata,

    output logic m_axis_tvalid,
    input wire m_axis_tready,
    output logic [LANES*OUT-1:0] m_axis_tdata
);
  if (LANES < 1 || FOLDS < 1 || IN < 1 || OUT < 1) begin : g_size
    $error("requantise: LANES, FOLDS, IN and OUT must be at least 1");
  end
  if (LEFT < 0 || SUM < IN + LEFT) begin : g_sum
    $error("requantise: SUM must be at least IN + LEFT, and LEFT at least 0");
  end
  if (RIGHT < 0 || RIGHT >= SUM) begin : g_right
    $error("requantise: RIGHT must be at least 0 and less than SUM");
  end
  if (FORMAT_WORDS != FOLDS && FORMAT_WORDS != 1) begin : g_format_words
    $error("requantise: FORMAT_WORDS must be FOLDS or 1");
  end
  if (OFFSETS == "" || FORMATS == "") begin : g_files
    $error("requantise: OFFSETS and FORMATS must name files");
  end

  localparam int ADDRESS = FOLDS > 1 ? $clog2(FOLDS) : 1;
  localparam int FIELD = 2 * OUT + 1;
  // Bits of y from the output grid on, at least those of a result.
  localparam int WIDE = SUM - RIGHT > OUT ? SUM - RIGHT : OUT;

  assign s_axis_tready = !m_axis_tvalid || m_axis_tready;
  wire take = s_axis_tvalid && s_axis_tready;

  // Small memories, so not `rom`, which stays apart in synthesis: here constant bits and unused ones go.
  logic [LANES*SUM-1:0] offsets[FOLDS];
  logic [LANES*FIELD-1:0] formats[FORMAT_WORDS];
  initial $readmemh(OFFSETS, offsets);
  initial $readmemh(FORMATS, formats);

  // Their output registers hold what the next beat needs: the address runs ahead.
  logic [ADDRESS-1:0] fold, next;
  logic [LANES*SUM-1:0] offset;
  logic [LANES*FIELD-1:0] format_of_y;

  always_comb begin
    next = fold;
    if (take) next = fold == ADDRESS'(FOLDS - 1) ? '0 : fold + 1'b1;
    if (rst) next = '0;
  end

  always_ff @(posedge clk) begin
    fold <= next;
    offset <= offsets[next];
  end

  if (FORMAT_WORDS == 1) begin : g_one_format
    assign format_of_y = formats[0];
  end else begin : g_formats
    logic [LANES*FIELD-1:0] format;
    always_ff @(posedge clk) begin
      format <= formats[next];
      if (s_axis_tready) format_of_y <= format;
    end
  end

  logic y_valid;
  always_ff @(posedge clk) begin
    if (s_axis_tready) begin
      y_valid <= s_axis_tvalid;
      m_axis_tvalid <= y_valid;
    end
    if (rst) begin
      y_valid <= 1'b0;
      m_axis_tvalid <= 1'b0;
    end
  end

  for (genvar i = 0; i < LANES; i++) begin : g_lane
    wire signed [IN-1:0] sum = s_axis_tdata[i*IN+:IN];
    wire signed [SUM-1:0] wide = SUM'(sum);
    logic [SUM-1:0] y;
    always_ff @(posedge clk) if (s_axis_tready) y <= (wide <<< LEFT) + offset[i*SUM+:SUM];

    wire negative = y[SUM-1];
    wire [WIDE-1:0] z;
    if (WIDE > SUM - RIGHT) begin : g_extend
      assign z = {{(WIDE - SUM + RIGHT) {negative}}, y[SUM-1:RIGHT]};
    end else begin : g_cut
      assign z = y[SUM-1:RIGHT];
    end
    wire is_signed;
    wire [OUT-1:0] upper, keep;
    assign {is_signed, upper, keep} = format_of_y[i*FIELD+:FIELD];

    logic [OUT-1:0] result;
    if (SATURATE) begin : g_saturate
      // Bits that all equal the sign when z lies within its format.
      wire [WIDE-1:0] beyond = {{(WIDE - OUT) {1'b1}}, upper};
      wire over = !negative && (z & beyond) != '0;
      wire under = negative && (!is_signed || (~z & beyond) != '0);
      always_comb begin
        result = z[OUT-1:0] & (keep | upper);
        if (over) result = keep;
        if (under) result = is_signed ? upper : '0;
        if (RELU && negative) result = '0;
      end
    end else begin : g_wrap
      wire unused = &{1'b0, z};
      // The bit at p is the sign of what wraps there.
      wire sign = is_signed && (z[OUT-1:0] & upper & ~(upper << 1)) != '0;
      always_comb begin
        result = (z[OUT-1:0] & keep) | (sign ? upper : '0);
        if (RELU && negative) result = '0;
      end
    end
    always_ff @(posedge clk) if (s_axis_tready) m_axis_tdata[i*OUT+:OUT] <= result;
  end
endmodule

`default_nettype wire
