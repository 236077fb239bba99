"""The oracle against Keras, against XNOR and population counts, and against loops, which share no code with it."""

from __future__ import annotations

import keras  # noqa: F401  (first, so that its start-up is not counted to a test)
import numpy as np
import pytest
from bcnn_oracles import by_loops, by_popcount, keras_model, random_images, random_layers
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.bcnn import WORKLOAD, parameters
from workloads.bcnn.cases import LAYERS, layers_of
from workloads.bcnn.network import Layer, Network, layer_sums
from workloads.bcnn.parameters import seeded

SEED = 21


@pytest.mark.parametrize(("case", "images"), [("binarynet", 2), ("cnv", 12), ("digits", 450), ("digits_small", 450)])
def test_the_oracle_equals_keras(case: str, images: int) -> None:
    network = parameters.load(case).network
    x = WORKLOAD.inputs(case, images, SEED)
    print("seed", SEED)
    got = keras_model(network).predict(x.astype(np.float32), batch_size=50, verbose=0)
    assert np.array_equal(got, WORKLOAD.reference(case, x, "binary"))
    assert len(np.unique(got)) > 10, "the sums say something"


@pytest.mark.parametrize("case", ["cnv", "digits", "digits_small"])
def test_the_oracle_equals_keras_on_extremes(case: str) -> None:
    x = WORKLOAD.extremes(case)
    got = keras_model(parameters.load(case).network).predict(x.astype(np.float32), verbose=0)
    assert np.array_equal(got, WORKLOAD.reference(case, x, "binary"))


@pytest.mark.parametrize("seed", range(8))
def test_random_networks_equal_keras_layer_by_layer(seed: int) -> None:
    print("seed", seed)
    rng = np.random.default_rng(seed)
    network = seeded(random_layers(rng), seed)
    x = random_images(network, 7, rng)
    found = keras_model(network, [layer.name for layer in network.layers])(x.astype(np.float32))
    values, outputs = x.astype(np.float32), network.outputs(x)
    for layer, weight, sums in zip(network.layers, network.weights, found, strict=True):
        mine = layer_sums(layer, values, weight)
        assert np.array_equal(mine.reshape(sums.shape), sums), layer.name
        values = next(outputs).astype(np.float32) * 2 - 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_networks_equal_popcounts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = seeded(random_layers(rng), seed)
    x = random_images(network, 9, rng)
    assert np.array_equal(network(x), by_popcount(network, x))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_networks_equal_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = seeded(random_layers(rng), seed)
    x = random_images(network, 1, rng)
    loops = by_loops(network, x[0])
    assert network(x)[0].tolist() == loops[-1][0][0]
    first = layer_sums(network.layers[0], x.astype(np.float32), network.weights[0])
    assert first[0].tolist() == loops[0]


@pytest.mark.parametrize(("case", "images"), [("binarynet", 1), ("cnv", 2), ("digits", 450), ("digits_small", 450)])
def test_the_oracle_equals_popcounts(case: str, images: int) -> None:
    print("seed", SEED)
    x = WORKLOAD.inputs(case, images, SEED)
    assert np.array_equal(WORKLOAD.reference(case, x, "binary"), by_popcount(parameters.load(case).network, x))


def test_published_totals() -> None:
    """BinaryNet's CIFAR-10 network: 616.97 MMAC, 14,022,016 weight bits (arXiv 1702.06392); CNV: 59.5 MMAC."""
    layers = LAYERS["binarynet"]
    assert sum(layer.macs for layer in layers) == 616_966_144
    assert sum(int(np.prod(layer.weight_shape)) for layer in layers) == 14_022_016
    per_layer = [3_538_944, 150_994_944, 75_497_472, 150_994_944, 75_497_472, 150_994_944, 8_388_608, 1_048_576, 10_240]
    assert [layer.macs for layer in layers] == per_layer
    assert round(sum(layer.macs for layer in LAYERS["cnv"]) / 1e6, 1) == 59.5


def one_layer(weight: int, threshold: int | None, *, pool: bool = False, bits: int = 1, padding: int = 1) -> Network:
    """A convolution of a 4 x 4 image with equal weights and a dense layer behind it."""
    conv = Layer("conv1", "conv", 1, 1, 4, 3, padding, pool, bits)
    dense = Layer("fc1", "dense", conv.side_out**2, 1, last=True)
    weights = (np.full(conv.weight_shape, weight, np.uint8), np.ones(dense.weight_shape, np.uint8))
    return Network((conv, dense), weights, (np.array([threshold], np.int32), None))


def test_padding_contributes_zero() -> None:
    """A corner of an image of ones sees four taps, an edge six, the middle nine: a tap on the padding adds nothing."""
    expected = [[4, 6, 6, 4], [6, 9, 9, 6], [6, 9, 9, 6], [4, 6, 6, 4]]
    image = np.ones((1, 4, 4, 1), np.float32)
    for weight, sign in ((1, 1), (0, -1)):
        network = one_layer(weight, 0)
        sums = layer_sums(network.layers[0], image, network.weights[0])[0, ..., 0]
        assert (sums * sign).tolist() == expected
    # Four of sixteen sums are below 5, eight are 6, four are 9.
    for threshold, ones in ((4, 16), (5, 12), (6, 12), (7, 4), (9, 4), (10, 0)):
        network = one_layer(1, threshold, bits=2)
        assert network(np.ones((1, 4, 4, 1), np.int8)).tolist() == [[ones - (16 - ones)]]


@pytest.mark.parametrize("seed", range(3))
def test_pooling_the_sums_is_the_or_of_the_bits(seed: int) -> None:
    print("seed", seed)
    rng = np.random.default_rng(seed)
    layers = layers_of(8, 2, 4, 1, ((6, True),), (3,))
    network = seeded(layers, seed)
    x = random_images(network, 20, rng)
    before = layer_sums(layers[0], x.astype(np.float32), network.weights[0]) >= network.thresholds[0]
    either = before[:, ::2, ::2] | before[:, ::2, 1::2] | before[:, 1::2, ::2] | before[:, 1::2, 1::2]
    pooled = next(network.outputs(x))
    assert np.array_equal(pooled, either)
    assert 0 < pooled.mean() < 1


def test_a_sum_at_the_threshold_is_plus_one() -> None:
    image = np.ones((1, 4, 4, 1), np.int8)
    assert next(one_layer(1, 9, bits=2, padding=0).outputs(image)).all()
    assert not next(one_layer(1, 10, bits=2, padding=0).outputs(image)).any()


def test_no_image_gives_no_sums() -> None:
    assert parameters.load("digits").network(np.empty((0, 8, 8, 1), np.int8)).shape == (0, 10)


def test_images_that_do_not_fit_are_refused() -> None:
    network = parameters.load("digits").network
    for pixel in (-17, 16):
        with pytest.raises(ValueError, match=r"pixels from .* but 5 bits hold -16 to 15"):
            network(np.full((1, 8, 8, 1), pixel, np.int8))
    with pytest.raises(ValueError, match=r"images of shape \(8, 9, 1\), but the network takes \(8, 8, 1\)"):
        network(np.zeros((1, 8, 9, 1), np.int8))
    with pytest.raises(ValueError, match="pixels are integers, not float32"):
        network(np.zeros((1, 8, 8, 1), np.float32))


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ((), "a network needs a layer"),
        ((Layer("fc1", "dense", 4, 2, kernel=3, last=True),), "fc1: a dense layer has side 1"),
        ((Layer("c", "conv", 1, 1, 2, 3, last=True),), "c: a kernel of 3 does not fit into a side of 2"),
        ((Layer("c", "conv", 1, 1, 5, 3, pool=True, last=True),), "c: pooling needs an even side, not 3"),
        ((Layer("c", "conv", 1, 1, 5, 3),), "c: exactly the last layer returns sums"),
        (
            (Layer("a", "conv", 1, 2, 3, 3, 1), Layer("b", "conv", 2, 1, 3, 3, 1, input_bits=2, last=True)),
            "b: only the first layer may have inputs of several bits",
        ),
        (
            (Layer("a", "conv", 1, 2, 3, 3), Layer("b", "dense", 3, 1, last=True)),
            "b: takes side 1 and 3 channels, but a gives side 1 and 2 channels",
        ),
    ],
)
def test_layers_that_cannot_be_are_refused(layers: tuple[Layer, ...], message: str) -> None:
    shapes = [np.zeros(layer.weight_shape, np.uint8) for layer in layers]
    with pytest.raises(ValueError, match=message):
        Network(layers, tuple(shapes), (None,) * len(layers))


def test_sums_too_large_for_float32_are_refused() -> None:
    layer = Layer("wide", "dense", 2**17, 1, input_bits=8, last=True)
    with pytest.raises(ValueError, match="wide: sums of up to 16777216 are not exact"):
        layer_sums(layer, np.zeros((1, 2**17), np.float32), np.zeros((1, 2**17), np.uint8))
