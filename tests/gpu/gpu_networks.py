"""Random networks of the kinds that training gives, and the inputs that try their limits."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workloads.track.network import FixedLayer, FixedNetwork, FloatLayer, FloatNetwork, Format, uniform_format

EMBED = (3, 32, 32, 32, 32, 4)
COMPACT = (3, 16, 16, 4)


@dataclass(frozen=True)
class Parameters:
    """What `workloads.track.parameters.load` returns, in the attributes that kernels use."""

    float_network: FloatNetwork
    fixed: FixedNetwork | None
    trained: bool = False


def fixed_network(widths: tuple[int, ...], seed: int, overflow: str = "SAT", mixed: bool = True) -> FixedNetwork:
    """A fixed-point network whose activations have 4 to 8 bits, an own format for each element where `mixed`."""
    rng = np.random.default_rng(seed)
    layers = []
    for index, (n_in, n_out) in enumerate(itertools.pairwise(widths)):
        last = index + 2 == len(widths)
        weight_fraction = int(rng.integers(3, 6))
        weight = rng.integers(-24, 25, (n_in, n_out)) * (rng.random((n_in, n_out)) < 0.7)
        bias_fraction = int(rng.integers(4, 9))
        bias = rng.integers(-40, 41, n_out)
        if last:
            output = uniform_format(n_out, 1, 4, 8, overflow)
        elif mixed:
            integer, bits = rng.integers(1, 4, n_out), rng.integers(4, 9, n_out)
            bits[0] = 0  # a dead element
            output = Format(np.zeros(n_out, np.int64), integer, bits - integer, overflow)
        else:
            output = uniform_format(n_out, 0, 2, 5, overflow)
        layers.append(FixedLayer(weight, weight_fraction, bias, bias_fraction, not last, output))
    return FixedNetwork(uniform_format(widths[0], 1, 0, 11, "SAT"), tuple(layers))


def float_network(widths: tuple[int, ...], seed: int, activation: str = "relu") -> FloatNetwork:
    """A float network with He-scaled weights; the last layer is linear."""
    rng = np.random.default_rng(seed)
    layers = []
    for index, (n_in, n_out) in enumerate(itertools.pairwise(widths)):
        gain = 2.0 if activation == "relu" else 1.0
        weight = rng.normal(0, np.sqrt(gain / n_in), (n_in, n_out)).astype(np.float32)
        kind = "linear" if index + 2 == len(widths) else activation
        layers.append(FloatLayer(weight, rng.normal(0, 0.1, n_out).astype(np.float32), kind))
    return FloatNetwork(tuple(layers))


def parameters(widths: tuple[int, ...], seed: int, overflow: str = "SAT", mixed: bool = True) -> Parameters:
    """Both arithmetics."""
    return Parameters(float_network(widths, seed), fixed_network(widths, seed, overflow, mixed))


def inputs(n: int, width: int, seed: int) -> NDArray[np.float32]:
    """Inputs in and around [-1, 1): the first eighth are corners and values far outside the range."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, width)).astype(np.float32)
    corners = np.array([-4.0, -1.0, -(2.0**-12), 0.0, 2.0**-12, 1.0 - 2.0**-11, 1.0, 4.0], np.float32)
    x[: n // 8] = rng.choice(corners, (n // 8, width))
    return x
