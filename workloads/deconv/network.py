"""A network of transposed convolutions with real parameters: its float64 oracle, and its integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.deconv import fixed
from workloads.deconv.algorithms import check_numbers, scatter
from workloads.deconv.layer import Layer, check_chain

Reals = NDArray[np.float32]
Array = NDArray[Any]


@dataclass(frozen=True)
class Network:
    """Layers with float32 weights (in, kernel..., out) and biases (out,).

    `chained` layers feed each other; the others each have an input of their own, and an item is all their inputs one
    after another, its answer all their outputs. Errors: ValueError naming the layer and what it needs.
    """

    layers: tuple[Layer, ...]
    weights: tuple[Reals, ...]
    biases: tuple[Reals, ...]
    chained: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.layers, (tuple, list)) or not all(isinstance(layer, Layer) for layer in self.layers):
            raise ValueError(f"layers of {self.layers!r}; a network needs a tuple of layers")
        if not self.layers:
            raise ValueError("a network needs a layer")
        name, count = names(self.layers), len(self.layers)
        for what, values in (("weights", self.weights), ("biases", self.biases)):
            if not isinstance(values, (tuple, list)):
                raise ValueError(
                    f"{name}: {what} of {type(values).__name__}; a network needs a tuple of {count} arrays"
                )
        if not count == len(self.weights) == len(self.biases):
            raise ValueError(f"{name}: {count} layers, but {len(self.weights)} weights and {len(self.biases)} biases")
        if self.chained:
            check_chain(self.layers)
        for layer, weight, bias in zip(self.layers, self.weights, self.biases, strict=True):
            check_parameters(layer, "weights", weight, layer.weight_shape)
            check_parameters(layer, "biases", bias, (layer.channels_out,))

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of an item: (sides..., channels), or (numbers,) when the layers are not chained."""
        return input_shape(self.layers, self.chained)

    def __call__(self, inputs: NDArray[np.floating]) -> NDArray[np.float64]:
        """The float64 evaluation of (n, *input_shape): (n, output sides..., channels), or (n, numbers)."""
        return np.asarray(self.evaluate(inputs), np.float64)

    def evaluate(self, inputs: NDArray[np.floating], operands: Any = np.float64, total: Any = np.float64) -> Array:
        """Evaluate with parameters and activations rounded to `operands`, and sums in `total`.

        Errors: ValueError naming the layer for inputs of another shape, or that are not finite.
        """

        def run(index: int, x: Array) -> Array:
            layer, weight = self.layers[index], self.weights[index].astype(operands)
            sums = scatter(layer, x.astype(operands).astype(total, copy=False), weight.astype(total, copy=False))
            return _activate(layer, sums + self.biases[index].astype(total)).astype(operands)

        return self._run(inputs, run)

    def fixed(self, bits: int) -> FixedNetwork:
        """Its integers with `bits` bits. Errors: ValueError naming the layer, as of `quantise`."""
        layers = zip(self.layers, self.weights, self.biases, strict=True)
        return FixedNetwork(tuple(fixed.quantise(*layer, bits) for layer in layers), self.chained)

    def _run(self, inputs: Array, run: Any) -> Array:
        return run_layers(self.layers, self.chained, inputs, run)


@dataclass(frozen=True)
class FixedNetwork:
    """The same network in integers; see `workloads.deconv.fixed`."""

    layers: tuple[fixed.FixedLayer, ...]
    chained: bool

    @property
    def bits(self) -> int:
        """Bits of weights and activations."""
        return self.layers[0].bits

    def __call__(self, integers: fixed.Integers) -> fixed.Integers:
        """Integers (n, *input_shape) in units of 2^-(bits-1) to such integers, exact.

        Errors: ValueError naming the layer for inputs of another shape, or that are no integers of so many bits.
        """

        def run(index: int, x: Array) -> Array:
            return self.layers[index](x)

        return run_layers(tuple(layer.layer for layer in self.layers), self.chained, integers, run)


def input_shape(layers: tuple[Layer, ...], chained: bool) -> tuple[int, ...]:
    """Shape of an item; see `Network`."""
    if chained:
        return (*layers[0].shape, layers[0].channels_in)
    return (sum(layer.inputs for layer in layers),)


def run_layers(layers: tuple[Layer, ...], chained: bool, inputs: Array, run: Any) -> Array:
    """`run(index, x)` for each layer, an item at a time, which bounds the memory.

    Errors: ValueError naming the layers that take them for inputs of another shape, or that are not finite.
    """
    taking = layers[:1] if chained else layers
    check_numbers(names(taking), "inputs", inputs, (None, *input_shape(layers, chained)), who="the network")
    results = [np.concatenate(list(_answers(layers, chained, item, run)), axis=-1) for item in inputs]
    if not results:
        last = layers[-1]
        empty = (*last.shape_out, last.channels_out) if chained else (sum(layer.outputs for layer in layers),)
        return np.empty((0, *empty), inputs.dtype)
    return np.stack(results)


def names(layers: Sequence[Layer]) -> str:
    """The layer's name, or the first's and the last's."""
    return layers[0].name if len(layers) == 1 else f"{layers[0].name} to {layers[-1].name}"


def split(layers: tuple[Layer, ...], item: Array) -> Iterator[Array]:
    """The inputs (sides..., channels) of layers that are not chained, out of an item (numbers,)."""
    position = 0
    for layer in layers:
        yield item[position : position + layer.inputs].reshape(*layer.shape, layer.channels_in)
        position += layer.inputs


def _answers(layers: tuple[Layer, ...], chained: bool, item: Array, run: Any) -> Iterator[Array]:
    if chained:
        x = item[None]
        for index in range(len(layers)):
            x = run(index, x)
        yield x[0]
        return
    for index, part in enumerate(split(layers, item)):
        yield run(index, part[None]).reshape(-1)


def _activate(layer: Layer, sums: Array) -> Array:
    if layer.activation == "clip":
        return np.clip(sums, 0, 1)
    if layer.activation == "tanh":
        return np.asarray(np.tanh(sums))
    if layer.activation == "sigmoid":
        return np.asarray(1 / (1 + np.exp(-sums)))
    return sums


def check_parameters(layer: Layer, what: str, values: Array, shape: tuple[int, ...]) -> None:
    """Errors: ValueError naming the layer for parameters of another shape or type, or that are not finite."""
    if not isinstance(values, np.ndarray):
        raise ValueError(f"{layer.name}: {what} of {type(values).__name__}, but the layer needs a float32 array")
    if values.dtype != np.float32:
        raise ValueError(f"{layer.name}: {what} of {values.dtype}, but the layer needs float32")
    check_numbers(layer.name, what, values, shape)
