"""The top level that puts a streaming core on a board behind its serial port.

    text = uart_top("track_core", in_bits=36, out_bits=64, board=load("ulx3s-85f"), clock_mhz=120)

    serial in -> bytes to word -> FIFO -> core -> FIFO -> word to bytes -> serial out

The core has ports clk, rst, s_axis_tvalid/tready/tdata/tlast and m_axis_*. A word travels as whole bytes, lowest first;
bits above the word are ignored on the way in and zero on the way out. There is no flow control on the serial line, so
the host keeps at most WORDS_IN_FLIGHT words outstanding. A break on the line (or any byte with a bad stop bit) starts
a new word, so that the host can align itself. The button resets everything. LEDs: 0 heartbeat, 1 out of reset,
2 line in is low, 3 line out is low, 4 a byte was lost or malformed since reset.

The clock domain of the core is `clk`: its Fmax out of place and route is what the design runs at on the board.
"""

from __future__ import annotations

from pathlib import Path

from designs.boards import Board, BoardError
from designs.boards.pll import Pll, solve
from designs.lib import source

#: Words that the host may have sent without having their answers.
WORDS_IN_FLIGHT = 16

#: Name of the clock domain of the core in the reports of place and route.
CLOCK = "clk"

_LIBRARY = ("reset_sync", "uart_rx", "uart_tx", "stream_pack", "stream_unpack", "stream_fifo")


def uart_top_sources(*, simulated: bool = False) -> list[Path]:
    """Library modules that a board top needs; with `simulated` the PLL is replaced by one that passes the clock."""
    return source(*_LIBRARY, "sim/ecp5_pll" if simulated else "lattice/ecp5_pll")


def clock(board: Board, clock_mhz: float) -> Pll:
    """The PLL setting of a top; `.frequency_hz` is the exact clock that it runs at."""
    return solve(board.clock_hz, clock_mhz * 1e6)


def clocks_per_bit(clock_hz: float, baud: int) -> int:
    """Clock cycles of one bit on the serial line; BoardError when rounding is off by more than 2 % or a bit too short.

    A byte is ten bits and is sampled in the middle of each, so both ends together may be off by 5 %.
    """
    cycles = round(clock_hz / baud)
    if cycles < 4:
        raise BoardError(f"{baud} baud needs a clock of at least {4 * baud / 1e6:g} MHz, not {clock_hz / 1e6:g}")
    error = abs(clock_hz / cycles / baud - 1)
    if error > 0.02:
        raise BoardError(
            f"{clock_hz / 1e6:g} MHz gives {baud} baud only within {error:.1%}; choose another rate or clock"
        )
    return cycles


def uart_top(
    core_module: str,
    in_bits: int,
    out_bits: int,
    board: Board,
    clock_mhz: float,
    baud: int | None = None,
    *,
    name: str = "board_top",
) -> str:
    """SystemVerilog of the top module `name` (see the module's text) for `board`.

    `in_bits` and `out_bits` are the widths of the core's words; the core runs at `clock_mhz`, the serial port at
    `baud` (default: the board's). Errors: BoardError for a rate or width that cannot be, PllError for the clock.
    """
    baud = baud or board.default_baud
    if baud > board.highest_baud:
        raise BoardError(f"{board.name}: {baud} baud is above the {board.highest_baud} of its serial port")
    if in_bits < 1 or out_bits < 1:
        raise BoardError(f"a core needs words of at least one bit, got {in_bits} in and {out_bits} out")
    pll = clock(board, clock_mhz)
    in_bytes, out_bytes = -(-in_bits // 8), -(-out_bits // 8)
    padding = 8 * out_bytes - out_bits
    answer = f"{{{padding}'b0, answer_data}}" if padding else "answer_data"
    high_ports = "".join(f",\n    output wire {port}" for port in board.high)
    high = "".join(f"  assign {port} = 1'b1;\n" for port in board.high)
    dividers = ", ".join(f".{key}({value})" for key, value in pll.parameters.items())
    state = f"trouble, !{board.uart_transmit}, !{board.uart_receive}, !rst, heartbeat[25]"
    return f"""\
// Written by designs.boards.top for {board.name}: {core_module} at {pll.frequency_hz / 1e6:g} MHz, {baud} baud.
`default_nettype none
module {name} (
    input wire {board.clock_port},
    input wire {board.reset_button},
    input wire {board.uart_receive},
    output wire {board.uart_transmit},
    output wire [{board.led_count - 1}:0] {board.leds}{high_ports}
);
  localparam int CLOCKS_PER_BIT = {clocks_per_bit(pll.frequency_hz, baud)};

  wire clk, locked, rst;

  ecp5_pll #({dividers}) u_pll (.clk_in({board.clock_port}), .clk_out(clk), .locked(locked));
  reset_sync u_reset (.clk(clk), .ready(locked && !{board.reset_button}), .rst(rst));

  wire rx_valid, rx_ready, frame_error, overrun;
  wire [7:0] rx_data;

  uart_rx #(.CLOCKS_PER_BIT(CLOCKS_PER_BIT)) u_rx (
      .clk(clk),
      .rst(rst),
      .rxd({board.uart_receive}),
      .m_axis_tvalid(rx_valid),
      .m_axis_tready(rx_ready),
      .m_axis_tdata(rx_data),
      .frame_error(frame_error),
      .overrun(overrun)
  );

  wire packed_valid, packed_ready, packed_last;
  wire [{8 * in_bytes - 1}:0] packed_data;

  stream_pack #(.BYTES({in_bytes})) u_pack (
      .clk(clk),
      .rst(rst || frame_error),
      .s_axis_tvalid(rx_valid),
      .s_axis_tready(rx_ready),
      .s_axis_tdata(rx_data),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(packed_valid),
      .m_axis_tready(packed_ready),
      .m_axis_tdata(packed_data),
      .m_axis_tlast(packed_last)
  );

  wire word_valid, word_ready, word_last;
  wire [{in_bits - 1}:0] word_data;

  stream_fifo #(.WIDTH({in_bits}), .DEPTH({WORDS_IN_FLIGHT})) u_words (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(packed_valid),
      .s_axis_tready(packed_ready),
      .s_axis_tdata(packed_data[{in_bits - 1}:0]),
      .s_axis_tlast(packed_last),
      .m_axis_tvalid(word_valid),
      .m_axis_tready(word_ready),
      .m_axis_tdata(word_data),
      .m_axis_tlast(word_last)
  );

  wire result_valid, result_ready, result_last;
  wire [{out_bits - 1}:0] result_data;

  {core_module} u_core (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(word_valid),
      .s_axis_tready(word_ready),
      .s_axis_tdata(word_data),
      .s_axis_tlast(word_last),
      .m_axis_tvalid(result_valid),
      .m_axis_tready(result_ready),
      .m_axis_tdata(result_data),
      .m_axis_tlast(result_last)
  );

  wire answer_valid, answer_ready, answer_last;
  wire [{out_bits - 1}:0] answer_data;

  // Registers on both sides of the core, so that its clock is its own and not the serial port's.
  stream_fifo #(.WIDTH({out_bits}), .DEPTH({WORDS_IN_FLIGHT})) u_answers (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(result_valid),
      .s_axis_tready(result_ready),
      .s_axis_tdata(result_data),
      .s_axis_tlast(result_last),
      .m_axis_tvalid(answer_valid),
      .m_axis_tready(answer_ready),
      .m_axis_tdata(answer_data),
      .m_axis_tlast(answer_last)
  );

  wire tx_valid, tx_ready, tx_last;
  wire [7:0] tx_data;

  stream_unpack #(.BYTES({out_bytes})) u_unpack (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(answer_valid),
      .s_axis_tready(answer_ready),
      .s_axis_tdata({answer}),
      .s_axis_tlast(answer_last),
      .m_axis_tvalid(tx_valid),
      .m_axis_tready(tx_ready),
      .m_axis_tdata(tx_data),
      .m_axis_tlast(tx_last)
  );

  uart_tx #(.CLOCKS_PER_BIT(CLOCKS_PER_BIT)) u_tx (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(tx_valid),
      .s_axis_tready(tx_ready),
      .s_axis_tdata(tx_data),
      .txd({board.uart_transmit})
  );

  logic [25:0] heartbeat;
  logic trouble;

  always_ff @(posedge clk) begin
    heartbeat <= rst ? '0 : heartbeat + 1'b1;
    trouble <= !rst && (trouble || frame_error || overrun);
  end

  wire unused = &{{1'b0, tx_last, packed_data}};

  assign {board.leds} = {board.led_count}'({{{state}}});
{high}endmodule
`default_nettype wire
"""
