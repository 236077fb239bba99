"""Figures of molecular dynamics: pairs a second against the size of the system, and energy against steps."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from compare import batch_tables, plots
from compare.derive import band
from compare.motion import PAIRS
from compare.rows import Row
from compare.sizes import Point, SizeCrossing, lines_of
from compare.traces import Trace


def draw_sizes(
    workload: str, points: Sequence[Point], crossings: Sequence[SizeCrossing], shared: plots.Colours | None = None
) -> Canvas | None:
    """Return pairs a second against atoms: lines of kernels, a mark for each FPGA design; None for one size only.

    A line joins the sizes of one kind of system; systems of which there is one size are marks of their own, those of
    one system on an upright line with its name.
    """
    if len({point.atoms for point in points}) < 2:
        return None
    fpgas = [[[point]] for point in points if point.row.kind == "fpga"]
    order = [*fpgas, *sorted(lines_of(p for p in points if p.row.kind != "fpga").values(), key=_place)]
    order = order[: plots.SERIES_AT_MOST]
    paint = plots.painted([lines[0][0].row for lines in order], shared or {})
    with mpl.rc_context(plots.STYLE):
        canvas = Canvas(figsize=(16, 8))
        FigureCanvasAgg(canvas)
        axes = canvas.add_axes((0.06, 0.09, 0.66, 0.78))
        canvas.text(0.012, 0.945, f"{workload} · size of the system", fontsize=16, weight="bold", color=plots.INK)
        key = "line: sizes of like systems · dotted: a design's rate, if kept at all sizes and kinds · dashed: outside "
        key += "baseline\nopen marks on an upright: one system of another kind · ring: a line overtakes a design's rate"
        canvas.text(0.988, 0.925, key, fontsize=11.5, color="#555555", ha="right", linespacing=1.5)
        axes.set(xscale="log", yscale="log", xlabel="atoms", title="pairs within the cutoff, pair/s (higher is better)")
        first, last = min(p.atoms for p in points), max(p.atoms for p in points)
        ends: list[tuple[float, str, str]] = []
        for lines, colour in zip(order, paint, strict=True):
            line, row = lines[0], lines[0][0].row
            x, y = [p.atoms for p in line], [p.rate for p in line]
            if row.kind == "fpga":
                low, high = band(row.figures[PAIRS])
                axes.plot([first / 1.3, last * 1.3], [y[0]] * 2, color=colour, linestyle=":", linewidth=1.6)
                axes.fill_between([first / 1.3, last * 1.3], low, high, color=colour, alpha=0.15, linewidth=0)
                axes.plot(x, y, color=colour, marker="D", markersize=10, linestyle="none", zorder=4)
            else:
                style = "-" if row.tier == "product" else (0, (4, 2))
                for each in lines:
                    single = {"markersize": 7, "markerfacecolor": "none", "markeredgewidth": 1.6}
                    axes.plot([p.atoms for p in each], [p.rate for p in each], color=colour, linestyle=style,
                              marker="o" if row.tier == "product" else "s", linewidth=2,
                              **(single if len(each) == 1 else {"markersize": 5}))  # fmt: skip
                axes.plot([x[-1], last * 1.3], [y[-1]] * 2, **plots.LEADER)
            ends.append((y[-1], _name(row), colour))
        for name, atoms, low, high in _alone(order):
            axes.plot([atoms] * 2, [low, high], color="#AAAAAA", linewidth=0.8, zorder=1)
            axes.annotate(
                name, (atoms, high), (0, 8), textcoords="offset points", ha="center", fontsize=11, color=plots.INK
            )
        for crossing in crossings:
            if crossing.atoms is not None:
                axes.plot([crossing.atoms], [crossing.fpga.rate], marker="o", markersize=11, markerfacecolor="none",
                          markeredgecolor=plots.INK, markeredgewidth=1.8, zorder=5)  # fmt: skip
        axes.set_xlim(first / 1.3, last * 1.3)
        axes.xaxis.set_major_formatter(plots.ticks())
        axes.yaxis.set_major_formatter(plots.ticks())
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(LogLocator(numticks=99))
        plots.label(axes, ends)
    return canvas


def _place(lines: Sequence[Sequence[Point]]) -> tuple[bool, str, str]:
    row = lines[0][0].row
    return row.tier != "product", row.implementation, row.arithmetic


def _alone(order: Sequence[Sequence[Sequence[Point]]]) -> list[tuple[str, float, float, float]]:
    """Cases that are no part of the longest line of a kernel: atoms, and the rates of their lowest and highest mark."""
    names = {point.row.case for lines in order for line in lines[1:] for point in line}
    marks = [point for lines in order for line in lines for point in line if point.row.case in names]
    found = {name: [point for point in marks if point.row.case == name] for name in sorted(names)}
    return [(n, p[0].atoms, min(each.rate for each in p), max(each.rate for each in p)) for n, p in found.items()]


def _name(row: Row) -> str:
    case = f", {row.case}" if row.kind == "fpga" else ""
    return f"{batch_tables.short(row)} {row.arithmetic}".strip() + f"\n{batch_tables.place(row)}{case}"


def draw_traces(title: str, traces: Sequence[Trace]) -> Canvas:
    """Return total energy an atom, less that at the start, against steps: a line for each arithmetic."""
    with mpl.rc_context(plots.STYLE):
        canvas = Canvas(figsize=(16, 6.4))
        FigureCanvasAgg(canvas)
        axes = canvas.add_axes((0.075, 0.11, 0.68, 0.74))
        canvas.text(0.012, 0.94, title, fontsize=16, weight="bold", color=plots.INK)
        key = "lines: one run of each arithmetic from the same start · names: root mean square (rms) of several runs"
        canvas.text(0.988, 0.945, key, fontsize=11.5, color="#555555", ha="right")
        unit = next((trace.unit for trace in traces if trace.unit), "")
        said = f"total energy of an atom less that at the start, one run{', ' + unit if unit else ''}"
        axes.set(xlabel="time steps", title=said)
        axes.axhline(0, color="#999999", linewidth=0.8)
        ends: list[tuple[float, str, str]] = []
        for trace, colour in zip(traces, plots.PALETTE, strict=False):
            steps = np.arange(len(trace.energies)) * trace.steps
            change = trace.energies - trace.energies[0]
            axes.plot(steps, change, color=colour, linewidth=1.5)
            drift = trace.row.quality.get("energy_drift")
            runs = f"10,000 steps, rms of {drift.samples} runs" if drift else ""
            slope = f"\ndrift {drift.value:.1e} kT an atom in\n{runs}" if drift else ""
            stale = ", STALE" if trace.row.stale else ""
            ends.append((float(change[-1]), f"{trace.row.arithmetic}{stale}{slope}", colour))
        axes.margins(x=0)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(value, 12):g}"))
        plots.label(axes, ends)
    return canvas
