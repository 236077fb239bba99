"""Prove the kernels of `md` on a device: forces, positions after some steps, energy, and that no list grows too old."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from gpu.md.bench import Bench
from gpu.md.checks import energy_change, energy_complaint, judge, rounding_of
from gpu.md.launch import Array, BadState, Simulation
from gpu.md.layout import Problem
from gpu.md.oracle import SINGLE, truth
from gpu.runtime.device import open_device
from workloads.api import Check, Progress
from workloads.md import WORKLOAD
from workloads.md.cases import SYSTEMS, system
from workloads.md.motion import Moment, run

#: States of a case that a check takes.
LARGEST = dict.fromkeys(SYSTEMS, 1)
#: Batches that are proved: what tuning offers for them differs, and odd and even ones end in different buffers.
BATCHES = (10, 1, 3)
#: Steps after which positions are compared with float64; larger systems have only their forces checked.
STEPS, FOLLOWED = 10, 30_000
#: Steps that a list lives through in a check, several builds.
LONG = 60


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

    Every choice of tuning at each batch of BATCHES: forces at the start, positions after STEPS steps of batch 10 or
    less, forces and total energy after LONG steps.
    """
    problem = Problem(case, system(case))
    opened = open_device(device or api)
    try:
        bench = Bench(opened, problem)
        for number, state in enumerate(WORKLOAD.inputs(case, min(samples, LARGEST[case]), seed)):
            positions, velocities = np.ascontiguousarray(state[:, :3]), np.ascontiguousarray(state[:, 3:])
            wanted = followed(problem, positions, velocities)
            done: set[tuple[str, object, int]] = set()
            for arithmetic in bench.arithmetics:
                for batch in BATCHES:
                    found = bench.choices(arithmetic, batch)
                    # The same kernels need not be proved whole at each batch: the first of them stands for the others.
                    for choice in found if batch == BATCHES[0] else found[:1]:
                        if progress is not None:
                            progress(f"{name} {case} {arithmetic} batch {batch}, {choice}", len(done), len(done) + 1)
                        done.add((arithmetic, choice, batch))
                        begin = time.perf_counter()
                        simulation = bench.simulation(arithmetic, choice, batch)
                        try:
                            worst, allowed, said = prove(problem, simulation, positions, velocities, wanted)
                        finally:
                            simulation.close()
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
                            detail=f"{bench.back.VARIANT}: {choice}, batch {batch}{'; ' if said else ''}{said}",
                            seconds=time.perf_counter() - begin,
                        )
    finally:
        opened.close()


def followed(problem: Problem, positions: Array, velocities: Array) -> Array | None:
    """Positions (n, 3) in float64 after STEPS steps of velocity Verlet; None for large systems."""
    if problem.n > FOLLOWED:
        return None
    *_, last = run(problem.system, Moment(positions, velocities), STEPS, STEPS)
    at: Array = last.positions
    return at


def prove(
    problem: Problem, simulation: Simulation, positions: Array, velocities: Array, wanted: Array | None
) -> tuple[float, float, str]:
    """Worst force error relative to the forces, what it may be, and what else is wrong, or ""."""
    rounding = rounding_of(simulation)
    try:
        simulation.set(positions, velocities)
    except BadState as error:
        return float("inf"), 0.0, str(error)
    first = judge(problem, simulation.snapshot(), rounding, positions)
    said = [first.complaint]
    launches = -(-LONG // simulation.batch)
    for index in range(launches):
        simulation.launch(0)
        if (index + 1) * simulation.batch == STEPS and wanted is not None:
            off, allowed = (
                _off(problem, simulation.snapshot().positions, wanted),
                _allowed(problem, positions, rounding),
            )
            if not off <= allowed:
                said.append(f"positions are off by {off:g} after {STEPS} steps, allowed {allowed:g}")
    simulation.finish()
    status = simulation.status()
    last = judge(problem, simulation.snapshot(), rounding)
    said += [status.problem, last.complaint, energy_complaint(problem, energy_change(problem, first, last))]
    return max(first.error, last.error), max(first.tolerance, last.tolerance), "; ".join(s for s in said if s)


def _off(problem: Problem, positions: Array, wanted: Array) -> float:
    box = np.array(problem.system.box)
    d = positions - wanted
    d -= box * np.round(d / box)
    return float(np.abs(d).max()) if np.isfinite(d).all() else float("inf")


def _allowed(problem: Problem, positions: Array, rounding: float | None) -> float:
    """How far a particle may be from where float64 has it after STEPS steps.

    A force error of the worst particle of the start, always the same way, moves it by a t^2 / 2; each drift rounds a
    position and a velocity. Twelve standard deviations, as STEPS steps are too few for errors to grow by themselves.
    """
    about = truth(problem, positions, rounding)
    kicks = problem.kicks()[problem.kinds][about.which] * problem.system.step
    force = float((kicks * about.deviation).max()) * STEPS**2 / 2
    drift = STEPS * (max(problem.system.box) * SINGLE + problem.far * SINGLE)
    return 12 * (force + drift)
