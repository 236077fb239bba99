"""Train the generator of `digits` as a Wasserstein GAN, write `parameters/digits.npz`.

    python -m workloads.deconv.train
    python -m workloads.deconv.train --steps 2000 --seed 7 --out digits.npz

Some twenty minutes on two cores. Needs `gatewarp[hls,data]`.

The critic is a perceptron that estimates the Wasserstein distance between real and generated digits, kept 1-Lipschitz
by a penalty on its gradient between the two (WGAN-GP, arXiv 1704.00028); the generator lowers that estimate. What is
written is a moving average of the generator's parameters over its last steps, which such a game needs to stand still.
Numbers enter as they do in use, multiples of 1/128 in [-1, 1). Test images play no part.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from rich.console import Console

from compare.provenance import host
from workloads.bcnn import digits
from workloads.deconv import parameters
from workloads.deconv.cases import LAYERS
from workloads.deconv.layer import Layer
from workloads.deconv.network import Network

CASE = "digits"

console = Console(stderr=True)


@dataclass(frozen=True)
class Recipe:
    """How the generator is trained.

    `steps` of the generator, each after `critic_steps` of the critic, on `batch` images. Adam's rates fall linearly
    to a tenth. `penalty` weighs the gradient penalty, `average` is the share of the moving average that a step
    keeps, `hidden` the width of the critic's three layers.
    """

    steps: int = 30_000
    batch: int = 64
    critic_steps: int = 4
    rate: float = 5e-4
    critic_rate: float = 5e-4
    penalty: float = 1.0
    average: float = 0.999
    hidden: int = 256
    seed: int = 1


class Generator(tf.Module):
    """The layers in TensorFlow, parameters in the layout of the oracle; two dimensions only."""

    def __init__(self, layers: Sequence[Layer], start: Network) -> None:
        super().__init__()
        self.layers = tuple(layers)
        self.weights = [tf.Variable(weight) for weight in start.weights]
        self.biases = [tf.Variable(bias) for bias in start.biases]

    def __call__(self, numbers: tf.Tensor) -> tf.Tensor:
        """Inputs (n, sides..., channels) to images (n, rows, columns, channels)."""
        x = numbers
        for layer, weight, bias in zip(self.layers, self.weights, self.biases, strict=True):
            x = _activate(layer, _transposed(layer, x, weight) + bias)
        return x

    def export(self) -> Network:
        """As the oracle's network."""
        return Network(self.layers, tuple(w.numpy() for w in self.weights), tuple(b.numpy() for b in self.biases))


def _transposed(layer: Layer, x: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
    full = [(side - 1) * layer.stride + layer.kernel + layer.extra for side in layer.shape]
    kernel = tf.transpose(weight, (1, 2, 3, 0))
    n = tf.shape(x)[0]
    sums = tf.nn.conv2d_transpose(x, kernel, (n, *full, layer.channels_out), layer.stride, "VALID")
    rows, columns = (slice(layer.padding, layer.padding + side) for side in layer.shape_out)
    return sums[:, rows, columns]


def _activate(layer: Layer, sums: tf.Tensor) -> tf.Tensor:
    activations = {"clip": lambda s: tf.clip_by_value(s, 0.0, 1.0), "tanh": tf.tanh, "sigmoid": tf.sigmoid}
    return activations[layer.activation](sums) if layer.activation in activations else sums


class Critic(tf.Module):
    """A perceptron from an image to one number; its difference between two sets is their estimated distance."""

    def __init__(self, inputs: int, hidden: int, rng: np.random.Generator) -> None:
        super().__init__()
        widths = (inputs, hidden, hidden, hidden, 1)
        self.weights = [
            tf.Variable(rng.normal(0, np.sqrt(2 / a), (a, b)).astype(np.float32)) for a, b in itertools.pairwise(widths)
        ]
        self.biases = [tf.Variable(np.zeros(b, np.float32)) for b in widths[1:]]

    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        """Images (n, ...) to (n, 1)."""
        x = tf.reshape(images, (tf.shape(images)[0], -1))
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = tf.nn.leaky_relu(x @ weight + bias, 0.2)
        return x @ self.weights[-1] + self.biases[-1]


class Game:
    """Generator against critic; `step` plays one round and returns the critic's estimate of the distance."""

    def __init__(self, real: NDArray[np.float32], recipe: Recipe) -> None:
        self.recipe = recipe
        rng = np.random.default_rng(recipe.seed)
        tf.random.set_seed(recipe.seed)
        start = parameters.seeded(CASE, recipe.seed)
        self.generator, self.average = (Generator(LAYERS[CASE], start) for _ in range(2))
        self.critic = Critic(real[0].size, recipe.hidden, rng)
        self.real = tf.constant(real)
        self.shape = self.generator.layers[0].shape, self.generator.layers[0].channels_in

        def adam(rate: float, steps: int) -> Any:
            falling = tf.keras.optimizers.schedules.PolynomialDecay(rate, steps, rate / 10)
            return tf.keras.optimizers.Adam(falling, beta_1=0.0, beta_2=0.9)

        self.up = adam(recipe.rate, recipe.steps)
        self.down = adam(recipe.critic_rate, recipe.steps * recipe.critic_steps)
        self.up.build(self.generator.trainable_variables)
        self.down.build(self.critic.trainable_variables)
        self.round = tf.function(self._round)

    def numbers(self) -> tf.Tensor:
        """A batch of inputs."""
        (shape, channels), n = self.shape, self.recipe.batch
        return tf.cast(tf.random.uniform((n, *shape, channels), -128, 128, tf.int32), tf.float32) / 128

    def _round(self) -> tf.Tensor:
        distance = tf.constant(0.0)
        for _ in range(self.recipe.critic_steps):
            distance = self._criticise()
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(self.critic(self.generator(self.numbers())))
        variables = self.generator.trainable_variables
        self.up.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        keep = self.recipe.average
        for mean, now in zip(self.average.trainable_variables, variables, strict=True):
            mean.assign(keep * mean + (1 - keep) * now)
        return distance

    def _criticise(self) -> tf.Tensor:
        n = self.recipe.batch
        real = tf.gather(self.real, tf.random.uniform((n,), 0, len(self.real), tf.int32))
        made = self.generator(self.numbers())
        part = tf.random.uniform((n, 1, 1, 1))
        between = real + part * (made - real)
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(between)
                score = self.critic(between)
            slope = tf.sqrt(tf.reduce_sum(inner.gradient(score, between) ** 2, (1, 2, 3)) + 1e-12)
            distance = tf.reduce_mean(self.critic(real)) - tf.reduce_mean(self.critic(made))
            loss = self.recipe.penalty * tf.reduce_mean((slope - 1) ** 2) - distance
        variables = self.critic.trainable_variables
        self.down.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return distance


def play(recipe: Recipe) -> tuple[Network, float]:
    """Train; return the averaged generator, and the estimated distance averaged over the last tenth of the steps."""
    pixels = digits.load().train.pixels
    game = Game((pixels / digits.MIDDLE).astype(np.float32), recipe)
    distances: list[float] = []
    with console.status("training") as status:
        for step in range(1, recipe.steps + 1):
            distances.append(float(game.round()))
            if step % 50 == 0:
                status.update(f"step {step}/{recipe.steps}, estimated distance {np.mean(distances[-50:]):.3f}")
    return game.average.export(), float(np.mean(distances[-max(1, recipe.steps // 10) :]))


def command(recipe: Recipe) -> str:
    """The command line that trains by a recipe."""
    changed = (f for f in fields(Recipe) if getattr(recipe, f.name) != f.default)
    return " ".join(
        ("python -m workloads.deconv.train", *(f"{_option(f.name)} {getattr(recipe, f.name)}" for f in changed))
    )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def train(recipe: Recipe, path: Path) -> dict[str, Any]:
    """Train and write the file; return the record of the training."""
    began = time.monotonic()
    network, distance = play(recipe)
    record = {
        "command": command(recipe),
        "date": time.strftime("%Y-%m-%d"),
        "host": host(),
        "seconds": round(time.monotonic() - began),
        "recipe": asdict(recipe),
        "images": len(digits.load().train),
        "estimated_distance": round(distance, 4),
        "tools": {name: version(name) for name in ("tensorflow-cpu", "numpy", "scikit-learn")},
    }
    parameters.write(path, network, record)
    return record


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Recipe):
        parser.add_argument(
            _option(field.name),
            type=type(field.default),
            default=field.default,
            help="default %(default)s",
        )
    parser.add_argument("--out", type=Path, default=parameters.path_of(CASE), help="default %(default)s")
    chosen = vars(parser.parse_args())
    path = chosen.pop("out")
    console.print_json(data=train(replace(Recipe(), **chosen), path))


if __name__ == "__main__":
    main()
