"""The clock of a design on a board: SystemVerilog that makes `clk` and `locked` out of the board's oscillator.

    clocking = of(load("ulx3s-85f"), 100)
    clocking.frequency_hz, clocking.text, clocking.sources, clocking.simulated_sources

In simulation a PLL is replaced by one that passes its input, so that one simulated cycle of the clock pin is one cycle
of `clk`, at whatever rate the simulator drives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from designs.boards import Board, BoardError
from designs.boards.pll import PllError, solve
from designs.boards.plls import solve_gowin, solve_ice40
from designs.lib import source

#: Module of the PLL of a family, below designs/lib; its stand-in for simulation has the same name below sim/.
PLLS: Mapping[str, str] = {
    "ecp5": "lattice/ecp5_pll",
    "ice40": "lattice/ice40_pll",
    "gowin": "gowin/gowin_pll",
    "gatemate": "gatemate/gatemate_pll",
}

#: A clock that differs from the oscillator by no more than this fraction is the oscillator itself.
SAME = 1e-6

#: Lowest and highest output of GateMate's PLL that is asked for here, in MHz: well inside what the data sheet allows in
#: each performance mode (DS1001).
GATEMATE_MHZ = (2.0, 250.0)


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
    """Make a clock of about `mhz` (within 1 %) on `board`: a PLL's, or the oscillator itself where it is that one.

    An ECP5 always has its PLL. GateMate's place and route finds the dividers itself, so that here only the limits of
    the output are checked; `designs.boards.families` compares what it found. Errors: PllError for a clock that the PLL
    cannot make, BoardError for a board whose clock the vendor's tools make.
    """
    if board.family == "ecp5":
        pll = solve(board.clock_hz, mhz * 1e6)
        return _pll(board, pll.parameters, pll.frequency_hz)
    if board.family not in PLLS:
        raise BoardError(f"{board.name}: the clock of a {board.family} board is made in its vendor project")
    if abs(mhz * 1e6 / board.clock_hz - 1) <= SAME:
        return _oscillator(board)
    if board.family == "ice40":
        ice40 = solve_ice40(board.clock_hz, mhz * 1e6)
        return _pll(board, ice40.parameters, ice40.frequency_hz)
    if board.family == "gowin":
        device = board.part.upper()
        gowin = solve_gowin(board.clock_hz, mhz * 1e6, device)
        texts = {"FCLKIN": f'"{board.clock_hz / 1e6:g}"', "DEVICE": f'"{device}"'}
        return _pll(board, {**texts, **gowin.parameters}, gowin.frequency_hz)
    wanted = round(mhz, 4)
    if not GATEMATE_MHZ[0] <= wanted <= GATEMATE_MHZ[1]:
        raise PllError(
            f"a clock of {mhz:g} MHz is outside what the PLL gives, {GATEMATE_MHZ[0]:g} to {GATEMATE_MHZ[1]:g} MHz"
        )
    texts = {"REF_CLK": f'"{float(board.clock_hz / 1e6)}"', "OUT_CLK": f'"{float(wanted)}"'}
    return _pll(board, texts, wanted * 1e6)


def _pll(board: Board, parameters: Mapping[str, int | str], frequency_hz: float) -> Clocking:
    name = PLLS[board.family]
    module = name.rpartition("/")[2]
    given = ", ".join(f".{key}({value})" for key, value in parameters.items())
    instance = f"{module} #({given}) u_pll (.clk_in({board.clock_port}), .clk_out(clk), .locked(locked));"
    return Clocking(
        frequency_hz=frequency_hz,
        text=f"  wire clk, locked;\n  {instance}\n",
        sources=tuple(source(name)),
        simulated_sources=tuple(source(f"sim/{module}")),
        how=f"PLL of the {board.family.upper()} from {board.clock_hz / 1e6:g} MHz",
    )


def _oscillator(board: Board) -> Clocking:
    text = f"  wire clk, locked;\n  assign clk = {board.clock_port};\n  assign locked = 1'b1;\n"
    return Clocking(float(board.clock_hz), text, (), (), f"oscillator of {board.clock_hz / 1e6:g} MHz")
