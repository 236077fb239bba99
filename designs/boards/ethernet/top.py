"""The top level that puts a streaming core behind the shell, and the shell behind a board's Ethernet socket.

    text = ethernet_top(core, board, clocking.of(board, 48), pins.load(board), Address.of(None))

LEDs: 0 heartbeat, 1 out of reset, 2 bytes come in, 3 bytes go out, 4 a frame was lost or damaged since reset; a board
with fewer has the first ones. The serial port stays silent.
"""

from __future__ import annotations

from pathlib import Path

from designs.boards import Board
from designs.boards.clocking import Clocking
from designs.boards.ethernet.address import Address
from designs.boards.ethernet.pins import PORTS, Pins
from designs.boards.shell.top import Buffers, Items, shelled
from designs.flow.evidence import Core
from designs.lib import source

FOLDER = Path(__file__).resolve().parent

#: Cycles without a result after which the shell sends a frame that is not full.
IDLE = 128

_MODULES = ("eth_receive", "eth_transmit", "eth_cut", "eth_udp", "eth_rgmii")


def ethernet_sources(*, simulated: bool = False) -> list[Path]:
    """SystemVerilog between the pins and the shell, whose own sources come besides."""
    pins = ("sim/ddr_in", "sim/ddr_out") if simulated else ("lattice/ddr_in", "lattice/ddr_out")
    return [*source("async_fifo", *pins), *(FOLDER / f"{name}.sv" for name in _MODULES)]


def ethernet_top(
    core: Core,
    board: Board,
    clocking: Clocking,
    pins: Pins,
    address: Address,
    *,
    name: str = "board_top",
    items: Items | None = None,
    buffers: Buffers | None = None,
) -> str:
    """SystemVerilog of the module `name` with the pins of `board` and of its PHY. Errors: those of `shelled`."""
    inside = shelled(core, clock_hz=clocking.frequency_hz, idle=IDLE, items=items, buffers=buffers)
    ports = [f"input wire {board.clock_port}", f"input wire {board.uart_receive}", f"output wire {board.uart_transmit}"]
    ports += [f"input wire {board.reset_button}"] if board.reset_button else []
    ports += [f"output wire [{board.led_count - 1}:0] {board.leds}"] if board.led_count else []
    ports += [f"output wire {port}" for port in board.high]
    for port, width in PORTS.items():
        way = "input" if "_rx" in port else "output"
        ports.append(f"{way} wire {f'[{width - 1}:0] ' if width > 1 else ''}{port}")
    pressed = f" && {board.reset_button} != 1'b{board.reset_pressed}" if board.reset_button else ""
    lit = (["heartbeat[25]", "!rst", "seen[0]", "seen[1]", "troubled"] + ["1'b0"] * board.led_count)[: board.led_count]
    dark = "~" if not board.led_on else ""
    lights = f"  assign {board.leds} = {dark}{{{', '.join(reversed(lit))}}};\n" if board.led_count else ""
    high = "".join(f"  assign {port} = 1'b1;\n" for port in board.high)
    rgmii = ", ".join(f".{port}({port})" for port in PORTS)
    separator = ",\n    "
    return f"""\
{inside}
// Written by designs.boards.ethernet.top for {board.name}: {core.top}, {clocking.frequency_hz / 1e6:g} MHz, {address}.
`default_nettype none

module {name} (
    {separator.join(ports)}
);
{clocking.text}
  wire ready = locked{pressed};
  wire rst, eth_clk, eth_rst, phy_valid, phy_error, out_valid;
  wire [7:0] phy_data, out_data;
  reset_sync u_reset (.clk(clk), .ready(ready), .rst(rst));
  reset_sync u_eth_reset (.clk(eth_clk), .ready(ready), .rst(eth_rst));

  eth_rgmii #(.TX_DELAY({pins.transmit_taps}), .RX_DELAY({pins.receive_taps})) u_phy (
      .clk(clk),
      .rst(rst),
      {rgmii},
      .eth_clk(eth_clk),
      .rx_valid(phy_valid),
      .rx_error(phy_error),
      .rx_data(phy_data),
      .tx_valid(out_valid),
      .tx_data(out_data)
  );

  wire rx_valid, rx_ready, tx_valid, tx_ready, trouble;
  wire [7:0] rx_data, tx_data;

  eth_udp #(
      .MAC(48'h{address.mac.hex()}),
      .IP(32'h{address.ip.packed.hex()}),
      .PORT(16'd{address.port})
  ) u_udp (
      .eth_clk(eth_clk),
      .eth_rst(eth_rst),
      .rx_valid(phy_valid),
      .rx_error(phy_error),
      .rx_data(phy_data),
      .tx_valid(out_valid),
      .tx_data(out_data),
      .clk(clk),
      .rst(rst),
      .m_valid(rx_valid),
      .m_ready(rx_ready),
      .m_data(rx_data),
      .s_valid(tx_valid),
      .s_ready(tx_ready),
      .s_data(tx_data)
  );

  shelled u_shelled (
      .clk(clk),
      .rst(rst),
      .rx_valid(rx_valid),
      .rx_ready(rx_ready),
      .rx_data(rx_data),
      .tx_valid(tx_valid),
      .tx_ready(tx_ready),
      .tx_data(tx_data),
      .frame_error(1'b0),
      .overrun(1'b0),
      .trouble(trouble)
  );

  logic [25:0] heartbeat;
  logic [1:0] moved, seen;
  logic troubled;

  // LEDs show what moved in the last 2^22 cycles.
  always_ff @(posedge clk) begin
    heartbeat <= rst ? '0 : heartbeat + 1'b1;
    troubled <= !rst && (troubled || trouble);
    moved <= (heartbeat[21:0] == '0 ? 2'b00 : moved) | {{tx_valid, rx_valid}};
    if (heartbeat[21:0] == '0) seen <= moved;
  end

  assign {board.uart_transmit} = 1'b1;
{lights}{high}
  wire unused = &{{1'b0, {board.uart_receive}, heartbeat, seen, troubled}};
endmodule

`default_nettype wire
"""
