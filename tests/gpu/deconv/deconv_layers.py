"""Networks of odd layers for the kernels: each is one layer whose shape is unlike those of the cases."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gpu.deconv.layout import Network
from workloads.deconv import network as oracle
from workloads.deconv.fixed import BITS, FixedLayer
from workloads.deconv.layer import Layer
from workloads.deconv.parameters import Parameters

LAYERS = (
    Layer("stride3", (3, 5), 8, 5, 4, 3, 1, activation="linear"),
    Layer("gaps", (3, 2), 4, 17, 2, 3, activation="linear"),  # a kernel smaller than the stride: phases without taps
    Layer("five", (4, 3), 12, 20, 5, 2, 2, 1),
    Layer("cut", (5, 4), 3, 6, 3, 1, 2),  # three channels, and more padding than the kernel needs
    Layer("unreached", (2, 2), 4, 2, 1, 5, 2, activation="linear"),  # no input reaches any output
    Layer("single", (1, 1), 10, 9, 3, activation="tanh"),
    Layer("colours", (3, 7), 8, 3, 4, 2, 1, activation="tanh"),
    Layer("few5", (3, 3), 4, 2, 5, 2, 2, 1, activation="sigmoid"),
    Layer("volume", (2, 3, 4), 8, 6, 4, 2, 1),
    Layer("voxel", (3, 2, 5), 8, 1, 4, 2, 1, activation="sigmoid"),
    Layer("exact", (2, 2, 3), 8, 16, 2, 2),
)


class Made(Network):
    """One layer with random parameters in the place of a case."""

    layer: Layer

    def __init__(self, layer: Layer, seed: int) -> None:
        super().__init__(f"{layer.name}-{seed}")
        rng = np.random.default_rng(seed)
        weight = rng.uniform(-0.5, 0.5, layer.weight_shape).astype(np.float32)
        bias = rng.uniform(-0.5, 0.5, layer.channels_out).astype(np.float32)
        object.__setattr__(self, "made", oracle.Network((layer,), (weight,), (bias,)))

    @cached_property
    def _parameters(self) -> Parameters:
        return Parameters(self.case, self.made, {})

    def _fixed(self, index: int, arithmetic: str) -> FixedLayer:
        return self.made.fixed(BITS[arithmetic]).layers[index]

    def wanted(self, arithmetic: str, inputs: np.ndarray) -> np.ndarray:
        """The oracle's outputs as real numbers."""
        if arithmetic not in BITS:
            return self.made(inputs)
        integers = self.made.fixed(BITS[arithmetic])(self.numbers(arithmetic, inputs).astype(np.int64))
        return self.decode(arithmetic, [integers])
