"""The embedding network in its two arithmetics, evaluated in numpy.

Fixed point is exact: every value is an integer times a power of two, and the evaluation never leaves the integers.
A format follows the (k, i, f) convention: k sign bits, i integer bits, f fractional bits, so that the values are the
multiples of 2^-f in [-k 2^i, 2^i - 2^-f]. An element with k + i + f <= 0 is the constant zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Format:
    """Fixed-point format of each element of a vector: `signed` (0 or 1), `integer` and `fraction` bits, shape (n,).

    Quantising rounds half up, floor(x 2^f + 1/2), and then saturates (`overflow="SAT"`) or wraps (`"WRAP"`).
    """

    signed: Ints
    integer: Ints
    fraction: Ints
    overflow: str = "SAT"

    def __post_init__(self) -> None:
        if self.overflow not in ("SAT", "WRAP"):
            raise ValueError(f"overflow must be SAT or WRAP, got {self.overflow!r}")

    @property
    def width(self) -> Ints:
        """Bits of each element; 0 where it is the constant zero."""
        width: Ints = np.maximum(self.signed + self.integer + self.fraction, 0)
        return width

    @property
    def grid(self) -> int:
        """Fractional bits of the finest element: the common grid on which a vector of integers is kept."""
        live = self.width > 0
        return int(self.fraction[live].max()) if live.any() else 0

    def quantise(self, values: Ints, fraction: int) -> Ints:
        """Quantise `values` 2^-fraction, shape (m, n); return integers on this format's `grid`. Exact."""
        # Bring everything to one fine grid, so that a right shift is the only rounding left.
        fine = max(fraction, self.grid) + 1
        x = values.astype(np.int64) << (fine - fraction)
        shift = fine - self.fraction
        half = np.left_shift(np.int64(1), np.maximum(shift - 1, 0))
        q = (x + half) >> shift  # floor(x + 1/2) on each element's own grid
        width = self.width
        low = -self.signed * np.left_shift(np.int64(1), np.maximum(width - 1, 0))
        high = np.left_shift(np.int64(1), np.maximum(width - self.signed, 0)) - 1
        wrapped = ((q - low) & (np.left_shift(np.int64(1), width) - 1)) + low
        q = np.clip(q, low, high) if self.overflow == "SAT" else wrapped
        q = np.where(width > 0, q, 0)
        result: Ints = q << np.maximum(self.grid - self.fraction, 0)
        return np.where(width > 0, result, 0)


@dataclass(frozen=True)
class FixedLayer:
    """A dense layer in fixed point.

    `weight` (n_in, n_out) counts in 2^-weight_fraction, `bias` (n_out,) in 2^-bias_fraction. The output is quantised to
    `output` after the optional ReLU.
    """

    weight: Ints
    weight_fraction: int
    bias: Ints
    bias_fraction: int
    relu: bool
    output: Format


@dataclass(frozen=True)
class FixedNetwork:
    """An input format and the layers behind it."""

    input: Format
    layers: tuple[FixedLayer, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """Neurons of each stage, input first."""
        return (self.layers[0].weight.shape[0], *(layer.weight.shape[1] for layer in self.layers))

    def encode(self, inputs: NDArray[np.floating]) -> Ints:
        """Real inputs (m, n_in) to integers on the input grid: round half up, then overflow as the format says."""
        fine = self.input.grid + 24
        # Clip first: beyond this any real is far out of range, and float to int64 must not overflow.
        scaled = np.clip(np.asarray(inputs, np.float64), -(2.0**14), 2.0**14) * 2.0**fine
        return self.input.quantise(np.floor(scaled).astype(np.int64), fine)

    def evaluate(self, x: Ints) -> Ints:
        """Evaluate integers (m, n_in) on the input grid; return integers (m, n_out) on the last layer's output grid."""
        fraction = self.input.grid
        for layer in self.layers:
            grid = max(fraction + layer.weight_fraction, layer.bias_fraction)
            acc = (x @ layer.weight) << (grid - fraction - layer.weight_fraction)
            acc = acc + (layer.bias << (grid - layer.bias_fraction))
            if layer.relu:
                acc = np.maximum(acc, 0)
            x = layer.output.quantise(acc, grid)
            fraction = layer.output.grid
        return x

    def __call__(self, inputs: NDArray[np.floating]) -> NDArray[np.float64]:
        """Real inputs (m, n_in) to real outputs (m, n_out), exactly what the integers say."""
        return self.decode(self.evaluate(self.encode(inputs)))

    def decode(self, outputs: Ints) -> NDArray[np.float64]:
        """Integers on the output grid to real numbers."""
        return outputs.astype(np.float64) * 2.0 ** -self.layers[-1].output.grid


@dataclass(frozen=True)
class FloatLayer:
    """A dense layer in real numbers: `weight` (n_in, n_out), `bias` (n_out,), activation `relu`, `tanh` or `linear`."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    activation: str


@dataclass(frozen=True)
class FloatNetwork:
    """The same network in real numbers."""

    layers: tuple[FloatLayer, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """Neurons of each stage, input first."""
        return (self.layers[0].weight.shape[0], *(layer.weight.shape[1] for layer in self.layers))

    def __call__(self, inputs: NDArray[np.floating]) -> NDArray[np.float64]:
        """Real inputs (m, n_in) to real outputs (m, n_out), in float64."""
        return self.evaluate(inputs, np.float64, np.float64)

    def evaluate(self, inputs: NDArray[np.floating], operand: Any, total: Any) -> NDArray[np.float64]:
        """The same with weights and layer inputs rounded to dtype `operand`, and sums and biases in dtype `total`."""
        x = np.asarray(inputs, operand)
        for layer in self.layers:
            y = x.astype(total) @ layer.weight.astype(operand).astype(total) + layer.bias.astype(total)
            x = _ACTIVATIONS[layer.activation](y).astype(operand)
        return x.astype(np.float64)


_ACTIVATIONS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "linear": lambda x: x,
}


def uniform_format(n: int, signed: int, integer: int, fraction: int, overflow: str = "SAT") -> Format:
    """A format that is the same for all `n` elements."""

    def full(v: int) -> Ints:
        return np.full(n, v, np.int64)

    return Format(full(signed), full(integer), full(fraction), overflow)


def macs(widths: Sequence[int]) -> int:
    """Multiply-accumulates of one evaluation of a dense network: the sum of products of neighbouring widths."""
    return sum(a * b for a, b in itertools.pairwise(widths))
