// UART receiver, 8 data bits, no parity, 1 stop bit, sampled in the middle of each bit; bytes out as a stream.
// A byte whose stop bit is low is dropped and `frame_error` pulses for one cycle (a break does the same, once).
// There is no flow control on the line: a byte that arrives while the last one still waits is lost, `overrun` pulses.
`default_nettype none

module uart_rx #(
    // Clock cycles of one bit, at least 4: the clock over the baud rate, rounded.
    parameter int CLOCKS_PER_BIT = 25
) (
    input wire clk,
    input wire rst,

    input wire rxd,

    output logic m_axis_tvalid,
    input wire m_axis_tready,
    output logic [7:0] m_axis_tdata,

    output logic frame_error,
    output logic overrun
);
  if (CLOCKS_PER_BIT < 4) begin : g_clocks
    $error("uart_rx: CLOCKS_PER_BIT must be at least 4");
  end

  localparam int TICK = $clog2(CLOCKS_PER_BIT + CLOCKS_PER_BIT / 2);

  logic [1:0] synchronised;  // the pin belongs to no clock
  logic busy, armed;  // armed: the line was high since the last byte, so that a low is a start bit
  logic [TICK-1:0] tick;  // cycles to the next sample
  logic [3:0] left;  // samples left after the next one
  logic [7:0] bits;

  wire line = synchronised[1];
  wire sample = busy && tick == '0;
  wire stop = sample && left == 4'd0;

  always_ff @(posedge clk) begin
    synchronised <= {synchronised[0], rxd};
    if (sample) bits <= {line, bits[7:1]};
    if (stop && (!m_axis_tvalid || m_axis_tready)) m_axis_tdata <= bits;
  end

  always_ff @(posedge clk) begin
    frame_error <= 1'b0;
    overrun <= 1'b0;
    if (m_axis_tready) m_axis_tvalid <= 1'b0;
    if (!busy) begin
      armed <= armed || line;
      if (armed && !line) begin
        busy <= 1'b1;
        tick <= TICK'(CLOCKS_PER_BIT + CLOCKS_PER_BIT / 2 - 2);  // to the middle of the first data bit
        left <= 4'd8;
      end
    end else if (!sample) begin
      tick <= tick - 1'b1;
    end else if (!stop) begin
      tick <= TICK'(CLOCKS_PER_BIT - 1);
      left <= left - 1'b1;
    end else begin
      busy <= 1'b0;
      armed <= line;
      frame_error <= !line;
      overrun <= line && m_axis_tvalid && !m_axis_tready;
      if (line) m_axis_tvalid <= 1'b1;
    end
    if (rst) begin
      busy <= 1'b0;
      armed <= 1'b0;
      tick <= '0;
      left <= '0;
      m_axis_tvalid <= 1'b0;
    end
  end
endmodule

`default_nettype wire
