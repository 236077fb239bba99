"""Images through a generated core, cycle by cycle, in runs of different pace."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designs.bcnn import bench
from designs.bcnn.core import SUM_BITS
from designs.bcnn.generate import Design
from designs.flow.folding import bits_of, hexadecimal
from designs.flow.verilator import BuildOptions, simulate
from designs.flow.yosys import Synthesis, cell_library

#: Compiling takes longer than simulating here, also for the large networks.
OPTIONS = BuildOptions(optimise="-O1")

#: Sums (n, classes) and cycles (n,).
Integers = NDArray[np.int64]


class SimulationFailed(RuntimeError):
    """The simulated core broke the rules of a stream or stood still; the message says which, with the seed."""


@dataclass(frozen=True)
class Run:
    """One run: `count` images from number `first` on; see `designs.bcnn.bench` for the pace.

    `idle` is a chance of 256, `hold` a power of two of cycles; `patience` are the cycles without a word after which the
    core stands still.
    """

    count: int
    first: int = 0
    gap: int = 0
    single: bool = False
    idle: int = 0
    hold: int = 0
    seed: int = 1
    patience: int = 1_000_000


@dataclass(frozen=True)
class Trace:
    """What a run saw: `entered` and `left` in cycles (n,), `sums` (n, classes), cycles that each layer worked."""

    entered: Integers
    left: Integers
    sums: Integers
    worked: tuple[int, ...]

    @property
    def latency(self) -> Integers:
        """Cycles from the first pixel in to the sums out, of each image (n,)."""
        return self.left - self.entered

    @property
    def interval(self) -> float:
        """(t_N - t_1) / (N - 1) cycles between images at the output. Needs two images."""
        return float(self.left[-1] - self.left[0]) / (len(self.left) - 1)

    @property
    def utilisation(self) -> tuple[float, ...]:
        """Cycles that each layer's unit works for an image over the cycles between images, by layer."""
        return tuple(cycles / len(self.left) / self.interval for cycles in self.worked)


def run(
    design: Design, images: NDArray[np.int8], runs: Sequence[Run], seed: int = 1, netlist: Synthesis | None = None
) -> list[Trace]:
    """Simulate `runs` over `images` (n, rows, columns, channels) without a reset between them.

    With `netlist`, what synthesis made of the design is simulated; then no layer's work is counted.
    Errors: SimulationFailed, FlowError, MissingTool; ValueError for a run beyond the images.
    """
    for each in runs:
        if not (each.count >= 1 and each.first >= 0 and each.first + each.count <= len(images)):
            raise ValueError(f"a run of {each.count} images from {each.first} on, but there are {len(images)}")
    # Few sizes, so that few simulators are built.
    capacity = 1 << max(len(images) - 1, 15).bit_length()
    with tempfile.TemporaryDirectory(prefix="gatewarp-") as name:
        folder = Path(name)
        (folder / "images.hex").write_text(pixels(design, images))
        top = folder / f"{bench.TOP}.sv"
        top.write_text(bench.bench_text(design, capacity, netlist=netlist is not None))
        sources, options = [*design.sources, top], OPTIONS
        if netlist:
            library = cell_library()
            sources, options = [netlist.verilog, library, top], replace(OPTIONS, includes=(str(library.parent),))
        outcome = simulate(
            bench.TOP,
            sources,
            Path(__file__).parent / "bench_bcnn.py",
            results=folder / "results",
            vectors={"runs": np.array([astuple(each) for each in runs], np.int64)},
            data=[*design.memories, folder / "images.hex"],
            seed=seed,
            options=options,
        )
    if not outcome.passed:
        raise SimulationFailed(f"{design.case} ({design.folding}): {outcome.message}")
    return _traces(design, outcome.payload, runs)


def pixels(design: Design, images: NDArray[np.int8]) -> str:
    """Text for $readmemh of the images' pixels in raster order, channel 0 lowest."""
    width = design.folding.layers[0].input_bits
    return hexadecimal(bits_of(images, width).reshape(-1, design.in_bits))


def _traces(design: Design, payload: Any, runs: Sequence[Run]) -> list[Trace]:
    cycles, busy = payload["cycles"], payload["busy"]
    sums = sums_of(payload["words"])
    traces = []
    for number, each in enumerate(runs, 1):
        mine = cycles[:, 0] == number
        if mine.sum() != each.count:
            raise SimulationFailed(f"{design.case}: {mine.sum()} results of {each.count} images in run {number - 1}")
        worked = tuple(int(count) for count in busy[number - 1, 1:])
        traces.append(Trace(cycles[mine, 1], cycles[mine, 2], sums[mine], worked))
    return traces


def sums_of(words: NDArray[np.str_]) -> Integers:
    """Sums (n, classes) of output words in hexadecimal, SUM_BITS each, the first lowest."""
    rows = [bytes.fromhex(str(word))[::-1] for word in words]
    return np.array([np.frombuffer(row, f"<i{SUM_BITS // 8}") for row in rows], np.int64)
