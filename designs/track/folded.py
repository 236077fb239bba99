"""`designs/track/folded`: the network on few multipliers (any reuse factor), out of the modules of designs/lib.

Each layer is a matrix-vector unit that reads its weights from a memory on the chip; layers work on different hits at
the same time, and the slowest one sets the interval. The default folding of a case is the quickest with as many
multipliers as one small part has.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from compare.provenance import repo_root
from compare.record import Record
from designs import boards, lib
from designs.flow import parts
from designs.flow.evidence import Core, build_on_board, simulated
from designs.flow.folding import bits_of
from designs.flow.on_part import Piece, routed, synthesised
from designs.flow.parts import DoesNotFit, Part
from designs.flow.verilator import BuildOptions, SimulationResult, simulate
from designs.track import folding, generate
from designs.track.folding import Folding
from designs.track.integers import Dense, layers_of
from workloads.api import Check, Progress, UnknownNameError
from workloads.track import WORKLOAD, parameters, quantise
from workloads.track.network import FixedNetwork, Ints
from workloads.track.quantise import TableNetwork

NAME = "designs/track/folded"
CASES = tuple(WORKLOAD.cases)
TIER = "product"
ARITHMETICS = ("fixed", quantise.ARITHMETIC)

#: A case's part, and the multipliers (DSP blocks) that it has: iCE40 UltraPlus Family Data Sheet (Lattice
#: FPGA-DS-02008), 7 Series Overview (AMD DS180).
SIZED_FOR: Mapping[str, tuple[str, int]] = {
    "embed": ("ice40up5k", 8),
    "compact": ("ice40up5k", 8),
    "exatrkx": ("xc7vx690t", 3_600),
}
#: The most hits of one check, where each takes long to simulate.
LARGEST: Mapping[str, int] = {"exatrkx": 300}
#: Layers keep whole multiples of this many neurons, so that they have divisors.
NEURONS_MULTIPLE = 4
#: Clock of the board top. Place and route works towards it, and the PLL gives the nearest it can.
BOARD_MHZ = 120.0
#: Clock that place and route works towards on a part without a board.
PART_MHZ = 30.0
#: Products a cycle up to which a layer is synthesised flat.
FLAT = 64


@dataclass(frozen=True)
class Network:
    """The oracle of a case, the layers that the hardware has, and the arithmetic's name."""

    oracle: FixedNetwork | TableNetwork
    layers: tuple[Dense, ...]
    arithmetic: str


def network(case: str) -> Network:
    """The network of a case. Errors: UnknownNameError."""
    if case not in CASES:
        raise UnknownNameError("case", case, CASES)
    fixed = parameters.load(case).fixed
    oracle = fixed or quantise.load(case)
    return Network(oracle, layers_of(oracle, multiple=NEURONS_MULTIPLE), "fixed" if fixed else quantise.ARITHMETIC)


def default_folding(case: str) -> Folding:
    """The quickest folding with the multipliers of the part that the case is sized for. Errors: UnknownNameError."""
    return folding.for_multipliers(network(case).layers, SIZED_FOR[case][1])


def design(case: str, chosen: Folding | None = None) -> generate.Design:
    """Generate the RTL of a case, or take it from the cache. Errors: UnknownNameError, FoldingError."""
    return generate.generate(network(case).layers, chosen or default_folding(case), case)


def sources_of(case: str) -> list[str]:
    """Repository-relative files that determine the RTL of a case."""
    package = Path(__file__).parent
    own = [Path(__file__), package / "__init__.py", *generate.GENERATORS]
    code = ["workloads/track/__init__.py", "workloads/track/network.py", "workloads/track/parameters.py"]
    code += ["workloads/track/quantise.py"]
    trained = [parameters.path_of(case)] if case in parameters.TRAINED else []
    files = (*lib.closure(*generate.LIBRARY), *trained, *own)
    return [*code, *(path.relative_to(repo_root()).as_posix() for path in files)]


def simulated_sources_of(case: str) -> list[str]:
    """`sources_of`, and what counts the cycles."""
    return [*sources_of(case), "designs/track/bench_folded.py", "designs/flow/bench.py"]


def core(made: generate.Design) -> Core:
    """The design as the flow takes it."""
    return Core(
        workload="track",
        case=made.case,
        implementation=NAME,
        arithmetic=network(made.case).arithmetic,
        top=made.top,
        sources=made.sources,
        in_bits=made.in_bits,
        out_bits=made.out_bits,
        digest=made.digest,
        facts={
            "folding": str(made.folding),
            "ideal_interval": made.folding.interval,
            "multipliers": made.folding.multipliers,
        },
        memories=made.memories,
    )


def vectors(case: str, samples: int, seed: int) -> NDArray[np.float32]:
    """Hits (n, inputs) to prove the design on: the extremes first, then generated ones; n >= `samples`."""
    extremes = WORKLOAD.extremes(case)
    return np.concatenate([extremes, WORKLOAD.inputs(case, max(samples - len(extremes), 1), seed)])


def run(made: generate.Design, inputs: Ints, results: Path, seed: int = 1) -> tuple[SimulationResult, dict[str, Ints]]:
    """Send rows (n, n_in) through a design's top; the outcome, and the rows (n, n_out) that came out `free`, `paused`.

    A single layer takes and gives its rows in several words; then rows are words.
    """
    first, last = made.layers[0], made.layers[-1]
    outcome = simulate(
        made.top,
        made.sources,
        Path(__file__).parent / "bench_folded.py",
        vectors={
            "words": pack(inputs, first.a_bits),
            "out_bytes": -(-made.out_bits // 8),
            "patience": 4 * sum(made.folding.cycles) + 4_000,
        },
        results=results,
        seed=seed,
        data=made.memories,
        options=BuildOptions(optimise="-O1"),  # what -O3 costs to compile it never wins back here
    )
    if not outcome.passed:
        return outcome, {}
    got = {name: unpack(outcome.payload[f"{name}_words"], last.value_bits, last.n_out) for name in ("free", "paused")}
    return outcome, got


def verify(case: str, *, samples: int = 10_000, seed: int = 1, progress: Progress | None = None) -> Iterator[Check]:
    """Simulate the core on extremes and generated hits, freely and with random stalls; equal to the oracle or not."""
    began = time.monotonic()
    if progress:
        progress("generate RTL", 0, 2)
    found, made = network(case), design(case)
    x = found.oracle.encode(vectors(case, min(samples, LARGEST.get(case, samples)), seed))
    expected = found.oracle.evaluate(x)
    if progress:
        progress("simulate", 1, 2)
    with tempfile.TemporaryDirectory(prefix="gatewarp-") as results:
        outcome, got = run(made, x, Path(results), seed)
        payload, message = outcome.payload, "" if outcome.passed else outcome.message
    worst = float("nan")
    records: tuple[Record, ...] = ()
    if outcome.passed:
        off = np.array([np.abs(rows - expected).max() for rows in got.values()])
        worst = float(np.abs(found.oracle.decode(off)).max())
        message = "free and stalled" if worst == 0 else "outputs differ from the oracle"
        if worst == 0:
            entered, left, alone = (payload[name] for name in ("free_in", "free_out", "alone"))
            sources = simulated_sources_of(case)
            records = (simulated(core(made), entered, left, sources=sources, seed=seed, alone=alone),)
    if progress:
        progress("simulate", 2, 2)
    yield Check(
        implementation=NAME,
        case=case,
        arithmetic=found.arithmetic,
        device="simulation",
        samples=len(x),
        seed=seed,
        passed=outcome.passed and worst == 0,
        worst=worst,
        tolerance=None,
        detail=message,
        seconds=time.monotonic() - began,
        records=records,
    )


def check_fits(case: str, part: Part) -> None:
    """Errors: DoesNotFit when a part has too little memory for the weights or too few multipliers."""
    layers, chosen = network(case).layers, default_folding(case)
    bits = {layer.name: layer.weight.size * layer.w_bits for layer in layers}
    products = {name: fold.simd * fold.pe for name, fold in zip(chosen.names, chosen.folds, strict=True)}
    for what, each, have, advice in (
        ("bits of weights", bits, part.memory_bits, "choose a larger part"),
        ("multipliers", products, part.dsps, "choose a larger part or fold it further"),
    ):
        if sum(each.values()) > have:
            largest = max(each, key=lambda name: each[name])
            raise DoesNotFit(
                f"{case} does not fit {part.name}: {sum(each.values()):,} {what}, of which {largest} has "
                f"{each[largest]:,}, against {have:,}; {advice}"
            )


def fits(case: str, board: str) -> bool:
    """Whether `build` goes through: whether a board's part has the memory and the multipliers."""
    return _fits(case, parts.part(boards.load(board).part))


def fits_part(case: str, part: str) -> bool:
    """Whether `build_part` goes through: a synthesis only counts, a routing needs the place."""
    return parts.part(part).family != "ice40" or _fits(case, parts.part(part))


def _fits(case: str, part: Part) -> bool:
    try:
        check_fits(case, part)
    except DoesNotFit:
        return False
    return True


def build(
    case: str, *, board: str, seeds: int = 10, out: Path | None = None, progress: Progress | None = None
) -> Iterator[Record]:
    """Place, route and pack the core behind the board's serial port; see `designs.flow.evidence.build_on_board`.

    Errors: those, and DoesNotFit before any tool runs.
    """
    check_fits(case, parts.part(boards.load(board).part))
    made = core(design(case))
    yield build_on_board(
        made, board=board, mhz=BOARD_MHZ, sources=sources_of(case), seeds=seeds, out=out, progress=progress
    )


def build_part(case: str, *, part: str, seeds: int = 10, progress: Progress | None = None) -> Iterator[Record]:
    """Resources on a part without a board, layer by layer for parts of Xilinx, with a clock for iCE40.

    Errors: UnknownNameError; DoesNotFit before place and route; BoardError for a part that needs a board; FlowError,
    MissingTool.
    """
    chosen = parts.part(part)
    made = design(case)
    if chosen.family == "xc7":
        layers = [generate.layer_of(made, layer.name) for layer in made.layers]
        pieces = [
            # Rows of a unit are equal: in a large layer one of them is mapped for all.
            Piece(name, one.top, one.sources, one.memories, ("dot_product",) if fold.simd * fold.pe > FLAT else ())
            for name, fold, one in zip(made.folding.names, made.folding.folds, layers, strict=True)
        ]
        yield synthesised(core(made), chosen, pieces, sources=sources_of(case), progress=progress)
    elif chosen.family == "ice40":
        check_fits(case, chosen)
        yield routed(
            core(made), chosen, mhz=PART_MHZ, sources=sources_of(case), seeds=seeds, extra=("-dsp",), progress=progress
        )
    else:
        raise boards.BoardError(f"{part} is placed and routed for a board; boards: {', '.join(boards.names())}")


def pack(rows: Ints, width: int) -> NDArray[np.uint8]:
    """Rows of integers to words as bytes (n, bytes), lowest first: `width` bits an element, element 0 lowest."""
    return np.packbits(bits_of(rows, width).reshape(len(rows), -1), axis=1, bitorder="little")


def unpack(words: NDArray[np.uint8], width: int, count: int) -> Ints:
    """Words as bytes to rows of `count` signed integers: the inverse of `pack`."""
    bits = np.unpackbits(words, axis=1, bitorder="little")[:, : width * count].reshape(len(words), count, width)
    weights = 1 << np.arange(width, dtype=np.int64)
    weights[-1] *= -1
    rows: Ints = bits.astype(np.int64) @ weights
    return rows
