"""Training and folding: the integers that come out are the Keras model, sum by sum."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from bcnn_oracles import random_images, random_layers
from numpy.typing import NDArray

from workloads.bcnn import cifar, digits, parameters, train
from workloads.bcnn.cases import LAYERS
from workloads.bcnn.export import fold, threshold_of
from workloads.bcnn.images import Images, ImagesError
from workloads.bcnn.network import Layer, Network

SHORT = replace(train.RECIPES["digits"], epochs=2)


@pytest.mark.parametrize("seed", range(4))
def test_thresholds_are_the_formula(seed: int) -> None:
    """s >= mean - beta sigma / gamma, solved for, against every sum tried."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    layer = Layer("conv1", "conv", 5, 64, 4, 3)
    gamma, beta = rng.normal(size=64), rng.normal(size=64)
    mean, sigma = rng.normal(0, 20, 64), rng.uniform(1, 20, 64)
    found, negated = threshold_of(lambda s: gamma * (s - mean) / sigma + beta, layer)
    edge = mean - beta * sigma / gamma
    for o in range(64):
        for value in range(-45, 46):
            bit = value >= edge[o] if gamma[o] > 0 else value <= edge[o]
            assert ((value >= found[o]) != negated[o]) == bit, (o, value)
        if -45 < edge[o] < 45:
            assert negated[o] == (gamma[o] < 0)
            # Falling: +1 up to the edge, so the negated bit is +1 from the next integer on.
            assert found[o] == (ceil(edge[o]) if gamma[o] > 0 else floor(edge[o]) + 1)
        else:
            assert not negated[o]
            assert found[o] in (-45, 46)


def test_thresholds_at_the_edges() -> None:
    layer = Layer("conv1", "conv", 1, 8, 4, 3)
    slope = np.array([1, -1, 0, 0, 0, 1, 1, -1])
    offset = np.array([-3, 3, 2, -2, 0, 100, -100, -100])
    found, negated = threshold_of(lambda s: slope * s + offset, layer)
    # 0 counts as +1; a constant is a threshold at or beyond the bound of 9, whatever its slope.
    assert found.tolist() == [3, 4, -9, 10, -9, -9, 10, 10]
    assert negated.tolist() == [False, True, *[False] * 6]
    assert found.dtype == np.int32


def test_what_is_no_threshold_is_refused() -> None:
    layer = Layer("conv4", "conv", 1, 3, 4, 3)
    with pytest.raises(ValueError, match="conv4: channel 1 is not monotone in its sum"):
        threshold_of(lambda s: np.where(np.arange(3) == 1, s % 3 - 1, s), layer)
    with pytest.raises(ValueError, match="conv4: normalised sums that are not finite"):
        threshold_of(lambda s: s * np.nan, layer)


def test_a_negated_channel_is_negated_in_the_next_layer_at_every_pixel() -> None:
    layers = (Layer("conv1", "conv", 1, 2, 4, 3, 1, True, 3), Layer("fc1", "dense", 8, 3, last=True))
    rng = np.random.default_rng(3)
    kernels = [rng.normal(size=layer.weight_shape) for layer in layers]
    plain, turned = (fold(layers, kernels, [lambda s, g=gamma: g * s - 0.5]) for gamma in ([1, 1], [1, -1]))
    assert np.array_equal(plain.weights[0], kernels[0] >= 0)
    assert np.array_equal(plain.weights[0], turned.weights[0])
    assert (plain.weights[1] != turned.weights[1]).all(axis=0).tolist() == [False, True] * 4


def random_model(layers: tuple[Layer, ...], rng: np.random.Generator) -> keras.Model:
    """A model with signs of gamma of both kinds, and zeros, and edges among the sums."""
    model = train.model_of(layers, replace(SHORT, start=1.0))
    for norm in model.layers:
        if isinstance(norm, keras.layers.BatchNormalization):
            n = norm.gamma.shape[0]
            gamma = rng.normal(size=n) * (rng.random(n) > 0.2)
            norm.set_weights([gamma, rng.normal(size=n), rng.normal(0, 4, n), rng.uniform(1, 50, n)])
    return model


@pytest.mark.parametrize("seed", range(12))
def test_the_export_of_a_random_model_is_the_model(seed: int) -> None:
    print("seed", seed)
    rng = np.random.default_rng(seed)
    layers = random_layers(rng)
    model = random_model(layers, rng)
    network = train.export(model)
    x = random_images(network, 40, rng)
    train.check(model, network, x)
    outputs = model.predict(x.astype(np.float32), verbose=0)
    assert np.array_equal(outputs.argmax(1), network(x).argmax(1))
    assert np.array_equal(model(x.astype(np.float32)), outputs), "eager"
    scale = SHORT.factor * layers[-1].synapses ** -0.5
    assert np.allclose(outputs, network(x) * scale, rtol=1e-6)


def test_the_check_finds_one_wrong_weight_and_one_wrong_threshold() -> None:
    rng = np.random.default_rng(5)
    layers = LAYERS["digits_small"]
    model = random_model(layers, rng)
    right = train.export(model)
    x = random_images(right, 10, rng)
    train.check(model, right, x)
    weights = [w.copy() for w in right.weights]
    weights[2][3, 1, 1, 5] ^= 1
    with pytest.raises(ArithmeticError, match="conv3: sums in Keras"):
        train.check(model, Network(layers, tuple(weights), right.thresholds), x)
    thresholds = [None if t is None else t.copy() for t in right.thresholds]
    thresholds[1] += 2
    with pytest.raises(ArithmeticError, match="conv3: sums in Keras"):
        train.check(model, Network(layers, right.weights, tuple(thresholds)), x)


def test_a_short_training_learns_and_is_exact_on_every_test_image() -> None:
    parts = digits.load()
    model, epoch = train.fit(LAYERS["digits"], parts.train, parts.validation, replace(SHORT, epochs=4))
    assert 1 <= epoch <= 4
    network = train.export(model)
    train.check(model, network, parts.test.pixels)
    decisions = model.predict(parts.test.pixels.astype(np.float32), verbose=0).argmax(1)
    assert np.array_equal(decisions, network(parts.test.pixels).argmax(1))
    assert train.accuracy_of(network, parts.validation) > 0.5


def test_the_weights_of_the_best_epoch_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []

    class First(train.Best):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if epoch == 0:
                self.epoch, self.kept = 1, self.model.get_weights()
                kept.extend(self.kept)

    monkeypatch.setattr(train, "Best", First)
    parts = digits.load()
    model, epoch = train.fit(LAYERS["digits_small"], parts.train, parts.validation, SHORT)
    assert epoch == 1
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), kept, strict=True))


def test_training_never_sees_the_test_images(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parts = digits.load()
    none = Images(parts.test.pixels[:0], parts.test.labels[:0])
    monkeypatch.setattr(train, "parts_of", lambda _: replace(parts, test=none))
    record = train.train("digits_small", SHORT, tmp_path / "digits_small.npz")
    loaded = parameters.read(tmp_path / "digits_small.npz", "digits_small")
    assert loaded.training == record
    assert record["recipe"]["epochs"] == 2
    assert record["validation_accuracy"] == round(train.accuracy_of(loaded.network, parts.validation), 5)
    assert record["images"] == {"train": 1147, "validation": 200, "test": 0}


@pytest.fixture
def few_cifar_images(monkeypatch: pytest.MonkeyPatch) -> Iterator[NDArray[np.uint8]]:
    """CIFAR-10 with 12 random training images, 4 of them for validation, and 2 for the test."""
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 256, (14, 32, 32, 3), np.uint8), rng.integers(0, 10, (14, 1), np.uint8)
    x[0, 0, 0], x[0, 0, 1] = 0, 255
    monkeypatch.setattr(keras.datasets.cifar10, "load_data", lambda: ((x[:12], y[:12]), (x[12:], y[12:])))
    monkeypatch.setattr(cifar, "VALIDATION", 4)
    cifar.load.cache_clear()
    yield x
    cifar.load.cache_clear()


def test_cifar_pixels_are_their_upper_bits(few_cifar_images: NDArray[np.uint8]) -> None:
    for bits in (6, 8):
        parts = cifar.load(bits)
        assert [len(p) for p in (parts.train, parts.validation, parts.test)] == [8, 4, 2]
        high = 2 ** (bits - 1)
        assert parts.train.pixels[0, 0, :2].tolist() == [[-high] * 3, [high - 1] * 3]
        middle = few_cifar_images[8:12] // 2 ** (8 - bits)
        assert np.array_equal(parts.validation.pixels.astype(int) + high, middle)
        assert parts.test.labels.shape == (2,)


@pytest.mark.parametrize("case", ["cnv", "binarynet"])
@pytest.mark.usefixtures("few_cifar_images")
def test_a_cifar_case_trains_and_exports_exactly(case: str, tmp_path: Path) -> None:
    recipe = replace(train.RECIPES[case], epochs=1, batch=4)
    record = train.train(case, recipe, tmp_path / f"{case}.npz")
    assert record["recipe"]["loss"] == "squared hinge"
    assert parameters.read(tmp_path / f"{case}.npz", case).trained


def test_an_offline_machine_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> Any:
        raise Exception("URL fetch failure on https://somewhere: None")

    monkeypatch.setattr(keras.datasets.cifar10, "load_data", fail)
    monkeypatch.setattr(sys, "argv", ["train", "cnv"])
    cifar.load.cache_clear()
    with pytest.raises(ImagesError, match="CIFAR-10 is not on this machine and could not be downloaded"):
        cifar.load(8)
    with pytest.raises(SystemExit, match="error: CIFAR-10 is not on this machine"):
        train.main()
    monkeypatch.setattr(sys, "argv", ["train", "nope"])
    with pytest.raises(SystemExit):
        train.main()
    assert "invalid choice: 'nope'" in capsys.readouterr().err


def test_a_missing_keras_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keras", None)
    with pytest.raises(ImagesError, match=r"pip install 'gatewarp\[hls\]'"):
        cifar.load.__wrapped__(8)


def test_the_sign_and_its_gradient() -> None:
    x = tf.constant([-2.0, -1.0, -1e-30, 0.0, 0.5, 1.0, 1.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = train.sign(x)
    assert y.numpy().tolist() == [-1, -1, -1, 1, 1, 1, 1]
    assert tape.gradient(y, x).numpy().tolist() == [0, 1, 1, 1, 1, 1, 0]


def test_the_squared_hinge_by_hand() -> None:
    loss = train.squared_hinge(np.array([[1], [0]]), tf.constant([[-1.0, 0.5], [-0.5, -2.0]]))
    assert loss.numpy().tolist() == [(0 + 0.25) / 2, (2.25 + 0) / 2]


def test_an_epoch_has_every_image_once_and_the_next_another_order() -> None:
    pixels = np.arange(40, dtype=np.int8).reshape(10, 2, 2, 1)
    batches = train.Batches(Images(pixels, np.arange(10)), replace(SHORT, batch=5, shift=0))
    orders = []
    for _ in range(2):
        got = [batches[i] for i in range(len(batches))]
        labels = np.concatenate([y for _, y in got])
        assert np.array_equal(np.concatenate([x for x, _ in got]), pixels[labels])
        orders.append(labels.tolist())
        batches.on_epoch_end()
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(10))
    assert orders[0] != orders[1]
    mirrored = train.Batches(Images(pixels, np.arange(10)), replace(SHORT, batch=10, shift=0, mirror=True))
    x, y = mirrored[0]
    flipped = (x == pixels[y][:, :, ::-1]).all((1, 2, 3))
    assert 0 < flipped.sum() < 10
    assert ((x == pixels[y]).all((1, 2, 3)) | flipped).all()


def test_moved_images_are_the_image_behind_a_window() -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(-8, 9, (1, 5, 5, 1), np.int8)
    seen = {train.moved(image, 1, rng).tobytes() for _ in range(200)}
    frame = np.pad(image[0, :, :, 0], 1, mode="edge")
    assert seen == {frame[y : y + 5, x : x + 5].tobytes() for y in range(3) for x in range(3)}


def test_the_best_epoch_has_the_highest_accuracy_then_the_lowest_loss() -> None:
    class Fake:
        def __init__(self) -> None:
            self.epoch = 0

        def get_weights(self) -> list[int]:
            return [self.epoch]

    best, fake = train.Best(), Fake()
    best.set_model(fake)
    for fake.epoch, (accuracy, loss) in enumerate([(0.5, 1.0), (0.8, 0.9), (0.8, 0.7), (0.8, 0.8), (0.7, 0.1)]):
        best.on_epoch_end(fake.epoch, {"val_accuracy": accuracy, "val_loss": loss})
    assert (best.epoch, best.kept) == (3, [2])
