"""Designs that ran on a board, or on the simulated one: what `gatewarp deploy` records, and how it is set side by side.

A run on a board is measured: cycles on the chip, times as the host sees them. It stands among all other rows, each time
at its own boundary. A run on the simulated board proves the same bits on the same path and counts the same cycles, but
no clock of the world ran: it has cycles only, and takes part in no ratio.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from compare import text
from compare.grid import Table, table, without_empty
from compare.record import Boundary, Stage
from compare.rows import RAN_ON, Figure, Row

#: Values of the condition `ran_on` of such a record: what the design ran on.
ON_BOARD, ON_SIMULATED = "board", "simulated board"
#: Condition: where the clock of a board is known from, when no instrument measured it: `nominal: ...`.
CLOCK_BASIS, NOMINAL = "clock_basis", "nominal"
#: Figure: cycles from the first byte of data off the line to the last one on it, of all items of a run together. The
#: host's pauses are in it, so that it differs from run to run, on the simulated board as well.
LINE = "cycles.line"


def is_deployed(row: Row) -> bool:
    """Whether `gatewarp deploy` made the row."""
    return row.conditions.get(RAN_ON) in (ON_BOARD, ON_SIMULATED)


def is_simulated(row: Row) -> bool:
    """Whether the row is of the simulated board: no row of a device."""
    return row.conditions.get(RAN_ON) == ON_SIMULATED


def runs_of(rows: Iterable[Row]) -> tuple[Row, ...]:
    """One row a run: its record's row nearest to the chip, with the rate that the host saw as `throughput.host`."""
    found: dict[str, Row] = {}
    host: dict[str, Figure] = {}
    for row in rows:
        if is_deployed(row):
            key = row.records[0].id
            found.setdefault(key, row)
            if row.boundary == Boundary.HOST and "throughput" in row.figures:
                host[key] = row.figures["throughput"]
    return tuple(_with_host(row, host.get(key)) for key, row in found.items())


def _with_host(row: Row, seen: Figure | None) -> Row:
    chip = dict(row.figures)
    if row.boundary == Boundary.HOST:
        chip.pop("throughput", None)
    return replace(row, figures={**chip, **({"throughput.host": seen} if seen else {})})


def boards(runs: Iterable[Row]) -> Table:
    """Return the table of designs that ran on boards."""
    made = table(
        "On boards: the chip's own counters apart from end to end, every output equal to the oracle in every bit; "
        "cycles over the line have the host's pauses included",
        runs,
        {
            "case": lambda r: r.case,
            "implementation": lambda r: r.implementation,
            "arithmetic": lambda r: r.arithmetic,
            "engine": lambda r: text_of(r, "engine"),
            "force error": text.force_error,
            "board": lambda r: text_of(r, "board"),
            "clock": lambda r: text.quantity(r, "clock", "Hz"),
            "line": _line,
            "items": lambda r: _number(r, "items"),
            "interval, cycles": lambda r: text.count(r, "interval"),
            "latency, cycles": lambda r: text.count(r, "cycles"),
            "on the chip, items/s": lambda r: text.quantity(r, "throughput", ""),
            "over the line, cycles an item": _line_cycles,
            "end to end, items/s": lambda r: text.quantity(r, "throughput.host", ""),
            "power": lambda r: text.quantity(r, "power", "W"),
            "evidence": evidence,
        },
        (
            "clock", "items", "interval, cycles", "latency, cycles", "on the chip, items/s",
            "over the line, cycles an item", "end to end, items/s", "power",
        ),
    )  # fmt: skip
    optional = ("engine", "force error", "power", "on the chip, items/s", "end to end, items/s")
    return without_empty(made, text.MISSING, keep=[name for name in made.columns if name not in optional])


def text_of(row: Row, name: str) -> str:
    """A condition as text, or an en-dash."""
    found = row.conditions.get(name)
    return text.MISSING if found is None else str(found)


def evidence(row: Row) -> str:
    """How it is known, what the line lost, and whether the sources have changed since."""
    stage = Stage.SIMULATED if is_simulated(row) else Stage.MEASURED
    said = [f"{stage} on the simulated board, cycles only" if is_simulated(row) else f"{stage} on the board"]
    said += ["clock nominal"] if str(row.conditions.get(CLOCK_BASIS, "")).startswith(NOMINAL) else []
    again = row.conditions.get("frames_resent")
    if isinstance(again, int) and again:
        said.append(f"{again:,} frames sent again")
    said += list(dict.fromkeys(row.origins))
    said += ["STALE"] if row.stale else []
    return ", ".join(said)


def _number(row: Row, name: str) -> str:
    found = row.conditions.get(name)
    return f"{found:,}" if isinstance(found, int) else text.MISSING


def _line(row: Row) -> str:
    baud = row.conditions.get("baud")
    return text.si(baud, "baud") if isinstance(baud, (int, float)) else text_of(row, "launch_mode")


def _line_cycles(row: Row) -> str:
    cycles, items = row.figures.get(LINE), row.conditions.get("items")
    if cycles is None or not isinstance(items, int) or not items:
        return text.MISSING
    return text.digits(cycles.value / items, 4)
