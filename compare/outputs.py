"""All files of a comparison, written together or not at all."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from compare import motion_tables, plots, work_tables
from compare.batch_tables import overtaking
from compare.claim_tables import claims
from compare.comparison import Comparison
from compare.drawings import drawings
from compare.report import Picture, html
from compare.writers import as_json, csv_of, csv_text, latex, markdown


def write_outputs(comparison: Comparison, out_dir: Path | str) -> list[Path]:
    """Write Markdown, CSV, LaTeX, JSON, HTML and, for each figure of `compare.drawings`, SVG and PNG; return the paths.

    Claims, crossings of GPUs with FPGAs, operations, layers, variation and what is said of molecular dynamics have CSV
    files of their own where there are any.

    All files are made in a temporary folder beside the final ones and moved there only when all are complete, each
    replacing its predecessor. Errors: OSError when the disk refuses; then, and on an interrupt, nothing has changed.
    """
    target = Path(out_dir)
    target.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".gatewarp-", dir=target))
    try:
        names = []
        for name, content in _contents(comparison).items():
            (staging / name).write_bytes(content)
            names.append(name)
        for name in names:
            os.replace(staging / name, target / name)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return [target / name for name in names]


def _contents(comparison: Comparison) -> dict[str, bytes]:
    stem = comparison.workload
    drawn = drawings(comparison)
    vectors = [Picture(drawing.says, plots.as_svg(drawing.canvas), drawing.below) for drawing in drawn]
    files = {
        f"{stem}.md": markdown(comparison).encode(),
        f"{stem}.csv": csv_text(comparison).encode(),
        f"{stem}.tex": latex(comparison).encode(),
        f"{stem}.json": as_json(comparison).encode(),
        f"{stem}.html": html(comparison, vectors).encode(),
    }
    for name, table in (
        ("overtaking", overtaking(comparison.overtakings)),
        ("claims", claims(comparison.claims)),
        ("systems", motion_tables.systems(comparison.systems)),
        ("motion", motion_tables.motion(comparison.rows)),
        ("application", motion_tables.application(comparison.applications)),
        ("sizes", motion_tables.sizes(comparison.sizes)),
        ("operations", work_tables.counts(comparison.counts)),
        ("layers", work_tables.layers(comparison.layers)),
        ("variation", work_tables.variations(comparison.variations)),
    ):
        if table.rows:
            files[f"{stem}-{name}.csv"] = csv_of(table).encode()
    for drawing, picture in zip(drawn, vectors, strict=True):
        name = re.sub(r"[^\w.-]", "_", f"{stem}-{drawing.name}")
        files[f"{name}.svg"] = picture.svg
        files[f"{name}.png"] = plots.as_png(drawing.canvas)
    return files
