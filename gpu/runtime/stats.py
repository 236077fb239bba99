"""Percentiles with their confidence, and medians of repeated rates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Confidence of every percentile's band.
CONFIDENCE = 0.99


@dataclass(frozen=True)
class Percentile:
    """A percentile in integer ns, its sample count and the 99 % band that its order statistics give."""

    value: int
    low: int
    high: int
    samples: int


def percentile(times: NDArray[np.int64], p: float) -> Percentile | None:
    """Return the p-th percentile (0 < p < 100) of times in ns, or None where the samples cannot bound it.

    The band is distribution-free: the ranks l < u with P(l <= Binomial(n, p) < u) >= 0.99, half of the rest on each
    side (David and Nagaraja, Order Statistics, 7.1). Without such ranks inside the sample there is no percentile.
    """
    n, q = len(times), p / 100.0
    low_rank, high_rank = _ranks(n, q)
    if low_rank < 1 or high_rank > n:
        return None
    ordered = np.sort(times)
    value = ordered[min(max(math.ceil(n * q), 1), n) - 1]
    return Percentile(int(value), int(ordered[low_rank - 1]), int(ordered[high_rank - 1]), n)


def _ranks(n: int, q: float) -> tuple[int, int]:
    """1-based ranks of the band; 0 or n + 1 where none exists."""
    if n < 1:
        return 0, 1
    tail = (1.0 - CONFIDENCE) / 2.0
    reach = 9.0 * math.sqrt(n * q * (1.0 - q)) + 60.0
    start, stop = max(0, math.floor(n * q - reach)), min(n, math.ceil(n * q + reach))
    k = range(start, stop + 1)
    base = math.lgamma(n + 1)
    logs = [base - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(q) + (n - i) * math.log1p(-q) for i in k]
    below = np.cumsum(np.exp(logs))  # P(X <= k), the mass before `start` is below 1e-15
    # low: largest l with P(X < l) <= tail; high: smallest u with P(X >= u) <= tail.
    low = start + int(np.searchsorted(below, tail, side="right"))
    high = start + int(np.searchsorted(below, 1.0 - tail, side="left")) + 1
    return low, min(high, n + 1)
