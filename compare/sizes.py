"""From which system size on a GPU works off more pairs a second than an FPGA design.

A GPU is fast once a system fills it, so its pairs a second grow with the size; an FPGA engine's pipelines are as busy
with a small system as with a large one. So the rate of a design, known at one size, is taken as its rate at all sizes
that its memories hold; that is an assumption, and the crossing is modelled. Nothing is divided: systems of unlike size
are unlike cases. Sizes make a line only where the systems are of one kind and differ in nothing else: a pair takes as
many useful flops, and an atom has as many pairs to a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from compare.derive import band
from compare.motion import ATOMS, PAIRS, Systems
from compare.record import Boundary
from compare.referee import Ratio, Refusal, ratio
from compare.rows import Row

#: Systems whose pairs an atom differ by no more than this factor may be of one kind.
ALIKE = 1.1


@dataclass(frozen=True)
class Point:
    """A row, how many atoms its system has, and the number of the kind that the system is of."""

    atoms: float
    row: Row
    kind: int = 0

    @property
    def rate(self) -> float:
        """Pairs within the cutoff a second."""
        return self.row.figures[PAIRS].value

    @property
    def pairs(self) -> float:
        """Pairs within the cutoff of an atom, each pair counted once."""
        return self.rate / self.row.figures[ATOMS].value


@dataclass(frozen=True)
class SizeCrossing:
    """From how many atoms on the kernel of `points` (ascending) is ahead of the design of `fpga`.

    `low` and `high` come from the band of the FPGA's rate. `reason` says why there is no number: ahead at every size
    that was measured, at none, or not to be compared. `own` is the kernel over the design at the design's own case,
    which is of another kind perhaps; None where that was not measured or may not be divided.
    """

    fpga: Point
    points: tuple[Point, ...]
    atoms: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    own: Ratio | None = None

    @property
    def alike(self) -> bool:
        """Whether the systems of the line are of the kind that the design's own system is of."""
        return self.points[0].kind == self.fpga.kind


def points_of(rows: Iterable[Row], systems: Systems) -> list[Point]:
    """Return rows at the kernel boundary with their sizes, ascending; of a case, kernel and arithmetic the fastest."""
    best: dict[tuple[str, ...], Point] = {}
    kinds = _kinds(systems.values())
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
        point = Point(system.figures["atoms"].value, row, kinds[row.case])
        if key not in best or point.rate > best[key].rate:
            best[key] = point
    return sorted(best.values(), key=lambda p: p.atoms)


def _kinds(systems: Iterable[Row]) -> dict[str, int]:
    """Return the number of the kind of each case: that of the first system that is alike."""
    firsts: list[tuple[float | None, float]] = []
    found: dict[str, int] = {}
    for system in systems:
        figures = system.figures
        if not {"atoms", "pairs"} <= set(figures):
            continue
        flops = figures["flops"].value if "flops" in figures else None
        pairs = figures["pairs"].value / figures["atoms"].value
        alike = (i for i, (f, p) in enumerate(firsts) if f == flops and max(p, pairs) <= ALIKE * min(p, pairs))
        found[system.case] = next(alike, len(firsts))
        if found[system.case] == len(firsts):
            firsts.append((flops, pairs))
    return found


def series(row: Row) -> tuple[str, ...]:
    """What makes points of one kind of system one line."""
    return row.implementation, row.device, row.arithmetic


def lines_of(points: Iterable[Point]) -> dict[tuple[str, ...], list[list[Point]]]:
    """Return the lines of each series, one for each kind of system: the one of most sizes, or to larger ones, first."""
    found: dict[tuple[str, ...], dict[int, list[Point]]] = {}
    for point in points:
        found.setdefault(series(point.row), {}).setdefault(point.kind, []).append(point)
    return {key: sorted(lines.values(), key=lambda line: (-len(line), -line[-1].atoms)) for key, lines in found.items()}


def size_crossings(points: Sequence[Point]) -> tuple[SizeCrossing, ...]:
    """Set each FPGA design against each line of a GPU with at least two sizes."""
    lines = [line for each in lines_of(p for p in points if p.row.kind == "gpu").values() for line in each]
    fpgas = [point for point in points if point.row.kind == "fpga"]
    crossings = (_crossing(f, tuple(line)) for f in fpgas for line in lines if len(line) > 1)
    return tuple(replace(each, own=_own(each, points)) for each in crossings)


def _own(crossing: SizeCrossing, points: Sequence[Point]) -> Ratio | None:
    """Return the kernel of a line over the design at the design's own case, where both are known and may be divided."""
    fpga, key = crossing.fpga.row, series(crossing.points[0].row)
    there = [point.row for point in points if point.row.case == fpga.case and series(point.row) == key]
    found = [verdict for row in there if isinstance(verdict := ratio(row, fpga, PAIRS), Ratio)]
    return max(found, key=lambda verdict: verdict.value, default=None)


def _crossing(fpga: Point, line: tuple[Point, ...]) -> SizeCrossing:
    alike = ratio(replace(line[0].row, case=fpga.row.case), fpga.row, PAIRS)
    if isinstance(alike, Refusal):
        return SizeCrossing(fpga, line, reason=alike.reason)
    low, high = band(fpga.row.figures[PAIRS])
    found = [_meets(line, rate) for rate in (low, fpga.rate, high)]
    least, _, most = found
    if found[1] is None:
        ahead = line[0].rate > fpga.rate
        return SizeCrossing(fpga, line, reason="at every size measured" if ahead else "at no size measured")
    return SizeCrossing(fpga, line, found[1], least or line[0].atoms, most or line[-1].atoms)


def _meets(line: Sequence[Point], rate: float) -> float | None:
    """Return the size from which on a line stays above a rate, on straight lines of logarithms; None at an end."""
    below = [i for i, point in enumerate(line) if point.rate <= rate]
    if not below or below[-1] == len(line) - 1:
        return None
    a, b = line[below[-1]], line[below[-1] + 1]
    share = math.log(rate / a.rate) / math.log(b.rate / a.rate)
    return float(a.atoms * (b.atoms / a.atoms) ** share)
