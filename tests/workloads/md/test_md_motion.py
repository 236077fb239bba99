"""Velocity Verlet: order, reversibility, types, the list, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from md_oracles import LIQUID, SALT, start

from workloads.md import forces, motion
from workloads.md.motion import Moment
from workloads.md.system import Species, System


def begin(system: System, seed: int, kind: Any = np.float64) -> Moment:
    state = start(system, seed)
    return Moment(state.positions.astype(kind), state.velocities.astype(kind))


def last(system: System, moment: Moment, steps: int) -> Moment:
    *_, found = motion.run(system, moment, steps, steps)
    return found


def total(system: System, moment: Moment) -> float:
    found = forces.evaluate(system, moment.positions.astype(float), system.kinds())
    return found.energy + forces.kinetic(system, moment.velocities.astype(float))


def test_a_step_by_hand() -> None:
    """Two particles that attract each other: x += h v + h^2 F/2m, v += h (F + F')/2m, in molar units."""
    system = System(
        "two",
        (Species(10.0, 2.0, 3.0), Species(40.0, 2.0, 3.0)),
        (1, 1),
        (20.0,) * 3,
        8.0,
        0.01,
        (2, 2, 2),
        units="molar",
    )
    x, v = np.array([[5.0, 5, 5], [7.5, 5, 5]]), np.array([[0.1, 0, 0], [0.0, 0.2, 0]])
    mass = np.array([[10.0], [40.0]]) / 100

    def push(at: np.ndarray) -> np.ndarray:
        return forces.all_pairs(system, at, system.kinds()).forces

    x1 = x + 0.01 * v + 0.5 * 0.01**2 * push(x) / mass
    v1 = v + 0.01 * (push(x) + push(x1)) / 2 / mass
    found = last(system, Moment(x, v), 1)
    assert np.allclose(found.positions, x1, atol=1e-14)
    assert np.allclose(found.velocities, v1, atol=1e-14)
    assert push(x)[0, 0] > 0


@pytest.mark.parametrize("system", [LIQUID, SALT], ids=["liquid", "salt"])
def test_backwards_leads_to_the_start(system: System) -> None:
    moment = begin(system, 1)
    there = last(system, moment, 30)
    back = last(system, Moment(there.positions, -there.velocities), 30)
    box = np.array(system.box)
    off = back.positions - moment.positions
    assert np.abs(off - box * np.round(off / box)).max() < 1e-9
    assert np.abs(there.positions - moment.positions).max() > 0.01


def test_half_the_step_has_a_quarter_of_the_error() -> None:
    errors = []
    for parts in (1, 2, 4):
        fine = replace(LIQUID, step=0.008 / parts)
        moments = list(motion.run(fine, begin(LIQUID, 2), 20 * parts, parts))
        energies = np.array([total(LIQUID, m) for m in moments])
        errors.append(np.abs(energies - energies[0]).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.25)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.25)


def test_float32_is_float32_throughout(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    plain = motion.pair

    def spy(system: System, r2: Any, *kinds: Any) -> Any:
        found = plain(system, r2, *kinds)
        seen.update((r2.dtype.name, found[0].dtype.name, found[1].dtype.name))
        return found

    monkeypatch.setattr(motion, "pair", spy)
    for system in (LIQUID, SALT):
        found = last(system, begin(system, 3, np.float32), 3)
        assert found.positions.dtype == found.velocities.dtype == np.float32
    assert seen == {"float32"}


def test_float32_rounds() -> None:
    one, two = (last(LIQUID, begin(LIQUID, 3, kind), 20) for kind in (np.float32, np.float64))
    off = np.abs(one.velocities - two.velocities).max()
    assert 1e-8 < off < 1e-3


def test_the_list_does_not_matter() -> None:
    moment = begin(LIQUID, 4)
    plain = last(LIQUID, moment, 40)
    box, kinds = np.array(LIQUID.box), LIQUID.kinds()
    x, v = moment.positions, moment.velocities
    f = forces.all_pairs(LIQUID, x, kinds).forces
    for _ in range(40):
        v = v + 0.002 * f
        x = (x + 0.004 * v) % box
        f = forces.all_pairs(LIQUID, x, kinds).forces
        v = v + 0.002 * f
    assert np.abs(plain.velocities - v).max() < 1e-9


def test_the_list_is_made_anew_after_half_a_skin() -> None:
    listing = motion.VerletList(LIQUID, 0.2)
    at = start(LIQUID, 5).positions
    listing(at)
    moved = at.copy()
    moved[3, 1] += 0.099
    listing(moved)
    assert listing.built == 1
    moved[3, 1] += LIQUID.box[1]  # the same place
    listing(moved)
    assert listing.built == 1
    moved[3, 1] += 0.002
    listing(moved)
    assert listing.built == 2


@pytest.mark.parametrize("step", [0.5, 1e30])
def test_a_step_that_blows_up_is_named(step: float) -> None:
    wild = replace(LIQUID, step=step)
    with pytest.raises(
        RuntimeError,
        match=r"liquid: blown up at step \d+: particle \d+ would move by [0-9.e+]+, at most 1\.9, with a step of",
    ):
        last(wild, begin(LIQUID, 6), 50)


def test_overlapping_particles_are_named() -> None:
    moment = begin(LIQUID, 7)
    moment.positions[3] = moment.positions[90]
    with pytest.raises(RuntimeError, match=r"liquid: particles (3 and 90|90 and 3) are at the same place"):
        last(LIQUID, moment, 1)
    moment.positions[3] += 1e-7
    with pytest.raises(RuntimeError, match=r"blown up at step 1: particle (3|90) would move by \d\.?\d*e\+\d+, at"):
        last(LIQUID, moment, 1)


def test_coordinates_that_are_no_numbers_are_named() -> None:
    moment = begin(LIQUID, 8)
    moment.positions[17, 2] = np.nan
    with pytest.raises(ValueError, match=r"liquid: particle 17 has a coordinate that is not finite: \[.*, nan\]"):
        last(LIQUID, moment, 1)
    moment = begin(LIQUID, 8)
    moment.velocities[4, 0] = np.nan
    with pytest.raises(ValueError, match=r"liquid: particle 4 has a velocity that is not finite: \[nan, "):
        last(LIQUID, moment, 1)
    with pytest.raises(ValueError, match=r"liquid: velocities of shape \(1, 3\), expected \(140, 3\)"):
        last(LIQUID, Moment(moment.positions, np.zeros((1, 3))), 1)


def test_moves_that_are_no_numbers_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = motion.energy_and_forces

    def broken(*given: Any) -> Any:
        energy, found = plain(*given)
        found[7, 1] = np.nan
        return energy, found

    monkeypatch.setattr(motion, "energy_and_forces", broken)
    with pytest.raises(RuntimeError, match=r"liquid: blown up at step 1: particle 7 would move by nan, at most 1\.9"):
        last(LIQUID, begin(LIQUID, 8), 1)


def test_kinds_that_there_are_not_are_named() -> None:
    moment = begin(LIQUID, 8)
    near = motion.VerletList(LIQUID)(moment.positions)
    with pytest.raises(ValueError, match=r"liquid: particle 0 is of kind 7, but kinds are 0 to 0"):
        motion.energy_and_forces(LIQUID, moment.positions, np.full(140, 7, np.uint8), near)
