"""Tables of molecular dynamics: what a step holds, and what each device makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from compare import text
from compare.application import HOST_SECONDS, LINK, TRAJECTORY, Application
from compare.grid import Table, table, without_empty
from compare.motion import ATOMS, CHANGE, PAIRS, STEP_FS, STEPS, TIME
from compare.rows import Row, batch_text
from compare.sizes import Point, SizeCrossing

SYSTEMS = "Systems: what one time step holds, counted at the start of the case"
MOTION = (
    "Molecular dynamics: simulated time a day, pairs within the cutoff and atom-steps a second, force error and change "
    "of the total energy over all steps run beside them"
)

SIZES = (
    "System size from which a GPU works off more pairs a second than an FPGA engine, if that keeps its rate at every "
    "size that its memories hold and in systems of other kinds"
)
APPLICATION = (
    "A whole application: steps a second of the FPGA over the fastest GPU kernel, and over packages that people use, "
    "with host work in each step, assumed; trajectory "
    f"every {TRAJECTORY:,} steps, or positions and forces over a link of {LINK / 1e9:g} GB/s in every step, assumed"
)


def systems(rows: Iterable[Row]) -> Table:
    """Return what a step of each case holds."""
    made = table(
        SYSTEMS,
        rows,
        {
            "case": lambda r: r.case,
            "atoms": lambda r: text.whole(r, "atoms"),
            "pairs within the cutoff": lambda r: text.whole(r, "pairs"),
            "half-shell candidates": lambda r: text.whole(r, "candidates"),
            "pass": _passing,
            "useful flop a pair": lambda r: text.whole(r, "flops"),
            "useful flop a step": _flops,
            "time step": _step,
            "evidence": text.evidence,
        },
        (
            "atoms", "pairs within the cutoff", "half-shell candidates", "pass", "useful flop a pair",
            "useful flop a step", "time step",
        ),
    )  # fmt: skip
    return without_empty(made, text.MISSING)


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
            "ns/day": lambda r: text.amount_plain(r, TIME),
            "pairs/s": lambda r: text.quantity(r, PAIRS, ""),
            "atom-steps/s": lambda r: text.quantity(r, ATOMS, ""),
            "energy a step": lambda r: text.quantity(r, "energy", "J"),
            "force error": text.force_error,
            "energy change a particle": _change,
            "evidence": text.evidence,
        },
        ("batch", "steps/s", "ns/day", "pairs/s", "atom-steps/s", "energy a step", "force error",
         "energy change a particle"),
        wide=True,
    )  # fmt: skip
    return without_empty(made, text.MISSING, keep=("ns/day", "energy a step", "force error"))


def _change(row: Row) -> str:
    change, steps = row.figures.get(CHANGE), row.figures.get(STEPS)
    if change is None or steps is None:
        return text.MISSING
    return f"{change.value:+.1e} {change.unit} in {steps.value:,.0f} steps"


def sizes(found: Iterable[SizeCrossing]) -> Table:
    """Return from which system size on each kernel of a GPU works off more pairs a second than each FPGA design."""
    made = table(
        SIZES,
        found,
        {
            "FPGA design": lambda c: f"{c.fpga.row.label}, {_kind(c.fpga)}",
            "pairs/s": lambda c: text.quantity(c.fpga.row, PAIRS, ""),
            "GPU kernel": lambda c: " ".join((c.points[0].row.implementation, c.points[0].row.arithmetic)),
            "device": lambda c: c.points[0].row.device,
            "at the design's own case": _own,
            "line of sizes": _line,
            "on that line ahead from, atoms": _from,
            "evidence": lambda c: f"modelled: {c.fpga.row.grade} against {c.points[0].row.grade}",
        },
        ("pairs/s", "at the design's own case", "on that line ahead from, atoms"),
        wide=True,
    )
    return made


def _kind(point: Point) -> str:
    return f"{point.row.case} of {point.pairs:.0f} pairs an atom"


def _line(crossing: SizeCrossing) -> str:
    """Say over which systems a line goes, and whether the design's own is one of that kind."""
    first, last = crossing.points[0], crossing.points[-1]
    other = "" if crossing.alike else ", systems of another kind"
    return (
        f"{first.row.case} to {last.row.case}, {first.atoms:,.0f} to {last.atoms:,.0f} atoms of {last.pairs:.0f} pairs"
        + other
    )


def _own(crossing: SizeCrossing) -> str:
    """Say which side is ahead where both were put to the same system, and how many times."""
    own = crossing.own
    if own is None:
        return text.MISSING
    ahead, found = ("GPU", own) if own.value >= 1 else ("FPGA", own.inverse())
    return f"{ahead} ahead, {text.ratio(found)} times"


def _from(crossing: SizeCrossing) -> str:
    if crossing.atoms is None:
        return crossing.reason
    return text.plain(crossing.atoms, crossing.low, crossing.high)


_NAMES = ("case", "FPGA design", "GPU kernel", "evidence")


def application(found: Iterable[Application]) -> Table:
    """Return what the ratio of two engines is worth to a whole application."""
    hosts = [f"{text.si(host, 's')}" if host else "none" for host in HOST_SECONDS]
    columns: dict[str, Callable[[Application], str]] = {
        "case": lambda a: a.engine.over.case,
        "FPGA design": lambda a: a.engine.over.label,
        "GPU kernel": lambda a: a.engine.under.label,
        "engines alone": lambda a: text.ratio(a.engine),
        **{f"all on the device, host {h}": partial(_gain, "device", i) for i, h in enumerate(hosts)},
        **{f"host in every step, {h}": partial(_gain, "shared", i) for i, h in enumerate(hosts)},
        "transfer a step": lambda a: text.si(a.transfer, "s"),
        "the faster is 2 times ahead at host work of": _halved,
        "evidence": lambda a: f"modelled from {text.grades(a.engine)}",
    }
    return table(APPLICATION, found, columns, [name for name in columns if name not in _NAMES], wide=True)


def _halved(found: Application) -> str:
    if found.halved is None:
        return "below 2 at any"
    return f"{text.si(found.halved, 's')} ({'FPGA' if found.engine.value >= 1 else 'GPU'})"


def _gain(way: str, index: int, found: Application) -> str:
    return text.times(float(getattr(found, way)[index]))
