"""What one step takes: pairs, and floating-point operations written out.

Operations of a pair within the cutoff. An addition, a multiplication, a division, a root, an exponential count as one
each. Newton's third law is used: a pair is evaluated once.

    displacement                        3 subtractions                                               3
    r^2                                 3 multiplications, 2 additions                               5
    1/r^2, r^-6, and the force over r   1 division, 2 multiplications; 3 multiplications, 1 subtraction  7
    force vector                        3 multiplications                                            3
    both sums                           6 additions                                                  6
    -----------------------------------------------------------------------------------------------------
    Lennard-Jones                                                                                   24
    with a switch                       r, t, S, S' and their use; counted at every pair           +19
    with Ewald's term                   erfc as a polynomial of degree 5, its exponential, its use +20

The nearest image is no work: cells know it. The test of candidates is none either, nor are 12 operations of each
particle for its motion.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache

import numpy as np

from workloads.md import cases
from workloads.md.forces import evaluate
from workloads.md.pairs import HALF_SHELL
from workloads.md.system import System

#: Operations of a pair: Lennard-Jones, its switch, the real-space Ewald term.
PAIR, SWITCH, EWALD = 24, 19, 20
#: Larger systems take the pairs per particle of the case LIKE, which is the same liquid.
LARGEST, LIKE = 200_000, "melt108k"
SEED = 1


def flops(system: System) -> int:
    """Useful operations of a pair within the cutoff, as counted above."""
    return PAIR + (SWITCH if system.switch is not None else 0) + (EWALD if system.ewald is not None else 0)


@cache
def counts(case: str) -> Mapping[str, float]:
    """What `Workload.counts` tells of a case, from the start state of seed 1."""
    system = cases.system(case)
    found = {"atoms": float(system.n), "pairs": pairs(case), "candidates": candidates(case), "flops": flops(system)}
    return found | ({"step_fs": 1000 * system.step} if system.units == "molar" else {})


@cache
def pairs(case: str) -> float:
    """Pairs within the cutoff; of the largest systems estimated, see LIKE."""
    system = cases.system(case)
    if system.n > LARGEST:
        return round(pairs(LIKE) / cases.system(LIKE).n * system.n)
    state = cases.state(case, SEED)
    return evaluate(system, state.positions, state.kinds).pairs


def candidates(case: str) -> float:
    """Pairs tested: those in each cell and those with its 13 neighbours of the half shell; all pairs without cells."""
    system = cases.system(case)
    if not system.cells_hold_the_cutoff:
        return system.n * (system.n - 1) / 2
    shape = np.array(system.cells)
    place = (cases.state(case, SEED).positions / np.array(system.cell_edges)).astype(np.int64)
    place = np.minimum(place, shape - 1)
    held = np.bincount((place[:, 2] * shape[1] + place[:, 1]) * shape[0] + place[:, 0], minlength=shape.prod())
    grid = held.reshape(shape[::-1])
    tested = int((grid * (grid - 1) // 2).sum())
    for off in itertools.islice(HALF_SHELL, 1, None):
        tested += int((grid * np.roll(grid, [-o for o in off], axis=(0, 1, 2))).sum())
    return tested
