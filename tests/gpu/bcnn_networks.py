"""Small random binary networks of every shape that a kernel may meet, and their images."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workloads.bcnn.network import Layer, Network
from workloads.bcnn.parameters import seeded


@dataclass(frozen=True)
class Parameters:
    """What `workloads.bcnn.parameters.load` returns, in the attribute that kernels use."""

    network: Network


def network(
    side: int,
    channels: int,
    input_bits: int,
    convs: tuple[tuple[int, int, bool], ...],
    dense: tuple[int, ...],
    seed: int = 1,
) -> Network:
    """A network of 3 x 3 convolutions, each (channels, padding, pooled), and dense layers; thresholds of every kind.

    Every fifth threshold is beyond all sums, on either side, and every seventh exactly at a sum's end.
    """
    layers: list[Layer] = []
    for number, (out, padding, pool) in enumerate(convs, 1):
        bits = input_bits if number == 1 else 1
        layers.append(Layer(f"conv{number}", "conv", channels, out, side, 3, padding, pool, bits))
        side, channels = layers[-1].side_out, out
    channels *= side * side
    for number, out in enumerate(dense, 1):
        layers.append(Layer(f"fc{number}", "dense", channels, out))
        channels = out
    layers[-1] = replace(layers[-1], last=True)
    found = seeded(layers, seed)
    for layer, threshold in zip(found.layers, found.thresholds, strict=True):
        if threshold is not None:
            threshold[::10] = np.iinfo(np.int32).max
            threshold[5::10] = np.iinfo(np.int32).min
            threshold[3::14] = layer.bound
            threshold[10::14] = -layer.bound
    return found


def images(net: Network, n: int, seed: int) -> NDArray[np.int8]:
    """Images over the whole input range, the first of its ends alone."""
    high = 2 ** (net.layers[0].input_bits - 1)
    rng = np.random.default_rng(seed)
    found = rng.integers(-high, high, (n, *net.input_shape), np.int8)
    found[0] = rng.choice(np.array([-high, high - 1], np.int8), net.input_shape)
    return found


#: By name: padded and valid, pooled or not, channels that fill no word, several planes of 128, sides of any kind.
NETWORKS = {
    "padded": network(8, 3, 6, ((40, 1, False), (33, 1, True), (48, 1, True)), (70, 10), 1),
    "valid": network(12, 3, 8, ((20, 0, False), (64, 0, True), (130, 0, False)), (37, 9, 5), 2),
    "pooled first": network(8, 1, 5, ((8, 1, True), (16, 1, False)), (3,), 3),
    "two planes": network(8, 2, 4, ((130, 1, False), (70, 1, False), (200, 1, True), (140, 1, False)), (12,), 4),
}
