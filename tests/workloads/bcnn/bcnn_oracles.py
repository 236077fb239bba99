"""Other ways to evaluate a binary network, which share no code with the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.bcnn.cases import layers_of
from workloads.bcnn.network import Layer, Network


def random_layers(rng: np.random.Generator) -> tuple[Layer, ...]:
    """Layers of a small random network: padding or not, pooling where the side is even, a dense layer or two."""
    side, bits = int(rng.integers(4, 10)), int(rng.integers(2, 9))
    padding = int(rng.integers(0, 3))
    convs: list[tuple[int, bool]] = []
    now = side
    for _ in range(int(rng.integers(1, 4))):
        now += 2 * padding - 2
        pool = now % 2 == 0 and bool(rng.integers(2))
        convs.append((int(rng.integers(1, 20)), pool))
        now //= 2 if pool else 1
        if now + 2 * padding < 3:
            break
    dense = tuple(int(n) for n in rng.integers(1, 12, rng.integers(1, 3)))
    return layers_of(side, int(rng.integers(1, 5)), bits, padding, tuple(convs), dense)


def random_images(network: Network, n: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Uniform images over the whole input range."""
    high = 2 ** (network.layers[0].input_bits - 1)
    return rng.integers(-high, high, (n, *network.input_shape), np.int8)


def by_loops(network: Network, image: NDArray[np.int8]) -> list[list[list[list[int]]]]:
    """Sums of each layer, before pooling, of one image: Python integers, tap by tap, nested (row, column, channel)."""
    values = [[[int(v) for v in pixel] for pixel in row] for row in image]
    found = []
    for layer, weight, threshold in zip(network.layers, network.weights, network.thresholds, strict=True):
        if layer.kind == "dense":
            values = [[[v for row in values for pixel in row for v in pixel]]]
        side, k = len(values), layer.kernel
        out = side + 2 * layer.padding - k + 1
        signs = np.where(weight, 1, -1).reshape(layer.channels_out, k, k, layer.channels_in).tolist()
        sums = [[[0] * layer.channels_out for _ in range(out)] for _ in range(out)]
        for y, x, o, ky, kx in product(range(out), range(out), range(layer.channels_out), range(k), range(k)):
            row, column = y + ky - layer.padding, x + kx - layer.padding
            if 0 <= row < side and 0 <= column < side:
                sums[y][x][o] += sum(a * b for a, b in zip(values[row][column], signs[o][ky][kx], strict=True))
        found.append(sums)
        if threshold is None:
            break
        step = 2 if layer.pool else 1
        values = [
            [
                [
                    # Pooling after the threshold: +1 where any of the sums reaches it.
                    1
                    if any(sums[y + i][x + j][o] >= int(threshold[o]) for i, j in product(range(step), repeat=2))
                    else -1
                    for o in range(layer.channels_out)
                ]
                for x in range(0, out, step)
            ]
            for y in range(0, out, step)
        ]
    return found


def by_popcount(network: Network, images: NDArray[np.int8]) -> NDArray[np.int64]:
    """Sums of the last layer (n, classes): packed bits, XNOR, population counts; pixels as bit planes.

    A plane p of the input meets the weights w as 2 |p and w| - |p|, times its power of two, the sign's negative.
    Bits meet them as valid - 2 |(a xor w) and valid|, with no valid bit on the padding.
    """
    first = network.layers[0]
    values: NDArray[Any] = images.astype(np.int64) & (2**first.input_bits - 1)
    for layer, weight, threshold in zip(network.layers, network.weights, network.thresholds, strict=True):
        n = len(values)
        if layer.kind == "dense":
            values = values.reshape(n, 1, 1, -1)
        w = _packed(weight.reshape(layer.channels_out, -1))
        sums = np.zeros((n, layer.side_sums, layer.side_sums, layer.channels_out), np.int64)
        if layer.input_bits > 1:
            for plane in range(layer.input_bits):
                p = _packed(_taps(layer, (values >> plane) & 1))[..., np.newaxis, :]
                power = -(2**plane) if plane == layer.input_bits - 1 else 2**plane
                sums += power * (2 * _count(p & w) - _count(p))
        else:
            a = _packed(_taps(layer, values))[..., np.newaxis, :]
            valid = _packed(_taps(layer, np.ones_like(values)))[..., np.newaxis, :]
            sums = _count(valid) - 2 * _count((a ^ w) & valid)
        if threshold is None:
            return sums.reshape(n, -1)
        values = (sums >= threshold).astype(np.int64)
        if layer.pool:
            values = values[:, 0::2, 0::2] | values[:, 0::2, 1::2] | values[:, 1::2, 0::2] | values[:, 1::2, 1::2]
    raise AssertionError("no last layer")


def _taps(layer: Layer, values: NDArray[Any]) -> NDArray[Any]:
    """What each tap sees (n, row, column, tap), 0 on the padding, tap by tap."""
    p, k, side = layer.padding, layer.kernel, layer.side_sums
    padded = np.zeros((len(values), layer.side + 2 * p, layer.side + 2 * p, layer.channels_in), np.uint8)
    padded[:, p : p + layer.side, p : p + layer.side] = values
    return np.concatenate([padded[:, y : y + side, x : x + side] for y, x in product(range(k), repeat=2)], axis=-1)


def _packed(bits: NDArray[Any]) -> NDArray[np.uint64]:
    """The last axis packed into words of 64 bits, filled up with zeros."""
    pad = [(0, 0)] * (bits.ndim - 1) + [(0, -bits.shape[-1] % 64)]
    return np.packbits(np.pad(bits, pad), axis=-1).view(np.uint64)


def _count(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    return np.bitwise_count(words).sum(-1, dtype=np.int64)


def keras_model(network: Network, layers_out: Sequence[str] = ()) -> Any:
    """The same network out of Keras's own layers, with float weights +1 and -1.

    Outputs: the sums of the layers named, before pooling, or of the last.
    """
    import keras

    x = inputs = keras.Input(network.input_shape)
    outputs = {}
    for layer, weight, threshold in zip(network.layers, network.weights, network.thresholds, strict=True):
        if layer.kind == "conv":
            if layer.padding:
                x = keras.layers.ZeroPadding2D(layer.padding)(x)
            made = keras.layers.Conv2D(layer.channels_out, layer.kernel, use_bias=False)
        else:
            x = keras.layers.Flatten()(x)
            made = keras.layers.Dense(layer.channels_out, use_bias=False)
        x = made(x)
        made.set_weights([np.moveaxis(weight.astype(np.float32) * 2 - 1, 0, -1)])
        outputs[layer.name] = x
        if threshold is not None:
            if layer.pool:
                x = keras.layers.MaxPooling2D(2)(x)
            x = keras.ops.where(x >= threshold.astype(np.float32), 1.0, -1.0)
    chosen = [outputs[name] for name in layers_out] or x
    return keras.Model(inputs, chosen)
