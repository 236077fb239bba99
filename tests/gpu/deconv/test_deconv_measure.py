"""`deconv` from a device to records: the run-to-run variation, the limits of a batch, the baseline beside it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from compare.provenance import hash_sources, repo_root
from compare.record import Record
from gpu import measure as module
from gpu import variation
from gpu.deconv import subjects
from gpu.deconv.bench import Bench, NetworkRunner
from gpu.deconv.launch import Stage
from gpu.deconv.layout import Network
from gpu.deconv.tolerance import tolerance
from gpu.runtime import loop, null
from gpu.runtime.device import DeviceError
from gpu.session import TIMED, WrongResultError
from workloads.deconv import WORKLOAD
from workloads.deconv.parameters import load

BUDGET = loop.Budget(launches=100, seconds=0.2, rounds=3, round_seconds=0.002, warmup=5, warmup_seconds=0.0)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(variation, "WINDOW_SECONDS", 0.001)
    monkeypatch.setattr(variation.run_rates, "__defaults__", (0.001, *variation.run_rates.__defaults__[1:]))


def records(device: str = "opencl", case: str = "digits", batches=(1, 3), **options) -> list[Record]:
    return list(module.measure("deconv", case, device, batches, budget=BUDGET, command="c", **options))


def test_records_of_the_local_device():
    made = records()
    assert [r.conditions["arithmetic"] for r in made] == ["fixed8", "fixed16", "fp16", "fp32"] * 2
    for record in made:
        said = record.conditions
        assert (record.workload, record.implementation) == ("deconv", "gpu/deconv/opencl")
        assert said["worst_difference"] <= said["tolerance"]
        assert (said["tolerance"] == 0) == said["arithmetic"].startswith("fixed")
        assert said["buffer_sets"] == subjects.CPU_SETS
        assert said["checked_items"] == said["batch"] * subjects.CPU_SETS
        assert (said["kernel"], said["launches"]) == ("reverse loop", 3)
        sources = record.provenance.sources
        assert {*TIMED, "gpu/deconv/subjects.py", "gpu/deconv/tile.cl", "gpu/variation.py"} <= set(sources)
        assert record.provenance.sources_hash == hash_sources(repo_root(), sources)
        runs = [m for m in record.measurements if m.spread == "std"]
        assert len(runs) == 1
        assert (runs[0].quantity, runs[0].samples) == ("throughput", subjects.RUNS)
        assert runs[0].high - runs[0].value == pytest.approx(np.std(runs[0].values, ddof=1))


def test_outputs_that_differ_make_no_record(monkeypatch):
    honest = NetworkRunner.output
    monkeypatch.setattr(NetworkRunner, "output", lambda self, index: honest(self, index) + 1 / 128)
    with pytest.raises(WrongResultError, match=r"batch 1 fixed8 queue: outputs differ from the oracle by 0\.0078125"):
        records(batches=[1], arithmetics=["fixed8"])


def test_the_null_device_measures_the_harness():
    made = records("null", batches=[2], arithmetics=["fp16"])
    assert made[0].implementation == "gpu/deconv/null"
    assert made[0].conditions["checked_items"] == 0


def test_layers_that_are_not_chained_have_buffers_of_their_own():
    device = null.Null()
    subject = subjects.kernels("vnet", device)
    inputs = WORKLOAD.inputs("vnet", 1, 1)
    runner = subject.prepare("fixed8", ["queue"], inputs, 1).runner
    assert runner.output(0).shape == (1, sum(layer.outputs for layer in Network("vnet").layers))
    coded = Network("vnet").encode("fixed8", inputs)
    assert [x.shape for x in coded] == [(1, *x.shape, x.channels_in) for x in Network("vnet").layers]
    assert np.array_equal(Network("vnet").decode("fixed8", coded), inputs.astype(np.float64))


@pytest.mark.parametrize(("case", "batch", "most"), [("vnet", 65, 64), ("digits", 513, 512)])
def test_a_batch_that_memory_does_not_hold_is_refused_first(case, batch, most):
    with pytest.raises(DeviceError, match=f"{case}: batch {batch} is too large, at most {most}: more would not"):
        records("null", case, [1, batch])


def test_default_batches_stop_at_the_largest_of_the_case(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "points", lambda device, found, batches, *rest: asked.append(list(batches)) or [])
    for case in ("vnet", "gan3d"):
        with pytest.raises(module.NothingMeasuredError):
            records("null", case, None)
    assert asked == [[1, 2, 4, 8, 16, 32, 64], [2**i for i in range(10)]]


@pytest.mark.parametrize(
    ("pair_takes", "choices", "wanted", "timed"),
    [
        (7.0, {0: ["a"], 1: ["b", "pair"], 2: ["c"]}, ["a", "pair"], {"b", "pair", "c"}),
        (9.0, {0: ["a"], 1: ["b", "pair"], 2: ["c"]}, ["a", "b", "c"], {"b", "pair", "c"}),
        (7.0, {0: ["a"], 1: ["b"], 2: ["c"]}, ["a", "b", "c"], set()),
        (7.0, {0: ["a"], 1: ["pair"], 2: []}, ["a", "pair"], {"pair"}),
    ],
)
def test_a_pair_is_set_against_both_of_its_layers(monkeypatch, pair_takes, choices, wanted, timed):
    """Also where each of them can be done in one way only; what no pair covers needs no time then."""
    bench = Bench(null.Null(), Network("digits"))
    times, seen = {"a": 2.0, "b": 5.0, "c": 3.0, "pair": pair_takes}, set()
    back = SimpleNamespace(
        choices=lambda network, index, *rest: choices[index],
        stage=lambda network, index, choice, *rest: Stage((), {}, {}, 2 if choice == "pair" else 1),
    )
    monkeypatch.setattr(bench, "back", back)
    monkeypatch.setattr(bench, "_time", lambda placed, *rest: seen.add(placed.choice) or times[placed.choice])
    assert [placed.choice for placed in bench.tune("fp16", 4).placed] == wanted
    assert seen == timed


def test_windows_are_equal_work_over_all_buffer_sets():
    ticks, launched = iter(range(0, 10**9, 1000)), []
    runner = SimpleNamespace(batch=5, sets=3, launch=launched.append, finish=lambda: None)
    rates, launches = variation.run_rates(runner, 30, 0.0, lambda: next(ticks))
    assert launches % 3 == 0
    assert len(rates) == 30
    assert set(rates) == {5 * launches * 1e9 / 1000}
    last = launched[-30 * launches :]  # what came before finds the number of launches
    assert [last.count(i) for i in range(3)] == [10 * launches] * 3


def test_few_runs_say_nothing_of_a_deviation():
    with pytest.raises(ValueError, match="29 runs; a standard deviation wants at least 30"):
        variation.from_runs([1.0] * 29)
    made = variation.from_runs([9.0] * 15 + [11.0] * 15)
    assert (made.value, made.spread) == (10.0, "std")
    assert made.high - made.low == pytest.approx(2 * np.std(made.values, ddof=1))


def test_the_tolerance_is_above_what_an_honest_evaluation_in_that_arithmetic_errs():
    inputs = WORKLOAD.inputs("digits", 64, 3)
    for arithmetic, operands in (("fp16", np.float16), ("fp32", np.float32)):
        got = load("digits").network.evaluate(inputs, operands, np.float32).astype(np.float64)
        worst = np.abs(got - WORKLOAD.reference("digits", inputs, arithmetic)).max()
        assert 0.01 * tolerance("digits", arithmetic) < worst <= tolerance("digits", arithmetic)
    assert tolerance("digits", "fixed8") == 0.0


class _Setting:
    """Stands for PyTorch: answers as the oracle, or not."""

    NAME, TIER, ARITHMETICS, MODES, SOURCES = "gpu/deconv/torch", "outside baseline", ("fp16",), ("graph",), ()
    WARM = "alone, warm"

    def __init__(self, network, arithmetic):
        self.asked = None

    def best(self, inputs, wanted, allowed, sets, modes):
        self.asked = (len(inputs), len(wanted), allowed, sets)
        return self.asked, "plan, graph", {"plan, graph": "1.0 us", self.WARM: "2.5 us"}

    @staticmethod
    def tools():
        return {"torch": "2"}


def test_the_baseline_is_asked_with_distinct_items_and_the_tolerance(monkeypatch):
    module_like = SimpleNamespace(**{k: getattr(_Setting, k) for k in ("NAME", "TIER", "ARITHMETICS", "MODES", "WARM")})
    module_like.SOURCES, module_like.tools, module_like.Settings = (), _Setting.tools, _Setting
    monkeypatch.setattr(subjects.importlib, "import_module", lambda name: module_like)
    subject = subjects.baseline("gpu/deconv/torch", "digits", null.Null())
    inputs = WORKLOAD.inputs("digits", 7, 1)[np.arange(9) % 7]
    made = subject.prepare("fp16", ["graph"], inputs, 3)
    assert made.runner == (9, subjects.DISTINCT, tolerance("digits", "fp16"), 3)
    assert made.conditions["setting"] == "plan, graph"
    assert made.conditions["conv_transpose_us"] == 2.5
    assert subject.item_bytes("fp16") == 2 * (32 + 64)
