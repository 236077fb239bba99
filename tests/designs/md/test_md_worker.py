"""md_worker against the integer model: forces of all particles bit for bit, and its counters exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from worker_dut import Outcome, simulate_worker

from workloads.md import cases, fixed
from workloads.md.system import Species, System
from workloads.md.tables import Tables, tables

EDGE = 2.52
ONE = (Species(),)
IONS = (Species(), Species(mass=0.7, sigma=1.1, epsilon=0.8))
CHARGED = (Species(charge=1.0), Species(mass=0.7, sigma=1.1, epsilon=0.8, charge=-1.0))


def table_of(
    cells: tuple[int, int, int], species: tuple[Species, ...] = ONE, cutoff: float = 2.4, ewald: float | None = None
) -> Tables:
    """A small system of cells of edge 2.52; the counts of its species do not matter here."""
    box = (EDGE * cells[0], EDGE * cells[1], EDGE * cells[2])
    system = System(
        "small", species, (1,) * len(species), box, cutoff, 0.004, cells, switch=2.0, ewald=ewald, closest=0.8
    )
    return tables(system, fixed.Format())


def particles(table: Tables, counts: list[int], rng: np.random.Generator) -> fixed.State:
    """Particles at random places of each cell, some of them on the faces of cells and on those of others."""
    nx, ny, _ = table.system.cells
    p = table.format.position
    cell = np.repeat(np.arange(len(counts)), counts)
    at = np.stack([cell % nx, cell // nx % ny, cell // (nx * ny)], axis=1)
    place = rng.integers(0, 1 << p, (len(cell), 3))
    edge = rng.random((len(cell), 3))
    place[edge < 0.1] = 0
    place[edge > 0.9] = (1 << p) - 1
    kinds = rng.integers(0, len(table.system.species), len(cell)).astype(np.uint8)
    return fixed.State((at << p) + place, np.zeros((len(cell), 3), np.int64), kinds)


def every_pair(state: fixed.State) -> tuple[np.ndarray, np.ndarray]:
    """Candidates: all pairs."""
    return np.triu_indices(len(state.positions), 1)


def counted(table: Tables, state: fixed.State) -> tuple[int, int]:
    """Pairs that filters test: those of the half shell; and pairs too close."""
    counts = np.bincount(state.cell_index(table), minlength=int(np.prod(table.system.cells)))
    nx, ny, nz = table.system.cells
    grid = counts.reshape(nz, ny, nx)
    total = int((grid * (grid - 1) // 2).sum())
    for dz in range(2):
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if (dz, dy, dx) > (0, 0, 0):
                    total += int((grid * np.roll(grid, (-dz, -dy, -dx), (0, 1, 2))).sum())
    i, j = every_pair(state)
    period = np.array(table.system.cells) << table.format.position
    d = (state.positions[j] - state.positions[i] + period // 2) % period - period // 2
    return total, int(((d * d).sum(1) < table.close2).sum())


def check(table: Tables, state: fixed.State, outcome: Outcome) -> None:
    wanted = fixed.forces(table, state, every_pair)
    assert wanted.pairs > 0
    np.testing.assert_array_equal(outcome.forces, wanted.forces)
    candidates, close = counted(table, state)
    assert outcome.pairs == wanted.pairs
    assert outcome.candidates == candidates
    assert outcome.close == close


def test_numbers_of_particles_in_cells(tmp_path: Path) -> None:
    """Cells of 0, 1, FILTERS, FILTERS + 1 and CAPACITY particles, three a side, with waiting home sums; twice over."""
    seed = 5
    print("seed", seed)
    rng = np.random.default_rng(seed)
    table = table_of((3, 3, 3))
    counts = rng.permutation([0] * 7 + [1] * 5 + [4] * 5 + [5] * 5 + [7] * 5).tolist()
    state = particles(table, counts, rng)
    outcome = simulate_worker(
        table, state, capacity=7, filters=4, results=tmp_path, seed=seed, home_stall=0.7, unit_idle=0.02, rounds=2
    )
    check(table, state, outcome)


def test_kinds_charges_and_a_cutoff_of_the_edge(tmp_path: Path) -> None:
    """Two kinds, Coulomb, cells of different numbers a side, the coarsest filters, and a queue that runs full."""
    seed = 6
    print("seed", seed)
    rng = np.random.default_rng(seed)
    table = table_of((3, 5, 4), CHARGED, cutoff=EDGE, ewald=0.6)
    assert len(table.base) == 3
    assert table.cutoff2 == 1 << 2 * table.format.position
    state = particles(table, rng.integers(0, 12, 60).tolist(), rng)
    outcome = simulate_worker(
        table, state, capacity=11, filters=11, results=tmp_path, seed=seed, parameters={"FILTER_BITS": 4, "QUEUE": 32}
    )
    check(table, state, outcome)
    assert outcome.stalled > 0


def test_one_filter_and_two_kinds(tmp_path: Path) -> None:
    seed = 7
    print("seed", seed)
    rng = np.random.default_rng(seed)
    table = table_of((3, 3, 3), IONS)
    state = particles(table, rng.integers(0, 5, 27).tolist(), rng)
    check(table, state, simulate_worker(table, state, capacity=4, filters=1, results=tmp_path, seed=seed))


def test_the_pipeline_is_busy(tmp_path: Path) -> None:
    """Liquid of lj864: pairs within the cutoff in at least 85 % of the cycles, from the first unit to the last sum."""
    system = cases.system("lj864")
    table = tables(system, fixed.format_of(system))
    start = cases.state("lj864", 1)
    state = fixed.quantise(table, start.positions, start.velocities, start.kinds)
    outcome = simulate_worker(table, state, capacity=24, filters=16, results=tmp_path, seed=8)
    wanted = fixed.forces(table, state)
    np.testing.assert_array_equal(outcome.forces, wanted.forces)
    assert outcome.pairs == wanted.pairs
    assert outcome.pairs >= 0.95 * outcome.cycles
