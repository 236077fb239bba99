"""Time steps that follow from each other: a session whose launches run one trajectory on.

Three things differ from `gpu.session.Session`. There is one state and one buffer set: a launch of `batch` steps goes on
where the last one ended. The throughput is a mean over windows in which lists are built several times: most launches of
a few steps build none, so that their median would leave this work out. And what is checked is the trajectory itself,
after all the timed launches, and then the start; see `gpu.md.checks`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compare.record import Boundary, Measurement, Record, Scalar, Stage
from gpu.api import Prepared
from gpu.md.checks import energy_change, energy_complaint, judge, rounding_of
from gpu.md.layout import Problem
from gpu.md.oracle import Truth, truth
from gpu.points import Point
from gpu.quantities import band
from gpu.runtime import loop
from gpu.session import Session, WrongResultError
from workloads.md.cases import system

#: A window holds so many list builds, if it does not take longer than this, s; then at least the second number.
BUILDS, WINDOW_SECONDS, FEWEST_BUILDS = 10, 2.0, 2
WINDOWS = 5


class StepSession(Session):
    """A session of simulations; their records say how good the forces were at both ends of what was timed."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._sustained: list[Measurement] = []
        self._start: dict[float | None, Truth] = {}
        self._problem = Problem(self.case, system(self.case))

    def inputs(self, batch: int) -> NDArray[np.float64]:
        """The one start state (batch, n, 6), the same for every step: a view, however long the batch."""
        if self._distinct is None:
            self._distinct = self.work.inputs(self.case, 1, self.seed)
        return np.broadcast_to(self._distinct, (batch, *self._distinct.shape[1:]))

    def record(self, point: Point, energy: bool) -> Record:
        """As `Session.record`, with the force error and the rates of windows that hold list builds.

        The rates stand in place of medians of launches; the error is the worse of start and end.
        """
        made = super().record(point, energy)
        kept = [m for m in made.measurements if m.quantity != "throughput" or m.spread == "windows"]
        errors = [made.conditions.get(name) for name in ("force_error", "force_error_start")]
        known = [float(e) for e in errors if isinstance(e, (int, float))]
        if known:
            error = Measurement(
                "quality.force_error", max(known), "1", "max", len(known), Stage.MEASURED, Boundary.NONE
            )
            kept.append(error)
        return replace(made, measurements=(*self._sustained, *kept))

    def _conditions(self, point: Point, sets: int, item: int) -> dict[str, Scalar]:
        about = self._problem.system
        return super()._conditions(point, sets, item) | {
            "distinct_inputs": 1,
            "working_set_bytes": item,
            "exceeds_cache": False,
            "particles": about.n,
            "cutoff": about.cutoff,
            "step": about.step,
            "trajectory": "one, on through all launches of a measurement",
        }

    def _sources(self, prepared: Prepared, energy: bool) -> list[str]:
        return [*super()._sources(prepared, energy), "gpu/md/session.py", "gpu/md/checks.py"]

    def _check(self, point: Point, runner: Any, inputs: NDArray[np.float64], conditions: dict[str, Scalar]) -> None:
        self._sustained = sustained(runner, conditions)
        if self.info.api == "null":
            conditions["checked_items"] = 0
            return
        state, problem, rounding = inputs[0], self._problem, rounding_of(runner)
        status = runner.status()
        last = judge(problem, runner.snapshot(), rounding)
        runner.set(state[:, :3], state[:, 3:])
        if rounding not in self._start:
            self._start[rounding] = truth(problem, state[:, :3], rounding)
        first = judge(problem, runner.snapshot(), rounding, self._start[rounding])
        change = energy_change(problem, first, last)
        complaints = (
            ("", status.problem),
            ("at the start ", first.complaint),
            (f"after {status.steps} steps ", last.complaint),
            ("", energy_complaint(problem, change)),
        )
        for when, complaint in complaints:
            if complaint:
                raise WrongResultError(f"{point}: {when}{complaint}")
        conditions |= {
            "checked_items": 2,
            "worst_difference": max(first.error, last.error),
            "tolerance": max(first.tolerance, last.tolerance),
            "force_error": last.error,
            "force_error_start": first.error,
            "energy_change": change,
            "steps_run": status.steps,
            "list_builds": status.builds,
            "rebuild_interval": round(status.steps / status.builds, 2) if status.builds else None,
            "pairs_within_cutoff": last.pairs,
        }


def sustained(
    runner: Any, conditions: dict[str, Scalar], clock: Callable[[], int] = time.perf_counter_ns
) -> list[Measurement]:
    """Throughput at both boundaries over windows of equal work that hold several list builds each, steps/s."""
    launches, seconds = _window(runner, clock)
    windows = WINDOWS if seconds < WINDOW_SECONDS / 2 else 3
    kernel, host = [], []
    for _ in range(windows):
        kernel.append(runner.batch * launches * 1e9 / max(int(runner.kernel_times(launches).sum()), 1))
        begin = clock()
        for _ in range(launches):
            runner.launch(0)
        runner.finish()
        host.append(runner.batch * launches * 1e9 / max(clock() - begin, 1))
    conditions |= {"window_steps": launches * runner.batch, "rate": "mean of windows that hold list builds"}
    return [
        band("throughput", "items/s", kernel, "median", Boundary.KERNEL, "min-max"),
        band("throughput", "items/s", host, "median", Boundary.HOST, "min-max"),
    ]


def _window(runner: Any, clock: Callable[[], int]) -> tuple[int, float]:
    """Launches of a window, and how long it takes, s."""
    usual = loop.launches_for(runner, loop.Budget.round_seconds, clock)
    begin = clock()
    for _ in range(usual):
        runner.launch(0)
    runner.finish()
    each = max(clock() - begin, 1) / 1e9 / usual
    status, most = runner.status(), int(WINDOW_SECONDS / each)
    if status.builds:
        interval = status.steps / status.builds
        wanted = math.ceil(BUILDS * interval / runner.batch)
        fewest = math.ceil(FEWEST_BUILDS * interval / runner.batch)
        most = min(wanted, max(fewest, most))
    # Builds that are not counted may be rare, and seeing the end may cost much: then as many launches as time allows.
    launches = max(usual, most)
    return launches, launches * each
