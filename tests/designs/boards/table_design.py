"""A small real design for tests of configuration: its top, its bitstream by the open flow, its simulator."""

from __future__ import annotations

import tempfile
from pathlib import Path

from designs import boards
from designs.boards import top
from designs.boards.simulated import build_simulator, stuck_core
from designs.flow import ecppack, nextpnr, yosys
from designs.lib import source

BOARD = boards.load("ulx3s-25f")
BAUD = 3_000_000
MHZ = 24.0
_CORE = [Path(__file__).with_name("table_core.sv"), *source("credit_stream")]


def answer(data: bytes) -> bytes:
    """What the design sends back."""
    return bytes((37 * byte + 11) % 256 for byte in data)


def text() -> str:
    return top.uart_top("table_core", 8, 8, BOARD, MHZ, BAUD)


def bitstream(*, compress: bool = True, idcode: int | None = None) -> Path:
    """Place and route for the smallest part (from the cache after the first time), and pack."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "board_top.sv"
        written.write_text(text())
        synthesis = yosys.synth_ecp5("board_top", [*_CORE, *top.uart_top_sources(), written])
    routing = nextpnr.place_and_route(
        synthesis.json,
        device=BOARD.nextpnr,
        package=BOARD.package,
        speed=BOARD.speed,
        lpf=BOARD.constraints,
        clock=top.CLOCK,
    )
    if compress:
        return ecppack.pack(routing.textcfg, idcode=idcode or BOARD.idcode)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "routed.config"
        config = routing.textcfg.read_text()
        assert "COMPRESS_CONFIG ON" in config, "the pins of the board ask for compression"
        plain.write_text(config.replace("COMPRESS_CONFIG ON", "COMPRESS_CONFIG OFF"))
        return ecppack.pack(plain, compress=False, idcode=idcode or BOARD.idcode)


def simulator(*, stuck: bool = False) -> Path:
    """The program that the simulated board runs; with `stuck` around a core that never answers."""
    sources = [*_CORE, *top.uart_top_sources(simulated=True)]
    whole = text()
    if stuck:
        whole += stuck_core("table_core", 8, 8)
        sources = sources[1:]
    return build_simulator(whole, sources, BOARD, clocks_per_bit=top.clocks_per_bit(MHZ * 1e6, BAUD))
