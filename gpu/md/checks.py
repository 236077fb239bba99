"""What a simulation is held against: forces and energy of the states that it reports."""

from __future__ import annotations

from dataclasses import dataclass

from gpu.md.launch import Simulation, Snapshot
from gpu.md.layout import Problem
from gpu.md.oracle import OUTLIER, Truth, truth
from workloads.md.forces import kinetic

#: The total energy may change by this part of the thermal energy k T of the start; a run that loses pairs or blows up
#: changes it by far more. How much it does change is a figure of the record.
ENERGY = 0.05


@dataclass(frozen=True)
class Judged:
    """One state: relative root mean square force error, what is allowed, the worst particle in standard deviations.

    `energy` is the total energy in float64, None for systems of which only a block is looked at.
    """

    error: float
    tolerance: float
    outlier: float
    pairs: int
    energy: float | None

    @property
    def complaint(self) -> str:
        """What is wrong with the forces, or ""."""
        if self.error > self.tolerance:
            return f"forces are off by {self.error:g} (relative root mean square), allowed {self.tolerance:g}"
        if self.outlier > OUTLIER:
            return f"the force on a particle is off by {self.outlier:g} standard deviations, allowed {OUTLIER:g}"
        return ""


def judge(problem: Problem, snapshot: Snapshot, rounding: float | None, known: Truth | None = None) -> Judged:
    """Forces of a snapshot against float64 at its own positions, rounded by `rounding`, or against what is known."""
    found = truth(problem, snapshot.positions, rounding) if known is None else known
    energy = None if found.potential is None else found.potential + kinetic(problem.system, snapshot.velocities)
    return Judged(found.error(snapshot.forces), found.tolerance, found.outlier(snapshot.forces), found.pairs, energy)


def rounding_of(simulation: Simulation) -> float | None:
    """Standard deviation of a coordinate as the simulation holds it (its `resolution`); None: that of binary32."""
    found: float | None = getattr(simulation, "resolution", None)
    return found


def energy_change(problem: Problem, first: Judged, last: Judged) -> float | None:
    """Change of the total energy per particle, None where it is not known."""
    if first.energy is None or last.energy is None:
        return None
    return (last.energy - first.energy) / problem.n


def energy_complaint(problem: Problem, change: float | None) -> str:
    """What is wrong with a change of energy per particle, or ""."""
    allowed = ENERGY * problem.system.boltzmann * problem.system.temperature
    if change is None or abs(change) <= allowed:
        return ""
    return f"the energy of a particle changed by {change:g} on average, allowed {allowed:g}"
