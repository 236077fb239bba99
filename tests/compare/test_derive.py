"""FPGA time from cycles and clock, and when there is none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_records import measurement, record, routed, rows, simulated

from compare.derive import derive, join, why_not
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
