"""The systems of the cases and their start states.

* `nist`: the size of NIST's Lennard-Jones reference configuration 4.
* `lj864`: a liquid near its triple point.
* `argon20k`: the problem of Yang et al., "Fully integrated FPGA molecular dynamics simulations" (SC'19): 20,000 atoms,
  59.5 x 51 x 51 A, cutoff 8.5 A, 7 x 6 x 6 cells, 2 fs; cut without a switch, as there.
* `dhfr`: the density, cutoff and box of Amber's DHFR benchmark with two kinds of charged particles; not the protein.
* `melt...`: the Lennard-Jones benchmark of LAMMPS: density 0.8442, cutoff 2.5 without a switch, FCC at temperature
  1.44, which becomes about half.

Start positions are a lattice, without some of its sites where the count asks for it, and small random displacements
that leave no overlap. All numbers of a state are exact in float32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workloads.api import UnknownNameError
from workloads.md.system import Reals, Species, System

#: Reduced density of the liquids.
DENSITY = 0.8442
#: Places of a lattice cell, in parts of its sides.
FCC = ((0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0))
CSCL = ((0, 0, 0), (0.5, 0.5, 0.5))
STATES = Path(__file__).parent / "states"

SUMMARIES: Mapping[str, str] = {
    "lj864": "864 Lennard-Jones particles near the triple point, 4 x 4 x 4 cells, switched from 2.0 to 2.5",
    "argon20k": "20,000 argon-like atoms, 59.5 x 51 x 51 A, cutoff 8.5 A, 7 x 6 x 6 cells, 2 fs; SC'19's problem",
    "dhfr": "23,558 charged particles in the box and with the cutoff of Amber's DHFR, 62.23 A and 8 A; not the protein",
    "melt1k": "1,372 Lennard-Jones particles, LAMMPS's benchmark: density 0.8442, cutoff 2.5",
    "melt4k": "the same, 4,000 particles",
    "melt20k": "the same, 19,652 particles",
    "melt108k": "the same, 108,000 particles",
    "melt1m": "the same, 1,000,188 particles",
    "melt4m": "the same, 4,000,000 particles",
    "nist": "30 particles in a box of 8, cutoff 3: the size of NIST's reference configuration 4",
}


@dataclass(frozen=True)
class State:
    """Positions in the box and velocities (N, 3), both exact in float32; kinds (N,)."""

    positions: Reals
    velocities: Reals
    kinds: NDArray[np.uint8]


@dataclass(frozen=True)
class Lattice:
    """Lattice cells a side, places in each, and the largest displacement of the start along an axis."""

    sides: tuple[int, int, int]
    places: tuple[tuple[float, float, float], ...]
    shake: float


def _melt(name: str, side: int) -> System:
    length = side * (4 / DENSITY) ** (1 / 3)
    cells = int(length // 2.5)
    return System(
        name, (Species(),), (4 * side**3,), (length,) * 3, 2.5, 0.005, (cells,) * 3, temperature=1.44, closest=0.7
    )


MELTS = {"melt1k": 7, "melt4k": 10, "melt20k": 17, "melt108k": 30, "melt1m": 63, "melt4m": 100}

SYSTEMS: Mapping[str, System] = {
    "lj864": System(
        "lj864", (Species(),), (864,), ((864 / DENSITY) ** (1 / 3),) * 3, 2.5, 0.004, (4, 4, 4), switch=2.0,
        temperature=0.85,
    ),
    "argon20k": System(
        "argon20k", (Species(39.95, 2.1, 1.995996**2),), (20_000,), (59.5, 51.0, 51.0), 8.5, 0.002, (7, 6, 6),
        units="molar", closest=1.51, temperature=600.0,
    ),
    "dhfr": System(
        "dhfr", (Species(8.0, 2.0, 0.5, 0.2), Species(16.0, 2.2, 0.5, -0.2)), (11_779, 11_779), (62.23,) * 3, 8.0,
        0.002, (7, 7, 7), switch=7.0, ewald=0.3488, units="molar", closest=1.4, temperature=600.0,
    ),
    **{name: _melt(name, side) for name, side in MELTS.items()},
    # Two cells a side would fit: it takes all pairs.
    "nist": System("nist", (Species(),), (30,), (8.0,) * 3, 3.0, 0.004, (2, 2, 2), temperature=0.85),
}  # fmt: skip

LATTICES: Mapping[str, Lattice] = {
    "lj864": Lattice((6, 6, 6), FCC, 0.05),
    "argon20k": Lattice((20, 16, 16), FCC, 0.06),
    "dhfr": Lattice((23, 23, 23), CSCL, 0.1),
    **{name: Lattice((side,) * 3, FCC, 0.05) for name, side in MELTS.items()},
    "nist": Lattice((2, 2, 2), FCC, 0.8),
}


def system(case: str) -> System:
    """The system of a case. Errors: UnknownNameError."""
    if case not in SYSTEMS:
        raise UnknownNameError("case", case, tuple(SYSTEMS))
    return SYSTEMS[case]


def state(case: str, seed: int, lattice: bool = False) -> State:
    """A start state, the same for the same seed. Errors: UnknownNameError.

    Where an equilibrated state is shipped (`workloads.md.equilibrate`) it is that, shifted, shaken and with velocities
    drawn anew; else, and with `lattice`, the lattice.
    """
    about = system(case)
    rng = np.random.default_rng(seed)
    box = np.array(about.box)
    path = equilibrated(case)
    if path.is_file() and not lattice:
        at = _equilibrated(path) + rng.uniform(0, box, 3)
        shake = 0.01 * about.species[0].sigma
    else:
        at = _sites(about, LATTICES[case], rng)
        shake = LATTICES[case].shake
    at += rng.uniform(-shake, shake, at.shape)
    single = (at % box).astype(np.float32)
    # Rounding to float32 may end on the far side of the box, which is the near side.
    single[single >= box.astype(np.float32)] = 0
    kinds = about.kinds()
    return State(single.astype(np.float64), _velocities(about, rng), kinds)


def equilibrated(case: str) -> Path:
    """Where the equilibrated positions of a case are, if they are shipped."""
    return STATES / f"{case}.npz"


@cache
def _equilibrated(path: Path) -> Reals:
    with np.load(path) as kept:
        return np.asarray(kept["positions"], dtype=np.float64)


def _sites(about: System, lattice: Lattice, rng: np.random.Generator) -> Reals:
    """Sites of the lattice (N, 3), species after species, each without as many at random as are too many."""
    corners = np.stack(np.meshgrid(*(np.arange(n) for n in lattice.sides), indexing="ij"), axis=-1).reshape(-1, 3)
    sides = np.array(about.box) / np.array(lattice.sides)
    places = np.array(lattice.places)
    groups = places[:, None] if len(about.species) > 1 else places[None]
    kept = []
    for count, group in zip(about.counts, groups, strict=True):
        sites = ((corners[:, None] + group) * sides).reshape(-1, 3)
        if count < len(sites):
            sites = sites[np.sort(rng.permutation(len(sites))[:count])]
        kept.append(sites)
    return np.concatenate(kept)


def _velocities(about: System, rng: np.random.Generator) -> Reals:
    """Maxwell's velocities (N, 3) at the temperature of the system, without momentum."""
    masses = about.masses()[:, None]
    spread = np.sqrt(about.boltzmann * about.temperature * about.acceleration / masses)
    drawn = rng.standard_normal((about.n, 3)) * spread
    drawn -= (masses * drawn).sum(0) / masses.sum()
    wanted = about.boltzmann * about.temperature * (3 * about.n - 3)
    factor = math.sqrt(wanted * about.acceleration / float((masses * drawn**2).sum()))
    return (drawn * factor).astype(np.float32).astype(np.float64)
