"""Energy and clock of a measured point, with a meter of a null device in place of NVML."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

from compare.record import Record
from gpu import measure as module
from gpu.runtime import loop, null, nvml
from gpu.session import Session
from gpu.track import subjects

BUDGET = loop.Budget(launches=200, seconds=0.05, rounds=3, round_seconds=0.002, warmup=10, warmup_seconds=0.0)


def records(device: str = "opencl", batches=(1, 300), **options) -> list[Record]:
    return list(module.measure("track", "embed", device, batches, budget=BUDGET, command="c", **options))


def test_energy_without_a_counter_is_an_error(monkeypatch):
    monkeypatch.setattr(loop, "measure", lambda *a: pytest.fail("it measured"))
    with pytest.raises(nvml.EnergyError, match="no energy counter"):
        records("null", batches=(1,), energy_batches=(1,), arithmetics=["fp32"])


class Meter:
    """A counter of a null device whose every launch takes 1 ms and 0.3 J, and which rests at 100 W.

    Its clock is the work and the rest themselves, so that windows of 5 s pass at once.
    """

    def __init__(self, device: null.Null, mhz: int | None = 1980) -> None:
        self.device, self.mhz, self.rested = device, mhz, 0.0

    def clock(self) -> float:
        return self.rested + self.device.launched * 1e-3

    def sleep(self, seconds: float) -> None:
        self.rested += seconds

    def millijoules(self) -> int:
        return round(self.rested * 100_000) + self.device.launched * 300

    def watts(self) -> float:
        return 300.0

    def celsius(self) -> int:
        return 41

    def sm_clock(self) -> int | None:
        return self.mhz


@pytest.fixture
def metered(monkeypatch):
    """A null device with a meter."""
    device = null.Null()
    meter = Meter(device)
    monkeypatch.setattr(null, "open_index", lambda index: device)
    monkeypatch.setattr(module, "_meter", lambda info, needed: meter)
    monkeypatch.setattr(nvml, "measure_window", partial(nvml.measure_window, clock=meter.clock))
    monkeypatch.setattr(nvml, "idle_power", partial(nvml.idle_power, clock=meter.clock, sleep=meter.sleep))
    return meter


def test_energy_is_that_of_one_item(metered):
    plain, small, large = records("null", batches=(1, 2, 40), energy_batches=(2, 40), arithmetics=["fp32"])
    for record, batch in ((small, 2), (large, 40)):
        energy = record.get("energy", boundary="board")
        assert energy.unit == "J/item"
        assert energy.samples == len(energy.values) == nvml.WINDOWS
        assert energy.value == pytest.approx(0.3 / batch, rel=1e-6)
        assert (energy.low, energy.high) == (min(energy.values), max(energy.values))
        assert record.get("power", boundary="board").value == pytest.approx(300.0, rel=1e-6)
        assert record.get("throughput", statistic="mean", boundary="host").value == pytest.approx(batch * 1e3, rel=1e-6)
        assert record.get("idle_power", boundary="board").value == pytest.approx(100.0, rel=1e-2)
        assert record.conditions["energy_windows"] == 4
        assert record.conditions["energy_window_seconds"] >= 5.0
        assert record.conditions["power_check"] == pytest.approx(0.0, abs=1e-6)
        assert record.conditions["power_check_passed"] is True
        assert record.conditions["temperature_before"] == record.conditions["temperature_after"] == 41
        assert "gpu/runtime/nvml.py" in record.provenance.sources
        assert "NVML" in record.provenance.source
    assert plain.get("energy") is None
    assert "energy_windows" not in plain.conditions


def test_the_clock_is_read_at_every_point(metered):
    found = records("null", batches=(1, 2), energy_batches=(2,), arithmetics=["fp32"])
    assert [r.conditions["sm_clock_mhz"] for r in found] == [1980, 1980]
    metered.mhz = None
    (record,) = records("null", batches=(1,), arithmetics=["fp32"])
    assert "sm_clock_mhz" not in record.conditions


def test_the_clock_is_read_with_work_in_the_queue():
    events = []
    runner = SimpleNamespace(sets=3, batch=1, launch=events.append, finish=lambda: events.append("finish"))
    meter = SimpleNamespace(sm_clock=lambda: events.append("clock") or 1500)
    session = Session(None, "embed", subjects, null.Null().info, BUDGET, 1, "c", meter=meter)
    assert session._sm_clock(runner) == 1500
    assert events[-2:] == ["clock", "finish"]
    assert events[-3] in (0, 1, 2)


def test_the_meter_of_a_device(monkeypatch):
    calls = []

    def opened(index, *, energy):
        calls.append((index, energy))
        raise nvml.EnergyError("NVML needs the package")

    monkeypatch.setattr(nvml, "Nvml", opened)
    here = SimpleNamespace(slug="nvidia-x", nvml_index=2)
    assert module._meter(here, needed=False) is None
    with pytest.raises(nvml.EnergyError, match="needs the package"):
        module._meter(here, needed=True)
    assert calls == [(2, False), (2, True)]


def test_fewer_windows_when_asked(metered):
    (record,) = records("null", batches=(2,), energy_batches=(2,), windows=1, arithmetics=["fp32"])
    assert record.conditions["energy_windows"] == record.get("energy").samples == 1
    assert record.get("energy").value == pytest.approx(0.15, rel=1e-6)
