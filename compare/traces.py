"""How the energy of a system went over many steps, in each arithmetic, as records carry it.

A record of a trace has a measurement `points`, their number, and the conditions `trace` (see `pack`), `steps` from
point to point, `energy_unit` and `arithmetic`. A trace shows what one number, the drift, cannot: noise, jumps, a late
start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from compare import packed
from compare.record import Scalar
from compare.rows import Row, text
from compare.store import Problem

Energies = NDArray[np.float64]

#: Points of a trace: enough for a figure.
POINTS_AT_MOST = 2**14


@dataclass(frozen=True)
class Trace:
    """Energies an atom at equal distances of `steps`, in `unit`, and the row that they came in."""

    row: Row
    energies: Energies
    steps: int
    unit: str


def pack(energies: Energies, steps: int, unit: str) -> dict[str, Scalar]:
    """Return the conditions that carry energies (n,), one each `steps` steps. Errors: ValueError for another shape."""
    if energies.ndim != 1 or not 2 <= len(energies) <= POINTS_AT_MOST or not np.isfinite(energies).all():
        raise ValueError(f"a trace has 2 to {POINTS_AT_MOST:,} finite energies, got an array of {energies.shape}")
    raw = energies.astype("<f8").tobytes()
    return {"trace": packed.pack(raw), "steps": steps, "energy_unit": unit}


def is_trace(row: Row) -> bool:
    """Whether a row carries a trace."""
    return "points" in row.figures


def traces_of(rows: Iterable[Row]) -> tuple[tuple[Trace, ...], list[Problem]]:
    """Return the traces of rows, and those that cannot be read."""
    found: list[Trace] = []
    problems: list[Problem] = []
    for row in rows:
        try:
            found.append(_trace(row))
        except ValueError as error:
            problems.append(Problem(Path(row.implementation), 0, f"trace of {row.case} skipped: {error}"))
    return tuple(found), problems


def _trace(row: Row) -> Trace:
    count, steps = int(row.figures["points"].value), row.conditions.get("steps")
    if not 2 <= count <= POINTS_AT_MOST:
        raise ValueError(f"{count} points, a trace has 2 to {POINTS_AT_MOST:,}")
    if not isinstance(steps, int) or steps < 1:
        raise ValueError(f"steps from point to point must be a positive integer, got {steps!r}")
    energies = np.frombuffer(packed.unpack(row.conditions.get("trace"), 8 * count, f"{count} points"), "<f8")
    if not np.isfinite(energies).all():
        raise ValueError("not all energies are finite")
    return Trace(row, energies.astype(np.float64), steps, text(row.conditions.get("energy_unit")))
