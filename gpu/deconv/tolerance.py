"""How far outputs in fp16 and fp32 may lie from the float64 oracle: six standard deviations of their rounding."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.deconv.layout import Network
from workloads.deconv import WORKLOAD
from workloads.deconv.algorithms import scatter
from workloads.deconv.fixed import BITS
from workloads.deconv.network import _activate as activate
from workloads.deconv.network import run_layers

Array = NDArray[Any]
#: Seed of the item that stands for all.
SEED = 1
#: Half a unit in the last place, relative to a number: of binary32 and of binary16.
SINGLE, HALF = 2.0**-24, 2.0**-11
#: A hardware tanh may err by so much (PTX ISA: tanh.approx.f32); sigmoids are made of one.
TANH_ERROR = 2.0**-11


@cache
def tolerance(case: str, arithmetic: str) -> float:
    """Largest absolute difference from the oracle that an output may have; 0, exact, for fixed point.

    Roundings count as independent and uniform (Higham and Mary 2019, a probabilistic approach to rounding error
    analysis): products and partial sums with binary32's, weights and stored activations with those of the arithmetic. A
    variance goes through a layer as the sum of its weights' squares; no activation has a slope above 1. The largest
    variance of one item's outputs stands for all items: they have the same weights and the same range of inputs.
    """
    if arithmetic in BITS:
        return 0.0
    network = Network(case)
    storage = {"fp32": SINGLE, "fp16": HALF}[arithmetic]
    item = WORKLOAD.inputs(case, 1, SEED).astype(np.float64)
    biases = [network.bias(i, "fp32").astype(np.float64) for i in range(len(network.layers))]
    weights = [network.weight(i, "fp32").astype(np.float64) for i in range(len(network.layers))]
    variances: list[Array] = []

    def run(index: int, x: Array) -> Array:
        layer, w, b = network.layers[index], weights[index], biases[index]
        # Numbers that enter a network are exact in every arithmetic, so only what a layer left has a variance.
        carried = variances[-1] if network.chained and index else None
        terms = layer.channels_in * math.ceil(layer.kernel / layer.stride) ** layer.dimensions + 1
        squares = (storage * x) ** 2 / 3 if carried is None else storage**2 / 3 * x**2 + carried
        variance = scatter(layer, squares, w**2)
        z = scatter(layer, x, w) + b
        # A partial sum, in whatever order, has no larger mean square than the whole sum and its spread together.
        variance += terms * SINGLE**2 / 3 * (scatter(layer, x**2, w**2) + z**2 + b**2)
        smooth = layer.activation in ("tanh", "sigmoid")
        y = activate(layer, z)
        variance += (storage * y) ** 2 / 3 + (TANH_ERROR**2 if smooth and storage > SINGLE else 0.0)
        variances.append(variance)
        return y

    run_layers(network.layers, network.chained, item, run)
    ends = variances[-1:] if network.chained else variances
    return float(6 * np.sqrt(max(float(variance.max()) for variance in ends)))
