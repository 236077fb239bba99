"""The top level that puts a streaming core behind the shell, and the shell behind a board's serial port.

    text = shell_top(core, board, clocking.of(board, 120), items=Items(1, 1))
    shelled(core, clock_hz=100e6, items=Items(1, 1))        the shell and the core alone, for other transports

The frames, the registers and their map are in `designs.boards.frames`. LEDs: 0 heartbeat, 1 out of reset, 2 line in is
low, 3 line out is low, 4 a frame was lost or damaged since reset; a board with fewer has the first ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from designs.boards import Board, BoardError, frames
from designs.boards.clocking import Clocking
from designs.boards.top import clocks_per_bit
from designs.flow.evidence import Core
from designs.lib import source

FOLDER = Path(__file__).resolve().parent

_MODULES = (
    "shell_constants",  # a package: first
    *("shell_crc", "shell_memory", "shell_fifo"),
    *("shell_decode", "shell_receive", "shell_input", "shell_control"),
    *("shell_ring", "shell_transmit", "shell_encode"),
    *("shell_count", "shell_span", "shell_items", "shell_latency", "shell_counters", "shell_registers"),
    "shell",
)
_LIBRARY = ("reset_sync", "uart_rx", "uart_tx", "stream_pack", "stream_unpack", "stream_fifo")


@dataclass(frozen=True)
class Items:
    """Words of the core's input and output streams that make one item; 0: items have no fixed length."""

    in_words: int
    out_words: int

    def __post_init__(self) -> None:
        if not (0 <= self.in_words < 65536 and 0 <= self.out_words < 65536):
            raise BoardError(f"items of {self.in_words} words in and {self.out_words} out; a register holds 0 to 65535")


@dataclass(frozen=True)
class Buffers:
    """Bytes of the shell's memories at most, rounded down to a power of two of words.

    `received` are frames that wait to become words, `words` and `results` wait before and behind the core.
    """

    received: int = 4096
    words: int = 16384
    results: int = 16384


def design_hash(core: Core) -> str:
    """What the registers DESIGN tell of a core: 32 hex digits of its digest, with zeros behind a shorter one."""
    return core.digest[:32].ljust(32, "0")


def shell_sources(board: Board | None = None) -> list[Path]:
    """SystemVerilog that `shell_top` needs besides the core's and the clocking's, in order.

    Without a board: for simulation, and for synthesis anywhere. With one: for synthesis, the best block RAM there is.
    """
    files = [*(FOLDER / f"{name}.sv" for name in _MODULES), *source(*_LIBRARY)]
    if board and board.family == "ecp5":
        files = [*source("lattice/shell_memory"), *(path for path in files if path.stem != "shell_memory")]
        files.sort(key=lambda path: path.stem != "shell_constants")  # the package first
    return files


def shelled(
    core: Core,
    *,
    clock_hz: float,
    idle: int = 1000,
    name: str = "shelled",
    items: Items | None = None,
    buffers: Buffers | None = None,
) -> str:
    """SystemVerilog of the module `name`: the core in its shell, bytes on both sides, no transport.

    Ports: clk, rst, rx_valid, rx_ready, rx_data, tx_valid, tx_ready, tx_data (bytes of frames), frame_error, overrun
    (pulses of a serial receiver, or 0), trouble (pulse). `idle`: cycles without a result after which a frame that is
    not full is sent. Errors: BoardError, ValueError for a name that the register does not hold.
    """
    inside = _inside(core, clock_hz, idle, items or Items(1, 1), buffers or Buffers())
    return f"""\
// Written by designs.boards.shell.top: {core.top} in its shell.
`default_nettype none

module {name} (
    input wire clk,
    input wire rst,
    input wire rx_valid,
    output wire rx_ready,
    input wire [7:0] rx_data,
    output wire tx_valid,
    input wire tx_ready,
    output wire [7:0] tx_data,
    input wire frame_error,
    input wire overrun,
    output wire trouble
);
{inside}endmodule

`default_nettype wire
"""


def shell_top(
    core: Core,
    board: Board,
    clocking: Clocking,
    baud: int | None = None,
    *,
    name: str = "board_top",
    items: Items | None = None,
    buffers: Buffers | None = None,
) -> str:
    """SystemVerilog of the module `name` with the pins of `board`, the core and its shell in it.

    The serial port runs at `baud`, by default the board's highest. Errors: BoardError for a rate that the clock or the
    board cannot do, and those of `shelled`.
    """
    baud = baud or board.highest_baud
    if baud > board.highest_baud:
        raise BoardError(f"{board.name}: {baud} baud is above the {board.highest_baud} of its serial port")
    cycles = clocks_per_bit(clocking.frequency_hz, baud)
    inside = _inside(core, clocking.frequency_hz, 20 * cycles, items or Items(1, 1), buffers or Buffers())
    ports = [f"input wire {board.clock_port}", f"input wire {board.uart_receive}", f"output wire {board.uart_transmit}"]
    ports += [f"input wire {board.reset_button}"] if board.reset_button else []
    ports += [f"output wire [{board.led_count - 1}:0] {board.leds}"] if board.led_count else []
    ports += [f"output wire {port}" for port in board.high]
    pressed = f" && {board.reset_button} != 1'b{board.reset_pressed}" if board.reset_button else ""
    # Bit by bit: Yosys does not take the complement of a cast.
    states = ["heartbeat[25]", "!rst", f"!{board.uart_receive}", f"!{board.uart_transmit}", "troubled"]
    lit = (states + ["1'b0"] * board.led_count)[: board.led_count]
    dark = "~" if not board.led_on else ""
    lights = f"  assign {board.leds} = {dark}{{{', '.join(reversed(lit))}}};\n" if board.led_count else ""
    high = "".join(f"  assign {port} = 1'b1;\n" for port in board.high)
    separator = ",\n    "
    return f"""\
// Written by designs.boards.shell.top for {board.name}: {core.top} at {clocking.frequency_hz / 1e6:g} MHz, {baud} baud.
`default_nettype none

module {name} (
    {separator.join(ports)}
);
  localparam int CLOCKS_PER_BIT = {cycles};

{clocking.text}
  wire rst;
  reset_sync u_reset (.clk(clk), .ready(locked{pressed}), .rst(rst));

  wire rx_valid, rx_ready, tx_valid, tx_ready, frame_error, overrun, trouble;
  wire [7:0] rx_data, tx_data;

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

{inside}
  uart_tx #(.CLOCKS_PER_BIT(CLOCKS_PER_BIT)) u_tx (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(tx_valid),
      .s_axis_tready(tx_ready),
      .s_axis_tdata(tx_data),
      .txd({board.uart_transmit})
  );

  logic [25:0] heartbeat;
  logic troubled;

  always_ff @(posedge clk) begin
    heartbeat <= rst ? '0 : heartbeat + 1'b1;
    troubled <= !rst && (troubled || trouble);
  end

{lights}{high}endmodule

`default_nettype wire
"""


def _inside(core: Core, clock_hz: float, idle: int, items: Items, buffers: Buffers) -> str:
    """The shell and the core between the signals rx_*, tx_*, frame_error, overrun and trouble."""
    if core.in_bits < 1 or core.out_bits < 1:
        raise BoardError(f"a core needs words of at least one bit, got {core.in_bits} in and {core.out_bits} out")
    in_bytes, out_bytes = -(-core.in_bits // 8), -(-core.out_bits // 8)
    in_depth, out_depth = _words(buffers.words, in_bytes), _words(buffers.results, out_bytes)
    words = frames.identification(
        design=design_hash(core),
        name=f"{core.workload}/{core.case}",
        clock_hz=round(clock_hz),
        words_in=(in_bytes, items.in_words),
        words_out=(out_bytes, items.out_words),
        fifos=(in_depth * in_bytes, out_depth * out_bytes),
    )
    identification = "".join(f"{word:08x}" for word in reversed(words))
    return f"""\
  wire core_rst, in_valid, in_ready, out_valid, out_ready, out_last;
  wire [{core.in_bits - 1}:0] in_data;
  wire [{core.out_bits - 1}:0] out_data;

  shell #(
      .IN_BITS({core.in_bits}),
      .OUT_BITS({core.out_bits}),
      .IN_ITEM({items.in_words}),
      .OUT_ITEM({items.out_words}),
      .IN_DEPTH({in_depth}),
      .OUT_DEPTH({out_depth}),
      .FRAME_BYTES({_words(buffers.received, 1)}),
      .IDLE({idle}),
      .IDENTIFICATION(576'h{identification})
  ) u_shell (
      .clk(clk),
      .rst(rst),
      .rx_valid(rx_valid),
      .rx_ready(rx_ready),
      .rx_data(rx_data),
      .tx_valid(tx_valid),
      .tx_ready(tx_ready),
      .tx_data(tx_data),
      .frame_error(frame_error),
      .overrun(overrun),
      .trouble(trouble),
      .core_rst(core_rst),
      .core_in_valid(in_valid),
      .core_in_ready(in_ready),
      .core_in_data(in_data),
      .core_out_valid(out_valid),
      .core_out_ready(out_ready),
      .core_out_data(out_data)
  );

  {core.top} u_core (
      .clk(clk),
      .rst(core_rst),
      .s_axis_tvalid(in_valid),
      .s_axis_tready(in_ready),
      .s_axis_tdata(in_data),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(out_valid),
      .m_axis_tready(out_ready),
      .m_axis_tdata(out_data),
      .m_axis_tlast(out_last)
  );

  wire unused = &{{1'b0, out_last}};
"""


def _words(size: int, word: int) -> int:
    """Words of `word` bytes in at most `size` bytes, a power of two of at least 16."""
    return int(1 << max((size // word).bit_length() - 1, 4))
