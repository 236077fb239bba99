"""The float network: against Keras, layer after layer; in binary16; and what it refuses."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

from workloads.deconv.cases import LAYERS
from workloads.deconv.layer import Layer
from workloads.deconv.network import Network
from workloads.deconv.parameters import seeded

LAYER, LAYER2 = Layer("deconv5", (2, 2), 2, 3, 3), Layer("deconv6", (2, 2), 2, 3, 3)
KERAS = {"clip": lambda s: keras.ops.clip(s, 0.0, 1.0), "tanh": "tanh", "sigmoid": "sigmoid", "linear": None}


def keras_model(network: Network) -> keras.Model:
    """The chained network out of Keras layers; "same" padding halves what a kernel has beyond its stride."""
    x = inputs = keras.Input(network.input_shape, dtype="float64")
    for layer, weight, bias in zip(network.layers, network.weights, network.biases, strict=True):
        kind = keras.layers.Conv2DTranspose if layer.dimensions == 2 else keras.layers.Conv3DTranspose
        padding = "same" if layer.padding else "valid"
        up = kind(
            layer.channels_out, layer.kernel, layer.stride, padding, activation=KERAS[layer.activation], dtype="float64"
        )
        x = up(x)
        up.set_weights([np.moveaxis(weight, 0, -1), bias])
        assert x.shape[1:-1] == layer.shape_out
    return keras.Model(inputs, x)


@pytest.mark.parametrize("case", ["digits", "mnist", "celeba"])
def test_the_network_is_that_of_keras(case: str) -> None:
    network = seeded(case, 4)
    x = np.random.default_rng(4).integers(-128, 128, (3, *network.input_shape)) / 128
    assert np.abs(network(x) - keras_model(network).predict(x, verbose=0)).max() < 1e-12


def test_a_volume_is_that_of_keras() -> None:
    layers = (
        Layer("a", (1, 1, 1), 5, 4, 4),
        Layer("b", (4, 4, 4), 4, 3, 4, 2, 1),
        Layer("c", (8, 8, 8), 3, 2, 4, 2, 1, activation="sigmoid"),
    )
    rng = np.random.default_rng(2)
    weights = tuple(rng.normal(0, 0.2, layer.weight_shape).astype(np.float32) for layer in layers)
    network = Network(layers, weights, tuple(np.ones(la.channels_out, np.float32) / 7 for la in layers))
    x = rng.integers(-128, 128, (2, *network.input_shape)) / 128
    assert np.abs(network(x) - keras_model(network).predict(x, verbose=0)).max() < 1e-12


def test_each_layer_reaches_the_output_and_activations_stay_inside_their_range() -> None:
    network = seeded("digits", 1)
    x = np.random.default_rng(1).integers(-128, 128, (30, *network.input_shape)) / 128
    before = network(x)
    for index in range(len(network.layers)):
        weights = list(network.weights)
        weights[index] = -weights[index]
        assert np.abs(Network(network.layers, tuple(weights), network.biases)(x) - before).max() > 0.05
    middle = Network(network.layers[:2], network.weights[:2], network.biases[:2])(x)
    assert (middle.min(), middle.max()) == (0, 1)
    assert 0.3 < ((middle > 0) & (middle < 1)).mean() < 0.7


def test_binary16_between_layers() -> None:
    """Operands in binary16 and sums in binary32, each step written out for one layer after the other."""
    network = seeded("digits", 6)
    x = np.random.default_rng(6).integers(-128, 128, (2, *network.input_shape)) / 128
    values = x.astype(np.float16)
    for layer, weight, bias in zip(network.layers, network.weights, network.biases, strict=True):
        one = Network((layer,), (weight.astype(np.float16).astype(np.float32),), (bias,))
        values = one.evaluate(values.astype(np.float32), np.float32, np.float32).astype(np.float16)
    found = network.evaluate(x, np.float16, np.float32)
    assert found.dtype == np.float16
    assert np.array_equal(found, values)


def test_no_item_gives_no_answer_of_the_right_shape() -> None:
    assert seeded("digits")(np.zeros((0, 1, 1, 32))).shape == (0, 8, 8, 1)
    layers = LAYERS["vnet"][:1]
    weight, bias = np.zeros(layers[0].weight_shape, np.float32), np.zeros(128, np.float32)
    vnet = Network(layers, (weight,), (bias,), chained=False)
    assert vnet(np.zeros((0, layers[0].inputs))).shape == (0, layers[0].outputs)


def test_inputs_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"deconv1: inputs of shape \(5, 32\), but the network needs \(n, 1, 1, 32\)"):
        seeded("digits")(np.zeros((5, 32)))
    with pytest.raises(
        ValueError, match=r"deconv1: inputs of shape \(5, 1, 1, 31\), but the network needs \(n, 1, 1, 32"
    ):
        seeded("digits").fixed(8)(np.zeros((5, 1, 1, 31), np.int64))
    apart = Network((LAYER, LAYER2), (spoilt(0), spoilt(0)), (GOOD, GOOD), chained=False)
    assert apart(np.zeros((2, 16))).shape == (2, 96)
    with pytest.raises(
        ValueError, match=r"deconv5 to deconv6: inputs of shape \(2, 9\), but the network needs \(n, 16\)"
    ):
        apart(np.zeros((2, 9)))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.full((2, 1, 1, 32), np.nan), r"inputs must be finite, but 64 are not, the first at \(0, 0, 0, 0\)"),
        (np.full((2, 1, 1, 32), "1"), "inputs of <U1, but the network needs whole or real numbers"),
        ([[[[0.0] * 32]]], r"inputs of list, but the network needs an array of shape \(n, 1, 1, 32\)"),
        (None, r"inputs of NoneType, but the network needs an array of shape \(n, 1, 1, 32\)"),
    ],
    ids=["nan", "text", "list", "none"],
)
def test_inputs_that_are_no_numbers_are_refused(inputs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"deconv1: {message}"):
        seeded("digits")(inputs)


def test_bits_without_an_arithmetic_are_refused() -> None:
    network = seeded("digits")
    for bits in (12, 64, 0, -8, 8.0, "8", True, None):
        with pytest.raises(ValueError, match=f"deconv1: bits of {bits!r}; it must be 8 or 16"):
            network.fixed(bits)  # type: ignore[arg-type]


def test_integers_that_are_none_or_too_large_are_refused() -> None:
    network = seeded("digits").fixed(8)
    x = np.zeros((2, 1, 1, 32))
    with pytest.raises(
        ValueError, match="deconv1: inputs of float64, but the layer needs integers; `encode` makes them"
    ):
        network(x + 0.5)  # type: ignore[arg-type]
    for value in (-129, 128, 2**40):
        integers = x.astype(np.int64)
        integers[1, 0, 0, 7] = value
        with pytest.raises(ValueError, match=f"deconv1: an input of {value}, but 8 bits hold -128 to 127"):
            network(integers)
    assert network(x.astype(np.int8) + np.int8(127)).shape == (2, 8, 8, 1)


def spoilt(value: float) -> np.ndarray:
    weight = np.zeros(LAYER.weight_shape, np.float32)
    weight[1, 2, 0, 1] = value
    return weight


GOOD = np.zeros(3, np.float32)


@pytest.mark.parametrize(
    ("weight", "bias", "message"),
    [
        (spoilt(np.nan), GOOD, r"weights must be finite, but 1 are not, the first at \(1, 2, 0, 1\)"),
        (spoilt(-np.inf), GOOD, "weights must be finite"),
        (spoilt(0), np.array([0, np.inf, np.nan], np.float32), r"biases .* finite, but 2 are not, the first at \(1,\)"),
        (spoilt(0).astype(np.float64), GOOD, "weights of float64, but the layer needs float32"),
        (spoilt(0), GOOD.astype(np.float16), "biases of float16, but the layer needs float32"),
        (spoilt(0)[..., :2], GOOD, r"weights of shape \(2, 3, 3, 2\), but the layer needs \(2, 3, 3, 3\)"),
        (spoilt(0), GOOD[:2], r"biases of shape \(2,\), but the layer needs \(3,\)"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(weight: np.ndarray, bias: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=f"deconv5: {message}"):
        Network((LAYER,), (weight,), (bias,))


def test_networks_that_do_not_fit_are_refused() -> None:
    weight, bias = spoilt(0), np.zeros(3, np.float32)
    with pytest.raises(ValueError, match="deconv5: 1 layers, but 2 weights and 1 biases"):
        Network((LAYER,), (weight, weight), (bias,))
    with pytest.raises(
        ValueError, match=r"deconv5: takes 2 channels of shape \(2, 2\), but deconv5 gives 3 of \(4, 4\)"
    ):
        Network((LAYER, LAYER), (weight, weight), (bias, bias))
    Network((LAYER, LAYER), (weight, weight), (bias, bias), chained=False)


@pytest.mark.parametrize("weights", [None, [1.0], "weights"])
def test_parameters_that_are_no_arrays_are_refused(weights: object) -> None:
    with pytest.raises(ValueError, match=r"deconv5: weights of \w+, but the layer needs a float32 array"):
        Network((LAYER,), (weights,), (np.zeros(3, np.float32),))  # type: ignore[arg-type]


def test_what_is_no_tuple_of_layers_or_arrays_is_refused() -> None:
    two = (LAYER, LAYER2)
    with pytest.raises(
        ValueError, match=r"deconv5 to deconv6: weights of NoneType; a network needs a tuple of 2 arrays"
    ):
        Network(two, None, (GOOD, GOOD), chained=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"deconv5: biases of ndarray; a network needs a tuple of 1 arrays"):
        Network((LAYER,), (spoilt(0),), GOOD)  # type: ignore[arg-type]
    for layers in (None, LAYER, (LAYER, "deconv6")):
        with pytest.raises(ValueError, match=r"layers of .*; a network needs a tuple of layers"):
            Network(layers, (spoilt(0),) * 2, (GOOD, GOOD))  # type: ignore[arg-type]


def test_a_network_without_layers_is_refused() -> None:
    with pytest.raises(ValueError, match="a network needs a layer"):
        Network((), (), (), chained=False)


def test_sums_beyond_binary16_go_on_as_infinite() -> None:
    layers = (Layer("a", (1, 1), 1, 1, 1, activation="linear"), Layer("b", (1, 1), 1, 1, 1, activation="tanh"))
    weights = (np.full((1, 1, 1, 1), 6e4, np.float32), np.ones((1, 1, 1, 1), np.float32))
    network = Network(layers, weights, (np.full(1, 6e4, np.float32), np.zeros(1, np.float32)))
    with np.errstate(over="ignore"):
        assert network.evaluate(np.ones((1, 1, 1, 1)), np.float16, np.float32).item() == 1
