"""Neighbour lists in OpenCL on PoCL: forces and motion against float64, lists that must not miss a pair, bad states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gpu_md_systems import SALT, TIGHT, followed, problem, start

from gpu.md import cells, opencl
from gpu.md.bench import Bench
from gpu.md.cells import Lists
from gpu.md.checks import energy_change, energy_complaint, judge
from gpu.md.launch import BadState, Unsupported
from gpu.md.layout import Problem
from gpu.md.oracle import truth
from gpu.md.prove import Start
from gpu.runtime.device import open_device
from workloads.md.forces import all_pairs


@pytest.fixture(scope="module")
def device():
    opened = open_device("opencl")
    yield opened
    opened.close()


def made(device, system, choice, batch=1):
    return cells.simulation(device, problem(system), "fp32", choice, batch, "queue")


CHOICES = [
    (SALT, Lists(0.12, 1, 1, 64, 2, rows=True), 5),
    (SALT, Lists(0.2, 2, 4, 32, 1), 8),
    (TIGHT, Lists(0.12, 1, 2, 16, 1), 3),
]


@pytest.mark.parametrize(("system", "choice", "batch"), CHOICES, ids=lambda x: getattr(x, "name", str(x)))
def test_a_trajectory_equals_float64_and_repeats_bit_for_bit(device, system, choice, batch):
    seed = int(np.random.default_rng().integers(2**31))
    print(f"seed {seed}")
    about, (positions, velocities) = problem(system), start(system, seed)
    simulation = made(device, system, choice, batch)
    simulation.set(positions, velocities)
    first = simulation.snapshot()
    wanted = all_pairs(system, positions, system.kinds())
    known = truth(about, positions, simulation.resolution)
    assert known.pairs == wanted.pairs
    assert np.allclose(known.forces, wanted.forces, rtol=1e-9, atol=1e-9)
    begin = judge(about, first, simulation.resolution, known)
    assert begin.complaint == ""
    assert begin.error < 3e-6
    simulation.launch(0)
    once = simulation.snapshot()
    x, v = followed(system, positions, velocities, batch)
    box = np.array(system.box)
    d = once.positions - x
    assert np.abs(d - box * np.round(d / box)).max() < 1e-5
    assert np.abs(once.velocities - v).max() < 1e-3
    launches = 160 // batch
    for _ in range(launches):
        simulation.launch(0)
    last = simulation.snapshot()
    end = judge(about, last, simulation.resolution)
    assert end.complaint == ""
    assert energy_complaint(about, energy_change(about, begin, end)) == ""
    assert abs(energy_change(about, begin, end)) < 0.02
    status = simulation.status()
    assert (status.steps, status.problem) == (batch * (launches + 1), "")
    assert 4 < status.builds < status.steps / 3
    simulation.set(positions, velocities)
    simulation.launch(0)
    again = simulation.snapshot()
    for field in ("positions", "velocities", "forces"):
        assert np.array_equal(getattr(again, field), getattr(once, field))
    simulation.close()


def test_a_round_trip_starts_anew(device):
    positions, velocities = start(TIGHT, 5)
    simulation = made(device, TIGHT, Lists(0.12, 1, 1, 16, 1), 2)
    simulation.set(positions, velocities)
    simulation.launch(0)
    once = simulation.snapshot()
    simulation.kernel_times(3)
    assert simulation.status().steps == 8
    simulation.round_trip(0)
    assert simulation.status().steps == 2
    assert np.array_equal(simulation.snapshot().positions, once.positions)


def test_a_list_that_grew_too_old_is_told(device, monkeypatch):
    # Without foresight, looks eight steps apart come too late for a thin skin.
    text = cells.ListSimulation._macros
    monkeypatch.setattr(
        cells.ListSimulation, "_macros", lambda self: text(self) + "#undef AHEAD\n#define AHEAD -1000.0f\n"
    )
    simulation = made(device, TIGHT, Lists(0.03, 8, 1, 16, 1), 8)
    simulation.set(*start(TIGHT, 7))
    for _ in range(4):
        simulation.launch(0)
    said = simulation.status().problem
    assert "moved more than half the skin, 0.0375, between looks 8 steps apart: a pair may have been missed" in said


def test_a_list_without_room_is_refused_not_cut(device, monkeypatch):
    monkeypatch.setattr(Problem, "room", lambda self, reach: 40)
    simulation = made(device, TIGHT, Lists(0.12, 1, 1, 16, 1))
    with pytest.raises(BadState, match=r"tight: a particle has \d+ neighbours, but its list has room for 40"):
        simulation.set(*start(TIGHT, 8))


def test_bad_starts_are_named(device):
    simulation = made(device, TIGHT, Lists(0.12, 1, 1, 16, 1))
    positions, velocities = start(TIGHT, 9)
    for number in (np.nan, np.inf):
        bad = positions.copy()
        bad[17, 1] = number
        with pytest.raises(BadState, match="tight: positions of particle 17 are not finite"):
            simulation.set(bad, velocities)
    with pytest.raises(BadState, match="velocities of particle 17 are not finite"):
        simulation.set(positions, bad)
    with pytest.raises(BadState, match=r"positions of shape \(3, 3\), expected \(100, 3\)"):
        simulation.set(positions[:3], velocities[:3])
    same = positions.copy()
    same[3] = same[60]
    with pytest.raises(
        BadState, match=r"a step moves particle (3|60) by more than 0.25: particles overlap, or the step"
    ):
        simulation.set(same, velocities)
    near = positions.copy()
    near[3] = near[60] + 0.1
    with pytest.raises(BadState, match="particles overlap"):
        simulation.set(near, velocities)
    fast = velocities.copy()
    fast[5, 2] = 100.0
    with pytest.raises(BadState, match="a step moves particle 5"):
        simulation.set(positions, fast)
    simulation.set(positions, velocities)  # and a good one is taken after all that
    simulation.launch(0)
    assert simulation.status().problem == ""


def test_a_run_that_blows_up_is_told(device):
    positions, velocities = start(TIGHT, 10)
    simulation = made(device, TIGHT, Lists(0.12, 1, 1, 16, 1), 10)
    velocities[:2] = [[-60.0, 0, 0], [60.0, 0, 0]]  # as fast as a start may be, and on their way to another particle
    simulation.set(positions, velocities)
    for _ in range(20):
        simulation.launch(0)
    assert "particles overlap, or the step is too long" in simulation.status().problem


class _Small:
    """A device whose memory ends after a megabyte."""

    def __init__(self, device):
        self._device, self.info, self.left = device, device.info, 2**20

    def __getattr__(self, name):
        return getattr(self._device, name)

    def allocate(self, nbytes):
        self.left -= nbytes
        if self.left < 0:
            raise MemoryError("clCreateBuffer failed: MEM_OBJECT_ALLOCATION_FAILURE")
        return self._device.allocate(nbytes)


def test_what_the_memory_does_not_hold_is_refused(device):
    # Ten kilobytes of lists for each of 560 particles.
    with pytest.raises(Unsupported, match=r"salt: [\d,]+ bytes, of which [\d,]+ for the neighbour list, do not fit"):
        made(_Small(device), replace(SALT, counts=(3000, 2600)), Lists(0.2, 1, 1, 64, 1))


def test_numbers_beyond_32_bits_are_refused(device):
    many = replace(TIGHT, counts=(2**27,), box=(600.0,) * 3)
    with pytest.raises(
        Unsupported, match=r"tight: 134217728 particles of 16 work-items, but a launch has 2\^31 at most"
    ):
        made(device, many, Lists(0.12, 1, 16, 128, 1))


def test_a_case_equals_the_oracle():
    checks = list(opencl.verify("lj864", samples=1, seed=11))
    assert len(checks) > 2
    for check in checks:
        assert check.passed, check
        assert 0 < check.worst <= check.tolerance < 1e-5


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("sixth * (p.x * sixth - p.y)", "sixth * (p.x * sixth - 0.999f * p.y)", "forces are off"),  # a wrong force
        ("z < first_z + SPAN_Z", "z < first_z + SPAN_Z - 1", "forces are off"),  # cells left out
        ("part ? 0.5f : 1.0f", "part ? 0.55f : 1.0f", "velocities are off"),  # a wrong last kick
        ("0.5f * kicks[own.w] * forces", "0.49f * kicks[own.w] * forces", "positions are off"),  # a wrong first one
        ("if (gone + AHEAD", "if (0 * gone + AHEAD", "off by"),  # lists that are never renewed
    ],
)
def test_a_wrong_kernel_is_seen(device, monkeypatch, tmp_path, right, wrong, complaint):
    text = cells._TEXT.read_text()
    assert right in text
    (tmp_path / "cells.cl").write_text(text.replace(right, wrong))
    monkeypatch.setattr(cells, "_TEXT", tmp_path / "cells.cl")
    worst, allowed, said = Start(problem(SALT), *start(SALT, 4)).prove(made(device, SALT, CHOICES[0][1], 10), 6)
    assert complaint in said
    assert (worst > allowed) == ("forces are off" in said)


def test_tuning_takes_the_least_time_and_leaves_out_what_fails(device, monkeypatch):
    about = problem(TIGHT)
    bench = Bench(device, about)
    good, bad = Lists(0.12, 1, 1, 16, 1), Lists(0.02, 1, 16, 16, 1)

    class Fails:
        def set(self, *state):
            raise BadState("spoilt")

        def close(self):
            pass

    honest = bench.simulation
    monkeypatch.setattr(bench, "choices", lambda arithmetic, batch: [bad, good])
    monkeypatch.setattr(
        bench, "simulation", lambda a, c, b, mode="queue": Fails() if c is bad else honest(a, c, b, mode)
    )
    assert bench.tune("fp32", 20, "queue", *start(TIGHT, 3)) is good
    monkeypatch.setattr(bench, "simulation", lambda *_: Fails())
    with pytest.raises(Unsupported, match=r"spoilt; .*spoilt"):
        bench.tune("fp32", 10, "queue", *start(TIGHT, 3))
