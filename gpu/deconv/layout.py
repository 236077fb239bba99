"""What every kernel of transposed convolutions needs from the host: phases and taps, numbers in memory, parameters.

In memory an activation is (items, sides..., channels), channels last and nothing filled up, in the number type of the
arithmetic. Layers that are not chained (`vnet`) have an array each.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.deconv import parameters
from workloads.deconv.fixed import BITS, TABLE_ENTRIES, FixedLayer, encode, table
from workloads.deconv.layer import Layer
from workloads.deconv.network import split

#: Number type of weights and activations.
NUMBERS: dict[str, type[Any]] = {"fixed8": np.int8, "fixed16": np.int16, "fp16": np.float16, "fp32": np.float32}


@dataclass(frozen=True)
class Tap:
    """A kernel element, and what is subtracted from a position of its phase to find the input that it multiplies."""

    element: tuple[int, ...]
    reach: tuple[int, ...]


@dataclass(frozen=True)
class Phase:
    """Outputs at stride q + offset, with `counts` positions q in each dimension: they all use the same taps.

    The output at q is the sum over the taps of input[q - reach] times weight[:, element], where that input exists.
    A phase without taps has outputs that are the activation of the bias alone.
    """

    offset: tuple[int, ...]
    counts: tuple[int, ...]
    taps: tuple[Tap, ...]


def phases(layer: Layer) -> tuple[Phase, ...]:
    """The phases of a layer that have outputs, in raster order of their offsets, taps in raster order of elements.

    Taps that no output of the phase can use are left out.
    """
    found: list[Phase] = []
    for offset in itertools.product(range(layer.stride), repeat=layer.dimensions):
        counts = tuple(len(range(f, side, layer.stride)) for f, side in zip(offset, layer.shape_out, strict=True))
        taps: list[Tap] = []
        for element in itertools.product(range(layer.kernel), repeat=layer.dimensions):
            pairs = [layer.taps[k] for k in element]
            if tuple(f for _, f in pairs) != offset:
                continue
            reach = tuple(d for d, _ in pairs)
            used = all(
                max(0, d) < min(count, side + d) for d, count, side in zip(reach, counts, layer.shape, strict=True)
            )
            if used:
                taps.append(Tap(element, reach))
        if min(counts) > 0:
            found.append(Phase(offset, counts, tuple(taps)))
    return tuple(found)


@dataclass(frozen=True)
class Network:
    """The parameters of a case as kernels need them, in any arithmetic. Errors of the parameters: as they come."""

    case: str

    @cached_property
    def _parameters(self) -> parameters.Parameters:
        return parameters.load(self.case)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers in order."""
        return self._parameters.network.layers

    @property
    def chained(self) -> bool:
        """Whether each layer takes what the one before it gives; else each has an input and an output of its own."""
        return self._parameters.network.chained

    def weight(self, index: int, arithmetic: str) -> NDArray[Any]:
        """Weights (in, kernel..., out) in the arithmetic's number type."""
        if arithmetic in BITS:
            return self._fixed(index, arithmetic).weight.astype(NUMBERS[arithmetic])
        return self._parameters.network.weights[index].astype(NUMBERS[arithmetic])

    def bias(self, index: int, arithmetic: str) -> NDArray[Any]:
        """Biases (out,): int64 on the grid of the sums, or float32."""
        if arithmetic in BITS:
            return self._fixed(index, arithmetic).bias
        return self._parameters.network.biases[index]

    def fraction(self, index: int, arithmetic: str) -> int:
        """Of a fixed-point layer: its sums are rounded by that many bits to activations."""
        return self._fixed(index, arithmetic).fraction

    def largest_sum(self, index: int, arithmetic: str) -> int:
        """Of a fixed-point layer: no sum has a larger magnitude, in whatever order it is added up."""
        return self._fixed(index, arithmetic).largest_sum

    def table(self, index: int, arithmetic: str) -> NDArray[np.int16] | None:
        """Of a fixed-point layer with tanh or sigmoid: its table, with one entry more than TABLE_ENTRIES; else None."""
        activation = self.layers[index].activation
        if arithmetic not in BITS or activation not in ("tanh", "sigmoid"):
            return None
        values = table(activation, BITS[arithmetic])
        assert len(values) == TABLE_ENTRIES + 1
        return values.astype(np.int16)

    def _fixed(self, index: int, arithmetic: str) -> FixedLayer:
        return parameters.fixed(self.case, BITS[arithmetic]).layers[index]

    def numbers(self, arithmetic: str, values: NDArray[np.floating]) -> NDArray[Any]:
        """Real numbers in the arithmetic's number type."""
        exact = encode(values, BITS[arithmetic]) if arithmetic in BITS else values
        return np.ascontiguousarray(exact.astype(NUMBERS[arithmetic]))

    def encode(self, arithmetic: str, inputs: NDArray[np.float32]) -> tuple[NDArray[Any], ...]:
        """Inputs (n, *input_shape) as the arrays (n, sides..., channels) that the device gets: one, or one a layer."""
        coded = self.numbers(arithmetic, inputs)
        if self.chained:
            return (coded,)
        parts: list[list[NDArray[Any]]] = [[] for _ in self.layers]
        for item in coded:
            for part, array in zip(parts, split(self.layers, item), strict=True):
                part.append(array)
        return tuple(np.stack(part) for part in parts)

    def decode(self, arithmetic: str, outputs: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
        """What the device gave, as real numbers, which float32 holds exactly, in the shape of `WORKLOAD.reference`."""
        scale = np.float32(2.0 ** (1 - BITS[arithmetic]) if arithmetic in BITS else 1.0)
        if self.chained:
            return outputs[0].astype(np.float32) * scale
        return np.concatenate([y.reshape(len(y), -1) for y in outputs], axis=1).astype(np.float32) * scale
