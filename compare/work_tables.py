"""Tables of work: operations of an item and a second, FPGA designs layer by layer, and how much a rate varies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from compare import text
from compare.grid import Table, table, without_empty
from compare.rows import BUSY, LAYER, Row, batch_text
from compare.rows import text as said
from compare.variation import Variation

COUNTS = (
    "Operations of an item, two for each multiply-accumulate: useful (every input times the whole kernel), kept (that "
    "reach an output), equivalent (zeros between the inputs multiplied as well)"
)
RATES = "Operations a second and a joule, useful and equivalent: two ways to count, never divided by each other"
ARRAYS = "Multipliers at work in steady state (products over multipliers times cycles), and memory traffic"
LAYERS = "The same, layer by layer, in simulation"
VARIATIONS = "Variation of the throughput: standard deviation over mean"


def counts(rows: Iterable[Row]) -> Table:
    """Return the operations of an item of each case, and how many equivalent ones there are to a useful one."""
    made = table(
        COUNTS,
        rows,
        {
            "case": lambda r: r.case,
            "useful": lambda r: text.whole(r, "operations.useful"),
            "kept": lambda r: text.whole(r, "operations.kept"),
            "equivalent": lambda r: text.whole(r, "operations.equivalent"),
            "equivalent to a useful one": lambda r: (
                text.amount(r.figures["saving"]) if "saving" in r.figures else text.MISSING
            ),
            "evidence": lambda r: "counted from the shapes, " + text.evidence(r).removeprefix("modelled, "),
        },
        ("useful", "kept", "equivalent", "equivalent to a useful one"),
    )
    return without_empty(made, text.MISSING)


def rates(rows: Iterable[Row]) -> Table:
    """Return the operations a second of rows, and a joule where their energy is known."""
    made = table(
        RATES,
        [row for row in rows if "rate.useful" in row.figures],
        {
            "case": lambda r: r.case,
            "implementation": lambda r: r.implementation,
            "device": lambda r: r.device,
            "arithmetic": lambda r: r.arithmetic or text.MISSING,
            "batch": lambda r: batch_text(r.batch),
            "launch": lambda r: r.launch or text.MISSING,
            "useful, op/s": lambda r: text.quantity(r, "rate.useful", ""),
            "equivalent, op/s": lambda r: text.quantity(r, "rate.equivalent", ""),
            "useful, op/s/W": lambda r: text.quantity(r, "efficiency.useful", ""),
            "equivalent, op/s/W": lambda r: text.quantity(r, "efficiency.equivalent", ""),
            "evidence": lambda r: r.grade + (", STALE" if r.stale else ""),
        },
        ("batch", "useful, op/s", "equivalent, op/s", "useful, op/s/W", "equivalent, op/s/W"),
    )
    # That nobody has metered anything shall be seen, so the columns of watts stay.
    return without_empty(made, text.MISSING, keep=[name for name in made.columns if name.endswith("/W")])


def arrays(rows: Iterable[Row]) -> Table:
    """Return how busy the multipliers of FPGA designs are over whole networks, and the memory traffic of that."""
    made = table(
        ARRAYS,
        [row for row in rows if row.array and BUSY in row.figures],
        {
            "case": lambda r: r.case,
            "implementation": lambda r: r.implementation,
            "device": lambda r: r.device,
            **_WORK,
            "interval, cycles": lambda r: text.count(r, "interval"),
            **_SHARES,
            "by inserted zeros": lambda r: text.whole(r, "zero_products"),
            "memory traffic, B/cycle": text.traffic_in_time,
            "evidence": text.evidence,
        },
        ("interval, cycles", *_SHARES, "by inserted zeros"),
        wide=True,
    )
    return without_empty(made, text.MISSING)


def layers(rows: Iterable[Row]) -> Table:
    """Return the simulated layers of FPGA designs."""
    made = table(
        LAYERS,
        rows,
        {
            "case": lambda r: r.case,
            "implementation": lambda r: r.implementation,
            **_WORK,
            "layer": lambda r: said(r.conditions.get(LAYER)),
            "cycles": lambda r: text.count(r, "cycles"),
            **_SHARES,
            "memory traffic, B/cycle": text.traffic,
            "evidence": text.evidence,
        },
        ("cycles", *_SHARES),
    )
    return without_empty(made, text.MISSING)


_WORK: Mapping[str, Callable[[Row], str]] = {
    "multipliers": lambda r: r.array or text.MISSING,
    "arithmetic": lambda r: r.arithmetic or text.MISSING,
}
_SHARES: Mapping[str, Callable[[Row], str]] = {
    "useful": lambda r: text.share_of(r, BUSY),
    "kept": lambda r: text.share_of(r, f"{BUSY}.kept"),
}


def variations(found: Iterable[Variation]) -> Table:
    """Return how much the throughput varies, from run to run and within one."""
    made = table(
        VARIATIONS,
        found,
        {
            "case": lambda v: v.row.case,
            "implementation": lambda v: v.row.implementation,
            "device": lambda v: v.row.device,
            "arithmetic": lambda v: v.row.arithmetic or text.MISSING,
            "batch": lambda v: batch_text(v.row.batch),
            "launch": lambda v: v.row.launch or text.MISSING,
            "from run to run": lambda v: "none, exact" if v.exact else text.scatter(v.runs),
            "between rounds, device clock": lambda v: text.scatter(v.rounds),
            "energy, between windows": lambda v: text.scatter(v.energy),
            "evidence": _evidence,
        },
        ("batch", "from run to run", "between rounds, device clock", "energy, between windows"),
    )
    return without_empty(made, text.MISSING)


def _evidence(v: Variation) -> str:
    """Say why a pipeline does not vary, or what a run was."""
    if v.exact:
        return "simulated: every item took as many cycles; the clock is taken as steady"
    if v.counted:
        return "simulated: the most that least, mean and largest interval allow; the clock is taken as steady"
    said = ["measured", *([f"a run: {v.run}"] if v.run else [])]
    return ", ".join([*said, *(["outside baseline"] if v.row.tier != "product" else [])])
