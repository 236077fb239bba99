"""FPGA time from cycles and clock, and when there is none."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_records import measurement, record, routed, rows, simulated

from compare.derive import derive, join, why_not, with_energy
from compare.record import Boundary, Record, Stage
from compare.rows import Row


def _both(simulation: Record, routing: Record) -> tuple[list[Row], list[str]]:
    found, failed = derive(rows(simulation, routing))
    return found, [f.reason for f in failed]


def test_throughput_and_latency_with_the_band_of_the_seeds() -> None:
    (row,), failed = _both(simulated(interval=2, cycles=20), routed(125e6, (120e6, 130e6)))
    assert failed == []
    throughput, latency = row.figures["throughput"], row.figures["latency_p50"]
    assert (throughput.low, throughput.value, throughput.high) == (60e6, 62.5e6, 65e6)
    assert (latency.low, latency.value, latency.high) == (153, 160, 167)
    assert throughput.grade == latency.grade == "simulated × post-route"
    assert throughput.weakest == Stage.POST_ROUTE
    assert row.figures["latency_p99"] == latency
    assert latency.statistic == "exact"
    assert (row.batch, row.boundary, row.device, row.arithmetic) == ("any", "kernel", "lfe5u-85f", "fixed")
    assert len(row.records) == 2
    assert row.notes == ()


def test_a_latency_that_varies_is_a_median_and_gives_no_p99() -> None:
    varying = record(
        measurement("interval", 1, samples=9, stage=Stage.SIMULATED),
        measurement("cycles", 20, statistic="median", samples=9, stage=Stage.SIMULATED, band=(18, 30)),
        implementation="hls/track/da4ml",
        device="simulation",
        conditions={"design": "d" * 64},
    )
    (row,), _ = _both(varying, routed(100e6, (100e6, 100e6)))
    latency = row.figures["latency_p50"]
    assert (latency.low, latency.value, latency.high, latency.statistic) == (180, 200, 300, "median")
    assert "latency_p99" not in row.figures


def test_a_median_of_cycles_without_a_band_is_not_called_exact() -> None:
    median = record(
        measurement("cycles", 20, statistic="median", samples=9, stage=Stage.SIMULATED),
        implementation="hls/track/da4ml",
        device="simulation",
        conditions={"design": "d" * 64},
    )
    (row,), _ = _both(median, routed())
    assert row.figures["latency_p50"].statistic == "median"
    assert "latency_p99" not in row.figures
    assert "throughput" not in row.figures


@pytest.mark.parametrize(
    ("simulation", "routing", "reason"),
    [
        ({"design": "e" * 64}, {}, "the simulation ran design eeeeeeeeeeee, the routing is of design dddddddddddd"),
        ({"design": ""}, {}, "the simulation does not say which design"),
        ({}, {"design": ""}, "the routing does not say which design"),
        ({"items": 7}, {}, "7 items at the pins give no interval, 8 are needed"),
        ({"case": "small"}, {}, "no record of a simulation"),
        ({"implementation": "hls/track/other"}, {}, "no record of a simulation"),
        (
            {"conditions": {"arithmetic": "int8", "design": "d" * 64}},
            {},
            "arithmetic int8 was simulated, fixed routed",
        ),
    ],
)
def test_what_does_not_belong_together_is_not_joined(
    simulation: dict[str, Any], routing: dict[str, Any], reason: str
) -> None:
    found, reasons = _both(simulated(**simulation), routed(**routing))
    assert len(found) == 2
    assert len(reasons) == 1
    assert reason in reasons[0]
    row = next(r for r in found if r.device == "lfe5u-85f")
    assert "throughput" not in row.figures
    assert row.figures["luts"].value == 20910
    assert reasons[0] in row.notes[0]


def test_cycles_not_counted_at_the_pins_are_not_joined() -> None:
    inside = record(
        measurement("interval", 1, samples=9, stage=Stage.SIMULATED, boundary=Boundary.HOST),
        implementation="hls/track/da4ml",
        device="simulation",
        conditions={"design": "d" * 64},
    )
    _, reasons = _both(inside, routed())
    assert "not at the stream pins" in reasons[0]


def test_the_simulation_of_the_routed_design_is_found_among_newer_ones() -> None:
    right = simulated(time="2026-01-01T00:00:00+00:00")
    newer = simulated(design="e" * 64, time="2026-02-01T00:00:00+00:00")
    found, failed = derive(rows(newer, routed(), right))
    assert failed == []
    assert [r.device for r in found] == ["lfe5u-85f", "simulation"], "the newer simulation is still a row"
    assert "throughput" in found[0].figures


def test_few_seeds_and_a_missed_target_are_remarked_on() -> None:
    (row,), _ = _both(simulated(), routed(110e6, (100e6, 119e6), seeds=3))
    assert row.notes == ("only 3 seeds of place and route", "target clock 120 MHz not met by the median seed")


def clock(hz: float = 50e6, *, stage: Stage = Stage.MODELLED, **kw: Any) -> Record:
    """A clock stated for a device, as an assumption unless `stage` says otherwise."""
    return record(
        measurement("clock", hz, stage=stage, boundary=Boundary.NONE),
        **{"implementation": "hls/track/da4ml", "device": "lfe5u-85f", "conditions": {"arithmetic": "fixed"}, **kw},
    )


def test_an_assumed_clock_gives_time_of_its_own_grade_and_without_a_band() -> None:
    (row,), failed = _both(simulated(interval=4, cycles=20), clock(50e6, source="a paper"))
    assert failed == []
    rate, latency = row.figures["throughput"], row.figures["latency_p50"]
    assert (rate.value, rate.low, rate.high) == (12.5e6, None, None)
    assert (latency.value, latency.low, latency.statistic) == (400, None, "exact")
    assert rate.grade == latency.grade == "simulated × modelled"
    assert rate.weakest == Stage.MODELLED
    assert row.assumed_clock == 50e6
    assert (row.batch, row.boundary, row.arithmetic) == ("any", "kernel", "fixed")
    assert row.notes == ("not synthesised for this part: whether it fits is not known",)
    assert [r.device for r in row.records] == ["simulation", "lfe5u-85f"]


def test_a_routing_goes_before_an_assumption_for_the_same_part() -> None:
    found, failed = derive(rows(simulated(), clock(), routed()))
    assert failed == []
    assert [row.assumed_clock for row in found] == [None]
    found, _ = derive(rows(simulated(), clock(device="other"), routed()))
    assert sorted((row.device, row.assumed_clock) for row in found) == [("lfe5u-85f", None), ("other", 50e6)]


def test_an_assumption_alone_is_no_row() -> None:
    found, (failed,) = derive(rows(clock()))
    assert found == []
    assert failed.reason == "no record of a simulation"


def test_a_measured_clock_is_no_assumption() -> None:
    found, _ = derive(rows(simulated(), clock(stage=Stage.MEASURED)))
    assert [row.figures.keys() & {"throughput"} for row in found] == [set(), set()]


@pytest.mark.parametrize(
    ("simulation", "assumed", "reason"),
    [
        ({"folding": "small"}, {"folding": "paper"}, "folding small was simulated, the clock is assumed for paper"),
        ({}, {"folding": "paper"}, "folding not stated was simulated, the clock is assumed for paper"),
        ({}, {"arithmetic": "int8"}, "arithmetic fixed was simulated, int8 assumed"),
        ({"folding": "paper"}, {}, ""),
        ({"folding": "paper"}, {"folding": "paper"}, ""),
    ],
)
def test_an_assumed_clock_is_of_a_folding_and_an_arithmetic(
    simulation: dict[str, Any], assumed: dict[str, Any], reason: str
) -> None:
    common = {"arithmetic": "fixed", "design": "d" * 64}
    _, reasons = _both(simulated(conditions=common | simulation), clock(conditions={"arithmetic": "fixed"} | assumed))
    assert reasons == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("luts", "notes"), [(83_000, ()), (100_368, ("does not fit: 120 % of the luts of this part",))]
)
def test_an_assumed_clock_of_a_synthesised_design_says_what_does_not_fit(luts: int, notes: tuple[str, ...]) -> None:
    size = record(
        measurement("luts", luts, statistic="count", stage=Stage.POST_SYNTHESIS, boundary=Boundary.NONE),
        implementation="hls/track/da4ml",
        device="lfe5u-85f",
        conditions={"arithmetic": "fixed"},
    )
    found, _ = derive(rows(simulated(), clock(), size))
    modelled = next(row for row in found if row.assumed_clock)
    assert modelled.notes == notes
    assert "luts" not in modelled.figures, "counts of a synthesis stay in a row of their own"
    assert sum("luts" in row.figures for row in found) == 1


def test_energy_is_power_over_throughput_of_one_record() -> None:
    def row(*more: Any, device: str = "lfe5u-85f") -> Row:
        power = measurement("power", 8.2, stage=Stage.PUBLISHED, boundary=Boundary.NONE)
        made = record(power, *more, device=device, conditions={"arithmetic": "fixed", "batch": "any"})
        return with_energy(rows(made)[0])

    rate = measurement("throughput", 4100, stage=Stage.PUBLISHED, boundary=Boundary.NONE)
    energy = row(rate).figures["energy"]
    assert energy.value == pytest.approx(2e-3)
    assert (energy.low, energy.grade, energy.boundary) == (None, "published", "none")
    banded = measurement("throughput", 4100, stage=Stage.PUBLISHED, boundary=Boundary.NONE, band=(2050, 8200))
    energy = row(banded).figures["energy"]
    assert (energy.low, energy.high) == pytest.approx((1e-3, 4e-3))
    assert "energy" not in row().figures
    assert "energy" not in row(rate, device="nvidia-h200").figures
    known = measurement("energy", 5, stage=Stage.PUBLISHED, boundary=Boundary.NONE)
    assert row(rate, known).figures["energy"].value == 5
    one = row(rate)
    two = replace(one, figures={k: f for k, f in one.figures.items() if k != "energy"}, records=one.records * 2)
    assert "energy" not in with_energy(two).figures, "two records are not one run"


def test_join_refuses_what_why_not_refuses() -> None:
    a, b = rows(simulated(design="e" * 64), routed())
    assert why_not(a, b)
    with pytest.raises(ValueError, match="the simulation ran design"):
        join(a, b)


@given(
    st.integers(1, 1000),
    st.integers(1, 10**6),
    st.tuples(*[st.floats(1e6, 1e9)] * 3).map(sorted),
)
def test_bands_hold_their_values_and_units_agree(interval: int, cycles: int, clock: list[float]) -> None:
    low, fmax, high = clock
    (row,), _ = _both(simulated(interval, cycles), routed(fmax, (low, high)))
    for name in ("throughput", "latency_p50"):
        figure = row.figures[name]
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low <= figure.value <= figure.high
    latency = row.figures["latency_p50"]
    assert latency.value == int(latency.value)
    assert latency.value == pytest.approx(cycles * 1e9 / fmax, abs=0.5)
    assert latency.low <= cycles * 1e9 / high * (1 + 1e-12)  # type: ignore[operator]
    assert row.figures["throughput"].value * interval == pytest.approx(fmax)
