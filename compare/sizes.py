"""From which system size on a GPU works off more pairs a second than an FPGA design.

A GPU is fast once a system fills it, so its pairs a second grow with the size; an FPGA engine's pipelines are as busy
with a small system as with a large one. So the rate of a design, known at one size, is taken as its rate at all sizes
that its memories hold; that is an assumption, and the crossing is modelled. Nothing is divided: systems of unlike size
are unlike cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from compare.derive import band
from compare.motion import PAIRS, Systems
from compare.record import Boundary
from compare.referee import Refusal, ratio
from compare.rows import Row


@dataclass(frozen=True)
class Point:
    """A row and how many atoms its system has."""

    atoms: float
    row: Row

    @property
    def rate(self) -> float:
        """Pairs within the cutoff a second."""
        return self.row.figures[PAIRS].value


@dataclass(frozen=True)
class SizeCrossing:
    """From how many atoms on the kernel of `points` (ascending) is ahead of the design of `fpga`.

    `low` and `high` come from the band of the FPGA's rate. `reason` says why there is no number: ahead at every size
    that was measured, at none, or not to be compared.
    """

    fpga: Point
    points: tuple[Point, ...]
    atoms: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


def points_of(rows: Iterable[Row], systems: Systems) -> list[Point]:
    """Return rows at the kernel boundary with their sizes, ascending; of a case, kernel and arithmetic the fastest."""
    best: dict[tuple[str, ...], Point] = {}
    for row in rows:
        system = systems.get((row.workload, row.case))
        if (
            system is None
            or PAIRS not in row.figures
            or row.boundary != Boundary.KERNEL
            or "atoms" not in system.figures
        ):
            continue
        key = (*series(row), row.case, row.array)
        point = Point(system.figures["atoms"].value, row)
        if key not in best or point.rate > best[key].rate:
            best[key] = point
    return sorted(best.values(), key=lambda p: p.atoms)


def series(row: Row) -> tuple[str, ...]:
    """What makes points one line."""
    return row.implementation, row.device, row.arithmetic


def size_crossings(points: Sequence[Point]) -> tuple[SizeCrossing, ...]:
    """Set each FPGA design against each line of a GPU with at least two sizes."""
    lines: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        if point.row.kind == "gpu":
            lines.setdefault(series(point.row), []).append(point)
    fpgas = [point for point in points if point.row.kind == "fpga"]
    return tuple(_crossing(f, tuple(line)) for f in fpgas for line in lines.values() if len(line) > 1)


def _crossing(fpga: Point, line: tuple[Point, ...]) -> SizeCrossing:
    alike = ratio(*_as_one_case(line[0].row, fpga.row), PAIRS)
    if isinstance(alike, Refusal):
        return SizeCrossing(fpga, line, reason=alike.reason)
    low, high = band(fpga.row.figures[PAIRS])
    found = [_meets(line, rate) for rate in (low, fpga.rate, high)]
    least, _, most = found
    if found[1] is None:
        ahead = line[0].rate > fpga.rate
        return SizeCrossing(fpga, line, reason="at every size measured" if ahead else "at no size measured")
    return SizeCrossing(fpga, line, found[1], least or line[0].atoms, most or line[-1].atoms)


def _as_one_case(gpu: Row, fpga: Row) -> tuple[Row, Row]:
    """Return both as rows of one case, with the quality that is known of both: not every size has a drift."""
    both = set(gpu.quality) & set(fpga.quality)
    a, b = (replace(row, quality={name: row.quality[name] for name in both}) for row in (gpu, fpga))
    return replace(a, case=fpga.case), b


def _meets(line: Sequence[Point], rate: float) -> float | None:
    """Return the size from which on a line stays above a rate, on straight lines of logarithms; None at an end."""
    below = [i for i, point in enumerate(line) if point.rate <= rate]
    if not below or below[-1] == len(line) - 1:
        return None
    a, b = line[below[-1]], line[below[-1] + 1]
    share = math.log(rate / a.rate) / math.log(b.rate / a.rate)
    return float(a.atoms * (b.atoms / a.atoms) ** share)
