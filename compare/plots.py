"""The figure of a comparison: throughput and latency against batch size, FPGA and GPU."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from compare.comparison import Comparison
from compare.derive import band
from compare.record import Boundary
from compare.rows import Row, batch_text
from compare.text import si

#: After Okabe and Ito's palette, which colour-blind people can tell apart; pale ones darkened, for they also set text.
PALETTE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#3A97D3", "#B07A00", "#5B5B5B", "#7A4DB5")
SERIES_AT_MOST = len(PALETTE)
LineStyle = str | tuple[int, tuple[int, int]]
_LINES: dict[str, LineStyle] = {"product": "-", "outside baseline": (0, (4, 2))}
_STYLE: dict[Any, Any] = {
    "font.size": 13, "axes.titlesize": 14, "axes.titlelocation": "left", "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#DDDDDD", "grid.linewidth": 0.6,
    "svg.hashsalt": "gatewarp", "svg.fonttype": "path", "figure.facecolor": "white",
}  # fmt: skip
_INK = "#222222"
_LABEL_GAP = 33.0  # points between two labels


@dataclass(frozen=True)
class Series:
    """One line of the figure: rows of one implementation by batch, or one row of a pipeline that does not batch."""

    name: str
    rows: tuple[Row, ...]
    style: LineStyle
    marker: str

    def points(self, name: str) -> tuple[list[float], list[float]]:
        """Return batches and values of a figure where it is known and may be printed."""
        known = [(r.batch, r.figures[name]) for r in self.rows if name in r.figures and not r.figures[name].lacking]
        pairs = [(float(b), f.value) for b, f in known if isinstance(b, int)]
        return [x for x, _ in pairs], [y for _, y in pairs]

    def pipeline(self, name: str, first: float, last: float) -> tuple[list[float], ...]:
        """Return batches from `first` to `last` with low, value and high of a pipeline that does not batch.

        Its throughput is the same for any batch. n items take the latency of one and n - 1 intervals more, so the
        latency of a batch is latency + (n - 1) / throughput.
        """
        figures = self.rows[0].figures
        if name not in figures or "throughput" not in figures:
            return [], [], [], []
        (low, high), value = band(figures[name]), figures[name].value
        (slow, quick), rate = band(figures["throughput"]), figures["throughput"].value
        x = [first * (last / first) ** (i / 200) for i in range(201)]
        if name == "throughput":
            return x, [low] * len(x), [value] * len(x), [high] * len(x)
        more = [max(n - 1, 0.0) * 1e9 for n in x]
        return x, [low + m / quick for m in more], [value + m / rate for m in more], [high + m / slow for m in more]


def figures(comparison: Comparison) -> dict[str, Canvas]:
    """Return one figure for each case that has something to draw."""
    found = {case: series_of(row for row in comparison.rows if row.case == case) for case in comparison.cases}
    return {case: draw(f"{comparison.workload} · {case}", lines) for case, lines in found.items() if lines}


def series_of(rows: Iterable[Row]) -> list[Series]:
    """Group rows at the kernel boundary into lines, FPGA first; of many lines keep the fastest of each device."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.boundary == Boundary.KERNEL and "throughput" in row.figures and row.kind in ("fpga", "gpu", "cpu"):
            groups.setdefault((row.implementation, row.device, row.arithmetic, row.launch), []).append(row)
    lines = []
    for group in groups.values():
        row = group[0]
        what = " ".join(part for part in (_short(row), row.arithmetic, row.launch) if part)
        style: LineStyle = ":" if row.kind == "cpu" else _LINES[row.tier]
        ordered = sorted(group, key=lambda r: r.batch if isinstance(r.batch, int) else 0)
        lines.append(Series(f"{what}\n{row.device}", tuple(ordered), style, "s" if row.tier != "product" else "o"))
    fpga = [line for line in lines if line.rows[0].kind == "fpga"]
    lines = _one_launch(lines)
    others = sorted((line for line in lines if line.rows[0].kind != "fpga"), key=_peak, reverse=True)
    first: dict[tuple[str, str], Series] = {}
    for line in others:  # every implementation on every device once before any twice
        first.setdefault((line.rows[0].implementation, line.rows[0].device), line)
    chosen = [*fpga, *first.values(), *(line for line in others if line not in first.values())]
    return chosen[:SERIES_AT_MOST]


def _one_launch(lines: Iterable[Series]) -> list[Series]:
    """Of our own kernels that were launched in several ways keep the one that is quickest at its smallest batch."""
    ways: dict[tuple[str, ...], list[Series]] = {}
    for line in lines:
        row = line.rows[0]
        way = "" if row.tier == "product" else row.launch
        ways.setdefault((row.implementation, row.device, row.arithmetic, way), []).append(line)
    return [min(found, key=_start) for found in ways.values()]


def _start(line: Series) -> float:
    _, times = line.points("latency_p50")
    return times[0] if times else float("inf")


def _short(row: Row) -> str:
    """Return `gpu/opencl` for `gpu/track/opencl`: the title names the workload."""
    return row.implementation.replace(f"/{row.workload}/", "/")


def _peak(line: Series) -> float:
    return max(row.figures["throughput"].value for row in line.rows)


def draw(title: str, lines: list[Series]) -> Canvas:
    """Return the figure: left throughput in items/s, right median latency, both against the batch."""
    with mpl.rc_context(_STYLE):
        canvas = Canvas(figsize=(16, 7.5))
        FigureCanvasAgg(canvas)  # one that can measure, for the places of the labels
        left, right = canvas.subplots(1, 2)
        canvas.subplots_adjust(left=0.055, right=0.84, top=0.87, bottom=0.09, wspace=0.76)
        canvas.text(0.012, 0.95, title, fontsize=16, weight="bold", color=_INK)
        key = "kernel boundary · FPGA: band over seeds · dashed: outside baseline · dotted: CPU"
        canvas.text(0.988, 0.955, key, fontsize=11.5, color="#555555", ha="right")
        _panel(left, lines, "throughput", "throughput, items/s (higher is better)", "")
        _panel(right, lines, "latency_p50", "latency p50 of a batch (lower is better)", "s")
    return canvas


def _panel(axes: Axes, lines: list[Series], name: str, title: str, unit: str) -> None:
    scale = 1e-9 if unit == "s" else 1.0
    axes.set(xscale="log", yscale="log", title=title, xlabel="batch, items")
    batches = [x for line in lines for x in line.points(name)[0]] or [1.0, 2.0**20]
    first, last = min(batches), max(max(batches), min(batches) * 4)
    ends: list[tuple[float, str, str]] = []
    for line, colour in zip(lines, PALETTE, strict=False):
        if not isinstance(line.rows[0].batch, int):
            x, low, middle, high = line.pipeline(name, first, last * 1.3)
            if x:
                scaled = [[value * scale for value in values] for values in (low, middle, high)]
                axes.fill_between(x, scaled[0], scaled[2], color=colour, alpha=0.25, linewidth=0)
                axes.plot(x, scaled[1], color=colour, linewidth=2.5)
                ends.append((scaled[1][-1], line.name, colour))
            continue
        x, y = line.points(name)
        if x:
            values = [value * scale for value in y]
            axes.plot(x, values, color=colour, linestyle=line.style, marker=line.marker, markersize=5, linewidth=2)
            axes.plot([x[-1], last * 1.3], [values[-1]] * 2, color=colour, linewidth=0.8)  # lead it to its label
            ends.append((values[-1], line.name, colour))
    axes.set_xlim(first / 1.3, last * 1.3)
    axes.xaxis.set_major_locator(LogLocator(base=16 if last > 4**6 else 4, numticks=99))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(batch_text(round(value)))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    bottom, top = axes.get_ylim()
    if top < 100 * bottom:  # too few powers of ten to read a value by
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: si(value, unit).replace(".00", "").replace(".0", "")))
    _label(axes, ends)


def apart(places: list[float], gap: float, top: float) -> list[float]:
    """Return ascending places moved apart to at least `gap`, upwards first, then down again from `top`."""
    at = list(places)
    for i in range(1, len(at)):
        at[i] = max(at[i], at[i - 1] + gap)
    for i in reversed(range(len(at))):
        at[i] = min(at[i], (at[i + 1] - gap) if i + 1 < len(at) else top)
    return at


def _power(said: str) -> str:
    """Return `2^20` with a raised exponent."""
    return "$2^{" + said[2:] + "}$" if said.startswith("2^") else said


def _label(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Write each line's name beside its end, moved apart so that no two names overlap, and lead to it."""
    axes.get_figure(root=True).canvas.draw()  # type: ignore[union-attr]
    box = axes.get_window_extent()
    gap = _LABEL_GAP * axes.get_figure(root=True).dpi / 72  # type: ignore[union-attr]
    order = sorted(range(len(ends)), key=lambda i: ends[i][0])
    at = apart([axes.transData.transform((1, ends[i][0]))[1] for i in order], gap, box.y1)
    for place, i in zip(at, order, strict=True):
        value, name, colour = ends[i]
        axes.annotate(
            name,
            xy=(1.0, value),
            xycoords=("axes fraction", "data"),
            xytext=(1.05, (place - box.y0) / box.height),
            textcoords="axes fraction",
            color=colour,
            fontsize=11,
            va="center",
            linespacing=1.05,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.8,
                "shrinkA": 1,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
        )


def as_svg(canvas: Canvas) -> bytes:
    """Return the figure as SVG, the same bytes for the same data."""
    return _saved(canvas, "svg", {"Date": None})


def as_png(canvas: Canvas) -> bytes:
    """Return the figure as PNG."""
    return _saved(canvas, "png", None)


def _saved(canvas: Canvas, kind: str, metadata: dict[str, None] | None) -> bytes:
    out = io.BytesIO()
    with mpl.rc_context(_STYLE):
        canvas.savefig(out, format=kind, dpi=150, metadata=metadata)
    return out.getvalue()
