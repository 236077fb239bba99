"""Claims as data, and verdicts that follow the records: each flips when the records do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_records import kernel, measurement, record, routed, rows, simulated

from compare import claim_tables
from compare.claim import Claim, ClaimError, Selector, Trial, load_claims
from compare.derive import derive, with_energy
from compare.judge import Finding, Judged, Verdict, judge
from compare.record import Boundary, Record, Stage
from compare.rows import Row

FPGA: Sequence[Selector] = ({"kind": "fpga", "implementation": "hls/*"},)
GPU: Sequence[Selector] = ({"kind": "gpu"},)


def fpga(*more: Record) -> list[Row]:
    """125 M [120–130] hits/s, 160 ns."""
    found, _ = derive(rows(simulated(), routed(), *more))
    return found


def paper(quantity: str, value: float) -> Record:
    return record(
        measurement(quantity, value, stage=Stage.PUBLISHED, boundary=Boundary.NONE),
        measurement("throughput", 1e8, stage=Stage.PUBLISHED, boundary=Boundary.NONE),
        implementation="paper/them",
        device="lfe5u-85f",
        conditions={"arithmetic": "fixed", "batch": "any"},
    )


def judged(test: Trial, known: Sequence[Row]) -> Finding:
    claim = Claim("c", "embed", "It is so.", "8 times", "A paper", "memory", (test,))
    (whole,) = judge([claim], known)
    (finding,) = whole.findings
    assert whole.verdict == finding.verdict
    return finding


def faster(**bounds: Any) -> Trial:
    made: dict[str, Any] = {"over_batch": 16, "under_batch": 16, **bounds}
    return Trial("FPGA over GPU", "throughput", FPGA, GPU, **made)


@pytest.mark.parametrize(
    ("rate", "bounds", "verdict"),
    [
        (1e7, {"at_least": 8}, Verdict.SUPPORTED),
        (1e8, {"at_least": 8}, Verdict.CONTRADICTED),
        (1.5e7, {"at_least": 8}, Verdict.NO_EVIDENCE),
        (1.6e7, {"at_least": 8}, Verdict.NO_EVIDENCE),
        (1e9, {"at_most": 1}, Verdict.SUPPORTED),
        (1e7, {"at_most": 1}, Verdict.CONTRADICTED),
        (1.25e8, {"about": 1, "within": 1.25}, Verdict.SUPPORTED),
        (1e9, {"about": 1, "within": 1.25}, Verdict.CONTRADICTED),
        (1e7, {"about": 1, "within": 1.25}, Verdict.CONTRADICTED),
        (1.05e8, {"about": 1, "within": 1.25}, Verdict.NO_EVIDENCE),
    ],
)
def test_a_verdict_follows_the_records(rate: float, bounds: dict[str, Any], verdict: Verdict) -> None:
    found = judged(faster(**bounds), [*fpga(), *rows(kernel(16, rate))])
    assert found.verdict == verdict
    assert found.value == pytest.approx(125e6 / rate)
    assert found.grade == "simulated × post-route"
    assert [row.batch for row, _ in found.sides] == ["any", 16]
    assert ("reaches across" in found.reason) == (verdict == Verdict.NO_EVIDENCE)


def test_the_best_launch_and_implementation_at_the_batch_decides() -> None:
    others = [kernel(16, 1e6, launch="queue"), kernel(16, 1e7, launch="graph"), kernel(512, 1e9)]
    cpu = kernel(16, 1e12, device="cpu-test")
    host = kernel(16, 1e12, boundary=Boundary.HOST)
    found = judged(faster(at_least=8), [*fpga(), *rows(*others, cpu, host)])
    assert (found.sides[1][0].launch, found.value) == ("graph", 12.5)


def test_of_rows_that_the_referee_refuses_the_best_allowed_counts() -> None:
    known = [*fpga(), *rows(kernel(16, 1e9, arithmetic="fp16"), kernel(16, 1e7))]
    assert judged(faster(at_least=8), known).value == 12.5
    found = judged(faster(at_least=8), [*fpga(), *rows(kernel(16, 1e9, arithmetic="fp16"))])
    assert (found.verdict, found.value) == (Verdict.NOT_COMPARABLE, None)
    assert "unlike arithmetic, fixed against fp16" in found.reason
    assert len(found.sides) == 2, "both numbers are shown"


def test_without_a_side_there_is_no_evidence_and_the_other_is_shown() -> None:
    found = judged(faster(at_least=8), fpga())
    assert (found.verdict, found.reason) == (Verdict.NO_EVIDENCE, "no record has throughput of gpu at batch 16")
    assert len(found.sides) == 1
    found = judged(faster(at_least=8), rows(kernel(16)))
    assert found.reason == "no record has throughput of hls/* at batch 16"
    assert judged(faster(at_least=8), []).sides == ()
    other = [*fpga(), *(replace(row, case="small") for row in rows(kernel(16)))]
    assert judged(faster(at_least=8), other).verdict == Verdict.NO_EVIDENCE


def test_the_time_of_a_batch_is_asked_of_a_pipeline_at_that_batch() -> None:
    test = Trial("GPU over FPGA", "latency_p50", GPU, FPGA, over_batch=64, under_batch=64, at_least=1)
    found = judged(test, [*fpga(), *rows(kernel(64, p50=1328))])
    assert found.value == pytest.approx(1328 / (160 + 63 * 8))
    assert found.verdict == Verdict.SUPPORTED


ENERGY = Trial(
    "energy", "energy", GPU, (*FPGA, {"implementation": "paper/*"}), over_batch=16, under_batch=16, at_least=75
)


def test_published_power_decides_nothing_about_measured_energy_but_both_are_shown() -> None:
    known = [*fpga(), *map(with_energy, rows(paper("power", 8.0), kernel(16, energy=6e-6)))]
    found = judged(ENERGY, known)
    assert found.verdict == Verdict.NOT_COMPARABLE
    assert found.reason.startswith("one side is a figure on paper: measured against published; it would hold if hls")
    # 6 µJ a hit at 125 M hits/s would be 750 W: a 75th of that is 10 W.
    assert found.reason.endswith("drew at most 10 W at its rate")
    assert [(row.implementation, figure.value) for row, figure in found.sides] == [
        ("gpu/track/opencl", 6e-6),
        ("paper/them", 8e-8),
    ]


def test_without_any_power_of_the_fpga_its_rate_gives_the_bound() -> None:
    found = judged(ENERGY, [*fpga(), *rows(kernel(16, energy=6e-6))])
    assert found.verdict == Verdict.NOT_COMPARABLE
    assert found.reason.startswith("FPGA power is not known; no record carries it; it would hold if hls/track/da4ml")
    assert found.reason.endswith("drew at most 10 W at its rate")
    assert [row.implementation for row, _ in found.sides] == ["gpu/track/opencl"]
    assert judged(ENERGY, rows(kernel(16, energy=6e-6))).verdict == Verdict.NO_EVIDENCE, "nothing of an FPGA is known"
    unlike = judged(ENERGY, [*fpga(), *rows(kernel(16, energy=6e-6, arithmetic="fp16"))])
    assert unlike.reason == "FPGA power is not known; no record carries it", "no bound against another quality"


@pytest.mark.parametrize(
    ("design", "verdict"),
    [("d" * 64, Verdict.SUPPORTED), ("e" * 64, Verdict.CONTRADICTED), (None, Verdict.NO_EVIDENCE)],
)
def test_two_cases_were_done_by_the_same_design_or_not(design: str | None, verdict: Verdict) -> None:
    either: Sequence[Selector] = ({"kind": "simulation"},)
    test = Trial("one design", "interval", either, either, same="design", under_case="small")
    made = [simulated(), simulated(case="small", conditions={"arithmetic": "fixed", "design": design})]
    found = judged(test, rows(*made))
    assert found.verdict == verdict
    assert claim_tables.wanted(test) == "the same design"
    said = {Verdict.SUPPORTED: "the same", Verdict.CONTRADICTED: "another"}
    assert claim_tables.found(found) == said.get(verdict, "–")
    assert Claim("c", "embed", "", "", "", "text", (test,)).cases == {"embed", "small"}


def test_measured_energy_goes_before_published_and_then_decides() -> None:
    meter = record(
        measurement("energy", 1e-8, boundary=Boundary.BOARD),
        implementation="hls/track/da4ml",
        device="lfe5u-85f",
        conditions={"arithmetic": "fixed", "batch": "any"},
    )
    known = rows(meter, paper("energy", 8e-8), kernel(16, energy=6e-6))
    assert judged(ENERGY, known).verdict == Verdict.SUPPORTED
    assert judged(replace(ENERGY, at_least=1000), known).verdict == Verdict.CONTRADICTED


def test_a_figure_by_itself_scaled_and_its_spread() -> None:
    test = Trial("rate", "throughput", FPGA, times=1000, unit="op/s", at_least=1e11)
    found = judged(test, fpga())
    assert (found.verdict, found.value, found.low, found.high) == (Verdict.SUPPORTED, 125e9, 120e9, 130e9)
    assert claim_tables.found(found) == "125 Gop/s [120–130]"
    assert claim_tables.wanted(test) == "at least 100 Gop/s"
    assert judged(replace(test, at_least=1.25e11), fpga()).verdict == Verdict.NO_EVIDENCE


def test_a_figure_taken_in_several_ways_is_steady_or_not() -> None:
    def interval(**ways: float) -> Record:
        return simulated(conditions={"arithmetic": "fixed", "design": "d" * 64, **ways})

    steady = Trial("steady", "interval", FPGA, across=("full", "gaps"), at_most=1.1)
    (row, *_), _ = derive(rows(interval(full=10, gaps=10.5), routed()))
    found = judged(steady, [row])
    assert (found.verdict, found.value) == (Verdict.SUPPORTED, 1.05)
    assert judged(replace(steady, at_most=1.04), [row]).verdict == Verdict.CONTRADICTED
    (row, *_), _ = derive(rows(interval(full=10), routed()))
    found = judged(steady, [row])
    assert (found.verdict, found.reason) == (Verdict.NO_EVIDENCE, "no record says gaps")


@pytest.mark.parametrize(
    ("stage", "luts", "verdict"),
    [
        (Stage.POST_ROUTE, 50, Verdict.SUPPORTED),
        (Stage.POST_ROUTE, 150, Verdict.CONTRADICTED),
        (Stage.POST_SYNTHESIS, 50, Verdict.NOT_COMPARABLE),
        (Stage.POST_SYNTHESIS, 150, Verdict.NOT_COMPARABLE),
    ],
)
def test_evidence_may_be_too_weak_to_decide(stage: Stage, luts: int, verdict: Verdict) -> None:
    test = Trial("LUTs", "luts", FPGA, at_most=100, needs=Stage.POST_ROUTE, why="too early")
    made = record(
        measurement("luts", luts, statistic="count", stage=stage, boundary=Boundary.NONE),
        implementation="hls/track/da4ml",
        device="lfe5u-85f",
    )
    found = judged(test, rows(made))
    assert (found.verdict, found.value) == (verdict, luts)
    assert found.reason == ("too early" if verdict == Verdict.NOT_COMPARABLE else "")


@given(st.lists(st.sampled_from(Verdict), min_size=1, max_size=5))
def test_a_claim_is_supported_only_when_every_test_is(verdicts: list[Verdict]) -> None:
    test = faster(at_least=1)
    claim = Claim("c", "embed", "", "", "", "text", (test,) * len(verdicts))
    whole = Judged(claim, tuple(Finding(test, verdict) for verdict in verdicts)).verdict
    assert (whole == Verdict.SUPPORTED) == (set(verdicts) == {Verdict.SUPPORTED})
    assert (whole == Verdict.CONTRADICTED) == (Verdict.CONTRADICTED in verdicts)


GOOD = """
[sides]
gpu = [{ kind = "gpu" }]
[[claim]]
name = "speed"
case = "embed"
text = "It is fast."
figure = "2"
paper = "A paper"
trust = "memory"
[[claim.test]]
what = "speed"
quantity = "throughput"
over = "gpu"
under = "gpu"
batch = 16
under_batch = 1
at_least = 2
"""


def test_claims_are_read_from_a_file(tmp_path: Path) -> None:
    assert load_claims("x", tmp_path) == ()
    (tmp_path / "x.toml").write_text(GOOD)
    (claim,) = load_claims("x", tmp_path)
    (test,) = claim.tests
    assert (test.over_batch, test.under_batch, test.bounds[0]) == (16, 1, 2)
    assert test.over == [{"kind": "gpu"}]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('trust = "memory"', 'trust = "sure"', "claim 'speed': trust 'sure' is not one of abstract"),
        ('name = "speed"', "", "claim '?': .*name"),
        ('figure = "2"', 'figure = "2"\nfancy = 1', "claim 'speed': .*fancy"),
        ('quantity = "throughput"', 'quantity = "speed"', "claim 'speed': quantity 'speed' is not one of throughput"),
        ('over = "gpu"', 'over = "tpu"', "claim 'speed': over 'tpu' is none of the sides gpu"),
        ('kind = "gpu"', 'colour = "red"', "claim 'speed': side 'gpu': rows are selected by .*, not by colour"),
        ("at_least = 2", "", "claim 'speed': speed: give one of at_least"),
        ("at_least = 2", "at_least = 2\nat_most = 3", "claim 'speed': speed: give one of at_least"),
        ("at_least = 2", "about = 1", "claim 'speed': speed: about needs a factor"),
        ("at_least = 2", 'at_least = 2\nneeds = "proof"', "claim 'speed': 'proof' is not a valid Stage"),
        ("at_least = 2", "at_least = 2\nmore = 1", "claim 'speed': unknown field more of a test"),
        ("at_least = 2", 'at_least = 2\nsame = "design"', "claim 'speed': speed: give one of at_least"),
        (
            'under = "gpu"\nbatch = 16\nunder_batch = 1\nat_least = 2',
            'same = "design"',
            "claim 'speed': speed: same needs",
        ),
        ("at_least = 2", 'at_least = 2\nboundary = "x"', "claim 'speed': 'x' is not a valid Boundary"),
        ("[[claim.test]]", "[[claim.other]]", "claim 'speed': .*other"),
        ("at_least = 2", "at_least = ", "Invalid"),
    ],
)
def test_a_broken_file_is_named_with_the_claim(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "x.toml").write_text(GOOD.replace(old, new))
    with pytest.raises(ClaimError, match=rf"^x\.toml: {message.replace('?', '[?]')}"):
        load_claims("x", tmp_path)


def test_what_a_claim_wants_in_words() -> None:
    assert claim_tables.wanted(faster(at_least=8.3)) == "at least 8.3"
    assert claim_tables.wanted(faster(about=1, within=1.25)) == "1 within a factor of 1.25"
    assert claim_tables.wanted(Trial("", "interval", FPGA, at_most=14474)) == "at most 14,474 cycles"
    assert claim_tables.wanted(Trial("", "throughput", FPGA, at_least=6218)) == "at least 6.218 k items/s"
    assert claim_tables.wanted(Trial("", "power", FPGA, at_most=8.2)) == "at most 8.2 W"
    assert claim_tables.wanted(Trial("", "latency_p50", FPGA, about=2000, within=2)) == "2 µs within a factor of 2"
