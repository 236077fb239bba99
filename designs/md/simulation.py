"""Scripts through a generated engine, cycle by cycle, at different pace."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from designs import lib
from designs.flow.verilator import BuildOptions, simulate
from designs.md import bench
from designs.md.generate import MULTIPLIER, Design
from designs.md.protocol import Script
from workloads.md.tables import Integers

#: An engine takes longer to compile than a simulation gains by the compiler's best.
QUICK = BuildOptions(optimise="-O1")


class SimulationFailed(RuntimeError):
    """The simulated engine broke the rules of a stream or stood still; the message says which, with the seed."""


@dataclass(frozen=True)
class Run:
    """One script, and its pace: `idle` and `stall` are chances of 256 that a stream pauses."""

    script: Script
    idle: int = 0
    stall: int = 0
    seed: int = 1


@dataclass(frozen=True)
class Trace:
    """What a run saw: `packets` that came out, the cycles in which steps ended (steps,), cycles of all of it."""

    packets: tuple[tuple[int, ...], ...]
    steps: Integers
    cycles: int


def run(design: Design, runs: Sequence[Run], *, seed: int = 1, options: BuildOptions | None = None) -> list[Trace]:
    """Simulate `runs` one after the other, without a reset between them.

    Errors: SimulationFailed, FlowError, MissingTool.
    """
    words = [word for each in runs for word in each.script.words]
    size = -(-design.bits // 8)
    with tempfile.TemporaryDirectory(prefix="gatewarp-") as name:
        folder = Path(name)
        (folder / "inputs.bin").write_bytes(b"".join(word.to_bytes(size, "big") for word in words))
        top = folder / f"{bench.TOP}.sv"
        top.write_text(bench.bench_text(design, len(words)))
        table = [
            (len(each.script.words), each.script.answers, each.idle, each.stall, each.seed, patience(design))
            for each in runs
        ]
        outcome = simulate(
            bench.TOP,
            [*map(_simulated, design.sources), top],
            Path(__file__).parent / "bench_md.py",
            results=folder / "results",
            vectors={"runs": np.array(table, np.int64)},
            data=[*design.memories, folder / "inputs.bin"],
            seed=seed,
            options=options or QUICK,
        )
        if not outcome.passed:
            raise SimulationFailed(f"{design.case} ({design.engine}): {outcome.message}")
        text = (folder / "results" / "results.txt").read_text()
        beats = (folder / "results" / "beats.txt").read_text()
    return _traces(runs, text, beats)


def patience(design: Design) -> int:
    """Cycles without a word or the end of a step after which the engine is said to stand still.

    Ten times what a step takes whose pipelines do nothing but test candidates, and all words of memory once.
    """
    cells = int(np.prod(design.system.cells))
    engine = design.engine
    most = min(engine.capacity, max(1, 2 * design.system.n // cells))
    units = cells * -(-most // engine.filters)
    return 10 * (units * 14 * most // engine.workers + cells * engine.capacity) + 10_000


def _simulated(source: Path) -> Path:
    """A vendor's module has a model for simulation."""
    return lib.source(f"sim/{MULTIPLIER}")[0] if source.stem == MULTIPLIER else source


def _traces(runs: Sequence[Run], text: str, beats: str) -> list[Trace]:
    lines = iter(beats.splitlines())
    traces = []
    for block, each in zip(text.split("run ")[1:], runs, strict=True):
        told = [line.split() for line in block.splitlines()[1:] if line]
        packets = []
        for _ in range(each.script.answers):
            packet = []
            for line in lines:
                last, word = line.split()
                packet.append(int(word, 16))
                if last == "1":
                    break
            packets.append(tuple(packet))
        steps = np.array([line[1] for line in told if line[0] == "step"], np.int64)
        traces.append(Trace(tuple(packets), steps, next(int(line[1]) for line in told if line[0] == "end")))
    return traces
