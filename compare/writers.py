"""A comparison as terminal output, Markdown, CSV, LaTeX and JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Literal

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from compare import claim_tables
from compare import tables as t
from compare.batches import Overtaking
from compare.comparison import Comparison
from compare.grid import Table, without
from compare.judge import Finding, Judged, Verdict
from compare.referee import Ratio, Refusal
from compare.rows import Figure, Row
from compare.samples import Sheet
from compare.text import MISSING
from compare.variation import Variation

_RAW = (
    "throughput", "latency_p50", "latency_p99", "launch_floor", "energy", "power", "idle_power", "interval", "cycles",
    "fmax", "clock", "luts", "ffs", "brams", "dsps", "utilisation",
)  # fmt: skip


def render_terminal(comparison: Comparison, console: Console, *, whole: bool = True) -> None:
    """Print the tables, the ratios, the refusals and the remarks; without `whole` the kernel boundary's times only."""
    console.print(Text(t.heading(comparison), style="bold"))
    every = t.tables(comparison)
    short = [table for table in every if not table.long]
    for table in every if whole else short:
        console.print()
        console.print(Text(table.title, style="bold cyan"))
        if "A" in table.columns:
            console.print(_verdicts(table))
            continue
        if table.title == claim_tables.CLAIMS:
            console.print(_claims(comparison))
            continue
        slim = without(table, "quality")  # it has a table of its own above
        if _natural_width(slim) > console.width:
            for lines in _cards(slim):
                console.print(lines)
            continue
        rich = RichTable(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for column in slim.columns:
            justify: Literal["left", "right"] = "right" if column in table.numbers else "left"
            rich.add_column(column, justify=justify, overflow="fold", no_wrap=column in ("implementation", "device"))
        for row in slim.rows:
            rich.add_row(*(Text(cell, style="yellow" if "STALE" in cell else "") for cell in row))
        console.print(rich)
    if not comparison.rows:
        console.print("No records yet: `make compare` takes those that this machine can take.")
    console.print()
    if not whole and len(short) < len(every):
        said = "Times with transfers, as the host sees them, and the best launch batch by batch: --all."
        console.print(Text(said, style="dim"))
    for remark in t.remarks(comparison):
        console.print(Text(remark, style="yellow" if remark.startswith(("Stale", "Skipped")) else "dim"))


def _natural_width(table: Table) -> int:
    """Columns that a table takes when no cell is folded, except its last, which may be folded to half, or to 60."""
    widths = [max(map(len, cells)) + 2 for cells in zip(table.columns, *table.rows, strict=True)]
    return sum(widths[:-1]) + min(widths[-1] // 2, 60)


def _cards(table: Table) -> Iterator[Text]:
    """Yield each row as a few lines, for a terminal too narrow for the table."""
    for cells in table.rows:
        row = dict(zip(table.columns, cells, strict=True))
        last = row.pop(table.columns[-1])
        plain = [cell for name, cell in row.items() if name not in table.numbers and cell not in ("", MISSING)]
        figures = [f"{name} {cell}" for name, cell in row.items() if name in table.numbers]
        card = Text(", ".join(plain), style="bold")
        card.append("\n  " + "; ".join(figures), style="not bold")
        yield card.append(f"\n  {last}", style="not bold yellow" if "STALE" in last else "not bold dim")


def _verdicts(table: Table) -> RichTable:
    """Set ratios and refusals in two columns, the second with both sides and, under them, the evidence or reason."""
    rich = RichTable(box=None, padding=(0, 2, 0, 0), show_header=False)
    rich.add_column(no_wrap=True)
    rich.add_column(no_wrap=True)
    rich.add_column(overflow="fold")
    for cells in table.rows:
        row = dict(zip(table.columns, cells, strict=True))
        sides = Text(row["A"] + ("" if row["B"] == MISSING else f" over {row['B']}"))
        figure = "\n".join(row["figure"].split(", ")) if "reason" in row else row["figure"]
        figure = f"{row['case']}: {figure}" if "case" in row else figure
        if "reason" in row:
            rich.add_row(figure, Text("refused", style="red"), sides.append("\n" + row["reason"], style="dim"))
        else:
            evidence = f"\n{row['division']}; {row['grade']}"
            rich.add_row(figure, Text(row["A / B"], style="bold green"), sides.append(evidence, style="dim"))
    return rich


_COLOURS = {
    Verdict.SUPPORTED: "bold green",
    Verdict.CONTRADICTED: "bold red",
    Verdict.NOT_COMPARABLE: "yellow",
    Verdict.NO_EVIDENCE: "dim",
}


def _claims(comparison: Comparison) -> RichTable:
    """Set each verdict beside its claim and, under it, what each test wanted and found, on what evidence."""
    rich = RichTable(box=None, padding=(0, 2, 0, 0), show_header=False)
    rich.add_column(no_wrap=True)
    rich.add_column(overflow="fold")
    for judged in comparison.claims:
        case = f"{judged.claim.case}: " if len(comparison.cases) != 1 else ""
        said = Text(f"{case}{judged.claim.name}. ", style="bold").append(claim_tables.says(judged), style="not bold")
        for line in claim_tables.lines(judged):
            value = "" if line.found == MISSING else f"; found {line.found}"
            said.append(f"\n{line.what}: {line.wanted}{value}", style="not bold")
            said.append(f" – {line.verdict}", style=f"not dim {_COLOURS[Verdict(line.verdict)]}")
            said.append(f": {line.ground}", style="not bold")
            for side in line.sides:
                said.append(f"\n  {side}", style="not bold dim")
        rich.add_row(Text(judged.verdict, style=_COLOURS[judged.verdict]), said)
    return rich


def markdown(comparison: Comparison) -> str:
    """Return the tables as GitHub Markdown."""
    parts = [f"# {t.heading(comparison)}"]
    for table in t.tables(comparison):
        marks = ["--:" if column in table.numbers else ":--" for column in table.columns]
        lines = [table.columns, marks, *table.rows]
        parts += [f"## {table.title}", "\n".join("| " + " | ".join(map(_markdown, row)) + " |" for row in lines)]
    remarks = t.remarks(comparison)
    if remarks:
        parts.append("\n".join(f"* {remark}" for remark in remarks))
    return "\n\n".join(parts) + "\n"


def _markdown(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "×": r"$\times$", "±": r"$\pm$", "µ": r"$\mu$", "–": "--",
    "·": r"$\cdot$", "≥": r"$\geq$", "≤": r"$\leq$", "`": r"\textasciigrave{}",
}  # fmt: skip


def latex(comparison: Comparison) -> str:
    """Return a document that compiles by itself, its tables in booktabs style, ready to be taken into a paper."""
    parts = [
        r"\documentclass{article}",
        r"\usepackage[T1]{fontenc}",
        r"\usepackage[utf8]{inputenc}",
        r"\usepackage[a3paper,landscape,margin=12mm]{geometry}",
        r"\usepackage{booktabs,longtable,tabularx}",
        r"\begin{document}",
        rf"\section*{{{_latex(t.heading(comparison))}}}",
    ]
    for table in t.tables(comparison):
        parts += ["", rf"\subsection*{{{_latex(table.title)}}}", *_latex_table(table)]
    parts += ["", *(f"{_latex(remark)}\\par" for remark in t.remarks(comparison)), r"\end{document}", ""]
    return "\n".join(parts)


def _latex_table(table: Table) -> list[str]:
    """Return a table of the page's width; one with several columns of sentences may break over pages."""
    wide = {*table.wraps, table.columns[-1]}
    sentence = "X" if not table.wraps else rf">{{\raggedright\arraybackslash}}p{{{0.65 / len(wide):.3f}\linewidth}}"
    kinds = "".join(sentence if c in wide else "r" if c in table.numbers else "l" for c in table.columns)
    begin, end = rf"\begin{{tabularx}}{{\linewidth}}{{@{{}}{kinds}@{{}}}}", r"\end{tabularx}"
    if table.wraps:
        begin, end = rf"\begin{{longtable}}{{@{{}}{kinds}@{{}}}}", r"\end{longtable}"
    lines = [" & ".join(map(_latex, row)) + r" \\" for row in (table.columns, *table.rows)]
    start = "{" if table.wraps else r"\noindent"
    return [
        rf"{start}\footnotesize{begin}", r"\toprule", lines[0], r"\midrule",
        *([r"\endhead"] if table.wraps else []), *lines[1:], r"\bottomrule",
        end + ("}" if table.wraps else ""),
    ]  # fmt: skip


def _latex(cell: str) -> str:
    said = "".join(_LATEX.get(c, c if c.isascii() or c.isalpha() else "?") for c in cell)
    return re.sub(r"(\d+)\\textasciicircum\{\}(\d+)", r"$\1^{\2}$", said)


def csv_of(table: Table) -> str:
    """Return a table's cells as they stand in the other outputs."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([table.columns, *table.rows])
    return out.getvalue()


def csv_text(comparison: Comparison) -> str:
    """Return every row, also those that the short tables leave out, as numbers in the units of the record."""
    rows = (*comparison.rows, *comparison.published)
    names = sorted({name for row in rows for name in row.quality})
    others = sorted({name for row in rows for name in row.figures} - set(_RAW))
    head = [
        "workload", "case", "implementation", "device", "kind", "tier", "arithmetic", "batch", "launch", "boundary",
        "grade", "origin", "stale", "time", "command", "notes", *(f"quality.{name}" for name in names),
    ]  # fmt: skip
    columns = ("", " unit", " low", " high", " statistic", " samples", " boundary", " grade")
    head += [f"{name}{column}" for name in (*_RAW, *others) for column in columns]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        cells: list[Any] = [
            row.workload, row.case, row.implementation, row.device, row.kind, row.tier, row.arithmetic, row.batch,
            row.launch, row.boundary, row.grade, " and ".join(dict.fromkeys(row.origins)),
            "; ".join(map(str, row.stale)), row.time, row.command, "; ".join(row.notes),
            *(row.quality[name].value if name in row.quality else None for name in names),
        ]  # fmt: skip
        for name in (*_RAW, *others):
            f = row.figures.get(name)
            cells += [None] * len(columns) if f is None else _raw(f)
        writer.writerow(cells)
    return out.getvalue()


def _raw(f: Figure) -> list[Any]:
    """Return a figure's cells; the value of a percentile with too few samples stays empty."""
    value = None if f.lacking else f.value
    return [value, f.unit, f.low, f.high, f.statistic, f.samples, f.boundary, f.grade]


def as_json(comparison: Comparison) -> str:
    """Return the whole comparison for programs."""
    data = {
        "workload": comparison.workload,
        "cases": comparison.cases,
        "rows": [_row(row) for row in comparison.rows],
        "quality": [_row(row) for row in comparison.quality],
        "published": [_row(row) for row in comparison.published],
        "operations": [_row(row) for row in comparison.counts],
        "layers": [_row(row) for row in comparison.layers],
        "boards": [_row(row) for row in comparison.deployed],
        "samples": [_sheet(sheet) for sheet in comparison.sheets],
        "variations": [_variation(found) for found in comparison.variations],
        "overtakings": [_overtaking(found) for found in comparison.overtakings],
        "claims": [_claim(judged) for judged in comparison.claims],
        "ratios": [_ratio(found) for found in comparison.ratios],
        "refusals": [_refusal(found) for found in comparison.refusals],
        "problems": [str(problem) for problem in comparison.problems],
        "superseded": comparison.superseded,
    }
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _figure(f: Figure) -> dict[str, Any]:
    return {
        "quantity": f.quantity, "value": f.value, "low": f.low, "high": f.high, "spread": f.spread, "unit": f.unit,
        "statistic": f.statistic, "samples": f.samples, "samples_needed": f.lacking or None, "boundary": f.boundary,
        "grade": f.grade,
    }  # fmt: skip


def _row(row: Row) -> dict[str, Any]:
    return {
        "label": row.label, "workload": row.workload, "case": row.case, "implementation": row.implementation,
        "device": row.device, "kind": row.kind, "tier": row.tier, "arithmetic": row.arithmetic, "batch": row.batch,
        "launch": row.launch, "boundary": row.boundary, "grade": row.grade, "origins": row.origins, "time": row.time,
        "assumed_clock": row.assumed_clock, "equal_to_oracle": row.proved or None,
        "command": row.command, "conditions": dict(row.conditions), "notes": row.notes,
        "stale": [str(found) for found in row.stale], "records": [record.id for record in row.records],
        "figures": {name: _figure(f) for name, f in row.figures.items()},
        "quality": {name: _figure(f) for name, f in row.quality.items()},
    }  # fmt: skip


def _sheet(sheet: Sheet) -> dict[str, Any]:
    return {**_row(sheet.row), "pictures": len(sheet.pixels)}


def _variation(v: Variation) -> dict[str, Any]:
    known = {"runs": v.runs, "rounds": v.rounds, "energy": v.energy}
    return {"label": v.row.label, "case": v.row.case, "run": v.run or None,
            **{name: None if f is None else _figure(f) for name, f in known.items()}}  # fmt: skip


def _ratio(v: Ratio) -> dict[str, Any]:
    return {
        "figure": v.figure, "case": v.over.case, "over": v.over.label, "under": v.under.label, "value": v.value,
        "low": v.low, "high": v.high, "grade": v.grade, "grades": v.grades, "division": v.division, "notes": v.notes,
    }  # fmt: skip


def _overtaking(o: Overtaking) -> dict[str, Any]:
    return {
        "case": o.fpga.case, "fpga": o.fpga.label, "gpu": o.gpu.label, "time": asdict(o.time),
        "throughput": asdict(o.rate),
    }  # fmt: skip


def _claim(judged: Judged) -> dict[str, Any]:
    claim = judged.claim
    return {
        "case": claim.case, "name": claim.name, "text": claim.text, "figure": claim.figure, "paper": claim.paper,
        "trust": claim.trust, "note": claim.note, "verdict": judged.verdict,
        "findings": [_finding(finding) for finding in judged.findings],
    }  # fmt: skip


def _finding(f: Finding) -> dict[str, Any]:
    return {
        "what": f.test.what, "wanted": claim_tables.wanted(f.test), "verdict": f.verdict, "value": f.value,
        "low": f.low, "high": f.high, "grade": f.grade, "reason": f.reason,
        "sides": [{"label": row.label, **_figure(figure)} for row, figure in f.sides],
    }  # fmt: skip


def _refusal(v: Refusal) -> dict[str, Any]:
    return {
        "figure": v.figure, "case": v.over.case, "over": v.over.label, "under": v.under.label, "reason": v.reason,
        "command": v.command or None,
    }  # fmt: skip
