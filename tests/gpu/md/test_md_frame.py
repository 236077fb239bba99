"""The frame of `gpu.md`: cells, the float64 judge, records whose rates hold list builds, baselines."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from gpu_md_systems import SALT, TIGHT, problem, start

from compare.provenance import hash_sources, repo_root
from compare.record import Boundary
from gpu import measure as module
from gpu.md import cells, oracle, session, subjects
from gpu.md.cells import Lists, ListSimulation
from gpu.md.checks import judge
from gpu.md.launch import BadState, Snapshot, Status
from gpu.md.layout import Problem, decode, encode
from gpu.md.layout import cells as cells_of
from gpu.runtime import loop
from gpu.runtime.device import DeviceError
from gpu.session import TIMED, WrongResultError
from workloads.md import cases, motion
from workloads.md.forces import evaluate

BUDGET = loop.Budget(launches=20, seconds=0.02, rounds=1, round_seconds=0.002, warmup=2, warmup_seconds=0.0)


def test_cells_reach_every_neighbour():
    rng = np.random.default_rng(1)
    for _ in range(300):
        box, reach = tuple(rng.uniform(2, 40, 3)), float(rng.uniform(0.5, 1.0)) * 2
        for divide in (1, 2, 3):
            found = cells_of(box, reach, divide)
            for side, count, span in zip(box, found.counts, found.spans, strict=True):
                assert count >= 1
                assert span == min(count, 2 * divide + 1)
                # `divide` whole cells lie between what is not visited and the particle's own.
                assert span == count or side / count * divide >= reach
    assert cells_of((1e9,) * 3, 1.0, 2).total == 2**30


def test_positions_are_kept_to_2_to_the_minus_33_of_the_box():
    positions = np.concatenate([start(SALT, 1)[0][:-2], [[0, 0, 0], SALT.box]])
    about = problem(SALT)
    units = encode(about, positions)
    d = decode(about, units) - positions
    box = np.array(SALT.box)
    assert np.abs(d - box * np.round(d / box)).max() <= box.max() * 2.0**-33 * 1.001
    assert (units[-1, :3] == 0).all()
    assert (units[:, 3] == SALT.kinds()).all()


@pytest.mark.parametrize("case", ["lj864", "melt1k"])
def test_the_tolerance_is_near_an_honest_evaluation_in_binary32(case):
    system, state = cases.system(case), cases.state(case, 4)
    about = Problem(case, system)
    found = oracle.truth(about, state.positions)
    exact = evaluate(system, state.positions, state.kinds)
    assert np.allclose(found.forces, exact.forces, rtol=1e-9, atol=1e-9)
    assert found.pairs == exact.pairs
    single = state.positions.astype(np.float32)
    near = motion.VerletList(system)(single)
    forces = motion.energy_and_forces(system, single, state.kinds, near)[1].astype(np.float64)
    assert 0.02 * found.tolerance < found.error(forces) < found.tolerance
    assert found.outlier(forces) < oracle.OUTLIER
    forces[5] += 30 * found.deviation[5]
    assert found.outlier(forces) > oracle.OUTLIER
    forces[5] = np.nan
    assert found.error(forces) == found.outlier(forces) == float("inf")


def test_one_lost_pair_is_seen_in_a_large_system():
    # A force a thousandth of the usual ones, which the mean over thousands of particles hides.
    system, state = cases.system("melt4k"), cases.state("melt4k", 5)
    about = Problem("melt4k", system)
    found = oracle.truth(about, state.positions, 1e-9)
    lost = found.forces.copy()
    lost[0, 0] += 0.001
    speeds = np.zeros_like(lost)
    assert judge(about, Snapshot(state.positions, speeds, found.forces), 1e-9, found).complaint == ""
    assert "standard deviations" in judge(about, Snapshot(state.positions, speeds, lost), 1e-9, found).complaint


def test_a_block_of_a_large_system_has_the_forces_of_the_whole(monkeypatch):
    system, state = cases.system("melt4k"), cases.state("melt4k", 3)
    about = Problem("melt4k", system)
    whole = oracle.truth(about, state.positions)
    monkeypatch.setattr(oracle, "WHOLE", 1000)
    monkeypatch.setattr(oracle, "BLOCK", 500)
    some = oracle.truth(about, state.positions)
    assert 300 < len(some.which) < 800
    assert np.allclose(some.forces, whole.forces[some.which], rtol=1e-9, atol=1e-9)
    assert np.allclose(some.deviation, whole.deviation[some.which], rtol=1e-6)
    assert some.potential is None
    assert some.pairs == pytest.approx(whole.pairs, rel=0.1)


def test_particles_that_nothing_reaches_have_no_force_and_no_error():
    about = Problem("nist", cases.system("nist"))
    positions = np.zeros((30, 3))
    positions[:] = np.arange(30)[:, None] * 1e-9  # all at one place but for two
    positions[:28] = np.stack(np.meshgrid(*[np.arange(4) * 2.0] * 3, indexing="ij"), -1).reshape(-1, 3)[:28]
    positions[28:] = [[6, 6, 6], [6, 6, 2]]
    found = oracle.truth(about, positions)
    assert np.isfinite(found.tolerance)
    assert found.outlier(found.forces) == 0.0


def records(case="lj864", batches=(1, 10), device="opencl", **options):
    return list(module.measure("md", case, device, batches, budget=BUDGET, command="c", **options))


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(session, "WINDOW_SECONDS", 0.05)
    monkeypatch.setattr(cells, "choices", lambda *_: [Lists(0.12, 1, 1, 64, 2, rows=True)])


def test_records_of_the_local_device(short):
    made = records()
    assert [r.conditions["batch"] for r in made] == [1, 10]
    for record in made:
        said = record.conditions
        assert (record.workload, record.implementation) == ("md", "gpu/md/opencl")
        assert 0 < said["worst_difference"] <= said["tolerance"] < 1e-5
        assert said["worst_difference"] == max(said["force_error"], said["force_error_start"])
        error = record.get("quality.force_error")
        assert error is not None
        assert error.value == said["worst_difference"]
        assert abs(said["energy_change"]) < 0.04
        assert said["particles"] == 864
        assert 20_000 < said["pairs_within_cutoff"] < 30_000
        assert (said["skin"], said["look_interval"], said["checked_items"]) == (0.3, 1, 2)
        assert said["rebuild_interval"] == pytest.approx(said["steps_run"] / said["list_builds"], rel=0.01)
        assert said["window_steps"] >= session.FEWEST_BUILDS * said["rebuild_interval"] * 0.5
        assert "moved half the skin" in said["list_criterion"]
        rates = [m for m in record.measurements if m.quantity == "throughput"]
        assert {m.boundary for m in rates} == {Boundary.KERNEL, Boundary.HOST}
        assert all(m.samples == len(m.values) >= 3 for m in rates)
        sources = record.provenance.sources
        assert {*TIMED, "gpu/md/session.py", "gpu/md/cells.cl", "workloads/md/forces.py"} <= set(sources)
        assert record.provenance.sources_hash == hash_sources(repo_root(), sources)


def test_forces_that_differ_make_no_record(short, monkeypatch):
    honest = ListSimulation.snapshot

    def off(self):
        found = honest(self)
        return Snapshot(found.positions, found.velocities, found.forces * (1 + 1e-4))

    monkeypatch.setattr(ListSimulation, "snapshot", off)
    with pytest.raises(WrongResultError, match="batch 1 fp32 queue: at the start forces are off by"):
        records(batches=[1])


def test_a_spoilt_run_makes_no_record(short, monkeypatch):
    honest = ListSimulation.status
    late = "a pair may have been missed"
    monkeypatch.setattr(
        ListSimulation, "status", lambda s: Status(s.steps, honest(s).builds, late if s.steps > 40 else "")
    )
    with pytest.raises(WrongResultError, match=f"batch 10 fp32 queue: {late}"):
        records(batches=[10])


def test_the_null_device_measures_the_harness(short):
    made = records(device="null", batches=[2])
    assert made[0].implementation == "gpu/md/null"
    assert made[0].conditions["checked_items"] == 0


def test_a_batch_that_takes_too_long_is_refused_first():
    with pytest.raises(DeviceError, match=r"melt4m: batch 100 is too large, at most 10: more .* seconds a launch"):
        records("melt4m", [1, 100], "null")


class _Clocked:
    """A simulation that takes 1 us a step and 100 us more for each list, one in `interval` steps."""

    def __init__(self, batch, interval=17):
        self.batch, self.interval, self.sets, self.steps, self.now = batch, interval, 1, 0, 0
        self.asked = []

    def launch(self, index):
        for _ in range(self.batch):
            self.steps += 1
            self.now += 1000 + 100_000 * (self.steps % self.interval == 0)

    def finish(self):
        pass

    def kernel_times(self, count):
        self.asked.append(count)
        times = []
        for _ in range(count):
            before = self.now
            self.launch(0)
            times.append(self.now - before)
        return np.array(times)

    def status(self):
        return Status(self.steps, 1 + self.steps // self.interval, "")


@pytest.mark.parametrize("batch", [1, 10, 1000])
def test_rates_hold_the_builds_of_lists(batch):
    runner, said = _Clocked(batch), {}
    kernel, host = session.sustained(runner, said, lambda: runner.now)
    true = 1e9 / (1000 + 100_000 / 17)
    for found in (kernel, host):
        assert found.value == pytest.approx(true, rel=0.12)
    assert said["window_steps"] >= 10 * 17
    assert all(count * batch == said["window_steps"] for count in runner.asked)


class _Framework(_Clocked):
    """One that does not count its lists, and takes 10 ms to say that it is done."""

    def finish(self):
        self.now += 10_000_000

    def status(self):
        return Status(self.steps, None, "")


def test_windows_of_frameworks_are_long():
    runner, said = _Framework(1000), {}
    _, host = session.sustained(runner, said, lambda: runner.now)
    assert host.value == pytest.approx(1e9 / (1000 + 100_000 / 17), rel=0.08)


def _setting(name, seconds, monkeypatch_forces=1.0, error=None):
    about = problem(TIGHT)

    class Setting:
        batch, sets, closed = 1, 1, 0

        def set(self, positions, velocities):
            if error:
                raise error
            self.snap = Snapshot(
                positions, velocities, evaluate(TIGHT, positions, about.kinds).forces * monkeypatch_forces
            )

        def snapshot(self):
            return self.snap

        def close(self):
            self.closed += 1

    made = Setting()
    made.seconds, made.name = seconds, name
    return made


def test_the_fastest_right_setting_of_a_baseline_is_taken(monkeypatch):
    slow, fast = _setting("slow", 2e-3), _setting("fast", 1e-3)
    wrong, broken = _setting("wrong", 1e-9, 1.001), _setting("broken", 0, error=RuntimeError("no memory\nmore"))
    monkeypatch.setattr(subjects, "step_seconds", lambda simulation: simulation.seconds)
    every = [slow, fast, wrong, broken]
    settings = ((s.name, lambda s=s: s) for s in every)
    best, name, said = subjects.fastest(problem(TIGHT), settings, *start(TIGHT, 2))
    assert (best, name) == (fast, "fast")
    assert said["slow"] == "2000.0 us"
    assert "forces are off" in said["wrong"]
    assert said["broken"] == "RuntimeError: no memory"
    assert [s.closed for s in every] == [1, 0, 1, 1]
    with pytest.raises(BadState, match="wrong: BadState: forces are off"):
        subjects.fastest(problem(TIGHT), iter([("wrong", lambda: wrong)]), *start(TIGHT, 2))


def test_the_baseline_is_asked_for_the_batch_and_its_setting_is_told(monkeypatch):
    fast, asked = _setting("fast", 1e-3), []
    fast.conditions = lambda: {"skin": 0.3}

    def simulations(about, arithmetic, batch, modes):
        asked.append((about.case, arithmetic, batch, modes))
        yield "jit", lambda: fast

    fake = SimpleNamespace(
        NAME="gpu/md/jax_md", TIER="outside baseline", ARITHMETICS=("fp32",), MODES=("queue",), SOURCES=("gpu/api.py",)
    )
    fake.simulations, fake.tools = simulations, lambda: {"jax": "1"}
    monkeypatch.setitem(subjects.IMPLEMENTATIONS, fake.NAME, "fake")
    monkeypatch.setattr(subjects.importlib, "import_module", lambda name: fake)
    monkeypatch.setattr(subjects, "step_seconds", lambda simulation: 1e-3)
    monkeypatch.setattr(subjects, "system", lambda case: TIGHT)
    device = SimpleNamespace(info=SimpleNamespace(tools={"driver": "5"}))
    subject = subjects.baseline(fake.NAME, "lj864", device)
    state = np.concatenate(start(TIGHT, 2), 1)[None]
    made = subject.prepare("fp32", ["queue"], np.broadcast_to(state, (7, *state.shape[1:])), 1)
    assert asked == [("lj864", "fp32", 7, ["queue"])]
    assert made.conditions["setting"] == "jit"
    assert made.conditions["skin"] == 0.3
    assert made.tools == {"jax": "1", "driver": "5"}
    assert made.runner is fast
