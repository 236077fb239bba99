"""Sustained rates, the sensor's error and launch drift: what a careful reader does to a record's figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic_records import kernel, measurement, oracle, record, routed, rows, simulated

from compare import plots
from compare.caution import careful, floors, like_rates, sensor_error, with_drift
from compare.comparison import _verdicts
from compare.derive import derive
from compare.record import Boundary
from compare.referee import Ratio, Refusal, ratio
from compare.rows import Row


def two_rates(isolated: float, sustained: float) -> list:
    return careful(
        rows(
            record(
                measurement("throughput", isolated, statistic="median", samples=10),
                measurement("latency", 5000, statistic="p50", samples=10),
                measurement("throughput", sustained, statistic="median", samples=10, boundary=Boundary.HOST),
                measurement("latency", 9000, statistic="p50", samples=10, boundary=Boundary.HOST),
                conditions={"arithmetic": "fixed", "batch": 1, "launch_mode": "queue"},
            )
        )
    )


@pytest.mark.parametrize(("isolated", "sustained"), [(2e5, 3e5), (3e5, 2e5)])
def test_the_kernel_boundary_does_at_least_what_the_host_saw(isolated: float, sustained: float) -> None:
    near, far = two_rates(isolated, sustained)
    assert near.figures["throughput"].value == max(isolated, sustained)
    assert near.figures["throughput"].boundary == Boundary.KERNEL
    assert far.figures["throughput"].value == sustained
    assert near.figures["latency_p50"].value == 5000


def test_energy_carries_the_sensor_s_error_where_a_fact_says_it() -> None:
    (row,) = careful(rows(kernel(energy=1e-8, device="nvidia-h200")))
    (plain,) = rows(kernel(energy=1e-8, device="nvidia-h200"))
    error = sensor_error("nvidia-h200")
    assert error == 0.05
    assert row.figures["energy"].low == pytest.approx(plain.figures["energy"].low * 0.95)
    assert row.figures["energy"].high == pytest.approx(plain.figures["energy"].high * 1.05)
    assert sensor_error("somebody-s-gpu") == 0.0


def drifting(floor: float, p50: float, command: str = "gatewarp measure track", batch: int = 1) -> object:
    return record(
        measurement("latency", p50, statistic="p50", samples=5000, band=(p50, p50), spread="ci99"),
        measurement("launch_floor", floor, statistic="p50", samples=5000, band=(floor, floor), spread="ci99"),
        conditions={"arithmetic": "fixed", "batch": batch, "launch_mode": "queue"},
        command=command,
    )


def test_latencies_carry_the_drift_of_an_empty_launch_of_their_run() -> None:
    found = rows(drifting(4000, 5000), drifting(3000, 4500, batch=4), drifting(9000, 9500, batch=16))
    first = next(iter(with_drift(found))).figures["latency_p50"]
    assert (first.low, first.value, first.high) == (4000, 5000, 10000)
    assert not first.lacking
    assert list(floors(found).values()) == [(3000, 9000)]
    alone = rows(drifting(4000, 5000), drifting(9000, 9500, command="another run", batch=4))
    first = next(iter(with_drift(alone))).figures["latency_p50"]
    assert (first.low, first.high) == (5000, 5000)


def test_an_empty_launch_and_the_latency_beside_it_share_their_moment() -> None:
    found = rows(*(drifting(f, 2 * f, batch=b) for f, b in ((4000, 1), (9000, 4096))))
    floor = [v for v in _verdicts(found, list(with_drift(found))) if isinstance(v, Ratio) and "bare launch" in v.figure]
    assert [(v.low, v.value, v.high) for v in floor] == [(2, 2, 2), (2, 2, 2)]


def test_a_baseline_of_another_command_is_refused() -> None:
    ours, base = rows(kernel(), kernel(tier="outside baseline", implementation="gpu/track/torch"))
    assert isinstance(ratio(ours, base, "throughput", one_run=True), Ratio)
    (other,) = rows(kernel(tier="outside baseline", implementation="gpu/track/torch", command="another command"))
    refusal = ratio(ours, other, "throughput", one_run=True)
    assert isinstance(refusal, Refusal)
    assert "one run" in refusal.reason


def test_a_ratio_is_of_one_run_though_other_runs_replaced_its_rows() -> None:
    def of(run: str, rate: float, base: bool = False) -> Row:
        ways = {"tier": "outside baseline", "implementation": "gpu/track/torch"} if base else {}
        return rows(kernel(throughput=rate, conditions={"run": run}, **ways))[0]

    ours, base = of("a", 600), of("b", 100, base=True)
    for spares, wanted in (([of("b", 500)], 5), ([of("a", 200, base=True)], 3), ([of("c", 500)], None)):
        (found,) = [v for v in _verdicts([ours, base], [ours, base], spares) if v.figure == "throughput"]
        assert (found.value if isinstance(found, Ratio) else None) == wanted


def test_the_latency_of_a_batch_in_a_pipeline_grows_with_the_batch() -> None:
    joined, _ = derive(rows(simulated(1, 20), routed(125e6, (100e6, 150e6)), oracle("fixed", 0.9, 0.9)))
    fpga = next(row for row in joined if "throughput" in row.figures)
    line = plots.Series("x", (fpga,), "-", "o")
    x, low, value, high = line.drawn("latency_p50", 1, 2**20)
    assert value[0] == 160
    # 20 cycles for the first item and one for each further one, at 125 MHz (and 150 and 100).
    assert value[-1] == pytest.approx((20 + x[-1] - 1) / 125e6 * 1e9, rel=1e-3)
    assert low[-1] == pytest.approx((20 + x[-1] - 1) / 150e6 * 1e9, rel=1e-3)
    assert high[-1] == pytest.approx((20 + x[-1] - 1) / 100e6 * 1e9, rel=1e-3)
    flat = line.drawn("throughput", 1, 2**20)[2]
    assert set(flat) == {125e6}
    assert replace(line, rows=(replace(fpga, figures={}),)).drawn("throughput", 1, 4) == ([], [], [], [])


def windowed(mean: float | None, median: float, **kw: object) -> object:
    """Rows of a record with rates of rounds, and of an energy window, at the kernel boundary."""
    made = [measurement("throughput", median, statistic="median", samples=9)]
    if mean is not None:
        made.append(measurement("throughput", mean, statistic="mean", boundary=Boundary.HOST, spread="windows"))
    found = careful(rows(record(*made, conditions={"arithmetic": "fixed", "batch": 1, "launch_mode": "queue"}, **kw)))
    return next(row for row in found if row.boundary == Boundary.KERNEL)


@pytest.mark.parametrize(
    ("ours", "base", "wanted"),
    [
        ((390, 400), (104, 100), 390 / 104),  # the baseline's best is a mean
        ((None, 400), (104, 100), 400 / 100),  # of which we have none
        ((410, 400), (99, 100), 400 / 100),
        ((390, 400), (99, 100), 400 / 100),
    ],
)
def test_rates_of_one_statistic_are_divided(ours: tuple, base: tuple, wanted: float) -> None:
    over, under = windowed(*ours), windowed(*base, tier="outside baseline", implementation="gpu/track/torch")
    found = ratio(*like_rates(over, under), "throughput", one_run=True)
    assert isinstance(found, Ratio)
    assert found.value == pytest.approx(wanted)
    (verdict,) = [v for v in _verdicts([over, under], [over, under]) if v.figure == "throughput"]
    assert isinstance(verdict, Ratio)
    assert verdict.value == pytest.approx(wanted)


def test_rates_without_a_common_statistic_stay_as_they_are() -> None:
    over, under = windowed(None, 400), windowed(104, 100, tier="outside baseline", implementation="gpu/track/torch")
    (bare,) = rows(record(measurement("throughput", 104, statistic="mean", samples=1)))
    assert like_rates(over, bare) == (over, bare)
    assert isinstance(ratio(*like_rates(over, bare), "throughput"), Refusal)
    assert like_rates(under, under) == (under, under)
