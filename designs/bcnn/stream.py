"""`designs/bcnn/stream`: every layer a unit of its own, all at work on different images, joined by streams."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from compare.provenance import repo_root
from compare.record import Boundary, Measurement, Record, Stage
from designs import boards, lib
from designs.bcnn import presets, resources, simulation
from designs.bcnn.folding import Fold, vector_folds
from designs.bcnn.generate import GENERATORS, Design, generate, layer_of
from designs.bcnn.resources import DoesNotFit
from designs.bcnn.simulation import Run, SimulationFailed, Trace
from designs.flow import parts
from designs.flow.evidence import Core, build_on_board, simulated
from designs.flow.on_part import Piece, routed, synthesised
from workloads.api import Check, Progress
from workloads.bcnn import WORKLOAD, parameters
from workloads.bcnn.cases import LAYERS

NAME = "designs/bcnn/stream"
CASES = tuple(LAYERS)
TIER = "product"
ARITHMETICS = ("binary",)

#: Images of a check at most, 8 extremes among them: the test set of the digits; of the others what takes a minute.
LARGEST: Mapping[str, int] = {"binarynet": 16, "cnv": 32, "digits": 458, "digits_small": 458}

#: Fewest images that give an interval.
ITEMS = 8

#: How far the interval at the pins may be above the ideal one.
TOLERANCE = 0.02

#: Clock of the board top. Place and route works towards it, and the PLL gives the nearest it can.
BOARD_MHZ = 140.0

#: Clock that place and route works towards on a part without a board.
PART_MHZ = 48.0

#: Products a cycle up to which a layer is synthesised flat; larger ones keep the rows of their unit, all equal, apart.
FLAT = 2048

#: Share of a part that a network may take for place and route to be easy.
SHARE = 0.8


@dataclass(frozen=True)
class Pace:
    """A run, and what it has to keep: the ideal "interval", the same "latency" for every image, or nothing more."""

    name: str
    run: Run
    keeps: str = ""


def paces(design: Design, images: int, seed: int) -> tuple[Pace, ...]:
    """The runs of a check of `images` images; every image is in the first, the others take some of them.

    Full batch: back to back. Slow source: pixels at random times, on average twice as many as are needed. Gaps: a
    pause after each image as long as the slowest layer takes for one row of the first layer. One at a time: an image
    enters when the one before has left. Stalls: too slow a source, and a sink that lets the core fill up.
    """
    folding, some = design.folding, min(images, ITEMS + 2)
    interval = folding.interval
    idle = max(0, int(256 * (1 - 2 * design.pixels / interval)))
    patience = 16 * (sum(folding.cycles) + interval)
    hold = 1 << (2 * interval).bit_length()
    return (
        Pace("full batch", Run(images, patience=patience), "interval"),
        Pace("slow source", Run(some, idle=idle, seed=2 * seed + 1, patience=patience), "interval"),
        Pace("gaps", Run(some, gap=interval // folding.layers[0].side, patience=patience), "interval"),
        Pace("one at a time", Run(min(images, 3), single=True, patience=patience), "latency"),
        Pace("stalls", Run(min(images, 4), idle=240, hold=hold, seed=2 * seed + 3, patience=patience)),
    )


def inputs(case: str, samples: int, seed: int) -> NDArray[np.int8]:
    """Images of a check, the extremes first; at least as many as give an interval and at most LARGEST[case]."""
    extremes = WORKLOAD.extremes(case)
    count = min(max(samples, len(extremes) + ITEMS), LARGEST[case])
    return np.concatenate([extremes, WORKLOAD.inputs(case, count - len(extremes), seed)])


def verify(case: str, *, samples: int = 10_000, seed: int = 1, progress: Progress | None = None) -> Iterator[Check]:
    """Simulate the core at every pace: sums equal to the oracle's, and the interval that of the slowest layer."""
    began = time.monotonic()
    if progress:
        progress("generate RTL", 0, 2)
    design = generate(case)
    images = inputs(case, samples, seed)
    chosen = paces(design, len(images), seed)
    if progress:
        progress("simulate", 1, 2)
    worst = late = float("nan")
    records: tuple[Record, ...] = ()
    try:
        traces = simulation.run(design, images, [pace.run for pace in chosen], seed)
    except SimulationFailed as error:
        message = timing = str(error)
    else:
        expected = parameters.load(case).network(images)
        worst = max(float(np.abs(t.sums - expected[: len(t.sums)]).max()) for t in traces)
        message = ", ".join(pace.name for pace in chosen) if worst == 0 else "sums differ from the oracle"
        late, timing = lateness(design, chosen, traces)
        if worst == 0 and late <= TOLERANCE:
            records = (_record(design, chosen, traces, seed),)
    if progress:
        progress("simulate", 2, 2)
    equal = Check(
        implementation=NAME,
        case=case,
        arithmetic="binary",
        device="simulation",
        samples=len(images),
        seed=seed,
        passed=worst == 0,
        worst=worst,
        tolerance=None,
        detail=message,
        seconds=time.monotonic() - began,
        records=records,
    )
    yield equal
    yield replace(equal, passed=late <= TOLERANCE, worst=late, tolerance=TOLERANCE, detail=timing, records=())


def lateness(design: Design, chosen: Sequence[Pace], traces: Sequence[Trace]) -> tuple[float, str]:
    """How far above the ideal the longest interval is of the paces that should keep it, as a fraction; and in words.

    Infinite where images alone differ in latency, or where a layer did not work exactly its folds.
    """
    folding = design.folding
    longest, slowest = 0.0, ""
    for pace, trace in zip(chosen, traces, strict=True):
        for layer, fold, worked in zip(folding.layers, folding.folds, trace.worked, strict=True):
            due = layer.pixels * vector_folds(layer, fold) * len(trace.left)
            if worked != due:
                return float("inf"), f"{pace.name}: {layer.name} worked {worked:,} cycles for {due:,} folds"
        if pace.keeps == "latency" and np.ptp(trace.latency):
            return float("inf"), f"{pace.name}: latencies from {trace.latency.min()} to {trace.latency.max()}"
        if pace.keeps == "interval" and trace.interval > longest:
            longest, slowest = trace.interval, pace.name
    words = f"{longest:,.1f} cycles between images, ideally {folding.interval:,} ({folding.bottleneck.name}); {slowest}"
    return longest / folding.interval - 1, words


def sources_of(design: Design) -> list[str]:
    """Repository-relative files that determine the RTL, its memories and how it is checked and built."""
    root = repo_root()
    own = [*GENERATORS, *(Path(__file__).parent / f"{name}.py" for name in ("presets", "stream"))]
    own += [path for path in design.sources if path.is_relative_to(lib.FOLDER)]
    return [*WORKLOAD.sources(design.case), *(path.relative_to(root).as_posix() for path in own)]


def core_of(design: Design) -> Core:
    """The design as the flow takes it."""
    return Core(
        workload="bcnn",
        case=design.case,
        implementation=NAME,
        arithmetic="binary",
        top=design.top,
        sources=design.sources,
        in_bits=design.in_bits,
        out_bits=design.out_bits,
        digest=design.digest,
        facts={
            "folding": str(design.folding),
            "folding_of": presets.SOURCES[design.case],
            "ideal_interval": design.folding.interval,
            "bottleneck": design.folding.bottleneck.name,
            "trained": parameters.load(design.case).trained,
        },
        memories=design.memories,
    )


def _record(design: Design, chosen: Sequence[Pace], traces: Sequence[Trace], seed: int) -> Record:
    """Interval of the full batch, latency of images alone, and how much of the time each layer works."""
    full = traces[0]
    alone = next(t for p, t in zip(chosen, traces, strict=True) if p.keeps == "latency")
    used = full.utilisation
    products = [fold.simd * fold.pe for fold in design.folding.folds]
    mean = sum(u * n for u, n in zip(used, products, strict=True)) / sum(products)
    checker = [f"designs/bcnn/{name}.py" for name in ("bench", "bench_bcnn", "simulation")]
    record = simulated(
        core_of(design),
        full.entered,
        full.left,
        alone=alone.latency,
        sources=[*sources_of(design), *checker],
        seed=seed,
        more=(
            # Of all products that could be made, those that are; `values` by layer, in the order of the folding.
            Measurement(
                "utilisation", mean, "1", "mean", len(used), Stage.SIMULATED, Boundary.KERNEL,
                min(used), max(used), "min-max", used,
            ),
        ),
    )  # fmt: skip
    paced = {f"interval_{p.name.replace(' ', '_')}": t.interval for p, t in zip(chosen, traces, strict=True) if p.keeps}
    return replace(record, conditions={**record.conditions, **paced, "cycles_full_batch": int(full.latency.max())})


def fits(case: str, board: str) -> bool:
    """Whether the preset of a case is small enough for a board, by the model of its resources."""
    try:
        _check_fits(case, board)
    except DoesNotFit:
        return False
    return True


def fits_part(case: str, part: str) -> bool:
    """Whether `build_part` goes through: a synthesis only counts, a routing needs the place."""
    chosen = parts.part(part)
    try:
        if chosen.family == "ice40":
            resources.check_fits(presets.folding(case), chosen)
    except DoesNotFit:
        return False
    return True


def _check_fits(case: str, board: str) -> None:
    resources.check_fits(presets.folding(case), resources.part(boards.load(board).part), SHARE)


def build(
    case: str, *, board: str, seeds: int = 10, out: Path | None = None, progress: Progress | None = None
) -> Iterator[Record]:
    """Place and route the core behind the board's serial port; see `designs.flow.evidence.build_on_board`.

    Errors: DoesNotFit before any tool runs, BoardError, FlowError, MissingTool.
    """
    _check_fits(case, board)
    design = generate(case)
    yield build_on_board(
        core_of(design), board=board, mhz=BOARD_MHZ, sources=sources_of(design), seeds=seeds, out=out, progress=progress
    )


def build_part(case: str, *, part: str, seeds: int = 10, progress: Progress | None = None) -> Iterator[Record]:
    """Resources on a part without a board, layer by layer for parts of Xilinx, with a clock for iCE40.

    Errors: UnknownNameError; DoesNotFit before place and route; BoardError for a part that needs a board; FlowError,
    MissingTool.
    """
    chosen = parts.part(part)
    design = generate(case)
    core, sources = core_of(design), sources_of(design)
    if chosen.family == "xc7":
        pieces = [_piece(design, layer, fold) for layer, fold in zip(design.layers, design.folding.folds, strict=True)]
        yield synthesised(core, chosen, pieces, sources=sources, progress=progress)
    elif chosen.family == "ice40":
        resources.check_fits(design.folding, chosen)
        yield routed(core, chosen, mhz=PART_MHZ, sources=sources, seeds=seeds, progress=progress)
    else:
        raise boards.BoardError(f"{part} is placed and routed for a board; boards: {', '.join(boards.names())}")


def _piece(design: Design, layer: str, fold: Fold) -> Piece:
    one = layer_of(design, layer)
    keep = ("dot_product",) if fold.simd * fold.pe > FLAT else ()
    return Piece(layer, one.top, one.sources, one.memories, keep)
