"""What a board drew during a run, as a user's meter told it: a figure, or a file of samples.

Unknown stays empty: no board here has a meter of its own that could be read over its cable.
"""

from __future__ import annotations

import csv
import math
import statistics
from dataclasses import dataclass, replace
from pathlib import Path

from compare.record import Boundary, Measurement, Stage

#: Where power may be cut: the core's rail, the whole board, or the socket.
BOUNDARIES = (Boundary.CHIP, Boundary.BOARD, Boundary.SYSTEM)

#: Column of a meter's file that holds the power.
COLUMN = "watts"

#: Fewest samples of a file.
SAMPLES = 2


class PowerError(ValueError):
    """A power without its source or boundary, or a file that holds none; the message says what is missing."""


@dataclass(frozen=True)
class Power:
    """Watts with what they are of: `values` as read, `source` the meter, `boundary` where it sits."""

    values: tuple[float, ...]
    source: str
    boundary: Boundary

    @property
    def measurement(self) -> Measurement:
        """Mean and range."""
        mean = statistics.fmean(self.values)
        count = len(self.values)
        one = Measurement("power", mean, "W", "mean", count, Stage.MEASURED, self.boundary)
        return one if count == 1 else replace(one, low=min(self.values), high=max(self.values), spread="min-max")


def given(watts: float | None, file: Path | None, source: str, boundary: str) -> Power | None:
    """The power that a user gives, or None for none. Errors: PowerError."""
    if watts is None and file is None:
        if source or boundary:
            raise PowerError("a meter without a reading: give --power-watts or --power-csv as well")
        return None
    if watts is not None and file is not None:
        raise PowerError("both --power-watts and --power-csv: give one of them")
    if not source:
        raise PowerError('power without its source: say which meter, as in --power-source "INA226 at the 5 V rail"')
    if boundary not in BOUNDARIES:
        what = f"unknown power boundary {boundary!r}" if boundary else "power without a boundary"
        raise PowerError(f"{what}: give --power-boundary {', '.join(BOUNDARIES[:-1])} or {BOUNDARIES[-1]}")
    values = read(file) if file is not None else (float(watts or 0.0),)
    for value in values:
        if not (math.isfinite(value) and value > 0):
            raise PowerError(f"a power of {value:g} W; it must be above 0")
    return Power(values, source, Boundary(boundary))


def read(file: Path) -> tuple[float, ...]:
    """The column `watts` of a CSV file. Errors: PowerError naming the file and the line."""
    try:
        with file.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PowerError(f"{file}: cannot be read: {error}") from None
    if not rows or COLUMN not in rows[0]:
        raise PowerError(f"{file}: no column {COLUMN!r}; the first line names the columns, such as seconds,{COLUMN}")
    values = []
    for number, row in enumerate(rows, start=2):
        try:
            values.append(float(row[COLUMN]))
        except (TypeError, ValueError):
            raise PowerError(f"{file}:{number}: {row[COLUMN]!r} is no number of watts") from None
    if len(values) < SAMPLES:
        raise PowerError(f"{file}: {len(values)} sample; a file of samples has at least {SAMPLES}")
    return tuple(values)
