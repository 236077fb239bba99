"""One transposed convolution in any number of dimensions: its shape, what it costs, and what cannot be.

    output side = (I - 1) S - 2 P + K + extra

for an input side I, kernel K, stride S, padding P; `extra` adds positions at the far end (PyTorch: output_padding). An
input at i adds its product with the kernel's element k to the output at S i + k - P, where that exists. With
k - P = S d + f, 0 <= f < S, that output is S (i + d) + f: all elements of one *phase* f reach the same outputs, and the
pairs (d, f) are all that an algorithm needs to know of kernel, stride and padding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Activation = Literal["linear", "clip", "tanh", "sigmoid"]
ACTIVATIONS: tuple[Activation, ...] = ("linear", "clip", "tanh", "sigmoid")


@dataclass(frozen=True)
class Layer:
    """Shape of one layer. `shape` is the input's (depth,) rows, columns; kernel, stride, padding hold in each of them.

    `activation`: clip is a ReLU that stops at 1. Errors: ValueError naming the layer and the limit.
    """

    name: str
    shape: tuple[int, ...]
    channels_in: int
    channels_out: int
    kernel: int
    stride: int = 1
    padding: int = 0
    extra: int = 0
    activation: Activation = "clip"

    def __post_init__(self) -> None:
        for what, value, least in (
            ("input channels", self.channels_in, 1),
            ("output channels", self.channels_out, 1),
            ("a kernel", self.kernel, 1),
            ("a stride", self.stride, 1),
            ("a padding", self.padding, 0),
            ("extra positions", self.extra, 0),
        ):
            if type(value) is not int or value < least:
                raise ValueError(f"{self.name}: {what} of {value!r}; a whole number of at least {least}")
        if not isinstance(self.shape, tuple) or any(type(side) is not int for side in self.shape):
            raise ValueError(
                f"{self.name}: an input of shape {self.shape!r}; a tuple of whole numbers, one a dimension"
            )
        if not self.shape or min(self.shape) < 1:
            raise ValueError(f"{self.name}: an input of shape {self.shape}; every side must be at least 1")
        if self.extra >= self.stride and self.extra > 0:
            raise ValueError(f"{self.name}: {self.extra} extra positions; fewer than the stride of {self.stride}")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"{self.name}: activation {self.activation!r}; valid: {', '.join(ACTIVATIONS)}")
        if min(self.shape_out) < 1:
            raise ValueError(
                f"{self.name}: an input side of {min(self.shape)} with kernel {self.kernel}, stride {self.stride} and "
                f"padding {self.padding} gives an output side of {min(self.shape_out)}; it must be at least 1"
            )

    @property
    def dimensions(self) -> int:
        """2 for images, 3 for volumes."""
        return len(self.shape)

    @property
    def shape_out(self) -> tuple[int, ...]:
        """Shape of the output, without channels."""
        grow = self.kernel - 2 * self.padding + self.extra
        return tuple((side - 1) * self.stride + grow for side in self.shape)

    @property
    def kernel_shape(self) -> tuple[int, ...]:
        """Shape of the kernel, without channels."""
        return (self.kernel,) * self.dimensions

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """(in, kernel..., out)."""
        return (self.channels_in, *self.kernel_shape, self.channels_out)

    @property
    def inputs(self) -> int:
        """Numbers that enter."""
        return math.prod(self.shape) * self.channels_in

    @property
    def outputs(self) -> int:
        """Numbers that leave."""
        return math.prod(self.shape_out) * self.channels_out

    @property
    def weights(self) -> int:
        """Numbers in the kernel."""
        return math.prod(self.weight_shape)

    @property
    def taps(self) -> tuple[tuple[int, int], ...]:
        """(d, f) of each kernel element of one dimension: input i reaches output stride (i + d) + f."""
        return tuple(divmod(k - self.padding, self.stride) for k in range(self.kernel))

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates as publications count them: every input times the whole kernel.

        Those whose product falls into the padding, and so nowhere, are counted.
        """
        return math.prod((*self.shape, *self.kernel_shape)) * self._channel_pairs

    @property
    def kept_macs(self) -> int:
        """Multiply-accumulates whose product reaches an output: what an algorithm that skips perfectly computes."""
        return math.prod(map(self._kept_pairs, self.shape, self.shape_out)) * self._channel_pairs

    @property
    def equivalent_macs(self) -> int:
        """Multiply-accumulates of a convolution over the zero-inserted input: every output times the whole kernel.

        stride^dimensions times `macs` where the output side is stride times the input's. Publications that quote more
        than multipliers times clock count these.
        """
        return math.prod((*self.shape_out, *self.kernel_shape)) * self._channel_pairs

    @property
    def _channel_pairs(self) -> int:
        return self.channels_in * self.channels_out

    def _kept_pairs(self, side: int, side_out: int) -> int:
        return sum(0 <= self.stride * (i + d) + f < side_out for i in range(side) for d, f in self.taps)


def check_chain(layers: Sequence[Layer]) -> None:
    """Errors: ValueError naming the layer that does not take what the one before it gives."""
    if not layers:
        raise ValueError("a network needs a layer")
    for before, layer in itertools.pairwise(layers):
        if (layer.shape, layer.channels_in) != (before.shape_out, before.channels_out):
            raise ValueError(
                f"{layer.name}: takes {layer.channels_in} channels of shape {layer.shape}, but {before.name} gives "
                f"{before.channels_out} of {before.shape_out}"
            )
