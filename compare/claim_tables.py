"""What became of the claims of papers, and the figures that they published, as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compare import text
from compare.claim import TRUST, Trial
from compare.grid import Table, table, without_empty
from compare.judge import Finding, Judged, Verdict
from compare.motion import TIME
from compare.rows import PIPELINES, Figure, Row
from compare.rows import text as said

CLAIMS = "Claims of the papers against what was found here"
PUBLISHED = "Published figures: others', at a boundary of their choice, so no ratio is formed with them"

#: How a published figure is known, by the condition `trust` of its record.
_TRUST = {"read": "read at the source", "unverified": "recalled, not verified"}


@dataclass(frozen=True)
class Line:
    """One test of a claim as text: what was asked, what the claim wants, what was found, and on what evidence.

    `ground` is the grade of the evidence that decided it, or the reason why nothing did.
    """

    what: str
    wanted: str
    found: str
    verdict: str
    ground: str
    sides: tuple[str, ...]


def lines(judged: Judged) -> list[Line]:
    """Return the tests of a claim as text."""
    return [_line(finding) for finding in judged.findings]


def _line(f: Finding) -> Line:
    sides = tuple(
        f"{row.label}: {text.amount(figure)}, {figure.grade}{', STALE' if row.stale else ''}" for row, figure in f.sides
    )
    return Line(f.test.what, wanted(f.test), found(f), f.verdict, f.reason or f"grade {f.grade}", sides)


def says(judged: Judged) -> str:
    """Return what the paper says, which paper, and how well that is known."""
    claim = judged.claim
    note = f"; {claim.note}" if claim.note else ""
    return f"{claim.text} ({claim.paper}; {TRUST[claim.trust]}{note})"


def found(f: Finding) -> str:
    """Return the value of a finding with its band, or an en-dash where there is none."""
    if f.test.same and f.grade:
        return "the same" if f.verdict == Verdict.SUPPORTED else "another"
    if f.value is None or f.low is None or f.high is None:
        return text.MISSING
    if f.test.across:
        return f"{f.value:.4f}"
    if f.test.under:
        return text.banded_times(f.value, f.low, f.high)
    return _scaled(f.test, f.sides[0][1], f.value, f.low, f.high)


def wanted(test: Trial) -> str:
    """Return what the claim wants of a test: `at least 8.30`."""
    least, most = test.bounds
    if test.same:
        return f"the same {test.same}"
    if test.under or test.across:
        if test.about is not None:
            return f"{test.about:g} within a factor of {test.within:g}"
        return f"at least {least:g}" if test.at_most is None else f"at most {most:g}"
    if test.about is not None:
        return f"{_bound(test, test.about)} within a factor of {test.within:g}"
    return f"at least {_bound(test, least)}" if test.at_most is None else f"at most {_bound(test, most)}"


def _bound(test: Trial, value: float) -> str:
    return text.si(value, test.unit, figures=4) if test.unit else text.of_quantity(test.quantity, value, figures=4)


def _scaled(test: Trial, figure: Figure, value: float, low: float, high: float) -> str:
    bounds = (None, None) if figure.low is None else (low, high)
    return text.si(value, test.unit, *bounds) if test.unit else text.of_quantity(test.quantity, value, *bounds)


def claims(judged: Iterable[Judged]) -> Table:
    """Return the claims as a table, one row a test; the claim stands with its first."""
    cells = []
    for each in judged:
        for number, line in enumerate(lines(each)):
            about = (each.claim.name, says(each)) if number == 0 else ("", "")
            sides = "; ".join(line.sides) or text.MISSING
            verdict = f"{line.verdict}: {line.ground}"
            cells.append((each.claim.case, *about, f"{line.what}: {line.wanted}", line.found, sides, verdict))
    columns = ("case", "claim", "the paper says", "put to the test", "found here", "evidence", "verdict")
    wraps = frozenset(("the paper says", "put to the test", "evidence", "verdict"))
    return Table(CLAIMS, columns, tuple(cells), wraps=wraps)


def published(rows: Iterable[Row]) -> Table:
    """Return the published figures; columns that no paper fills are left out."""
    made = table(
        PUBLISHED,
        rows,
        {
            "case": lambda r: r.case,
            "publication": lambda r: r.implementation,
            "device": lambda r: r.device,
            "throughput, items/s": lambda r: text.quantity(r, "throughput", ""),
            "latency": lambda r: text.time(r.figures.get("latency_p50")),
            "interval, cycles": lambda r: text.count(r, "interval"),
            "multipliers": lambda r: r.array or text.MISSING,
            "clock": lambda r: text.quantity(r, "clock", "Hz"),
            "pipelines": lambda r: said(r.conditions.get(PIPELINES)) or text.MISSING,
            "ns/day": lambda r: text.amount_plain(r, TIME),
            "useful, op/s": lambda r: text.quantity(r, "rate.useful", ""),
            "equivalent, op/s": lambda r: text.quantity(r, "rate.equivalent", ""),
            "power": lambda r: text.quantity(r, "power", "W"),
            "power / throughput": lambda r: text.quantity(r, "energy", "J"),
            "LUT": lambda r: text.resource(r, "luts"),
            "FF": lambda r: text.resource(r, "ffs"),
            "BRAM": lambda r: text.resource(r, "brams"),
            "DSP": lambda r: text.resource(r, "dsps"),
            "accuracy": lambda r: f"{r.quality['accuracy'].value:.3f}" if "accuracy" in r.quality else text.MISSING,
            "evidence": evidence,
        },
        ("throughput, items/s", "latency", "interval, cycles", "clock", "ns/day", "useful, op/s", "equivalent, op/s",
         "power", "power / throughput", "LUT", "FF", "BRAM", "DSP", "accuracy"),
    )  # fmt: skip
    return without_empty(made, text.MISSING)


def evidence(row: Row) -> str:
    """Return how a published figure is known, and from where."""
    trust = _TRUST.get(str(row.conditions.get("trust")), "")
    return ": ".join(filter(None, (trust, row.records[0].provenance.source)))
