"""What a batch takes on each side, and the batch from which the GPU stays ahead.

A pipeline takes items one after the other: n items take the latency of the first and n - 1 intervals more, and its rate
is the same for any batch. A GPU takes a batch at a time, and was measured at some batches.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from compare.derive import band
from compare.record import Boundary
from compare.referee import Ratio, ratio
from compare.rows import Figure, Row

#: What is asked of a batch: how soon all of it is done, and how many items a second that makes.
TIME, RATE = "latency_p50", "throughput"
#: Below any figure: a band that reaches down to zero has no logarithm.
_LEAST = 1e-9
#: Relative difference of numbers that count as equal.
_CLOSE = 1e-9


def time_of(row: Row, batch: float) -> Figure | None:
    """Return the median time from the first item of a batch in to its last out, ns, or None where it is not known.

    For a pipeline that does not batch: latency + (batch - 1) / throughput, with the bands of both.
    """
    first, rate = row.figures.get(TIME), row.figures.get(RATE)
    if row.batch != "any" or first is None:
        return first if row.batch == batch else None
    if batch == 1 or rate is None:
        return first if batch == 1 else None
    (low, high), (slow, quick), more = band(first), band(rate), (batch - 1) * 1e9
    whole = replace(first, value=first.value + more / rate.value)
    if first.low is None and rate.low is None:
        return whole
    return replace(whole, low=low + more / quick, high=high + more / slow, spread=first.spread or rate.spread)


def at_batch(row: Row, batch: int) -> Row:
    """Return a pipeline's row as it stands at a batch: its latency is the time of the whole batch. Others stay."""
    if row.batch != "any":
        return row
    figures = {name: f for name, f in row.figures.items() if not name.startswith("latency")}
    if (whole := time_of(row, batch)) is not None:
        figures[TIME] = replace(whole, value=round(whole.value))
    return replace(row, batch=batch, figures=figures)


def curve(rows: Iterable[Row], figure: str) -> list[Row]:
    """Return the best row at each stated batch, in the order of batches: any way to launch counts.

    Rows without the figure, or with one that may not be printed, are left out.
    """
    best: dict[int, Row] = {}
    sign = -1 if figure == RATE else 1
    for row in rows:
        if isinstance(row.batch, int) and figure in row.figures and not row.figures[figure].lacking:
            rival = best.get(row.batch)
            if rival is None or sign * row.figures[figure].value < sign * rival.figures[figure].value:
                best[row.batch] = row
    return [best[batch] for batch in sorted(best)]


@dataclass(frozen=True)
class Crossing:
    """The smallest batch from which the GPU is ahead at every larger batch that was measured.

    None: not up to `last`. Equal to `first`: at every batch measured. `low` and `high` are what it would be were the
    GPU as good, or as bad, as its band and that of the FPGA allow. The curves meet at `meets`, between two measured
    batches, `between`; there the GPU's curve is a straight line in logarithms. `reason` says why the two may not be set
    side by side; empty where they may.
    """

    first: int = 0
    last: int = 0
    batch: int | None = None
    low: int | None = None
    high: int | None = None
    meets: float | None = None
    between: tuple[int, int] | None = None
    grades: tuple[str, str] = ("", "")
    reason: str = ""


@dataclass(frozen=True)
class Overtaking:
    """Where one GPU implementation overtakes one FPGA design: in the time of a batch, and in throughput."""

    fpga: Row
    gpu: Row
    time: Crossing
    rate: Crossing


def sides(rows: Iterable[Row]) -> tuple[list[Row], list[list[Row]]]:
    """Return the FPGA designs of one case whose time is known, and the GPU's rows, one list an implementation.

    Both at the kernel boundary. Where no GPU was measured CPUs stand for it. An implementation in two arithmetics
    counts as two.
    """
    timed = [row for row in rows if row.boundary == Boundary.KERNEL and RATE in row.figures]
    groups: dict[tuple[bool, str, str, str], list[Row]] = {}
    for row in [r for r in timed if r.kind == "gpu"] or [r for r in timed if r.kind == "cpu"]:
        groups.setdefault((row.tier != "product", row.device, row.implementation, row.arithmetic), []).append(row)
    return [row for row in timed if row.kind == "fpga"], [groups[key] for key in sorted(groups)]


def overtakings(rows: Iterable[Row]) -> Iterator[Overtaking]:
    """Yield where each GPU implementation overtakes each FPGA design; `rows` are of one case."""
    fpgas, gpus = sides(rows)
    for fpga in fpgas:
        for group in gpus:
            ways = " or ".join(dict.fromkeys(row.launch for row in group if row.launch))
            gpu = replace(group[0], batch=None, launch=ways)
            yield Overtaking(fpga, gpu, _crossing(fpga, group, TIME), _crossing(fpga, group, RATE))


def _crossing(fpga: Row, group: list[Row], figure: str) -> Crossing:
    points = curve(group, figure)
    if not points or figure not in fpga.figures:
        return Crossing(reason=f"{figure.replace('_', ' ')} of a side is not known")
    verdict = ratio(at_batch(fpga, _batch(points[-1])), points[-1], figure)
    if not isinstance(verdict, Ratio):
        return Crossing(reason=verdict.reason)
    batches = [_batch(row) for row in points]
    lows, values, highs = zip(*(_bounds(row.figures[figure]) for row in points), strict=True)
    ahead_of = partial(_from_where, batches, figure)
    if figure == RATE:
        met = [ahead_of(gpu, _at(fpga, figure, i)) for gpu, i in ((highs, 0), (values, 1), (lows, 2))]
    else:
        met = [ahead_of(gpu, _at(fpga, figure, i)) for gpu, i in ((lows, 2), (values, 1), (highs, 0))]
    low, batch, high = (None if at is None else math.ceil(at * (1 - _CLOSE)) for at in met)
    around = None
    if batch is not None and batch != batches[0]:
        right = bisect_left(batches, batch)
        around = (batches[right - 1], batches[right])
    return Crossing(batches[0], batches[-1], batch, low, high, met[1], around, verdict.grades)


def _batch(row: Row) -> int:
    assert isinstance(row.batch, int)
    return row.batch


def _bounds(f: Figure) -> tuple[float, float, float]:
    low, high = band(f)
    return low, f.value, high


def _at(fpga: Row, figure: str, bound: int) -> Callable[[float], float]:
    """Return a pipeline's figure by batch: its low (0), value (1) or high (2)."""

    def known(batch: float) -> float:
        f = fpga.figures[RATE] if figure == RATE else time_of(fpga, batch)
        assert f is not None
        return _bounds(f)[bound]

    return known


def _from_where(
    batches: Sequence[int], figure: str, values: Sequence[float], fpga: Callable[[float], float]
) -> float | None:
    """Return where a curve through the points meets the FPGA's to stay ahead: the first batch if it always is, or None.

    Halves the interval between the last measured batch at which it is behind and the next.
    """
    at, heights = np.log(batches), np.log(np.maximum(values, _LEAST))

    def ahead(n: float) -> bool:
        value = float(np.exp(np.interp(np.log(n), at, heights)))
        near = fpga(n) * (1 - _CLOSE if figure == RATE else 1 + _CLOSE)  # a logarithm and back is not exact
        return value >= near if figure == RATE else value <= near

    behind = [i for i, n in enumerate(batches) if not ahead(n)]
    if not behind:
        return batches[0]
    if behind[-1] == len(batches) - 1:
        return None
    start, end = (float(n) for n in batches[behind[-1] : behind[-1] + 2])
    while end > start * (1 + _CLOSE):
        middle = math.sqrt(start * end)
        start, end = (start, middle) if ahead(middle) else (middle, end)
    return end
