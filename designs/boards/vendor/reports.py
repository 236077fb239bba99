"""Reads what Vivado and v++ report: slack, clock and resources of a routed design.

    timing = read_timing(folder / "timing.rpt", clock="clk")
    timing.fmax_hz, timing.met
    read_utilisation(folder / "utilisation.rpt")["luts"]

Formats are those of `report_timing_summary` and `report_utilization` (UG906) and of `xclbinutil --info`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from designs.flow.tools import FlowError

#: What each figure counts: name in the report of a 7 series part, in that of UltraScale+, and its weight.
#: Block RAM comes in tiles of 36 kbit; records count halves, as everywhere in this project.
ROWS: Mapping[str, tuple[tuple[str, ...], float]] = {
    "luts": (("Slice LUTs", "CLB LUTs"), 1),
    "ffs": (("Slice Registers", "CLB Registers"), 1),
    "brams": (("Block RAM Tile",), 2),
    "dsps": (("DSPs",), 1),
}

_NUMBER = r"-?\d+(?:\.\d+)?"


@dataclass(frozen=True)
class Timing:
    """Slack of a routed design: over all clocks (`wns_ns` setup, `whs_ns` hold), and of the design's own clock.

    `fmax_hz` is what the design's clock could be: one over its period less its worst slack.
    """

    wns_ns: float
    whs_ns: float
    period_ns: float
    slack_ns: float

    @property
    def met(self) -> bool:
        """True when no path is too slow or too fast."""
        return self.wns_ns >= 0 and self.whs_ns >= 0

    @property
    def fmax_hz(self) -> float:
        """The highest clock that the design's own paths allow, in Hz."""
        return 1e9 / (self.period_ns - self.slack_ns)


def read_timing(path: Path, clock: str) -> Timing:
    """Slacks of a report of `report_timing_summary`; FlowError names what is missing in it."""
    text = _text(path)
    summary = _table(path, text, "Design Timing Summary")
    numbers = next(
        (found for line in summary if len(found := re.findall(_NUMBER, line)) >= 8 and "(" not in line), None
    )
    if numbers is None:
        raise FlowError(f"{path}: no slacks in Design Timing Summary; was the design routed?")
    period = _row(path, text, "Clock Summary", clock, least=2)
    slack = _row(path, text, "Intra Clock Table", clock, least=8)
    return Timing(float(numbers[0]), float(numbers[4]), period, slack)


def _table(path: Path, text: str, title: str) -> list[str]:
    """Lines of a section, up to the title of the next."""
    start = text.find(f"| {title}\n")
    if start < 0:
        raise FlowError(f"{path}: no section {title!r}; is it a report of report_timing_summary?")
    lines = text[start:].splitlines()[1:]
    end = next(
        (at for at, line in enumerate(lines) if at > 1 and line.startswith("| ") and "---" not in line), len(lines)
    )
    return lines[:end]


def _row(path: Path, text: str, title: str, clock: str, *, least: int) -> float:
    """The first number of a clock's row, after its name and its waveform in braces; a row has at least `least` numbers.

    A clock without paths of its own has a row with the slack of its pulses alone.
    """
    for line in _table(path, text, title):
        name, *numbers = re.sub(r"\{[^}]*\}", "", line).split() or [""]
        if name == clock and len(numbers) >= least:
            return float(numbers[0])
    raise FlowError(f"{path}: no clock {clock!r} in {title}; the report is of another design")


def read_utilisation(path: Path) -> dict[str, int]:
    """Resources by the names of records (brams in halves of 36 kbit); FlowError for a report without them."""
    counts: dict[str, int] = {}
    for line in _text(path).splitlines():
        cells = [cell.strip().rstrip("*") for cell in line.strip("|").split("|")]
        for name, (titles, weight) in ROWS.items():
            if name not in counts and len(cells) > 1 and cells[0] in titles and re.fullmatch(_NUMBER, cells[1]):
                counts[name] = round(float(cells[1]) * weight)
    missing = [name for name in ROWS if name not in counts]
    if missing:
        raise FlowError(f"{path}: no {', '.join(missing)} in it; is it a report of report_utilization?")
    return counts


def read_kernel_clock(path: Path) -> float:
    """The clock (Hz) that v++ gave the kernels of an xclbin, from the text that it writes beside it."""
    text = _text(path)
    for block in re.split(r"\n\s*\n", text):
        kind = re.search(r"Type:\s*(\w+)", block)
        rate = re.search(rf"Frequency:\s*({_NUMBER})\s*MHz", block)
        if kind and rate and kind.group(1) == "DATA":
            return float(rate.group(1)) * 1e6
    raise FlowError(f"{path}: no clock of type DATA in it; is it the output of xclbinutil --info?")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        raise FlowError(f"{path}: not there; the tool ended without it, see its log") from None
