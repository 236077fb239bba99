"""What a simulation of a case becomes: checks of outputs, counts and use of the multipliers, and records of them.

yield from evidence.verify(NAME, "reverse_loop", "digits", samples=64, seed=1, progress=None, largest=256)
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from compare.provenance import repo_root
from compare.record import Boundary, Measurement, Record, Scalar, Stage
from designs import lib
from designs.deconv import config, simulation
from designs.deconv.bench import COUNTERS
from designs.deconv.compiler_tiles import Tile, merged, whole
from designs.deconv.config import Dataflow, Engine
from designs.deconv.generate import GENERATORS, Design, generate
from designs.deconv.simulation import Run, SimulationFailed, Trace
from designs.flow.evidence import Core, simulated
from workloads.api import Check, Progress
from workloads.deconv import WORKLOAD, parameters
from workloads.deconv.fixed import encode
from workloads.deconv.layer import Layer

#: Fewest items that give an interval, where an item takes a second; of a large case there are two.
ITEMS = 8

#: Use of the multipliers: of a network from item to item, and of layers that can fill the array.
NETWORK, LAYER = 0.75, 0.90

#: Cycles below which a layer is mostly start and end, and has no steady state.
STEADY = 1000

#: Where NETWORK is missed, by engine and case: the first layer of celeba has groups of 16 issues there, less than what
#: the sums of a group take to be written.
SHORT: Mapping[tuple[str, str], float] = {("vc709", "celeba"): 0.74}

#: Chance of 256 that a stream pauses in the run with pauses.
PAUSE = 128

#: Products over multipliers times cycles, by what is counted.
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Share:
    """What a layer takes of an item: cycles of its RUNs of each item, products by the counters, bytes by stream."""

    layer: Layer
    cycles: tuple[int, ...]
    useful: int
    kept: int
    bytes: Mapping[str, int]


def verify(
    name: str, dataflow: Dataflow, case: str, *, samples: int, seed: int, progress: Progress | None, largest: int
) -> Iterator[Check]:
    """Checks of a case on each of its engines; see `verify_on`."""
    for engine in config.engines(dataflow, case):
        yield from verify_on(name, engine, case, samples=samples, seed=seed, progress=progress, largest=largest)


def verify_on(
    name: str, engine: Engine, case: str, *, samples: int, seed: int, progress: Progress | None, largest: int
) -> Iterator[Check]:
    """Three checks: every number equals the oracle's; the counters say what they must; the multipliers are used.

    Items follow each other without a pause, then alone, then with pauses of all streams at random. Records come with
    the first check, and only when all three pass.
    """
    began = time.monotonic()
    if progress:
        progress("generate RTL", 0, 2)
    design = generate(case, engine)
    x = inputs(case, min(max(samples, ITEMS), largest), seed, engine.bits)
    if progress:
        progress("simulate", 1, 2)
    plan = runs(len(x), seed)
    common = Check(name, case, engine.arithmetic, "simulation", len(x), seed, False, float("nan"), None)
    try:
        traces = simulation.run(design, x, plan, seed)
    except SimulationFailed as error:
        failed = replace(common, detail=str(error), seconds=time.monotonic() - began)
        yield failed
        yield replace(failed, tolerance=0.0)
        yield replace(failed, tolerance=1 - NETWORK)
        return
    worst = simulation.worst(design, traces, [design.program.expect(item) for item in x]) * 2.0 ** (1 - engine.bits)
    shares = shares_of(design, traces[0])
    strange = [problem for trace in traces for problem in miscounts(design, trace)]
    unused, detail = slack(design, traces[0], shares)
    right = worst == 0 and not strange and unused <= 0
    if progress:
        progress("simulate", 2, 2)
    how = f"{engine}: {len(x)} back to back, {plan[1].count} alone, {plan[2].count} with pauses"
    yield replace(
        common,
        passed=worst == 0,
        worst=worst,
        detail=how if worst == 0 else f"{engine}: numbers differ from the oracle",
        seconds=time.monotonic() - began,
        records=tuple(records(name, design, traces, shares, seed)) if right else (),
    )
    counted = f"{engine}: every product that reaches an output is made once, and none of an inserted zero"
    yield replace(
        common, passed=not strange, worst=float(len(strange)), tolerance=0.0, detail=strange[0] if strange else counted
    )
    yield replace(common, passed=unused <= 0, worst=max(unused, 0.0), tolerance=0.0, detail=f"{engine}: {detail}")


def inputs(case: str, count: int, seed: int, bits: int) -> Integers:
    """Integers (count, *input_shape): the ends of the range first, random ones at least once."""
    ends = WORKLOAD.extremes(case)[: count - 1] if count <= 4 else WORKLOAD.extremes(case)
    if count == 2:
        ends = WORKLOAD.extremes(case)[2:3]
    return encode(np.concatenate([WORKLOAD.inputs(case, count - len(ends), seed), ends]), bits)


def runs(count: int, seed: int) -> tuple[Run, Run, Run]:
    """Back to back, one at a time, and with pauses."""
    few = 1 if count < ITEMS else 3
    return (
        Run(count, seed=2 * seed + 1),
        Run(few, single=True, seed=2 * seed + 3),
        Run(few, idle=PAUSE, stall=PAUSE, seed=2 * seed + 5),
    )


def shares_of(design: Design, trace: Trace) -> tuple[Share, ...]:
    """Each layer's share of an item in a trace."""
    program, engine = design.program, design.engine
    of = np.array([run.layer for run in program.runs])
    counts = trace.counts.reshape(-1, len(of), len(COUNTERS))
    found = []
    for number, layer in enumerate(program.network.layers):
        mine = counts[:, of == number]
        column = {name: mine[:, :, at].sum(1) for at, name in enumerate(COUNTERS)}
        traffic = {
            "inputs": sum(op.beats for op in program.loads if op.layer == number) * engine.beat * engine.bits // 8,
            "outputs": sum(op.beats for op in program.stores if op.layer == number) * engine.beat * engine.bits // 8,
        }
        if not engine.resident:
            traffic["weights"] = sum(weight_bytes(run.tile) for run in program.runs if run.layer == number)
        found.append(
            Share(
                layer.layer,
                tuple(int(each) for each in column["busy"]),
                int(column["useful"][0]),
                int(column["kept"][0]),
                traffic,
            )
        )
    return tuple(found)


def weight_bytes(tile: Tile) -> int:
    """Bytes of weights and biases that are streamed for a RUN."""
    engine = tile.engine
    lanes = engine.tz if merged(tile.layer, engine) else 1
    words = tile.taps * tile.folds * engine.tm * engine.tn * lanes * engine.bits
    return tile.groups * (words + engine.tm * engine.acc) // 8


def miscounts(design: Design, trace: Trace) -> Iterator[str]:
    """What the counters say that cannot be, for each item and layer.

    Kept products are those of the layer's definition exactly: a zero between inputs that was multiplied, or a product
    made twice, would be one too many.
    """
    program = design.program
    of = [run.layer for run in program.runs]
    counts = trace.counts.reshape(-1, len(of), len(COUNTERS))
    for item, rows in enumerate(counts):
        for number, layer in enumerate(program.network.layers):
            mine = [dict(zip(COUNTERS, row, strict=True)) for row, at in zip(rows, of, strict=True) if at == number]
            tiles = [run.tile for run in program.runs if run.layer == number]
            for what, due in (
                ("kept", layer.layer.kept_macs),
                ("useful", sum(tile.products[0] for tile in tiles)),
                ("issues", sum(tile.issues for tile in tiles)),
            ):
                seen = int(sum(row[what] for row in mine))
                if seen != due:
                    yield f"item {item}, {layer.layer.name}: {seen:,} {what} counted, {due:,} due"


def fills(layer: Layer, engine: Engine) -> bool:
    """Whether a layer fills the array: channels in multiples of its width, as many positions as lanes at least.

    And work for STEADY cycles. Three output channels in groups of two leave a quarter of the multipliers idle.
    """
    lanes = (engine.tz, engine.tr, engine.tc)[3 - layer.dimensions :]
    width = engine.tn * (engine.tz if merged(layer, engine) else 1)
    enough = all(side >= count for side, count in zip(layer.shape, lanes, strict=True))
    whole_groups = layer.channels_in % width == 0 and layer.channels_out % engine.tm == 0
    return whole_groups and enough and whole(layer, engine).issues >= STEADY


def slack(design: Design, trace: Trace, shares: Sequence[Share]) -> tuple[float, str]:
    """By how much the use of the multipliers falls short of NETWORK and LAYER, at worst; and the use in words."""
    all_of_it = network_use(design, trace, shares)[0]
    filled: list[tuple[float, str]] = []
    others: list[tuple[float, str]] = []
    for use, share in zip(used(design, shares), shares, strict=True):
        (filled if fills(share.layer, design.engine) else others).append((use, share.layer.name))
    worst, name = min(filled, default=(1.0, "there is none"))
    words = f"{all_of_it:.1%} of the multipliers, {worst:.1%} in the worst layer that fills the array ({name})"
    if others:
        words += f"; layers that cannot fill it: {', '.join(f'{layer} {use:.1%}' for use, layer in others)}"
    if all_of_it < NETWORK:
        words += f"; short of the {NETWORK:.0%} that is aimed at"
    due = SHORT.get((design.engine.name, design.case), NETWORK)
    return max(due - all_of_it, LAYER - worst), words


def used(design: Design, shares: Sequence[Share], what: str = "useful") -> tuple[float, ...]:
    """Products over multipliers times cycles of each layer."""
    return tuple(getattr(share, what) / (design.engine.multipliers * float(np.mean(share.cycles))) for share in shares)


def network_use(design: Design, trace: Trace, shares: Sequence[Share]) -> tuple[float, float]:
    """Useful and kept products of an item over multipliers times the cycles between items."""
    most = design.engine.multipliers * trace.interval
    return sum(share.useful for share in shares) / most, sum(share.kept for share in shares) / most


def inserted_zeros(shares: Sequence[Share]) -> int:
    """Products of an item that reached an output by the counters, beyond (or short of) those that the operator has.

    The operator has one for each input and kernel element that meet in an output; one with an inserted zero would be
    one more.
    """
    return abs(sum(share.kept - share.layer.kept_macs for share in shares))


def core_of(name: str, design: Design) -> Core:
    """The design as the flow takes it."""
    return Core(
        workload="deconv",
        case=design.case,
        implementation=name,
        arithmetic=design.engine.arithmetic,
        top=design.top,
        sources=design.sources,
        in_bits=design.in_bits,
        out_bits=design.out_bits,
        digest=design.digest,
        facts=facts(design),
        memories=design.memories,
    )


def facts(design: Design) -> dict[str, Scalar]:
    """What every record of a design says; the array as it is used for the case."""
    engine, program = design.engine, design.program
    is_merged = merged(program.network.layers[0].layer, engine)
    return {
        "engine": engine.name,
        "dataflow": engine.dataflow,
        "Tm": engine.tm,
        "Tn": engine.tn * (engine.tz if is_merged else 1),
        "Tz": 1 if is_merged else engine.tz,
        "Tr": engine.tr,
        "Tc": engine.tc,
        "multipliers": engine.multipliers,
        "weights": "resident" if engine.resident else "streamed",
        "layers_in_tiles": sum(len(step.tiles) > 1 for step in program.steps),
        "parameters": "trained" if parameters.load(design.case).trained else "untrained",
    }


def sources_of(name: str, design: Design) -> list[str]:
    """Repository-relative files that determine the RTL, its memories and how it is checked and built."""
    root = repo_root()
    folder = Path(__file__).parent
    own = [*GENERATORS, *(folder / f"{each}.py" for each in ("evidence", name.split("/")[-1]))]
    own += [path for path in design.sources if path.is_relative_to(lib.FOLDER) or path.is_relative_to(folder)]
    return [*WORKLOAD.sources(design.case), *(path.relative_to(root).as_posix() for path in own)]


def records(name: str, design: Design, traces: Sequence[Trace], shares: Sequence[Share], seed: int) -> Iterator[Record]:
    """The network's record, and one of each layer."""
    full, alone, _ = traces
    useful, kept = network_use(design, full, shares)
    total: dict[str, int] = {}
    for share in shares:
        for stream, count in share.bytes.items():
            total[stream] = total.get(stream, 0) + count
    checker = [f"designs/deconv/{each}.py" for each in ("bench", "bench_deconv", "simulation")]
    items = len(full.left)
    network = simulated(
        core_of(name, design),
        full.entered,
        full.left,
        alone=alone.latency,
        sources=[*sources_of(name, design), *checker],
        seed=seed,
        more=(
            _ratio("utilisation", useful, items),
            _ratio("utilisation.kept", kept, items),
            Measurement("zero_products", inserted_zeros(shares), "1", "count", items, Stage.SIMULATED, Boundary.KERNEL),
            *_traffic(total, full.interval, items),
        ),
    )
    yield network
    for number, (share, mine, kept_mine) in enumerate(
        zip(shares, used(design, shares), used(design, shares, "kept"), strict=True), 1
    ):
        mean = float(np.mean(share.cycles))
        low, high = float(min(share.cycles)), float(max(share.cycles))
        statistic = "exact" if low == high else "mean"
        yield replace(
            network,
            conditions={**network.conditions, "layer": share.layer.name, "layer_index": number},
            measurements=(
                Measurement(
                    "cycles", mean, "cycles", statistic, items, Stage.SIMULATED, Boundary.KERNEL, low, high, "min-max"
                ),
                _ratio("utilisation", mine, items),
                _ratio("utilisation.kept", kept_mine, items),
                *_traffic(share.bytes, mean, items),
            ),
        )


def _ratio(quantity: str, value: float, items: int) -> Measurement:
    return Measurement(quantity, value, "1", "mean", items, Stage.SIMULATED, Boundary.KERNEL)


def _traffic(counts: Mapping[str, int], cycles: float, items: int) -> Iterator[Measurement]:
    """Mean bytes a cycle of each stream, and of all."""
    for name, count in (*counts.items(), ("total", sum(counts.values()))):
        yield Measurement(
            f"bandwidth.{name}", count / cycles, "B/cycle", "mean", items, Stage.SIMULATED, Boundary.KERNEL
        )
