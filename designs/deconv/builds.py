"""Designs onto boards and parts: placed and routed on a board, counted after synthesis on a part of Xilinx."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from compare.record import Record
from designs import boards
from designs.deconv import config
from designs.deconv.config import Dataflow, Engine
from designs.deconv.evidence import core_of, sources_of
from designs.deconv.generate import generate
from designs.deconv.port import narrow
from designs.flow import parts
from designs.flow.evidence import build_on_board
from designs.flow.on_part import Piece, synthesised
from designs.flow.parts import DoesNotFit
from workloads.api import Progress

#: Clock by case that place and route works towards, and that the PLL makes exactly; the best of ten seeds meets it.
BOARD_MHZ = {"digits": 125.0, "mnist": 115.0}

#: Seeds, by case, with which the router of nextpnr does not come to an end: 121 connections were left after 100 s of
#: its time, and still after eight minutes more.
WITHOUT_END: Mapping[str, tuple[int, ...]] = {"digits": (7,)}

#: Modules that stay modules on a part: those of which there are many, equal, and which are synthesised once; and large
#: ones, for the array of 2,048 is more than the mapping of one flat netlist gets done with.
KEPT = (
    "deconv_lane", "deconv_bank", "deconv_sums", "deconv_finish", "rom",
    "deconv_array", "deconv_drain", "deconv_load", "deconv_memory", "deconv_place", "deconv_rotate", "deconv_scatter",
    "deconv_store", "deconv_tiles", "deconv_weights",
)  # fmt: skip

#: Part of the boards here.
BOARDS: Mapping[str, str] = {"lfe5u-85f": "ulx3s"}


def board_engine(dataflow: Dataflow, case: str, board: str) -> Engine | None:
    """The engine of a case for a board, or None."""
    family = BOARDS.get(boards.load(board).part)
    found = (engine for engine in config.engines(dataflow, case) if engine.name == f"{family}_{case}")
    return next(found, None)


def fits(dataflow: Dataflow, case: str, board: str) -> bool:
    """Whether a case has an engine for a board: with weights on the chip, for a serial port cannot stream them."""
    return board_engine(dataflow, case, board) is not None


def build(
    name: str, dataflow: Dataflow, case: str, *, board: str, seeds: int, out: Path | None, progress: Progress | None
) -> Iterator[Record]:
    """Place and route a case behind the board's serial port; see `designs.flow.evidence.build_on_board`.

    Errors: DoesNotFit before any tool runs, BoardError, FlowError, MissingTool.
    """
    engine = board_engine(dataflow, case, board)
    if engine is None:
        fitting = [each for each in config.ENGINES_OF[dataflow] if fits(dataflow, each, board)]
        raise DoesNotFit(
            f"{case}: its weights do not fit on {boards.load(board).part}, and the serial port of {board} is too slow "
            f"to stream them; cases that fit: {', '.join(fitting)}"
        )
    design = generate(case, engine)
    yield build_on_board(
        narrow(core_of(name, design)), board=board, mhz=BOARD_MHZ[case], sources=[*sources_of(name, design), *_BOARD],
        seeds=seeds, without_end=WITHOUT_END.get(case, ()), out=out, progress=progress,
    )  # fmt: skip


def fits_part(dataflow: Dataflow, case: str, part: str, engines: Mapping[str, str]) -> bool:
    """Whether a case has an engine for a part."""
    parts.part(part)
    return part in engines and engines[part] in config.ENGINES_OF[dataflow][case]


def build_part(
    name: str, dataflow: Dataflow, case: str, *, part: str, engines: Mapping[str, str], progress: Progress | None
) -> Iterator[Record]:
    """Resources of the engine that is meant for a part; it is the same for all cases but for its table.

    Errors: UnknownNameError; BoardError for a part that needs a board; DoesNotFit; FlowError, MissingTool.
    """
    chosen = parts.part(part)
    if part in BOARDS:
        raise boards.BoardError(f"{part} is placed and routed for a board; boards: {', '.join(boards.names())}")
    if not fits_part(dataflow, case, part, engines):
        meant = ", ".join(f"{each} for {engine}" for each, engine in engines.items())
        raise DoesNotFit(f"{case}: {dataflow} has no engine for {part} that does this case; there are {meant}")
    design = generate(case, config.preset(dataflow, engines[part]))
    piece = Piece("engine", design.top, design.sources, design.memories, KEPT)
    record = synthesised(
        core_of(name, design), chosen, [piece], sources=[*sources_of(name, design), _SELF], progress=progress
    )
    said = {key: value for key, value in record.conditions.items() if key != "layers"}
    yield replace(record, conditions={**said, "resources_of": "the engine, synthesised out of context"})


_SELF = "designs/deconv/builds.py"
_BOARD = (_SELF, "designs/deconv/port.py", "designs/lib/stream_width.sv")
