"""How much the throughput of a row varies: from run to run, between the rounds of one run, and in energy.

All are the standard deviation over the mean. Between rounds it follows from the raw values that a record keeps; from
run to run somebody had to repeat the run. A pipeline whose every item takes as many cycles does not vary.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace

from compare.record import Boundary, Measurement
from compare.rows import Figure, Row

RUNS = "variation"
#: Fewer values than these have no standard deviation worth a name: rounds of a rate, windows of energy.
ROUNDS_AT_LEAST = 5
WINDOWS_AT_LEAST = 3
#: What one run was: the condition of a record that says so.
RUN = "variation_run"


@dataclass(frozen=True)
class Variation:
    """What is known of the variation of one row.

    `runs` is from run to run, or exactly nothing for a pipeline; `rounds` and `host_rounds` are between the rounds of
    one run, at the kernel and the host boundary; `energy` between windows.
    """

    row: Row
    runs: Figure | None
    rounds: Figure | None
    host_rounds: Figure | None
    energy: Figure | None

    @property
    def known(self) -> bool:
        """Whether anything but that a pipeline is steady is known."""
        return any((self.rounds, self.host_rounds, self.energy)) or (self.runs is not None and not self.exact)

    @property
    def exact(self) -> bool:
        """Whether it is none by construction."""
        return self.runs is not None and self.runs.statistic == "exact"

    @property
    def run(self) -> str:
        """What one run was, or empty where no record says."""
        return next((str(r.conditions[RUN]) for r in self.row.records if RUN in r.conditions), "")


def is_variation(row: Row) -> bool:
    """Whether a row only says how much others vary."""
    return RUNS in row.figures and "throughput" not in row.figures


def with_variation(rows: Iterable[Row], apart: Iterable[Row]) -> list[Row]:
    """Return rows with the variation that records of their own state for them."""
    known = {row.identity: row for row in apart}
    found = []
    for row in rows:
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
    """Return what is known of the variation of rows at the kernel boundary, pipelines among them.

    Empty when it is known of none but pipelines: then there is nothing to set them against.
    """
    found = [variation(row) for row in rows if row.boundary == Boundary.KERNEL]
    if not any(v.known for v in found):
        return ()
    return tuple(v for v in found if v.known or v.exact)


def variation(row: Row) -> Variation:
    """Return what the records of a row say of its variation."""
    return Variation(
        row,
        row.figures.get(RUNS),
        _spread(row, "throughput", Boundary.KERNEL, ROUNDS_AT_LEAST),
        _spread(row, "throughput", Boundary.HOST, ROUNDS_AT_LEAST),
        _spread(row, "energy", None, WINDOWS_AT_LEAST),
    )


def _spread(row: Row, quantity: str, cut: Boundary | None, least: int) -> Figure | None:
    """Standard deviation over mean of the longest list of raw values that a record of the row keeps of a quantity."""
    taken = [
        m
        for record in row.records
        for m in record.measurements
        if m.quantity == quantity and cut in (None, m.boundary) and len(m.values) >= least and min(m.values) > 0
    ]
    if not taken:
        return None
    longest = max(taken, key=lambda m: len(m.values))
    return Figure(
        RUNS, relative_deviation(longest), "1", "std", len(longest.values), longest.boundary, (longest.stage,)
    )


def relative_deviation(m: Measurement) -> float:
    """Return the sample standard deviation over the mean of a measurement's raw values."""
    return statistics.stdev(m.values) / statistics.fmean(m.values)
