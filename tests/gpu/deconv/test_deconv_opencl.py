"""The reverse loops in OpenCL on PoCL: odd layers and whole cases against the oracle, and what must be refused."""

from __future__ import annotations

import numpy as np
import pytest
from deconv_layers import LAYERS, Made

from gpu.deconv import opencl, prove, reverse
from gpu.deconv.bench import Bench, Kernel
from gpu.deconv.launch import Unsupported
from gpu.deconv.layout import NUMBERS, Network, phases
from gpu.runtime.device import open_device
from workloads.deconv.layer import Layer

#: A sum of some hundred products, none above 1, in binary32; and with operands rounded to binary16.
CLOSE = {"fixed8": 0.0, "fixed16": 0.0, "fp32": 1e-5, "fp16": 4e-3}


@pytest.fixture(scope="module")
def device():
    opened = open_device("opencl")
    yield opened
    opened.close()


def outputs(device, network, arithmetic, inputs, choice=None):
    bench = Bench(device, network)
    n = len(inputs)
    choice = choice or bench.back.choices(network, 0, arithmetic, n, device.info)[0]
    runner = bench.runner(Kernel(network, arithmetic, n, (bench.placed(0, choice, arithmetic, n),)), inputs, 2)
    for index in range(runner.sets):
        runner.launch(index)
    runner.finish()
    return [runner.output(index) for index in range(runner.sets)]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
@pytest.mark.parametrize("kind", [0, 1])
def test_odd_layers_equal_the_oracle_in_every_buffer_set(device, layer, kind):
    arithmetic = ("fixed16", ("fixed8", "fp32", "fp16")[LAYERS.index(layer) % 3])[kind]  # a build takes seconds
    seed = int(np.random.default_rng().integers(2**31))
    print(f"seed {seed}")
    network, rng = Made(layer, seed), np.random.default_rng(seed)
    inputs = (rng.integers(-128, 128, (3, *layer.shape, layer.channels_in)) / 128).astype(np.float32)
    inputs[2] = np.where(np.arange(layer.channels_in) % 2, -1, 127 / 128)  # the ends of the range
    wanted = network.wanted(arithmetic, inputs)
    for index, got in enumerate(outputs(device, network, arithmetic, inputs)):
        assert np.abs(got - np.roll(wanted, -index, axis=0)).max() <= CLOSE[arithmetic]


@pytest.mark.parametrize("choice", [reverse.Tile(1, 4, 16, 2, 4, 4), reverse.Tile(2, 4, 32, 4, 8, 8)], ids=str)
@pytest.mark.parametrize("layer", LAYERS[:3:2], ids=lambda layer: layer.name)
def test_tiles_of_many_work_items_are_right_on_any_device(device, layer, choice):
    # What a GPU is given: rows of several items, tiles of one position that skip taps, groups with barriers. In fp32:
    # PoCL 3.0 miscompiles integers of several work-items as vectors.
    network, rng = Made(layer, 5), np.random.default_rng(5)
    inputs = (rng.integers(-128, 128, (5, *layer.shape, layer.channels_in)) / 128).astype(np.float32)
    if layer.channels_in % choice.bk:
        choice = reverse.Tile(choice.positions, choice.items, choice.columns, choice.tm, choice.tn, 4)
    difference = outputs(device, network, "fp32", inputs, choice)[0] - network.wanted("fp32", inputs)
    assert np.abs(difference).max() <= CLOSE["fp32"]


@pytest.mark.parametrize(("positions", "local"), [(1, 4), (4, 16)])
def test_few_channels_with_any_number_of_neighbours(device, positions, local):
    layer = next(x for x in LAYERS if x.name == "colours")
    network, rng = Made(layer, 6), np.random.default_rng(6)
    inputs = (rng.integers(-128, 128, (3, *layer.shape, layer.channels_in)) / 128).astype(np.float32)
    got = outputs(device, network, "fixed8", inputs, reverse.Few(positions, local))
    assert np.array_equal(got[0], network.wanted("fixed8", inputs))


@pytest.mark.parametrize(("case", "samples"), [("digits", 4), ("mnist", 1)])
def test_cases_equal_the_oracle(case, samples):
    checks = list(opencl.verify(case, samples=samples, seed=11))
    assert {check.arithmetic for check in checks} == set(NUMBERS)
    for check in checks:
        assert check.passed, f"{check.arithmetic}: off by {check.worst}, allowed {check.tolerance}"
        assert (check.tolerance is None) == check.arithmetic.startswith("fixed")


def test_a_wrong_kernel_is_seen(monkeypatch):
    text = reverse._source
    monkeypatch.setattr(reverse, "_source", lambda macros, name: text(macros, name).replace("- rx;", "- rx - 1;"))
    monkeypatch.setattr(reverse, "NUMBERS", {"fixed8": np.int8})
    checks = list(opencl.verify("digits", samples=1, seed=11))
    assert len(checks) == 1
    assert not any(check.passed for check in checks)


def test_64_bit_sums_where_32_do_not_hold_them(device):
    layer = Layer("deep", (2, 2), 1024, 8, 4, 2, 1, activation="linear")
    network = Made(layer, 7)
    assert network.largest_sum(0, "fixed16") >= 2**31
    inputs = np.full((1, 2, 2, 1024), 127 / 128, np.float32) * np.sign(network.weight(0, "fp32")[:, 1, 1, 0])
    assert np.array_equal(outputs(device, network, "fixed16", inputs)[0], network.wanted("fixed16", inputs))


def test_a_side_that_does_not_fit_is_refused(device):
    network = Made(Layer("long", (1024, 1), 4, 8, 1), 1)
    with pytest.raises(Unsupported, match="long: a side of 1024 is too large for the kernel; at most 1023"):
        reverse.stage(network, 0, reverse.Few(1, 4), "fp32", 1, device.info)


def test_taps_are_those_that_reach_an_output():
    for case in ("digits", "dcgan", "gan3d", "vnet"):
        for layer in Network(case).layers:
            pairs = 0
            for phase in phases(layer):
                for tap in phase.taps:
                    ranges = zip(tap.reach, phase.counts, layer.shape, strict=True)
                    pairs += int(np.prod([min(count, side + d) - max(0, d) for d, count, side in ranges]))
            assert pairs * layer.channels_in * layer.channels_out == layer.kept_macs


def test_paths_hold_every_choice(device):
    bench = Bench(device, Network("digits"))
    made = prove.paths(bench, "fixed8", 3, (1, 3, 64))
    held = {(p.index, p.choice) for path in made for p in path}
    for index in range(3):
        for m in (1, 3, 64):
            assert {(index, c) for c in bench.back.choices(bench.network, index, "fixed8", m, device.info)} <= held
