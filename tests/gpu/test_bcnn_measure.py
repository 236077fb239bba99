"""`bcnn` from a device to records: our kernels on PoCL and the null device, and the baseline beside them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from compare.provenance import hash_sources, repo_root
from compare.record import Record
from gpu import measure as module
from gpu.bcnn import subjects
from gpu.bcnn import torch as baseline
from gpu.bcnn.bench import Bench
from gpu.runtime import loop, null
from gpu.runtime.device import DeviceError, open_device
from gpu.session import TIMED, WrongResultError
from workloads.bcnn.parameters import load, path_of

BUDGET = loop.Budget(launches=200, seconds=1.0, rounds=3, round_seconds=0.002, warmup=5, warmup_seconds=0.0)


def records(device: str = "opencl", case: str = "digits_small", batches=(1, 3), **options) -> list[Record]:
    return list(module.measure("bcnn", case, device, batches, budget=BUDGET, command="c", **options))


@pytest.fixture(scope="module")
def local() -> list[Record]:
    return records()


def test_records_of_the_local_device(local):
    assert [r.conditions["batch"] for r in local] == [1, 3]
    layers = len(load("digits_small").network.layers)
    for record in local:
        said = record.conditions
        assert (record.workload, record.implementation) == ("bcnn", "gpu/bcnn/opencl")
        assert (said["arithmetic"], said["launch_mode"], record.provenance.tier) == ("binary", "queue", "product")
        assert said["worst_difference"] == said["tolerance"] == 0.0
        assert said["buffer_sets"] == subjects.CPU_SETS
        assert said["checked_items"] == said["batch"] * subjects.CPU_SETS
        assert said["bare_launch"].startswith(f"{said['launches']} empty kernels")
        assert said["launches"] >= layers
        assert {*TIMED, "gpu/bcnn/subjects.py", "gpu/bcnn/bench.py", "gpu/runtime/opencl.py"} <= set(
            record.provenance.sources
        )
        assert record.provenance.sources_hash == hash_sources(repo_root(), record.provenance.sources)
        assert record.get("launch_floor", boundary="host")
        assert record.get("latency", statistic="p50", boundary="device")
    trained = path_of("digits_small").is_file()
    assert ("workloads/bcnn/parameters/digits_small.npz" in local[0].provenance.sources) == trained
    assert (local[0].conditions["parameters"] == "trained") == trained


def test_the_bare_launch_is_as_many_empty_kernels_as_the_network_has():
    device = null.Null()
    subject = subjects.kernels("digits_small", device)
    images = np.zeros((2, 8, 8, 1), np.int8)
    prepared = subject.prepare("binary", ["queue"], images, 2)
    counts = []
    for launch in (prepared.runner.empty, lambda: prepared.runner.launch(1)):
        before = device.launched
        launch()
        counts.append(device.launched - before)
    assert counts == [prepared.conditions["launches"]] * 2


def test_one_wrong_sum_is_seen(monkeypatch):
    output = loop.DeviceRunner.output

    def corrupt(self, index):
        array = output(self, index)
        array[-1, 0] += 1
        return array

    monkeypatch.setattr(loop.DeviceRunner, "output", corrupt)
    with pytest.raises(WrongResultError, match="differ from the oracle by 1, allowed 0"):
        records(batches=(3,))


def test_larger_batches_repeat_the_distinct_images(monkeypatch):
    monkeypatch.setattr(subjects, "DISTINCT", 4)
    (record,) = records(batches=(10,))
    assert record.conditions["distinct_inputs"] == 4
    assert record.conditions["checked_items"] == 10 * subjects.CPU_SETS


def test_what_is_measured_by_default():
    assert subjects.BATCHES == (1, 4, 16, 64, 256, 512, 1024, 4096)
    assert module.first_case("bcnn") == "binarynet"
    assert module.first_case("track") == "embed"


def test_tuned_kernels_are_used(monkeypatch):
    chosen = []
    tune = Bench.tune
    monkeypatch.setattr(Bench, "tune", lambda self, *a: chosen.append(tune(self, *a)) or chosen[-1])
    (record,) = records(batches=(3,))
    assert record.conditions["kernel_detail"] == chosen[0][0].detail


class FakeTorch:
    """PyTorch on the null device: the module's settings, which say what they were asked."""

    def __init__(self, monkeypatch) -> None:
        self.asked: list[tuple[str, int, int, tuple[str, ...]]] = []
        monkeypatch.setattr(module, "unavailable", lambda name: "")
        monkeypatch.setattr(baseline, "device_slug", lambda: "null")
        monkeypatch.setattr(baseline, "tools", lambda: {"torch": "0"})
        monkeypatch.setattr(baseline, "Settings", self.settings)

    def settings(self, network, arithmetic):
        def best(images, sums, sets, modes):
            self.asked.append((arithmetic, len(images), sets, tuple(modes)))
            device = null.Null()
            launches = [device.bind("", "x", (object(),), 1, 1) for _ in range(sets)]
            buffers = [device.allocate(images.nbytes) for _ in range(sets)]
            runner = loop.DeviceRunner(
                device, len(images), launches, buffers, buffers, [images] * sets, np.empty_like(images), lambda: None
            )
            return runner, SimpleNamespace(name="conv2d"), "graph", {"conv2d, graph": "9.0 us", "x": "ValueError: no"}

        return SimpleNamespace(best=best)


def test_both_arithmetics_of_the_baseline_are_measured_in_the_same_run(monkeypatch):
    fake = FakeTorch(monkeypatch)
    found = records("null", batches=(1, 8), baseline=True)
    names = [(r.implementation, r.conditions["arithmetic"], r.conditions["launch_mode"]) for r in found]
    one = [("gpu/bcnn/null", "binary", "queue")]
    one += [("gpu/bcnn/torch", "fp16", "best"), ("gpu/bcnn/torch", "int8", "best")]
    assert names == one * 2, "batch by batch"
    assert len({r.conditions["run"] for r in found}) == 1
    modes = ("eager", "graph", "compile", "compile-graph")
    assert fake.asked == [(a, n, subjects.TORCH_SETS, modes) for n in (1, 8) for a in ("fp16", "int8")]
    for record in (r for r in found if r.implementation == "gpu/bcnn/torch"):
        assert record.conditions["setting"] == "conv2d, graph"
        assert record.conditions["settings_tried"] == "conv2d, graph: 9.0 us; x: ValueError: no"
        assert record.conditions["reference"] == "binary"
        assert record.provenance.tier == "outside baseline"
        assert {"gpu/bcnn/torch.py", "gpu/bcnn/torch_networks.py", *TIMED} <= set(record.provenance.sources)
    fake.asked.clear()
    records("null", batches=(1,), baseline=True, arithmetics=["int8"], modes=["graph", "eager"])
    assert fake.asked == [("int8", 1, subjects.TORCH_SETS, ("eager", "graph"))]


def test_a_baseline_that_cannot_run_is_refused_at_once(monkeypatch):
    FakeTorch(monkeypatch)
    monkeypatch.setattr(baseline, "device_slug", lambda: "nvidia-x")
    with pytest.raises(DeviceError, match="PyTorch sees nvidia-x, not null"):
        records("null", baseline=True)


def test_the_oracle_computes_an_image_once(monkeypatch):
    calls = []
    network = load("digits_small").network
    monkeypatch.setattr(subjects, "load", lambda case: SimpleNamespace(network=lambda x: calls.append(len(x)) or x))
    subjects._sums.cache_clear()
    images = np.zeros((3, *network.input_shape), np.int8)
    device = open_device("null")
    one, other = (subjects._Case("digits_small", device) for _ in range(2))
    for subject in (one, other):
        assert len(subject.reference("binary", images)) == 3
    assert calls == [3]
    subjects._sums.cache_clear()
