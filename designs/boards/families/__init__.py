"""From a top level to a bitstream with the open flow, for each family of parts that has one.

    built = implement(text, sources, load("icebreaker"), mhz=24, seed=1)
    built.bitstream, built.fmax_hz, built.met

    Yosys -> nextpnr for the family -> its packer: ecppack (.bit), icepack (.bin), gowin_pack (.fs), gmpack (.bit)

Each step is cached by its inputs and the versions of its tools. `xilinx` has no entry: its boards are built by projects
for the vendor's tools, see `designs.boards.vendor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from designs.boards import Board, BoardError, clocking
from designs.boards.clocking import Clocking
from designs.boards.families import ecp5, gatemate, gowin, ice40
from designs.boards.families.built import Built, Flow
from designs.flow import cache
from designs.flow.tools import FlowError

__all__ = ["FLOWS", "Built", "implement", "packages"]

FLOWS: dict[str, Flow] = {"ecp5": ecp5, "ice40": ice40, "gowin": gowin, "gatemate": gatemate}

#: Largest relative difference between the clock that a top was written for and the one that place and route worked to.
CLOCK_TOLERANCE = 1e-3


def implement(
    top_text: str,
    sources: Sequence[Path],
    board: Board,
    mhz: float,
    seed: int = 1,
    *,
    data: Sequence[Path] = (),
    top: str = "board_top",
    options: Sequence[str] = (),
) -> Built:
    """Build `top_text`, whose module is `top`, with the other `sources` for `board`.

    The text must hold `clocking.of(board, mhz).text`; the sources that this names are added. `data` are files that the
    sources read by name, `options` further ones of the family's nextpnr. A clock that is not met is no error: see
    `Built.met`. Errors: BoardError for a board without an open flow, PllError for a clock, FlowError with the tool's
    message, MissingTool.
    """
    clock = clocking.of(board, mhz)
    if board.family not in FLOWS:
        raise BoardError(f"{board.name}: no open flow for {board.family}; there is one for {', '.join(FLOWS)}")
    files = _files(top_text, sources, clock, top)
    built = FLOWS[board.family].implement(
        files, board, clock.frequency_hz / 1e6, seed, data=data, top=top, options=options
    )
    if abs(built.target_hz / clock.frequency_hz - 1) > CLOCK_TOLERANCE:
        raise FlowError(
            f"{board.name}: the top is for {clock.frequency_hz / 1e6:g} MHz, but place and route found a clock of "
            f"{built.target_hz / 1e6:g} MHz in it; log: {built.log}"
        )
    return built


def until_synthesised(
    top_text: str,
    sources: Sequence[Path],
    board: Board,
    mhz: float,
    *,
    data: Sequence[Path] = (),
    top: str = "board_top",
) -> None:
    """Return once `implement` has a netlist of this, for work that is not to slow its synthesis down.

    Of a family other than ECP5 at once. Errors: those of `implement`.
    """
    if board.family == "ecp5":
        ecp5.synthesise(_files(top_text, sources, clocking.of(board, mhz), top), data=data, top=top)


def packages(board: Board) -> tuple[str, ...]:
    """The tool packages whose versions belong into the provenance of a bitstream for `board`."""
    return FLOWS[board.family].PACKAGES


def _files(text: str, sources: Sequence[Path], clock: Clocking, top: str) -> list[Path]:
    return list(dict.fromkeys([*sources, *clock.sources, _written(text, top)]))


def _written(text: str, top: str) -> Path:
    """The top as a file that stays where it is, so that logs can name it."""

    def produce(folder: Path) -> None:
        (folder / f"{top}.sv").write_text(text)

    return cache.build({"step": "board top", "text": text, "top": top}, [], produce) / f"{top}.sv"
