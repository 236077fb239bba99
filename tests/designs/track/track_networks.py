"""Small random networks with random formats, in both arithmetics."""

from __future__ import annotations

import itertools

import numpy as np

from workloads.track.network import FixedLayer, FixedNetwork, FloatLayer, FloatNetwork, Format, uniform_format
from workloads.track.quantise import TableNetwork, quantise


def fixed_network(rng: np.random.Generator, widths: tuple[int, ...]) -> FixedNetwork:
    """Every neuron has a format of its own, some of them none; layers saturate or wrap, with ReLU or without."""
    layers = []
    for n_in, n_out in itertools.pairwise(widths):
        form = Format(
            rng.integers(0, 2, n_out),
            rng.integers(-1, 5, n_out),
            rng.integers(-2, 7, n_out),
            ("SAT", "WRAP")[int(rng.integers(2))],
        )
        weight = rng.integers(-20, 21, (n_in, n_out)) * (rng.random((n_in, n_out)) < 0.8)
        bias_fraction = int(rng.integers(0, 16))
        bias = rng.integers(-(2 << bias_fraction), 2 << bias_fraction, n_out)
        layers.append(FixedLayer(weight, int(rng.integers(0, 6)), bias, bias_fraction, bool(rng.integers(2)), form))
    return FixedNetwork(uniform_format(widths[0], 1, 0, 11), tuple(layers))


def table_network(rng: np.random.Generator, widths: tuple[int, ...]) -> TableNetwork:
    """A quantised network of tanh layers; its sums reach both ends of the table."""
    layers = [
        FloatLayer(
            rng.normal(0, 1.5, (a, b)).astype(np.float32),
            rng.normal(0, 1, b).astype(np.float32),
            "linear" if i == len(widths) - 2 else "tanh",
        )
        for i, (a, b) in enumerate(itertools.pairwise(widths))
    ]
    return quantise(FloatNetwork(tuple(layers)), uniform_format(widths[0], 1, 0, 11))
