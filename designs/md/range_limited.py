"""`designs/md/range_limited`: the whole time-step loop of range-limited forces on one chip, no host between steps.

Home cell and 13 neighbours of the half shell, filters before each force pipeline, forces by table, sums of both
particles of a pair, motion and migration between cells; see `docs/md.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from compare.record import Record
from designs.md import builds, evidence
from designs.md.config import ENGINE_OF
from workloads.api import Check, Progress

NAME = "designs/md/range_limited"
CASES = tuple(ENGINE_OF)
TIER = "product"
ARITHMETICS = (evidence.ARITHMETIC,)

#: Steps of a check at most; an interval needs eight after the first.
LARGEST: Mapping[str, int] = {"lj864": 100, "argon20k": 9}

#: Cases whose check takes a minute; the other takes long to compile and to run: its outcome is in the shipped records.
QUICK = ("lj864",)


def verify(case: str, *, samples: int = 10_000, seed: int = 1, progress: Progress | None = None) -> Iterator[Check]:
    """Simulate steps of a case on its engine; see `designs.md.evidence.verify`."""
    return evidence.verify(NAME, case, samples=samples, seed=seed, progress=progress, largest=LARGEST[case])


def fits(case: str, board: str) -> bool:
    """Whether a case has an engine for a board."""
    return builds.fits(case, board)


def fits_part(case: str, part: str) -> bool:
    """Whether a case has an engine for a part."""
    return builds.fits_part(case, part)


def build(
    case: str, *, board: str, seeds: int = 10, out: Path | None = None, progress: Progress | None = None
) -> Iterator[Record]:
    """Place and route behind the board's serial port; see `designs.md.builds.build`."""
    return builds.build(NAME, case, board=board, seeds=seeds, out=out, progress=progress)


def build_part(case: str, *, part: str, seeds: int = 10, progress: Progress | None = None) -> Iterator[Record]:
    """Resources of the engine on its part; see `designs.md.builds.build_part`."""
    return builds.build_part(NAME, case, part=part, progress=progress)
