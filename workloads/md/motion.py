"""Velocity Verlet in float64 and in float32, every number of which is a float32: positions, forces, sums.

A Verlet list of pairs within cutoff and skin is made anew once a particle has moved by half the skin, so every pair
within the cutoff is always in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.md import pairs
from workloads.md.pairs import Indices
from workloads.md.potential import pair
from workloads.md.system import System, check_kinds, check_positions, check_velocities

Floats = NDArray[Any]
#: Skin over cutoff.
SKIN = 0.2


@dataclass(frozen=True)
class Moment:
    """Positions (N, 3), not folded into the box, and velocities (N, 3) of one time, in the type of the run."""

    positions: Floats
    velocities: Floats


class VerletList:
    """Pairs within cutoff and skin of positions, kept until a particle has moved by half the skin."""

    def __init__(self, system: System, skin: float | None = None) -> None:
        self.system = system
        self.skin = system.cutoff * SKIN if skin is None else skin
        self.built = 0
        self._at: Floats | None = None
        self._pairs: tuple[Indices, Indices]

    def __call__(self, positions: Floats) -> tuple[Indices, Indices]:
        """i and j of the list for these positions (N, 3)."""
        at = positions.astype(np.float64)
        if self._at is None or self._moved(at - self._at) >= self.skin / 2:
            check_positions(self.system, at)
            self._pairs = pairs.listed(self.system.box, at, self.system.cutoff + self.skin)
            self._at = at
            self.built += 1
        return self._pairs

    def _moved(self, d: Floats) -> float:
        box = np.array(self.system.box)
        d = d - box * np.round(d / box)
        return float(np.sqrt(np.square(d).sum(1).max()))


def energy_and_forces(
    system: System, positions: Floats, kinds: NDArray[np.uint8], near: tuple[Indices, Indices]
) -> tuple[float, Floats]:
    """Potential energy and forces (N, 3) from a list of pairs, all in the type of the positions.

    The energy is summed in that type too. Errors: RuntimeError naming two particles at the same place; ValueError for
    kinds that there are not.
    """
    check_kinds(system, kinds)
    kind = positions.dtype
    axes = [(x, kind.type(side)) for x, side in zip(positions.T.copy(), system.box, strict=True)]
    total = np.zeros((3, len(positions)), kind)
    energy = kind.type(0)
    for i, j in pairs.blocks(*near):
        d = [separation(x, i, j, side) for x, side in axes]
        r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
        keep = np.flatnonzero(r2 < kind.type(system.cutoff) ** 2)
        i, j, r2 = i[keep], j[keep], r2[keep]
        if len(r2) and r2.min() == 0:
            at = int(r2.argmin())
            raise RuntimeError(f"{system.name}: particles {int(i[at])} and {int(j[at])} are at the same place")
        u, g = pair(system, r2, kinds[i], kinds[j])
        energy += u.sum()
        for axis in range(3):
            f = g * d[axis][keep]
            np.add.at(total[axis], j, f)
            np.subtract.at(total[axis], i, f)
    return float(energy), np.ascontiguousarray(total.T)


def separation(x: Floats, i: Indices, j: Indices, side: Any) -> Floats:
    """x_j - x_i along one axis, of the nearest images; `side` of the box in the type of x."""
    d: Floats = x[j] - x[i]
    d -= side * np.rint(d * (1 / side))
    return d


def run(system: System, start: Moment, steps: int, every: int = 1) -> Iterator[Moment]:
    """The start, and the state after each `every` steps, in the type of the start's positions.

    Positions are folded into the box when the list is made. Errors: RuntimeError naming system, step and particle when
    a particle moves by more than a cell, half the cutoff where there are none, in one step.
    """
    kinds = system.kinds()
    x, v = start.positions.copy(), start.velocities.copy()
    kind = x.dtype.type
    box = np.array(system.box, x.dtype)
    dt = kind(system.step)
    kick = (dt / 2 * system.acceleration / system.masses()[:, None]).astype(x.dtype)
    limit = min(system.cell_edges) if system.cells_hold_the_cutoff else system.cutoff / 2
    check_velocities(system, v)
    listing = VerletList(system)
    f = energy_and_forces(system, x, kinds, listing(x))[1]
    yield Moment(x.copy(), v.copy())
    for number in range(1, steps + 1):
        v += kick * f
        move = dt * v
        # Not `> limit`: what is not a number must be caught too.
        if not (np.abs(move).max() <= limit):
            moves = np.abs(move).max(1)
            worst = int(np.nan_to_num(moves, nan=np.inf, posinf=np.inf).argmax())
            raise RuntimeError(
                f"{system.name}: blown up at step {number}: particle {worst} would move by {moves[worst]:g}, at most "
                f"{limit:g}, with a step of {system.step:g}: take a shorter one, or a start without overlaps"
            )
        x = (x + move) % box
        x[x >= box] = 0
        f = energy_and_forces(system, x, kinds, listing(x))[1]
        v += kick * f
        if number % every == 0:
            yield Moment(x.copy(), v.copy())
