"""Forces, energy and virial in float64: the oracle. By cell lists, and by all pairs to prove those."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workloads.md import pairs
from workloads.md.pairs import Pairs
from workloads.md.potential import pair
from workloads.md.system import Reals, System, check_kinds, check_positions


@dataclass(frozen=True)
class Forces:
    """Forces (N, 3), potential energy, virial, pairs within the cutoff.

    virial = sum over pairs of r times the force, positive where they repel: the definition of NIST's reference
    calculations. Pressure = (N k T + virial / 3) / volume.
    """

    forces: Reals
    energy: float
    virial: float
    pairs: int


def evaluate(system: System, positions: Reals, kinds: NDArray[np.uint8]) -> Forces:
    """Forces and sums of positions (N, 3), in or out of the box, and kinds (N,), by cell lists.

    Errors: ValueError for coordinates that are not finite, kinds that there are not, a wrong shape, two particles at
    the same place.
    """
    _check(system, positions, kinds)
    return _sum(system, pairs.within(system.box, positions, system.cutoff), kinds)


def all_pairs(system: System, positions: Reals, kinds: NDArray[np.uint8]) -> Forces:
    """The same, looking at every pair: time in proportion to N^2."""
    _check(system, positions, kinds)
    return _sum(system, pairs.all_pairs(system.box, positions, system.cutoff), kinds)


def sampled(system: System, positions: Reals, kinds: NDArray[np.uint8], which: NDArray[np.integer]) -> Reals:
    """Forces (len(which), 3) on a few particles only, each once, against all others.

    For checks of large systems: besides sorting, the work is in proportion to `which`.
    """
    _check(system, positions, kinds)
    total = np.zeros((3, system.n))
    for near in pairs.around(system.box, positions, system.cutoff, which):
        g = pair(system, near.r2, kinds[near.i], kinds[near.j])[1]
        for axis in range(3):
            np.subtract.at(total[axis], near.i, g * near.d[:, axis])
    return np.ascontiguousarray(total[:, which].T)


def kinetic(system: System, velocities: Reals) -> float:
    """Kinetic energy of velocities (N, 3), in the unit of the potential energy."""
    squares = np.einsum("nd,nd->n", velocities, velocities)
    return float((system.masses() * squares).sum() / 2 / system.acceleration)


def temperature(system: System, velocities: Reals) -> float:
    """Of velocities (N, 3), with three degrees of freedom fewer for the momentum, which is constant."""
    return 2 * kinetic(system, velocities) / ((3 * system.n - 3) * system.boltzmann)


def _check(system: System, positions: Reals, kinds: NDArray[np.uint8]) -> None:
    check_positions(system, positions)
    check_kinds(system, kinds)


def _sum(system: System, chunks: Iterable[Pairs], kinds: NDArray[np.uint8]) -> Forces:
    forces = np.zeros((3, system.n))
    energy = virial = 0.0
    count = 0
    for near in chunks:
        if not len(near.i):
            continue
        nearest = int(near.r2.argmin())
        if near.r2[nearest] == 0:
            raise ValueError(
                f"{system.name}: particles {int(near.i[nearest])} and {int(near.j[nearest])} are at the same place"
            )
        u, g = pair(system, near.r2, kinds[near.i], kinds[near.j])
        for axis in range(3):
            f = g * near.d[:, axis]
            np.add.at(forces[axis], near.j, f)
            np.subtract.at(forces[axis], near.i, f)
        energy += float(u.sum())
        virial += float((g * near.r2).sum())
        count += len(near.i)
    return Forces(np.ascontiguousarray(forces.T), energy, virial, count)
