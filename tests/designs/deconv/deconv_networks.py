"""Small odd networks and engines for the tests of `designs/deconv`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from designs.deconv.config import Engine
from workloads.deconv.fixed import Integers
from workloads.deconv.layer import Layer
from workloads.deconv.network import FixedNetwork, Network

REVERSE = Engine("small", "reverse_loop", 8, tm=2, tn=4, acc=28, a_words=512, b_words=512, w_words=2048, bias_words=64)
ORIENTED = Engine(
    "small", "input_oriented", 8, tm=2, tn=4, tz=2, tr=2, tc=2, acc=28, a_words=128, b_words=128, w_words=4096,
    bias_words=64, psum_words=128, drain=2, io=2,
)  # fmt: skip

#: Chains of layers by what is odd about them.
CHAINS: dict[str, tuple[Layer, ...]] = {
    "a generator": (
        Layer("one", (1, 1), 9, 6, 4),
        Layer("two", (4, 4), 6, 5, 4, 2, 1),
        Layer("three", (8, 8), 5, 3, 3, 1, 1, activation="tanh"),
    ),
    "a volume": (
        Layer("one", (1, 1, 1), 5, 6, 3),
        Layer("two", (3, 3, 3), 6, 3, 4, 2, 1, activation="sigmoid"),
    ),
    "extra outputs, sides of their own": (
        Layer("one", (3, 5), 7, 4, 5, 2, 2, extra=1, activation="linear"),
        Layer("two", (6, 10), 4, 9, 2, 2),
    ),
    "kernels smaller than the stride": (
        Layer("one", (3, 4), 3, 4, 1, 2, activation="tanh"),
        Layer("two", (5, 7), 4, 2, 2, 2, 1),
    ),
    "a volume without overlap": (Layer("one", (2, 3, 5), 9, 5, 2, 2),),
    "wide": (Layer("one", (5, 6), 33, 13, 3, 2, 1, extra=1),),
}
#: Strides that only one position at a time takes.
STEEP: dict[str, tuple[Layer, ...]] = {
    "a stride of 3": (Layer("one", (4, 3), 5, 7, 5, 3, 1),),
    "a stride of 4 in a volume": (Layer("one", (2, 3, 2), 5, 3, 6, 4, 2, extra=2),),
    "gaps": (Layer("one", (4, 3), 5, 3, 2, 4, 1),),
}


def network(layers: tuple[Layer, ...], bits: int, seed: int, chained: bool = True) -> FixedNetwork:
    """Random integers of a chain, with sums that reach the ends of the range."""
    rng = np.random.default_rng(seed)
    weights = [
        (rng.standard_normal(layer.weight_shape) * 2 / np.sqrt(layer.channels_in * layer.kernel)).astype(np.float32)
        for layer in layers
    ]
    biases = [(rng.standard_normal(layer.channels_out) * 0.3).astype(np.float32) for layer in layers]
    return Network(layers, tuple(weights), tuple(biases), chained).fixed(bits)


def item(layers: tuple[Layer, ...], bits: int, seed: int, chained: bool = True) -> Integers:
    """A random input."""
    rng = np.random.default_rng(seed)
    shape = (*layers[0].shape, layers[0].channels_in) if chained else (sum(layer.inputs for layer in layers),)
    return rng.integers(-(1 << (bits - 1)), 1 << (bits - 1), shape)


def of_bits(engine: Engine, bits: int) -> Engine:
    """The engine with other numbers."""
    return replace(engine, bits=bits, acc=28 if bits == 8 else 44)
