"""Whether what papers claim holds with what the records say: supported, contradicted, or neither, and why.

By the referee's own rules: what it refuses to divide decides no claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from compare.application import WHOLE
from compare.batches import RATE, at_batch
from compare.claim import Claim, Selector, Trial
from compare.derive import band
from compare.motion import ATOMS, PAIRS, TIME
from compare.record import Stage
from compare.referee import Ratio, ratio
from compare.rows import BUSY, Figure, Row

_TIMED = (RATE, "latency_p50", "latency_p99", "variation", "rate.useful", "rate.equivalent", PAIRS, ATOMS, TIME, WHOLE)
#: Families of figures of which more is better.
_MORE = (RATE, "rate", "efficiency", BUSY, TIME)


class Verdict(StrEnum):
    """What became of a claim. Of several tests the first of these that any of them gave counts."""

    CONTRADICTED = "contradicted"
    NOT_COMPARABLE = "not comparable"
    NO_EVIDENCE = "no evidence yet"
    SUPPORTED = "supported"


@dataclass(frozen=True)
class Finding:
    """What one test found: `value` with its band, from the figures of `sides`; else `reason` says what is missing."""

    test: Trial
    verdict: Verdict
    sides: tuple[tuple[Row, Figure], ...] = ()
    value: float | None = None
    low: float | None = None
    high: float | None = None
    grade: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim and what its tests found."""

    claim: Claim
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict of the whole claim."""
        return min((finding.verdict for finding in self.findings), key=list(Verdict).index)


def judge(claims: Iterable[Claim], rows: Iterable[Row]) -> Iterator[Judged]:
    """Put each claim to the test on rows of all cases, those of publications and counts of operations among them."""
    known = list(rows)
    for claim in claims:
        yield Judged(claim, tuple(_find(test, claim.case, known) for test in claim.tests))


def _find(test: Trial, case: str, rows: list[Row]) -> Finding:
    ours, theirs = ([row for row in rows if row.case == (named or case)] for named in (test.over_case, test.under_case))
    overs = _candidates(test, test.over, test.over_batch, ours)
    unders = _candidates(test, test.under, test.under_batch, theirs) if test.under else []
    for side, selectors, batch, known, needed in (
        (overs, test.over, test.over_batch, ours, True),
        (unders, test.under, test.under_batch, theirs, bool(test.under)),
    ):
        if needed and not side:
            found = [(row, row.figures[test.quantity]) for row in (*overs[:1], *unders[:1])]
            if found and (reason := _powerless(test, selectors, [*ours, *theirs], known)):
                return Finding(test, Verdict.NOT_COMPARABLE, tuple(found), reason=reason)
            return Finding(test, Verdict.NO_EVIDENCE, tuple(found), reason=_missing(test, selectors, batch))
    if test.same:
        return _same(test, overs[0], unders[0])
    return _ratio(test, overs, unders, ours) if test.under else _value(test, overs[0])


def _powerless(test: Trial, selectors: Sequence[Selector], rows: list[Row], known: list[Row]) -> str:
    """Say that nobody metered a side whose rate is known, and what it could draw for the claim to hold."""
    there = any(RATE in row.figures and _matches(row, s) and not row.on_paper for s in selectors for row in known)
    if test.quantity != "energy" or not there:
        return ""
    return "; ".join(filter(None, ("FPGA power is not known; no record carries it", _break_even(test, rows))))


def _same(test: Trial, over: Row, under: Row) -> Finding:
    """Whether a condition of both sides is one and the same."""
    sides = ((over, over.figures[test.quantity]), (under, under.figures[test.quantity]))
    said = [{record.conditions.get(test.same) for record in row.records} - {None} for row in (over, under)]
    if not all(said):
        return Finding(test, Verdict.NO_EVIDENCE, sides, reason=f"no record says {test.same} of both")
    weakest = min((figure for _, figure in sides), key=lambda f: list(Stage).index(f.weakest))
    verdict = Verdict.SUPPORTED if said[0] == said[1] else Verdict.CONTRADICTED
    return Finding(test, verdict, sides, grade=weakest.grade)


def _ratio(test: Trial, overs: list[Row], unders: list[Row], rows: list[Row]) -> Finding:
    """Take the best pair that the referee lets divide; where it refuses all, say why it refuses the best."""
    verdicts = [ratio(over, under, test.quantity) for over in overs for under in unders]
    found = next((v for v in verdicts if isinstance(v, Ratio)), verdicts[0])
    sides = tuple((row, row.figures[test.quantity]) for row in (found.over, found.under))
    if not isinstance(found, Ratio):
        reason = "; ".join(filter(None, (found.reason, _break_even(test, rows))))
        return Finding(test, Verdict.NOT_COMPARABLE, sides, reason=reason)
    return _decided(test, sides, found.value, found.low, found.high, found.grade)


def _value(test: Trial, row: Row) -> Finding:
    figure = row.figures[test.quantity]
    low, high = band(figure)
    if test.across:
        return _across(test, row, figure)
    scaled = (figure.value * test.times, low * test.times, high * test.times)
    return _decided(test, ((row, figure),), *scaled, figure.grade)


def _across(test: Trial, row: Row, figure: Figure) -> Finding:
    """Set the largest of the conditions against the smallest; all must be there, or nothing is known of the others."""
    conditions = {name: value for record in row.records for name, value in record.conditions.items()}
    values = [value for name in test.across if isinstance(value := conditions.get(name), (int, float)) and value > 0]
    if len(values) < len(test.across):
        missing = ", ".join(name for name in test.across if name not in conditions)
        return Finding(test, Verdict.NO_EVIDENCE, ((row, figure),), reason=f"no record says {missing or 'all of them'}")
    value = max(values) / min(values)
    return _decided(test, ((row, figure),), value, value, value, figure.grade)


def _decided(
    test: Trial, sides: tuple[tuple[Row, Figure], ...], value: float, low: float, high: float, grade: str
) -> Finding:
    """Supported when the whole band is where the claim puts it, contradicted when none of it is."""
    weakest = min((figure.weakest for _, figure in sides), key=list(Stage).index)
    least, most = test.bounds
    verdict, reason = Verdict.NO_EVIDENCE, "the band reaches across what is claimed"
    if test.needs is not None and list(Stage).index(weakest) < list(Stage).index(test.needs):
        verdict, reason = Verdict.NOT_COMPARABLE, test.why or f"it takes evidence that is {test.needs}"
    elif low >= least and high <= most:
        verdict, reason = Verdict.SUPPORTED, ""
    elif high < least or low > most:
        verdict, reason = Verdict.CONTRADICTED, ""
    return Finding(test, verdict, sides, value, low, high, grade, reason)


def _candidates(test: Trial, selectors: Sequence[Selector], batch: int | None, rows: list[Row]) -> list[Row]:
    """Return the rows of the first selector that has any with the figure at the batch, the best first."""
    for selector in selectors:
        chosen = [row for row in rows if _matches(row, selector) and (batch is None or row.batch in (batch, "any"))]
        if batch is not None and test.quantity.startswith("latency"):
            chosen = [at_batch(row, batch) for row in chosen]
        if test.quantity in _TIMED:
            chosen = [row for row in chosen if row.on_paper or row.boundary == test.boundary]
        if found := [row for row in chosen if test.quantity in row.figures]:
            more = test.quantity.split(".")[0] in _MORE
            return sorted(found, key=lambda r: r.figures[test.quantity].value, reverse=more)
    return []


def _matches(row: Row, selector: Selector) -> bool:
    return all(fnmatchcase(str(getattr(row, name)), pattern) for name, pattern in selector.items())


def _missing(test: Trial, selectors: Sequence[Selector], batch: int | None) -> str:
    side = " or ".join(
        " on ".join(filter(None, (s.get("implementation", s.get("kind", "any row")), s.get("device"))))
        for s in selectors
    )
    at = "" if batch is None else f" at batch {batch:,}"
    return f"no record has {test.quantity.replace('_', ' ')} of {side}{at}"


def _break_even(test: Trial, rows: list[Row]) -> str:
    """Say what power of the FPGA an energy claim would need, where only the GPU's energy was measured.

    Of the GPU's rows the one of least energy counts that the referee lets divide in throughput.
    """
    if test.quantity != "energy" or test.at_least is None:
        return ""
    gpus = [row for row in _candidates(test, test.over, test.over_batch, rows) if not row.on_paper]
    rates = [row for s in test.under for row in rows if _matches(row, s) and RATE in row.figures and not row.on_paper]
    fpga = max(rates, key=lambda row: row.figures[RATE].value, default=None)
    gpu = next((g for g in gpus if fpga and isinstance(ratio(g, fpga, RATE), Ratio)), None)
    if gpu is None or fpga is None:
        return ""
    watts = gpu.figures["energy"].value * fpga.figures[RATE].value / test.at_least
    which = "" if gpu is gpus[0] else f"; the bound is against {gpu.label}, whose quality is the same"
    return f"it would hold if {fpga.label} drew at most {watts:.3g} W at its rate{which}"
