"""All files of a comparison, written together or not at all."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from compare import plots
from compare.batch_tables import overtaking
from compare.claim_tables import claims
from compare.comparison import Comparison
from compare.report import html
from compare.writers import as_json, csv_of, csv_text, latex, markdown


def write_outputs(comparison: Comparison, out_dir: Path | str) -> list[Path]:
    """Write Markdown, CSV, LaTeX, JSON, HTML and, for each case with data, SVG and PNG; return the paths.

    What became of claims, and where GPUs overtake FPGAs, have CSV files of their own.

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
    drawn = plots.figures(comparison)
    vectors = {case: plots.as_svg(canvas) for case, canvas in drawn.items()}
    files = {
        f"{stem}.md": markdown(comparison).encode(),
        f"{stem}.csv": csv_text(comparison).encode(),
        f"{stem}.tex": latex(comparison).encode(),
        f"{stem}.json": as_json(comparison).encode(),
        f"{stem}.html": html(comparison, vectors).encode(),
    }
    for name, table in (("overtaking", overtaking(comparison.overtakings)), ("claims", claims(comparison.claims))):
        if table.rows:
            files[f"{stem}-{name}.csv"] = csv_of(table).encode()
    for case, canvas in drawn.items():
        name = re.sub(r"[^\w.-]", "_", f"{stem}-{case}")
        files[f"{name}.svg"] = vectors[case]
        files[f"{name}.png"] = plots.as_png(canvas)
    return files
