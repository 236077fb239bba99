"""From a device to records: what they say, what is refused, and that nothing half-written stays."""

from __future__ import annotations

import pytest

import gpu
from compare.provenance import hash_sources, repo_root
from compare.record import Record
from gpu import measure as module
from gpu.runtime import loop, nvml
from gpu.runtime.device import DeviceError
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
        assert "workloads/track/network.py" in record.provenance.sources
        assert not any(
            s.startswith(("designs", "hls")) or "cuda" in s or "torch" in s for s in record.provenance.sources
        )
        for boundary in ("kernel", "host", "device"):
            assert record.get("latency", statistic="p50", boundary=boundary)
        assert record.get("launch_floor", boundary="host")
        assert record.get("throughput", boundary="kernel").low is not None
        assert record.get("energy") is None, "no counter, no energy"
        assert record.conditions["checked_hits"] >= record.conditions["batch"]
        assert record.conditions["buffer_sets"] == module.MAX_SETS
        assert record.conditions["working_set_bytes"] < module.ROTATE_BYTES
        assert record.conditions["exceeds_cache"] is False
        assert Record.from_json(record.to_json()) == record


def test_fixed_outputs_were_checked_exactly(local):
    assert all(r.conditions["worst_difference"] == 0.0 for r in local if r.conditions["arithmetic"] == "fixed")


def test_large_batches_rotate_beyond_the_cache():
    session = module._Session("track", "embed", None, None, None, BUDGET, 1, "c")
    for batch in (2**18, 2**20):
        sets = session._sets(14, batch)
        assert sets * 14 * batch >= module.ROTATE_BYTES
    assert session._sets(14, 2**30) == 2


def test_wrong_outputs_give_an_error_and_no_record(monkeypatch):
    launch = loop.DeviceRunner.output

    def corrupt(self, index):
        array = launch(self, index)
        array[-1] += 1
        return array

    monkeypatch.setattr(loop.DeviceRunner, "output", corrupt)
    with pytest.raises(module.WrongResultError, match="differ from the oracle"):
        records(batches=(3,), arithmetics=["fixed"])


def test_the_null_device_measures_the_harness():
    (record,) = records("null", batches=(1,), arithmetics=["fp32"])
    assert record.device == "null"
    assert record.conditions["checked_hits"] == 0
    assert record.get("latency", statistic="p50", boundary="host").value < 50_000


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("trak", "embed", "null"), UnknownNameError, "workload 'trak'; valid: track"),
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


def test_energy_without_a_counter_is_an_error():
    with pytest.raises(nvml.EnergyError, match="no energy counter"):
        records("null", batches=(1,), energy_batches=(1,), arithmetics=["fp32"])


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
    record = Record.from_json(path.read_text())
    assert record.provenance.command == (
        "gatewarp measure track --device null --case embed --batch 1 --arithmetic fp32 --seconds 0.02 --launches 200"
    )
    assert module.main(["track", "--device", "nothing:0", "--out", str(tmp_path / "none")]) == 2
    assert "valid:" in capsys.readouterr().err


def test_an_interrupt_leaves_nothing(tmp_path, local):
    def interrupted():
        yield local[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        module.write(tmp_path, "x", interrupted())
    assert list(tmp_path.iterdir()) == []


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
