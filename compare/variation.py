"""How much the throughput of a row varies: from run to run, between rounds by the device's clock, and in energy.

All are the sample standard deviation over the mean. From run to run it is that of windows of equal work, one after
another: a measurement `variation`, or a throughput whose `spread` is `std` and whose raw values are the runs. Launches
follow each other with operands in device memory, so it stands at the kernel boundary as the sustained rate does. A
pipeline whose every item takes as many cycles does not vary.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace

from compare.record import Boundary, Measurement, Stage
from compare.rows import DEVIATION, Figure, Row

RUNS = "variation"
#: Fewer values than these have no standard deviation worth a name: rounds of a rate, windows of energy.
ROUNDS_AT_LEAST = 5
WINDOWS_AT_LEAST = 3
#: The condition that says how much work each of several runs did.
LAUNCHES = "launches_per_run"


@dataclass(frozen=True)
class Variation:
    """What is known of the variation of one row.

    `runs` is from run to run, or exactly nothing for a pipeline; `rounds` between rounds of launches by the device's
    clock, `energy` between windows of the meter.
    """

    row: Row
    runs: Figure | None
    rounds: Figure | None
    energy: Figure | None

    @property
    def exact(self) -> bool:
        """Whether it is none by construction."""
        return self.runs is not None and self.runs.statistic == "exact"

    @property
    def counted(self) -> bool:
        """Whether it was counted in a simulation's cycles."""
        return self.runs is not None and self.runs.stages == (Stage.SIMULATED,)

    @property
    def run(self) -> str:
        """What one run was, or empty where nobody repeated any."""
        if self.runs is None or self.counted:
            return ""
        count = next((r.conditions[LAUNCHES] for r in self.row.records if LAUNCHES in r.conditions), None)
        return f"{count:,} launches one after another" if isinstance(count, int) else "as its record says"


def is_variation(row: Row) -> bool:
    """Whether a row only says how much others vary."""
    return RUNS in row.figures and "throughput" not in row.figures


def with_variation(rows: Iterable[Row], apart: Iterable[Row]) -> list[Row]:
    """Return rows with the variation that their records state or let be computed, or records of its own state."""
    known = {row.identity: row for row in apart}
    found = []
    for row in rows:
        if RUNS not in row.figures and (figure := _of_runs(row)):
            row = replace(row, figures={**row.figures, RUNS: figure})
        other = known.get(row.identity)
        if other is not None and RUNS not in row.figures:
            row = replace(
                row,
                figures={**row.figures, RUNS: other.figures[RUNS]},
                records=(*row.records, *other.records),
                origins=(*row.origins, *other.origins),
                stale=(*row.stale, *other.stale),
            )
        found.append(row)
    return found


def variations(rows: Iterable[Row]) -> tuple[Variation, ...]:
    """Return the variation of rows at the kernel boundary, pipelines among them.

    Empty when nobody repeated a run: then there is nothing to set a pipeline against.
    """
    found = [variation(row) for row in rows if row.boundary == Boundary.KERNEL]
    if not any(v.run for v in found):
        return ()
    return tuple(v for v in found if v.exact or v.runs or v.rounds)


def variation(row: Row) -> Variation:
    """Return what the records of a row say of its variation."""
    return Variation(
        row,
        row.figures.get(RUNS),
        _spread(row, "throughput", Boundary.KERNEL, ROUNDS_AT_LEAST),
        _spread(row, "energy", None, WINDOWS_AT_LEAST),
    )


def _of_runs(row: Row) -> Figure | None:
    """The variation of runs of equal work that a record of a row at the kernel or host boundary keeps."""
    runs = [
        m
        for record in row.records
        for m in record.measurements
        if (m.quantity, m.spread) == ("throughput", DEVIATION) and m.boundary in (row.boundary, Boundary.HOST)
    ]
    if row.boundary not in (Boundary.KERNEL, Boundary.HOST) or not runs or len(runs[0].values) < ROUNDS_AT_LEAST:
        return None
    found = relative_deviation(runs[0])
    low, high = deviation_band(found, len(runs[0].values))
    return Figure(
        RUNS, found, "1", "std", len(runs[0].values), row.boundary, (runs[0].stage,), low, high, "ci95"
    )  # fmt: skip


def deviation_band(deviation: float, n: int) -> tuple[float, float]:
    """Return the 95 % confidence band of a standard deviation of n normal values.

    s √(k / χ²) with k = n - 1 at χ²(0.975) and χ²(0.025), these after Wilson and Hilferty (1931), within 4 % of
    it for n = 5 and 0.2 % from n = 30 on: χ² = k (1 - 2 / (9 k) + z √(2 / (9 k)))³ with z = ± 1.96.
    """
    k = n - 1
    part = 2 / (9 * k)
    low, high = (deviation * math.sqrt(1 / (1 - part + z * math.sqrt(part)) ** 3) for z in (1.96, -1.96))
    return low, high


def _spread(row: Row, quantity: str, cut: Boundary | None, least: int) -> Figure | None:
    """Standard deviation over mean of the raw values that a record of the row keeps of a quantity, runs apart."""
    taken = [
        m
        for record in row.records
        for m in record.measurements
        if m.quantity == quantity and cut in (None, m.boundary) and len(m.values) >= least and min(m.values) > 0
        if m.spread != DEVIATION
    ]
    if not taken:
        return None
    m = taken[0]
    return Figure(RUNS, relative_deviation(m), "1", "std", len(m.values), m.boundary, (m.stage,))


def relative_deviation(m: Measurement) -> float:
    """Return the sample standard deviation over the mean of a measurement's raw values."""
    return statistics.stdev(m.values) / statistics.fmean(m.values)
