"""One self-contained HTML file: tables, figure, ratios, refusals, the method in short, and where it all came from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from compare import claim_tables
from compare import tables as t
from compare.comparison import Comparison
from compare.referee import QUALITY_TOLERANCE
from compare.rows import samples_needed


def html(comparison: Comparison, figures: Mapping[str, bytes]) -> str:
    """Return the report; `figures` maps a case to its figure as SVG, which is set inline."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["powers"] = _powers
    return environment.get_template("report.html").render(
        heading=t.heading(comparison),
        tables=[table for table in t.tables(comparison) if table.title != claim_tables.CLAIMS],
        claims=[(judged, claim_tables.says(judged), claim_tables.lines(judged)) for judged in comparison.claims],
        claims_title=claim_tables.CLAIMS,
        several=len(comparison.cases) != 1,
        remarks=t.remarks(comparison),
        provenance=t.provenance(comparison),
        stale=t.stale(comparison),
        figures={case: _inline(svg) for case, svg in figures.items()},
        tolerance=f"{QUALITY_TOLERANCE:g}",
        p99=f"{samples_needed('99'):,}",
    )


def _powers(cell: str) -> Markup:
    """Return a cell with `2^20` set as a power; all else is escaped."""
    return Markup(re.sub(r"\b2\^(\d+)", r"2<sup>\1</sup>", str(escape(cell))))


def _inline(svg: bytes) -> str:
    """Return an SVG file without its XML prologue."""
    said = svg.decode("utf-8")
    return said[said.index("<svg") :]
