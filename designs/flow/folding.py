"""What folded designs share: how many products a layer makes in a cycle, and memory images of its parameters.

A matrix-vector unit multiplies `simd` synapses of each of `pe` neurons in a cycle, so a vector of sums takes
(synapses / simd) * (neurons / pe) cycles. In the terms of hls4ml that is the reuse factor of the layer, the number of
products that one multiplier makes for a vector.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray


class FoldingError(ValueError):
    """A folding that a layer cannot have; the message names the layer, the value and the nearest legal ones."""


@dataclass(frozen=True)
class Fold:
    """Products of one layer in a cycle: `simd` synapses of each of `pe` neurons."""

    simd: int
    pe: int

    def __str__(self) -> str:
        return f"{self.simd}x{self.pe}"


@cache
def divisors(number: int) -> tuple[int, ...]:
    """Divisors of a positive number, ascending."""
    small = [n for n in range(1, int(number**0.5) + 1) if number % n == 0]
    return tuple(sorted({*small, *(number // n for n in small)}))


def nearest(value: int, legal: Sequence[int]) -> str:
    """The legal values (ascending) on both sides of an illegal one, as the end of a message."""
    place = bisect_left(legal, value)
    around = legal[max(place - 1, 0) : place + 1]
    return f"nearest legal: {' and '.join(map(str, around))}"


def bits_of(values: NDArray[np.integer], width: int) -> NDArray[np.uint8]:
    """Two's complement bits, lowest first, of integers: a last axis of `width` is added."""
    bits: NDArray[np.uint8] = ((values[..., np.newaxis].astype(np.int64) >> np.arange(width)) & 1).astype(np.uint8)
    return bits


def hexadecimal(words: NDArray[np.uint8]) -> str:
    """The text for $readmemh of words given as bits (words, width), lowest first: a word a line."""
    count, width = words.shape
    padded = np.zeros((count, -(-width // 8) * 8), np.uint8)
    padded[:, :width] = words
    rows = np.packbits(padded, axis=1, bitorder="little")[:, ::-1]
    digits = -(-width // 4)
    return "".join(f"{row.tobytes().hex()[-digits:]}\n" for row in rows)
