"""Every rule of the referee, and the arithmetic of ratios."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_records import kernel, measurement, oracle, record, routed, rows, simulated

from compare.derive import derive
from compare.record import Boundary, Record, Stage, unit_of
from compare.referee import (
    QUALITY_TOLERANCE,
    SAME_ARITHMETIC,
    SAME_QUALITY,
    SAME_RESULTS,
    Ratio,
    Refusal,
    over_floor,
    ratio,
)
from compare.rows import Row, with_quality

KNOWN = {
    (q.workload, q.case, q.arithmetic): q.quality
    for q in rows(oracle("fixed", 0.991, 0.62), oracle("fp32", 0.993, 0.625), oracle("fp16", 0.991, 0.60))
}


def gpu(**kw: Any) -> Row:
    return with_quality(rows(kernel(**kw))[0], KNOWN)


def fpga() -> Row:
    (row,), _ = derive(rows(simulated(), routed()))
    return with_quality(row, KNOWN)


def allowed(*args: Any, **kw: Any) -> Ratio:
    verdict = ratio(*args, **kw)
    assert isinstance(verdict, Ratio), verdict
    return verdict


def refused(*args: Any, **kw: Any) -> Refusal:
    verdict = ratio(*args, **kw)
    assert isinstance(verdict, Refusal), verdict
    return verdict


def test_a_mixed_ratio_carries_the_weaker_sides_grade_and_the_band() -> None:
    verdict = allowed(gpu(throughput=2.5e9), fpga(), "throughput")
    assert verdict.value == 20
    assert verdict.low == pytest.approx(2.5e9 * 0.95 / 130e6)
    assert verdict.high == pytest.approx(2.5e9 * 1.05 / 120e6)
    assert verdict.grade == "simulated × post-route"
    assert verdict.grades == ("measured", "simulated × post-route")
    assert verdict.division == SAME_ARITHMETIC
    assert verdict.notes[0] == "band: min-max and seeds"


def test_like_by_quality_when_the_arithmetic_differs() -> None:
    assert allowed(fpga(), gpu(arithmetic="fp32"), "throughput").division == SAME_QUALITY
    reason = refused(fpga(), gpu(arithmetic="fp16"), "throughput").reason
    assert reason == ("unlike arithmetic, fixed against fp16, and purity 0.62 against 0.6 differs by more than 0.01")
    assert "quality of gpu/track/opencl" in refused(fpga(), rows(kernel(arithmetic="fp32"))[0], "throughput").reason
    one = replace(gpu(arithmetic="fp32"), quality={"loss": gpu().quality["purity"]})
    assert "unlike quality figures" in refused(fpga(), one, "throughput").reason
    assert "not stated" in refused(replace(gpu(), arithmetic="", quality={}), gpu(), "throughput").reason


PROVED = {"worst_difference": 0.0, "tolerance": 0.0}


def test_like_by_results_when_both_equalled_one_oracle_in_every_bit() -> None:
    def row(arithmetic: str, **conditions: Any) -> Row:
        return rows(kernel(arithmetic=arithmetic, conditions=conditions))[0]

    binary, fp16 = row("binary", **PROVED), row("fp16", reference="binary", **PROVED)
    assert allowed(binary, fp16, "throughput").division == SAME_RESULTS
    assert allowed(fp16, binary, "throughput").division == SAME_RESULTS
    assert allowed(binary, row("binary"), "throughput").division == SAME_ARITHMETIC
    for other in (
        row("fp16", reference="binary"),
        row("fp16", **PROVED),
        row("fp16", reference="binary", worst_difference=0.0, tolerance=1e-3),
        row("fp16", reference="fixed", **PROVED),
    ):
        for over, under in ((binary, other), (other, binary)):
            assert "unlike arithmetic" in refused(over, under, "throughput").reason
    seeded = row("fp16", reference="binary", parameters="untrained", **PROVED)
    trained = row("binary", parameters="trained", **PROVED)
    assert "unlike arithmetic" in refused(seeded, trained, "throughput").reason
    assert allowed(seeded, binary, "throughput").division == SAME_RESULTS


def test_a_joined_design_is_proved_by_its_simulation() -> None:
    proof = {"arithmetic": "fixed", "design": "d" * 64, **PROVED}
    (joined,), _ = derive(rows(simulated(conditions=proof), routed()))
    (other,) = rows(kernel(arithmetic="fp16", conditions={"reference": "fixed", **PROVED}))
    assert allowed(joined, other, "throughput").division == SAME_RESULTS


def test_a_ratio_on_an_assumed_clock_says_so_and_is_graded_by_it() -> None:
    clock = record(
        measurement("clock", 50e6, stage=Stage.MODELLED, boundary=Boundary.NONE),
        implementation="hls/track/da4ml",
        device="lfe5u-85f",
        conditions={"arithmetic": "fixed"},
    )
    (modelled,), _ = derive(rows(simulated(), clock))
    verdict = allowed(modelled, gpu(), "throughput")
    assert verdict.grade == "simulated × modelled"
    assert verdict.notes[0] == "A at an assumed clock of 50 MHz, not routed"
    assert allowed(gpu(), modelled, "latency_p50").notes[0] == "B at an assumed clock of 50 MHz, not routed"
    assert "on lfe5u-85f (fixed, 50 MHz assumed)" in modelled.label


def test_that_a_side_is_on_paper_comes_before_its_boundary() -> None:
    paper = record(
        measurement("energy", 1e-3, stage=Stage.PUBLISHED, boundary=Boundary.NONE), conditions={"arithmetic": "fixed"}
    )
    assert (
        refused(gpu(), rows(paper)[0], "energy").reason == "one side is a figure on paper: measured against published"
    )


def test_the_quality_tolerance_is_a_tolerance() -> None:
    def with_purity(value: float) -> Row:
        row = gpu(arithmetic="fp32")
        return replace(row, quality={**row.quality, "purity": replace(row.quality["purity"], value=value)})

    assert isinstance(ratio(fpga(), with_purity(0.62 + QUALITY_TOLERANCE * 0.99), "throughput"), Ratio)
    assert isinstance(ratio(fpga(), with_purity(0.62 + QUALITY_TOLERANCE * 1.01), "throughput"), Refusal)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"workload": "md"}, "unlike workload: track against md"),
        ({"case": "small"}, "unlike case: embed against small"),
        ({"batch": None}, "the batch of gpu/track/opencl on nvidia-h200 (fixed, queue) is not stated"),
        ({"batch": 4096}, "unlike batch for latency: 1 against 4096"),
    ],
)
def test_unlike_rows(change: dict[str, Any], reason: str) -> None:
    assert refused(gpu(), replace(gpu(), **change), "latency_p50").reason == reason


def test_throughput_of_unlike_batches_is_allowed_because_each_states_it() -> None:
    assert allowed(gpu(batch=1), gpu(batch=4096), "throughput").value == 1


def test_a_pipeline_does_not_batch_so_its_latency_meets_any_stated_batch() -> None:
    assert allowed(fpga(), gpu(batch=4096), "latency_p50").value == 160 / 5000


@given(
    st.sampled_from([(a, b) for a in Boundary for b in Boundary if a != b]),
    st.sampled_from(["throughput", "latency_p50"]),
)
def test_unlike_boundaries_never_divide(pair: tuple[Boundary, Boundary], figure: str) -> None:
    row = gpu()
    one, other = (replace(row, figures={figure: replace(row.figures[figure], boundary=boundary)}) for boundary in pair)
    assert refused(one, other, figure).reason == f"unlike boundary: {pair[0]} against {pair[1]}"


def test_unlike_power_boundaries() -> None:
    row = gpu()
    chip = replace(row, figures={"energy": replace(row.figures["energy"], boundary=Boundary.CHIP)})
    assert refused(row, chip, "energy").reason == "unlike boundary: board against chip"


def test_fpga_power_is_not_known() -> None:
    verdict = refused(fpga(), gpu(), "energy")
    assert verdict.reason == "FPGA power is not known; no record carries it"


def test_a_missing_gpu_figure_names_the_command() -> None:
    verdict = refused(gpu(), gpu(energy=None), "energy")
    assert "energy of gpu/track/opencl on nvidia-h200 (fixed, batch 1, queue) is not known" in verdict.reason
    assert verdict.command == "gatewarp measure track"


def test_percentiles_need_their_samples() -> None:
    assert allowed(fpga(), gpu(), "latency_p99").value == 160 / 10000
    reason = refused(fpga(), gpu(samples=100_000), "latency_p99").reason
    assert "stands on 100,000 samples, 270,336 are needed at 99 % confidence" in reason
    assert isinstance(ratio(fpga(), gpu(samples=100_000), "latency_p50"), Ratio)


def test_unlike_statistics() -> None:
    row = gpu()
    p99 = replace(row, figures={"latency_p50": row.figures["latency_p99"]})
    assert refused(row, p99, "latency_p50").reason == "unlike statistic: p50 against p99"
    median = replace(row, figures={"latency_p50": replace(row.figures["latency_p50"], statistic="median")})
    assert allowed(row, median, "latency_p50").value == 1


def _staged(stage: Stage, quantity: str) -> Row:
    boundary = Boundary.BOARD if quantity in ("energy", "power") else Boundary.KERNEL
    made = measurement(quantity, 5, stage=stage, statistic="median", boundary=boundary)
    return rows(record(made, conditions={"arithmetic": "fp16", "batch": 1}))[0]


@given(st.sampled_from(Stage), st.sampled_from(Stage), st.sampled_from(["throughput", "energy", "luts"]))
def test_paper_never_meets_a_run_and_estimated_power_never_meets_measured(a: Stage, b: Stage, quantity: str) -> None:
    paper = {Stage.PUBLISHED, Stage.DATASHEET}
    verdict = ratio(_staged(a, quantity), _staged(b, quantity), quantity)
    if (a in paper) != (b in paper) or (quantity != "throughput" and a != b):
        assert isinstance(verdict, Refusal)
    else:
        assert isinstance(verdict, Ratio)
        assert verdict.grade == min((a, b), key=list(Stage).index).replace("_", "-")


@pytest.mark.parametrize("quantity", ["luts", "fmax", "interval"])
def test_resources_of_unlike_devices_do_not_compare(quantity: str) -> None:
    def on(device: str) -> Row:
        made = measurement(quantity, 5, stage=Stage.POST_ROUTE)
        return rows(record(made, device=device, conditions={"arithmetic": "fixed"}))[0]

    assert "of unlike devices, a and b, do not compare" in refused(on("a"), on("b"), quantity).reason
    assert allowed(on("a"), on("a"), quantity).value == 1


def test_a_baseline_must_come_from_the_same_run() -> None:
    base = gpu(implementation="gpu/track/torch", tier="outside baseline", time="2026-03-01T00:00:00+00:00")
    assert refused(gpu(), base, "throughput", one_run=True).reason == "the two were not taken in one run"
    assert isinstance(ratio(gpu(), base, "throughput"), Ratio)


def test_nothing_is_divided_by_nothing() -> None:
    row = gpu()
    for value, low in ((0.0, None), (5.0, 0.0)):
        figure = replace(row.figures["throughput"], value=value, low=low, high=None if low is None else 9.0)
        zero = replace(row, figures={"throughput": figure})
        assert "reaches down to zero" in refused(row, zero, "throughput").reason
        assert "reaches down to zero" in refused(zero, row, "throughput").reason


def test_the_launch_floor_of_the_same_run() -> None:
    verdict = over_floor(gpu(p50=5000))
    assert isinstance(verdict, Ratio)
    assert verdict.value == 1.25
    assert verdict.figure == "latency_p50 over bare launch"
    bare = replace(gpu(), figures={"latency_p50": gpu().figures["latency_p50"]})
    assert isinstance(over_floor(bare), Refusal)


def test_a_stale_side_is_named() -> None:
    assert any("stale" in note for note in allowed(gpu(), fpga(), "throughput").notes)


def test_a_side_without_a_band_is_named() -> None:
    row = gpu()
    bare = replace(row, figures={"throughput": replace(row.figures["throughput"], low=None, high=None, spread="")})
    assert allowed(row, bare, "throughput").notes[0] == "no band known for B"


positive = st.floats(1e-12, 1e12)


@st.composite
def bands(draw: st.DrawFn) -> tuple[float, float, float]:
    low, value, high = sorted(draw(st.tuples(positive, positive, positive)))
    return low, value, high


def _with(figure: tuple[float, float, float]) -> Row:
    low, value, high = figure
    return rows(_throughput(value, (low, high)))[0]


def _throughput(value: float, band: tuple[float, float]) -> Record:
    made = measurement("throughput", value, statistic="median", samples=9, band=band)
    assert made.unit == unit_of("throughput")
    return record(made, conditions={"arithmetic": "fp16", "batch": 1})


@given(bands(), bands())
def test_ratios_are_reciprocal_and_lie_in_their_bands(a: tuple[float, ...], b: tuple[float, ...]) -> None:
    one, other = allowed(_with(a), _with(b), "throughput"), allowed(_with(b), _with(a), "throughput")  # type: ignore[arg-type]
    assert one.value * other.value == pytest.approx(1)
    assert one.low * other.high == pytest.approx(1)
    assert one.low <= one.value <= one.high
    back = one.inverse()
    assert (back.value, back.low, back.high) == pytest.approx((other.value, other.low, other.high))
    assert (back.over, back.under, back.grades) == (other.over, other.under, other.grades)
    corners = [x / y for x in (a[0], a[2]) for y in (b[0], b[2])]
    assert (one.low, one.high) == pytest.approx((min(corners), max(corners)))


@given(bands(), bands(), st.integers(-30, 30))
def test_ratios_do_not_change_with_the_scale(a: tuple[float, ...], b: tuple[float, ...], power: int) -> None:
    plain = allowed(_with(a), _with(b), "throughput")  # type: ignore[arg-type]
    scaled = allowed(*(_with(tuple(x * 2.0**power for x in f)) for f in (a, b)), "throughput")  # type: ignore[arg-type]
    assert (plain.value, plain.low, plain.high) == (scaled.value, scaled.low, scaled.high)
