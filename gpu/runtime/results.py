"""From times to the measurements of a record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compare.record import Boundary, Measurement, Stage
from gpu.runtime import loop
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
