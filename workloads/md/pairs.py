"""Pairs of particles within reach of each other in a periodic box: by cell lists, or all of them.

Each pair comes once. Pairs come in chunks, so that millions of particles fit into memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Candidates looked at at once. Arrays of more than 128 KiB cost a call to the system each; these stay below.
CHUNK = 8_000
#: Pairs of a list taken at once, for the same reason.
BLOCK = 12_000
#: (z, y, x) of the home cell and its neighbours; of the half shell, those that do not come before the home cell.
SHELL = list(itertools.product((-1, 0, 1), repeat=3))
HALF_SHELL = [off for off in SHELL if off >= (0, 0, 0)]


@dataclass(frozen=True)
class Pairs:
    """Some pairs: particles i and j (n,), displacement d = x_j - x_i (n, 3) of the nearest images, r2 = d^2 (n,)."""

    i: Indices
    j: Indices
    d: Reals
    r2: Reals


def within(box: tuple[float, float, float], positions: Reals, reach: float) -> Iterator[Pairs]:
    """All pairs nearer than `reach`, in chunks, by cells of at least `reach` a side.

    Boxes of fewer than three such cells a side take all pairs. Errors: ValueError for a reach of more than half the
    shortest side.
    """
    if not _check(box, reach):
        yield from all_pairs(box, positions, reach)
        return
    grid = _Grid(box, positions, reach)
    own = np.arange(len(positions))
    for off in HALF_SHELL:
        # In the home cell only those that come later in the order.
        yield from grid.candidates(own, off, own + 1 if off == (0, 0, 0) else None)


def around(
    box: tuple[float, float, float], positions: Reals, reach: float, which: NDArray[np.integer]
) -> Iterator[Pairs]:
    """The pairs of the particles `which` with all others; i is one of them, and a pair of two of them comes twice."""
    if not _check(box, reach):
        for pair in all_pairs(box, positions, reach):
            i, j = np.concatenate((pair.i, pair.j)), np.concatenate((pair.j, pair.i))
            keep = np.flatnonzero(np.isin(i, which))
            yield Pairs(i[keep], j[keep], np.concatenate((pair.d, -pair.d))[keep], np.tile(pair.r2, 2)[keep])
        return
    grid = _Grid(box, positions, reach)
    place = np.empty(len(positions), np.int64)
    place[grid.order] = np.arange(len(positions))
    for off in SHELL:
        for pair in grid.candidates(place[which], off):
            keep = np.flatnonzero(pair.i != pair.j)
            yield Pairs(pair.i[keep], pair.j[keep], pair.d[keep], pair.r2[keep])


def all_pairs(box: tuple[float, float, float], positions: Reals, reach: float) -> Iterator[Pairs]:
    """As `within`, by looking at every pair and the nearest image of each."""
    sides = np.array(box)
    for i in range(len(positions) - 1):
        j = np.arange(i + 1, len(positions))
        d = positions[j] - positions[i]
        d -= sides * np.round(d / sides)
        r2 = np.einsum("nd,nd->n", d, d)
        keep = np.flatnonzero(r2 < reach * reach)
        yield Pairs(np.full(len(keep), i), j[keep], d[keep], r2[keep])


def listed(box: tuple[float, float, float], positions: Reals, reach: float) -> tuple[Indices, Indices]:
    """i and j of all pairs nearer than `reach`: a Verlet list."""
    found = [(p.i, p.j) for p in within(box, positions, reach)]
    return np.concatenate([i for i, _ in found]), np.concatenate([j for _, j in found])


def blocks(i: Indices, j: Indices) -> Iterator[tuple[Indices, Indices]]:
    """A list of pairs in parts whose arrays of 64-bit numbers stay below 128 KiB."""
    for low in range(0, len(i), BLOCK):
        yield i[low : low + BLOCK], j[low : low + BLOCK]


class _Grid:
    """Particles in the order of their cells."""

    def __init__(self, box: tuple[float, float, float], positions: Reals, reach: float) -> None:
        self.sides = np.array(box)
        self.reach = reach
        self.cells = np.array([int(side // reach) for side in box])
        at = positions % self.sides
        place = np.minimum((at / (self.sides / self.cells)).astype(np.int64), self.cells - 1)
        number = self._number(place)
        self.order = np.argsort(number, kind="stable")
        self.at, self.place = at[self.order], place[self.order]
        self.axes = self.at.T.copy()
        self.count = np.bincount(number, minlength=int(self.cells.prod()))
        self.start = np.cumsum(self.count) - self.count

    def _number(self, place: Indices) -> Indices:
        return np.asarray((place[:, 2] * self.cells[1] + place[:, 1]) * self.cells[0] + place[:, 0])

    def candidates(self, own: Indices, off: tuple[int, ...], first: Indices | None = None) -> Iterator[Pairs]:
        """Pairs within reach of particles `own` (places in the order) with those of the cells at an offset.

        `first`: the place in the order from which on others count; default: all of the cell.
        """
        near = self.place[own] + off[::-1]
        image = np.floor_divide(near, self.cells)
        there = self._number(near - image * self.cells)
        origins = (self.at[own] - image * self.sides).T.copy()
        begin = self.start[there] if first is None else first
        lengths = self.start[there] + self.count[there] - begin
        for low, high in _chunks(lengths):
            some = lengths[low:high]
            row = np.repeat(np.arange(low, high), some)
            j = np.arange(len(row)) + np.repeat(begin[low:high] - (np.cumsum(some) - some), some)
            d = [x.take(j) - origin.take(row) for x, origin in zip(self.axes, origins, strict=True)]
            r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
            keep = np.flatnonzero(r2 < self.reach * self.reach)
            i, j = self.order[own[row[keep]]], self.order[j[keep]]
            yield Pairs(i, j, np.stack([x[keep] for x in d], axis=1), r2[keep])


def _check(box: tuple[float, float, float], reach: float) -> bool:
    """True where there are three cells a side at least."""
    if reach > min(box) / 2:
        raise ValueError(f"a reach of {reach:g}, but half the shortest side of the box is {min(box) / 2:g}")
    return min(box) // reach >= 3


def _chunks(lengths: Indices) -> Iterator[tuple[int, int]]:
    """Ranges of particles with about CHUNK candidates each."""
    ends = np.cumsum(lengths)
    cuts = np.searchsorted(ends, np.arange(CHUNK, int(ends[-1]), CHUNK)) + 1
    yield from itertools.pairwise(sorted({0, *(int(c) for c in cuts), len(lengths)}))
