"""How the energy goes over 10,000 steps at constant energy, in each arithmetic.

The states are those of the arithmetic itself, their energy is taken in float64 with the exact potential. The start is a
start state of the case that has first run 500 steps in float64; it is the same for every arithmetic.

Velocity Verlet does not conserve the total energy H but, to fourth order in the step h, the energy

    H + h^2 (v U'' v / 12 - F^2 / (24 m))

(Engle, Skeel and Drees, J. Comput. Phys. 206, 2005). H goes up and down by the second term, which says nothing about
the arithmetic and hides a drift a hundred times smaller, so the energy here is the conserved one. U'' v is a central
difference of the forces along v.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from workloads.api import Progress
from workloads.md import cases, fixed, motion
from workloads.md.forces import kinetic
from workloads.md.motion import Moment, VerletList, energy_and_forces
from workloads.md.system import Reals, System

#: Cases with a trace.
CASES = ("lj864",)
TYPES = {"fp64": np.float64, "fp32": np.float32}
#: The seed of the trace; steps of a run, from point to point, and in float64 before.
SEED, STEPS, EVERY, BEFORE = 30_000, 10_000, 50, 500


@dataclass(frozen=True)
class Trace:
    """Energy per particle (n,) in `unit`, one each `steps` steps, see above, and the line fitted through it.

    `drift`: slope of that line in k T per particle and 10,000 steps, of either sign; T is the case's. `drift_error`:
    its standard error with residuals taken to be independent. `deviation`: their standard deviation in k T.
    `momentum`: at the end, length of the sum of all momenta over the sum of their lengths.
    """

    steps: int
    energy: Reals
    unit: str
    drift: float
    drift_error: float
    deviation: float
    momentum: float


@cache
def trace(case: str, arithmetic: str, progress: Progress | None = None) -> Trace:
    """The trace of a case that has one, computed once in a process; about a minute."""
    return run(case, arithmetic, SEED, progress=progress)


def run(
    case: str,
    arithmetic: str,
    seed: int,
    steps: int = STEPS,
    form: fixed.Format | None = None,
    progress: Progress | None = None,
) -> Trace:
    """A trace from the start state of a seed; `form` in place of the format of the case.

    Errors: RuntimeError, naming the case, for a run that blows up or leaves what the integers can hold.
    """
    system = cases.system(case)
    start = begin(case, seed)
    listing = VerletList(system)
    energies = []
    for number, moment in enumerate(trajectory(system, start, arithmetic, steps, form)):
        energies.append(conserved_energy(system, moment, listing) / system.n)
        if progress is not None:
            progress(f"{case}: energy in {arithmetic}, seed {seed}", number * EVERY, steps)
    energy = np.array(energies)
    fit = line(np.arange(len(energy)) * EVERY / STEPS, energy / (system.boltzmann * system.temperature))
    unit = "epsilon" if system.units == "reduced" else "kJ/mol"
    return Trace(EVERY, energy, unit, *fit, relative_momentum(system, moment.velocities))


@cache
def begin(case: str, seed: int) -> Moment:
    """The state in float64 from which runs of all arithmetics start."""
    system = cases.system(case)
    state = cases.state(case, seed)
    *_, start = motion.run(system, Moment(state.positions, state.velocities), BEFORE, BEFORE)
    return start


def trajectory(
    system: System, start: Moment, arithmetic: str, steps: int, form: fixed.Format | None = None
) -> Iterator[Moment]:
    """States in float64 of a run in an arithmetic, the first and one after each EVERY steps."""
    if arithmetic != "fixed":
        kind = TYPES[arithmetic]
        for moment in motion.run(
            system, Moment(*(x.astype(kind) for x in (start.positions, start.velocities))), steps, EVERY
        ):
            yield Moment(moment.positions.astype(np.float64), moment.velocities.astype(np.float64))
        return
    table = fixed.tables(system, form or fixed.format_of(system))
    state = fixed.quantise(table, start.positions, start.velocities, system.kinds())
    candidates = fixed.by_list(table, system.cutoff * motion.SKIN)
    yield Moment(fixed.positions(table, state), fixed.velocities(table, state))
    for number in range(1, steps + 1):
        state = fixed.step(table, state, number == 1, candidates)
        if number % EVERY == 0:
            fixed.check(system, state)
            whole = fixed.kick(table, state, True, candidates)
            yield Moment(fixed.positions(table, whole), fixed.velocities(table, whole))


def conserved_energy(system: System, moment: Moment, listing: VerletList) -> float:
    """The energy that velocity Verlet conserves, of a state in float64; see the module's text."""
    x, v, kinds = moment.positions, moment.velocities, system.kinds()
    near = listing(x)
    potential, f = energy_and_forces(system, x, kinds, near)
    # A thousandth of the way that a particle goes in a step.
    ahead = 1e-3 * system.step
    ends = [energy_and_forces(system, x + way * v, kinds, near)[1] for way in (ahead, -ahead)]
    curved = float((v * (ends[1] - ends[0])).sum()) / (2 * ahead)
    squares = float((f * f / system.masses()[:, None]).sum()) * system.acceleration
    return potential + kinetic(system, v) + system.step**2 * (curved / 12 - squares / 24)


def relative_momentum(system: System, velocities: Reals) -> float:
    """Length of the sum of all momenta over the sum of their lengths."""
    momenta = system.masses()[:, None] * velocities
    return float(np.linalg.norm(momenta.sum(0)) / np.linalg.norm(momenta, axis=1).sum())


def line(x: Reals, y: Reals) -> tuple[float, float, float]:
    """Slope of the least-squares line through (x, y), its standard error, standard deviation around the line."""
    centred = x - x.mean()
    slope = float(centred @ (y - y.mean()) / (centred @ centred))
    rest = y - y.mean() - slope * centred
    deviation = math.sqrt(float(rest @ rest) / (len(x) - 2))
    return slope, deviation / math.sqrt(float(centred @ centred)), deviation
