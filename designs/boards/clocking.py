"""The clock of a design on a board: SystemVerilog that makes `clk` and `locked` out of the board's oscillator.

    clocking = of(load("ulx3s-85f"), 100)
    clocking.frequency_hz, clocking.text, clocking.sources, clocking.simulated_sources

In simulation a PLL is replaced by one that passes its input, so that one simulated cycle of the clock pin is one cycle
of `clk`, at whatever rate the simulator drives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from designs.boards import Board, BoardError
from designs.boards.pll import solve
from designs.lib import source

#: A clock that differs from the oscillator by no more than this fraction is the oscillator itself.
SAME = 1e-6


@dataclass(frozen=True)
class Clocking:
    """How a board's clock is made: the exact frequency in Hz, the text, and the modules that the text instantiates.

    `text` declares and drives `wire clk, locked;` from the board's clock port. `sources` go to synthesis,
    `simulated_sources` to a simulator. `how` says in words what makes the clock.
    """

    frequency_hz: float
    text: str
    sources: tuple[Path, ...]
    simulated_sources: tuple[Path, ...]
    how: str


def of(board: Board, mhz: float) -> Clocking:
    """Make a clock of about `mhz` (within 1 %) on `board`.

    Errors: PllError for a clock that the PLL cannot make, BoardError where the family has no PLL here.
    """
    if board.family == "ecp5":
        return _ecp5(board, mhz)
    if abs(mhz * 1e6 / board.clock_hz - 1) <= SAME:
        return _oscillator(board)
    raise BoardError(
        f"{board.name}: the design runs at the oscillator's {board.clock_hz / 1e6:g} MHz, not at {mhz:g}; "
        f"ask for {board.clock_hz / 1e6:g}"
    )


def _ecp5(board: Board, mhz: float) -> Clocking:
    pll = solve(board.clock_hz, mhz * 1e6)
    dividers = ", ".join(f".{key}({value})" for key, value in pll.parameters.items())
    return Clocking(
        frequency_hz=pll.frequency_hz,
        text=_instance("ecp5_pll", dividers, board.clock_port),
        sources=tuple(source("lattice/ecp5_pll")),
        simulated_sources=tuple(source("sim/ecp5_pll")),
        how=f"PLL of the ECP5 from {board.clock_hz / 1e6:g} MHz",
    )


def _instance(module: str, parameters: str, port: str) -> str:
    return f"  wire clk, locked;\n  {module} #({parameters}) u_pll (.clk_in({port}), .clk_out(clk), .locked(locked));\n"


def _oscillator(board: Board) -> Clocking:
    text = f"  wire clk, locked;\n  assign clk = {board.clock_port};\n  assign locked = 1'b1;\n"
    return Clocking(float(board.clock_hz), text, (), (), f"oscillator of {board.clock_hz / 1e6:g} MHz")
