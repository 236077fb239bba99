"""One self-contained HTML file: tables, figure, ratios, refusals, the method in short, and where it all came from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

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
    return environment.get_template("report.html").render(
        heading=t.heading(comparison),
        tables=t.tables(comparison),
        remarks=t.remarks(comparison),
        provenance=t.provenance(comparison),
        stale=t.stale(comparison),
        figures={case: _inline(svg) for case, svg in figures.items()},
        tolerance=f"{QUALITY_TOLERANCE:g}",
        p99=f"{samples_needed('99'):,}",
    )


def _inline(svg: bytes) -> str:
    """Return an SVG file without its XML prologue."""
    said = svg.decode("utf-8")
    return said[said.index("<svg") :]
