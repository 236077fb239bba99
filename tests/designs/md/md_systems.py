"""Small systems, and states of them, for engines that are quick to simulate."""

from __future__ import annotations

import numpy as np

from designs.md.config import Engine
from workloads.md import fixed
from workloads.md.system import Species, System
from workloads.md.tables import Tables, format_of, tables

#: A side of the boxes, and lattice sites a side.
SIDE, SITES = 7.6, 4

ENGINE = Engine("small", workers=2, filters=4, capacity=20, queue=32)

#: One kind: Lennard-Jones with a switch.
SINGLE = System(
    "single", (Species(),), (SITES**3 * 4,), (SIDE,) * 3, 2.5, 0.004, (3, 3, 3), switch=2.0, temperature=1.0
)  # fmt: skip

#: Two kinds of other mass, size and charge, in a box that is no cube.
CHARGED = System(
    "charged",
    (Species(12.0, 2.0, 0.5, 0.3), Species(16.0, 2.4, 0.8, -0.3)),
    (150, 150),
    (24.0, 32.0, 24.0),
    8.0,
    0.002,
    (3, 4, 3),
    switch=7.0,
    ewald=0.35,
    units="molar",
    closest=1.6,
    temperature=300.0,
)


def start(system: System, seed: int) -> tuple[Tables, fixed.State]:
    """Tables, and particles on sites of a cubic lattice, shaken, with random velocities."""
    rng = np.random.default_rng(seed)
    sides = np.maximum(np.round((system.n / system.volume) ** (1 / 3) * np.array(system.box)).astype(int), 1)
    while np.prod(sides) < system.n:
        sides[np.argmin(sides / np.array(system.box))] += 1
    sites = np.stack(np.meshgrid(*(np.arange(n) for n in sides), indexing="ij"), axis=-1).reshape(-1, 3)
    gaps = np.array(system.box) / sides
    chosen = rng.permutation(len(sites))[: system.n]
    at = (sites[chosen] + 0.5) * gaps + rng.uniform(-0.1, 0.1, (system.n, 3)) * gaps
    spread = np.sqrt(system.boltzmann * system.temperature * system.acceleration / system.masses())
    table = tables(system, format_of(system))
    return table, fixed.quantise(table, at, rng.standard_normal((system.n, 3)) * spread[:, None], system.kinds())
