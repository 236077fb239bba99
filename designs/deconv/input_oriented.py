"""`designs/deconv/input_oriented`: every input meets the whole kernel, and overlapping sums are added in the array.

The array of Wang et al. (arXiv 1903.02550): TM x TN x TZ x TR x TC multipliers, 2D and 3D by configuration at run time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from compare.record import Record
from designs.deconv import builds, evidence
from designs.deconv.config import ENGINES_OF, Dataflow
from workloads.api import Check, Progress

NAME = "designs/deconv/input_oriented"
DATAFLOW: Dataflow = "input_oriented"
CASES = tuple(ENGINES_OF[DATAFLOW])
TIER = "product"
ARITHMETICS = ("fixed8", "fixed16")

#: Items of a check at most.
LARGEST: Mapping[str, int] = {"digits": 128, "mnist": 24, "celeba": 8, "dcgan": 2, "gan3d": 2, "vnet": 2}

#: Cases whose check takes seconds; the others take minutes, and their outcomes are in the shipped records.
QUICK = ("digits", "mnist")

#: Part without a board and the engine that is meant for it.
PARTS: Mapping[str, str] = {"xc7vx690t": "vc709"}


def verify(case: str, *, samples: int = 10_000, seed: int = 1, progress: Progress | None = None) -> Iterator[Check]:
    """Simulate a case on each of its engines; see `designs.deconv.evidence.verify_on`."""
    return evidence.verify(NAME, DATAFLOW, case, samples=samples, seed=seed, progress=progress, largest=LARGEST[case])


def fits(case: str, board: str) -> bool:
    """Whether a case has an engine for a board."""
    return builds.fits(DATAFLOW, case, board)


def fits_part(case: str, part: str) -> bool:
    """Whether a case has an engine for a part."""
    return builds.fits_part(DATAFLOW, case, part, PARTS)


def build(
    case: str, *, board: str, seeds: int = 10, out: Path | None = None, progress: Progress | None = None
) -> Iterator[Record]:
    """Place and route behind the board's serial port; see `designs.deconv.builds.build`."""
    return builds.build(NAME, DATAFLOW, case, board=board, seeds=seeds, out=out, progress=progress)


def build_part(case: str, *, part: str, seeds: int = 10, progress: Progress | None = None) -> Iterator[Record]:
    """Resources of the engine on its part; see `designs.deconv.builds.build_part`."""
    return builds.build_part(NAME, DATAFLOW, case, part=part, engines=PARTS, progress=progress)
