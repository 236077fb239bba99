"""Items through a generated engine, cycle by cycle, in runs of different pace."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from designs.deconv import bench
from designs.deconv.bench import COUNTERS
from designs.deconv.compiler_images import packed
from designs.deconv.generate import Design, weight_stream
from designs.flow.verilator import BuildOptions, simulate
from workloads.deconv.fixed import Integers

#: Engines of at least so many multipliers take longer to simulate than to compile.
LARGE = 64


class SimulationFailed(RuntimeError):
    """The simulated engine broke the rules of a stream or stood still; the message says which, with the seed."""


@dataclass(frozen=True)
class Run:
    """One run of `count` items from the first on; see `designs.deconv.bench` for the pace.

    `idle` and `stall` are chances of 256; `patience` are the cycles without a beat or the start or end of a RUN after
    which the engine is said to stand still; 0 is four times what its longest RUN should take.
    """

    count: int
    single: bool = False
    idle: int = 0
    stall: int = 0
    seed: int = 1
    patience: int = 0


@dataclass(frozen=True)
class Trace:
    """What a run saw.

    `entered` and `left` in cycles (n,), `beats` (n, beats, numbers) that came out, `counts` (RUNs, 9) what each RUN of
    the engine counted, in the order of `designs.deconv.bench.COUNTERS`, `ends` (RUNs,) the cycles in which they ended.
    """

    entered: Integers
    left: Integers
    beats: Integers
    counts: Integers
    ends: Integers
    cycles: int

    @property
    def latency(self) -> Integers:
        """Cycles from the first beat in to the last out, of each item (n,)."""
        return self.left - self.entered

    @property
    def interval(self) -> float:
        """(t_N - t_1) / (N - 1) cycles between items at the output. Needs two items."""
        return float(self.left[-1] - self.left[0]) / (len(self.left) - 1)


def run(design: Design, items: Integers, runs: Sequence[Run], seed: int = 1) -> list[Trace]:
    """Simulate `runs` over `items` (n, *input_shape) in integers, without a reset between them.

    Errors: SimulationFailed, FlowError, MissingTool; ValueError for a run of more items than there are.
    """
    for each in runs:
        if not 1 <= each.count <= min(len(items), bench.ITEMS):
            raise ValueError(f"a run of {each.count} items, but there are {len(items)}")
    engine, program = design.engine, design.program
    longest = 4 * max(tile.tile.cycles for tile in program.runs) + 100_000
    with tempfile.TemporaryDirectory(prefix="gatewarp-") as name:
        folder = Path(name)
        beats = [packed(program.pack(item), engine.bits) for item in items]
        files = {"inputs.bin": np.concatenate(beats)}
        if not engine.resident:
            rows, lasts = weight_stream(program)
            files |= {"weights.bin": rows, "lasts.bin": lasts.astype(np.uint8)[:, None]}
            files["commands.bin"] = program.commands.astype("<u4").view(np.uint8).reshape(-1, 4)
        for file, rows in files.items():
            (folder / file).write_bytes(np.ascontiguousarray(rows[:, ::-1]).tobytes())
        table = [astuple(replace(each, patience=each.patience or longest)) for each in runs]
        top = folder / f"{bench.TOP}.sv"
        top.write_text(bench.bench_text(design, len(items)))
        outcome = simulate(
            bench.TOP,
            [*design.sources, top],
            Path(__file__).parent / "bench_deconv.py",
            results=folder / "results",
            vectors={"runs": np.array(table, np.int64), "sizes": np.array(astuple(bench.sizes(design)), np.int64)},
            data=[*design.memories, *(folder / file for file in files)],
            seed=seed,
            options=BuildOptions(optimise="-O2" if engine.multipliers >= LARGE else "-O1"),
        )
        if not outcome.passed:
            raise SimulationFailed(f"{design.case} ({engine}): {outcome.message}")
        text = (folder / "results" / "results.txt").read_text()
        words = (folder / "results" / "beats.bin").read_text()
    return _traces(design, text, words, runs)


def _traces(design: Design, text: str, words: str, runs: Sequence[Run]) -> list[Trace]:
    each = sum(op.beats for op in design.program.stores)
    engine = design.engine
    raw = np.frombuffer(bytes.fromhex(words), np.uint8).reshape(-1, design.out_bits // 8)[:, ::-1]
    numbers = np.ascontiguousarray(raw).view(f"<i{engine.bits // 8}")
    traces: list[Trace] = []
    position = 0
    before = np.zeros((1, len(COUNTERS)), np.int64)
    for block, one in zip(text.split("run ")[1:], runs, strict=True):
        lines = [line.split() for line in block.split("\n")[1:] if line]
        items = np.array([line[1:] for line in lines if line[0] == "item"], np.int64).reshape(-1, 2)
        counts = np.array([line[1:] for line in lines if line[0] == "counts"], np.int64).reshape(-1, 1 + len(COUNTERS))
        # The engine counts on; a RUN's share is the difference to the one before.
        shares = np.diff(np.concatenate([before, counts[:, 1:]]), axis=0)
        before = counts[-1:, 1:] if len(counts) else before
        if len(items) != one.count:
            raise SimulationFailed(f"{design.case}: {len(items)} results of {one.count} items")
        beats = numbers[position : position + one.count * each].reshape(one.count, each, -1).astype(np.int64)
        position += one.count * each
        cycles = next(int(line[1]) for line in lines if line[0] == "end")
        traces.append(Trace(items[:, 0], items[:, 1], beats, shares, counts[:, 0], cycles))
    return traces


def worst(design: Design, traces: Sequence[Trace], expected: Sequence[tuple[Integers, NDArray[np.bool_]]]) -> int:
    """Largest difference of any number of any beat from the oracle's, where it matters; -1 for no beats."""
    found = -1
    for trace in traces:
        for beats, (wanted, matters) in zip(trace.beats, expected, strict=False):
            found = max(found, int(np.abs(beats - wanted)[matters].max()))
    return found
