"""The network in the hardware's terms is the oracle; dead neurons go and nothing changes."""

from __future__ import annotations

import numpy as np
import pytest
from track_networks import fixed_network, table_network

from designs.track.integers import Dense, layers_of, trimmed, with_tables
from workloads.track import WORKLOAD, parameters, quantise
from workloads.track.network import FixedNetwork, Ints
from workloads.track.quantise import TableNetwork


def through(layers: tuple[Dense, ...], x: Ints) -> Ints:
    for layer in layers:
        sums = x @ layer.weight
        for bits, values in ((layer.a_bits, x), (layer.acc_bits, sums), (layer.w_bits, layer.weight)):
            assert values.min() >= -(1 << (bits - 1))
            assert values.max() < 1 << (bits - 1)
        y = (sums << layer.left) + layer.offset
        assert np.abs(y).max() <= 1 << (layer.sum_bits - 1)
        x = layer.evaluate(x)
    return x


def inputs(network: FixedNetwork | TableNetwork, rng: np.random.Generator, n: int) -> Ints:
    x = rng.integers(-2048, 2048, (n, network.widths[0]))
    x[:2] = [[-2048], [2047]]
    return x


@pytest.mark.parametrize("seed", range(40))
def test_random_networks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    make = (fixed_network, table_network)[seed % 4 == 3]
    network = make(rng, tuple(rng.integers(1, 9, int(rng.integers(2, 5)))))
    x = inputs(network, rng, 300)
    for multiple in (1, 3):
        assert np.array_equal(through(layers_of(network, multiple=multiple), x), network.evaluate(x)), seed


@pytest.mark.parametrize("case", WORKLOAD.cases)
def test_the_cases(case: str) -> None:
    network = parameters.load(case).fixed or quantise.load(case)
    n = 60 if case == "exatrkx" else 3000
    x = network.encode(np.concatenate([WORKLOAD.extremes(case), WORKLOAD.inputs(case, n, 9)]))
    assert np.array_equal(through(layers_of(network, multiple=4), x), network.evaluate(x))


def test_dead_neurons_go() -> None:
    fixed = parameters.load("embed").fixed
    assert fixed is not None
    assert trimmed(with_tables(fixed)).widths == (3, 27, 25, 12, 12, 4)
    assert trimmed(with_tables(fixed), 4).widths == (3, 28, 28, 12, 12, 4)
    assert trimmed(with_tables(fixed), 1000).widths == fixed.widths
    # A neuron that nothing listens to any more takes those with it that only it listened to.
    network = table_network(np.random.default_rng(1), (2, 3, 3, 1))
    network.layers[2].dense.weight[1] = 0
    network.layers[1].dense.weight[2, [0, 2]] = 0
    assert trimmed(network).widths == (2, 2, 2, 1)


def test_a_network_of_which_nothing_lives_keeps_a_neuron() -> None:
    network = table_network(np.random.default_rng(1), (2, 3, 1))
    network.layers[1].dense.weight[:] = 0
    layers = layers_of(network)
    assert [layer.n_out for layer in layers] == [1, 1]
    x = inputs(network, np.random.default_rng(2), 50)
    assert np.array_equal(through(layers, x), network.evaluate(x))
