"""Tables of what depends on the batch: times and rates side by side, and from which batch the GPU is ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compare import text
from compare.batches import RATE, TIME, Crossing, Overtaking, curve, sides, time_of
from compare.grid import Table, table
from compare.rows import Figure, Row, batch_text

OVERTAKING = "The batch from which the GPU is ahead, at the kernel boundary (≤: at every batch measured; >: at none)"


def overtaking(found: Iterable[Overtaking]) -> Table:
    """Return the table of the batches at which GPUs overtake FPGA designs, each with its band."""
    return table(
        OVERTAKING,
        found,
        {
            "case": lambda o: o.fpga.case,
            "FPGA": lambda o: name_of(o.fpga),
            "GPU": lambda o: name_of(o.gpu),
            "launch": lambda o: o.gpu.launch or text.MISSING,
            "in time of a batch": lambda o: crossing(o.time),
            "in throughput": lambda o: crossing(o.rate),
            "evidence": _evidence,
        },
        ("in time of a batch", "in throughput"),
    )


def crossing(found: Crossing) -> str:
    """Return a crossing with its band: `11 [10–12]`, `≤ 1` when ahead at every batch, `> 4,096` when at none."""
    if found.reason:
        return text.MISSING
    value, low, high = (_batch(found, batch) for batch in (found.batch, found.low, found.high))
    return value if value == low == high else f"{value} [{low} – {high}]"


def _batch(found: Crossing, batch: int | None) -> str:
    if batch is None:
        return f"> {batch_text(found.last)}"
    return f"≤ {batch_text(found.first)}" if batch == found.first else batch_text(batch)


def _evidence(o: Overtaking) -> str:
    """Say between which measured batches each crossing lies, how the two sides are known, and what was refused."""
    both = (("time", o.time), ("throughput", o.rate))
    said = [f"{name} between {' and '.join(map(batch_text, f.between))}" for name, f in both if f.between]
    grades = next((found.grades for _, found in both if not found.reason), ())
    reasons: dict[str, list[str]] = {}
    for name, found in both:
        if found.reason:
            reasons.setdefault(found.reason, []).append(name)
    refused = [f"{' and '.join(names)} refused: {reason}" for reason, names in reasons.items()]
    return "; ".join(filter(None, (", ".join(said), " against ".join(dict.fromkeys(grades)), *refused)))


def by_batch(case: str, rows: Iterable[Row]) -> Iterator[Table]:
    """Yield one table of a case: by batch, the time until all of it is done and the items a second, on every side.

    A pipeline does not batch: n items take its latency and n - 1 intervals. Of a GPU implementation the best launch.
    """
    fpgas, gpus = sides(rows)
    times, rates = ([curve(group, figure) for group in gpus] for figure in (TIME, RATE))
    batches = sorted({row.batch for rows in times for row in rows if isinstance(row.batch, int)})
    if not batches:
        return
    devices = {group[0].device for group in gpus}
    device = devices.pop() if len(devices) == 1 else "several"
    names = [f"{short(row)} on {place(row)}" for row in fpgas]
    for row, *_ in gpus:
        names.append(f"{short(row)} {row.arithmetic}" + (f" on {row.device}" if device == "several" else ""))
    lines = []
    for batch in batches:
        done = [time_of(row, batch) for row in fpgas] + [_at(points, batch, TIME) for points in times]
        rate = [row.figures.get(RATE) for row in fpgas] + [_at(points, batch, RATE) for points in rates]
        lines.append((batch_text(batch), *map(_cell, done, rate)))
    title = f"{case}, batch by batch: until all is done, and items a second (kernel boundary; GPU: {device})"
    yield Table(title, ("batch", *names), tuple(lines), frozenset(("batch", *names)), long=True)


def _at(points: list[Row], batch: int, figure: str) -> Figure | None:
    return next((row.figures[figure] for row in points if row.batch == batch), None)


def _cell(done: Figure | None, rate: Figure | None) -> str:
    said = [text.time(done, banded=False)] if done else []
    return ", ".join([*said, *([f"{text.si(rate.value, '')}/s"] if rate else [])]) or text.MISSING


def short(row: Row) -> str:
    """Return `gpu/opencl` for `gpu/track/opencl`, where the workload is named elsewhere."""
    return row.implementation.replace(f"/{row.workload}/", "/")


def place(row: Row) -> str:
    """Return the device, and the clock where that is assumed."""
    return row.device + (f", {row.assumed_clock / 1e6:g} MHz assumed" if row.assumed_clock else "")


def name_of(row: Row) -> str:
    """Return what stands for a whole series: implementation, arithmetic, device, assumed clock."""
    return f"{short(row)} {row.arithmetic} on {place(row)}"
