"""From what was timed and metered to measurements of a record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compare.record import Boundary, Measurement, Stage
from gpu.runtime import loop, nvml
from gpu.runtime.stats import percentile


def band(
    quantity: str, unit: str, values: Sequence[float], statistic: str, boundary: Boundary, spread: str
) -> Measurement:
    """A measured quantity of several values: their median or mean, and their smallest and largest."""
    value = float(np.median(values)) if statistic == "median" else float(np.mean(values))
    low, high = float(min(values)), float(max(values))
    value = min(max(value, low), high)
    return Measurement(
        quantity, value, unit, statistic, len(values), Stage.MEASURED, boundary, low, high, spread, tuple(values)
    )


def from_timing(timing: loop.Timing) -> list[Measurement]:
    """Percentiles, rates and floors; a percentile that its samples cannot bound is left out."""
    found = [
        band("throughput", "items/s", timing.rates, "median", Boundary.KERNEL, "min-max"),
        band("throughput", "items/s", timing.host_rates, "median", Boundary.HOST, "min-max"),
    ]
    series = [
        ("latency", Boundary.HOST, timing.host),
        ("latency", Boundary.KERNEL, timing.kernel),
        ("latency", Boundary.DEVICE, timing.transfer),
        ("launch_floor", Boundary.HOST, timing.host_floor),
        ("launch_floor", Boundary.KERNEL, timing.kernel_floor),
    ]
    for quantity, boundary, times in series:
        for p in (50, 99):
            q = percentile(times, p)
            if q is not None:
                found.append(
                    Measurement(
                        quantity, q.value, "ns", f"p{p}", q.samples, Stage.MEASURED, boundary, q.low, q.high, "ci99"
                    )
                )
    return found


def from_windows(windows: Sequence[nvml.Window], batch: int, idle: float) -> list[Measurement]:
    """Energy of an item, power and sustained rate of windows whose unit of work is a launch of `batch` items.

    `idle` is the power without work, W; it is included in the others.
    """
    board = Boundary.BOARD
    rates = [w.work * batch / w.seconds for w in windows]
    return [
        band("energy", "J/item", [w.joules / (w.work * batch) for w in windows], "mean", board, "windows"),
        band("power", "W", [w.joules / w.seconds for w in windows], "mean", board, "windows"),
        band("throughput", "items/s", rates, "mean", Boundary.HOST, "windows"),
        Measurement("idle_power", idle, "W", "mean", 1, Stage.MEASURED, board),
    ]
