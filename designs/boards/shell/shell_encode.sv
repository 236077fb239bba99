// Packets to bytes of the line: appends the CRC, stuffs in place (COBS) and sends with the delimiter. One packet is
// written while another is sent. A packet begins only while `free`, its bytes may come every cycle.
`default_nettype none

module shell_encode (
    input wire clk,
    input wire rst,

    output logic free,
    // Nothing is being sent or waits to be.
    output logic quiet,

    input wire put,
    input wire [7:0] put_data,
    input wire put_last,
    // The packet is a DATA frame (with put_last).
    input wire put_counts,

    output logic m_valid,
    input wire m_ready,
    output logic [7:0] m_data,

    // The last byte of a DATA frame was handed over.
    output logic sent
);
  // Packet bytes, then four of the CRC, then the last code: a code says where the next zero is, and is written when the
  // zero comes, in the place of the zero before.
  logic [31:0] crc;
  logic [7:0] place, code;
  logic [2:0] tail;
  logic counts;
  logic half;  // written
  logic [1:0] full;

  wire in_crc = tail != 3'd0 && tail <= 3'd4;
  wire finish = tail == 3'd5;
  wire step = put || in_crc;
  logic [7:0] data;

  always_comb begin
    case (tail)
      3'd1: data = ~crc[7:0];
      3'd2: data = ~crc[15:8];
      3'd3: data = ~crc[23:16];
      3'd4: data = ~crc[31:24];
      default: data = put_data;
    endcase
  end

  shell_crc u_crc (
      .clk  (clk),
      .clear(finish || rst),
      .step (put),
      .data (put_data),
      .crc  (crc)
  );

  logic [7:0] raw;  // a byte on its way, and whether it is zero
  logic stepping, finishing, is_zero;
  logic write;
  logic [8:0] write_address;
  logic [7:0] write_data;
  logic finished, finished_half;

  always_ff @(posedge clk) begin
    raw <= data;
    is_zero <= data == 8'd0;
    stepping <= step && !rst;
    finishing <= finish && !rst;
    write <= stepping || finishing;
    if (finishing || is_zero) begin
      write_address <= {half, code};
      write_data <= place - code;
    end else begin
      write_address <= {half, place};
      write_data <= raw;
    end
    if (stepping) begin
      place <= place + 8'd1;
      if (is_zero) code <= place;
    end
    if (put && put_last) tail <= 3'd1;
    else if (finish) tail <= 3'd0;
    else if (tail != 3'd0) tail <= tail + 3'd1;
    if (put && put_last) counts <= put_counts;
    finished <= finishing;
    finished_half <= half;
    if (finishing) begin
      half <= !half;
      place <= 8'd1;
      code <= '0;
    end
    if (rst) begin
      half <= 1'b0;
      tail <= '0;
      place <= 8'd1;
      code <= '0;
      write <= 1'b0;
      finished <= 1'b0;
    end
  end

  // Sending: a byte is fetched, loaded, handed over; the delimiter comes after `lengths` bytes.
  logic [7:0] lengths[2];
  logic [1:0] counted;
  logic [7:0] index;
  logic turn;  // half that is sent
  logic fetched, moved, loaded;
  wire [7:0] stuffed;
  logic at_end;
  wire over = m_valid && m_ready;

  shell_memory #(
      .WIDTH(8),
      .DEPTH(512)
  ) u_memory (
      .clk(clk),
      .write(write),
      .write_address(write_address),
      .write_data(write_data),
      .read(1'b1),
      .read_address({turn, index}),
      .move(1'b1),
      .read_data(stuffed)
  );

  always_ff @(posedge clk) begin
    if (finishing) begin
      lengths[half] <= place;
      counted[half] <= counts;
    end
    at_end <= index == lengths[turn];
    if (loaded) m_data <= at_end ? 8'd0 : stuffed;
  end

  always_ff @(posedge clk) begin
    free <= tail == 3'd0 && !full[half] && !finishing && !finished;
    quiet <= tail == 3'd0 && full == '0 && !finishing && !finished;
    sent <= 1'b0;
    fetched <= full[turn] && !fetched && !moved && !loaded && !m_valid;
    moved <= fetched;
    loaded <= moved;
    if (loaded) m_valid <= 1'b1;
    if (over) begin
      m_valid <= 1'b0;
      index <= at_end ? 8'd0 : index + 8'd1;
      if (at_end) begin
        full[turn] <= 1'b0;
        turn <= !turn;
        sent <= counted[turn];
      end
    end
    if (finished) full[finished_half] <= 1'b1;
    if (rst) begin
      free <= 1'b0;
      quiet <= 1'b0;
      full <= '0;
      turn <= 1'b0;
      index <= '0;
      fetched <= 1'b0;
      moved <= 1'b0;
      loaded <= 1'b0;
      m_valid <= 1'b0;
      sent <= 1'b0;
    end
  end
endmodule

`default_nettype wire
