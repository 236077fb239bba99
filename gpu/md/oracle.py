"""Forces and energy in float64, and how far an arithmetic may be from them.

Roundings count as independent and uniform (Higham and Mary 2019, a probabilistic approach to rounding error analysis).
With u = 2^-24, half a unit in the last place of binary32 relative to a number, the variance of the force of a pair,
g(r^2) d, is

* of arithmetic: u^2/3 r^2 (14 g'^2 + 9 G^2). g' is the derivative by ln r^2, of which three differences (conversion,
  scale, product), their squares and sums have about 14 variances of u^2/3; G is the sum of the magnitudes of the terms
  of g, each of which takes about nine operations.
* of positions that are rounded with a standard deviation of `resolution` along an axis:
  2 resolution^2 ((g + 2 g')^2 + 2 g^2), along the line of the pair and across.

A particle has the sum over its pairs, and n u^2/3 times the sum of their squares for n partial sums. Where a pair is so
near the cutoff that rounding decides on which side it is, its particles may also be off by its whole force; they are
left out of root mean squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpu.md.launch import Array
from gpu.md.layout import Problem
from workloads.md.pairs import Pairs, within
from workloads.md.potential import pair
from workloads.md.system import System

#: Half a unit in the last place of binary32, relative to a number.
SINGLE = 2.0**-24
#: More particles than this are judged by a block of about so many.
WHOLE, BLOCK = 250_000, 20_000
#: The root mean square of an error is that of many roundings, so this many times the expected one is far outside.
MARGIN = 3.0
#: One particle's error, in its own standard deviations: a few pairs, with errors that are not small together.
OUTLIER = 12.0
_TINY = float(np.finfo(np.float64).tiny)  # of a particle that nothing reaches


@dataclass(frozen=True)
class Truth:
    """Of particles `which` (m,): forces (m, 3) in float64 and the standard deviation (m,) that their errors may have.

    `clear` (m,): no pair of theirs is undecided; see the module's text.
    `potential` is what forces that end at the cutoff conserve: the energy of each pair less what it is at the cutoff.
    It is None where only a block was looked at, and `pairs` within the cutoff then are estimated from it.
    """

    which: NDArray[np.int64]
    forces: Array
    deviation: Array
    clear: NDArray[np.bool_]
    potential: float | None
    pairs: int

    @property
    def tolerance(self) -> float:
        """Largest root mean square error of the forces, relative to that of the forces."""
        return MARGIN * math.sqrt(float((self.deviation[self.clear] ** 2).mean()) / self._mean)

    def error(self, forces: Array) -> float:
        """Root mean square error of forces (n, 3) of all particles, relative to that of the true ones."""
        off = ((forces[self.which] - self.forces) ** 2).sum(1)
        return math.sqrt(float(off[self.clear].mean()) / self._mean) if np.isfinite(off).all() else math.inf

    @property
    def _mean(self) -> float:
        return max(float((self.forces**2).sum(1)[self.clear].mean()), _TINY)

    def outlier(self, forces: Array) -> float:
        """The largest error of a particle, in its own standard deviations."""
        off = np.sqrt(((forces[self.which] - self.forces) ** 2).sum(1)) / np.maximum(self.deviation, _TINY)
        return float(off.max()) if np.isfinite(off).all() else math.inf


def resolution(problem: Problem) -> float:
    """Standard deviation of a coordinate anywhere in the box that is rounded to binary32."""
    return max(problem.system.box) * SINGLE / math.sqrt(3)


def truth(problem: Problem, positions: Array, rounding: float | None = None) -> Truth:
    """What the forces at `positions` are; `rounding` is what a coordinate is off, default `resolution`."""
    rounding = resolution(problem) if rounding is None else rounding
    system = problem.system
    if problem.n <= WHOLE:
        found = _evaluate(system, positions, problem.kinds, rounding)
        pairs = int(found.degrees.sum()) // 2
        every = np.arange(problem.n)
        return Truth(every, found.forces, np.sqrt(found.variance), found.clear, found.potential, pairs)
    near, inner, at, side = block(system, positions, (BLOCK / problem.density) ** (1 / 3))
    kinds = problem.kinds[near]
    counts = tuple(int(c) for c in np.bincount(kinds, minlength=len(system.counts)))
    found = _evaluate(replace(system, box=(side,) * 3, counts=counts, cells=(1, 1, 1)), at, kinds, rounding)
    pairs = round(float(found.degrees[inner].mean()) * problem.n / 2)
    deviation = np.sqrt(found.variance[inner])
    return Truth(near[inner], found.forces[inner], deviation, found.clear[inner], None, pairs)


def block(system: System, positions: Array, inside: float) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, float]:
    """A cube of edge `inside` in the middle of the box, with all that reaches into it.

    Returns the particles (m,), which of those are in the cube, their positions (m, 3) in a box of their own, and its
    side, which is so long that nothing reaches around it.
    """
    box, reach = np.array(system.box), system.cutoff * 1.001
    at = np.mod(positions - (box - inside) / 2 + reach, box)
    near = np.flatnonzero((at < inside + 2 * reach).all(1))
    at = at[near]
    inner = np.flatnonzero(((at >= reach) & (at < inside + reach)).all(1))
    return near, inner, at, inside + 3 * reach


@dataclass(frozen=True)
class _Found:
    """Of all particles of a box: forces (n, 3), variance of their errors, neighbours, if clear (n,); the potential."""

    forces: Array
    variance: Array
    degrees: Array
    clear: NDArray[np.bool_]
    potential: float


def _evaluate(system: System, positions: Array, kinds: NDArray[np.uint8], rounding: float) -> _Found:
    n, cut2 = len(positions), system.cutoff**2
    # A squared distance may be off by this part of it, so that rounding decides whether such a pair counts.
    edge = 4 * (math.sqrt(14 / 3) * SINGLE + 2 * math.sqrt(2) * rounding / system.cutoff)
    sums = np.zeros((7, n))  # forces, variance, squares of pair forces, neighbours, undecided pairs
    potential = 0.0
    every = np.indices((len(system.species),) * 2, np.uint8).reshape(2, -1)
    at_cutoff = pair(system, np.full(every.shape[1], cut2), *every)[0].reshape((len(system.species),) * 2)
    for near in within(system.box, positions, system.cutoff * (1 + edge)):
        if not len(near.i):
            continue
        u, g = pair(system, near.r2, kinds[near.i], kinds[near.j])
        inside = near.r2 < cut2
        a, b = kinds[near.i], kinds[near.j]
        potential += float((u - at_cutoff[a, b])[inside].sum())
        squares = near.r2 * g**2
        undecided = (np.abs(near.r2 - cut2) < edge * cut2).astype(float)
        spread = _spread(system, near, g, kinds, rounding) + squares * undecided
        held = (*(np.where(inside, g * d, 0.0) for d in near.d.T), spread, squares, inside.astype(float), undecided)
        for row, values in enumerate(held):
            own = -values if row < 3 else values
            sums[row] += np.bincount(near.j, values, n) + np.bincount(near.i, own, n)
    variance = sums[3] + SINGLE**2 / 3 * sums[5] * sums[4]
    return _Found(np.ascontiguousarray(sums[:3].T), variance, sums[5], sums[6] == 0, potential)


def _spread(system: System, near: Pairs, g: Array, kinds: NDArray[np.uint8], rounding: float) -> Array:
    """Variance of the force of each pair; see the module's text."""
    step = 1e-6
    slope = (g - pair(system, near.r2 * (1 - step), kinds[near.i], kinds[near.j])[1]) / step
    a, b = kinds[near.i], kinds[near.j]
    sixth = (system.sigma()[a, b] ** 2 / near.r2) ** 3
    terms = 24 * system.epsilon()[a, b] * sixth * (2 * sixth + 1) / near.r2
    if system.ewald is not None:
        terms += np.abs(system.charges()[a, b]) / near.r2**1.5
    arithmetic = SINGLE**2 / 3 * near.r2 * (14 * slope**2 + 9 * terms**2)
    spread: Array = arithmetic + 2 * rounding**2 * ((g + 2 * slope) ** 2 + 2 * g**2)
    return spread
