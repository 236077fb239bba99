"""A layer's parameters in the number type of a tensor core."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.deconv.launch import Unsupported
from gpu.deconv.layout import NUMBERS, Network
from workloads.deconv.fixed import TABLE_ENTRIES
from workloads.deconv.layer import ACTIVATIONS, Layer

#: What the kernels compute in.
ARITHMETICS = ("fp16", "fixed8")


@dataclass(frozen=True)
class Numbers:
    """Weights (in, kernel..., out) in the number type, biases (out,) in that of the sums, and what ends the layer.

    `lookup` is the table of tanh or sigmoid in int8, or one zero. Equality and hash are of `key` alone.
    """

    key: tuple[Any, ...]
    layer: Layer = field(compare=False)
    weight: NDArray[Any] = field(compare=False, repr=False)
    bias: NDArray[Any] = field(compare=False, repr=False)
    lookup: NDArray[np.int8] = field(compare=False, repr=False)
    shift: int = field(compare=False)

    @property
    def size(self) -> int:
        """Bytes of a number."""
        return self.weight.dtype.itemsize

    @property
    def macros(self) -> dict[str, int]:
        """ACT and SHIFT of `mma_ptx.cuh`."""
        return {"ACT": ACTIVATIONS.index(self.layer.activation), "SHIFT": self.shift}


@lru_cache(maxsize=256)
def numbers(network: Network, index: int, arithmetic: str) -> Numbers:
    """The parameters of a layer. Errors: Unsupported for sums that 32 bits do not hold, or that cannot be rounded."""
    layer = network.layers[index]
    key = (network, index, arithmetic)
    weight, bias = network.weight(index, arithmetic), network.bias(index, arithmetic)
    none = np.zeros(16, np.int8)
    assert weight.dtype == NUMBERS[arithmetic]
    if arithmetic == "fp16":
        return Numbers(key, layer, weight, bias.astype(np.float32), none, 0)
    shift, largest = network.fraction(index, arithmetic), network.largest_sum(index, arithmetic)
    if not 0 <= shift <= 30 or largest + 2**shift >= 2**31:
        raise Unsupported(f"{layer.name}: sums of up to {largest} rounded by {shift} bits do not fit 32 bits")
    table = network.table(index, arithmetic)
    lookup = none if table is None else table[:TABLE_ENTRIES].astype(np.int8)
    return Numbers(key, layer, weight, bias.astype(np.int32), lookup, shift)
