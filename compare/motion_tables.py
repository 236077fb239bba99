"""Tables of molecular dynamics: what a step holds, and what each device makes of it."""

from __future__ import annotations

from collections.abc import Iterable

from compare import text
from compare.grid import Table, table, without_empty
from compare.motion import ATOMS, PAIRS, STEP_FS, TIME
from compare.rows import Row, batch_text

SYSTEMS = "Systems: what one time step holds, counted at the start of the case"
MOTION = "Molecular dynamics: simulated time a day, pairs within the cutoff and atom-steps a second, force error beside them"


def systems(rows: Iterable[Row]) -> Table:
    """Return what a step of each case holds."""
    made = table(
        SYSTEMS,
        rows,
        {
            "case": lambda r: r.case,
            "atoms": lambda r: _count(r, "atoms"),
            "pairs within the cutoff": lambda r: _count(r, "pairs"),
            "half-shell candidates": lambda r: _count(r, "candidates"),
            "pass": _passing,
            "useful flop a pair": lambda r: _count(r, "flops"),
            "useful flop a step": _flops,
            "time step": _step,
            "evidence": text.evidence,
        },
        ("atoms", "pairs within the cutoff", "half-shell candidates", "pass", "useful flop a pair", "useful flop a step",
         "time step"),
    )  # fmt: skip
    return without_empty(made, text.MISSING)


def _count(row: Row, name: str) -> str:
    figure = row.figures.get(name)
    return text.MISSING if figure is None else f"{figure.value:,.0f}"


def _passing(row: Row) -> str:
    pairs, candidates = row.figures.get("pairs"), row.figures.get("candidates")
    return text.percent(pairs.value / candidates.value) if pairs and candidates and candidates.value else text.MISSING


def _flops(row: Row) -> str:
    pairs, flops = row.figures.get("pairs"), row.figures.get("flops")
    return text.si(pairs.value * flops.value, "flop") if pairs and flops else text.MISSING


def _step(row: Row) -> str:
    step = row.conditions.get(STEP_FS)
    return f"{step:g} fs" if isinstance(step, (int, float)) else "reduced units"


def motion(rows: Iterable[Row]) -> Table:
    """Return what rows make of their steps a second; reduced units have no time of day."""
    made = table(
        MOTION,
        [row for row in rows if PAIRS in row.figures],
        {
            "case": lambda r: r.case,
            "implementation": lambda r: r.implementation,
            "device": lambda r: r.device,
            "arithmetic": lambda r: r.arithmetic or text.MISSING,
            "batch": lambda r: batch_text(r.batch),
            "launch": lambda r: r.launch or text.MISSING,
            "steps/s": lambda r: text.quantity(r, "throughput", ""),
            "ns/day": _days,
            "pairs/s": lambda r: text.quantity(r, PAIRS, ""),
            "atom-steps/s": lambda r: text.quantity(r, ATOMS, ""),
            "energy a step": lambda r: text.quantity(r, "energy", "J"),
            "force error": _error,
            "evidence": text.evidence,
        },
        ("batch", "steps/s", "ns/day", "pairs/s", "atom-steps/s", "energy a step", "force error"),
    )
    return without_empty(made, text.MISSING, keep=("ns/day", "energy a step", "force error"))


def _days(row: Row) -> str:
    figure = row.figures.get(TIME)
    return text.MISSING if figure is None else text.plain(figure.value, figure.low, figure.high)


def _error(row: Row) -> str:
    figure = row.quality.get("force_error")
    return text.MISSING if figure is None else text.one_quality(figure, 3)
