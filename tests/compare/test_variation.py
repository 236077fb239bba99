"""Variation: what a record's raw values say, its confidence band, and pipelines that do not vary."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from synthetic_records import kernel, measurement, record, routed, rows, simulated

from compare.caution import careful
from compare.derive import derive
from compare.record import Boundary, Record, Stage
from compare.referee import Ratio, Refusal, ratio
from compare.rows import Row
from compare.variation import deviation_band, is_variation, variation, variations, with_variation

RUNS = (100.0, 102.0, 98.0, 101.0, 99.0, 103.0)


def with_runs(values: tuple[float, ...] = RUNS, spread: str = "std", **kw: Any) -> Record:
    """A kernel whose record also keeps the rates of some runs, as the host sees them."""
    made = kernel(**kw)
    mean = statistics.fmean(values)
    runs = measurement("throughput", mean, statistic="mean", samples=len(values), boundary=Boundary.HOST,
                       spread=spread, band=(min(values), max(values)))  # fmt: skip
    return replace(
        made,
        conditions={**made.conditions, "launches_per_run": 1400},
        measurements=(*made.measurements, replace(runs, values=values)),
    )


def at_kernel(found: list[Row]) -> Row:
    return next(row for row in found if row.boundary == Boundary.KERNEL)


def test_runs_of_equal_work_give_the_variation_of_the_kernel_as_of_the_host() -> None:
    for row in with_variation(careful(rows(with_runs(throughput=90.0))), []):
        figure = row.figures["variation"]
        assert figure.value == pytest.approx(statistics.stdev(RUNS) / statistics.fmean(RUNS))
        assert (figure.statistic, figure.samples, figure.boundary) == ("std", 6, row.boundary)
        assert figure.low < figure.value < figure.high  # type: ignore[operator]
        assert variation(row).run == "1,400 launches one after another"
    assert at_kernel(careful(rows(with_runs(throughput=90.0)))).figures["throughput"].value == 90, "no mean of runs"


def test_a_rate_s_rounds_are_told_apart_from_runs() -> None:
    (row, _) = with_variation(rows(with_runs(spread="min-max")), [])
    assert "variation" not in row.figures
    assert variation(row).run == ""
    few = with_variation(rows(with_runs(RUNS[:4])), [])
    assert not any("variation" in row.figures for row in few)


@given(st.floats(1e-6, 1), st.integers(5, 500))
def test_the_band_is_that_of_chi_square(deviation: float, n: int) -> None:
    low, high = deviation_band(deviation, n)
    exact = [deviation * ((n - 1) / chi2.ppf(p, n - 1)) ** 0.5 for p in (0.975, 0.025)]
    assert (low, high) == pytest.approx(exact, rel=0.04 if n < 30 else 0.002)
    assert low < deviation < high


def test_a_pipeline_of_exact_cycles_does_not_vary() -> None:
    (steady,), _ = derive(rows(simulated(), routed()))
    figure = steady.figures["variation"]
    assert (figure.value, figure.statistic, figure.stages) == (0, "exact", (Stage.SIMULATED,))
    (few,), _ = derive(rows(simulated(items=7, conditions={**simulated().conditions, "items": 8}), routed()))
    assert few.figures["variation"].statistic == "exact"
    lone = replace(simulated().measurements[1], samples=1)
    (unknown,), _ = derive(rows(replace(simulated(), measurements=(lone,)), routed()))
    assert "variation" not in unknown.figures


@given(st.lists(st.floats(1, 1e6), min_size=7, max_size=50))
def test_least_mean_and_largest_step_bound_the_variation_of_a_pipeline(steps: list[float]) -> None:
    mean = min(max(statistics.fmean(steps), min(steps)), max(steps))
    made = simulated()
    interval = replace(made.measurements[0], value=mean, low=min(steps), high=max(steps), spread="min-max",
                       statistic="mean", samples=len(steps))  # fmt: skip
    (jittery,), _ = derive(rows(replace(made, conditions={**made.conditions, "items": len(steps) + 1},
                                        measurements=(interval, *made.measurements[1:])), routed()))  # fmt: skip
    found = variation(jittery).runs
    assert found is not None
    assert found.low == 0
    assert found.value >= statistics.stdev(steps) / mean * (1 - 1e-6) - 1e-9
    assert variation(jittery).run == ""
    over = ratio(jittery, at_kernel(with_variation(rows(with_runs()), [])), "variation")
    assert isinstance(over, Ratio)
    assert over.low == 0, "a bound does not say that there is any"


def test_steady_over_varying_is_nothing_and_the_other_way_round_is_refused() -> None:
    (steady,), _ = derive(rows(simulated(), routed()))
    gpu = at_kernel(with_variation(rows(with_runs()), []))
    found = ratio(steady, gpu, "variation")
    assert isinstance(found, Ratio)
    assert (found.value, found.low, found.high) == (0, 0, 0)
    assert isinstance(ratio(gpu, steady, "variation"), Refusal)


def test_a_record_of_its_own_completes_the_row_of_the_same_point() -> None:
    apart = record(
        measurement("variation", 0.01, statistic="std", samples=20),
        conditions={"arithmetic": "fixed", "batch": 1, "launch_mode": "queue"},
    )
    (extra,) = rows(apart)
    assert is_variation(extra)
    first, second = rows(kernel(1), kernel(4))
    found = with_variation([first, second], [extra])
    assert found[0].figures["variation"].value == 0.01
    assert found[0].records == (*first.records, apart)
    assert found[1] == second


def test_pipelines_alone_make_no_table() -> None:
    (steady,), _ = derive(rows(simulated(), routed()))
    assert variations([steady, *rows(kernel())]) == ()
    gpu = at_kernel(with_variation(rows(with_runs()), []))
    assert [v.row for v in variations([steady, gpu])] == [steady, gpu]


def test_windows_of_the_meter_vary_as_well() -> None:
    made = kernel()
    metered = tuple(replace(m, values=(1.0, 2.0, 3.0)) if m.quantity == "energy" else m for m in made.measurements)
    figure = variation(rows(replace(made, measurements=metered))[0]).energy
    assert figure is not None
    assert (figure.value, figure.samples) == (0.5, 3)
