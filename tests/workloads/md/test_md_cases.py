"""Systems and start states: numbers of the issue, no overlaps, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from workloads.api import UnknownNameError
from workloads.md import cases, equilibrate, forces, pairs

SMALL = ["lj864", "argon20k", "dhfr", "melt1k", "melt4k", "melt20k", "nist"]


def test_numbers_of_the_systems() -> None:
    counts = {name: system.n for name, system in cases.SYSTEMS.items()}
    assert counts == {
        "lj864": 864, "argon20k": 20_000, "dhfr": 23_558, "melt1k": 1_372, "melt4k": 4_000, "melt20k": 19_652,
        "melt108k": 108_000, "melt1m": 1_000_188, "melt4m": 4_000_000, "nist": 30,
    }  # fmt: skip
    assert list(cases.SUMMARIES) == list(cases.SYSTEMS)
    for name, system in cases.SYSTEMS.items():
        assert system.name == name
        if name.startswith(("melt", "lj")):
            assert system.n / system.volume == pytest.approx(0.8442)
    argon = cases.SYSTEMS["argon20k"]
    assert (argon.box, argon.cells, argon.cutoff) == ((59.5, 51.0, 51.0), (7, 6, 6), 8.5)
    assert argon.cell_edges == (8.5, 8.5, 8.5)
    assert argon.nanoseconds == pytest.approx(2e-6)
    assert cases.SYSTEMS["dhfr"].box == (62.23,) * 3


@pytest.mark.parametrize("case", SMALL)
def test_start_states(case: str) -> None:
    system, state = cases.SYSTEMS[case], cases.state(case, 3)
    box = np.array(system.box)
    assert state.positions.shape == state.velocities.shape == (system.n, 3)
    assert (state.positions >= 0).all()
    assert (state.positions < box).all()
    for numbers in (state.positions, state.velocities):
        assert (numbers == numbers.astype(np.float32)).all()
    assert np.bincount(state.kinds).tolist() == list(system.counts)
    nearest = min(
        float(c.r2.min()) for c in pairs.within(system.box, state.positions, min(system.cutoff, 3.0)) if len(c.i)
    )
    assert np.sqrt(nearest) > 1.05 * system.closest
    assert forces.temperature(system, state.velocities) == pytest.approx(system.temperature, rel=1e-4)
    momentum = (system.masses()[:, None] * state.velocities).sum(0)
    assert np.abs(momentum).max() < 1e-6 * (system.masses()[:, None] * np.abs(state.velocities)).sum()
    again, other = cases.state(case, 3), cases.state(case, 4)
    assert (again.positions == state.positions).all()
    assert (again.velocities == state.velocities).all()
    assert (other.positions != state.positions).any()
    assert (other.velocities != state.velocities).any()


def test_a_large_state_takes_seconds() -> None:
    state = cases.state("melt1m", 1)
    assert state.positions.shape == (1_000_188, 3)
    cell = (state.positions[:200_000] // 5).astype(int)
    assert np.ptp(cell, axis=0).min() > 5


def test_dhfr_has_no_charge_and_mixes_it() -> None:
    system, state = cases.SYSTEMS["dhfr"], cases.state("dhfr", 1)
    charges = np.array([s.charge for s in system.species])[state.kinds]
    assert charges.sum() == pytest.approx(0, abs=1e-9)
    octant = (state.positions > 31.115) @ [1, 2, 4]
    assert np.abs(np.bincount(octant, charges)).max() < 60


def test_equilibrated_positions_come_from_the_lattice() -> None:
    """As far as a short run can show: the maker runs, and what is shipped is a liquid of the right energy."""
    made = equilibrate.positions("lj864", scaled=50, free=20)
    assert made.shape == (864, 3)
    system = cases.SYSTEMS["lj864"]
    for seed in (1, 2):
        state = cases.state("lj864", seed)
        energy = forces.evaluate(system, state.positions, state.kinds).energy / system.n
        assert -5.5 < energy < -5.2
    lattice = cases.state("lj864", 1, lattice=True)
    assert forces.evaluate(system, lattice.positions, lattice.kinds).energy / system.n < -6
    # A liquid: no lattice planes.
    assert np.abs(np.exp(2j * np.pi * 12 * state.positions / system.box[0]).mean(0)).max() < 0.3
    assert np.abs(np.exp(2j * np.pi * 12 * lattice.positions / system.box[0]).mean(0)).min() > 0.8


def test_unknown_cases_are_named() -> None:
    for call in (lambda: cases.system("nope"), lambda: cases.state("nope", 1)):
        with pytest.raises(UnknownNameError, match="unknown case 'nope'; valid: lj864, argon20k"):
            call()
