"""Prove the kernels of `md` on a device: forces, the state after some steps, energy, and no list that grew too old."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from gpu.md.bench import Bench
from gpu.md.checks import energy_change, energy_complaint, judge, rounding_of
from gpu.md.launch import Array, BadState, Simulation, Snapshot, Unsupported
from gpu.md.layout import Problem
from gpu.md.oracle import SINGLE, Truth, resolution, truth
from gpu.runtime.device import open_device
from workloads.api import Check, Progress
from workloads.md import WORKLOAD
from workloads.md.cases import SYSTEMS, system
from workloads.md.motion import Moment, run

#: States of a case that a check takes.
LARGEST = dict.fromkeys(SYSTEMS, 1)
#: Batches that are proved: what tuning offers for them differs, and odd and even ones end in different buffers.
BATCHES = (10, 1, 3)
#: Steps after which the state is compared with float64; larger systems have only their forces checked.
STEPS, FOLLOWED = 10, 30_000
#: Steps of a check, in which lists are built several times; on a CPU no more than so many entries of lists take.
LONG, CPU_ENTRIES = 60, 120_000_000


def verify(
    name: str,
    api: str,
    case: str,
    *,
    samples: int,
    seed: int,
    progress: Progress | None = None,
    device: str | None = None,
) -> Iterator[Check]:
    """Prove the kernels of a case on one device against float64, `samples` start states, at most LARGEST.

    Every choice of tuning at the first batch of BATCHES, the best at the others: forces at the start, positions and
    velocities after STEPS steps, forces and total energy after LONG steps; fewer on a CPU, which for the largest cases
    proves one choice.
    """
    problem = Problem(case, system(case))
    opened = open_device(device or api)
    try:
        bench = Bench(opened, problem)
        for number, state in enumerate(WORKLOAD.inputs(case, min(samples, LARGEST[case]), seed)):
            positions, velocities = np.ascontiguousarray(state[:, :3]), np.ascontiguousarray(state[:, 3:])
            start = Start(problem, positions, velocities)
            for arithmetic in bench.arithmetics:
                # The same kernels need not be proved whole at each batch: the first of them stands for the others.
                todo = [(BATCHES[0], choice) for choice in bench.choices(arithmetic, BATCHES[0])]
                todo += [(batch, bench.choices(arithmetic, batch)[0]) for batch in BATCHES[1:]]
                steps = LONG
                if opened.info.warp == 1:
                    steps = min(LONG, CPU_ENTRIES // (problem.n * problem.room(problem.system.cutoff)))
                    todo = todo if steps >= STEPS else todo[-1:]
                for index, (batch, choice) in enumerate(todo):
                    if progress is not None:
                        progress(f"{name} {case} {arithmetic} batch {batch}, {choice}", index, len(todo))
                    begin = time.perf_counter()
                    launches = max(1, -(-steps // batch))
                    try:
                        simulation = bench.simulation(arithmetic, choice, batch)
                    except Unsupported as error:
                        worst, allowed, said = float("inf"), 0.0, str(error)
                    else:
                        worst, allowed, said = start.prove(simulation, launches)
                        simulation.close()
                    what = f"{bench.back.VARIANT}: {choice}, {launches * batch} steps, {batch} a launch"
                    yield Check(
                        implementation=name,
                        case=case,
                        arithmetic=arithmetic,
                        device=opened.info.slug,
                        samples=number + 1,
                        seed=seed,
                        passed=not said,
                        worst=worst,
                        tolerance=allowed,
                        detail=f"{what}; {said}" if said else what,
                        seconds=time.perf_counter() - begin,
                    )
    finally:
        opened.close()


class Start:
    """A start state and what float64 makes of it, computed once for all kernels."""

    def __init__(self, problem: Problem, positions: Array, velocities: Array) -> None:
        self.problem, self.positions, self.velocities = problem, positions, velocities
        self._known: dict[float | None, Truth] = {}

    def truth(self, rounding: float | None) -> Truth:
        """Forces at the start, for coordinates that are rounded so far."""
        if rounding not in self._known:
            self._known[rounding] = truth(self.problem, self.positions, rounding)
        return self._known[rounding]

    @cached_property
    def followed(self) -> Moment | None:
        """The state in float64 after STEPS steps of velocity Verlet; None for large systems."""
        if self.problem.n > FOLLOWED:
            return None
        *_, last = run(self.problem.system, Moment(self.positions, self.velocities), STEPS, STEPS)
        return last

    def prove(self, simulation: Simulation, launches: int) -> tuple[float, float, str]:
        """Worst force error relative to the forces, what it may be, and what else is wrong, or ""."""
        problem, rounding = self.problem, rounding_of(simulation)
        try:
            simulation.set(self.positions, self.velocities)
        except BadState as error:
            return float("inf"), 0.0, str(error)
        first = judge(problem, simulation.snapshot(), rounding, self.truth(rounding))
        said = [first.complaint]
        for index in range(launches):
            simulation.launch(0)
            if (index + 1) * simulation.batch == STEPS and self.followed is not None:
                said += self._strayed(simulation.snapshot(), self.followed, rounding)
        simulation.finish()
        status = simulation.status()
        last = judge(problem, simulation.snapshot(), rounding)
        said += [status.problem, last.complaint, energy_complaint(problem, energy_change(problem, first, last))]
        return max(first.error, last.error), max(first.tolerance, last.tolerance), "; ".join(s for s in said if s)

    def _strayed(self, got: Snapshot, wanted: Moment, rounding: float | None) -> list[str]:
        """What is wrong with the state after STEPS steps.

        A force error of the worst particle of the start, always the same way, changes a velocity by a t and moves a
        particle by a t^2 / 2; each step rounds a position and a velocity. Twelve standard deviations, as STEPS steps
        are too few for errors to grow by themselves.
        """
        system, about = self.problem.system, self.truth(rounding)
        kicks = self.problem.kicks()[self.problem.kinds][about.which]
        force = float((kicks * about.deviation).max())
        speed = STEPS * (force + float(np.abs(wanted.velocities).max()) * SINGLE)
        held = resolution(self.problem) if rounding is None else rounding
        drift = STEPS * (speed * system.step + held + self.problem.far * SINGLE)
        box = np.array(system.box)
        d = got.positions - wanted.positions
        said = []
        for what, off, allowed in (
            ("positions", d - box * np.round(d / box), 12 * drift),
            ("velocities", got.velocities - wanted.velocities, 12 * speed),
        ):
            worst = float(np.abs(off).max())
            if not worst <= allowed:  # also where it is no number
                said.append(f"{what} are off by {worst:g} after {STEPS} steps, allowed {allowed:g}")
        return said
