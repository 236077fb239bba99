"""What may be divided by what: a ratio with its grade, or a refusal with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from compare.derive import AT_MOST, band
from compare.record import Stage
from compare.rows import Figure, Row, same_run

SAME_ARITHMETIC = "same arithmetic"
SAME_RESULTS = "same results"
SAME_QUALITY = "same quality"

#: Two qualities are the same when every figure of both sides differs by no more than this, absolute; one in dB by 1 dB.
QUALITY_TOLERANCE = 0.01
DECIBEL_TOLERANCE = 1.0
#: Noise this far below the signal is less than what rounding to 8-bit pixels makes, 6.02 × 8 + 1.76 dB; less is no
#: better.
DECIBELS_ENOUGH = 50.0

#: Errors, of which less is better, and what is less than this as good: the force error is relative, root mean square,
#: and 0.001 is what simulations of biomolecules commonly ask of it (recalled, not verified); drift is in kT an atom in
#: 10,000 steps (its standard error and the deviation of energies from the line likewise), momentum relative to the sum
#: of its magnitudes. Larger ones are the same within ERROR_FACTOR.
ERRORS_ENOUGH = dict.fromkeys(
    ("force_error", "energy_drift", "energy_drift_error", "energy_deviation", "momentum"), 1e-3
)
ERROR_FACTOR = 2.0
#: What takes long runs to know: where only one side has it, the errors that both have decide, and a note says so.
OF_LONG_RUNS = frozenset(ERRORS_ENOUGH) - {"force_error"}

#: Quantities by their family: `utilisation` for `utilisation.kept`.
_RESOURCES = ("luts", "ffs", "dsps", "brams", "utilisation")
_ONE_DEVICE = (*_RESOURCES, "fmax", "clock", "interval", "cycles", "bandwidth", "zero_products")
#: Families whose members count operations in ways of their own: `rate.useful`, `rate.equivalent`.
_COUNTED = ("operations", "rate", "efficiency", "utilisation")
_POWER = ("energy", "power", "idle_power")


@dataclass(frozen=True)
class Ratio:
    """`over` (A in the notes) divided by `under` (B) in one figure.

    `low` and `high` come from interval arithmetic on both bands; a side without a band counts as a point and `notes`
    say so. `grade` is the weaker side's, `grades` name both sides. `division` is `same arithmetic`, `same results`
    (both equalled one oracle in every bit) or `same quality`.
    """

    figure: str
    over: Row
    under: Row
    value: float
    low: float
    high: float
    grade: str
    grades: tuple[str, str]
    division: str
    notes: tuple[str, ...] = ()

    def inverse(self) -> Ratio:
        """Return the same comparison the other way up. Errors: ZeroDivisionError where A is exactly nothing."""
        return replace(
            self,
            over=self.under,
            under=self.over,
            value=1 / self.value,
            low=1 / self.high,
            high=1 / self.low,
            grades=(self.grades[1], self.grades[0]),
        )


@dataclass(frozen=True)
class Refusal:
    """Why there is no ratio, and the command that would help, if one would."""

    figure: str
    over: Row
    under: Row
    reason: str
    command: str = ""


Verdict = Ratio | Refusal


def ratio(over: Row, under: Row, figure: str, *, one_run: bool = False) -> Verdict:
    """Return the ratio `over` / `under` of a figure such as `throughput` or `latency_p50`, or the refusal.

    `one_run` asks that both come from one run, as a product and its baseline should.
    """
    for side in (over, under):
        if figure not in side.figures:
            return Refusal(figure, over, under, *_unknown(side, figure))
    a, b = over.figures[figure], under.figures[figure]
    for reason in _objections(over, under, a, b, one_run):
        return Refusal(figure, over, under, reason)
    (a_low, a_high), (b_low, b_high) = band(a), band(b)
    weaker = min((a, b), key=lambda f: list(Stage).index(f.weakest))
    return Ratio(
        figure=figure,
        over=over,
        under=under,
        value=a.value / b.value,
        low=a_low / b_high,
        high=a_high / b_low,
        grade=weaker.grade,
        grades=(a.grade, b.grade),
        division=_division(over, under),
        notes=tuple(_notes(over, under, a, b)),
    )


def _division(over: Row, under: Row) -> str:
    if over.arithmetic == under.arithmetic:
        return SAME_ARITHMETIC
    return SAME_RESULTS if same_results(over, under) else SAME_QUALITY


def same_results(over: Row, under: Row) -> bool:
    """Whether both proved in their own run that they equal the same oracle in every bit, whatever they compute with.

    Then their results are one and the same, and so is any quality of them, known or not.
    """
    parameters = [row.conditions.get("parameters") for row in (over, under)]
    alike = None in parameters or parameters[0] == parameters[1]
    return bool(over.proved) and over.proved == under.proved and alike


def over_floor(row: Row) -> Verdict:
    """Return a row's median latency over that of an empty launch on the same device in the same run."""
    floor = row.figures.get("launch_floor")
    latency = row.figures.get("latency_p50")
    bare = replace(
        row,
        implementation="an empty kernel",
        figures={} if floor is None else {"latency_p50": replace(floor, quantity="latency")},
    )
    if floor is None or latency is None:
        what = "the bare launch" if floor is None else "the latency"
        return Refusal(
            "latency_p50 over bare launch", row, bare, f"{what} is not known; no record carries it", row.command
        )
    return replace(ratio(row, bare, "latency_p50"), figure="latency_p50 over bare launch")


def _unknown(side: Row, figure: str) -> tuple[str, str]:
    if side.kind in ("fpga", "simulation") and figure in _POWER:
        return "FPGA power is not known; no record carries it", ""
    return f"{figure.replace('_', ' ')} of {side.label} is not known; no record carries it", side.command


def _objections(over: Row, under: Row, a: Figure, b: Figure, one_run: bool) -> Iterator[str]:
    """Yield every reason against a ratio, the most basic first."""
    for name in ("workload", "case"):
        if getattr(over, name) != getattr(under, name):
            yield f"unlike {name}: {getattr(over, name)} against {getattr(under, name)}"
    if a.on_paper != b.on_paper:
        yield f"one side is a figure on paper: {a.grade} against {b.grade}"
    yield from _mixture(a, b)
    for name in ("quantity", "unit", "boundary"):
        if getattr(a, name) != getattr(b, name):
            yield f"unlike {name}: {getattr(a, name)} against {getattr(b, name)}"
    for row, f in ((over, a), (under, b)):
        if f.lacking:
            yield (
                f"{f.statistic} of {row.label} stands on {f.samples:,} samples, "
                f"{f.lacking:,} are needed at 99 % confidence"
            )
    if _statistic(a) != _statistic(b) and "exact" not in (a.statistic, b.statistic):
        yield f"unlike statistic: {a.statistic} against {b.statistic}"
    yield from _stage_objections(over, under, a, b)
    yield from _batch_objections(over, under, a)
    yield from _quality_objections(over, under)
    if one_run and not same_run(over, under):
        yield "the two were not taken in one run"
    for row, f in ((over, a), (under, b)):
        if band(f)[0] <= 0 and not (f is a and _may_be_none(f)):
            yield f"{f.quantity} of {row.label} reaches down to zero or below"


def _mixture(a: Figure, b: Figure) -> Iterator[str]:
    """Operations are counted in several ways, and what was counted in one is never set against another."""
    if _family(a) == _family(b) and _family(a) in _COUNTED and a.quantity != b.quantity:
        ways = (f.quantity.partition(".")[2] or "useful" for f in (a, b))
        yield f"operations counted in unlike ways, {' against '.join(ways)}: the two are never mixed"


def _family(figure: Figure) -> str:
    return figure.quantity.split(".")[0]


def _stage_objections(over: Row, under: Row, a: Figure, b: Figure) -> Iterator[str]:
    if _family(a) in _ONE_DEVICE and over.device != under.device:
        yield f"{a.quantity} of unlike devices, {over.device} and {under.device}, do not compare"
    if _family(a) in (*_RESOURCES, *_POWER) and a.stages != b.stages:
        yield f"unlike stage for {a.quantity}: {a.grade} against {b.grade}"


def _batch_objections(over: Row, under: Row, a: Figure) -> Iterator[str]:
    if _family(a) in _ONE_DEVICE or a.quantity == "idle_power":
        return
    for row in (over, under):
        if row.batch is None:
            yield f"the batch of {row.label} is not stated"
    if a.quantity == "latency" and "any" not in (over.batch, under.batch) and over.batch != under.batch:
        yield f"unlike batch for latency: {over.batch} against {under.batch}"


def _quality_objections(over: Row, under: Row) -> Iterator[str]:
    if (over.arithmetic and over.arithmetic == under.arithmetic) or same_results(over, under):
        return
    unlike = f"unlike arithmetic, {over.arithmetic or 'not stated'} against {under.arithmetic or 'not stated'}"
    for row in (over, under):
        if not row.quality:
            yield f"{unlike}, and the quality of {row.label} is not known"
    if not set(over.quality) ^ set(under.quality) <= OF_LONG_RUNS or set(over.quality).isdisjoint(under.quality):
        yield f"{unlike}, and unlike quality figures"
    for name in sorted(set(over.quality) & set(under.quality)):
        one, other = over.quality[name].value, under.quality[name].value
        if name in ERRORS_ENOUGH:
            if max(one, other) > max(ERRORS_ENOUGH[name], ERROR_FACTOR * min(one, other)):
                yield f"{unlike}, and {name} {one:.2g} against {other:.2g} is too unlike"
            continue
        decibel = over.quality[name].unit == "dB"
        limit, unit = (DECIBEL_TOLERANCE, " dB") if decibel else (QUALITY_TOLERANCE, "")
        if decibel and min(one, other) >= DECIBELS_ENOUGH:
            continue
        if abs(one - other) > limit + 1e-12:
            yield f"{unlike}, and {name} {one:.4g} against {other:.4g}{unit} differs by more than {limit:g}{unit}"


def _may_be_none(figure: Figure) -> bool:
    """A numerator may be nothing where that was counted, or only bounded, as the variation of a pipeline."""
    return band(figure)[0] == 0 and (figure.spread == AT_MOST or (figure.statistic == "exact" and figure.value == 0))


def _statistic(figure: Figure) -> str:
    return "median" if figure.statistic == "p50" else figure.statistic


def _pointlike(f: Figure) -> bool:
    return f.statistic == "exact" or Stage.MODELLED in f.stages


def _notes(over: Row, under: Row, a: Figure, b: Figure) -> Iterator[str]:
    if _division(over, under) == SAME_QUALITY and (alone := sorted(set(over.quality) ^ set(under.quality))):
        said = " and ".join(sorted(set(over.quality) & set(under.quality)))
        yield f"quality by {said.replace('_', ' ')}; {', '.join(alone).replace('_', ' ')} of one side only"
    for row, side, f in ((over, "A", a), (under, "B", b)):
        if row.assumed_clock and Stage.MODELLED in f.stages:
            yield f"{side} at an assumed clock of {row.assumed_clock / 1e6:g} MHz, not routed"
    without = [side for side, f in (("A", a), ("B", b)) if f.low is None and not _pointlike(f)]
    if without:
        yield f"no band known for {' and '.join(without)}"
    bands = [f.spread for f in (a, b) if f.low is not None]
    if bands:
        yield f"band: {' and '.join(dict.fromkeys(bands))}"
    for row in (over, under):
        if row.stale:
            yield f"stale: {row.implementation} on {row.device}"
