"""Forces, energy and virial of the oracle against loops, derivatives and NIST."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from md_oracles import LIQUID, MIXTURE, SALT, energy, scaled, start

from workloads.md import cases, forces
from workloads.md.system import Species, System

DATA = Path(__file__).parents[4] / "shared" / "data"
SYSTEMS = [LIQUID, SALT, MIXTURE]
ids = [s.name for s in SYSTEMS]


@pytest.mark.parametrize("system", SYSTEMS, ids=ids)
def test_energy_equals_that_of_a_loop(system: System) -> None:
    state = start(system, 1)
    found = forces.evaluate(system, state.positions, state.kinds)
    wanted, count = energy(system, state.positions)
    assert found.energy == pytest.approx(wanted, rel=1e-12)
    assert found.pairs == count


@pytest.mark.parametrize("system", SYSTEMS, ids=ids)
def test_forces_are_the_gradient_of_the_energy(system: System) -> None:
    state = start(system, 2)
    found = forces.evaluate(system, state.positions, state.kinds).forces
    rng = np.random.default_rng(7)
    for particle, axis in zip(rng.integers(0, system.n, 12), rng.integers(0, 3, 12), strict=True):
        ends = []
        for shift in (-1e-5, 1e-5):
            moved = state.positions.copy()
            moved[particle, axis] += shift
            ends.append(forces.evaluate(system, moved, state.kinds))
        if ends[0].pairs != ends[1].pairs:
            continue  # a pair passed the cutoff
        wanted = -(ends[1].energy - ends[0].energy) / 2e-5
        assert found[particle, axis] == pytest.approx(wanted, rel=1e-6, abs=1e-5 * np.abs(found).max())


@pytest.mark.parametrize("system", [LIQUID, SALT], ids=["liquid", "salt"])
def test_the_virial_is_the_derivative_by_volume(system: System) -> None:
    """3 V dU/dV = -virial when all coordinates scale with the box. Nothing jumps at a smooth cutoff."""
    state = start(system, 3)
    factor = 1e-6
    ends = [
        forces.all_pairs(scaled(system, 1 + s), (1 + s) * state.positions, state.kinds).energy
        for s in (-factor, factor)
    ]
    found = forces.evaluate(system, state.positions, state.kinds)
    assert found.virial == pytest.approx(-(ends[1] - ends[0]) / (2 * factor), rel=2e-4)


@pytest.mark.parametrize("system", SYSTEMS, ids=ids)
def test_cells_equal_all_pairs(system: System) -> None:
    state = start(system, 4)
    check_equal(system, state)


@pytest.mark.parametrize("case", ["lj864", "melt1k"])
def test_cells_equal_all_pairs_in_cases(case: str) -> None:
    check_equal(cases.system(case), cases.state(case, 4))


def check_equal(system: System, state: cases.State) -> None:
    found = forces.evaluate(system, state.positions, state.kinds)
    wanted = forces.all_pairs(system, state.positions, state.kinds)
    assert np.abs(found.forces - wanted.forces).max() < 1e-11 * np.abs(wanted.forces).max()
    assert found.energy == pytest.approx(wanted.energy, rel=1e-12)
    assert found.virial == pytest.approx(wanted.virial, rel=1e-11)
    assert found.pairs == wanted.pairs
    assert np.abs(found.forces.sum(0)).max() < 1e-10 * np.abs(found.forces).max()


@pytest.mark.parametrize("system", SYSTEMS, ids=ids)
def test_sampled_forces_are_those_of_all(system: System) -> None:
    state = start(system, 5)
    which = np.array([0, 17, system.n - 1, 3])
    every = forces.evaluate(system, state.positions, state.kinds).forces
    assert np.allclose(forces.sampled(system, state.positions, state.kinds, which), every[which], rtol=1e-10, atol=1e-9)


def test_two_particles_by_hand() -> None:
    """At 2^(1/6) sigma the force is 0 and the energy -epsilon; at sigma the energy is 0, the force 24 epsilon/sigma."""
    system = System("two", (Species(1.0, 2.0, 3.0),), (2,), (20.0,) * 3, 8.0, 0.001, (2, 2, 2))
    kinds = system.kinds()
    for r, wanted, force in ((2 * 2 ** (1 / 6), -3.0, 0.0), (2.0, 0.0, 24 * 3 / 2)):
        found = forces.evaluate(system, np.array([[19.5, 3, 3], [19.5 + r - 20, 3, 3]]), kinds)
        assert found.energy == pytest.approx(wanted, abs=1e-12)
        assert np.allclose(found.forces, [[-force, 0, 0], [force, 0, 0]], atol=1e-11)
        assert found.virial == pytest.approx(force * r, abs=1e-10)


@pytest.mark.skipif(not (DATA / "nist_lj").is_dir(), reason="NIST's reference configuration is not beside the checkout")
@pytest.mark.parametrize("cutoff", [3, 4])
def test_nist_reference_configuration(cutoff: int) -> None:
    """Energies and virials published to five figures: -16.790 and -17.060 at cutoffs 3 and 4."""
    lines = (DATA / "nist_lj" / "config4.xyz").read_text().splitlines()
    at = np.array([line.split()[1:4] for line in lines[2:]], dtype=float)
    wanted = json.loads((DATA / "nist_lj" / "reference.json").read_text())[f"cutoff_{cutoff}"]
    system = replace(cases.system("nist"), cutoff=float(cutoff))
    for found in (forces.evaluate(system, at, system.kinds()), forces.all_pairs(system, at, system.kinds())):
        assert round(found.energy, 3) == wanted["pair_energy"]
        assert round(found.virial, 3) == wanted["virial"]


@pytest.mark.skipif(
    not (DATA / "ljargon_20000_positions.txt.gz").is_file(),
    reason="the published positions are not beside the checkout",
)
def test_published_argon_positions() -> None:
    """Forces by cells on a sample of the published atoms are those against all others; no cell holds over 100."""
    system = cases.system("argon20k")
    at = np.loadtxt(DATA / "ljargon_20000_positions.txt.gz", usecols=(1, 2, 3)) % system.box
    kinds = system.kinds()
    which = np.random.default_rng(1).integers(0, system.n, 40)
    found = forces.sampled(system, at, kinds, which)
    sigma, epsilon = 2.1, 1.995996**2
    for row, i in zip(found, which, strict=True):
        d = at - at[i]
        d -= np.array(system.box) * np.round(d / system.box)
        r = np.sqrt((d**2).sum(1))
        near = (r > 0) & (r < 8.5)
        g = 48 * epsilon * sigma**12 * r[near] ** -14 - 24 * epsilon * sigma**6 * r[near] ** -8
        assert np.allclose(row, -(g[:, None] * d[near]).sum(0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("evaluate", [forces.evaluate, forces.all_pairs])
def test_bad_positions_are_named(evaluate: object) -> None:
    state = start(LIQUID, 6)
    bad = state.positions.copy()
    bad[17, 1] = np.nan
    with pytest.raises(ValueError, match="liquid: particle 17 has a coordinate that is not finite"):
        evaluate(LIQUID, bad, state.kinds)  # type: ignore[operator]
    bad = state.positions.copy()
    bad[3] = bad[90]
    with pytest.raises(ValueError, match=r"liquid: particles (3 and 90|90 and 3) are at the same place"):
        evaluate(LIQUID, bad, state.kinds)  # type: ignore[operator]
    with pytest.raises(ValueError, match=r"liquid: positions of shape \(139, 3\), expected \(140, 3\)"):
        evaluate(LIQUID, bad[1:], state.kinds)  # type: ignore[operator]


@pytest.mark.parametrize("evaluate", [forces.evaluate, forces.all_pairs, lambda *x: forces.sampled(*x, np.array([1]))])
def test_bad_kinds_are_named(evaluate: object) -> None:
    state = start(SALT, 6)
    for kinds, said in (
        (state.kinds[1:], r"salt: kinds of shape \(79,\) and type uint8, expected \(80,\) of integers"),
        (state.kinds.astype(float), r"salt: kinds of shape \(80,\) and type float64, expected \(80,\) of integers"),
        (np.where(np.arange(80) == 9, 2, state.kinds), r"salt: particle 9 is of kind 2, but kinds are 0 to 1"),
        (
            np.where(np.arange(80) == 9, -1, state.kinds.astype(int)),
            r"salt: particle 9 is of kind -1, but kinds are 0 to 1",
        ),
    ):
        with pytest.raises(ValueError, match=said):
            evaluate(SALT, state.positions, kinds)  # type: ignore[operator]


def test_kinetic_energy_and_temperature() -> None:
    moving = np.random.default_rng(1).standard_normal((SALT.n, 3))
    masses = np.array([8.0] * 40 + [16.0] * 40)
    wanted = 0.5 * (masses[:, None] * moving**2).sum() / 100  # kJ/mol
    assert forces.kinetic(SALT, moving) == pytest.approx(wanted)
    assert forces.temperature(SALT, moving) == pytest.approx(2 * wanted / (0.00831446262 * (3 * 80 - 3)))
