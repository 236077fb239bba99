"""Train a case in Keras, fold it into integers, write `parameters/<case>.npz`.

    python -m workloads.bcnn.train digits

Minutes for the digits on two cores; days for CIFAR-10, which wants a GPU and a network to download it. Needs
`gatewarp[hls,data]`.

Signs of weights and activations have straight-through estimators: the gradient passes where the argument lies within
[-1, 1], where latent weights are kept (BinaryNet, arXiv 1602.02830). Pooling comes before the normalisation, on the
sums. The last layer has no normalisation, for the hardware returns its sums: one fixed factor brings them to the
range of the loss and changes no decision. The epoch kept is the best on validation images; test images play no part.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from rich.console import Console

from compare.provenance import host
from workloads.bcnn import parameters, parts_of
from workloads.bcnn.cases import LAYERS
from workloads.bcnn.export import Normalise, fold
from workloads.bcnn.images import Images, ImagesError
from workloads.bcnn.network import Layer, Network, layer_sums

#: A moving average of batch statistics that follows within tens of steps: weights flip their signs until the end.
MOMENTUM = 0.9

console = Console(stderr=True)


@dataclass(frozen=True)
class Recipe:
    """How a case is trained. The rate of Adam falls geometrically from `rate` to `last_rate`.

    `loss` is "cross-entropy" of the softmax, or "squared hinge". An image is moved by up to `shift` pixels each way,
    and mirrored every other time with `mirror`. `factor` times the sums over the square root of their synapses is
    what the loss sees. Latent weights start uniformly within `start`.
    """

    epochs: int
    batch: int
    rate: float
    last_rate: float
    loss: str
    shift: int
    mirror: bool
    factor: float
    start: float
    seed: int


#: CIFAR-10 as in BinaryNet, which had no augmentation: 500 epochs, squared hinge, Adam from 1e-3 to 3e-7.
CIFAR = Recipe(500, 50, 1e-3, 3e-7, "squared hinge", 4, True, 1.0, 0.1, 1)
RECIPES: Mapping[str, Recipe] = {
    "binarynet": CIFAR,
    "cnv": CIFAR,
    "digits": Recipe(250, 64, 1e-2, 1e-4, "cross-entropy", 1, False, 1.0, 0.1, 1),
    "digits_small": Recipe(600, 64, 1e-2, 1e-4, "cross-entropy", 1, False, 1.0, 0.1, 1),
}


@tf.custom_gradient
def sign(x: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    """+1 where `x` >= 0, else -1, exactly; the gradient passes where |x| <= 1."""
    return tf.where(x >= 0, 1.0, -1.0), lambda upstream: tf.where(tf.abs(x) <= 1, upstream, 0.0)


class Sums(keras.layers.Layer):
    """Integer sums of one layer, before pooling: a convolution or a product with the signs of latent weights."""

    def __init__(self, spec: Layer, start: float) -> None:
        super().__init__(name=spec.name)
        self.spec, self.start = spec, start

    def build(self, input_shape: Any) -> None:
        """Make the latent weights, (row, column, in, out) of a convolution, (in, out) of a dense layer."""
        spec = self.spec
        shape = (spec.kernel, spec.kernel) if spec.kind == "conv" else ()
        self.kernel = self.add_weight(
            name="kernel",
            shape=(*shape, spec.channels_in, spec.channels_out),
            initializer=keras.initializers.RandomUniform(-self.start, self.start),
            constraint=lambda w: keras.ops.clip(w, -1.0, 1.0),
        )

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """Sums of inputs +1, -1, or integers."""
        signs = sign(tf.convert_to_tensor(self.kernel))
        if self.spec.kind == "dense":
            return tf.matmul(tf.reshape(x, (-1, self.spec.channels_in)), signs)
        p = self.spec.padding
        return tf.nn.conv2d(tf.pad(x, ((0, 0), (p, p), (p, p), (0, 0))), signs, 1, "VALID")

    def latent(self) -> NDArray[np.float32]:
        """The latent weights in `weight_shape` of the layer."""
        return np.moveaxis(self.kernel.numpy(), -1, 0)


class Sign(keras.layers.Layer):
    """`sign` as a layer."""

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """Signs of x."""
        return sign(x)


def model_of(layers: Sequence[Layer], recipe: Recipe) -> keras.Model:
    """The network with latent weights; its output is what the loss sees."""
    first = layers[0]
    x = inputs = keras.Input((first.side, first.side, first.channels_in))
    for layer in layers:
        x = Sums(layer, recipe.start)(x)
        if layer.pool:
            x = keras.layers.MaxPooling2D(2)(x)
        if not layer.last:
            x = Sign()(keras.layers.BatchNormalization(momentum=MOMENTUM)(x))
    return keras.Model(inputs, x * (recipe.factor * layers[-1].synapses ** -0.5))


def export(model: keras.Model) -> Network:
    """The integer network of a model."""
    sums = [layer for layer in model.layers if isinstance(layer, Sums)]
    norms = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
    return fold([s.spec for s in sums], [s.latent() for s in sums], [_normalise(norm) for norm in norms])


def _normalise(norm: keras.layers.BatchNormalization) -> Normalise:
    def normalise(sums: NDArray[np.float32]) -> NDArray[np.float32]:
        shape = (len(sums), *(1 for _ in range(norm.input_spec.ndim - 2)), sums.shape[-1])
        values: NDArray[np.float32] = keras.ops.convert_to_numpy(norm(sums.reshape(shape), training=False))
        return values.reshape(sums.shape)

    return normalise


def check(model: keras.Model, network: Network, pixels: NDArray[np.int8]) -> None:
    """Errors: ArithmeticError naming the layer whose sums in Keras are not those of the integer network."""
    keras_sums = keras.Model(model.input, [layer.output for layer in model.layers if isinstance(layer, Sums)])
    for start in range(0, len(pixels), 50):
        chunk = pixels[start : start + 50]
        values = chunk.astype(np.float32)
        outputs = network.outputs(chunk)
        found = keras_sums.predict_on_batch(chunk.astype(np.float32))
        for layer, weight, sums in zip(network.layers, network.weights, found, strict=True):
            if not np.array_equal(layer_sums(layer, values, weight).reshape(sums.shape), sums):
                raise ArithmeticError(f"{layer.name}: sums in Keras are not those of the integer network")
            values = next(outputs).astype(np.float32) * 2 - 1


class Batches(keras.utils.PyDataset):
    """Training images in a new order every epoch, moved and mirrored at random."""

    def __init__(self, images: Images, recipe: Recipe) -> None:
        super().__init__()
        self.images, self.recipe = images, recipe
        self.rng = np.random.default_rng(recipe.seed)
        self.on_epoch_end()

    def __len__(self) -> int:
        return len(self.images) // self.recipe.batch

    def __getitem__(self, index: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        chosen = self.order[index * self.recipe.batch : (index + 1) * self.recipe.batch]
        pixels = moved(self.images.pixels[chosen], self.recipe.shift, self.rng)
        if self.recipe.mirror:
            flip = self.rng.random(len(pixels)) < 0.5
            pixels[flip] = pixels[flip, :, ::-1]
        return pixels.astype(np.float32), self.images.labels[chosen]

    def on_epoch_end(self) -> None:
        """Draw the order of the next epoch."""
        self.order = self.rng.permutation(len(self.images))


def moved(pixels: NDArray[np.int8], shift: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Each image moved by up to `shift` pixels in both directions, its edge repeated."""
    n, rows, columns, _ = pixels.shape
    padded = np.pad(pixels, ((0, 0), (shift, shift), (shift, shift), (0, 0)), mode="edge")
    y, x = rng.integers(0, 2 * shift + 1, (2, n, 1, 1))
    chosen: NDArray[np.int8] = padded[np.arange(n)[:, None, None], y + np.arange(rows)[:, None], x + np.arange(columns)]
    return chosen


class Best(keras.callbacks.Callback):
    """Keeps the weights of the epoch with the highest accuracy on validation images, of those the lowest loss."""

    def __init__(self) -> None:
        super().__init__()
        self.rank, self.epoch = (-1.0, 0.0), 0
        self.kept: list[NDArray[np.float32]] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Compare and keep."""
        rank = (logs["val_accuracy"], -logs["val_loss"])
        if rank > self.rank:
            self.rank, self.epoch, self.kept = rank, epoch + 1, self.model.get_weights()


def squared_hinge(labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """Mean over classes of max(0, 1 - t y)^2, with t +1 for the right class and -1 for the others."""
    targets = tf.one_hot(tf.reshape(tf.cast(labels, tf.int32), (-1,)), outputs.shape[-1], 1.0, -1.0)
    return tf.reduce_mean(tf.square(tf.nn.relu(1.0 - targets * outputs)), -1)


def fit(layers: Sequence[Layer], train: Images, validation: Images, recipe: Recipe) -> tuple[keras.Model, int]:
    """Train; return the model with the weights of the best epoch, and that epoch's number."""
    keras.utils.set_random_seed(recipe.seed)
    model, batches, best = model_of(layers, recipe), Batches(train, recipe), Best()
    fall = (recipe.last_rate / recipe.rate) ** (1 / (recipe.epochs * len(batches)))
    schedule = keras.optimizers.schedules.ExponentialDecay(recipe.rate, 1, fall)
    loss = squared_hinge if recipe.loss == "squared hinge" else keras.losses.SparseCategoricalCrossentropy(True)
    accuracy = keras.metrics.SparseCategoricalAccuracy("accuracy")
    model.compile(keras.optimizers.Adam(schedule), loss, metrics=[accuracy])
    with console.status("training") as status:

        def tell(epoch: int, logs: Any) -> None:
            status.update(f"epoch {epoch + 1}/{recipe.epochs}, validation accuracy {logs['val_accuracy']:.4f}")

        model.fit(
            batches,
            epochs=recipe.epochs,
            validation_data=(validation.pixels.astype(np.float32), validation.labels),
            validation_batch_size=200,
            callbacks=[best, keras.callbacks.LambdaCallback(on_epoch_end=tell)],
            verbose=0,
        )
    model.set_weights(best.kept)
    return model, best.epoch


def accuracy_of(network: Network, images: Images) -> float:
    """Share of the images whose largest sum is that of their class; the lower class wins a tie."""
    return float((network(images.pixels).argmax(1) == images.labels).mean())


def train(case: str, recipe: Recipe, path: Path) -> dict[str, Any]:
    """Train a case and write its file; return the record of the training."""
    began = time.monotonic()
    parts = parts_of(case)
    model, epoch = fit(LAYERS[case], parts.train, parts.validation, recipe)
    network = export(model)
    check(model, network, parts.validation.pixels)
    record = {
        "command": f"python -m workloads.bcnn.train {case}",
        "date": time.strftime("%Y-%m-%d"),
        "host": host(),
        "seconds": round(time.monotonic() - began),
        "recipe": asdict(recipe),
        "epoch": epoch,
        "images": {name: len(getattr(parts, name)) for name in ("train", "validation", "test")},
        "validation_accuracy": round(accuracy_of(network, parts.validation), 5),
        "tools": {name: version(name) for name in ("tensorflow-cpu", "keras", "numpy")},
    }
    parameters.write(path, network, record)
    return record


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=tuple(RECIPES))
    case = parser.parse_args().case
    try:
        console.print_json(data=train(case, RECIPES[case], parameters.path_of(case)))
    except ImagesError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
