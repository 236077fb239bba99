"""What simulations on a device have in common, and the choice of the fastest by time."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.md.launch import Array, BadState, Simulation, Snapshot, Unsupported, back_end
from gpu.md.layout import Problem
from gpu.runtime.device import Device

#: What decides a result besides the kernel's own files, relative to the repository.
SOURCES = (
    "gpu/md/bench.py",
    "gpu/md/launch.py",
    "gpu/md/layout.py",
    "gpu/md/oracle.py",
    "gpu/md/session.py",
    "gpu/bcnn/launch.py",
    "gpu/runtime/loop.py",
    "gpu/runtime/stats.py",
    *(f"workloads/md/{name}.py" for name in ("cases", "forces", "pairs", "potential", "system")),
)
#: A trial lasts this many steps, so that lists are built several times, or so long, s, on slow devices.
TRIAL_STEPS, TRIAL_SECONDS = 200, 2.0


def check_start(problem: Problem, positions: Array, velocities: Array) -> None:
    """Errors: BadState naming a particle without position or velocity, or too fast for the step."""
    system = problem.system
    for what, numbers in (("positions", positions), ("velocities", velocities)):
        if numbers.shape != (problem.n, 3):
            raise BadState(f"{system.name}: {what} of shape {numbers.shape}, expected ({problem.n}, 3)")
        bad = ~np.isfinite(numbers).all(1)
        if bad.any():
            raise BadState(f"{system.name}: {what} of particle {int(bad.argmax())} are not finite")
    _near(problem, np.abs(velocities).max(1) * system.step)


def check_forces(problem: Problem, forces: Array) -> None:
    """Errors: BadState naming a particle that would be thrown out: it overlaps, or the step is too long."""
    kicks = problem.kicks()[problem.kinds].astype(np.float64) * problem.system.step
    _near(problem, np.abs(forces).max(1) * kicks)


def _near(problem: Problem, moves: Array) -> None:
    bad = ~(moves < problem.far)  # also what is no number
    if bad.any():
        at = int(bad.argmax())
        raise BadState(f"{too_far(problem, at)} ({moves[at]:g})")


def too_far(problem: Problem, particle: int) -> str:
    """What to say of a particle that a step moves beyond all reason."""
    return (
        f"{problem.system.name}: a step moves particle {particle} by more than {problem.far:g}: "
        "particles overlap, or the step is too long"
    )


class DeviceSimulation:
    """What is the same for all kernels of a `gpu.runtime.device.Device`: counting, checking, timing.

    A subclass has `_set`, which uploads a state and evaluates its forces, and `snapshot`, `status`, `conditions`,
    `close`; it names its launch of `batch` steps and an empty one.
    """

    sets = 1
    problem: Problem

    def __init__(self, device: Device, batch: int, launch: Any, empty: Any) -> None:
        self.device, self.batch = device, batch
        self.launches: list[Any] = [launch]
        self.empty: Any = empty
        self.finish = device.finish
        self.steps = 0
        self._start: tuple[Array, Array] | None = None

    def set(self, positions: Array, velocities: Array) -> None:
        """Start from this state. Errors: BadState."""
        check_start(self.problem, positions, velocities)
        self._start = positions, velocities
        self._renew()
        check_forces(self.problem, self.snapshot().forces)
        if problem := self.status().problem:
            raise BadState(f"{self.problem.system.name}: {problem}")

    def launch(self, index: int) -> Any:
        """Enqueue `batch` steps."""
        self.steps += self.batch
        return self.launches[0]()

    def round_trip(self, index: int) -> None:
        """Set the state, evaluate forces, run, read the state back; complete when it returns."""
        self._renew()
        self.launch(index)
        self.snapshot()

    def kernel_times(self, count: int) -> NDArray[np.int64]:
        """Device times of `count` launches, ns."""
        self.steps += self.batch * count
        return self.device.kernel_times(self.launches, count)

    def empty_times(self, count: int) -> NDArray[np.int64]:
        """Device times of `count` empty launches, ns."""
        return self.device.kernel_times([self.empty], count)

    def too_far(self, particle: int) -> str:
        """What to say of a particle that a step moves beyond all reason."""
        return too_far(self.problem, particle)

    def _renew(self) -> None:
        assert self._start is not None, "set comes first"
        self.steps = 0
        self._set(*self._start)

    def _set(self, positions: Array, velocities: Array) -> None:
        raise NotImplementedError

    def snapshot(self) -> Snapshot:
        """The state after all launches so far."""
        raise NotImplementedError

    def status(self) -> Any:
        """What happened since the state was set."""
        raise NotImplementedError


def step_seconds(simulation: Simulation, clock: Callable[[], float] = time.perf_counter) -> float:
    """Mean time of a step, s, list builds included, from launch to completion; the first launch is left out.

    Errors: BadState where the run is spoilt.
    """
    simulation.launch(0)
    simulation.finish()
    steps, begin = 0, clock()
    while steps == 0 or (steps < TRIAL_STEPS and clock() - begin < TRIAL_SECONDS):
        for _ in range(max(1, 20 // simulation.batch)):
            simulation.launch(0)
            steps += simulation.batch
        simulation.finish()
    spent = clock() - begin
    if problem := simulation.status().problem:
        raise BadState(problem)
    return spent / steps


class Bench:
    """The kernels of one problem on one device."""

    def __init__(self, device: Device, problem: Problem) -> None:
        self.device, self.problem, self.back = device, problem, back_end(device.info)
        self._best: dict[tuple[str, int, str], Hashable] = {}

    @property
    def arithmetics(self) -> tuple[str, ...]:
        """What this device does on this problem."""
        return self.back.supported(self.problem, self.device.info)

    def choices(self, arithmetic: str, batch: int) -> list[Hashable]:
        """What may be chosen at this batch."""
        return list(self.back.choices(self.problem, arithmetic, batch, self.device.info))

    def simulation(self, arithmetic: str, choice: Hashable, batch: int, mode: str = "queue") -> Any:
        """A choice bound to the device. Errors: Unsupported."""
        return self.back.simulation(self.device, self.problem, arithmetic, choice, batch, mode)

    def tune(self, arithmetic: str, batch: int, mode: str, positions: Array, velocities: Array) -> Hashable:
        """The choice whose steps take the least time on average from this state, list builds included.

        Errors: Unsupported with what each choice said, where none can be run; BadState for a bad state.
        """
        check_start(self.problem, positions, velocities)
        key = arithmetic, batch, mode
        if key not in self._best:
            found = self.choices(arithmetic, batch)
            if len(found) == 1:
                self._best[key] = found[0]
                return found[0]
            said: list[str] = []
            timed = dict(self._trials(found, arithmetic, batch, mode, (positions, velocities), said))
            if not timed:
                raise Unsupported("; ".join(said))
            self._best[key] = min(timed, key=timed.__getitem__)
        return self._best[key]

    def _trials(
        self, found: list[Hashable], arithmetic: str, batch: int, mode: str, state: tuple[Array, Array], said: list[str]
    ) -> Iterator[tuple[Hashable, float]]:
        for choice in found:
            simulation = None
            try:
                simulation = self.simulation(arithmetic, choice, batch, mode)
                simulation.set(*state)
                yield choice, step_seconds(simulation)
            except (Unsupported, BadState) as error:
                said.append(f"{choice}: {error}")
            finally:
                if simulation is not None:
                    simulation.close()
