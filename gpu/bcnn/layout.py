"""What every kernel of the binary network needs from the host: shapes, packed weights, limits at borders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.bcnn.network import Layer, Network

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Shape:
    """A layer as kernels see it: its own fields, and the words of a pixel in and out.

    A dense layer is one pixel with as many words as the image before it has, padding of its pixels included.
    """

    layer: Layer
    words_in: int
    words_out: int
    pixels_in: int
    """Pixels that a dense layer takes as one; 1 for a convolution."""

    @property
    def taps(self) -> int:
        """Positions of the kernel."""
        return self.layer.kernel**2

    @property
    def parts(self) -> int:
        """Sums of which an output is the maximum."""
        return 4 if self.layer.pool else 1

    @property
    def units(self) -> int:
        """Output positions of an image."""
        return self.layer.side_out**2

    @property
    def products(self) -> int:
        """Products that a tap adds to a sum."""
        return self.layer.channels_in

    def defines(self) -> dict[str, int]:
        """The macros that all kernels use."""
        layer = self.layer
        return {
            "SIDE": layer.side,
            "KERNEL": layer.kernel,
            "PAD": layer.padding,
            "POOL": int(layer.pool),
            "SIDE_SUMS": layer.side_sums,
            "OUT": layer.channels_out,
            "OUT_WORDS": self.words_out,
            "LAST": int(layer.last),
        }


def shapes(network: Network, multiple: int) -> tuple[Shape, ...]:
    """Shapes of all layers where a pixel takes a `multiple` of 32-bit words."""
    found: list[Shape] = []
    for index, layer in enumerate(network.layers):
        before = network.layers[index - 1]
        pixels = before.side_out**2 if index and layer.kind == "dense" else 1
        words_in = pixels * words_of(layer.channels_in // pixels, multiple)
        found.append(Shape(layer, words_in, words_of(layer.channels_out, multiple), pixels))
    return tuple(found)


def words_of(channels: int, multiple: int) -> int:
    """32-bit words of so many channels, rounded up to a multiple of words."""
    return -(-channels // (32 * multiple)) * multiple


def pack(bits: NDArray[np.uint8], words: int) -> Words:
    """Bits (..., channels) to (..., words): channel c is bit c % 32 of word c // 32, the rest is zero."""
    padded = np.zeros((*bits.shape[:-1], 32 * words), np.uint8)
    padded[..., : bits.shape[-1]] = bits
    return np.packbits(padded, axis=-1, bitorder="little").view("<u4").astype(np.uint32)


def packed_weights(shape: Shape, weight: NDArray[np.uint8], outputs: int) -> Words:
    """Weights of a layer with binary inputs, (outputs, taps, words_in); rows beyond the layer's outputs are zero."""
    layer = shape.layer
    bits = weight.reshape(layer.channels_out, shape.taps, shape.pixels_in, layer.channels_in // shape.pixels_in)
    words = pack(bits, shape.words_in // shape.pixels_in).reshape(layer.channels_out, shape.taps, shape.words_in)
    return np.concatenate([words, np.zeros((outputs - layer.channels_out, *words.shape[1:]), np.uint32)])


def borders(shape: Shape) -> NDArray[np.bool_]:
    """Which taps count at each class of positions: (classes, taps).

    A position loses `low` taps at one end of its row and `high` at the other; its class in one direction is
    low (padding + 1) + high, and the class of a pixel is that of its row times the number of them plus its column's.
    """
    kernel, pad = shape.layer.kernel, shape.layer.padding
    at = np.arange(kernel)
    one = np.array([(at >= low) & (at < kernel - high) for low in range(pad + 1) for high in range(pad + 1)])
    both: NDArray[np.bool_] = one[:, None, :, None] & one[None, :, None, :]
    return both.reshape(len(one) ** 2, shape.taps)


@dataclass(frozen=True)
class Limits:
    """Sums of each class of positions and output in terms of ones: sum = base - 2 ones(a) + 4 ones(a and w).

    `base` (classes, outputs); `least` (classes, outputs) is H of `2 ones(a and w) - ones(a) >= H`, which is
    `sum >= threshold`; a threshold beyond every sum is brought to the nearest one that means the same.
    """

    base: NDArray[np.int64]
    least: NDArray[np.int64]
    most: int


def limits(shape: Shape, weight: NDArray[np.uint8], threshold: NDArray[np.int32] | None, outputs: int) -> Limits:
    """Limits of a layer; outputs beyond the layer's own are never reached."""
    layer = shape.layer
    counted = borders(shape).astype(np.int64)
    ones = np.zeros((outputs, shape.taps), np.int64)
    ones[: layer.channels_out] = weight.reshape(layer.channels_out, shape.taps, -1).sum(axis=2, dtype=np.int64)
    valid = counted.sum(axis=1)[:, None] * shape.products
    base = valid - 2 * (counted @ ones.T)
    wanted = np.full((len(counted), outputs), np.iinfo(np.int64).max // 4)
    if threshold is not None:
        wanted[:, : layer.channels_out] = threshold.astype(np.int64)
    wanted = np.clip(wanted, -valid, valid + 1)
    return Limits(base, -((base - wanted) // 2), int(valid.max()))


def defines(values: dict[str, Any]) -> str:
    """The macros as source text."""
    return "".join(f"#define {key} {value}\n" for key, value in values.items())
