"""Fmax as a distribution: place and route over several seeds.

    spread = route_seeds(synthesis.json, seeds=10, target_mhz=120, progress=print)
    spread.median_hz, spread.low_hz, spread.high_hz, spread.values_hz, spread.best.textcfg

One seed of a placer is one draw: an honest Fmax is the median with its range. The figure is register to register in the
clock domain that `Spread.clock` names; pins are not in it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from designs.flow.nextpnr import Routing, place_and_route
from designs.flow.tools import run_parallel

Progress = Callable[[str, int, int], None]

#: What an Fmax of this flow bounds.
BASIS = "register to register"


@dataclass(frozen=True)
class Spread:
    """Routings of one netlist, one a seed, in order of seed; frequencies in Hz."""

    routings: tuple[Routing, ...]

    @property
    def clock(self) -> str:
        """Name of the clock domain that the figures are of."""
        return self.routings[0].clock

    @property
    def target_hz(self) -> float:
        """The frequency that was asked for; what a router reaches depends on it."""
        return self.routings[0].target_hz

    @property
    def values_hz(self) -> tuple[float, ...]:
        """Fmax of each seed, in order of seed."""
        return tuple(routing.fmax_hz for routing in self.routings)

    @property
    def median_hz(self) -> float:
        """Median Fmax over the seeds."""
        return statistics.median(self.values_hz)

    @property
    def low_hz(self) -> float:
        """Lowest Fmax over the seeds."""
        return min(self.values_hz)

    @property
    def high_hz(self) -> float:
        """Highest Fmax over the seeds."""
        return max(self.values_hz)

    @property
    def best(self) -> Routing:
        """The routing with the highest Fmax."""
        return max(self.routings, key=lambda routing: routing.fmax_hz)

    @property
    def middle(self) -> Routing:
        """A routing at the median (the lower one of two): the one whose resources stand beside the median Fmax."""
        ranked = sorted(self.routings, key=lambda routing: routing.fmax_hz)
        return ranked[(len(ranked) - 1) // 2]

    def __str__(self) -> str:
        mhz = [value / 1e6 for value in (self.median_hz, self.low_hz, self.high_hz)]
        return (
            f"{mhz[0]:.1f} MHz median of {len(self.routings)} seeds ({mhz[1]:.1f} to {mhz[2]:.1f}), "
            f"{BASIS} in {self.clock}, target {self.target_hz / 1e6:g} MHz"
        )


def route_seeds(
    netlist: Path,
    *,
    seeds: int | Sequence[int] = 10,
    progress: Progress | None = None,
    jobs: int | None = None,
    **options: Any,
) -> Spread:
    """Route a netlist with seeds 1..N, or the seeds given, at most `jobs` (default: all cores) at a time.

    `options` go to `nextpnr.place_and_route`. `progress(what, done, total)` is called after each seed. Each seed is
    cached by itself, so an interrupted or enlarged run routes only what is missing.
    """
    chosen = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not chosen:
        raise ValueError("route_seeds needs at least one seed")
    if progress:
        progress("place and route", 0, len(chosen))
    routings = run_parallel(
        [partial(place_and_route, netlist, seed=seed, **options) for seed in sorted(chosen)],
        jobs=jobs,
        done=lambda count: progress("place and route", count, len(chosen)) if progress else None,
    )
    return Spread(tuple(routings))
