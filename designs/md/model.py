"""How busy the force pipelines are: filters and queues of the workers, cycle by cycle, without their arithmetic.

    usage = force_phase(positions, cells=(4, 4, 4), cutoff=2.5 / 2.52, shape=Shape(workers=4, filters=16))
    usage.useful          share of the cycles in which a pipeline takes a pair within the cutoff

A unit is a batch of at most `filters` particles of a home cell, all batches of a cell about equal. The particles of the
home cell and of its 13 neighbours stream past the filters, one a cycle; one that some filters let pass is queued once,
with the mask of those filters, and gives one pair a cycle to the pipeline. The stream waits while the queue is full.
Units go to workers as they become free. This is a model to choose parameters with; the counters of the design are what
is reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

#: Offsets (x, y, z) of the home cell and the 13 neighbours of the half shell, home first.
HALF_SHELL = tuple((dx, dy, dz) for dz, dy, dx in product((-1, 0, 1), repeat=3) if (dz, dy, dx) >= (0, 0, 0))


@dataclass(frozen=True)
class Shape:
    """What the workers are made of.

    `queue` are places of a worker's queue, `bits` those of a position within a cell that a filter compares. `load` are
    cycles between the streams of two units, `step` cycles that each cell of the stream costs besides its particles,
    `tail` cycles from the last pair until all sums are in place.
    """

    workers: int
    filters: int = 16
    queue: int = 512
    bits: int = 8
    load: int = 4
    step: int = 1
    tail: int = 40


@dataclass(frozen=True)
class Usage:
    """A force phase: its `cycles`; `pairs` within the cutoff, `passed` the filters and `candidates` tested; `stalled`
    cycles of streams, of all workers."""

    workers: int
    cycles: int
    pairs: int
    passed: int
    candidates: int
    stalled: int

    @property
    def useful(self) -> float:
        """Share of the cycles in which a pipeline takes a pair within the cutoff, mean of the workers."""
        return self.pairs / (self.workers * self.cycles)


@dataclass(frozen=True)
class Units:
    """All units in the order of dispatch: the stream of unit u is rows `start[u] : start[u + 1]` of `passes` (rows,
    filters), with empty rows where the stream waits for a cell."""

    start: NDArray[np.int64]
    passes: NDArray[np.bool_]
    pairs: int
    candidates: int


def units(positions: NDArray[np.float64], cells: tuple[int, int, int], cutoff: float, shape: Shape) -> Units:
    """The units of positions (N, 3) given in edges of cubic cells, with the cutoff in edges too (at most 1)."""
    where = np.floor(positions).astype(np.int64) % cells
    fraction = positions - np.floor(positions)
    coarse = np.floor(fraction * 2**shape.bits)
    number = (where[:, 2] * cells[1] + where[:, 1]) * cells[0] + where[:, 0]
    order = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[order], np.arange(np.prod(cells) + 1))
    rows, start, pairs, candidates = [], [0], 0, 0
    for home in range(int(np.prod(cells))):
        x, y, z = home % cells[0], home // cells[0] % cells[1], home // (cells[0] * cells[1])
        mine = order[bounds[home] : bounds[home + 1]]
        members = []
        for dx, dy, dz in HALF_SHELL:
            cell = ((z + dz) % cells[2] * cells[1] + (y + dy) % cells[1]) * cells[0] + (x + dx) % cells[0]
            members.append(order[bounds[cell] : bounds[cell + 1]])
        others = np.concatenate(members)
        shift = np.repeat(np.array(HALF_SHELL, np.float64), [len(each) for each in members], axis=0)
        delta = fraction[others] + shift
        rough = coarse[others] + shift * 2**shape.bits
        at = np.concatenate([np.arange(len(each)) + number * shape.step for number, each in enumerate(members, 1)])
        at += np.concatenate([[0], np.cumsum([len(each) for each in members])[:-1]]).repeat([len(m) for m in members])
        batches = -(-len(mine) // shape.filters)
        for first, end in pairwise(len(mine) * part // batches for part in range(batches + 1) if batches):
            batch = mine[first:end]
            later = np.arange(len(others))[:, None] > first + np.arange(len(batch))
            allowed = later | (np.arange(len(others)) >= len(mine))[:, None]
            exact = ((delta[:, None] - fraction[batch]) ** 2).sum(2) < cutoff**2
            least = np.maximum(np.abs(rough[:, None] - coarse[batch]) - 1, 0)
            near = (least**2).sum(2) < cutoff**2 * 4**shape.bits
            row = np.zeros((len(others) + len(HALF_SHELL) * shape.step + shape.load, shape.filters), bool)
            row[at, : len(batch)] = near & allowed
            rows.append(row)
            start.append(start[-1] + len(row))
            pairs += int((exact & allowed).sum())
            candidates += int(allowed.sum())
    return Units(np.array(start), np.concatenate(rows), pairs, candidates)


def force_phase(positions: NDArray[np.float64], *, cells: tuple[int, int, int], cutoff: float, shape: Shape) -> Usage:
    """Cycles of one force phase; positions and cutoff as `units` has them."""
    work = units(positions, cells, cutoff, shape)
    return run(work, shape)


def run(work: Units, shape: Shape) -> Usage:
    """All units through the workers, a cycle at a time."""
    count = len(work.start) - 1
    of_row = work.passes.sum(1)
    row, end, left, held = (np.zeros(shape.workers, np.int64) for _ in range(4))
    head, tail = np.zeros(shape.workers, np.int64), np.zeros(shape.workers, np.int64)
    queue = np.zeros((shape.workers, shape.queue), np.int64)
    every = np.arange(shape.workers)
    taken = cycles = stalled = 0
    while taken < count or (row < end).any() or held.any() or left.any():
        for worker in np.flatnonzero(row == end):
            if taken < count:
                row[worker], end[worker] = work.start[taken], work.start[taken + 1]
                taken += 1
        # The pipeline takes a pair of the particle in turn; with its last one the next particle comes from the queue.
        left -= left > 0
        fetch = (left == 0) & (held > 0)
        left = np.where(fetch, queue[every, head % shape.queue], left)
        head, held = head + fetch, held - fetch
        running = row < end
        passed = of_row[np.where(running, row, 0)] * running
        blocked = (passed > 0) & (held >= shape.queue)
        enter = (passed > 0) & ~blocked
        queue[every[enter], tail[enter] % shape.queue] = passed[enter]
        tail, held = tail + enter, held + enter
        row += running & ~blocked
        stalled += int(blocked.sum())
        cycles += 1
    return Usage(shape.workers, cycles + shape.tail, work.pairs, int(of_row.sum()), work.candidates, stalled)
