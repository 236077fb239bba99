// Maximum of each 2 x 2 pixels of a stream of images, one input beat a cycle without gaps.
// A pixel is FOLDS beats of LANES numbers; pixels come in raster order and leave likewise, SIDE / 2 a side. For bits the
// maximum is an OR: pooling sums and then comparing with a threshold is the same as comparing and then pooling.
// m_axis_* are registers; s_axis_tready is combinational from m_axis_tready.
//
//   max_pool #(.BITS(1), .LANES(32), .FOLDS(4), .SIDE(32)) u_pool (.clk, .rst, .s_axis_*, .m_axis_*);
`default_nettype none

module max_pool #(
    // Bits of a number.
    parameter int BITS = 1,
    // Numbers in a beat.
    parameter int LANES = 8,
    // Beats of a pixel.
    parameter int FOLDS = 1,
    // Rows and columns of the input image, even.
    parameter int SIDE = 8,
    // 1: numbers are two's complement; 0: unsigned.
    parameter bit SIGNED = 0
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [BITS*LANES-1:0] s_axis_tdata,

    output logic m_axis_tvalid,
    input wire m_axis_tready,
    output wire [BITS*LANES-1:0] m_axis_tdata
);
  if (BITS < 1 || LANES < 1 || FOLDS < 1) begin : g_size
    $error("max_pool: BITS, LANES and FOLDS must be at least 1");
  end
  if (SIDE < 2 || SIDE % 2 != 0) begin : g_side
    $error("max_pool: SIDE must be even and at least 2");
  end
  if (SIGNED && BITS == 1) begin : g_signed
    $error("max_pool: SIGNED needs BITS of at least 2");
  end

  localparam int WIDTH = BITS * LANES;
  localparam int DEPTH = SIDE / 2 * FOLDS;
  localparam int ADDRESS = DEPTH > 1 ? $clog2(DEPTH) : 1;
  localparam int FOLD = FOLDS > 1 ? $clog2(FOLDS) : 1;
  localparam int COLUMN = $clog2(SIDE);

  // Maxima of the windows begun in this pair of rows.
  (* no_rw_check *) logic [WIDTH-1:0] memory[DEPTH];

  // Position of the next input beat; `base` is the address of the first beat of its window.
  logic [FOLD-1:0] fold;
  logic [COLUMN-1:0] column;
  logic row_odd;
  logic [ADDRESS-1:0] address, base;

  // The beat behind the memory's read register.
  logic valid, begins, ends, column_was_odd;
  logic [WIDTH-1:0] beat, read;
  logic [ADDRESS-1:0] write_address;

  // The last maximum, which is also the output.
  logic [WIDTH-1:0] maximum;

  wire advance = !m_axis_tvalid || m_axis_tready;
  wire take = s_axis_tvalid && advance;
  wire last_fold = fold == FOLD'(FOLDS - 1);
  wire last_column = column == COLUMN'(SIDE - 1);
  assign s_axis_tready = advance;
  assign m_axis_tdata  = maximum;

  always_ff @(posedge clk) begin
    if (take) begin
      fold <= last_fold ? '0 : fold + 1'b1;
      address <= address + 1'b1;
      if (last_fold) begin
        column <= last_column ? '0 : column + 1'b1;
        if (!column[0]) address <= base;  // the right pixel of the windows
        else base <= address + 1'b1;
        if (last_column) begin
          row_odd <= !row_odd;
          address <= '0;
          base <= '0;
        end
      end
    end
    if (rst) begin
      fold <= '0;
      column <= '0;
      row_odd <= 1'b0;
      address <= '0;
      base <= '0;
    end
  end

  // With one beat a pixel, what the right pixel needs is still in `maximum`; with one window a row everything is.
  wire recent = FOLDS == 1 && (column_was_odd || SIDE == 2);
  wire [WIDTH-1:0] previous = recent ? maximum : read;
  logic [WIDTH-1:0] larger;

  if (BITS == 1) begin : g_bits
    assign larger = beat | previous;
  end else begin : g_numbers
    for (genvar i = 0; i < LANES; i++) begin : g_lane
      wire [BITS-1:0] a = beat[i*BITS+:BITS];
      wire [BITS-1:0] b = previous[i*BITS+:BITS];
      wire greater = SIGNED ? $signed(a) > $signed(b) : a > b;
      assign larger[i*BITS+:BITS] = greater ? a : b;
    end
  end

  wire [WIDTH-1:0] result = begins ? beat : larger;

  always_ff @(posedge clk) begin
    if (advance) begin
      beat <= s_axis_tdata;
      read <= memory[address];
      begins <= !row_odd && !column[0];
      ends <= row_odd && column[0];
      column_was_odd <= column[0];
      write_address <= address;
      if (valid) begin
        maximum <= result;
        memory[write_address] <= result;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (advance) begin
      valid <= take;
      m_axis_tvalid <= valid && ends;
    end
    if (rst) begin
      valid <= 1'b0;
      m_axis_tvalid <= 1'b0;
    end
  end
endmodule

`default_nettype wire
