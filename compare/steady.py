"""Large networks whose simulation affords only few items: their interval, borne out by what their layers count.

An engine that works off one layer after another takes at least the sum of its layers' own cycles from item to item,
whatever fills or empties at its ends. So an interval between two items that lies closely above that sum is no count
divided by a time in which something filled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from compare.record import Scalar
from compare.rows import LAYER, Row

#: An interval may be this much longer than the sum of its layers.
ABOVE = 0.05
#: Condition that such an interval gets: by how much it is longer, as a share.
BORNE_OUT = "interval_above_layers"
_Key = tuple[Scalar, ...]


def borne_out(simulations: Iterable[Row], layers: Iterable[Row]) -> list[Row]:
    """Return simulations, each with the condition BORNE_OUT where its layers bear out its interval."""
    sums: dict[_Key, float] = defaultdict(float)
    for row in layers:
        if cycles := row.figures.get("cycles"):
            sums[_key(row)] += cycles.value
    found = []
    for row in simulations:
        interval, least = row.figures.get("interval"), sums.get(_key(row))
        if interval is not None and least and 0 <= interval.value / least - 1 <= ABOVE:
            row = replace(row, conditions={**row.conditions, BORNE_OUT: interval.value / least - 1})
        found.append(row)
    return found


def _key(row: Row) -> _Key:
    """What a network and its layers have in common: all that makes a row, and the design."""
    identity = replace(row, conditions={k: v for k, v in row.conditions.items() if k != LAYER}, boundary=row.boundary)
    return (*identity.identity, row.conditions.get("design"), row.conditions.get("items"))
