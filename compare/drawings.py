"""All figures of a comparison: by batch, how much a rate varies, and what networks generated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from compare import motion_plots, plots
from compare.batches import RATE, curve
from compare.comparison import Comparison
from compare.derive import band
from compare.motion_tables import MOTION, SIZES
from compare.rows import Row, batch_text
from compare.samples import REAL, Sheet
from compare.text import digits
from compare.variation import Variation, variation
from compare.work_tables import VARIATIONS

#: Pictures of a sheet side by side, and the grey between them.
COLUMNS = 24
GAP = 235


@dataclass(frozen=True)
class Drawing:
    """A figure, the end of its file's name, and what it shows, for those who cannot see it.

    In a report it stands below the table of the title `below`, or on top.
    """

    name: str
    says: str
    canvas: Canvas
    below: str = ""


def drawings(comparison: Comparison) -> list[Drawing]:
    """Return the figures of a comparison, those of a case together."""
    by_batch, shared = plots.figures(comparison), plots.colours(comparison)
    found: list[Drawing] = []
    for case in comparison.cases:
        sheets = [sheet for sheet in comparison.sheets if sheet.row.case == case]
        if sheets:
            made = draw_sheets(f"{comparison.workload} · {case}", sheets)
            found.append(Drawing(f"{case}-samples", f"Generated samples, {case}", made))
        if case in by_batch:
            found.append(Drawing(case, f"Throughput and latency against batch, {case}", by_batch[case]))
        rows = [row for row in comparison.rows if row.case == case]
        if canvas := draw_variation(f"{comparison.workload} · {case}", rows, shared):
            says = f"Variation of the throughput against batch, {case}"
            found.append(Drawing(f"{case}-variation", says, canvas, VARIATIONS))
        if traces := [trace for trace in comparison.traces if trace.row.case == case]:
            canvas = motion_plots.draw_traces(f"{comparison.workload} · {case}", traces)
            found.append(Drawing(f"{case}-energy", f"Total energy against time steps, {case}", canvas))
    if canvas := motion_plots.draw_sizes(comparison.workload, comparison.points, comparison.sizes, shared):
        below = SIZES if comparison.sizes else MOTION
        found.append(Drawing("sizes", "Pairs a second against the size of the system", canvas, below))
    return found


def draw_sheets(title: str, sheets: Sequence[Sheet]) -> Canvas:
    """Return generated pictures, a strip for each arithmetic, and real ones in the last."""
    strips = [montage(sheet.pixels) for sheet in sheets]
    tall = 1.1 + sum(14.2 * strip.shape[0] / strip.shape[1] + 0.35 for strip in strips)
    with mpl.rc_context({**plots.STYLE, "axes.grid": False}):
        canvas = Canvas(figsize=(16, tall))
        FigureCanvasAgg(canvas)
        canvas.text(0.012, 1 - 0.45 / tall, title, fontsize=16, weight="bold", color=plots.INK)
        key = "the same inputs in each arithmetic" + (" · last: real ones" if sheets[-1].name == REAL else "")
        canvas.text(0.988, 1 - 0.42 / tall, f"generated samples, {key}", fontsize=11.5, color="#555555", ha="right")
        below = tall - 1.0
        for sheet, strip in zip(sheets, strips, strict=True):
            height = 14.2 * strip.shape[0] / strip.shape[1]
            below -= height
            axes = canvas.add_axes((0.105, below / tall, 14.2 / 16, height / tall))
            axes.imshow(strip, cmap="gray", vmin=0, vmax=255, interpolation="nearest", aspect="auto")
            axes.set_axis_off()
            canvas.text(
                0.012, (below + height / 2) / tall, _strip_name(sheet), fontsize=13, color=plots.INK, va="center"
            )
            below -= 0.35
    return canvas


def montage(pixels: np.ndarray) -> np.ndarray:
    """Return pictures (n, rows, columns, channels) as one (rows', columns'[, 3]), COLUMNS in a line, a gap between."""
    n, rows, columns, channels = pixels.shape
    lines = -(-n // COLUMNS)
    sheet = np.full((lines * (rows + 1) - 1, COLUMNS * (columns + 1) - 1, channels), GAP, np.uint8)
    for i, picture in enumerate(pixels):
        line, column = divmod(i, COLUMNS)
        top, left = line * (rows + 1), column * (columns + 1)
        sheet[top : top + rows, left : left + columns] = picture
    return sheet[..., 0] if channels == 1 else sheet


def _strip_name(sheet: Sheet) -> str:
    """Return the arithmetic, and what speaks against the strip."""
    said = ["real" if sheet.name == REAL else sheet.name]
    said += ["untrained"] if sheet.row.conditions.get("parameters") == "untrained" else []
    said += ["STALE"] if sheet.row.stale else []
    return "\n".join(said)


def draw_variation(title: str, rows: Sequence[Row], shared: plots.Colours | None = None) -> Canvas | None:
    """Return how much the rate of each line of the figure by batch varies from run to run; None where nobody knows.

    `rows` are of one case. The standard deviation over the mean, in per cent, with its 95 % band; what does not vary
    stands at the bottom.
    """
    known = {id(row): variation(row) for row in rows}
    lines = plots.series_of(rows)
    if not any(known[id(row)].run for line in lines for row in line.rows):
        return None
    with mpl.rc_context(plots.STYLE):
        canvas = Canvas(figsize=(16, 6.4))
        FigureCanvasAgg(canvas)
        axes = canvas.add_axes((0.055, 0.11, 0.72, 0.74))
        canvas.text(0.012, 0.94, title, fontsize=16, weight="bold", color=plots.INK)
        key = "kernel boundary, the best launch · bars: 95 % · dashed: outside baseline"
        canvas.text(0.988, 0.945, key, fontsize=11.5, color="#555555", ha="right")
        says = "standard deviation of the throughput from run to run, over its mean (lower is steadier)"
        axes.set(xscale="log", yscale="log", xlabel="batch, items", title=says)
        _lines(axes, lines, plots.painted([line.rows[0] for line in lines], shared or {}), known)
    return canvas


def _lines(axes: Axes, lines: Sequence[plots.Series], paint: Sequence[str], known: dict[int, Variation]) -> None:
    ends: list[tuple[float, str, str]] = []
    steady: list[tuple[str, plots.LineStyle, str]] = []
    batches: list[float] = []
    for line, colour in zip(lines, paint, strict=True):
        if line.pipeline:
            its = known[id(line.rows[0])]
            if its.exact:
                steady.append((line.name, line.style, colour))
            elif its.counted and its.runs is not None:
                most = its.runs.value * 100
                axes.axhline(most, color=colour, linestyle=line.style, linewidth=2.5)
                ends.append((most, f"{line.name}\nat most {digits(most)} %", colour))
            continue
        points = [(row.batch, known[id(row)].runs) for row in curve(line.rows, RATE) if known[id(row)].run]
        if not points:
            continue
        x = [float(batch) for batch, _ in points if isinstance(batch, int)]
        y = [f.value * 100 for _, f in points if f is not None]
        bounds = [band(f) for _, f in points if f is not None]
        below = [[v - low * 100 for v, (low, _) in zip(y, bounds, strict=True)],
                 [high * 100 - v for v, (_, high) in zip(y, bounds, strict=True)]]  # fmt: skip
        axes.errorbar(x, y, yerr=below, color=colour, linestyle=line.style, marker=line.marker, markersize=5,
                      linewidth=2, elinewidth=1, capsize=2)  # fmt: skip
        ends.append((y[-1], line.name, colour))
        batches += x
    first, last = min(batches), max(max(batches), min(batches) * 4)
    axes.set_xlim(first / 1.3, last * 1.3)
    low, high = axes.get_ylim()
    floor = low / 2
    if steady:
        axes.set_ylim(floor / 1.4, high)
    for name, style, colour in steady:
        axes.axhline(floor, color=colour, linestyle=style, linewidth=2.5)
        ends.append((floor, f"{name}\nnone, exact", colour))
    axes.xaxis.set_major_locator(LogLocator(base=4, numticks=99))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plots.power(batch_text(round(value)))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    if high < 100 * low:  # too few powers of ten to read a value by
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:g} %" if value > floor * 1.5 or not steady else "")
    )
    plots.label(axes, ends)
