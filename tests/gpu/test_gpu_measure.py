"""From a device to records: what they say, what is refused, and that nothing half-written stays."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import gpu
from compare.provenance import hash_sources, repo_root
from compare.record import Record
from compare.store import read_store, write_records
from gpu import measure as module
from gpu import session as session_module
from gpu.runtime import loop, null
from gpu.runtime.device import DeviceError
from gpu.session import ROTATE_BYTES, TIMED, Session, WrongResultError, sets_for
from gpu.track import subjects
from gpu.track import torch as baseline
from gpu.track.bench import Bench
from workloads.api import UnknownNameError

BUDGET = loop.Budget(launches=200, seconds=0.05, rounds=3, round_seconds=0.002, warmup=10, warmup_seconds=0.0)


def records(device: str = "opencl", batches=(1, 300), **options) -> list[Record]:
    return list(module.measure("track", "embed", device, batches, budget=BUDGET, command="c", **options))


@pytest.fixture(scope="module")
def local() -> list[Record]:
    return records()


def test_records_of_the_local_device(local):
    assert [(r.conditions["batch"], r.conditions["arithmetic"]) for r in local] == [
        (1, "fp32"),
        (1, "fixed"),
        (300, "fp32"),
        (300, "fixed"),
    ]
    for record in local:
        assert record.implementation == "gpu/track/opencl"
        assert record.provenance.tools["opencl"]
        assert record.provenance.sources_hash == hash_sources(repo_root(), record.provenance.sources)
        assert {"workloads/track/network.py", *TIMED} <= set(record.provenance.sources)
        assert record.conditions["parameters"] == "trained"
        assert record.conditions["clocks"] == "free-running"
        assert "sm_clock_mhz" not in record.conditions, "no NVML, no clock"
        assert not any(
            s.startswith(("designs", "hls")) or "cuda" in s or "torch" in s for s in record.provenance.sources
        )
        for boundary in ("kernel", "host", "device"):
            assert record.get("latency", statistic="p50", boundary=boundary)
        assert record.get("launch_floor", boundary="host")
        assert record.get("throughput", boundary="kernel").low is not None
        assert record.get("energy") is None, "no counter, no energy"
        assert record.conditions["checked_items"] >= record.conditions["batch"]
        assert record.conditions["buffer_sets"] == session_module.MAX_SETS
        assert record.conditions["working_set_bytes"] < ROTATE_BYTES
        assert record.conditions["exceeds_cache"] is False
        assert Record.from_json(record.to_json()) == record


def test_fixed_outputs_were_checked_exactly(local):
    assert all(r.conditions["worst_difference"] == 0.0 for r in local if r.conditions["arithmetic"] == "fixed")


def test_records_of_one_call_say_so(local):
    runs = {r.conditions["run"] for r in local}
    assert len(runs) == 1
    assert re.fullmatch("[0-9a-f]{12}", runs.pop())
    again = {r.conditions["run"] for r in records("null", arithmetics=["fp32"])}
    assert len(again) == 1
    assert again != {r.conditions["run"] for r in local}


def test_untrained_parameters_are_named():
    (record,) = module.measure("track", "exatrkx", "null", (1,), ["fp32"], budget=BUDGET)
    assert record.conditions["parameters"] == "untrained"


def test_large_batches_rotate_beyond_the_cache():
    for batch in (2**18, 2**20):
        sets = sets_for(14, batch)
        assert sets * 14 * batch >= ROTATE_BYTES
    assert sets_for(14, 2**30) == 2
    assert sets_for(14, 2**10) == session_module.MAX_SETS
    assert sets_for(14, 2**10, 32) == 32


def test_wrong_outputs_give_an_error_and_no_record(monkeypatch):
    launch = loop.DeviceRunner.output

    def corrupt(self, index):
        array = launch(self, index)
        array[-1] += 1
        return array

    monkeypatch.setattr(loop.DeviceRunner, "output", corrupt)
    with pytest.raises(WrongResultError, match="differ from the oracle"):
        records(batches=(3,), arithmetics=["fixed"])


@pytest.mark.parametrize(("arithmetic", "factor", "good"), [("fp32", 0.5, True), ("fp32", 20.0, False)])
def test_the_tolerance_is_the_one_of_the_record(local, monkeypatch, arithmetic, factor, good):
    stated = next(r for r in local if r.conditions["arithmetic"] == arithmetic).conditions
    assert 0 < stated["worst_difference"] <= stated["tolerance"] < 1e-4
    shift = np.float32(factor * stated["tolerance"])
    launch = loop.DeviceRunner.output
    monkeypatch.setattr(loop.DeviceRunner, "output", lambda self, index: launch(self, index) + shift)
    if good:
        (record,) = records(batches=(3,), arithmetics=[arithmetic])
        assert record.conditions["worst_difference"] == pytest.approx(float(shift), rel=0.5)
    else:
        with pytest.raises(WrongResultError, match="differ from the oracle"):
            records(batches=(3,), arithmetics=[arithmetic])


def test_the_null_device_measures_the_harness():
    (record,) = records("null", batches=(1,), arithmetics=["fp32"])
    assert record.device == "null"
    assert record.conditions["checked_items"] == 0
    assert record.get("latency", statistic="p50", boundary="host").value < 50_000


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("trak", "embed", "null"), UnknownNameError, "workload 'trak'; valid: bcnn, deconv, md, track"),
        (("track", "embod", "null"), UnknownNameError, "case 'embod'; valid: embed, compact, exatrkx"),
        (("track", "embed", "opencl:77"), DeviceError, "valid: .*null:0"),
    ],
)
def test_unknown_names_list_the_valid_ones(arguments, error, text):
    with pytest.raises(error, match=text):
        next(module.measure(*arguments))


def test_unknown_arithmetic_and_batch():
    with pytest.raises(UnknownNameError, match="valid: fp32, fixed"):
        records(arithmetics=["fp64"])
    with pytest.raises(DeviceError, match="positive"):
        records(batches=(0,))


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"modes": ["grpah"]}, UnknownNameError, "launch mode on null 'grpah'; valid: queue$"),
        ({"modes": ["queue", "graph"]}, UnknownNameError, "launch mode on null 'graph'; valid: queue$"),
        ({"modes": []}, DeviceError, "nothing on null would be measured.*gpu/track/null: fp32, fixed by queue"),
        ({"arithmetics": []}, DeviceError, "nothing on null would be measured"),
        ({"energy_batches": [1, 7, 64]}, DeviceError, "at batch 7, 64, which is not measured; batches: 1, 300"),
        ({"seed": -3}, DeviceError, "negative, got -3"),
        ({"batches": (1, 2**28 + 1)}, DeviceError, r"\w+: batch 268435457 is too large, at most 268435456: m"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_runs(monkeypatch, options, error, text):
    monkeypatch.setattr(loop, "measure", lambda *a: pytest.fail("it measured"))
    with pytest.raises(error, match=text):
        records("null", **options)


class FakeTorch:
    """PyTorch on the null device: the functions of the module that `measure` uses, and a runner that does nothing."""

    def __init__(self, monkeypatch, slug: str = "null") -> None:
        self.made: list[tuple[str, str]] = []
        monkeypatch.setattr(module, "unavailable", lambda name: "")
        monkeypatch.setattr(baseline, "device_slug", lambda: slug)
        monkeypatch.setattr(baseline, "tools", lambda: {"torch": "0"})
        monkeypatch.setattr(baseline, "TorchRunner", self.runner)

    def runner(self, network, arithmetic, x, sets, mode):
        self.made.append((arithmetic, mode))
        device = null.Null()
        launches = [device.bind("", "mlp", (object(),), 1, 1) for _ in range(sets)]
        buffers = [device.allocate(x.nbytes) for _ in range(sets)]
        empty = device.bind("", "nothing", (), 1, 1)
        return loop.DeviceRunner(device, len(x), launches, buffers, buffers, [x] * sets, np.empty_like(x), empty)


def test_the_baseline_is_measured_in_the_same_run(monkeypatch):
    fake = FakeTorch(monkeypatch)
    found = records("null", batches=(1, 8), baseline=True)
    ours = [("gpu/track/null", "fp32", "queue"), ("gpu/track/null", "fixed", "queue")]
    theirs = [("gpu/track/torch", a, m) for a in ("fp32", "fp16") for m in ("eager", "graph")]
    names = [(r.implementation, r.conditions["arithmetic"], r.conditions["launch_mode"]) for r in found]
    assert names == (ours + theirs) * 2, "batch by batch"
    assert fake.made == [(a, m) for _, a, m in theirs] * 2
    assert len({r.conditions["run"] for r in found}) == 1
    for record in found[2:6]:
        assert record.provenance.tier == "outside baseline"
        assert {"gpu/track/torch.py", *TIMED} <= set(record.provenance.sources)


def test_launch_modes_of_the_baseline(monkeypatch):
    assert set(subjects.BASELINE_MODES) <= set(baseline.MODES)
    FakeTorch(monkeypatch)
    found = records("null", batches=(1,), baseline=True, modes=["eager"])
    assert {(r.implementation, r.conditions["launch_mode"]) for r in found} == {("gpu/track/torch", "eager")}
    with pytest.raises(UnknownNameError, match=r"'compile'; valid: queue, eager, graph$"):
        records("null", baseline=True, modes=["compile"])
    with pytest.raises(DeviceError, match=r"measured for fixed; .*gpu/track/torch: fp32, fp16 by eager, graph"):
        records("null", baseline=True, modes=["graph"], arithmetics=["fp32", "fixed"])
    with pytest.raises(DeviceError, match="measured for queue; "):
        records("null", baseline=True, modes=["queue", "graph"], arithmetics=["fp16"])


def test_a_baseline_that_cannot_run_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(loop, "measure", lambda *a: pytest.fail("it measured"))
    FakeTorch(monkeypatch, slug="nvidia-x")
    with pytest.raises(DeviceError, match="PyTorch sees nvidia-x, not null"):
        records("null", baseline=True)

    def no_gpu():
        raise AssertionError("Torch not compiled with CUDA enabled")

    monkeypatch.setattr(baseline, "device_slug", no_gpu)
    with pytest.raises(DeviceError, match="no GPU here: Torch not compiled"):
        records("null", baseline=True)
    monkeypatch.setattr(module, "unavailable", lambda name: f"{name} is not installed")
    with pytest.raises(DeviceError, match="gpu/track/torch is not installed"):
        records("null", baseline=True)


def test_the_command_line_writes_one_file(tmp_path, capsys):
    words = [
        "track",
        "--device",
        "null",
        "--batch",
        "1",
        "--arithmetic",
        "fp32",
        "--seconds",
        "0.02",
        "--launches",
        "200",
    ]
    assert module.main([*words, "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.iterdir()
    (record,), problems = read_store(tmp_path)
    assert not problems
    assert path.name.startswith("measure-track-null-embed-2")
    assert record.provenance.command == (
        "gatewarp measure track --device null --case embed --batch 1 --arithmetic fp32 --seconds 0.02 --launches 200"
    )
    assert module.main(["track", "--device", "nothing:0", "--out", str(tmp_path / "none")]) == 2
    printed = capsys.readouterr()
    assert "[1/1] embed gpu/track/null batch 1 fp32 queue" in printed.err
    assert "valid:" in printed.err
    assert str(path) in printed.out
    assert not (tmp_path / "none").exists()
    for wrong in (["--mode", "graph"], ["--energy", "7"], ["--seed", "-1"], ["--case", "../x"]):
        assert module.main([*words, *wrong, "--out", str(tmp_path / "none")]) == 2
    assert module.main([*words, "--energy", "1", "--out", str(tmp_path / "none")]) == 1
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(("workload", "case", "arithmetic"), [("track", "embed", "fp32"), ("bcnn", "cnv", "binary")])
def test_numpy_is_enough(tmp_path, workload, case, arithmetic):
    """The measuring machine has numpy and the package of its device, nothing else of the product's dependencies."""
    guard = (
        "import sys, runpy\n"
        "class Only:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        root = name.split('.')[0]\n"
        "        if root not in {*sys.stdlib_module_names, 'numpy', 'gpu', 'compare', 'workloads'}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Only())\n"
        "sys.argv[0] = 'gpu.measure'\n"
        "runpy.run_module('gpu.measure', run_name='__main__')\n"
    )
    words = [workload, "--case", case, "--device", "null", "--batch", "1", "--seconds", "0.02", "--launches", "100"]
    command = [sys.executable, "-c", guard, *words, "--arithmetic", arithmetic, "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=repo_root(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert len(read_store(tmp_path)[0]) == 1


def test_an_interrupt_leaves_nothing(tmp_path, local):
    def interrupted():
        yield local[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_records(tmp_path, "x", interrupted())
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_of_the_command_line_leaves_nothing(tmp_path, monkeypatch):
    record = Session.record
    seen = []

    def interrupted(self, point, energy):
        if seen:
            raise KeyboardInterrupt
        seen.append(record(self, point, energy))
        return seen[-1]

    monkeypatch.setattr(Session, "record", interrupted)
    words = ["track", "--device", "null", "--batch", "1", "2", "--seconds", "0.02", "--launches", "100"]
    with pytest.raises(KeyboardInterrupt):
        module.main([*words, "--out", str(tmp_path)])
    assert seen
    assert list(tmp_path.iterdir()) == []


def test_the_revision_is_named_where_git_cannot(local):
    record = module.revised(local[0], "abc")
    assert record.provenance.revision == local[0].provenance.revision
    assert module.revised(unknown(local[0]), "abc").provenance.revision == "abc"
    assert module.revised(unknown(local[0]), "").provenance.revision == "unknown"


def unknown(record: Record) -> Record:
    return replace(record, provenance=replace(record.provenance, revision="unknown"))


def test_tuned_kernels_are_used(monkeypatch):
    chosen = []
    tune = Bench.tune
    monkeypatch.setattr(Bench, "tune", lambda self, *a: chosen.append(tune(self, *a)) or chosen[-1])
    (record,) = records(batches=(64,), arithmetics=["fp32"])
    kernel, times = chosen[0]
    assert record.conditions["local_size"] == kernel.choice.local
    assert record.conditions["hits_per_item"] == kernel.choice.per
    assert times[kernel.choice] == min(times.values())


def test_implementations_can_be_imported_and_have_the_contract():
    import importlib

    for name, path in gpu.IMPLEMENTATIONS.items():
        loaded = importlib.import_module(path)
        assert name == loaded.NAME
        assert loaded.CASES
        assert loaded.TIER in ("product", "outside baseline")
        assert callable(loaded.verify)
