// The output stream cut into frames, which stay until the host has them. A frame is closed when it is full, or when no
// byte came for IDLE cycles and the host has been sent all others. Sequence numbers: `first` is not yet acknowledged,
// `sent` is sent next, `closed` is being filled; first <= sent <= closed <= first + SLOTS.
`default_nettype none

module shell_ring #(
    // Cycles without a byte after which a frame is closed.
    parameter int IDLE = 1000
) (
    input wire clk,
    input wire rst,

    input wire s_valid,
    output wire s_ready,
    input wire [7:0] s_data,

    // A good frame of the host came, with these fields; `resend`: go back to `ack`.
    input wire heard,
    input wire resend,
    input wire [7:0] ack,
    input wire [7:0] limit,

    // The next frame to send, if there is one; `take` sends it.
    output wire available,
    output wire [7:0] seq,
    output logic [7:0] length,
    input wire take,

    // A byte of the frame taken last, two cycles after its place.
    input wire [7:0] place,
    output wire [7:0] data
);
  if (IDLE < 1) begin : g_idle
    $error("shell_ring: IDLE must be at least 1");
  end

  localparam int SLOT = $clog2(int'(shell_constants::SLOTS));
  localparam int TICK = $clog2(IDLE + 1);

  logic [7:0] first, sent, closed, offset;
  logic [SLOT-1:0] slot;
  logic open;
  logic [TICK-1:0] tick;

  wire put = s_valid && open;
  wire quiet = tick == '0 && sent == closed;
  assign s_ready = open;
  assign seq = sent;

  shell_memory #(
      .WIDTH(8),
      .DEPTH(256 << SLOT)
  ) u_memory (
      .clk(clk),
      .write(put),
      .write_address({closed[SLOT-1:0], offset}),
      .write_data(s_data),
      .read(1'b1),
      .read_address({slot, place}),
      .move(1'b1),
      .read_data(data)
  );

  // Filling: bytes go in while `open`; then the frame is closed, then the next slot must be free.
  logic [7:0] lengths[1 << SLOT];
  wire close = !open && offset != 8'd0;

  always_ff @(posedge clk) begin
    if (close) lengths[closed[SLOT-1:0]] <= offset;
    length <= lengths[sent[SLOT-1:0]];
    if (take) slot <= sent[SLOT-1:0];
  end

  always_ff @(posedge clk) begin
    if (put) begin
      offset <= offset + 8'd1;
      tick <= TICK'(IDLE);
      if (offset == shell_constants::PAYLOAD - 8'd1) open <= 1'b0;
    end else if (open) begin
      if (tick != '0) tick <= tick - 1'b1;
      if (quiet && offset != 8'd0) open <= 1'b0;
    end else if (close) begin
      closed <= closed + 8'd1;
      offset <= '0;
    end else begin
      open <= 8'(closed - first) != shell_constants::SLOTS;
    end
    if (rst) begin
      closed <= '0;
      offset <= '0;
      open <= 1'b0;
      tick <= '0;
    end
  end

  // Sending: `heard` takes two cycles to count, in which and after which `available` may be of before.
  logic [7:0] step, span, ahead, window, border, target;
  logic [2:0] stale;
  logic back, ready;

  assign available = ready && stale == '0;

  always_ff @(posedge clk) begin
    step <= ack - first;
    span <= closed - first;
    ahead <= sent - first;
    back <= resend;
    target <= ack;
    stale <= {stale[1:0], heard};
    if (take) sent <= sent + 8'd1;
    if (heard) border <= limit;
    if (stale[0] && step <= span) begin
      first <= target;
      if (back || ahead < step) sent <= target;
    end
    window <= border - sent;
    ready <= sent != closed && window != 8'd0 && !window[7] && !take;
    if (rst) begin
      first <= '0;
      sent <= '0;
      border <= '0;
      window <= '0;
      ready <= 1'b0;
    end
  end
endmodule

`default_nettype wire
