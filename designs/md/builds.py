"""Engines onto boards and parts: placed and routed on a board, counted after synthesis on a part of UltraScale+."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from compare.record import Record
from designs import boards
from designs.flow.evidence import build_on_board
from designs.flow.parts import DoesNotFit
from designs.flow.ultrascale import UltraPart, part, synthesised
from designs.md import config
from designs.md.evidence import core_of, sources_of
from designs.md.generate import generate
from designs.md.port import narrow
from workloads.api import Progress

#: Case by board, and the clock that place and route works towards; the PLL gives the nearest it can.
BOARDS: Mapping[str, Mapping[str, float]] = {"ulx3s-85f": {"lj864": 60.0}}

#: Of nextpnr: its default placer makes wires half as long again, and router1 does not come to an end on them.
OPTIONS = ("--placer", "static", "--router", "router2")

#: Seeds, by case, whose routing was given up: after four minutes of router2's time, in which seed 2 was done, 9,190
#: wires were in conflict, and a round took longer than the one before.
WITHOUT_END: Mapping[str, tuple[int, ...]] = {"lj864": (1,)}

#: Cases by part.
PARTS: Mapping[str, tuple[str, ...]] = {"xcvu9p": ("argon20k",)}

#: Modules of which there are many, equal, and which are synthesised once.
KEPT = ("md_worker", "rom")


def fits(case: str, board: str) -> bool:
    """Whether a case has an engine for a board."""
    return case in BOARDS.get(boards.load(board).name, {})


def build(
    name: str, case: str, *, board: str, seeds: int, out: Path | None, progress: Progress | None
) -> Iterator[Record]:
    """Place and route a case behind the board's serial port; see `designs.flow.evidence.build_on_board`.

    Errors: DoesNotFit before any tool runs, BoardError, FlowError, MissingTool.
    """
    if not fits(case, board):
        engine = config.engine_of(case)
        able = BOARDS.get(boards.load(board).name, {})
        raise DoesNotFit(
            f"{case}: {engine} is too large for {boards.load(board).part}; cases with an engine for {board}: "
            f"{', '.join(able) or 'none'}"
        )
    design = generate(case)
    yield build_on_board(
        narrow(core_of(name, design)), board=board, mhz=BOARDS[boards.load(board).name][case],
        sources=[*sources_of(name, design), _SELF, "designs/md/port.py", "designs/lib/stream_width.sv"],
        seeds=seeds, without_end=WITHOUT_END.get(case, ()), options=OPTIONS, out=out,
        progress=progress,
    )  # fmt: skip


def fits_part(case: str, name: str) -> bool:
    """Whether a case has an engine for a part. Errors: UnknownNameError."""
    return case in PARTS.get(part(name).name, ())


def build_part(implementation: str, case: str, *, part: str, progress: Progress | None) -> Iterator[Record]:
    """Resources of the engine that is meant for a part.

    Errors: UnknownNameError; BoardError for a part that needs a board; DoesNotFit; FlowError, MissingTool.
    """
    chosen = _part(part)
    if any(boards.load(board).part == part for board in BOARDS):
        raise boards.BoardError(f"{part} is placed and routed for a board; boards: {', '.join(boards.names())}")
    if not fits_part(case, part) or not isinstance(chosen, UltraPart):
        raise DoesNotFit(
            f"{case}: no engine of it is meant for {part}; there are "
            + ", ".join(f"{each} for {', '.join(able)}" for each, able in PARTS.items())
        )
    design = generate(case)
    yield synthesised(
        core_of(implementation, design), chosen, keep=KEPT, sources=[*sources_of(implementation, design), _SELF],
        progress=progress,
    )  # fmt: skip


_part = part
_SELF = "designs/md/builds.py"
