"""Large networks whose simulation affords only few items: their interval, borne out by what their layers count.

An engine that works off one layer after another takes at least the sum of its layers' own cycles from item to item,
whatever fills or empties at its ends. So an interval between two items that lies close to that sum is no count divided
by a time in which something filled; of the two the longer counts, and both are its band.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from compare.record import Scalar
from compare.rows import LAYER, Figure, Row

#: An interval may differ this much from the sum of its layers, as a share.
APART = 0.05
#: Fewer items than this at the pins give no interval by themselves.
ITEMS_AT_LEAST = 8
#: Condition that such an interval gets: by how much it differs.
BORNE_OUT = "interval_from_layers"
_Key = tuple[Scalar, ...]


def borne_out(simulations: Iterable[Row], layers: Iterable[Row]) -> list[Row]:
    """Return simulations, those of few items with the condition BORNE_OUT where their layers bear out the interval."""
    sums: dict[_Key, float] = defaultdict(float)
    for row in layers:
        if cycles := row.figures.get("cycles"):
            sums[_key(row)] += cycles.value
    found = []
    for row in simulations:
        interval, least = row.figures.get("interval"), sums.get(_key(row))
        if interval is not None and least and items_of(row, interval) < ITEMS_AT_LEAST:
            apart = interval.value / least - 1
            if abs(apart) <= APART:
                low, high = sorted((interval.value, least))
                longer = replace(
                    interval, value=high, statistic="mean", low=low, high=high, spread="interval and layers"
                )
                row = replace(
                    row, figures={**row.figures, "interval": longer}, conditions={**row.conditions, BORNE_OUT: apart}
                )
        found.append(row)
    return found


def items_of(row: Row, interval: Figure) -> int:
    """Items at the pins: one more than there are steps between them, where a record says so."""
    items = row.conditions.get("items")
    return items if isinstance(items, int) else interval.samples


def _key(row: Row) -> _Key:
    """What a network and its layers have in common: all that makes a row, and the design."""
    identity = replace(row, conditions={k: v for k, v in row.conditions.items() if k != LAYER}, boundary=row.boundary)
    return (*identity.identity, row.conditions.get("design"), row.conditions.get("items"))
