"""Binary convolution networks: their layers, and the exact integer oracle.

Weights are +1 or -1. Activations between layers are +1 or -1, stored as a bit (1 is +1); the input image holds signed
integers of `input_bits` bits. A layer computes integer sums, takes the maximum of 2 x 2 sums where it pools, and
compares each with its channel's threshold: the result is +1 where `sum >= threshold`. The last layer returns its sums.
A zero of the padding contributes nothing to a sum, which neither +1 nor -1 would do.

Batch normalisation and sign are the comparison: sign(gamma (s - mean) / sigma + beta) is `s >= mean - beta sigma /
gamma` for a positive gamma, and its negation for a negative one, which export moves into the next layer's weights
(see `workloads.bcnn.train`). Network and order of operations: BinaryNet (arXiv 1602.02830).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint8]
Integers = NDArray[np.int32]

#: Images whose patches are in memory at once.
CHUNK = 8


@dataclass(frozen=True)
class Layer:
    """Shape of one layer. A dense layer sees its input as one pixel: `side` and `kernel` are 1.

    `side` is the rows and columns of the input, `padding` the zeros around it, `input_bits` the bits of an input
    number (1: the numbers are +1 and -1). `pool` takes the maximum of 2 x 2 sums. `last` returns sums, not bits.
    """

    name: str
    kind: Literal["conv", "dense"]
    channels_in: int
    channels_out: int
    side: int = 1
    kernel: int = 1
    padding: int = 0
    pool: bool = False
    input_bits: int = 1
    last: bool = False

    @property
    def synapses(self) -> int:
        """Products in one sum."""
        return self.kernel * self.kernel * self.channels_in

    @property
    def side_sums(self) -> int:
        """Rows and columns of sums, before pooling."""
        return self.side + 2 * self.padding - self.kernel + 1

    @property
    def side_out(self) -> int:
        """Rows and columns of the output."""
        return self.side_sums // 2 if self.pool else self.side_sums

    @property
    def pixels(self) -> int:
        """Positions at which sums are computed."""
        return self.side_sums**2

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one image; taps on the padding are counted, as publications do."""
        return self.pixels * self.synapses * self.channels_out

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """(out, row, column, in) of a convolution, (out, in) of a dense layer."""
        if self.kind == "conv":
            return (self.channels_out, self.kernel, self.kernel, self.channels_in)
        return (self.channels_out, self.channels_in)

    @property
    def bound(self) -> int:
        """Largest magnitude of a sum."""
        return self.synapses * (1 if self.input_bits == 1 else 2 ** (self.input_bits - 1))


@dataclass(frozen=True)
class Network:
    """Layers with their parameters.

    `weights[i]` holds bits of `layers[i].weight_shape`, `thresholds[i]` int32 of (channels_out,), None for the last
    layer. A dense layer that follows a convolution takes the pixels in raster order, the channels of each together.
    Errors: ValueError naming the layer and the shape that it needs.
    """

    layers: tuple[Layer, ...]
    weights: tuple[Bits, ...]
    thresholds: tuple[Integers | None, ...]

    def __post_init__(self) -> None:
        if not len(self.layers) == len(self.weights) == len(self.thresholds):
            raise ValueError(
                f"{len(self.layers)} layers, but weights of {len(self.weights)} and thresholds of "
                f"{len(self.thresholds)}"
            )
        check_layers(self.layers)
        for layer, weight, threshold in zip(self.layers, self.weights, self.thresholds, strict=True):
            check_parameters(layer, weight, threshold)

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """(rows, columns, channels) of an image."""
        first = self.layers[0]
        return (first.side, first.side, first.channels_in)

    def __call__(self, images: NDArray[np.int8]) -> Integers:
        """Sums of the last layer (n, classes) of `images` (n, rows, columns, channels)."""
        if len(images) == 0:
            return np.empty((0, self.layers[-1].channels_out), np.int32)
        chunks = (images[i : i + CHUNK] for i in range(0, len(images), CHUNK))
        return np.concatenate([list(self.outputs(chunk))[-1] for chunk in chunks])

    def outputs(self, images: NDArray[np.int8]) -> Iterator[NDArray[np.uint8] | Integers]:
        """Output of each layer in turn: bits (n, rows, columns, channels), at last the sums (n, classes).

        Errors: as of `check_images`.
        """
        self.check_images(images)
        values = images.astype(np.float32)
        for layer, weight, threshold in zip(self.layers, self.weights, self.thresholds, strict=True):
            sums = layer_sums(layer, values, weight)
            if layer.pool:
                n, side = len(sums), layer.side_out
                sums = sums.reshape(n, side, 2, side, 2, layer.channels_out).max(axis=(2, 4))
            if threshold is None:
                yield sums.reshape(len(sums), -1)
                return
            bits = (sums >= threshold).astype(np.uint8)
            yield bits
            values = bits.astype(np.float32) * 2 - 1

    def check_images(self, images: NDArray[np.int8]) -> None:
        """Errors: ValueError for images of another shape, not of integers, or beyond the input's range."""
        if not np.issubdtype(images.dtype, np.integer):
            raise ValueError(f"pixels are integers, not {images.dtype}")
        if images.shape[1:] != self.input_shape:
            raise ValueError(f"images of shape {images.shape[1:]}, but the network takes {self.input_shape}")
        high = 2 ** (self.layers[0].input_bits - 1)
        if images.size and (images.min() < -high or images.max() >= high):
            raise ValueError(
                f"pixels from {images.min()} to {images.max()}, but {self.layers[0].input_bits} bits hold "
                f"{-high} to {high - 1}"
            )


def layer_sums(layer: Layer, values: NDArray[np.float32], weight: Bits) -> Integers:
    """Sums (n, rows, columns, out) of a layer for `values` of (n, rows, columns, in) or any shape that flattens to it.

    Products are summed in float32 by BLAS. That is exact: every partial sum is an integer below 2^24, checked here.
    """
    if layer.bound >= 2**24:
        raise ValueError(f"{layer.name}: sums of up to {layer.bound} are not exact in float32")
    n = len(values)
    signs = weight.reshape(layer.channels_out, -1).astype(np.float32).T * 2 - 1
    if layer.kind == "dense":
        patches = values.reshape(n, 1, 1, layer.channels_in)
    else:
        p, k = layer.padding, layer.kernel
        padded = np.pad(values, ((0, 0), (p, p), (p, p), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (k, k), axis=(1, 2))
        patches = windows.transpose(0, 1, 2, 4, 5, 3).reshape(n, layer.side_sums, layer.side_sums, layer.synapses)
    sums: Integers = (patches @ signs).astype(np.int32)
    return sums


def check_layers(layers: Sequence[Layer]) -> None:
    """Errors: ValueError naming the layer that does not fit to the one before it, or that cannot be."""
    if not layers:
        raise ValueError("a network needs a layer")
    for index, layer in enumerate(layers):
        if layer.kind == "dense" and (layer.side, layer.kernel, layer.padding, layer.pool) != (1, 1, 0, False):
            raise ValueError(f"{layer.name}: a dense layer has side 1, kernel 1, no padding and no pooling")
        if layer.side_sums < 1:
            raise ValueError(f"{layer.name}: a kernel of {layer.kernel} does not fit into a side of {layer.side}")
        if layer.pool and layer.side_sums % 2:
            raise ValueError(f"{layer.name}: pooling needs an even side, not {layer.side_sums}")
        if layer.last != (index == len(layers) - 1):
            raise ValueError(f"{layer.name}: exactly the last layer returns sums")
        if (layer.input_bits > 1) > (index == 0):
            raise ValueError(f"{layer.name}: only the first layer may have inputs of several bits")
        if index == 0:
            continue
        before = layers[index - 1]
        has = (before.side_out, before.channels_out)
        if layer.kind == "dense":
            has = (1, before.side_out**2 * before.channels_out)
        if has != (layer.side, layer.channels_in):
            raise ValueError(
                f"{layer.name}: takes side {layer.side} and {layer.channels_in} channels, but {before.name} gives "
                f"side {has[0]} and {has[1]} channels"
            )


def check_parameters(layer: Layer, weight: Bits, threshold: Integers | None) -> None:
    """Errors: ValueError naming the layer, what is wrong with its parameters and what it needs."""
    if weight.shape != layer.weight_shape:
        raise ValueError(f"{layer.name}: weights of shape {weight.shape}, but the layer needs {layer.weight_shape}")
    strange = weight[(weight != 0) & (weight != 1)]
    if strange.size:
        raise ValueError(f"{layer.name}: weights are bits, 0 for -1 and 1 for +1, but one is {strange[0]}")
    if layer.last:
        if threshold is not None:
            raise ValueError(f"{layer.name}: the last layer returns sums and has no thresholds")
    elif threshold is None or threshold.shape != (layer.channels_out,):
        shape = None if threshold is None else threshold.shape
        raise ValueError(f"{layer.name}: thresholds of shape {shape}, but the layer needs {(layer.channels_out,)}")
    elif threshold.dtype != np.int32:
        raise ValueError(f"{layer.name}: thresholds of {threshold.dtype}, but the layer needs int32")
