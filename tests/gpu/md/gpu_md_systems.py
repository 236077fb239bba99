"""Small systems and start states for the tests of `gpu.md`."""

from __future__ import annotations

import numpy as np

from gpu.md.layout import Problem
from workloads.md.forces import all_pairs
from workloads.md.system import Species, System

#: Unlike sides, two kinds with charges and a switch, three to five cells a side.
SALT = System(
    "salt",
    (Species(1.0, 1.0, 1.0, 0.02), Species(2.0, 0.9, 0.6, -0.02)),
    (300, 260),
    (8.1, 9.4, 10.2),
    2.5,
    0.002,
    (3, 3, 4),
    switch=2.1,
    ewald=1.1,
    temperature=1.0,
)
#: A box that three cutoffs do not fit into, cut without a switch.
TIGHT = System("tight", (Species(),), (100,), (5.3, 5.4, 5.6), 2.5, 0.003, (2, 2, 2), temperature=0.8)


def problem(system: System) -> Problem:
    """The system as a problem."""
    return Problem(system.name, system)


def start(system: System, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions near the sites of a grid, in any order and some outside the box, and thermal velocities."""
    rng = np.random.default_rng(seed)
    box = np.array(system.box)
    sides = np.ceil(box / (box.prod() / system.n) ** (1 / 3)).astype(int)
    sites = np.stack(np.meshgrid(*(np.arange(n) for n in sides), indexing="ij"), -1).reshape(-1, 3)
    chosen = rng.permutation(len(sites))[: system.n]
    at = (sites[chosen] + 0.5 + rng.uniform(-0.04, 0.04, (system.n, 3))) * box / sides
    at += box * rng.integers(-1, 2, at.shape)
    speed = np.sqrt(system.temperature / system.masses())[:, None] * rng.standard_normal(at.shape)
    return at, speed - speed.mean(0)


def followed(
    system: System, positions: np.ndarray, velocities: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities after some steps of velocity Verlet in float64, every pair looked at."""
    x, v, kinds = positions.copy(), velocities.copy(), system.kinds()
    kick = system.step * system.acceleration / 2 / system.masses()[:, None]
    f = all_pairs(system, x, kinds).forces
    for _ in range(steps):
        v = v + kick * f
        x = x + system.step * v
        f = all_pairs(system, x, kinds).forces
        v = v + kick * f
    return x, v
