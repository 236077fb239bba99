"""What the records say once they are read with care: sustained rates, the instrument's own error, drift between runs.

A record holds what one run saw. Its bands are the scatter inside that run. Three things make a careful reader widen or
choose before anything is compared, and each is done here, once, for every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from compare.derive import band
from compare.devices import UnknownDeviceError, device
from compare.record import Boundary, Record, Scalar
from compare.rows import DEVIATION, Figure, Row

#: Fact of a device: gain error of its own power sensor, as a share of the reading.
SENSOR_ERROR = "power_sensor_error"
_METERED = ("energy", "power", "idle_power")
_LATENCIES = ("latency_p50", "latency_p99")


def careful(rows: Iterable[Row]) -> list[Row]:
    """Return measured rows with sustained throughput and with the power sensor's error in the bands of energy."""
    return [_with_sensor_error(_sustained(row)) for row in rows]


def _sustained(row: Row) -> Row:
    """A device does at least what a program got out of it back to back.

    At the kernel boundary the isolated launches of a record give items over the time of one launch, in which the next
    launch does not overlap. The back-to-back launches of the same record, operands in device memory as well, may have
    done more; the largest of these rates is the throughput.
    """
    rates = _rates(row)
    return _with_rate(row, rates) if rates else row


def _rates(row: Row, statistic: str = "") -> list[Figure]:
    """Rates of a row, of one statistic where one is named; none where they were derived from cycles and a clock."""
    if "throughput" not in row.figures or row.boundary not in (Boundary.KERNEL, Boundary.HOST):
        return []
    cuts = {row.boundary, Boundary.HOST}
    return [
        Figure.of(m)
        for r in row.records
        for m in r.measurements
        if m.quantity == "throughput" and m.boundary in cuts and m.spread != DEVIATION  # runs: for their variation
        if m.statistic == statistic or not statistic
    ]


def _with_rate(row: Row, rates: list[Figure]) -> Row:
    best = replace(max(rates, key=lambda f: f.value), boundary=row.boundary)
    return replace(row, figures={**row.figures, "throughput": best})


def like_rates(over: Row, under: Row) -> tuple[Row, Row]:
    """Return two rows with rates of one statistic, which may be divided.

    The larger rate of one may be a median of rounds and that of the other the mean of an energy window. What the
    second row has at most counts where the first has a rate of that statistic too; else what the first has at most.
    """
    best = [row.figures["throughput"].statistic for row in (over, under) if "throughput" in row.figures]
    for statistic in reversed(best) if len(set(best)) == 2 else ():
        found = [_rates(row, statistic) for row in (over, under)]
        if all(found):
            return _with_rate(over, found[0]), _with_rate(under, found[1])
    return over, under


def _with_sensor_error(row: Row) -> Row:
    error = sensor_error(row.device)
    figures = dict(row.figures)
    for name in _METERED:
        if error and name in figures:
            f = figures[name]
            low, high = band(f)
            spread = " and ".join(filter(None, (f.spread, "sensor error")))
            figures[name] = replace(f, low=low * (1 - error), high=high * (1 + error), spread=spread)
    return replace(row, figures=figures)


def sensor_error(slug: str) -> float:
    """Return the relative error of a device's power sensor, 0 where no fact says it."""
    try:
        return device(slug).number(SENSOR_ERROR) or 0.0
    except UnknownDeviceError:
        return 0.0


def run_of(record: Record) -> tuple[Scalar, ...]:
    """Return what two records of one run have in common: the `run` condition, else the command and the host."""
    run = record.conditions.get("run")
    return (run,) if run is not None else (record.provenance.command, record.provenance.host)


def floors(rows: Iterable[Row]) -> dict[tuple[object, ...], tuple[float, float]]:
    """Return the least and the largest median of an empty launch, ns, seen in one run of one way to launch."""
    seen: dict[tuple[object, ...], tuple[float, float]] = {}
    for row in rows:
        if floor := row.figures.get("launch_floor"):
            low, high = seen.get(_way(row), (floor.value, floor.value))
            seen[_way(row)] = min(low, floor.value), max(high, floor.value)
    return seen


def with_drift(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows whose latencies carry the drift of a launch in their bands.

    The same empty kernel takes a different time at different moments of one run, by more than the scatter within a
    record. What a launch cost more or less than here at other moments, a latency may have cost more or less as well.
    """
    found = list(rows)
    seen = floors(found)
    for row in found:
        floor = row.figures.get("launch_floor")
        if floor is None:
            yield row
            continue
        least, most = seen[_way(row)]
        figures = dict(row.figures)
        for name in _LATENCIES:
            if f := figures.get(name):
                low, high = band(f)
                low, high = min(low, f.value - (floor.value - least)), max(high, f.value + (most - floor.value))
                spread = " and ".join(filter(None, (f.spread, "launch drift")))
                figures[name] = replace(f, low=max(low, 0.0), high=high, spread=spread, confident=not f.lacking)
        yield replace(row, figures=figures)


def _way(row: Row) -> tuple[object, ...]:
    return (row.device, row.implementation, row.launch, row.boundary, *(run_of(r) for r in row.records))
