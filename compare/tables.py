"""The tables of a comparison, as text cells that every writer shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from compare import motion_tables, text, work_tables
from compare.batch_tables import by_batch, overtaking
from compare.caution import floors, sensor_error
from compare.claim_tables import claims, published
from compare.comparison import Comparison
from compare.deployed import boards
from compare.grid import Table, table, without, without_empty
from compare.record import Boundary
from compare.referee import (
    DECIBEL_TOLERANCE,
    DECIBELS_ENOUGH,
    ERROR_FACTOR,
    ERRORS_ENOUGH,
    QUALITY_TOLERANCE,
    SAME_RESULTS,
    Ratio,
    Refusal,
)
from compare.rows import SIMULATION, Row, batch_text, samples_needed
from compare.stale import EQUIVALENT

#: Where time was cut, for the title of a table.
CUTS = {
    Boundary.KERNEL: "Kernel boundary: operands in device memory, or at the stream pins of an FPGA design",
    Boundary.DEVICE: "Device boundary: with the transfers to and from the device",
    Boundary.HOST: "Host boundary: as the calling program sees it, launch and wait included",
    Boundary.NONE: "No time known",
}


def tables(comparison: Comparison) -> list[Table]:
    """Return the tables of a comparison in reading order, without empty ones."""
    found = [_quality(comparison), work_tables.counts(comparison.counts), motion_tables.systems(comparison.systems)]
    for cut, title in CUTS.items():
        rows = [row for row in comparison.shown if row.boundary == cut and row.kind != SIMULATION]
        timed = performance(title, [row for row in rows if cut != Boundary.NONE or row.kind != "fpga"])
        found.append(replace(timed, long=cut in (Boundary.DEVICE, Boundary.HOST)))
    shown = [row for row in comparison.shown if row.boundary == Boundary.KERNEL and row.kind != SIMULATION]
    found += [motion_tables.motion(shown), motion_tables.application(comparison.applications)]
    found += [motion_tables.sizes(comparison.sizes)]
    found += [work_tables.rates(shown), _resources(comparison.rows), work_tables.arrays(comparison.rows)]
    found += [boards(comparison.deployed)]
    found += [work_tables.layers(comparison.layers)]
    found += [work_tables.variations(comparison.variations), published(comparison.published)]
    for case in comparison.cases:
        found += by_batch(case, [row for row in comparison.rows if row.case == case])
    found += [overtaking(comparison.overtakings), claims(comparison.claims)]
    found += [ratios(comparison.ratios), refusals(comparison.refusals)]
    if len(comparison.cases) == 1:
        found = [without(each, "case") for each in found]
    return [each for each in found if each.rows]


def heading(comparison: Comparison) -> str:
    """Return one line: the workload and its cases."""
    return f"{comparison.workload} · {', '.join(comparison.cases) or 'no records'}"


def remarks(comparison: Comparison) -> list[str]:
    """Return what a reader of the tables should know besides: what was left out, superseded, stale or skipped."""
    said = []
    if hidden := len(comparison.rows) - len(comparison.shown):
        said.append(f"{hidden} more rows, of other batches and slower ways to launch, are in the CSV output.")
    shown = [row.figures for row in comparison.shown]
    if any("latency_p99" in figures and figures["latency_p99"].lacking for figures in shown):
        said.append(f"p99 is not printed where it has no 99 % band and fewer than {samples_needed('99'):,} samples.")
    said += _energy_remarks(comparison)
    said += _launch_remarks(comparison)
    said += _quality_remarks(comparison)
    if any("rate.useful" in row.figures for row in comparison.shown):
        said.append(
            "Useful operations count products that fall into the padding, as publications do; a design that skips them "
            "may do more useful operations a second than it has multipliers for."
        )
    said += sorted({_assumed(row) for row in comparison.rows if row.assumed_clock})
    if comparison.superseded:
        said.append(f"{comparison.superseded} rows were superseded by newer ones or by your own.")
    said += sorted(
        {f"{row.implementation} on {row.device}: {n}." for row in comparison.rows for n in row.notes if EQUIVALENT in n}
    )
    said += [f"Stale: {' on '.join(line[:2])}: {line[3]}; renew with `{line[4]}`." for line in stale(comparison).rows]
    said += [f"Skipped: {problem}" for problem in comparison.problems]
    return said


def _quality_remarks(comparison: Comparison) -> Iterator[str]:
    """Say of which cases no quality is known, and what is known of their results all the same."""
    bare = [
        case
        for case in dict.fromkeys(row.case for row in comparison.rows)
        if not any(row.case == case and row.quality for row in comparison.rows)
    ]
    if bare:
        yield f"No quality is known of {', '.join(bare)}: untrained parameters show none."
    seeded = dict.fromkeys(r.case for r in comparison.quality if r.conditions.get("parameters") == "untrained")
    if seeded:
        yield (
            f"Parameters of {', '.join(seeded)} are untrained: the noise of an arithmetic (SQNR) is known of them, not "
            "whether what they generate looks right."
        )
    if any(row.proved for row in comparison.rows if row.case in bare):
        yield "Quality `exact`: every bit equalled the oracle, so the results are the same in any arithmetic."


def _assumed(row: Row) -> str:
    """Say where an assumed clock comes from."""
    sources = "; ".join(r.provenance.source for r in row.records if r.device == row.device)
    clock = text.si(row.assumed_clock or 0.0, "Hz")
    return f"{clock} is assumed for {row.implementation} on {row.device}, {row.case}: {sources}."


def _energy_remarks(comparison: Comparison) -> Iterator[str]:
    """Say where energy was cut on each device, of how many windows, and what is in it."""
    taken = {(row.device, f.boundary, f.samples) for row in comparison.shown if (f := row.figures.get("energy"))}
    for name in sorted({device for device, _, _ in taken}):
        cuts = "/".join(sorted({cut for device, cut, _ in taken if device == name}))
        counts = sorted({count for device, _, count in taken if device == name})
        several = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        idle = next((f.value for r in comparison.rows if r.device == name and (f := r.figures.get("idle_power"))), None)
        drawn = f", idle power ({idle:.0f} W) included" if idle else ""
        share = sensor_error(name)
        error = f", sensor error of {share:.0%} in the bands" if share else ""
        yield (f"Energy on {name}: {cuts} boundary, n = {several}{drawn}{error}.")


def _launch_remarks(comparison: Comparison) -> Iterator[str]:
    """Say how far an empty launch drifted within one run, at the boundary that all APIs share."""
    found = floors(row for row in comparison.rows if row.boundary == Boundary.HOST)
    drifts = [(low, high) for low, high in found.values() if high > 1.1 * low]
    if drifts:
        low, high = max(drifts, key=lambda d: d[1] / d[0])
        said = f"{text.si(low * 1e-9, 's')} at one moment of a run and {text.si(high * 1e-9, 's')} at another"
        yield f"An empty launch took {said} (medians, host boundary); ratios of latencies carry that drift."


def performance(title: str, rows: Iterable[Row]) -> Table:
    """Return the table of throughput, latency and energy of rows cut at one boundary."""
    return table(
        title,
        rows,
        {
            "case": lambda r: r.case,
            "implementation": lambda r: r.implementation,
            "device": lambda r: r.device,
            "arithmetic": lambda r: r.arithmetic or text.MISSING,
            "quality": text.quality,
            "batch": lambda r: batch_text(r.batch),
            "launch": lambda r: r.launch or text.MISSING,
            "throughput, items/s": lambda r: text.quantity(r, "throughput", ""),
            "latency p50 / p99": text.latency,
            "energy per item": lambda r: text.quantity(r, "energy", "J"),
            "evidence": text.evidence,
        },
        ("batch", "throughput, items/s", "latency p50 / p99", "energy per item"),
    )


def _resources(rows: Iterable[Row]) -> Table:
    made = table(
        "FPGA designs: cycles, clock and resources",
        [row for row in rows if row.kind in ("fpga", SIMULATION)],
        {
            "case": lambda r: r.case,
            "implementation": lambda r: r.implementation,
            "device": lambda r: r.device,
            "multipliers": lambda r: r.array.split(" = ")[0] or text.MISSING,
            "interval, cycles": lambda r: text.count(r, "interval"),
            "latency, cycles": lambda r: text.count(r, "cycles"),
            "Fmax": lambda r: text.quantity(r, "fmax", "Hz"),
            "target": _target,
            "LUT": lambda r: text.resource(r, "luts"),
            "FF": lambda r: text.resource(r, "ffs"),
            "BRAM": lambda r: text.resource(r, "brams"),
            "DSP": lambda r: text.resource(r, "dsps"),
            "evidence": lambda r: "; ".join((text.evidence(r), *(note for note in r.notes if EQUIVALENT not in note))),
        },
        ("multipliers", "interval, cycles", "latency, cycles", "Fmax", "target", "LUT", "FF", "BRAM", "DSP"),
        wide=True,
    )
    return without_empty(made, text.MISSING, keep=[name for name in made.columns if name != "multipliers"])


def _target(row: Row) -> str:
    clock = row.conditions.get("target_clock_hz")
    return text.si(clock, "Hz") if isinstance(clock, (int, float)) else text.MISSING


def _quality(comparison: Comparison) -> Table:
    names = sorted({name for row in comparison.quality for name in row.quality})
    cells = [
        (
            row.case,
            row.arithmetic or text.MISSING,
            *(text.one_quality(row.quality[n], 4) if n in row.quality else text.MISSING for n in names),
            *{f"{figure.samples:,}" for figure in list(row.quality.values())[:1]},
            ", ".join((text.evidence(row), *_whose(row))),
        )
        for row in comparison.quality
        if row.quality
    ]
    columns = ("case", "arithmetic", *names, "samples", "evidence")
    return Table("Quality, by the workload's own measure", columns, tuple(cells), frozenset((*names, "samples")))


def _whose(row: Row) -> Iterator[str]:
    """Say what speaks against a row of quality, or whose run it is of."""
    if row.conditions.get("parameters") == "untrained":
        yield "untrained"
    if "energy_drift" in row.quality:
        yield "the oracle's own runs in this arithmetic"


def ratios(given: Iterable[Ratio]) -> Table:
    """Return the table of ratios that the referee allows; each is `over` divided by `under`."""
    found = list(given)
    cells = [
        (
            v.over.case,
            text.figure_name(v.figure)
            + (f", {v.over.boundary}" if v.over.boundary in (Boundary.DEVICE, Boundary.HOST) else ""),
            v.over.label,
            v.under.label,
            text.ratio(v),
            v.division,
            "; ".join((text.grades(v), *v.notes)),
        )
        for v in found
    ]
    proved = "; same results: every bit equal to one oracle" if any(v.division == SAME_RESULTS for v in found) else ""
    sides = [row for v in found for row in (v.over, v.under)]
    title = f"Ratios: A over B (same quality: {same_quality(sides)}{proved})"
    columns = ("case", "figure", "A", "B", "A / B", "division", "grade")
    return Table(title, columns, tuple(cells), frozenset(["A / B"]), wraps=frozenset(("A", "B", "grade")))


def same_quality(rows: Iterable[Row]) -> str:
    """Say what the referee takes for the same quality, of the measures that rows have."""
    known = {name: figure.unit == "dB" for row in rows for name, figure in row.quality.items()}
    said = []
    if not known or any(not (decibel or name in ERRORS_ENOUGH) for name, decibel in known.items()):
        said.append(f"every figure within {QUALITY_TOLERANCE:g}")
    if any(known.values()):
        said.append(f"in dB within {DECIBEL_TOLERANCE:g} or both at least {DECIBELS_ENOUGH:g}")
    if any(name in ERRORS_ENOUGH for name in known):
        least = min(ERRORS_ENOUGH.values())
        said.append(f"errors of both at most {least:g}, or the larger at most {ERROR_FACTOR:g} times the smaller")
    return ", ".join(said)


def refusals(found: Iterable[Refusal]) -> Table:
    """Return the table of ratios that the referee refuses, with the reason and what would help.

    Refusals of one pair for one reason stand in one line; where their batches differ the line names none.
    """
    alike: dict[tuple[str, ...], list[Refusal]] = {}
    for v in found:
        alike.setdefault((*_pair(v.over), *_pair(v.under), v.reason, v.command), []).append(v)
    cells = [
        (
            group[0].over.case,
            ", ".join(dict.fromkeys(text.figure_name(v.figure) for v in group)),
            _one_label([v.over for v in group]),
            _one_label([v.under for v in group]) if group[0].under is not group[0].over else text.MISSING,
            group[0].reason + (f" (try `{group[0].command}`)" if group[0].command else ""),
        )
        for group in alike.values()
    ]
    return Table("Refused", ("case", "figure", "A", "B", "reason"), tuple(cells))


def _pair(row: Row) -> tuple[str, ...]:
    return row.case, row.implementation, row.device, row.arithmetic, row.launch


def _one_label(rows: list[Row]) -> str:
    labels = {row.label for row in rows}
    return labels.pop() if len(labels) == 1 else replace(rows[0], batch=None).label


def provenance(comparison: Comparison) -> Table:
    """Return where each record behind the rows came from, each run's alike records once."""
    lines: dict[tuple[str, ...], int] = {}
    for row in comparison.everything:
        for record, origin in zip(row.records, row.origins, strict=True):
            p = record.provenance
            tools = ", ".join(f"{name} {version}" for name, version in sorted(p.tools.items()))
            where = (record.implementation, record.device, p.time[:16].replace("T", " "), p.revision)
            key = (*where, p.host, tools, p.source, p.command, origin)
            lines[key] = lines.get(key, 0) + 1
    columns = (
        "implementation", "device", "taken, UTC", "revision", "host", "tools", "source", "renewed by", "origin"
    )  # fmt: skip
    cells = [tuple(cell or text.MISSING for cell in key) for key in lines]
    return Table("Where the records come from", columns, tuple(cells))


def stale(comparison: Comparison) -> Table:
    """Return the stale rows, why, and the command that renews each."""
    lines = {
        (row.implementation, row.device, row.case, found.reason, found.command): None
        for row in comparison.everything
        for found in row.stale
    }
    columns = ("implementation", "device", "case", "reason", "renewed by")
    return Table("Stale records", columns, tuple(lines))
