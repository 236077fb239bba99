// UART transmitter, 8 data bits, no parity, 1 stop bit; bytes in as a stream, the next one right after the stop bit.
// s_axis_tready is a register.
`default_nettype none

module uart_tx #(
    // Clock cycles of one bit, at least 4: the clock over the baud rate, rounded.
    parameter int CLOCKS_PER_BIT = 25
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output logic s_axis_tready,
    input wire [7:0] s_axis_tdata,

    output logic txd
);
  if (CLOCKS_PER_BIT < 4) begin : g_clocks
    $error("uart_tx: CLOCKS_PER_BIT must be at least 4");
  end

  localparam int TICK = $clog2(CLOCKS_PER_BIT);

  logic [TICK-1:0] tick;  // cycles left of this bit
  logic [3:0] left;  // bits left after this one
  logic [8:0] bits;  // the bits still to go, the next one lowest; ones follow

  wire bit_over = tick == '0;
  wire take = s_axis_tvalid && s_axis_tready;

  always_ff @(posedge clk) begin
    if (take) bits <= {1'b1, s_axis_tdata};
    else if (bit_over) bits <= {1'b1, bits[8:1]};
  end

  always_ff @(posedge clk) begin
    s_axis_tready <= !take && left == 4'd0 && tick[TICK-1:1] == '0;  // ready in the last cycle of the stop bit
    if (take) begin
      txd  <= 1'b0;  // start bit
      tick <= TICK'(CLOCKS_PER_BIT - 1);
      left <= 4'd9;
    end else if (!bit_over) begin
      tick <= tick - 1'b1;
    end else if (left != 4'd0) begin
      txd  <= bits[0];
      tick <= TICK'(CLOCKS_PER_BIT - 1);
      left <= left - 1'b1;
    end
    if (rst) begin
      txd  <= 1'b1;
      tick <= '0;
      left <= '0;
      s_axis_tready <= 1'b0;
    end
  end
endmodule

`default_nettype wire
