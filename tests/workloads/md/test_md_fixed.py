"""The integers: against loops over cells and slots in Python, against float64, and what may not matter to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from md_oracles import LIQUID, MIXTURE, SALT, engine_step, start

from workloads.md import cases, fixed, forces, motion, pairs
from workloads.md.fixed import Flags, State
from workloads.md.system import System

SYSTEMS = [LIQUID, SALT, MIXTURE]
ids = [s.name for s in SYSTEMS]


def begin(system: System, seed: int) -> tuple[fixed.Tables, State]:
    table = fixed.tables(system, fixed.format_of(system))
    state = start(system, seed)
    return table, fixed.quantise(table, state.positions, state.velocities, state.kinds)


@pytest.mark.parametrize("system", SYSTEMS, ids=ids)
def test_steps_equal_those_of_cells_and_slots(system: System) -> None:
    table, state = begin(system, 1)
    theirs = state
    for number in range(3):
        theirs, count = engine_step(table, theirs, number == 0)
        assert fixed.forces(table, state).pairs == count
        state = fixed.step(table, state, number == 0)
        assert np.array_equal(state.positions, theirs.positions)
        assert np.array_equal(state.velocities, theirs.velocities)
        assert state.flags == theirs.flags == Flags.NONE


def test_strengths_equal_those_of_python_integers() -> None:
    """At random distances, the ends of segments and bins, and below the last segment."""
    from md_oracles import strength

    table, _ = begin(SALT, 1)
    rng = np.random.default_rng(3)
    bits = 2 * table.format.position
    edges = [(1 << b) + k for b in range(bits - 9, bits) for k in (-1, 0, 1)]
    r2 = np.array([*edges, 0, 1, *rng.integers(0, table.cutoff2, 300)])
    r2 = r2[r2 < table.cutoff2]
    kinds = rng.integers(0, 2, (2, len(r2))).astype(np.uint8)
    found = fixed.strength(table, r2, *kinds)
    assert found.tolist() == [strength(table, int(r), int(a), int(b)) for r, a, b in zip(r2, *kinds, strict=True)]


@pytest.mark.parametrize("system", SYSTEMS, ids=ids)
def test_the_order_of_particles_does_not_matter(system: System) -> None:
    table, state = begin(system, 2)
    order = np.random.default_rng(1).permutation(system.n)
    other = State(state.positions[order], state.velocities[order], state.kinds[order])
    ours, theirs = (fixed.run(table, s, 5) for s in (state, other))
    assert np.array_equal(ours.positions[order], theirs.positions)
    assert np.array_equal(ours.velocities[order], theirs.velocities)


@pytest.mark.parametrize("system", [LIQUID, SALT], ids=["liquid", "salt"])
def test_the_list_of_candidates_does_not_matter(system: System) -> None:
    table, state = begin(system, 3)
    listed = fixed.run(table, state, 40, candidates=fixed.by_list(table, 0.2))
    found = fixed.run(table, state, 40)
    assert np.array_equal(listed.positions, found.positions)
    assert np.array_equal(listed.velocities, found.velocities)


def test_a_list_without_skin_loses_pairs() -> None:
    """The test above can fail: a list that is never made anew."""
    table, state = begin(LIQUID, 3)
    once = fixed.by_cells(table)(state)
    stale = fixed.run(table, state, 40, candidates=lambda _: once)
    assert not np.array_equal(stale.positions, fixed.run(table, state, 40).positions)


def test_runs_can_be_cut() -> None:
    table, state = begin(LIQUID, 4)
    whole = fixed.run(table, state, 6)
    part = fixed.run(table, state, 2, first_half=True, last_half=False)
    part = fixed.run(table, part, 4, first_half=False, last_half=True)
    assert np.array_equal(whole.positions, part.positions)
    assert np.array_equal(whole.velocities, part.velocities)
    assert (
        list(fixed.trajectory(table, state, 2))[-1].positions.tolist()
        == fixed.run(table, state, 2, last_half=False).positions.tolist()
    )


def test_momentum_is_exact() -> None:
    """With one mass, whole kicks change it by nothing, half a kick by a unit a particle at most."""
    table, state = begin(MIXTURE, 5)
    moved = fixed.run(table, state, 5, first_half=False, last_half=False)
    assert moved.velocities.sum(0).tolist() == state.velocities.sum(0).tolist()
    half = fixed.kick(table, state, True).velocities.sum(0) - state.velocities.sum(0)
    assert np.abs(half).max() <= MIXTURE.n


@pytest.mark.parametrize(
    ("system", "worst"), [(LIQUID, 4e-5), (SALT, 6e-5), (MIXTURE, 6e-5)], ids=["liquid", "salt", "mixture"]
)
def test_forces_are_near_those_of_float64(system: System, worst: float) -> None:
    table, state = begin(system, 6)
    found = fixed.decode_forces(table, fixed.forces(table, state))
    exact = forces.evaluate(system, fixed.positions(table, state), state.kinds)
    error = np.sqrt(((found - exact.forces) ** 2).sum() / (exact.forces**2).sum())
    assert error < worst
    assert fixed.forces(table, state).pairs == exact.pairs


@pytest.mark.parametrize("system", [LIQUID, SALT], ids=["liquid", "salt"])
def test_fifty_steps_stay_near_float64(system: System) -> None:
    table, state = begin(system, 7)
    begun = motion.Moment(fixed.positions(table, state), fixed.velocities(table, state))
    *_, wanted = motion.run(system, begun, 50, 50)
    found = fixed.run(table, state, 50, candidates=fixed.by_list(table, 0.2))
    box = np.array(system.box)
    off = fixed.positions(table, found) - wanted.positions
    off -= box * np.round(off / box)
    travelled = 50 * system.step * np.abs(wanted.velocities).mean()
    assert np.abs(off).max() < 2e-4 * travelled
    speed = np.abs(wanted.velocities).mean()
    assert np.abs(fixed.velocities(table, found) - wanted.velocities).max() < 2e-3 * speed


def test_rounding_is_odd_and_to_the_nearest() -> None:
    values = np.arange(-50, 51)
    found = fixed.round_odd(values, 3)
    assert found.tolist() == [int(np.sign(v) * ((abs(v) + 4) // 8)) for v in values]
    assert (found == -found[::-1]).all()


def test_quantise_rounds_to_the_nearest() -> None:
    table, _ = begin(LIQUID, 1)
    state = start(LIQUID, 8)
    found = fixed.quantise(table, state.positions, state.velocities, state.kinds)
    unit = 1.9 / 2**24
    assert np.abs(fixed.positions(table, found) - state.positions).max() <= unit / 2 * 1.001
    assert np.abs(fixed.velocities(table, found) - state.velocities).max() <= unit / 2**10 / 0.004 / 2 * 1.001
    past = fixed.quantise(table, state.positions + np.array(LIQUID.box), state.velocities, state.kinds)
    assert np.abs(past.positions - found.positions).max() <= 1
    form = table.format
    assert ((found.cells(form) << form.position) + found.places(form) == found.positions).all()
    assert (found.cell_index(table) == found.cells(form) @ [1, 3, 9]).all()


def test_two_particles_too_near_raise_close() -> None:
    table, state = begin(LIQUID, 9)
    at = state.positions.copy()
    at[1] = at[0] + [int(0.7 / 1.9 * 2**24), 0, 0]  # closest is 0.75
    near = replace(state, positions=at % (3 << 24))
    flags = fixed.forces(table, near).flags
    assert flags == Flags.CLOSE
    assert fixed.step(table, near).flags & Flags.CLOSE
    assert fixed.step(table, replace(state, flags=Flags.CLOSE)).flags == Flags.CLOSE  # sticky
    fixed.check(LIQUID, fixed.step(table, state))
    said = r"liquid: particles 0 and 1 are 0\.7 apart, but the table ends at 0\.75: take a start without overlaps"
    with pytest.raises(RuntimeError, match=said):
        fixed.check(LIQUID, fixed.step(table, near))
    with pytest.raises(ValueError, match=said):
        fixed.decode_forces(table, fixed.forces(table, near))
    with pytest.raises(RuntimeError, match=r"liquid: begun with the flag CLOSE"):
        fixed.check(LIQUID, replace(state, flags=Flags.CLOSE))


def test_the_nearest_pair_and_the_first_fault_are_told() -> None:
    table, state = begin(LIQUID, 9)
    at = state.positions.copy()
    for one, other, apart in ((8, 20, 0.6), (33, 5, 0.1), (70, 71, 0.7)):
        at[one] = at[other] + [0, int(apart / 1.9 * 2**24), 0]
    for blocks in (12_000, 50):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(pairs, "BLOCK", blocks)
            found = fixed.step(table, replace(state, positions=at % (3 << 24)))
        assert found.fault.startswith("particles 5 and 33 are 0.1 apart")
    later = fixed.step(table, replace(found, velocities=found.velocities + (1 << 31)))
    assert later.flags == Flags.CLOSE | Flags.FAST
    assert later.fault == found.fault


def test_what_is_too_fast_raises_fast() -> None:
    slow = replace(LIQUID, species=(replace(LIQUID.species[0], epsilon=1e-9),))
    table = fixed.tables(slow, fixed.format_of(slow))
    _, state = begin(LIQUID, 10)
    limit = 1 << 31
    for velocity, flags, kept in (
        (limit - 1, Flags.NONE, limit - 1),
        (limit, Flags.FAST, -limit),
        (-limit, Flags.NONE, -limit),
    ):
        moving = state.velocities.copy()
        moving[5, 2] = velocity
        found = fixed.step(table, replace(state, velocities=moving))
        assert found.flags == flags
        assert found.velocities[5, 2] == kept
    # A format in which a velocity can be more than a cell: the particle moves by one, its place keeps its low bits.
    wide = fixed.tables(slow, replace(table.format, velocity=40))
    moving[5, 2] = 5 << 33  # 2.5 cells
    found = fixed.step(wide, replace(state, velocities=moving))
    assert found.flags == Flags.FAST
    moved = (found.positions - state.positions)[5, 2] % (3 << 24)
    assert moved in (1 << 23, (1 << 24) + (1 << 23), (2 << 24) + (1 << 23))
    assert (found.cells(wide.format) - state.cells(wide.format))[5, 2] % 3 == 1
    with pytest.raises(RuntimeError, match=r"liquid: particle 5 would move by 2 cells in one step, at most 1: take a"):
        fixed.check(LIQUID, found)
    assert fixed.step(wide, replace(state, velocities=moving, fault="the first")).fault == "the first"


def test_a_velocity_beyond_its_bits_is_told_before_it_wraps() -> None:
    slow = replace(LIQUID, species=(replace(LIQUID.species[0], epsilon=1e-9),))
    table = fixed.tables(slow, fixed.format_of(slow))
    _, state = begin(LIQUID, 10)
    moving = state.velocities.copy()
    moving[5, 2] = -(1 << 31) - 200_000_000
    # The unit is 1.9 / 2^34 / 0.004; 2^31 of them are 59.375.
    said = r"liquid: particle 5 has a velocity of 64\.9\d*, but 32 bits hold less than 59\.375: take a shorter step"
    with pytest.raises(RuntimeError, match=said):
        fixed.check(LIQUID, fixed.step(table, replace(state, velocities=moving)))


def test_bad_states_are_named() -> None:
    table, _ = begin(LIQUID, 1)
    state = start(LIQUID, 1)
    bad = state.velocities.copy()
    bad[3, 0] = np.inf
    with pytest.raises(ValueError, match=r"liquid: particle 3 has a velocity that is not finite: \[inf, "):
        fixed.quantise(table, state.positions, bad, state.kinds)
    bad[3, 0] = 70.0  # edge / 2^34 a step is the unit, 2^31 of them are 59
    with pytest.raises(ValueError, match=r"liquid: particle 3 .* velocity of 70, but 32 bits hold less than 59\.375:"):
        fixed.quantise(table, state.positions, bad, state.kinds)
    with pytest.raises(ValueError, match=r"liquid: velocities of shape \(139, 3\), expected \(140, 3\)"):
        fixed.quantise(table, state.positions, state.velocities[1:], state.kinds)
    with pytest.raises(ValueError, match=r"liquid: kinds of shape \(139,\) and type uint8, expected \(140,\)"):
        fixed.quantise(table, state.positions, state.velocities, state.kinds[1:])
    bad = state.positions.copy()
    bad[3, 0] = np.nan
    with pytest.raises(ValueError, match="liquid: particle 3 has a coordinate that is not finite"):
        fixed.quantise(table, bad, state.velocities, state.kinds)


def test_lj864_counts_the_pairs_of_float64() -> None:
    system = cases.system("lj864")
    table = fixed.tables(system, fixed.format_of(system))
    state = cases.state("lj864", 3)
    found = fixed.quantise(table, state.positions, state.velocities, state.kinds)
    assert fixed.forces(table, found).pairs == forces.evaluate(system, fixed.positions(table, found), state.kinds).pairs
