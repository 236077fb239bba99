"""Operations of an item, and what they make of a throughput: useful and equivalent ones, side by side, never mixed.

A multiply-accumulate is two operations. *Useful* are those of every input with the whole kernel, as publications count
them; *kept* those whose product reaches an output; *equivalent* those of a convolution over inputs with zeros between
them, which nobody has to compute. A count follows from the shapes of a case, so it adds neither a band nor a stage to
the throughput that it multiplies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from compare.derive import band
from compare.rows import Figure, Row

OPERATIONS = ("operations.useful", "operations.kept", "operations.equivalent")
#: The kinds of operation that a rate is stated in. One is never divided by the other.
KINDS = ("useful", "equivalent")
#: Operations of a case by their name, such as `operations.useful`.
Counts = Mapping[str, Figure]
SAVING = "saving"


def counts_of(rows: Iterable[Row]) -> dict[tuple[str, str], Counts]:
    """Return the operations of an item by workload and case, from the rows of the oracle that count them."""
    return {(row.workload, row.case): row.figures for row in rows if is_count(row)}


def is_count(row: Row) -> bool:
    """Whether a row of the oracle counts operations."""
    return OPERATIONS[0] in row.figures


def with_saving(row: Row) -> Row:
    """Return a row that counts operations with how many equivalent ones there are to a useful one of the same item.

    It is a fact about the case. As a factor between two rates it would be the mixture that the referee refuses.
    """
    useful, equivalent = (row.figures.get(f"operations.{kind}") for kind in KINDS)
    if useful is None or equivalent is None or not useful.value:
        return row
    figure = replace(equivalent, quantity=SAVING, value=equivalent.value / useful.value, unit="1")
    return replace(row, figures={**row.figures, SAVING: figure})


def with_operations(row: Row, counts: Mapping[tuple[str, str], Counts]) -> Row:
    """Return the row with operations a second, and a joule where its energy is known, in each kind that is counted.

    Rates, op/s, are throughput times operations of an item; efficiencies, op/J (op/s/W), operations of an item over
    its energy, so power and rate are of one run. Bands, stages, boundary and samples are those of what was measured.
    """
    known = counts.get((row.workload, row.case), {})
    figures = dict(row.figures)
    for kind in KINDS:
        count = known.get(f"operations.{kind}")
        if count is None or not count.value:
            continue
        if rate := row.figures.get("throughput"):
            figures[f"rate.{kind}"] = rate.times(count.value, f"rate.{kind}", "op/s")
        if (energy := row.figures.get("energy")) and band(energy)[0] > 0:
            lowest, highest = band(energy)
            wide = energy.low is not None
            figures[f"efficiency.{kind}"] = replace(
                energy, quantity=f"efficiency.{kind}", value=count.value / energy.value, unit="op/J",
                low=count.value / highest if wide else None, high=count.value / lowest if wide else None,
            )  # fmt: skip
    return replace(row, figures=figures)
