"""One self-contained HTML file: tables, figure, ratios, refusals, the method in short, and where it all came from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from compare import claim_tables
from compare import tables as t
from compare.comparison import Comparison
from compare.referee import DECIBELS_ENOUGH
from compare.rows import samples_needed


@dataclass(frozen=True)
class Picture:
    """A figure as SVG, what it shows in words, and the title of the table that it stands below; on top without one."""

    says: str
    svg: bytes
    below: str = ""

    @property
    def inline(self) -> str:
        """The figure without its XML prologue."""
        said = self.svg.decode("utf-8")
        return said[said.index("<svg") :]


def html(comparison: Comparison, figures: Sequence[Picture]) -> str:
    """Return the report, the figures inline."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["powers"] = _powers
    environment.filters["bands"] = _bands
    return environment.get_template("report.html").render(
        heading=t.heading(comparison),
        tables=[table for table in t.tables(comparison) if table.title != claim_tables.CLAIMS],
        claims=[(judged, claim_tables.says(judged), claim_tables.lines(judged)) for judged in comparison.claims],
        claims_title=claim_tables.CLAIMS,
        several=len(comparison.cases) != 1,
        remarks=t.remarks(comparison),
        provenance=t.provenance(comparison),
        stale=t.stale(comparison),
        figures=figures,
        same_quality=t.same_quality(comparison.quality),
        decibels=_in_decibels(comparison),
        enough=f"{DECIBELS_ENOUGH:g}",
        counted=bool(comparison.counts),
        varied=bool(comparison.variations),
        p99=f"{samples_needed('99'):,}",
    )


def _in_decibels(comparison: Comparison) -> bool:
    return any(figure.unit == "dB" for row in comparison.quality for figure in row.quality.values())


def _powers(cell: str) -> Markup:
    """Return a cell with `2^20` set as a power, and names that may break at their slashes; all else is escaped."""
    powers = re.sub(r"\b2\^(\d+)", r"2<sup>\1</sup>", str(escape(cell)))
    return Markup(re.sub(r"(?<=[a-z])/(?=[a-z])", "/<wbr>", powers))


def _bands(cell: Markup) -> Markup:
    """Return the cell of a number so that it may break before its band or share only."""
    parts = r"[^ \[(]+(?: [^ \[(]+)+|[\[(][^\])]*[\])]"
    return Markup(re.sub(parts, r'<span class="one">\g<0></span>', str(cell)))
