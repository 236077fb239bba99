"""Designs onto boards and parts: placed and routed on a board, counted after synthesis on a part of Xilinx."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from compare.record import Record
from designs import boards
from designs.deconv import config
from designs.deconv.compiler_plan import check, check_resident
from designs.deconv.config import Dataflow, Engine, EngineError
from designs.deconv.evidence import core_of, sources_of
from designs.deconv.generate import generate
from designs.deconv.port import narrow
from designs.flow import parts
from designs.flow.evidence import build_on_board
from designs.flow.on_part import Piece, synthesised
from designs.flow.parts import DoesNotFit
from workloads.api import Progress
from workloads.deconv import parameters

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
        raise DoesNotFit(f"{case}: {_too_large_for_board(dataflow, case, board)}")
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
        raise DoesNotFit(f"{case}: {_not_for_part(dataflow, case, part, engines)}")
    design = generate(case, config.preset(dataflow, engines[part]))
    piece = Piece("engine", design.top, design.sources, design.memories, KEPT)
    record = synthesised(
        core_of(name, design), chosen, [piece], sources=[*sources_of(name, design), _SELF], progress=progress
    )
    said = {key: value for key, value in record.conditions.items() if key != "layers"}
    yield replace(record, conditions={**said, "resources_of": "the engine, synthesised out of context"})


def _too_large_for_board(dataflow: Dataflow, case: str, board: str) -> str:
    """Layer, value and limit of the largest engine for the board, and what does fit."""
    part = boards.load(board).part
    meant = [
        e for (flow, _), e in config.PRESETS.items() if flow == dataflow and e.name.startswith(f"{BOARDS.get(part)}_")
    ]
    if not meant:
        return f"{dataflow} has no engine for {part}; parts that it has one for, on a board: {', '.join(BOARDS)}"
    largest = max(meant, key=lambda engine: engine.w_words)
    fitting = ", ".join(each for each in config.ENGINES_OF[dataflow] if fits(dataflow, each, board))
    try:
        check_resident(parameters.fixed(case, largest.bits).layers, largest)
    except EngineError as error:
        return (
            f"{error}; no engine for {part} holds more, and the serial port of {board} is too slow to stream weights; "
            f"cases that fit: {fitting}"
        )
    return f"{dataflow} has no engine for {part} that is made for it; cases with one: {fitting}"


def _not_for_part(dataflow: Dataflow, case: str, part: str, engines: Mapping[str, str]) -> str:
    """Layer, value and limit of the engine for the part, or why there is none, and which there are."""
    able = {
        each: [c for c, names in config.ENGINES_OF[dataflow].items() if name in names] for each, name in engines.items()
    }
    if part not in engines:
        others = "; ".join(
            f"for {each} it has {name}, which does {', '.join(able[each])}" for each, name in engines.items()
        )
        return f"{dataflow} has no engine for {part}; {others}; --implementation takes the other dataflow"
    engine = config.preset(dataflow, engines[part])
    about, done = f"{engine.name}, the engine of {dataflow} for {part}", ", ".join(able[part])
    try:
        for layer in parameters.fixed(case, engine.bits).layers:
            check(layer, engine)
    except EngineError as error:
        return f"{error}; cases that are proved on {about}: {done}"
    return f"not proved on {about}; cases that are: {done}"


_SELF = "designs/deconv/builds.py"
_BOARD = (_SELF, "designs/deconv/port.py", "designs/lib/stream_width.sv")
