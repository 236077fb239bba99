"""FPGA throughput and latency from a simulation and a routing of the same design.

A cycle-accurate simulation gives cycles, place and route gives a clock; only together do they give time, and only when
both were made from one netlist.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from compare.record import Boundary, Stage
from compare.rows import SIMULATION, Figure, Row, text

#: Fewer items than this at the pins give no interval.
ITEMS_AT_LEAST = 8
#: Fewer seeds than this are remarked on: place and route scatters.
SEEDS_AT_LEAST = 10


@dataclass(frozen=True)
class NotJoined:
    """A routing for which no throughput can be derived, and why."""

    row: Row
    reason: str


def derive(rows: Iterable[Row]) -> tuple[list[Row], list[NotJoined]]:
    """Join routed rows with simulations of the same design.

    Takes rows of one workload; among simulations also the older ones, since one of them may be of the routed design.
    Returns the rows with every joined routing completed and the simulations that were used, or are older, taken out;
    and the routings that could not be joined.
    """
    given = list(rows)
    simulations = [r for r in given if r.device == SIMULATION]
    result: list[Row] = []
    failed: list[NotJoined] = []
    used: set[int] = set()
    for row in given:
        if row.device == SIMULATION:
            continue
        fmax = row.figures.get("fmax")
        if fmax is None or fmax.stages != (Stage.POST_ROUTE,):
            result.append(row)
            continue
        same = [s for s in simulations if (s.case, s.implementation) == (row.case, row.implementation)]
        reason = ""
        for simulation in sorted(same, key=lambda s: (not s.shipped, s.time), reverse=True):
            reason = why_not(simulation, row)
            if not reason:
                result.append(join(simulation, row))
                used |= {id(s) for s in same if s is simulation or s.time <= simulation.time}
                break
        else:
            reason = (why_not(max(same, key=lambda s: s.time), row)) if same else "no record of a simulation"
            result.append(replace(row, notes=(*row.notes, f"no throughput: {reason}")))
            failed.append(NotJoined(row, reason))
    return result + [s for s in simulations if id(s) not in used], failed


def why_not(simulation: Row, routed: Row) -> str:
    """Say why two rows must not be joined, or return an empty string when they may."""
    ours, theirs = text(simulation.conditions.get("design")), text(routed.conditions.get("design"))
    if not ours or not theirs:
        side = "simulation" if not ours else "routing"
        return f"the {side} does not say which design it was made from"
    if ours != theirs:
        return f"the simulation ran design {ours[:12]}, the routing is of design {theirs[:12]}"
    if simulation.arithmetic and routed.arithmetic and simulation.arithmetic != routed.arithmetic:
        return f"arithmetic {simulation.arithmetic} was simulated, {routed.arithmetic} routed"
    interval, cycles = simulation.figures.get("interval"), simulation.figures.get("cycles")
    if interval is None and cycles is None:
        return "the simulation counted no cycles"
    for figure in (interval, cycles):
        if figure is not None and figure.boundary != Boundary.KERNEL:
            return f"{figure.quantity} was counted at the boundary {figure.boundary}, not at the stream pins"
    if interval is not None and interval.samples < ITEMS_AT_LEAST:
        return f"{interval.samples} items at the pins give no interval, {ITEMS_AT_LEAST} are needed"
    return ""


def join(simulation: Row, routed: Row) -> Row:
    """Return the routed row with throughput = fmax / interval and latency = cycles / fmax.

    Units: fmax in Hz, interval and cycles in clock cycles, throughput in items/s, latency in integer ns. The band over
    seeds is carried; latency bounds are rounded outwards. Errors: ValueError when `why_not` has something to say.
    """
    if reason := why_not(simulation, routed):
        raise ValueError(reason)
    fmax = routed.figures["fmax"]
    figures = dict(routed.figures)
    stages = (Stage.SIMULATED, Stage.POST_ROUTE)
    f_low, f_high = band(fmax)
    if interval := simulation.figures.get("interval"):
        i_low, i_high = band(interval)
        figures["interval"] = interval
        figures["throughput"] = Figure(
            "throughput", fmax.value / interval.value, "items/s", fmax.statistic, fmax.samples, Boundary.KERNEL, stages,
            f_low / i_high, f_high / i_low, fmax.spread or "seeds",
        )  # fmt: skip
    if cycles := simulation.figures.get("cycles"):
        c_low, c_high = band(cycles)
        figures["cycles"] = cycles
        low, value, high = c_low / f_high * 1e9, round(cycles.value / fmax.value * 1e9), c_high / f_low * 1e9
        fixed = c_low == c_high and (cycles.statistic == "exact" or cycles.low is not None)
        latency = Figure(
            "latency", value, "ns", "exact" if fixed else "median", fmax.samples, Boundary.KERNEL, stages,
            min(math.floor(low), value), max(math.ceil(high), value), fmax.spread or "seeds",
        )  # fmt: skip
        figures["latency_p50"] = latency
        if latency.statistic == "exact":
            figures["latency_p99"] = latency
    return replace(
        routed,
        arithmetic=routed.arithmetic or simulation.arithmetic,
        batch="any",
        boundary=Boundary.KERNEL,
        figures=figures,
        records=(*simulation.records, *routed.records),
        origins=(*simulation.origins, *routed.origins),
        quality=routed.quality or simulation.quality,
        stale=(*simulation.stale, *routed.stale),
        notes=(*routed.notes, *_remarks(routed)),
    )


def band(figure: Figure) -> tuple[float, float]:
    """Return the bounds of a figure; one without a band bounds itself."""
    if figure.low is None or figure.high is None:
        return figure.value, figure.value
    return figure.low, figure.high


def _remarks(routed: Row) -> list[str]:
    fmax, target = routed.figures["fmax"], routed.conditions.get("target_clock_hz")
    remarks = []
    if fmax.samples < SEEDS_AT_LEAST:
        remarks.append(f"only {fmax.samples} seed{'s' if fmax.samples > 1 else ''} of place and route")
    if isinstance(target, (int, float)) and fmax.value < target:
        remarks.append(f"target clock {target / 1e6:g} MHz not met by the median seed")
    return remarks
