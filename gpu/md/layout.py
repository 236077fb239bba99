"""What every kernel of molecular dynamics needs from the host: constants of pairs, kicks, cells, neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workloads.md.system import System, check_positions

Singles = NDArray[np.float32]


@dataclass(frozen=True)
class Problem:
    """A system and the kinds of its particles, in the caller's order."""

    case: str
    system: System

    @property
    def n(self) -> int:
        """Number of particles."""
        return self.system.n

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """Index of the species of each particle (n,)."""
        return self.system.kinds()

    @property
    def density(self) -> float:
        """Particles per volume."""
        return self.n / self.system.volume

    def pairs(self) -> Singles:
        """(kinds, kinds, 4): 48 epsilon sigma^12, 24 epsilon sigma^6, Coulomb's constant times both charges, 0."""
        s, e = self.system.sigma(), self.system.epsilon()
        return np.stack([48 * e * s**12, 24 * e * s**6, self.system.charges(), 0 * e], -1).astype(np.float32)

    def kicks(self) -> Singles:
        """(kinds,): what a force is multiplied with to give the change of velocity in a step."""
        masses = np.array([species.mass for species in self.system.species])
        return (self.system.step * self.system.acceleration / masses).astype(np.float32)

    @property
    def far(self) -> float:
        """No particle of a healthy run moves so far in a step: a tenth of the cutoff."""
        return self.system.cutoff / 10

    @property
    def thermal(self) -> float:
        """What the lightest particle moves in a step at the root mean square speed of the start."""
        system = self.system
        lightest = min(species.mass for species in system.species)
        return system.step * math.sqrt(3 * system.boltzmann * system.temperature * system.acceleration / lightest)

    def skin(self, part: float) -> float:
        """A skin of this part of the cutoff, or what half the shortest side leaves for it."""
        return max(0.0, min(part * self.system.cutoff, min(self.system.box) / 2 - self.system.cutoff))

    def room(self, reach: float) -> int:
        """Neighbours within `reach` that a list must hold: those of the mean density and half as many, and 16 more.

        A liquid at rest stays far below. What exceeds it is found on the device and refused, never cut off.
        """
        mean = self.density * 4 / 3 * math.pi * reach**3
        return int(min(self.n - 1, math.ceil(1.5 * mean) + 16)) or 1


@dataclass(frozen=True)
class Cells:
    """Cells a side, x, y, z; how many of them reach a neighbour on each side; how many are visited along a side."""

    counts: tuple[int, int, int]
    reach: int
    spans: tuple[int, int, int]

    @property
    def total(self) -> int:
        """Number of cells."""
        return math.prod(self.counts)


def cells(box: tuple[float, float, float], reach: float, divide: int) -> Cells:
    """The smallest cells of which `divide` in a row are at least `reach` long; any box, however small."""
    counts = [max(1, int(side * divide / reach * (1 - 1e-6))) for side in box]
    x, y, z = (min(count, 1024) for count in counts)  # 2^30 cells at most, so that their numbers are 32-bit integers
    a, b, c = (min(count, 2 * divide + 1) for count in (x, y, z))
    return Cells((x, y, z), divide, (a, b, c))


def encode(problem: Problem, positions: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Positions, wrapped into the box, and kinds (n, 4): fractions of the box in units of 2^-32.

    Errors: ValueError naming a particle without a position.
    """
    check_positions(problem.system, positions)
    fraction = np.mod(positions / np.array(problem.system.box), 1.0)
    found = np.empty((problem.n, 4), np.uint32)
    found[:, :3] = np.rint(fraction * 2.0**32).astype(np.uint64) & 0xFFFFFFFF
    found[:, 3] = problem.kinds
    return found


def decode(problem: Problem, units: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Positions (n, 3) of such fractions, exactly."""
    found: NDArray[np.float64] = units[:, :3] / 2.0**32 * np.array(problem.system.box)
    return found
