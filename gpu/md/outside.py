"""Simulations by outside frameworks: counting, and times by the host's clock, since their streams are their own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.md.bench import check_forces, check_start
from gpu.md.launch import Array, BadState, Simulation, Snapshot, Status
from gpu.md.layout import Problem
from gpu.md.prove import LARGEST, Start
from workloads.api import Check, Progress
from workloads.md import WORKLOAD
from workloads.md.cases import system

#: Steps of a launch, and launches, of a proof.
BATCH, LAUNCHES = 10, 3
#: How the records say what a device time is.
TIMES = "host clock, from before a launch until its end is seen: the framework's stream is its own"


class OutsideSimulation:
    """What is the same for all frameworks; see `gpu.md.launch.Simulation`.

    A subclass has `_set`, `_run` (`batch` steps, may return before they are done), `finish`, `snapshot`, `_trouble`,
    `empty`, `conditions` and `close`.
    """

    sets = 1

    def __init__(self, problem: Problem, batch: int) -> None:
        self.problem, self.batch, self.steps = problem, batch, 0
        self._start: tuple[Array, Array] | None = None

    def set(self, positions: Array, velocities: Array) -> None:
        """Start from this state. Errors: BadState."""
        check_start(self.problem, positions, velocities)
        self._start = positions, velocities
        self._renew()
        check_forces(self.problem, self.snapshot().forces)

    def _renew(self) -> None:
        assert self._start is not None, "set comes first"
        self.steps = 0
        self._set(*self._start)

    def launch(self, index: int) -> None:
        """Begin `batch` steps."""
        self.steps += self.batch
        self._run()

    def round_trip(self, index: int) -> None:
        """Set the state, run, read the state back."""
        self._renew()
        self.launch(index)
        self.snapshot()

    def kernel_times(self, count: int) -> NDArray[np.int64]:
        """Times of `count` launches, ns; see TIMES."""
        return _timed(lambda: self.launch(0), self.finish, count)

    def empty_times(self, count: int) -> NDArray[np.int64]:
        """The same for what does next to nothing."""
        return _timed(self.empty, self.finish, count)

    def status(self) -> Status:
        """Steps, and what went wrong; the frameworks do not count their list builds."""
        self.finish()
        return Status(self.steps, None, self._trouble())

    def _set(self, positions: Array, velocities: Array) -> None:
        raise NotImplementedError

    def _run(self) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """Wait until all that was begun is done."""
        raise NotImplementedError

    def empty(self) -> None:
        """What the framework takes for next to nothing."""
        raise NotImplementedError

    def snapshot(self) -> Snapshot:
        """The state after all launches so far."""
        raise NotImplementedError

    def _trouble(self) -> str:
        return ""


def _timed(act: Any, finish: Any, count: int) -> NDArray[np.int64]:
    finish()
    times = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        act()
        finish()
        times.append(time.perf_counter_ns() - begin)
    return np.array(times, np.int64)


def verify(
    name: str, settings: Any, case: str, where: str, *, samples: int, seed: int, progress: Progress | None
) -> Iterator[Check]:
    """Prove every setting of a framework, `settings(problem, arithmetic, batch, modes)`, as our kernels are proved."""
    problem = Problem(case, system(case))
    for number, state in enumerate(WORKLOAD.inputs(case, min(samples, LARGEST[case]), seed)):
        positions, velocities = np.ascontiguousarray(state[:, :3]), np.ascontiguousarray(state[:, 3:])
        start = Start(problem, positions, velocities)
        for setting, make in settings(problem, "fp32", BATCH, ("best",)):
            if progress is not None:
                progress(f"{name} {case} {setting}", number, number + 1)
            begin = time.perf_counter()
            simulation: Simulation | None = None
            try:
                simulation = make()
                worst, allowed, said = start.prove(simulation, LAUNCHES)
            except BadState as error:
                worst, allowed, said = float("inf"), 0.0, str(error)
            finally:
                if simulation is not None:
                    simulation.close()
            yield Check(
                implementation=name,
                case=case,
                arithmetic="fp32",
                device=where,
                samples=number + 1,
                seed=seed,
                passed=not said,
                worst=worst,
                tolerance=allowed,
                detail=f"{setting}, outside baseline{'; ' if said else ''}{said}",
                seconds=time.perf_counter() - begin,
            )
