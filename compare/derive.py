"""FPGA throughput and latency from a simulation and a clock.

A cycle-accurate simulation gives cycles, place and route gives a clock; only together do they give time, and only when
both were made from one netlist. For a device that nothing here can route, a record may state a clock as an assumption
(quantity `clock`, stage `modelled`, with its source); what stands on it is graded `simulated × modelled`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from compare.devices import share
from compare.record import Boundary, Stage
from compare.rows import ARRAY, ASSUMED_CLOCK, BUSY, PIPELINES, SIMULATION, Figure, Row, text
from compare.steady import BORNE_OUT, ITEMS_AT_LEAST, items_of

#: Fewer seeds than this are remarked on: place and route scatters.
SEEDS_AT_LEAST = 10
#: The spread of a figure of which only an upper bound is known.
AT_MOST = "at most"
#: What a synthesis counts, and a part may run out of.
COUNTED = ("luts", "ffs", "brams", "dsps")


@dataclass(frozen=True)
class NotJoined:
    """A routing, or an assumed clock, for which no throughput can be derived, and why."""

    row: Row
    reason: str


def derive(rows: Iterable[Row]) -> tuple[list[Row], list[NotJoined]]:
    """Join routed rows, and rows of an assumed clock, with simulations of the same design.

    Takes rows of one workload; among simulations also the older ones, since one of them may be of the routed design.
    An assumed clock counts only while no routing of that implementation and case on that device is known.
    Returns the rows with every clock that could be joined completed and the simulations that were used, or are older,
    taken out; and the clocks that could not be joined. An assumption is no row by itself.
    """
    given = list(rows)
    simulations = [r for r in given if r.device == SIMULATION]
    routed = {_place(r) for r in given if _routing(r)}
    result: list[Row] = []
    failed: list[NotJoined] = []
    used: set[int] = set()
    for row in given:
        if row.device == SIMULATION or (assumption(row) and _place(row) in routed):
            continue
        if not _routing(row) and not assumption(row):
            result.append(row)
            continue
        same = [s for s in simulations if (s.case, s.implementation) == (row.case, row.implementation)]
        reason = ""
        for simulation in sorted(same, key=lambda s: (not s.shipped, s.time), reverse=True):
            reason = why_not(simulation, row)
            if not reason:
                joined = join(simulation, row)
                if assumption(row):
                    joined = replace(joined, notes=(*joined.notes, *_fit(joined, given)))
                result.append(joined)
                older = (s for s in same if s.identity == simulation.identity and s.time <= simulation.time)
                used |= {id(s) for s in (simulation, *older)}
                break
        else:
            reason = (why_not(max(same, key=lambda s: s.time), row)) if same else "no record of a simulation"
            if not assumption(row):
                result.append(replace(row, notes=(*row.notes, f"no throughput: {reason}")))
            failed.append(NotJoined(row, reason))
    return result + [s for s in simulations if id(s) not in used], failed


def _place(row: Row) -> tuple[str, ...]:
    return row.case, row.implementation, row.device


def _routing(row: Row) -> Figure | None:
    """The clock of a row that place and route gave."""
    fmax = row.figures.get("fmax")
    return fmax if fmax is not None and fmax.stages == (Stage.POST_ROUTE,) else None


def assumption(row: Row) -> Figure | None:
    """The clock of a row that states one as an assumption, and nothing else."""
    clock = row.figures.get("clock")
    return clock if clock is not None and clock.stages == (Stage.MODELLED,) and len(row.figures) == 1 else None


def why_not(simulation: Row, clocked: Row) -> str:
    """Say why two rows must not be joined, or return an empty string when they may.

    A routing must be of the simulated design. An assumed clock is of a device and a folding, as far as it names one.
    """
    if assumption(clocked):
        for name in ("folding", PIPELINES, *ARRAY):
            had, wanted = (text(r.conditions.get(name)) for r in (simulation, clocked))
            if wanted and had != wanted:
                return f"{name} {had or 'not stated'} was simulated, the clock is assumed for {wanted}"
    else:
        ours, theirs = text(simulation.conditions.get("design")), text(clocked.conditions.get("design"))
        if not ours or not theirs:
            side = "simulation" if not ours else "routing"
            return f"the {side} does not say which design it was made from"
        if ours != theirs:
            return f"the simulation ran design {ours[:12]}, the routing is of design {theirs[:12]}"
    if simulation.arithmetic and clocked.arithmetic and simulation.arithmetic != clocked.arithmetic:
        verb = "assumed" if assumption(clocked) else "routed"
        return f"arithmetic {simulation.arithmetic} was simulated, {clocked.arithmetic} {verb}"
    interval, cycles = simulation.figures.get("interval"), simulation.figures.get("cycles")
    if interval is None and cycles is None:
        return "the simulation counted no cycles"
    for figure in (interval, cycles):
        if figure is not None and figure.boundary != Boundary.KERNEL:
            return f"{figure.quantity} was counted at the boundary {figure.boundary}, not at the stream pins"
    items = ITEMS_AT_LEAST if interval is None else items_of(simulation, interval)
    if items < ITEMS_AT_LEAST and BORNE_OUT not in simulation.conditions:
        return f"{items} items at the pins give no interval, {ITEMS_AT_LEAST} are needed"
    return ""


def join(simulation: Row, clocked: Row) -> Row:
    """Return the routed row, or that of an assumed clock, with throughput = clock / interval, latency = cycles / clock.

    Units: clock in Hz, interval and cycles in clock cycles, throughput in items/s, latency in integer ns. The band over
    seeds is carried; latency bounds are rounded outwards. An assumed clock has no band, and neither has what stands on
    it: its stages are `simulated × modelled`. Errors: ValueError when `why_not` has something to say.
    """
    if reason := why_not(simulation, clocked):
        raise ValueError(reason)
    clock, assumed = _routing(clocked), assumption(clocked)
    if clock is None:
        assert assumed is not None
        clock = assumed
    figures = {name: f for name, f in simulation.figures.items() if _counted_in_cycles(name)} | dict(clocked.figures)
    stages = (Stage.SIMULATED, *clock.stages)
    f_low, f_high = band(clock)
    if interval := simulation.figures.get("interval"):
        i_low, i_high = band(interval)
        figures["interval"] = interval
        rate = Figure(
            "throughput", clock.value / interval.value, "items/s", clock.statistic, clock.samples, Boundary.KERNEL,
            stages, f_low / i_high, f_high / i_low, clock.spread or "seeds",
        )  # fmt: skip
        figures["throughput"] = _bandless(rate, interval.samples) if assumed else rate
        if steady := _variation(interval):
            figures["variation"] = steady
    if cycles := simulation.figures.get("cycles"):
        c_low, c_high = band(cycles)
        figures["cycles"] = cycles
        low, value, high = c_low / f_high * 1e9, round(cycles.value / clock.value * 1e9), c_high / f_low * 1e9
        fixed = c_low == c_high and (cycles.statistic == "exact" or cycles.low is not None)
        latency = Figure(
            "latency", value, "ns", "exact" if fixed else "median", clock.samples, Boundary.KERNEL, stages,
            min(math.floor(low), value), max(math.ceil(high), value), clock.spread or "seeds",
        )  # fmt: skip
        figures["latency_p50"] = _bandless(latency, cycles.samples) if assumed else latency
        if latency.statistic == "exact":
            figures["latency_p99"] = figures["latency_p50"]
    conditions = {**simulation.conditions, **clocked.conditions, ASSUMED_CLOCK: assumed.value} if assumed else {}
    array = {name: simulation.conditions[name] for name in ARRAY if name in simulation.conditions}
    return replace(
        clocked,
        arithmetic=clocked.arithmetic or simulation.arithmetic,
        batch="any",
        boundary=Boundary.KERNEL,
        figures=figures,
        conditions=conditions or {**array, **clocked.conditions},
        records=(*simulation.records, *clocked.records),
        origins=(*simulation.origins, *clocked.origins),
        quality=clocked.quality or simulation.quality,
        stale=(*simulation.stale, *clocked.stale),
        notes=(*clocked.notes, *_few(simulation), *([] if assumed else _remarks(clocked))),
    )


def _counted_in_cycles(name: str) -> bool:
    return name.split(".")[0] in (BUSY, "bandwidth", "zero_products")


def _variation(interval: Figure) -> Figure | None:
    """How much the rate of a pipeline varies from item to item, the clock's own jitter aside.

    None, exactly, when every item took as many cycles. Else only the least, the mean and the largest step are known,
    and so how large their standard deviation is at most: √((largest - mean) (mean - least)), after Bhatia and Davis
    (2000).
    """
    n, (low, high) = interval.samples, band(interval)
    if n < ITEMS_AT_LEAST - 1:
        return None
    none = Figure("variation", 0.0, "1", "exact", n, Boundary.KERNEL, (Stage.SIMULATED,))
    if interval.statistic == "exact" and low == high:
        return none
    most = math.sqrt(max((high - interval.value) * (interval.value - low), 0.0) * n / (n - 1)) / interval.value
    return replace(none, value=most, statistic="std", low=0.0, high=most, spread=AT_MOST)


def _few(simulation: Row) -> list[str]:
    """Say what an interval of few items stands on."""
    interval, apart = simulation.figures.get("interval"), simulation.conditions.get(BORNE_OUT)
    if interval is None or not isinstance(apart, float):
        return []
    side = "above" if apart >= 0 else "below"
    return [
        f"interval of {items_of(simulation, interval)} items, {abs(apart) * 100:.1f} % {side} the sum of its layers' "
        "own cycles; the longer counts"
    ]


def _bandless(figure: Figure, samples: int) -> Figure:
    return replace(figure, low=None, high=None, spread="", samples=samples)


def _fit(row: Row, given: Iterable[Row]) -> list[str]:
    """Say of a design that nobody routed whether its synthesis for the part, if there is one, would fit."""
    sizes = [
        r
        for r in given
        if _place(r) == _place(row) and r.array in ("", row.array) and any(name in r.figures for name in COUNTED)
    ]
    if not sizes:
        return ["not synthesised for this part: whether it fits is not known"]
    shares = [(n, share(r.device, n, r.figures[n].value) or 0.0) for r in sizes for n in COUNTED if n in r.figures]
    return [
        f"does not fit: {part:.0%} of the {name} of this part".replace("%", " %") for name, part in shares if part > 1
    ]


def with_energy(row: Row) -> Row:
    """Return an FPGA row with energy = power / throughput where one record has both and no energy.

    Power in W, throughput in items/s, energy in J/item at the boundary of the power. Figures of several records do not
    come from one run, and give none.
    """
    power, rate = row.figures.get("power"), row.figures.get("throughput")
    if power is None or rate is None or "energy" in row.figures or len(row.records) != 1 or row.kind in ("gpu", "cpu"):
        return row
    (p_low, p_high), (r_low, r_high) = band(power), band(rate)
    energy = Figure(
        "energy", power.value / rate.value, "J/item", power.statistic, min(power.samples, rate.samples), power.boundary,
        tuple(dict.fromkeys((*power.stages, *rate.stages))),
    )  # fmt: skip
    if spread := power.spread or rate.spread:
        energy = replace(energy, low=p_low / r_high, high=p_high / r_low, spread=spread)
    return replace(row, figures={**row.figures, "energy": energy})


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
