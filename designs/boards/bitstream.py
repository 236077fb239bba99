"""The bitstream of a core in the shell, for a board: built once for its content, and kept with what it is.

    built = build(plan(core, load("ulx3s"), mhz=48, items=Items(1, 1)))
    built.path, built.sha256, built.design, built.clocking.frequency_hz

    Yosys -> nextpnr, the first seed that meets the clock -> packer

`designs.boards.kept` takes a bitstream that was built earlier.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compare.provenance import repo_root
from designs.boards import Board, BoardError, clocking, families
from designs.boards.clocking import PLLS, Clocking
from designs.boards.shell.top import Buffers, Items, design_hash, shell_sources, shell_top
from designs.boards.top import clocks_per_bit
from designs.flow.evidence import Core
from designs.lib import source
from workloads.api import Progress

#: Module of the whole design.
TOP = "board_top"

#: Seeds that are tried before a clock is given up.
SEEDS = 4

#: Bytes of the shell's memories on parts with few of them.
SMALL = Buffers(received=2048, words=2048, results=2048)

#: Content that is the same for every core of a board: what the shell, the clock and the pins are made from.
_CODE = ("bitstream", "clocking", "pll", "top")

#: Modules of the flow of a family, below designs/, besides those of all families.
_FLOWS: Mapping[str, tuple[str, ...]] = {
    "ecp5": ("boards/families/ecp5", "flow/nextpnr", "flow/ecppack"),
    "ice40": ("boards/families/ice40", "flow/ice40"),
    "gowin": ("boards/families/gowin", "boards/families/himbaechel"),
    "gatemate": ("boards/families/gatemate", "boards/families/himbaechel"),
}
_SHARED = ("boards/plls", "boards/families/__init__", "boards/families/built", "flow/yosys")

#: Lowest rate of the serial line that is taken, baud.
LOWEST_BAUD = 300


class ClockMissed(RuntimeError):
    """No seed met the clock; the message says what was reached, and the way out."""


@dataclass(frozen=True)
class Built:
    """A bitstream and all that its run depends on.

    `design` are the 32 hexadecimal digits that the shell tells; `seed`, `fmax_hz` and `options` (none: the tool's own)
    of the routing; `text` is the top, `sources` and `simulated_sources` are the other files of a synthesis and of a
    simulation.
    """

    core: Core
    board: Board
    items: Items
    clocking: Clocking
    baud: int
    path: Path
    sha256: str
    design: str
    seed: int
    fmax_hz: float
    text: str
    sources: tuple[Path, ...]
    simulated_sources: tuple[Path, ...]
    options: tuple[str, ...] = ()

    @property
    def clocks_per_bit(self) -> int:
        """Cycles of a bit on the serial line."""
        return clocks_per_bit(self.clocking.frequency_hz, self.baud)


@dataclass(frozen=True)
class Plan:
    """What is to be built, before any tool ran."""

    core: Core
    board: Board
    items: Items
    clocking: Clocking
    baud: int
    text: str

    @property
    def design(self) -> str:
        """The 32 hexadecimal digits that the shell tells."""
        return design_hash(self.core)

    @property
    def sources(self) -> tuple[Path, ...]:
        """Files of a synthesis, without the top."""
        return self._with(self.clocking.sources)

    @property
    def simulated_sources(self) -> tuple[Path, ...]:
        """Files of a simulation, without the top."""
        return self._with(self.clocking.simulated_sources)

    def _with(self, clock: Sequence[Path]) -> tuple[Path, ...]:
        return tuple(dict.fromkeys([*shell_sources(), *clock, *self.core.sources]))


@dataclass(frozen=True)
class Routed:
    """One seed's outcome: the clock that it reached, Hz, the packed file, and the options of place and route."""

    seed: int
    fmax_hz: float
    met: bool
    bitstream: Path
    options: tuple[str, ...] = ()


def plan(core: Core, board: Board, *, mhz: float, items: Items, baud: int | None = None) -> Plan:
    """The top level of a core on a board. Errors: BoardError for a clock or a rate that cannot be; PllError."""
    if board.flow != "open":
        raise BoardError(f"{board.name} is built with {board.flow}; see `gatewarp deploy --help` and docs/boards.md")
    if not (math.isfinite(mhz) and mhz > 0):
        raise BoardError(f"{board.name}: a clock of {mhz:g} MHz cannot be; give one above 0 with --clock")
    baud = board.highest_baud if baud is None else baud
    if baud < LOWEST_BAUD:
        raise BoardError(f"{board.name}: {baud:,} baud is below {LOWEST_BAUD}, the lowest; give more with --baud")
    if baud > board.highest_baud:
        raise BoardError(f"{board.name}: {baud:,} baud is above the {board.highest_baud:,} of its serial port")
    clock = clocking.of(board, mhz)
    clocks_per_bit(clock.frequency_hz, baud)
    buffers = None if board.family == "ecp5" else SMALL
    text = shell_top(core, board, clock, baud, name=TOP, items=items, buffers=buffers)
    return Plan(core, board, items, clock, baud, text)


def build(planned: Plan, *, seeds: int = SEEDS, options: Sequence[str] = (), progress: Progress | None = None) -> Built:
    """Synthesise, place, route and pack, or take it from the cache; the first seed that meets the clock counts.

    `options` are further ones of nextpnr for the first seed, such as quicker ones; the other seeds do without.
    Errors: ClockMissed; FlowError, for a design that does not fit the part as well; MissingTool.
    """
    reached = 0.0
    for seed in range(1, seeds + 1):
        if progress:
            progress("synthesise, place and route", seed - 1, seed)
        routed = _route(planned, seed, options if seed == 1 else ())
        if routed.met:
            if progress:
                progress("synthesise, place and route", seed, seed)
            return of(planned, routed)
        reached = max(reached, routed.fmax_hz)
    wanted, board = planned.clocking.frequency_hz, planned.board
    raise ClockMissed(
        f"{planned.core.case} on {board.name}: {seeds} seeds of the router reached {reached / 1e6:.1f} MHz at most, "
        f"the clock is {wanted / 1e6:g} MHz; give a lower one with --clock"
    )


def _route(planned: Plan, seed: int, options: Sequence[str]) -> Routed:
    made = families.implement(
        planned.text, planned.sources, planned.board, planned.clocking.frequency_hz / 1e6, seed,
        data=planned.core.memories, top=TOP, options=options,
    )  # fmt: skip
    return Routed(seed, made.fmax_hz, made.met, made.bitstream, made.options)


def until_synthesised(planned: Plan) -> None:
    """Return once `build` has synthesised; for work beside it that can as well be done beside place and route."""
    families.until_synthesised(
        planned.text, planned.sources, planned.board, planned.clocking.frequency_hz / 1e6,
        data=planned.core.memories, top=TOP,
    )  # fmt: skip


def of(planned: Plan, routed: Routed) -> Built:
    """What was planned, with a bitstream of it."""
    return Built(
        core=planned.core,
        board=planned.board,
        items=planned.items,
        clocking=planned.clocking,
        baud=planned.baud,
        path=routed.bitstream,
        sha256=hashlib.sha256(routed.bitstream.read_bytes()).hexdigest(),
        design=planned.design,
        seed=routed.seed,
        fmax_hz=routed.fmax_hz,
        text=planned.text,
        sources=planned.sources,
        simulated_sources=planned.simulated_sources,
        options=routed.options,
    )


def sources_of(board: Board) -> list[str]:
    """Repository-relative files that determine a bitstream besides those of its core: shell, clock, pins, flow."""
    root = repo_root()
    here = Path(__file__).parent
    files = [*shell_sources(), *(here / f"{name}.py" for name in _CODE), here / "shell/top.py", board.constraints]
    files += [path for path in (here / f"{board.name}.toml", here / f"later/{board.name}.toml") if path.is_file()]
    flow: tuple[str, ...] = ()
    if board.family in PLLS:
        files += source(PLLS[board.family])
        flow = (*_SHARED, *_FLOWS[board.family])
    own = [path.relative_to(root).as_posix() for path in files if path.is_relative_to(root)]
    return [*own, *(f"designs/{name}.py" for name in flow)]


def simulator(built: Built | Plan) -> Path:
    """The program of the simulated board for this design, from the cache or compiled. Errors: FlowError."""
    from designs.boards.simulated.simulator import build_simulator

    return build_simulator(
        built.text, built.simulated_sources, built.board,
        clocks_per_bit=clocks_per_bit(built.clocking.frequency_hz, built.baud), name=TOP, memories=built.core.memories,
    )  # fmt: skip
