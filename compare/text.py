"""Figures as text: SI prefixes, three digits, bands; what is missing is an en-dash."""

from __future__ import annotations

import math
import re

from compare.derive import AT_MOST
from compare.devices import share
from compare.record import Stage, unit_of
from compare.referee import ERRORS_ENOUGH, Ratio
from compare.rows import BUSY, Figure, Row

MISSING = "–"

#: Quality figures about others of their row: how sure a drift is, and what else goes with it.
_BESIDE = {"energy_deviation", "energy_drift_error", "momentum"}
#: Short names of errors, which their values do not tell apart.
_ERRORS = {"force_error": "force", "energy_drift": "drift"}

_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}


def digits(value: float, count: int = 3) -> str:
    """Return a number with `count` significant digits and no exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    places = count - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    places = count - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(places, 0)}f}"


def si(value: float, unit: str, low: float | None = None, high: float | None = None, *, figures: int = 3) -> str:
    """Return a value with an SI prefix, and its band in the same unit: `124 MHz [118–131]`."""
    power = 0 if value == 0 else math.floor(math.log10(abs(float(f"{value:.2e}"))) / 3) * 3
    power = max(-12, min(15, power))
    number = digits(value / 10**power, figures)
    if figures > 3 and "." in number:  # a figure as it was stated, not a measurement
        number = number.rstrip("0").rstrip(".")
    said = f"{number} {_PREFIXES[power]}{unit}".strip()
    return said + _band(value / 10**power, low and low / 10**power, high and high / 10**power)


def plain(value: float, low: float | None = None, high: float | None = None) -> str:
    """Return a value in three digits without a prefix, with its band: `612 [590–853]`."""
    return digits(value) + _band(value, low, high)


def amount_plain(row: Row, name: str) -> str:
    """Return a figure of a row in the same way."""
    figure = row.figures.get(name)
    return MISSING if figure is None else plain(figure.value, figure.low, figure.high)


def _band(value: float, low: float | None, high: float | None) -> str:
    """Return a band in brackets, or nothing when there is none or it does not show in three digits."""
    if low is None or high is None or digits(low) == digits(value) == digits(high):
        return ""
    return f" [{digits(low)}–{digits(high)}]"


def time(figure: Figure | None, *, banded: bool = True) -> str:
    """Return a latency in ns, µs, ms or s; a percentile with too few samples is not printed."""
    if figure is None or figure.lacking:
        return MISSING
    bounds = (figure.low, figure.high) if banded else (None, None)
    scaled = [None if x is None else x * 1e-9 for x in (figure.value, *bounds)]
    return si(scaled[0] or 0.0, "s", scaled[1], scaled[2])


def latency(row: Row) -> str:
    """Return `p50 / p99` of a row; a deterministic pipeline has one latency, with the band of its clock."""
    p50, p99 = row.figures.get("latency_p50"), row.figures.get("latency_p99")
    if p50 is None and p99 is None:
        return MISSING
    if p50 is not None and p50.statistic == "exact":
        return f"{time(p50)}, {'modelled' if Stage.MODELLED in p50.stages else 'exact'}"
    return f"{time(p50, banded=False)} / {time(p99, banded=False)}"


def quantity(row: Row, name: str, unit: str) -> str:
    """Return a figure of a row with SI prefix and band."""
    figure = row.figures.get(name)
    return MISSING if figure is None else si(figure.value, unit, figure.low, figure.high)


def whole(row: Row, name: str) -> str:
    """Return a figure of a row without decimal places."""
    figure = row.figures.get(name)
    return MISSING if figure is None else f"{figure.value:,.0f}"


def count(row: Row, name: str) -> str:
    """Return a number of cycles of a row with its band."""
    figure = row.figures.get(name)
    if figure is None:
        return MISSING
    return _counted(figure.value, figure.low, figure.high)


def _counted(value: float, low: float | None, high: float | None) -> str:
    """Return a count with its band: a mean in seven digits, and whole from there on, never with an exponent."""
    said = [f"{x:,.0f}" if abs(x) >= 1e6 else f"{x:,.7g}" for x in (value, low, high) if x is not None]
    return f"{said[0]} [{said[1]}–{said[2]}]" if len(said) == 3 and low != high else said[0]


def percent(value: float) -> str:
    """Return a share in three digits: `92.3 %`, `0.0412 %`."""
    return f"{digits(value * 100)} %"


def share_of(row: Row, name: str) -> str:
    """Return a figure of a row that is a share: `92.3 %`."""
    figure = row.figures.get(name)
    return MISSING if figure is None else percent(figure.value)


def scatter(figure: Figure | None) -> str:
    """Return a relative standard deviation with its band and how many values stand behind it."""
    if figure is None:
        return MISSING
    if figure.spread == AT_MOST:
        return f"at most {percent(figure.value)}, n = {figure.samples}"
    bounds = (None, None) if figure.low is None or figure.high is None else (figure.low * 100, figure.high * 100)
    return f"{digits(figure.value * 100)} %{_band(figure.value * 100, *bounds)}, n = {figure.samples}"


def traffic(row: Row) -> str:
    """Return the memory traffic of a design in steady state: `weights 64, inputs 8.5`, bytes a cycle."""
    return _traffic(row, None)


def traffic_in_time(row: Row) -> str:
    """Return the same with bytes a second where the row has a clock: `weights 64 (12.8 GB/s)`."""
    return _traffic(row, row.figures["fmax"].value if "fmax" in row.figures else row.assumed_clock)


def _traffic(row: Row, clock: float | None) -> str:
    """Streams without any traffic are left out."""
    known = {
        name.removeprefix("bandwidth."): f.value for name, f in row.figures.items() if name.startswith("bandwidth.")
    }
    said = [
        f"{name} {digits(value)}" + (f" ({si(value * clock, 'B/s')})" if clock else "")
        for name, value in known.items()
        if value
    ]
    return ", ".join(said) or ("none" if known else MISSING)


#: Units that take an SI prefix, by the unit of the record.
_SI = {"Hz": "Hz", "W": "W", "J/item": "J", "op/s": "op/s", "op/J": "op/J", "pair/s": "pair/s", "atom/s": "atom/s"}


def of_quantity(name: str, value: float, low: float | None = None, high: float | None = None, figures: int = 3) -> str:
    """Return a value of a figure such as `throughput`, `latency_p50` or `luts` with its unit and band."""
    if name == "variation" or name.split(".")[0] in (BUSY, "utilisation"):
        bounds = (None, None) if low is None or high is None else (low * 100, high * 100)
        return f"{digits(value * 100)} %{_band(value * 100, *bounds)}"
    if name == "saving":
        return f"{value:.4g}"
    unit = unit_of(re.sub(r"_p\d+$", "", name))
    if unit == "ns":
        return si(value * 1e-9, "s", low and low * 1e-9, high and high * 1e-9, figures=figures)
    if unit == "items/s":
        return f"{si(value, '', low, high, figures=figures)} items/s"
    if unit in _SI:
        return si(value, _SI[unit], low, high, figures=figures)
    return _counted(value, low, high) + (f" {unit}" if unit != "1" else "")


def amount(figure: Figure) -> str:
    """Return a figure with its unit and band."""
    return of_quantity(figure.quantity, figure.value, figure.low, figure.high)


def resource(row: Row, name: str) -> str:
    """Return a count of a resource and its share of the device: `20,910 (25.0 %)`."""
    figure = row.figures.get(name)
    if figure is None:
        return MISSING
    part = share(row.device, name, figure.value)
    return f"{figure.value:,.0f}" + ("" if part is None else f" ({part:.1%})".replace("%", " %"))


def quality(row: Row) -> str:
    """Return the quality figures of a row in the order of their names, `0.991 / 0.620`; errors are named.

    `exact` where none is known, but every bit equalled the oracle. What only the table of quality tells is left out.
    """
    shown = sorted(set(row.quality) - _BESIDE)
    known = " / ".join(
        (f"{_ERRORS[name]} " if name in _ERRORS else "") + one_quality(row.quality[name], 3) for name in shown
    )
    return known or ("exact" if row.proved else MISSING)


def one_quality(figure: Figure, places: int) -> str:
    """Return a quality figure with its decimal places, in dB, or, of an error, in two digits: `3.1e-06`."""
    if figure.quantity.removeprefix("quality.") in ERRORS_ENOUGH:
        return f"{figure.value:.1e}"
    return f"{figure.value:.1f} dB" if figure.unit == "dB" else f"{figure.value:.{places}f}"


def force_error(row: Row) -> str:
    """Return the force error of a row, or an en-dash."""
    figure = row.quality.get("force_error")
    return MISSING if figure is None else one_quality(figure, 3)


def evidence(row: Row) -> str:
    """Return how a row is known: grade, samples, origin, and what speaks against it."""
    grade = row.grade or next((figure.grade for figure in row.quality.values()), "")
    said = [grade or "nothing known"]
    if row.assumed_clock:
        said.append(f"at an assumed {si(row.assumed_clock, 'Hz')}")
    if fmax := row.figures.get("fmax"):
        said.append(f"{fmax.samples} seed{'s' if fmax.samples > 1 else ''}")
    elif p50 := row.figures.get("latency_p50"):
        said.append(f"n = {p50.samples:,}")
    power, idle = row.figures.get("power"), row.figures.get("idle_power")
    if power and idle and idle.value > power.value / 2:
        said.append(f"{min(idle.value / power.value, 1.0):.0%} of the energy is idle power")
    if row.tier != "product":
        said.append(row.tier)
    said.append(" and ".join(dict.fromkeys(row.origins)))
    if reached := row.conditions.get("reached"):
        said.append(str(reached))
    if row.stale:
        said.append("STALE")
    return ", ".join(said)


def times(value: float, inverse: bool | None = None) -> str:
    """Return a ratio: `20.0`, or `1/20.0` where it is below one (or where `inverse` says so)."""
    upside_down = value < 1 if inverse is None else inverse
    return f"1/{digits(1 / value)}" if upside_down and value else digits(value)


def ratio(verdict: Ratio) -> str:
    """Return a ratio with its band, all three the same way up."""
    return banded_times(verdict.value, verdict.low, verdict.high)


def banded_times(value: float, low: float, high: float) -> str:
    """Return a ratio with its band, all three the same way up."""
    said = [times(v, value < 1) for v in (low, value, high)]
    return said[1] if len(set(said)) == 1 else f"{said[1]} [{said[0]} – {said[2]}]"


def grades(verdict: Ratio) -> str:
    """Return the grade of a ratio: the weaker side's, and the other's where it differs."""
    other = [grade for grade in verdict.grades if grade != verdict.grade]
    return f"{verdict.grade} against {other[0]}" if other else verdict.grade


def figure_name(name: str) -> str:
    """Return the name of a figure for people: `latency p50`."""
    return {"energy": "energy per item"}.get(name, name.replace("_", " "))
