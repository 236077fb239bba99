"""What papers claim, and how each claim is put to the test: data, `compare/claims/<workload>.toml`.

No result stands there; `compare.judge` works each out from the rows of the moment.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from compare.record import UNITS, Boundary, Stage
from compare.rows import BUSY

FOLDER = Path(__file__).with_name("claims")

#: How a claim is known to us.
TRUST = {
    "abstract": "read in the abstract",
    "text": "read in the paper",
    "memory": "recalled, not verified",
    "derived": "follows from other figures of the paper, some of them recalled",
}

#: A side of a test: rows whose attributes match these patterns.
Selector = Mapping[str, str]
_SELECTED_BY = ("kind", "implementation", "device", "arithmetic", "launch", "tier", "array")
_FIGURES = (*UNITS, "latency_p50", "latency_p99", BUSY, f"{BUSY}.kept")


class ClaimError(ValueError):
    """A file of claims breaks its form; the message names the file, the claim and the field."""


@dataclass(frozen=True)
class Trial:
    """One question that decides a claim, or a part of it.

    `quantity` is a figure of a row. With `under` the ratio `over` / `under` is asked for; with `across` the largest
    over the smallest of these conditions of a row's records, the figure as taken in several ways; with `same` whether
    that condition of the rows of both sides is the same; else the figure itself, times `times` (such as operations per
    item, in `unit`). Each side is a list of selectors, of which the first with a known figure counts, and of its rows
    the best. Bounds: `at_least`, `at_most`, or `about` within a factor `within`. `needs` is the weakest stage that can
    decide it, and `why` says why. `batch` holds for rows that batch. A side is of the claim's case unless it names one.
    """

    what: str
    quantity: str
    over: Sequence[Selector]
    under: Sequence[Selector] = ()
    over_batch: int | None = None
    under_batch: int | None = None
    boundary: Boundary = Boundary.KERNEL
    across: Sequence[str] = ()
    same: str = ""
    over_case: str = ""
    under_case: str = ""
    times: float = 1.0
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None
    about: float | None = None
    within: float = 1.0
    needs: Stage | None = None
    why: str = ""

    def __post_init__(self) -> None:
        if self.quantity not in _FIGURES:
            raise ClaimError(f"quantity {self.quantity!r} is not one of {', '.join(_FIGURES)}")
        if sum(bound is not None for bound in (self.at_least, self.at_most, self.about, self.same or None)) != 1:
            raise ClaimError(f"{self.what}: give one of at_least, at_most, about and same")
        if self.same and not self.under:
            raise ClaimError(f"{self.what}: same needs a selector for `under`")
        if self.about is not None and self.within <= 1:
            raise ClaimError(f"{self.what}: about needs a factor `within` above 1, got {self.within}")
        if not self.over:
            raise ClaimError(f"{self.what}: no selector for `over`")

    @property
    def bounds(self) -> tuple[float, float]:
        """Where the value lies when the claim holds."""
        if self.about is not None:
            return self.about / self.within, self.about * self.within
        return self.at_least or 0.0, math.inf if self.at_most is None else self.at_most


@dataclass(frozen=True)
class Claim:
    """What a paper says: `text`, its `figure` as printed, and how well we know that it says so."""

    name: str
    case: str
    text: str
    figure: str
    paper: str
    trust: str
    tests: tuple[Trial, ...]
    note: str = ""

    def __post_init__(self) -> None:
        if self.trust not in TRUST:
            raise ClaimError(f"trust {self.trust!r} is not one of {', '.join(TRUST)}")
        if not self.tests:
            raise ClaimError("a claim needs a test")

    @property
    def cases(self) -> set[str]:
        """The cases whose rows decide it."""
        named = {case for test in self.tests for case in (test.over_case, test.under_case) if case}
        return {self.case, *named}


def load_claims(workload: str, folder: Path = FOLDER) -> tuple[Claim, ...]:
    """Return the claims about a workload, none where nobody wrote any down.

    Errors: ClaimError, naming file and claim.
    """
    path = folder / f"{workload}.toml"
    if not path.is_file():
        return ()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ClaimError(f"{path.name}: {error}") from None
    sides = data.get("sides", {})
    found = []
    for entry in data.get("claim", []):
        try:
            tests = tuple(_test(test, sides) for test in entry.pop("test", []))
            found.append(Claim(tests=tests, **entry))
        except (TypeError, ValueError) as error:
            raise ClaimError(f"{path.name}: claim {entry.get('name', '?')!r}: {error}") from None
    return tuple(found)


def _test(entry: dict[str, Any], sides: Mapping[str, Sequence[Selector]]) -> Trial:
    if other := set(entry) - {f.name for f in fields(Trial)} - {"batch"}:
        raise ClaimError(f"unknown field {', '.join(sorted(other))} of a test")
    if "batch" in entry:
        batch = entry.pop("batch")
        entry = {"over_batch": batch, "under_batch": batch, **entry}
    for side in ("over", "under"):
        if (name := entry.get(side)) is not None:
            if name not in sides:
                raise ClaimError(f"{side} {name!r} is none of the sides {', '.join(sides)}")
            entry[side] = sides[name]
            if other := {key for selector in entry[side] for key in selector} - set(_SELECTED_BY):
                raise ClaimError(f"side {name!r}: rows are selected by {', '.join(_SELECTED_BY)}, not by {other.pop()}")
    entry |= {"boundary": Boundary(entry.get("boundary", Boundary.KERNEL))}
    return Trial(**entry | ({"needs": Stage(entry["needs"])} if "needs" in entry else {}))
