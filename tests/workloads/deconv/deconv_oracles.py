"""Other ways to evaluate transposed convolutions, which share no code with the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from workloads.deconv.layer import Layer

Array = NDArray[Any]

#: Input shapes of the grid, by dimensions.
SHAPES = {1: ((1,), (2,), (5,)), 2: ((1, 1), (2, 3), (4, 1)), 3: ((1, 1, 1), (2, 1, 3))}


def grid(dimensions: int) -> Iterator[Layer]:
    """All layers of kernel 1 to 5, stride 1 to 3, every padding up to the kernel's side, every extra, that exist."""
    for kernel, stride, shape in product(range(1, 6), range(1, 4), SHAPES[dimensions]):
        for padding, extra in product(range(kernel + 1), range(stride)):
            if min((side - 1) * stride - 2 * padding + kernel + extra for side in shape) >= 1:
                yield Layer(f"k{kernel}s{stride}p{padding}e{extra}", shape, 2, 3, kernel, stride, padding, extra)


def random_arrays(layer: Layer, rng: np.random.Generator, n: int = 2) -> tuple[Array, Array]:
    """Inputs and weights of small integers, whose sums are exact in every type."""
    x = rng.integers(-9, 10, (n, *layer.shape, layer.channels_in))
    return x, rng.integers(-9, 10, layer.weight_shape)


def by_scipy(layer: Layer, x: Array, weight: Array) -> Array:
    """SciPy's full convolution of the zero-stuffed input, channel by channel, cut to the output's shape."""
    stuffed = np.zeros((len(x), *((side - 1) * layer.stride + 1 for side in layer.shape), layer.channels_in), x.dtype)
    stuffed[(slice(None), *(slice(None, None, layer.stride) for _ in layer.shape))] = x
    sums = np.zeros((len(x), *layer.shape_out, layer.channels_out), x.dtype)
    for n, i, o in product(range(len(x)), range(layer.channels_in), range(layer.channels_out)):
        full = signal.convolve(stuffed[n, ..., i], weight[i, ..., o], "full", "direct")
        full = np.pad(full, [(0, layer.extra)] * layer.dimensions)
        sums[(n, ..., o)] += full[tuple(slice(layer.padding, layer.padding + side) for side in layer.shape_out)]
    return sums


def by_loops(layer: Layer, x: list[Any], weight: Array) -> dict[tuple[int, ...], list[int]]:
    """Sums of one item as a dictionary from output position to channels: Python integers, by the definition.

    `x` is nested (sides..., in).
    """
    out = tuple((side - 1) * layer.stride - 2 * layer.padding + layer.kernel + layer.extra for side in layer.shape)
    sums = {place: [0] * layer.channels_out for place in product(*map(range, out))}
    for where in product(*map(range, layer.shape)):
        values: Any = x
        for index in where:
            values = values[index]
        for tap in product(range(layer.kernel), repeat=len(where)):
            place = tuple(layer.stride * i + k - layer.padding for i, k in zip(where, tap, strict=True))
            if place not in sums:
                continue
            for i, o in product(range(layer.channels_in), range(layer.channels_out)):
                sums[place][o] += int(values[i]) * int(weight[(i, *tap, o)])
    return sums


def half_up(value: Fraction) -> int:
    """The nearest integer, halves up."""
    return floor(value + Fraction(1, 2))


def kept_by_counting(layer: Layer) -> int:
    """Multiply-accumulates that reach an output: an input of ones under a kernel of ones, counted one by one."""
    count = 0
    for where in product(*map(range, layer.shape)):
        for tap in product(range(layer.kernel), repeat=len(where)):
            outputs = [layer.stride * i + k - layer.padding for i, k in zip(where, tap, strict=True)]
            count += all(0 <= o < side for o, side in zip(outputs, layer.shape_out, strict=True))
    return count * layer.channels_in * layer.channels_out
