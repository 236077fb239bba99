"""Interval and latency that a simulation's record states."""

from __future__ import annotations

import numpy as np
import pytest

from compare.record import Measurement
from designs.flow.evidence import Core, simulated

CORE = Core("track", "compact", "hls/track/da4ml", "fixed", "top", (), 8, 8, "d" * 64, {})


def seen(left: list[int], alone: list[int] | None = None) -> dict[str, Measurement]:
    out = np.array(left)
    made = simulated(
        CORE, out - 7, out, sources=["README.md"], seed=1, alone=None if alone is None else np.array(alone)
    )
    return {m.quantity: m for m in made.measurements}


@pytest.mark.parametrize(
    ("left", "alone", "value", "low", "high", "samples"),
    [
        ([10, 20, 30, 36], [5], 10.0, 10, 10, 2),  # a core that folds: nothing follows the last item
        ([10, 20, 34, 36], [5], 12.0, 10, 14, 2),
        ([10, 16], [5], 6.0, 6, 6, 1),  # there is no other
        ([10, 20, 30, 36], None, 26 / 3, 6, 10, 3),  # every item of a pipeline is as good as any other
    ],
)
def test_interval(left: list[int], alone: list[int] | None, value: float, low: int, high: int, samples: int) -> None:
    interval = seen(left, alone)["interval"]
    assert (interval.value, interval.low, interval.high, interval.samples) == (value, low, high, samples)
    assert interval.statistic == ("exact" if low == high else "mean")


def test_latency_of_a_core_that_folds_is_of_items_that_met_it_empty() -> None:
    assert seen([10, 20], [5, 5, 6])["cycles"].value == 5
    assert seen([10, 20])["cycles"].value == 7
