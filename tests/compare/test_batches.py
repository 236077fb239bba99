"""What a batch takes, and from which batch the GPU is ahead."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_records import kernel, measurement, oracle, record, routed, rows, simulated

from compare import batch_tables
from compare.batches import RATE, TIME, Crossing, at_batch, curve, overtakings, sides, time_of
from compare.derive import derive
from compare.record import Boundary, Record
from compare.rows import Row


def fpga(interval: float = 100, cycles: float = 1000, mhz: tuple[float, float, float] = (90, 100, 110)) -> Row:
    """At 100 MHz: 10 µs latency, 1 µs interval."""
    low, value, high = (m * 1e6 for m in mhz)
    (row,), _ = derive(rows(simulated(interval, cycles), routed(value, (low, high))))
    return row


def gpu(batch: int, ns: int, spread: float = 0.0, *, arithmetic: str = "fixed", launch: str = "queue") -> Record:
    """A launch of `ns`, known to `spread`, at the rate that makes."""
    rate = batch / ns * 1e9
    return record(
        measurement("latency", ns, statistic="p50", samples=9000, band=(ns * (1 - spread), ns * (1 + spread))),
        measurement("throughput", rate, statistic="median", band=(rate * (1 - spread), rate * (1 + spread))),
        conditions={"arithmetic": arithmetic, "batch": batch, "launch_mode": launch},
    )


def found(*records: Record, pipeline: Row | None = None) -> tuple[Crossing, Crossing]:
    (o,) = overtakings([pipeline or fpga(), *rows(*records)])
    return o.time, o.rate


def test_a_pipeline_takes_its_latency_and_an_interval_for_each_further_item() -> None:
    row = fpga()
    assert time_of(row, 1) == row.figures[TIME]
    whole = time_of(row, 17)
    assert whole is not None
    assert whole.value == 10_000 + 16 * 1000
    assert (whole.low, whole.high) == pytest.approx((26_000 / 1.1, 26_000 / 0.9), abs=1)
    at = at_batch(row, 17)
    assert (at.batch, at.figures[TIME].value, at.figures[RATE]) == (17, 26_000, row.figures[RATE])
    assert "latency_p99" not in at.figures


def test_what_batches_has_a_time_at_its_own_batch_only() -> None:
    (row,) = rows(kernel(64, p50=7000))
    assert time_of(row, 64) == row.figures[TIME]
    assert time_of(row, 63) is None
    assert at_batch(row, 63) is row


def test_a_pipeline_of_unknown_rate_has_a_time_for_one_item_only() -> None:
    row = fpga()
    bare = replace(row, figures={TIME: row.figures[TIME]})
    assert time_of(bare, 1) == row.figures[TIME]
    assert time_of(bare, 2) is None
    assert TIME not in at_batch(bare, 2).figures


def test_a_curve_takes_the_best_launch_at_each_batch_and_no_percentile_without_samples() -> None:
    slow, quick = gpu(1, 9000, launch="queue"), gpu(1, 5000, launch="graph")
    large, larger = gpu(64, 9000, launch="queue"), gpu(64, 9500, launch="graph")
    few = replace(gpu(4, 10), measurements=(measurement("latency", 10, statistic="p50", samples=3),))
    points = rows(larger, quick, slow, large, few)
    assert [(r.batch, r.launch) for r in curve(points, TIME)] == [(1, "graph"), (64, "queue")]
    assert [(r.batch, r.launch) for r in curve(points, RATE)] == [(1, "graph"), (64, "queue")]


def test_the_crossing_is_where_the_curves_meet() -> None:
    # Time: 10 + (n - 1) µs against 41 µs flat: equal at 32. Rate: 1 M/s against n / 41 µs: equal at 41.
    time, rate = found(gpu(1, 41_000), gpu(16, 41_000), gpu(64, 41_000))
    assert (time.batch, time.between, time.first, time.last) == (32, (16, 64), 1, 64)
    assert time.meets == pytest.approx(32)
    assert (rate.batch, rate.between) == (41, (16, 64))
    assert time.grades == rate.grades == ("simulated × post-route", "measured")


def test_a_crossing_at_a_measured_batch_is_that_batch() -> None:
    time, _ = found(gpu(1, 25_000), gpu(16, 25_000), gpu(64, 25_000))
    assert (time.batch, time.between) == (16, (1, 16))


def test_the_band_holds_the_best_and_the_worst_of_both_sides() -> None:
    time, rate = found(gpu(1, 41_000, 0.1), gpu(256, 41_000, 0.1))
    # The GPU 10 % quicker against the slowest seed, and the other way round.
    assert time.low == math.ceil(41_000 * 0.9 * 0.9 / 1000 - 9)
    assert time.high == math.ceil(41_000 * 1.1 * 1.1 / 1000 - 9)
    assert time.low < time.batch < time.high  # type: ignore[operator]
    assert rate.low < rate.batch < rate.high  # type: ignore[operator]


def test_always_ahead_and_never_ahead() -> None:
    time, rate = found(gpu(4, 1000), gpu(64, 1000))
    assert (time.batch, time.low, time.high, time.between, time.meets) == (4, 4, 4, None, 4)
    assert batch_tables.crossing(time) == "≤ 4"
    assert rate.batch == 4
    time, rate = found(gpu(4, 90_000), gpu(64, 90_000))
    assert (time.batch, time.low, time.high, time.meets, time.between) == (None, None, None, None, None)
    assert batch_tables.crossing(time) == batch_tables.crossing(rate) == "> 64"


def test_a_band_may_end_outside_of_what_was_measured() -> None:
    time, _ = found(gpu(1, 9_500, 0.5), gpu(64, 70_000, 0.5))
    assert batch_tables.crossing(time).startswith("≤ 1 [")
    time, _ = found(gpu(1, 70_000, 0.5), gpu(64, 70_000, 0.5))
    assert batch_tables.crossing(time) == "61 [23 – > 64]"


def test_a_gpu_that_falls_behind_again_is_ahead_only_from_where_it_stays() -> None:
    time, _ = found(gpu(1, 5000), gpu(16, 90_000), gpu(256, 90_000))
    assert time.between == (16, 256)


def test_what_the_referee_refuses_is_not_crossed() -> None:
    time, rate = found(gpu(1, 5000, arithmetic="fp16"), gpu(64, 5000, arithmetic="fp16"))
    assert "unlike arithmetic" in time.reason
    assert time.reason == rate.reason
    assert batch_tables.crossing(time) == "–"
    (o,) = overtakings([fpga(), *rows(gpu(1, 5000, arithmetic="fp16"))])
    assert batch_tables.overtaking([o]).rows[0][-1].startswith("time and throughput refused: unlike arithmetic")


def test_sides_are_of_the_kernel_boundary_and_cpus_only_stand_in() -> None:
    host = kernel(boundary=Boundary.HOST, energy=None)
    cpu = kernel(device="cpu-test")
    everything = [fpga(), *rows(kernel(), kernel(64), kernel(arithmetic="fp16"), host, cpu, oracle("fixed", 1, 1))]
    fpgas, gpus = sides(everything)
    assert [row.device for row in fpgas] == ["lfe5u-85f"]
    assert [[(row.arithmetic, row.batch) for row in group] for group in gpus] == [
        [("fixed", 1), ("fixed", 64)],
        [("fp16", 1)],
    ]
    assert {row.kind for group in gpus for row in group} == {"gpu"}
    _, gpus = sides([fpga(), *rows(cpu)])
    assert [row.device for group in gpus for row in group] == ["cpu-test"]


@given(
    st.lists(
        st.tuples(st.integers(1, 5000), st.integers(2_000, 10**7)), min_size=1, max_size=6, unique_by=lambda p: p[0]
    ),
    st.floats(0, 0.3),
    st.integers(1, 500),
    st.integers(1, 20_000),
)
def test_the_band_of_a_crossing_holds_it_and_the_gpu_is_ahead_from_there(
    points: list[tuple[int, int]], spread: float, interval: int, cycles: int
) -> None:
    row = fpga(interval, cycles)
    time, rate = found(*(gpu(batch, ns, spread) for batch, ns in points), pipeline=row)
    for crossing in (time, rate):
        low, batch, high = (math.inf if b is None else b for b in (crossing.low, crossing.batch, crossing.high))
        assert crossing.first <= low <= batch <= high
        assert low == math.inf or low <= crossing.last
    for batch, ns in points:
        whole = time_of(row, batch)
        assert whole is not None
        if time.batch is not None and batch >= time.batch:
            assert ns <= whole.value * (1 + 1e-6)
        if rate.batch is not None and batch >= rate.batch:
            assert batch / ns * 1e9 >= row.figures[RATE].value * (1 - 1e-6)


def test_batch_by_batch_has_one_column_a_side_and_a_row_a_batch() -> None:
    (table,) = batch_tables.by_batch(
        "embed", [fpga(), *rows(gpu(1, 41_000), gpu(64, 41_000), gpu(4, 9, launch="graph"))]
    )
    assert table.long
    assert table.columns == ("batch", "hls/da4ml on lfe5u-85f", "gpu/opencl fixed")
    assert table.rows[-1] == ("64", "73.0 µs, 1.00 M/s", "41.0 µs, 1.56 M/s")
    assert [row[0] for row in table.rows] == ["1", "4", "64"]
    assert list(batch_tables.by_batch("embed", [fpga()])) == []
    assert table.title.endswith("(kernel boundary; GPU: nvidia-h200)")
