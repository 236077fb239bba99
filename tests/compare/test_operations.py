"""Operations counted in several ways: rates that carry their evidence, and no ratio between two ways."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_records import kernel, measurement, record, rows

from compare.operations import KINDS, OPERATIONS, counts_of, is_count, with_operations, with_saving
from compare.record import Boundary, Record, Stage
from compare.referee import Ratio, Refusal, ratio
from compare.rows import Row

WAYS = {
    "operations": ("useful", "kept", "equivalent"),
    "rate": KINDS,
    "efficiency": KINDS,
    "utilisation": ("", "kept"),
}


def counts(useful: float = 2e9, kept: float = 1.5e9, equivalent: float = 8e9, case: str = "embed") -> Record:
    made = (measurement(name, value, stage=Stage.MODELLED, boundary=Boundary.NONE)
            for name, value in zip(OPERATIONS, (useful, kept, equivalent), strict=True))  # fmt: skip
    return record(*made, device="oracle", implementation="workloads/track", case=case)


def known(*records: Record) -> Row:
    made = rows(*records)
    return with_operations(made[0], counts_of(made))


def test_a_rate_is_throughput_times_operations_with_the_band_and_the_evidence_of_the_throughput() -> None:
    row = known(kernel(throughput=1e3), counts())
    for kind, count in (("useful", 2e9), ("equivalent", 8e9)):
        figure = row.figures[f"rate.{kind}"]
        assert (figure.value, figure.low, figure.high) == (1e3 * count, 0.95e3 * count, 1.05e3 * count)
        assert (figure.unit, figure.stages, figure.samples) == ("op/s", (Stage.MEASURED,), 20)
        assert (figure.statistic, figure.boundary) == ("median", Boundary.KERNEL)


def test_operations_a_joule_come_from_the_energy_and_are_unknown_without() -> None:
    row = known(kernel(energy=0.5), counts())
    figure = row.figures["efficiency.useful"]
    assert (figure.value, figure.unit, figure.boundary) == (4e9, "op/J", Boundary.BOARD)
    assert (figure.low, figure.high) == pytest.approx((2e9 / 0.525, 2e9 / 0.475))
    assert not any(name.startswith("efficiency") for name in known(kernel(energy=None), counts()).figures)


def test_without_counts_of_its_case_a_row_has_no_rate() -> None:
    for other in (counts(case="small"), kernel(batch=4)):
        assert not any(name.startswith(("rate", "efficiency")) for name in known(kernel(), other).figures)
    row = known(kernel(), counts(equivalent=0))
    assert {name for name in row.figures if name.startswith("rate")} == {"rate.useful"}


def test_the_saving_is_a_fact_of_the_case() -> None:
    (row,) = map(with_saving, rows(counts()))
    assert is_count(row)
    assert (row.figures["saving"].value, row.figures["saving"].unit) == (4, "1")
    (bare,) = map(with_saving, rows(kernel()))
    assert "saving" not in bare.figures


def counted(family: str, way: str, value: float) -> Row:
    """A row whose figure `family` was counted in some way."""
    quantity = f"{family}.{way}" if way else family
    stage = Stage.SIMULATED if family == "utilisation" else Stage.MEASURED
    (row,) = rows(record(measurement(quantity, value, stage=stage), conditions={"arithmetic": "fp16", "batch": 1}))
    (figure,) = row.figures.values()
    return replace(row, figures={family: figure})


@given(
    st.sampled_from([(family, a, b) for family, ways in WAYS.items() for a in ways for b in ways]),
    st.floats(1e-6, 1e6),
    st.floats(1e-6, 1e6),
)
def test_two_ways_to_count_are_never_divided(ways: tuple[str, str, str], x: float, y: float) -> None:
    family, a, b = ways
    verdict = ratio(counted(family, a, x), counted(family, b, y), family)
    if a == b:
        assert isinstance(verdict, Ratio)
        assert verdict.value == x / y
    else:
        assert isinstance(verdict, Refusal)
        said = f"{a or 'useful'} against {b or 'useful'}"
        assert verdict.reason == f"operations counted in unlike ways, {said}: the two are never mixed"


@given(st.floats(1, 1e9), st.floats(1, 1e9), st.sampled_from(KINDS))
def test_ratios_of_rates_are_those_of_throughputs_in_either_way_to_count(x: float, y: float, kind: str) -> None:
    one, other = (known(kernel(throughput=value), counts()) for value in (x, y))
    found, plain = ratio(one, other, f"rate.{kind}"), ratio(one, other, "throughput")
    assert isinstance(found, Ratio)
    assert isinstance(plain, Ratio)
    assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high))
