"""Rows and figures: percentile counts, boundaries, which record wins."""

from dataclasses import replace

import pytest
from synthetic_records import kernel, measurement, oracle, record, routed, rows

from compare.record import Boundary
from compare.rows import Figure, Row, batch_text, newest, same_run, samples_needed, with_quality


@pytest.mark.parametrize(
    ("percent", "count"), [("90", 24_576), ("95", 57_344), ("97", 90_112), ("99", 270_336), ("50", 8), ("1", 459)]
)
def test_samples_needed(percent: str, count: int) -> None:
    assert samples_needed(percent) == count


def test_a_percentile_without_enough_samples_is_lacking() -> None:
    def lacking(statistic: str, samples: int) -> int:
        return Figure.of(measurement("latency", 5, statistic=statistic, samples=samples)).lacking

    assert lacking("p99", 270_335) == 270_336
    assert lacking("p99", 270_336) == 0
    assert lacking("p50", 7) == 8
    assert lacking("p50", 8) == 0
    assert lacking("exact", 1) == 0
    assert lacking("median", 1) == 0


def test_a_percentile_with_its_own_confidence_band_may_be_printed() -> None:
    def lacking(spread: str) -> int:
        plain = Figure.of(measurement("latency", 5, statistic="p99", samples=2000))
        return replace(plain, low=4, high=6, spread=spread).lacking

    assert lacking("ci99") == 0
    assert lacking("min-max") == 270_336


def test_one_row_for_each_boundary_and_energy_only_once() -> None:
    made = record(
        measurement("latency", 5000, statistic="p50", samples=10),
        measurement("latency", 9000, statistic="median", samples=10, boundary=Boundary.HOST),
        measurement("throughput", 1e6, statistic="median", boundary=Boundary.DEVICE),
        measurement("energy", 1e-8, statistic="median", boundary=Boundary.BOARD),
        measurement("energy", 1e-9, statistic="median", boundary=Boundary.CHIP),
        measurement("quality.purity", 0.5, boundary=Boundary.NONE),
        conditions={"arithmetic": "fp16", "batch": 1, "launch_mode": "graph"},
    )
    kernel_row, device_row, host_row = rows(made)
    assert [r.boundary for r in (kernel_row, device_row, host_row)] == ["kernel", "device", "host"]
    assert kernel_row.figures["energy"].boundary == Boundary.CHIP
    assert "energy" not in device_row.figures
    assert "energy" not in host_row.figures
    assert set(device_row.figures) == {"throughput"}
    assert host_row.figures["latency_p50"].value == 9000
    assert kernel_row.quality["purity"].value == 0.5
    assert (kernel_row.arithmetic, kernel_row.batch, kernel_row.launch) == ("fp16", 1, "graph")


def test_a_record_of_resources_only_is_one_row_without_boundary() -> None:
    (row,) = rows(routed())
    assert row.boundary == Boundary.NONE
    assert row.figures["luts"].value == 20910
    assert row.kind == "fpga"


def test_the_users_record_wins_then_the_newest() -> None:
    old, new = kernel(p50=5000, time="2026-01-01T00:00:00+00:00"), kernel(p50=6000, time="2026-02-01T00:00:00+00:00")
    (kept,), (other,) = newest(rows(new, old))
    assert [row.figures["latency_p50"].value for row in (kept, other)] == [6000, 5000]
    (kept,), (other,) = newest([*rows(old), *rows(new, shipped=True)])
    assert [row.figures["latency_p50"].value for row in (kept, other)] == [5000, 6000]
    _, replaced = newest(rows(kernel(batch=1), kernel(batch=2), kernel(arithmetic="fp16"), kernel(launch="graph")))
    assert replaced == []


def test_a_shipped_row_with_energy_stands_before_a_newer_one_without() -> None:
    def shipped(energy: float | None, p50: int, month: str) -> list[Row]:
        found = rows(kernel(p50=p50, energy=energy, time=f"2026-{month}-01T00:00:00+00:00"), shipped=True)
        return [replace(row, stale=()) for row in found]

    metered, plain = shipped(2e-8, 5000, "01"), shipped(None, 6000, "02")

    def kept(*several: Row) -> float:
        ((row,), (_,)) = newest(several)
        return row.figures["latency_p50"].value

    assert kept(*metered, *plain) == 5000
    assert kept(*metered, *shipped(2e-8, 7000, "02")) == 7000
    assert kept(*rows(kernel(p50=5000), shipped=True), *plain) == 6000  # stale: its sources are not there
    local = [replace(row, origins=("local",)) for row in (*metered, *plain)]
    assert kept(*local) == 6000  # who measured again wants to see it


def test_same_run_is_the_same_host_within_an_hour_or_a_named_run() -> None:
    a, b, c, d = (
        rows(kernel(time=f"2026-01-01T{hour}:00+00:00", host=host))[0]
        for hour, host in (("00:00", "A"), ("00:59", "A"), ("01:01", "A"), ("00:00", "B"))
    )
    assert same_run(a, b)
    assert not same_run(a, c)
    assert not same_run(a, d)
    assert same_run(*(replace(row, conditions={"run": "7"}) for row in (a, d)))


def test_quality_is_attached_by_arithmetic_or_by_reference() -> None:
    known = {(q.workload, q.case, q.arithmetic): q.quality for q in rows(oracle("float", 0.99, 0.6))}
    exact, other, verified = rows(
        kernel(arithmetic="float"),
        kernel(arithmetic="fp16"),
        kernel(arithmetic="fp32", conditions={"reference": "float"}),
    )
    assert with_quality(exact, known).quality["efficiency"].value == 0.99
    assert with_quality(other, known).quality == {}
    attached = with_quality(verified, known)
    assert attached.quality["purity"].value == 0.6
    assert attached.notes == ("quality of the float reference",)


@pytest.mark.parametrize(
    ("batch", "said"),
    [(1, "1"), (4096, "4,096"), (2**20, "2^20"), (10_000, "10,000"), ("any", "any"), (None, "–")],
)
def test_batch_text(batch: int | str | None, said: str) -> None:
    assert batch_text(batch) == said


def test_of_several_ways_to_launch_the_fastest_is_shown() -> None:
    from compare.comparison import _one_launch
    from compare.plots import series_of

    slow, quick = kernel(1, 1e5, 9000, launch="queue"), kernel(1, 2e5, 5000, launch="graph")
    found = rows(slow, quick)
    assert [row.launch for row in _one_launch(found)] == ["graph"]
    (line,) = series_of(found)
    assert line.points("throughput")[2] == [2e5]
    assert line.points("latency_p50")[2] == [5000]


def test_equality_with_the_oracle_is_what_a_record_says_of_its_own_run() -> None:
    def proved(**conditions: object) -> str:
        return rows(kernel(conditions=conditions))[0].proved  # type: ignore[arg-type]

    assert proved() == ""
    assert proved(worst_difference=0.0, tolerance=0.0) == "fixed"
    assert proved(worst_difference=0, tolerance=0, reference="binary") == "binary"
    assert proved(worst_difference=0.0, tolerance=0.1) == "", "equal by chance, not by need"
    assert proved(worst_difference=0.0) == ""
    assert proved(worst_difference="0", tolerance=None) == ""
    assert proved(worst_difference=1.0, tolerance=0.0) == ""
