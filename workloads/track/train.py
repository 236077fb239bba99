"""Train a case: metric learning in Keras, then quantisation-aware training with HGQ2.

    python -m workloads.track.train --case embed

Minutes on two cores. Writes `parameters/<case>.json` (both networks, the radius, the record of the training) and
`parameters/<case>.keras` (the HGQ2 model, from which hardware is generated). Needs `gatewarp[hls]`.

The loss pulls the hits of a true edge together and pushes those of a false one to at least MARGIN:
sum over true edges of d^2, plus NEGATIVE_WEIGHT times the sum over false edges of max(0, MARGIN - d)^2, both over the
number of true edges, with d the Euclidean distance in the embedding (contrastive loss of Hadsell, Chopra and LeCun,
CVPR 2006). False edges closer than MARGIN are mined afresh at every step; the others have no gradient anyway.
HGQ2 adds beta times its count of effective bit operations (EBOPs), and beta rises during training.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from hgq.config import LayerConfigScope, QuantizerConfig, QuantizerConfigScope
from hgq.constraints import MinMax
from hgq.layers import QDense
from hgq.utils import trace_minmax
from numpy.typing import NDArray
from rich.console import Console

from compare.provenance import host
from workloads.track import INPUT_FORMAT, TUNE_EVENTS, parameters, tuning_events
from workloads.track.events import candidate_pairs, features, generate, is_true
from workloads.track.export import fixed_network, float_network
from workloads.track.quality import Quality, edge_quality, pair_distances, radius_for_efficiency

SEED = 1
TRAIN_EVENTS = 200
MARGIN = 1.0
NEGATIVE_WEIGHT = 0.1
#: At most this many false edges of one event enter a step.
MAX_NEGATIVES = 20_000
LEARNING_RATE = 3e-3
FLOAT_STEPS, FIXED_STEPS = 3_000, 9_000
#: Weight of an effective bit operation at the end of the ramp, and the ramp's length as a share of the steps.
BETA = {"embed": 4e-6, "compact": 4e-6}
BETA_RAMP, BETA_START = 0.6, 0.03
#: The radius is where the float network finds this share of the true edges of the tuning events.
WORKING_EFFICIENCY = 0.98
#: Fractional bits of the four outputs: an LSB far below the radius.
OUTPUT_FRACTION = 6

Pairs = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]

console = Console(stderr=True)


def training_pairs() -> list[Pairs]:
    """Features, true pairs and false pairs of each training event."""
    result = []
    for seed in range(TRAIN_EVENTS):
        event = generate(seed)
        pairs = candidate_pairs(event)
        truth = is_true(event, pairs)
        result.append((features(event), pairs[truth], pairs[~truth]))
    return result


def float_model(widths: tuple[int, ...]) -> keras.Model:
    """ReLU layers and a linear last one."""
    x = inputs = keras.Input((widths[0],))
    for n in widths[1:-1]:
        x = keras.layers.Dense(n, activation="relu")(x)
    return keras.Model(inputs, keras.layers.Dense(widths[-1])(x))


def quantised_model(widths: tuple[int, ...], start: keras.Model) -> keras.Model:
    """The same network with a learned width for each weight and activation, starting at a float model's weights."""
    weights = QuantizerConfigScope(q_type="kbi", place="weight", b0=5, overflow_mode="SAT_SYM", round_mode="RND")
    values = QuantizerConfigScope(
        q_type="kif", place="datalane", i0=2, f0=5, overflow_mode="WRAP", round_mode="RND", fc=MinMax(-4, 7)
    )
    fixed = {"trainable": False, "overflow_mode": "WRAP"}
    pins = QuantizerConfig("kif", "datalane", k0=1, i0=0, f0=11, **fixed)
    out = QuantizerConfig("kif", "datalane", k0=1, i0=3, f0=OUTPUT_FRACTION, **fixed)
    with weights, values, LayerConfigScope(beta0=1e-8, enable_ebops=True):
        x = inputs = keras.Input((widths[0],))
        for i, n in enumerate(widths[1:]):
            last = i == len(widths) - 2
            options: dict[str, Any] = {"iq_conf": pins} if i == 0 else {}
            if last:
                options |= {"enable_oq": True, "oq_conf": out}
            x = QDense(n, activation=None if last else "relu", **options)(x)
    model = keras.Model(inputs, x)
    for old, new in zip(_dense(start), _dense(model), strict=True):
        new._kernel.assign(old.kernel)
        new.bias.assign(old.bias)
    return model


def _dense(model: keras.Model) -> list[Any]:
    return [layer for layer in model.layers if layer.weights]


def ebops(model: keras.Model) -> float:
    """Effective bit operations of the model: HGQ2's proxy for its size in hardware."""
    return float(sum(float(layer.ebops) for layer in _dense(model)))


def fit(model: keras.Model, data: list[Pairs], steps: int, beta: Callable[[float], float] | None = None) -> None:
    """Train in place, one event a step."""
    schedule = keras.optimizers.schedules.CosineDecay(LEARNING_RATE, steps, alpha=0.02)
    optimiser = keras.optimizers.Adam(schedule)
    forward = tf.function(lambda x: model(x), input_signature=[tf.TensorSpec((None, model.input_shape[1]))])
    pairs_spec = tf.TensorSpec((None, 2), tf.int64)

    @tf.function(input_signature=[tf.TensorSpec((None, model.input_shape[1])), pairs_spec, pairs_spec])
    def step(hits: tf.Tensor, true: tf.Tensor, false: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            points = model(hits, training=True)

            def squared(pairs: tf.Tensor) -> tf.Tensor:
                return tf.reduce_sum((tf.gather(points, pairs[:, 0]) - tf.gather(points, pairs[:, 1])) ** 2, 1)

            pull = tf.reduce_sum(squared(true))
            push = tf.reduce_sum(tf.maximum(0.0, MARGIN - tf.sqrt(squared(false) + 1e-9)) ** 2)
            loss = (pull + NEGATIVE_WEIGHT * push) / tf.cast(tf.shape(true)[0], tf.float32)
            total = loss + (tf.add_n(model.losses) if model.losses else 0.0)
        variables = model.trainable_variables
        optimiser.apply_gradients(zip(tape.gradient(total, variables), variables, strict=True))
        return loss

    rng = np.random.default_rng(SEED)
    with console.status("training") as status:
        for i in range(steps):
            if beta is not None and i % 50 == 0:
                for layer in _dense(model):
                    layer._beta.assign(beta(i / steps))
            hits, true, false = data[rng.integers(len(data))]
            near = false[pair_distances(forward(hits).numpy(), false) < MARGIN]
            if len(near) > MAX_NEGATIVES:
                near = near[rng.choice(len(near), MAX_NEGATIVES, replace=False)]
            loss = step(hits, true, near)
            if i % 100 == 0:
                size = f", {ebops(model):.0f} EBOPs" if beta else ""
                status.update(f"step {i}/{steps}, loss {float(loss):.4f}{size}")


def beta_ramp(case: str) -> Callable[[float], float]:
    """Rise geometrically to BETA[case] over the first BETA_RAMP of the steps, then stay."""
    return lambda t: BETA[case] * BETA_START ** (1 - min(1.0, t / BETA_RAMP))


def calibrate(model: keras.Model, data: list[Pairs]) -> None:
    """Set the integer bits of every activation so that no training hit and no point of the input box overflows."""
    box = np.random.default_rng(SEED).uniform(-1.0, 1.0, (200_000, model.input_shape[1])).astype(np.float32)
    trace_minmax(model, np.concatenate([box, *(hits for hits, _, _ in data)]), batch_size=16_384)


def train(case: str) -> dict[str, Any]:
    """Train one case and write its files; return the record of the training."""
    keras.utils.set_random_seed(SEED)
    began = time.monotonic()
    widths = parameters.WIDTHS[case]
    data = training_pairs()
    plain = float_model(widths)
    fit(plain, data, FLOAT_STEPS)
    model = quantised_model(widths, plain)
    fit(model, data, FIXED_STEPS, beta_ramp(case))
    calibrate(model, data)

    in_float, in_fixed = float_network(plain), fixed_network(model, INPUT_FORMAT)
    tune = tuning_events()
    radius = round(radius_for_efficiency(in_float, tune, WORKING_EFFICIENCY), 4)

    def on_tuning_events(network: Callable[[Any], Any]) -> dict[str, float]:
        q: Quality = edge_quality(network, tune, radius)
        return {"efficiency": round(q.efficiency, 5), "purity": round(q.purity, 5)}

    record = {
        "command": f"python -m workloads.track.train --case {case}",
        "date": time.strftime("%Y-%m-%d"),
        "host": host(),
        "seconds": round(time.monotonic() - began),
        "seed": SEED,
        "events": TRAIN_EVENTS,
        "steps": {"float": FLOAT_STEPS, "fixed": FIXED_STEPS},
        "beta": BETA[case],
        "ebops": ebops(model),
        "tuning_events": TUNE_EVENTS,
        "quality_on_tuning_events": {"float": on_tuning_events(in_float), "fixed": on_tuning_events(in_fixed)},
        "tools": {name: version(name) for name in ("tensorflow-cpu", "keras", "HGQ2", "numpy")},
    }
    parameters.FOLDER.mkdir(exist_ok=True)
    model.save(parameters.keras_path_of(case))
    parameters.save(case, in_float, in_fixed, radius, record)
    return record


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=parameters.TRAINED, required=True)
    console.print_json(data=train(parser.parse_args().case))


if __name__ == "__main__":
    main()
