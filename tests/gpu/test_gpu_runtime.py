"""Devices by name, the loop on the null device, percentiles, and the energy counter with a mocked NVML."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from gpu.runtime import loop, null, nvml
from gpu.runtime.device import DeviceError, list_devices, open_device, slug
from gpu.runtime.stats import percentile


def test_devices_are_found_by_file_name():
    names = list_devices()
    assert "null:0" in names
    assert any(name.startswith("opencl:") for name in names), "PoCL is the default device where there is no GPU"
    device = open_device("opencl")
    assert device.info.slug.startswith(("cpu-", "nvidia-", "amd-", "intel-"))
    assert device.info.tools["opencl"]
    device.close()


@pytest.mark.parametrize("name", ["opencl:99", "vulkan:0", "opencl:x", "", "device", "stats:0"])
def test_a_wrong_device_lists_the_valid_ones(name):
    with pytest.raises(DeviceError, match=r"valid: .*null:0 \(does nothing"):
        open_device(name)


def test_slugs():
    assert slug("nvidia", "NVIDIA H200") == "nvidia-h200"
    assert slug("amd", "AMD Instinct(TM) MI300X") == "amd-instinct-mi300x"


def test_opencl_build_errors_are_shown():
    device = open_device("opencl")
    with pytest.raises(DeviceError, match="build failed"):
        device.compile("__kernel void f(", [])
    with pytest.raises(DeviceError, match="graph"):
        device.capture(lambda: None)


def runner(device: null.Null, sets: int = 3, batch: int = 10) -> loop.DeviceRunner:
    ins = [device.allocate(8) for _ in range(sets)]
    outs = [device.allocate(8) for _ in range(sets)]
    data = [np.full(2, i, np.float32) for i in range(sets)]
    launches = [device.bind("", "mlp", (ins[i], outs[i]), 1, 1) for i in range(sets)]
    empty = device.bind("", "nothing", (), 1, 1)
    return loop.DeviceRunner(device, batch, launches, ins, outs, data, np.empty(2, np.float32), empty)


BUDGET = loop.Budget(launches=400, seconds=0.02, rounds=3, round_seconds=0.001, warmup=50, warmup_seconds=0.0)


def test_the_loop_on_the_null_device():
    device = null.Null(clock=lambda n: 2000)
    seen = loop.measure(runner(device), BUDGET)
    assert seen.warmup == 50
    assert set(seen.kernel) == {2000}
    assert set(seen.kernel_floor) == {2000}
    assert len(seen.host) in range(100, 401)
    assert len(seen.host_floor) * 5 == len(seen.host), "the floor is measured between the blocks, every time"
    assert seen.host.dtype == np.int64
    assert len(seen.rates) == len(seen.host_rates) == 3
    assert seen.rates[0] == pytest.approx(10 / 2000e-9)
    assert np.median(seen.host) < 50_000, "the harness itself costs less than 50 us a launch"


class Script:
    """A runner with a clock of its own: a launch takes 1 us, waiting 3 us, device times come from a short list."""

    batch, sets = 7, 3

    def __init__(self) -> None:
        self.now = 0
        self.log: list[int | str] = []

    def clock(self) -> int:
        return self.now

    def launch(self, index: int) -> None:
        self.now += 1_000
        self.log.append(index)

    def empty(self) -> None:
        self.now += 500

    def finish(self) -> None:
        self.now += 3_000
        self.log.append("finish")

    def round_trip(self, index: int) -> None:
        self.now += 10_000

    def kernel_times(self, count: int) -> np.ndarray:
        self.log.append("kernel")
        self.now += 1_000 * count
        return np.array([(500, 800, 3_200)[i % 3] for i in range(count)], np.int64)

    def empty_times(self, count: int) -> np.ndarray:
        return np.full(count, 100, np.int64)


def test_the_rates_of_a_round():
    script = Script()
    budget = loop.Budget(launches=300, seconds=0.002, rounds=4, round_seconds=0.0001, warmup=5, warmup_seconds=0.0)
    seen = loop.measure(script, budget, script.clock)
    assert seen.per_round > 9, "some turns over the buffers, or this test proves nothing"
    # The kernel's rate is the batch over the median, neither the least nor the mean.
    assert seen.rates == pytest.approx([7 / 800e-9] * 4)
    # The host's rate counts every launch of the round, and the wait for the last.
    spent = seen.per_round * 1e-6 + 3e-6
    assert seen.host_rates == pytest.approx([7 * seen.per_round / spent] * 4)
    for _ in range(4):
        # The last round of the log: launches in turn over the buffers, one wait at the end.
        place = len(script.log) - 1 - script.log[::-1].index("kernel")
        assert script.log[place + 1 :] == [*(i % 3 for i in range(seen.per_round)), "finish"]
        del script.log[place:]


def test_warm_up_is_not_measured():
    # The first 60 launches pretend to be slow; the warm-up has 50 of them and its ten empty ones.
    device = null.Null(clock=lambda n: 10**9 if n <= 55 else 5)
    assert set(loop.measure(runner(device), BUDGET).kernel) == {5}


def test_launches_take_turns_over_the_buffers():
    device = null.Null()
    bound = runner(device, sets=3)
    device.log.clear()
    bound.kernel_times(7)
    tags = list(device.log)
    assert len(set(tags)) == 3
    assert tags[0] == tags[3] == tags[6]
    device.log.clear()
    loop._host_times(bound, BUDGET, iter(range(0, 10**9, 1000)).__next__)
    real = [tag for tag in device.log if tag is not None]
    assert real[:6] == tags[:3] * 2
    assert device.log.index(None) == 100, "A B A B: an empty block follows a hundred launches"


def test_the_round_trip_copies_in_and_out():
    bound = runner(null.Null())
    bound.round_trip(2)
    assert bound._ins[2].view(np.float32).tolist() == [2.0, 2.0]


def test_percentile_and_its_band():
    times = np.arange(1, 100_001)[np.random.default_rng(1).permutation(100_000)]
    p50, p99 = percentile(times, 50), percentile(times, 99)
    assert p50 is not None
    assert p99 is not None
    assert (p50.value, p50.samples) == (50_000, 100_000)
    half = 2.5758 * math.sqrt(100_000 * 0.25)
    assert p50.low == pytest.approx(50_000 - half, abs=3)
    assert p50.high == pytest.approx(50_000 + half, abs=3)
    assert p99.value == 99_000
    assert p99.high - p99.low == pytest.approx(2 * 2.5758 * math.sqrt(100_000 * 0.0099), rel=0.02)


@pytest.mark.parametrize(("n", "p"), [(8, 50), (9, 50), (20, 50), (101, 50), (528, 99), (1000, 99), (1500, 90)])
def test_the_band_has_the_narrowest_ranks_that_suffice(n, p):
    q, tail = Fraction(p, 100), Fraction(5, 1000)
    mass = [math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)]
    below = list(itertools.accumulate(mass))  # P(X <= k), exactly
    low = max(rank for rank in range(1, n + 1) if below[rank - 1] <= tail)
    high = min(rank for rank in range(1, n + 1) if 1 - below[rank - 1] <= tail)
    found = percentile(np.arange(1, n + 1)[::-1], p)  # each value is its own rank
    assert (found.low, found.high, found.value) == (low, high, math.ceil(n * p / 100))


def test_no_percentile_without_enough_samples():
    # The largest of n bounds the 99th percentile with 99.5 % only from 0.99^n <= 0.005 on: n = 528.
    assert math.ceil(math.log(0.005) / math.log(0.99)) == 528
    assert percentile(np.arange(527), 99) is None
    assert percentile(np.arange(528), 99) is not None
    # And 2 x 0.5^n <= 0.01 for the median: n = 8.
    assert percentile(np.arange(7), 50) is None
    assert percentile(np.arange(8), 50) is not None
    assert percentile(np.arange(0), 50) is None


def test_the_band_covers_as_often_as_it_says():
    rng = np.random.default_rng(3)
    hit = 0
    for _ in range(500):
        found = percentile((rng.random(1000) * 1e9).astype(np.int64), 99)
        assert found is not None
        hit += found.low <= 0.99e9 <= found.high
    assert hit >= 485


class Meter:
    """A counter of `watts`, changing every 100 ms of its own clock, which every reading of it advances a little."""

    def __init__(self, watts: float = 300.0, frozen: bool = False, instant: float | None = None) -> None:
        self.now, self.power, self.frozen = 0.0, watts, frozen
        self.instant = watts if instant is None else instant

    def clock(self) -> float:
        return self.now

    def millijoules(self) -> int:
        return 0 if self.frozen else int(math.floor(self.now / 0.1) * 0.1 * self.power * 1000)

    def watts(self) -> float:
        return self.instant

    def work(self) -> int:
        self.now += 0.007
        return 5


def test_a_window_opens_and_closes_on_the_counter():
    meter = Meter(300.0)
    window = nvml.measure_window(meter, meter.work, clock=meter.clock)
    assert 5.0 <= window.seconds < 5.2
    assert window.joules / window.seconds == pytest.approx(300.0, rel=2e-3)
    assert window.work == pytest.approx(5 * window.seconds / 0.007, rel=2e-3)
    assert window.disagreement is not None
    assert window.disagreement < 2e-3


def test_power_that_disagrees_with_the_counter_is_seen():
    meter = Meter(300.0, instant=330.0)
    window = nvml.measure_window(meter, meter.work, clock=meter.clock)
    assert window.disagreement == pytest.approx(0.1, abs=0.01)
    assert window.disagreement > nvml.AGREEMENT


def test_a_frozen_counter_is_an_error():
    meter = Meter(frozen=True)
    with pytest.raises(nvml.EnergyError, match="stood still"):
        nvml.measure_window(meter, meter.work, clock=meter.clock)
    assert meter.now < 2.1, "it must not wait longer for a dead counter"


def test_a_window_of_nothing_is_an_error():
    meter = Meter()
    readings = iter([0, 100, 100, 50])
    meter.millijoules = lambda: next(readings)  # a counter that falls back
    with pytest.raises(nvml.EnergyError, match="not usable"):
        nvml.measure_window(meter, meter.work, seconds=0.01, clock=meter.clock)


def test_idle_power():
    meter = Meter(118.0)

    def sleep(seconds: float) -> None:
        meter.now += seconds

    assert nvml.idle_power(meter, clock=meter.clock, sleep=sleep) == pytest.approx(118.0, rel=5e-3)


def library(**changes):
    field = SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=321_000))
    calls = {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetHandleByIndex": lambda i: i,
        "nvmlSystemGetDriverVersion": lambda: b"580.1",
        "nvmlDeviceGetTotalEnergyConsumption": lambda h: 42,
        "nvmlDeviceGetFieldValues": lambda h, ids: [field],
        "nvmlDeviceGetTemperature": lambda h, sensor: 40,
        "nvmlDeviceGetClockInfo": lambda h, kind: 1980,
    }
    return SimpleNamespace(**(calls | changes))


def test_nvml_reads_through_the_library():
    meter = nvml.Nvml(0, library())
    assert (meter.millijoules(), meter.watts(), meter.celsius(), meter.sm_clock()) == (42, 321.0, 40, 1980)
    assert meter.driver == "580.1"


def test_nvml_that_does_not_answer_is_an_error_not_a_guess():
    def fail(*_):
        raise OSError("driver not loaded")

    for name in ("nvmlInit", "nvmlDeviceGetTotalEnergyConsumption"):
        with pytest.raises(nvml.EnergyError, match="does not answer"):
            nvml.Nvml(0, library(**{name: fail}))


def test_a_counter_is_needed_for_energy_only():
    def fail(*_):
        raise OSError("not supported")

    without = library(nvmlDeviceGetTotalEnergyConsumption=fail)
    assert nvml.Nvml(0, without, energy=False).sm_clock() == 1980
    with pytest.raises(nvml.EnergyError, match="not supported"):
        nvml.Nvml(0, without)


def test_a_clock_that_is_not_told_is_absent():
    def fail(*_):
        raise OSError("not supported")

    assert nvml.Nvml(0, library(nvmlDeviceGetClockInfo=fail)).sm_clock() is None
