"""Memory images: a network that reads nothing else gives what the oracle gives."""

from __future__ import annotations

from pathlib import Path

import folded_networks
import numpy as np
import pytest

from designs.bcnn import presets, weights
from designs.bcnn.folding import Folding
from workloads.bcnn import WORKLOAD
from workloads.bcnn.cases import LAYERS
from workloads.bcnn.network import Layer, Network
from workloads.bcnn.parameters import seeded


def agrees(network: Network, folding: Folding, images: np.ndarray, folder: Path) -> bool:
    weights.write(network, folding, folder)
    got = folded_networks.run(folding, images, folder, [weights.acc_bits(layer) for layer in network.layers])
    return np.array_equal(got, network(images))


@pytest.mark.parametrize("seed", range(20))
def test_random_networks(seed: int, tmp_path: Path) -> None:
    print("seed", seed)
    rng = np.random.default_rng(seed)
    layers = folded_networks.random_layers(rng)
    network, folding = seeded(layers, seed), folded_networks.random_folding(layers, rng)
    high = 2 ** (layers[0].input_bits - 1)
    images = rng.integers(-high, high, (5, *network.input_shape), np.int8)
    # Thresholds that no accumulator holds: always, and never.
    first = network.thresholds[0]
    if first is not None:
        first[0], first[-1] = -(2**30), 2**30
    assert agrees(network, folding, images, tmp_path)


@pytest.mark.parametrize("case", ["digits", "digits_small"])
def test_presets(case: str, tmp_path: Path) -> None:
    network = seeded(LAYERS[case], 1)
    assert agrees(network, presets.folding(case), WORKLOAD.inputs(case, 20, 1), tmp_path)


def test_a_wrong_order_is_noticed(tmp_path: Path) -> None:
    network, folding = seeded(LAYERS["digits"], 1), presets.folding("digits")
    images = WORKLOAD.inputs("digits", 5, 1)
    assert agrees(network, folding, images, tmp_path)
    for name in ("conv2.weights", "fc1.weights", "conv1.thresholds", "fc1.thresholds"):
        path = tmp_path / f"{name}.hex"
        text = path.read_text()
        path.write_text("\n".join(reversed(text.split())) + "\n")
        got = folded_networks.run(folding, images, tmp_path, [weights.acc_bits(layer) for layer in network.layers])
        assert not np.array_equal(got, network(images)), name
        path.write_text(text)


def test_hexadecimal() -> None:
    bits = np.array([[1, 0, 0, 0, 1], [0, 1, 1, 1, 0]], np.uint8)
    assert weights.hexadecimal(bits) == "11\n0e\n"
    assert weights.hexadecimal(np.ones((1, 3), np.uint8)) == "7\n"


def test_accumulators_hold_every_sum_and_the_threshold_above_all() -> None:
    assert weights.acc_bits(Layer("fc", "dense", 3, 1)) == 4, "-3 to 4"
    assert weights.acc_bits(Layer("fc", "dense", 6, 1)) == 4, "-6 to 7"
    assert weights.acc_bits(Layer("fc", "dense", 7, 1)) == 5, "-7 to 8"
    assert weights.acc_bits(Layer("conv", "conv", 3, 8, 32, 3, 1, input_bits=6)) == 11, "-864 to 865"
