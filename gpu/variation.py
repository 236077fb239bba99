"""How much a throughput varies from run to run, which is a claim of its own about FPGAs against GPUs.

A *run* is a window of equal work: the same number of launches over the buffer sets in turn, one after another, from
before the first until the program has seen the last one complete (boundary `host`). The windows follow each other with
nothing but that wait between them, at free-running clocks, in one process; a window is long enough that the clock's
resolution and the wait are lost in it. So the standard deviation over them is what a user who repeats a measurement
sees: launch jitter, clocks and temperature. What changes between processes (addresses, the choice of tuning) is not in
it: two calls of `gatewarp measure` show that, as their records have different `run` conditions.

The record gets a `throughput` by its mean, with `low` and `high` one standard deviation (of the sample, n - 1) below
and above it, `spread` "std", and every window's rate in `values`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from compare.record import Boundary, Measurement, Record, Scalar, Stage
from gpu.api import Array, CheckedRunner, Prepared
from gpu.points import Point
from gpu.runtime import loop
from gpu.session import Session

#: Length of a window, s.
WINDOW_SECONDS = 0.02
#: Fewer windows say little of a standard deviation: its own error is a seventh with 30.
FEWEST = 30


def run_rates(
    runner: loop.Runner,
    runs: int,
    seconds: float = WINDOW_SECONDS,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> tuple[list[float], int]:
    """Throughput of each of `runs` windows, items/s, and the launches of a window."""
    launches = loop.launches_for(runner, seconds, clock)
    launches = -(-launches // runner.sets) * runner.sets  # every window has every buffer set as often
    rates: list[float] = []
    for _ in range(runs):
        begin = clock()
        for i in range(launches):
            runner.launch(i % runner.sets)
        runner.finish()
        rates.append(runner.batch * launches * 1e9 / max(clock() - begin, 1))
    return rates, launches


def from_runs(rates: list[float]) -> Measurement:
    """Mean and standard deviation of the throughputs of runs. Errors: ValueError for fewer than FEWEST."""
    if len(rates) < FEWEST:
        raise ValueError(f"{len(rates)} runs; a standard deviation wants at least {FEWEST}")
    mean, deviation = float(np.mean(rates)), float(np.std(rates, ddof=1))
    low = max(mean - deviation, 0.0)
    return Measurement(
        "throughput",
        mean,
        "items/s",
        "mean",
        len(rates),
        Stage.MEASURED,
        Boundary.HOST,
        low,
        mean + deviation,
        "std",
        tuple(rates),
    )


class VariationSession(Session):
    """A session whose records also say how the throughput varies over `runs` windows of equal work."""

    def __init__(self, *arguments: Any, runs: int, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._runs = runs
        self._rates: list[float] = []

    def record(self, point: Point, energy: bool) -> Record:
        """As `Session.record`, with one measurement more."""
        record = super().record(point, energy)
        return replace(record, measurements=(*record.measurements, from_runs(self._rates)))

    def _check(self, point: Point, runner: CheckedRunner, inputs: Array, conditions: dict[str, Scalar]) -> None:
        self._rates, launches = run_rates(runner, self._runs)
        conditions |= {"runs": self._runs, "launches_per_run": launches}
        super()._check(point, runner, inputs, conditions)  # the outputs of the runs are checked too

    def _sources(self, prepared: Prepared, energy: bool) -> list[str]:
        return [*super()._sources(prepared, energy), "gpu/variation.py"]
