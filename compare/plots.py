"""The figure of a comparison: throughput and latency against batch size, FPGA and GPU."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from compare import batch_tables
from compare.batches import RATE, TIME, Crossing, Overtaking, curve, time_of
from compare.comparison import Comparison
from compare.derive import band
from compare.record import Boundary
from compare.rows import Figure, Row, batch_text
from compare.text import si

#: After Okabe and Ito's palette, which colour-blind people can tell apart; pale ones darkened, for they also set text.
PALETTE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#3A97D3", "#B07A00", "#5B5B5B", "#7A4DB5")
SERIES_AT_MOST = len(PALETTE)
LineStyle = str | tuple[int, tuple[int, int]]
_LINES: dict[str, LineStyle] = {"product": "-", "outside baseline": (0, (4, 2))}
STYLE: dict[Any, Any] = {
    "font.size": 13, "axes.titlesize": 14, "axes.titlelocation": "left", "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#DDDDDD", "grid.linewidth": 0.6,
    "svg.hashsalt": "gatewarp", "svg.fonttype": "path", "figure.facecolor": "white",
}  # fmt: skip
INK = "#222222"
#: What leads from the last point of a line to its label: seen, and not taken for data.
LEADER: dict[str, Any] = {"color": "#AAAAAA", "linestyle": (0, (1, 3)), "linewidth": 0.9}
_LINE_GAP, _LABEL_GAP = 16.0, 5.0  # points from line to line of a label, and more from label to label
#: What a batch and a figure are on one side: batches, lows, values, highs.
Band = tuple[list[float], list[float], list[float], list[float]]


@dataclass(frozen=True)
class Series:
    """One line of the figure: rows of one implementation by batch, or one row of a pipeline that does not batch."""

    name: str
    rows: tuple[Row, ...]
    style: LineStyle
    marker: str

    @property
    def pipeline(self) -> bool:
        """Whether it does not batch."""
        return not isinstance(self.rows[0].batch, int)

    def points(self, name: str) -> Band:
        """Return the figure at each batch where it is known and may be printed, by the best launch there."""
        known = [(row.batch, row.figures[name]) for row in curve(self.rows, name)]
        return _band((float(batch), f) for batch, f in known if isinstance(batch, int))

    def drawn(self, name: str, first: float, last: float) -> Band:
        """Return the figure of a pipeline at batches from `first` to `last`: its rate, or the time of a whole batch."""
        row = self.rows[0]
        if name not in row.figures or RATE not in row.figures:
            return [], [], [], []
        batches = [first * (last / first) ** (i / 200) for i in range(201)]
        found = [(n, row.figures[RATE] if name == RATE else time_of(row, max(n, 1.0))) for n in batches]
        return _band((n, f) for n, f in found if f is not None)


def _band(points: Iterable[tuple[float, Figure]]) -> Band:
    rows = [(x, *band(f), f.value) for x, f in points]
    return [r[0] for r in rows], [r[1] for r in rows], [r[3] for r in rows], [r[2] for r in rows]


def figures(comparison: Comparison) -> dict[str, Canvas]:
    """Return one figure for each case that has something to draw: a pipeline, or a kernel at two batches or more."""
    found, shared = _series(comparison), colours(comparison)
    title = f"{comparison.workload} · "
    return {
        case: draw(title + case, lines, [o for o in comparison.overtakings if o.fpga.case == case], shared)
        for case, lines in found.items()
        if any(line.pipeline or len({row.batch for row in line.rows}) > 1 for line in lines)
    }


def _series(comparison: Comparison) -> dict[str, list[Series]]:
    return {case: series_of(row for row in comparison.rows if row.case == case) for case in comparison.cases}


#: Colours of implementations in arithmetics, whatever the device.
Colours = Mapping[tuple[str, ...], str]


def colours(comparison: Comparison) -> Colours:
    """Return one colour for each line in the figures of all cases, no two alike in one figure.

    A line is left out where the figures that it is in leave no colour for it; see `painted`.
    """
    beside: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    ranks: dict[tuple[str, ...], tuple[object, ...]] = {}
    for lines in _series(comparison).values():
        names = {_name(line.rows[0]) for line in lines}
        for line in lines:
            beside.setdefault(_name(line.rows[0]), set()).update(names)
            ranks.setdefault(_name(line.rows[0]), _rank(line))
    order = sorted(ranks, key=lambda name: ranks[name])
    spread = _coloured(order, beside, spread=True)
    return spread if len(spread) == len(order) else _coloured(order, beside, spread=False)


def _coloured(
    order: Sequence[tuple[str, ...]], beside: Mapping[tuple[str, ...], set[tuple[str, ...]]], *, spread: bool
) -> Colours:
    """Give each name a colour that none beside it has: the least used one, or without `spread` the first there is."""
    found: dict[tuple[str, ...], str] = {}
    used: Counter[str] = Counter()
    for name in order:
        taken = {found[other] for other in beside[name] if other in found}
        free = [colour for colour in PALETTE if colour not in taken]
        if free:
            found[name] = min(free, key=lambda colour: used[colour]) if spread else free[0]
            used[found[name]] += 1
    return found


def _name(row: Row) -> tuple[str, ...]:
    return row.implementation, row.arithmetic


def painted(rows: Sequence[Row], shared: Colours) -> list[str]:
    """Return a colour for each of at most as many rows as the palette has, their own where that is not taken."""
    own = [shared.get(_name(row), "") for row in rows]
    said = [colour if own.index(colour) == i else "" for i, colour in enumerate(own)]
    spare = iter(colour for colour in PALETTE if colour not in said)
    return [colour or next(spare) for colour in said]


def series_of(rows: Iterable[Row]) -> list[Series]:
    """Group rows at the kernel boundary into lines, FPGA first; of many lines keep the fastest of each device.

    An implementation in one arithmetic is one line, whatever the ways it was launched in.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.boundary == Boundary.KERNEL and RATE in row.figures and row.kind in ("fpga", "gpu", "cpu"):
            groups.setdefault((row.implementation, row.device, row.arithmetic), []).append(row)
    lines = []
    for group in groups.values():
        row = group[0]
        style: LineStyle = ":" if row.kind == "cpu" else "-." if row.assumed_clock else _LINES[row.tier]
        name = f"{batch_tables.short(row)} {row.arithmetic}".strip() + f"\n{batch_tables.place(row)}"
        lines.append(Series(name, tuple(group), style, "s" if row.tier != "product" else "o"))
    fpga = [line for line in lines if line.rows[0].kind == "fpga"]
    others = sorted((line for line in lines if line.rows[0].kind != "fpga"), key=_peak, reverse=True)
    first: dict[tuple[str, str], Series] = {}
    for line in others:  # every implementation on every device once before any twice
        first.setdefault((line.rows[0].implementation, line.rows[0].device), line)
    chosen = [*fpga, *first.values(), *(line for line in others if line not in first.values())]
    return sorted(chosen[:SERIES_AT_MOST], key=_rank)


def _rank(line: Series) -> tuple[object, ...]:
    """The order of lines, so that each has the same colour in the figures of all cases."""
    row = line.rows[0]
    return row.kind != "fpga", row.tier != "product", row.kind, row.device, row.implementation, row.arithmetic


def _peak(line: Series) -> float:
    return max(row.figures[RATE].value for row in line.rows)


def draw(
    title: str, lines: list[Series], overtakings: Sequence[Overtaking] = (), shared: Colours | None = None
) -> Canvas:
    """Return the figure: left throughput in items/s, right median time of a batch, both against the batch."""
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(16, 7.5))
        FigureCanvasAgg(canvas)  # one that can measure, for the places of the labels
        left, right = canvas.subplots(1, 2)
        canvas.subplots_adjust(left=0.055, right=0.835, top=0.87, bottom=0.09, wspace=0.76)
        canvas.text(0.012, 0.95, title, fontsize=16, weight="bold", color=INK)
        canvas.text(0.988, 0.955, _key(lines, overtakings), fontsize=11.5, color="#555555", ha="right")
        paint = painted([line.rows[0] for line in lines], shared or {})
        _panel(left, lines, paint, overtakings, RATE, "throughput, items/s (higher is better)", "")
        _panel(right, lines, paint, overtakings, TIME, "time of a batch, p50 (lower is better)", "s")
    return canvas


def _key(lines: list[Series], overtakings: Sequence[Overtaking]) -> str:
    """Say what the marks mean, of those that are there."""
    said = ["kernel boundary, the best launch", "shaded: bands"]
    rows = [line.rows[0] for line in lines]
    if any(row.tier != "product" for row in rows):
        said.append("dashed: outside baseline")
    if any(row.kind == "cpu" for row in rows):
        said.append("dotted: CPU")
    if any(row.assumed_clock for row in rows):
        said.append("dash-dotted: clock assumed")
    if any(crossing.between for o in overtakings for crossing in (o.time, o.rate)):
        said.append("ring and bar: the GPU overtakes, with its band")
    return " · ".join(said)


def _panel(
    axes: Axes,
    lines: list[Series],
    paint: list[str],
    overtakings: Sequence[Overtaking],
    name: str,
    title: str,
    unit: str,
) -> None:
    scale = 1e-9 if unit == "s" else 1.0
    axes.set(xscale="log", yscale="log", title=title, xlabel="batch, items")
    batches = [x for line in lines for x in line.points(name)[0]] or [1.0, 2.0**20]
    first, last = min(batches), max(max(batches), min(batches) * 4)
    ends: list[tuple[float, str, str]] = []
    for line, colour in zip(lines, paint, strict=True):
        x, *bounds = line.drawn(name, first, last * 1.3) if line.pipeline else line.points(name)
        if not x:
            continue
        low, middle, high = ([value * scale for value in values] for values in bounds)
        axes.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0)
        if line.pipeline:
            axes.plot(x, middle, color=colour, linestyle=line.style, linewidth=2.5)
        else:
            axes.plot(x, middle, color=colour, linestyle=line.style, marker=line.marker, markersize=5, linewidth=2)
            axes.plot([x[-1], last * 1.3], [middle[-1]] * 2, **LEADER)
        said = _rings(axes, line, overtakings, name, colour, scale)
        ends.append((middle[-1], "\n".join(filter(None, (line.name, said))), colour))
    axes.set_xlim(first / 1.3, last * 1.3)
    axes.xaxis.set_major_locator(LogLocator(base=16 if last > 4**6 else 4, numticks=99))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: power(batch_text(round(value)))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    bottom, top = axes.get_ylim()
    if top < 100 * bottom:  # too few powers of ten to read a value by
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(ticks(unit))
    label(axes, ends)


def _rings(axes: Axes, line: Series, overtakings: Sequence[Overtaking], name: str, colour: str, scale: float) -> str:
    """Mark where a GPU's line overtakes those of FPGA designs, each with its band; return what its label says of it."""
    row, said = line.rows[0], []
    for o in overtakings:
        found = o.rate if name == RATE else o.time
        if whose(o.gpu) != whose(row) or found.reason:
            continue
        said.append(_from(found))
        if not found.between:
            continue
        assert found.meets is not None
        figure = o.fpga.figures[RATE] if name == RATE else time_of(o.fpga, found.meets)
        assert figure is not None
        height = figure.value * scale
        ends = [found.low or found.first, found.high or found.last]
        axes.plot(ends, [height] * 2, color=INK, linewidth=5, alpha=0.35, solid_capstyle="butt", zorder=4)
        axes.plot([found.meets], [height], marker="o", markersize=11, markerfacecolor="none", markeredgecolor=INK,
                  markeredgewidth=1.8, zorder=5)  # fmt: skip
    return said[0] if len(said) == 1 else ""


def whose(row: Row) -> tuple[str, ...]:
    """Return what a line, and its colour, stands for."""
    return row.implementation, row.device, row.arithmetic


def _from(found: Crossing) -> str:
    """Say where a GPU is ahead of the one FPGA design of a figure, or behind it, of the batches measured."""
    if found.first == found.last:
        return f"{'behind' if found.batch is None else 'ahead of'} FPGA at batch {batch_text(found.last)}"
    if found.batch is None:
        return f"behind FPGA up to {batch_text(found.last)}"
    return f"ahead of FPGA {f'from {batch_text(found.batch)}' if found.between else 'at every batch'}"


def apart(places: list[float], gap: float, top: float) -> list[float]:
    """Return ascending places moved apart to at least `gap`, upwards first, then down again from `top`."""
    at = list(places)
    for i in range(1, len(at)):
        at[i] = max(at[i], at[i - 1] + gap)
    for i in reversed(range(len(at))):
        at[i] = min(at[i], (at[i + 1] - gap) if i + 1 < len(at) else top)
    return at


def ticks(unit: str = "") -> FuncFormatter:
    """Return a formatter of round values with SI prefixes."""
    return FuncFormatter(lambda value, _: si(value, unit).replace(".00", "").replace(".0", ""))


def power(said: str) -> str:
    """Return `2^20` with a raised exponent."""
    return "$2^{" + said[2:] + "}$" if said.startswith("2^") else said


def label(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Write each line's name beside its end, moved apart so that no two names overlap, and lead to it."""
    axes.get_figure(root=True).canvas.draw()  # type: ignore[union-attr]
    box = axes.get_window_extent()
    longest = max((name.count("\n") + 1 for _, name, _ in ends), default=1)
    gap = (longest * _LINE_GAP + _LABEL_GAP) * axes.get_figure(root=True).dpi / 72  # type: ignore[union-attr]
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
            linespacing=1.25,
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
    with mpl.rc_context(STYLE):
        canvas.savefig(out, format=kind, dpi=150, metadata=metadata)
    return out.getvalue()
