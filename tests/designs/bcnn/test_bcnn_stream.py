"""`designs/bcnn/stream`: what it records, that wrong designs fail its checks, and what it refuses before any tool."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from designs.bcnn import generate, presets, resources, simulation, stream
from designs.bcnn.resources import DoesNotFit
from designs.bcnn.simulation import Run, Trace
from gatewarp.cli import app, main
from workloads.bcnn import WORKLOAD, parameters


def test_a_record_has_interval_latency_and_utilisation() -> None:
    equal, rate = stream.verify("digits", samples=20, seed=3)
    assert equal.passed
    assert equal.tolerance is None
    assert equal.samples == 20
    assert rate.passed
    assert rate.tolerance == 0.02
    (record,) = equal.records
    design = generate.generate("digits")
    interval, latency, used = (record.get(name) for name in ("interval", "cycles", "utilisation"))
    assert (interval.value, interval.statistic, interval.samples) == (192, "exact", 18)
    assert (latency.statistic, latency.samples) == ("exact", 3), "alone, every image takes the same time"
    # The slowest layers work in every cycle, and each layer as its folds say.
    folds = [layer.pixels * stream.vector_folds(layer, fold) for layer, fold in pairs(design)]
    assert used.values == pytest.approx([count / 192 for count in folds])
    assert max(used.values) == 1.0
    assert record.conditions["design"] == design.digest
    assert record.conditions["folding"] == str(presets.folding("digits"))
    assert str(record.conditions["folding"]).startswith("conv1 9x8, conv2 48x32, ")
    assert record.conditions["interval_slow_source"] == record.conditions["interval_gaps"] == 192


def pairs(design: generate.Design) -> list[tuple]:  # type: ignore[type-arg]
    return list(zip(design.folding.layers, design.folding.folds, strict=True))


def test_one_wrong_weight_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    design = generate.generate("digits")
    right = parameters.load("digits").network
    weight = right.weights[2].copy()
    weight[0, 0, 0, 0] ^= 1
    wrong = replace(right, weights=(*right.weights[:2], weight, *right.weights[3:]))
    monkeypatch.setattr(stream, "generate", lambda case: design)
    monkeypatch.setattr(stream.parameters, "load", lambda case: replace(load("digits"), network=wrong))
    equal, rate = stream.verify("digits", samples=60, seed=2)
    assert not equal.passed
    assert equal.worst > 0
    assert equal.detail == "sums differ from the oracle"
    assert equal.records == ()
    assert rate.passed, "the rate does not depend on the sums"


load = parameters.load


def test_what_stands_still_fails_both_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    def stands(*_: object) -> list[Trace]:
        raise simulation.SimulationFailed("nothing moved")

    monkeypatch.setattr(stream.simulation, "run", stands)
    checks = list(stream.verify("digits", samples=8))
    assert [check.passed for check in checks] == [False, False]
    assert all(check.detail == "nothing moved" for check in checks)


def test_runs_are_paced_as_they_say() -> None:
    design = generate.generate("digits_small")
    images = WORKLOAD.inputs("digits_small", 16, 1)
    interval = design.folding.interval
    runs = [Run(3, single=True), Run(3, single=True, idle=250), Run(3, gap=5000), Run(16, hold=4096), Run(16)]
    single, idle, gap, held, free = simulation.run(design, images, runs)
    assert (single.entered[1:] > single.left[:-1]).all()
    assert len(set(single.latency)) == 1
    # 64 pixels in 43 times as many cycles.
    assert (idle.latency > single.latency + 300).all()
    assert len(set(idle.latency)) > 1
    assert (np.diff(gap.entered) > 5000).all()
    # 2,048 cycles on average before each result is taken; the core fills up and waits.
    assert held.interval > 1.5 * interval
    assert held.latency[-1] > free.latency[-1] + 2 * interval
    assert free.interval == interval


def test_the_paces_of_a_check() -> None:
    design = generate.generate("digits_small")
    chosen = stream.paces(design, 20, 1)
    keeps = {pace.name: pace.keeps for pace in chosen}
    interval = ("full batch", "slow source", "gaps")
    assert keeps == {**dict.fromkeys(interval, "interval"), "one at a time": "latency", "stalls": ""}
    assert chosen[0].run.count == 20
    assert all(pace.run.count >= stream.ITEMS for pace in chosen if pace.keeps == "interval")
    # Twice the pixels that are needed, and a sink that may take as long as three images.
    assert design.pixels / (1 - chosen[1].run.idle / 256) == pytest.approx(design.folding.interval / 2, rel=0.05)
    assert chosen[4].run.hold > 2 * design.folding.interval


TOGGLE = "logic t;\nalways_ff @(posedge clk) t <= !t;\n"


@pytest.mark.parametrize(
    ("ending", "instead"),
    [
        ("assign m_axis_tdata = w4_data;", TOGGLE + "assign m_axis_tdata = w4_data ^ 160'(t);"),
        ("assign m_axis_tvalid = w4_valid;", TOGGLE + "assign m_axis_tvalid = w4_valid && t;"),
        ("assign m_axis_tvalid = w4_valid;", "assign m_axis_tvalid = 1'b1;"),
        ("assign m_axis_tlast = 1'b1;", "assign m_axis_tlast = 1'b0;"),
    ],
    ids=["data changes", "valid falls", "too early", "no last"],
)
def test_the_bench_knows_the_rules_of_a_stream(ending: str, instead: str, tmp_path: Path) -> None:
    design = generate.generate("digits_small")
    core = tmp_path / "bcnn_core.sv"
    text = design.sources[-1].read_text()
    assert text.count(ending) == 1
    core.write_text(text.replace(ending, instead))
    broken = replace(design, sources=(*design.sources[:-1], core))
    with pytest.raises(simulation.SimulationFailed, match="run 0: a word changed, fell, came without tlast"):
        simulation.run(broken, WORKLOAD.inputs("digits_small", 3, 1), [Run(3, hold=64, patience=10_000)])


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    images = WORKLOAD.inputs("digits_small", 2, 1)
    design = generate.generate("digits_small")
    with pytest.raises(simulation.SimulationFailed, match=r"run 0: nothing moved for 50 cycles; .*conv1:.*conv2:"):
        simulation.run(design, images, [Run(2, patience=50)])


def traces_of(design: generate.Design, interval: float, images: int = 10) -> list[Trace]:
    """What a core of this interval would show, for every pace."""
    found = []
    for pace in stream.paces(design, images, 1):
        count = pace.run.count
        entered = np.arange(count) * interval
        worked = tuple(layer.pixels * stream.vector_folds(layer, fold) * count for layer, fold in pairs(design))
        found.append(Trace(entered, entered + 600, np.zeros((count, 10), np.int64), worked))
    return found


def test_a_slow_core_fails_the_rate() -> None:
    design = generate.generate("digits")
    chosen = stream.paces(design, 10, 1)
    assert stream.lateness(design, chosen, traces_of(design, 192)) == (
        0,
        "192.0 cycles between images, ideally 192 (conv1); full batch",
    )
    late, words = stream.lateness(design, chosen, traces_of(design, 196))
    assert late > stream.TOLERANCE
    assert "196.0 cycles" in words

    # The same of any one pace that should keep the interval.
    slow = traces_of(design, 192)
    slow[2] = traces_of(design, 200)[2]
    assert stream.lateness(design, chosen, slow)[1].endswith("gaps")

    uneven = traces_of(design, 192)
    uneven[3].left[1] += 1
    assert stream.lateness(design, chosen, uneven) == (float("inf"), "one at a time: latencies from 600 to 601")

    idle = traces_of(design, 192)
    idle[0] = replace(idle[0], worked=(1, *idle[0].worked[1:]))
    assert stream.lateness(design, chosen, idle)[1].startswith("full batch: conv1 worked 1 cycles for 1,280 folds")


def test_images_of_a_check() -> None:
    assert len(stream.inputs("digits", 10_000, 1)) == stream.LARGEST["digits"]
    assert len(stream.inputs("binarynet", 1, 1)) == 16, "the extremes, and enough for an interval"
    test = {image.tobytes() for image in stream.inputs("digits", 10_000, 1)[8:]}
    assert test == {image.tobytes() for image in WORKLOAD.inputs("digits", 450, 2)}, "the whole test set"


def test_only_what_fits_is_built() -> None:
    assert [case for case in stream.CASES if stream.fits(case, "ulx3s-85f")] == ["cnv", "digits", "digits_small"]
    assert set(presets.FOLDS) == set(stream.CASES) == set(stream.LARGEST) == set(presets.SOURCES)


def test_too_large_a_network_is_refused_before_any_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "generate", lambda *_: pytest.fail("a tool ran"))
    monkeypatch.setattr(stream, "build_on_board", lambda *_, **__: pytest.fail("a tool ran"))
    with pytest.raises(DoesNotFit, match=r"lfe5u-85f has too few .*; fc1 \(512x2\) takes"):
        list(stream.build("binarynet", board="ulx3s-85f"))


def test_the_command_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["gatewarp", "build", "bcnn", "--board", "ulx3s-85f", "--case", "binarynet"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert "fc1" in capsys.readouterr().err


def test_every_case_is_built_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(stream, "build", lambda case, **_: asked.append(case) or [])
    assert CliRunner().invoke(app, ["build", "bcnn", "--board", "ulx3s-85f", "--json"]).exit_code == 0
    assert asked == ["cnv", "digits", "digits_small"]
    assert resources.part("lfe5u-85f").luts == 83_640
