"""Training: TensorFlow's generator is the oracle's, a seed gives one result, and a short game moves towards digits."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from workloads.bcnn import digits
from workloads.deconv import WORKLOAD, parameters, quality, train
from workloads.deconv.layer import Activation, Layer
from workloads.deconv.network import Network

SHORT = train.Recipe(steps=80, batch=32, critic_steps=1, rate=2e-3, critic_rate=2e-3, average=0.9, hidden=64)


@pytest.mark.parametrize("last", ["tanh", "sigmoid", "linear", "clip"])
def test_the_generator_is_the_oracle(last: Activation) -> None:
    layers = (
        Layer("a", (1, 2), 6, 5, 3, activation=last),
        Layer("b", (3, 4), 5, 4, 5, 3, 2, 1),
        Layer("c", (8, 11), 4, 2, 4, 2, 3, activation=last),
    )
    rng = np.random.default_rng(4)
    weights = tuple(rng.normal(0, 0.3, la.weight_shape).astype(np.float32) for la in layers)
    network = Network(layers, weights, tuple(rng.normal(0, 0.3, la.channels_out).astype(np.float32) for la in layers))
    generator = train.Generator(layers, network)
    x = (rng.integers(-128, 128, (3, *network.input_shape)) / 128).astype(np.float32)
    assert np.abs(generator(tf.constant(x)).numpy() - network(x)).max() < 1e-5
    exported = generator.export()
    pairs = zip(exported.weights + exported.biases, network.weights + network.biases, strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)


def test_a_batch_of_numbers_is_like_the_inputs() -> None:
    game = train.Game(np.zeros((4, 8, 8, 1), np.float32), replace(SHORT, batch=500))
    numbers = game.numbers().numpy()
    assert numbers.shape == (500, 1, 1, 32)
    assert np.array_equal(numbers * 128, np.round(numbers * 128))
    assert (numbers.min(), numbers.max()) == (-1, 127 / 128)


def test_the_penalty_keeps_the_critic_s_slope_near_one() -> None:
    real = (digits.load().train.pixels / 8).astype(np.float32)
    game = train.Game(real, replace(SHORT, penalty=10.0))
    for _ in range(60):
        game.round()
    images = tf.constant(real[:100])
    with tf.GradientTape() as tape:
        tape.watch(images)
        score = game.critic(images)
    slope = np.sqrt((tape.gradient(score, images).numpy() ** 2).sum((1, 2, 3)))
    assert 0.5 < np.median(slope) < 1.5


def test_a_short_game_comes_closer_to_digits_and_a_seed_repeats_it(tmp_path: Path) -> None:
    record = train.train(SHORT, tmp_path / "one.npz")
    assert (record["recipe"]["seed"], record["images"]) == (1, 1147)
    one = parameters.read(tmp_path / "one.npz", "digits")
    assert one.training == record
    train.train(SHORT, tmp_path / "two.npz")
    two = parameters.read(tmp_path / "two.npz", "digits")
    for a, b in zip(one.network.weights, two.network.weights, strict=True):
        assert np.array_equal(a, b)
    x = WORKLOAD.inputs("digits", 200, 3)
    before, after = (quality.to_digits(n(x)) for n in (parameters.seeded("digits", 1), one.network))
    assert after < before / 2


def test_the_command_repeats_the_recipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert train.command(train.Recipe()) == "python -m workloads.deconv.train"
    recipe = replace(train.Recipe(), steps=3, critic_rate=2e-4, seed=7)
    command = train.command(recipe)
    assert command == "python -m workloads.deconv.train --steps 3 --critic-rate 0.0002 --seed 7"
    seen: list[tuple[train.Recipe, Path]] = []

    def note(chosen: train.Recipe, path: Path) -> dict[str, int]:
        seen.append((chosen, path))
        return {}

    monkeypatch.setattr(train, "train", note)
    monkeypatch.setattr(sys, "argv", [*command.split()[2:], "--out", str(tmp_path / "x.npz")])
    train.main()
    assert seen == [(recipe, tmp_path / "x.npz")]
