// Windows of a convolution of stride 1 over a stream of square images, one column of the kernel a beat.
// Input: one pixel a beat (channel 0 lowest), raster order, images back to back. Output: for each position in raster
// order KERNEL beats, kx = 0 .. KERNEL - 1, each with the pixels ky = 0 .. KERNEL - 1 of that column (ky 0 lowest).
// Padding: with BITS > 1 its pixels are the number 0. With BITS == 1 a word is KERNEL * MASK_LANES groups of
// {mask, CHANNELS / MASK_LANES bits}, mask 1 for a pixel of the image; in the padding mask and bits are 0.
//
// Rate: a beat a cycle without gaps between positions, rows and images as long as the input keeps ahead: a position
// begins once all of its pixels are there. Pixels of the next rows and of the next image are taken meanwhile, as far as
// the ROWS row memories hold them; the end of an image needs no pixels of the next one.
// s_axis_tready and m_axis_* are registers (KERNEL == 1 is a register stage without memory).
//
//   sliding_window #(.BITS(1), .CHANNELS(128), .SIDE(16), .KERNEL(3), .PADDING(1), .MASK_LANES(1)) u_window (...);
`default_nettype none

module sliding_window #(
    // Bits of a channel.
    parameter int BITS = 1,
    // Channels of a pixel.
    parameter int CHANNELS = 8,
    // Rows and columns of the image.
    parameter int SIDE = 8,
    // Rows and columns of the kernel.
    parameter int KERNEL = 3,
    // Rows and columns of zeros on each side of the image, less than KERNEL.
    parameter int PADDING = 0,
    // Mask bits of a pixel, a divisor of CHANNELS; 0 unless PADDING > 0 and BITS == 1.
    parameter int MASK_LANES = 0,
    // Row memories: the fewest that leave no gap between images, at least one more than the kernel has rows.
    parameter int ROWS =
        (2 * ((KERNEL - 1 - PADDING) * SIDE + KERNEL - PADDING) - 1) / SIDE < KERNEL ? KERNEL + 1 :
        (2 * ((KERNEL - 1 - PADDING) * SIDE + KERNEL - PADDING) - 1) / SIDE + 1
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output logic s_axis_tready,
    input wire [BITS*CHANNELS-1:0] s_axis_tdata,

    output logic m_axis_tvalid,
    input wire m_axis_tready,
    output logic [KERNEL*(BITS*CHANNELS+MASK_LANES)-1:0] m_axis_tdata
);
  localparam bit MASKED = PADDING > 0 && BITS == 1;

  if (BITS < 1 || CHANNELS < 1 || KERNEL < 1) begin : g_size
    $error("sliding_window: BITS, CHANNELS and KERNEL must be at least 1");
  end
  if (PADDING < 0 || PADDING >= KERNEL) begin : g_padding
    $error("sliding_window: PADDING must be at least 0 and less than KERNEL");
  end
  if (SIDE < 1 || SIDE < KERNEL - PADDING || SIDE + 2 * PADDING < KERNEL) begin : g_side
    $error("sliding_window: SIDE must be at least KERNEL - PADDING, and the kernel must fit into the padded image");
  end
  if (!MASKED && MASK_LANES != 0) begin : g_no_mask
    $error("sliding_window: MASK_LANES must be 0 without padding and for numbers of several bits");
  end
  if (MASKED && (MASK_LANES < 1 || CHANNELS % (MASK_LANES < 1 ? 1 : MASK_LANES) != 0)) begin : g_mask
    $error("sliding_window: padding of bits needs MASK_LANES that divide CHANNELS");
  end
  if (ROWS <= KERNEL) begin : g_rows
    $error("sliding_window: ROWS must be more than KERNEL");
  end

  localparam int PIXEL = BITS * CHANNELS;

  if (KERNEL == 1) begin : g_register
    stream_width #(
        .UNIT(PIXEL),
        .IN  (1),
        .OUT (1)
    ) u_register (
        .*
    );
  end else begin : g_window
    localparam int SIDE_OUT = SIDE + 2 * PADDING - KERNEL + 1;
    // Pixels before the first position may begin, and as many are let go only after the last one.
    localparam int EDGE = (KERNEL - 1 - PADDING) * SIDE + KERNEL - PADDING;
    localparam int CAPACITY = ROWS * SIDE;
    localparam int BANK = $clog2(ROWS);
    localparam int ADDRESS = $clog2(SIDE);
    localparam int POSITION = SIDE_OUT > 1 ? $clog2(SIDE_OUT) : 1;
    localparam int TAP = $clog2(KERNEL);
    localparam int LEVEL = $clog2(CAPACITY + EDGE + 1) + 1;
    localparam int COLUMN = $clog2(SIDE + 2 * PADDING + 1) + 1;

    // Number of the row memory `steps` after `from`; they are used in turn.
    function automatic [BANK-1:0] bank_after(input [BANK-1:0] from, input [BANK-1:0] steps);
      bank_after = {1'b0, from} + {1'b0, steps} >= (BANK + 1)'(ROWS) ? from + steps - BANK'(ROWS) : from + steps;
    endfunction

    // Writer: pixels into the row memories in turn.
    logic [BANK-1:0] write_bank;
    logic [ADDRESS-1:0] write_column;
    wire take = s_axis_tvalid && s_axis_tready;

    always_ff @(posedge clk) begin
      if (take) begin
        write_column <= write_column + 1'b1;
        if (write_column == ADDRESS'(SIDE - 1)) begin
          write_column <= '0;
          write_bank   <= bank_after(write_bank, BANK'(1));
        end
      end
      if (rst) begin
        write_column <= '0;
        write_bank   <= '0;
      end
    end

    // Reader: position (row, position), tap kx; `column` is the image's column, `top` the bank of row ky = 0.
    logic [POSITION-1:0] row, position;
    logic [TAP-1:0] tap;
    logic signed [COLUMN-1:0] column;
    logic [BANK-1:0] top;
    logic signed [LEVEL-1:0] ahead;  // pixels written beyond those that this position needs
    logic [LEVEL-1:0] room;  // pixels that can still be written

    logic read_valid;
    wire advance_out = !m_axis_tvalid || m_axis_tready;
    wire advance_read = !read_valid || advance_out;
    wire signed [31:0] row_number = $signed(32'(row));
    wire signed [31:0] position_number = $signed(32'(position));
    wire last_tap = tap == TAP'(KERNEL - 1);
    wire last_position = position == POSITION'(SIDE_OUT - 1);
    wire last_row = row == POSITION'(SIDE_OUT - 1);
    wire issue = advance_read && !ahead[LEVEL-1];
    wire done = issue && last_tap;

    // Pixels that the next position needs beyond this one's, and pixels that no later position needs.
    logic [LEVEL-1:0] needed, freed;

    always_comb begin
      if (last_position) begin
        needed = row_number < SIDE - KERNEL + PADDING ? LEVEL'(KERNEL - PADDING) : '0;
        freed  = row_number >= PADDING ? LEVEL'(KERNEL - PADDING) : '0;
        if (last_row) begin
          needed = LEVEL'(EDGE);
          freed  = LEVEL'(EDGE);
        end
      end else begin
        needed = row_number <= SIDE - KERNEL + PADDING && position_number < SIDE - KERNEL + PADDING ? LEVEL'(1) : '0;
        freed  = row_number >= PADDING && position_number >= PADDING ? LEVEL'(1) : '0;
      end
      if (!done) begin
        needed = '0;
        freed  = '0;
      end
    end

    always_ff @(posedge clk) begin
      ahead <= ahead + $signed({{(LEVEL - 1) {1'b0}}, take}) - $signed(needed);
      room <= room + freed - {{(LEVEL - 1) {1'b0}}, take};
      s_axis_tready <= room > LEVEL'(1) || (room == LEVEL'(1) && !take);
      if (issue) begin
        tap <= last_tap ? '0 : tap + 1'b1;
        column <= last_tap ? column - COLUMN'(KERNEL - 2) : column + 1'b1;
      end
      if (done) begin
        position <= last_position ? '0 : position + 1'b1;
        if (last_position) begin
          row <= last_row ? '0 : row + 1'b1;
          column <= COLUMN'(-PADDING);
          top <= bank_after(top, last_row ? BANK'((KERNEL - 2 * PADDING + 2 * ROWS) % ROWS) : BANK'(1));
        end
      end
      if (rst) begin
        ahead <= LEVEL'(-EDGE);
        room <= LEVEL'(CAPACITY);
        s_axis_tready <= 1'b0;
        tap <= '0;
        column <= COLUMN'(-PADDING);
        position <= '0;
        row <= '0;
        top <= BANK'((2 * ROWS - PADDING) % ROWS);
      end
    end

    // Row memories with a registered read, all at the same column.
    logic [ROWS*PIXEL-1:0] read;

    for (genvar b = 0; b < ROWS; b++) begin : g_bank
      (* no_rw_check *) logic [PIXEL-1:0] memory[SIDE];

      always_ff @(posedge clk) begin
        if (take && write_bank == BANK'(b)) memory[write_column] <= s_axis_tdata;
        if (advance_read) read[b*PIXEL+:PIXEL] <= memory[column[ADDRESS-1:0]];
      end
    end

    // Beside the read: which memory holds which row, and whether the tap lies in the image.
    logic [KERNEL*BANK-1:0] bank;
    logic [KERNEL-1:0] in_image;
    wire column_inside = !column[COLUMN-1] && column < COLUMN'(SIDE);

    for (genvar ky = 0; ky < KERNEL; ky++) begin : g_row
      wire row_inside = row_number >= PADDING - ky && row_number < SIDE + PADDING - ky;

      always_ff @(posedge clk) begin
        if (advance_read) begin
          bank[ky*BANK+:BANK] <= bank_after(top, BANK'(ky));
          in_image[ky] <= PADDING == 0 || (row_inside && column_inside);
        end
      end
    end

    always_ff @(posedge clk) begin
      if (advance_read) read_valid <= issue;
      if (advance_out) m_axis_tvalid <= read_valid;
      if (rst) begin
        read_valid <= 1'b0;
        m_axis_tvalid <= 1'b0;
      end
    end

    for (genvar ky = 0; ky < KERNEL; ky++) begin : g_tap
      wire [PIXEL-1:0] pixel = PIXEL'(read >> (PIXEL * bank[ky*BANK+:BANK]));

      if (MASKED) begin : g_masked
        localparam int GROUP = CHANNELS / MASK_LANES;
        for (genvar g = 0; g < MASK_LANES; g++) begin : g_group
          always_ff @(posedge clk) begin
            if (advance_out) begin
              m_axis_tdata[(ky*MASK_LANES+g)*(GROUP+1)+:GROUP+1] <=
                  in_image[ky] ? {1'b1, pixel[g*GROUP+:GROUP]} : '0;
            end
          end
        end
      end else begin : g_plain
        always_ff @(posedge clk) begin
          if (advance_out) m_axis_tdata[ky*PIXEL+:PIXEL] <= in_image[ky] ? pixel : '0;
        end
      end
    end
  end
endmodule

`default_nettype wire
