"""The fused kernels against the oracle: lowering, the tensor-core layout in numpy, the portable kernels on PoCL."""

from __future__ import annotations

import itertools
from dataclasses import replace

import gpu_emulator
import numpy as np
import pytest
from gpu_networks import COMPACT, EMBED, Parameters, fixed_network, float_network, inputs, parameters

from gpu.runtime.device import open_device
from gpu.track import bench, mma, wide
from gpu.track.bench import Bench, extremes
from gpu.track.kernels import Choice, Network, choices, make, supported
from gpu.track.lower import lower
from workloads.track.network import FixedLayer, FixedNetwork, uniform_format

HITS = 10_240


@pytest.fixture(scope="module")
def device():
    opened = open_device("opencl")
    yield opened
    opened.close()


def hits(network: Network, n: int = HITS, seed: int = 1):
    return np.concatenate([extremes(network, n // 8), inputs(n, network.floats.widths[0], seed)])[:n]


CASES = list(itertools.product((EMBED, COMPACT), ("SAT", "WRAP"), (True, False)))


@pytest.mark.parametrize(("widths", "overflow", "mixed"), CASES)
def test_lowered_network_equals_the_oracle(widths, overflow, mixed):
    for seed in range(3):
        network = Network.of(parameters(widths, seed, overflow, mixed))
        codes = network.fixed.encode(hits(network))
        assert np.array_equal(network.lowered.evaluate(codes), network.fixed.evaluate(codes))
        assert len(np.unique(network.fixed.evaluate(codes))) > 100, "a network of constants proves nothing"


def test_lowering_takes_outputs_finer_than_the_sums_and_signed_hidden_layers():
    first = FixedLayer(np.array([[3, -2], [1, 5]]), 1, np.array([1, -1]), 0, False, uniform_format(2, 1, 3, 9, "WRAP"))
    second = FixedLayer(np.array([[1, 0], [-3, 2]]), 2, np.array([7, -7]), 3, False, uniform_format(2, 1, 2, 3, "SAT"))
    network = FixedNetwork(uniform_format(2, 1, 1, 2), (first, second))
    codes = np.array(list(itertools.product(range(-8, 8), repeat=2)))
    assert np.array_equal(lower(network).evaluate(codes), network.evaluate(codes))


def test_bounds_hold_and_dead_neurons_are_dropped():
    network = Network.of(parameters(EMBED, 2))
    low = network.lowered
    assert low.widths[0] == 3
    assert low.widths[1] < 32, "every random hidden layer has a dead neuron"
    x = network.fixed.encode(hits(network))
    for step in low.steps:
        total = x @ step.weight + step.bias
        assert (np.abs(total).max(axis=0) <= step.bound).all()
        assert ((total >> step.shift).max(axis=0) <= step.top).all()
        q = total >> step.shift
        x = np.clip(np.maximum(q, 0) if step.relu else q, step.low, step.high)


@pytest.mark.parametrize(("widths", "overflow", "mixed"), CASES)
def test_tensor_core_layout_is_exact_in_fixed_point(widths, overflow, mixed):
    network = Network.of(parameters(widths, 4, overflow, mixed))
    parts = mma.fixed_fragments(network.lowered)
    for n in (1, 17, 3000):
        x = hits(network, 3000)[:n]
        codes = network.encode("fixed", x, np.int16)
        got = gpu_emulator.run(parts, codes, widths[-1], network.lowered)
        assert np.array_equal(got, network.reference("fixed", x))


def test_tensor_core_layout_uses_every_way_to_round():
    kinds = set()
    for overflow, seed in itertools.product(("SAT", "WRAP"), range(6)):
        network = Network.of(parameters(EMBED, seed, overflow))
        kinds |= {
            p
            for p in ("pair_floor", "pair_mask", "pair_wrap", "pair_saturate")
            if p in mma.fixed_fragments(network.lowered).layers
        }
    assert kinds >= {"pair_floor", "pair_wrap", "pair_saturate"}


@pytest.mark.parametrize("widths", [EMBED, COMPACT, (4, 16, 8, 2), (8, 40, 6), (1, 24, 4)])
def test_tensor_core_layout_in_fp16(widths):
    network = Network.of(Parameters(float_network(widths, 3), None))
    x = inputs(2000, widths[0], 3)
    got = gpu_emulator.run(mma.float_fragments(network.floats), x.astype(np.float16), widths[-1], None)
    worst = np.abs(got - network.reference("fp16", x)).max()
    assert worst <= network.tolerance("fp16", x)
    assert worst > network.tolerance("fp32", x), "fp16 that is as good as fp32 was not fp16"


def test_tensor_cores_refuse_what_they_cannot_hold():
    good = fixed_network(EMBED, 1)
    big = replace(good.layers[1], weight=good.layers[1].weight << 12)
    with pytest.raises(mma.Unsupported, match="float32 counts to"):
        mma.fixed_fragments(lower(replace(good, layers=(good.layers[0], big, *good.layers[2:]))))
    odd = replace(good.layers[1], weight=good.layers[1].weight * 129)
    with pytest.raises(mma.Unsupported, match=r"no half-precision number|float32 counts to"):
        mma.fixed_fragments(lower(replace(good, layers=(good.layers[0], odd, *good.layers[2:]))))
    wide_output = replace(good.layers[0], output=uniform_format(32, 0, 6, 8))
    with pytest.raises(mma.Unsupported, match="11 bits"):
        mma.fixed_fragments(lower(replace(good, layers=(wide_output, *good.layers[1:]))))
    with pytest.raises(mma.Unsupported, match="relu and linear"):
        mma.float_fragments(float_network(EMBED, 1, "tanh"))
    with pytest.raises(mma.Unsupported, match="even but for"):
        mma.float_fragments(float_network((5, 16, 4), 1))


@pytest.mark.parametrize(("widths", "overflow", "mixed"), CASES)
def test_portable_fixed_kernel_equals_the_oracle(device, widths, overflow, mixed):
    network = Network.of(parameters(widths, 7, overflow, mixed))
    kernels = Bench(device, network)
    x = hits(network)
    for n in (1, 3, 257, HITS):
        kernel = next(kernels.kernels("fixed"))
        runner = kernels.runner(kernel, x[:n])
        runner.launch(0)
        runner.finish()
        assert kernels.compare(kernel, x[:n], runner.output(0)) == (True, 0.0, None)


@pytest.mark.parametrize(("scale", "kind"), [(0, "float"), (9, "int"), (30, "long")])
@pytest.mark.parametrize("overflow", ["SAT", "WRAP"])
def test_portable_fixed_kernel_takes_the_width_that_the_bound_asks_for(device, scale, kind, overflow):
    base = fixed_network(COMPACT, 5, overflow)
    last = replace(
        base.layers[-1], weight=base.layers[-1].weight << scale, weight_fraction=base.layers[-1].weight_fraction + scale
    )
    network = Network.of(Parameters(float_network(COMPACT, 5), replace(base, layers=(*base.layers[:-1], last))))
    kernels = Bench(device, network)
    kernel = next(kernels.kernels("fixed"))
    assert kernel.detail.startswith(kind)
    x = hits(network, 3000)
    runner = kernels.runner(kernel, x)
    runner.launch(0)
    assert kernels.compare(kernel, x, runner.output(0))[0]


@pytest.mark.parametrize(("widths", "activation"), [(EMBED, "relu"), (COMPACT, "relu"), ((12, 160, 160, 8), "tanh")])
def test_portable_fp32_kernel_is_within_its_tolerance(device, widths, activation):
    network = Network.of(Parameters(float_network(widths, 2, activation), None))
    kernels = Bench(device, network)
    x = inputs(HITS if max(widths) < 100 else 1000, widths[0], 2)
    for kernel in kernels.kernels("fp32"):
        for n in (1, 3, 257, len(x)):
            runner = kernels.runner(kernel, x[:n])
            runner.launch(0)
            passed, worst, tolerance = kernels.compare(kernel, x[:n], runner.output(0))
            assert passed, f"{worst} > {tolerance}"
        assert tolerance < 1e-2


def test_a_device_without_fp16_has_no_fp16(device):
    network = Network.of(parameters(COMPACT, 1))
    assert supported(network, device.info) == ("fp32", "fixed")
    with pytest.raises(mma.Unsupported, match="portable: fp16"):
        make(network, "fp16", Choice("portable", 16, 8), device.info)


def test_tuning_returns_the_fastest_choice(device):
    network = Network.of(parameters(COMPACT, 1))
    kernel, times = Bench(device, network).tune("fp32", inputs(512, 3, 1))
    assert times[kernel.choice] == min(times.values())
    assert len(times) == len(list(choices(network, "fp32", device.info)))


def test_verify_reports_a_wrong_kernel(monkeypatch):
    stated = parameters(COMPACT, 1)
    checks = list(bench.verify("x", "opencl", "compact", stated, lambda n, s: inputs(n, 3, s), samples=600, seed=1))
    assert {c.arithmetic for c in checks} == {"fp32", "fixed"}
    assert all(c.passed for c in checks)
    original = Network.encode
    monkeypatch.setattr(Network, "encode", lambda self, a, x, t: original(self, a, x[:, ::-1], t))
    wrong = list(bench.verify("x", "opencl", "compact", stated, lambda n, s: inputs(n, 3, s), samples=600, seed=1))
    assert not any(c.passed for c in wrong)


def test_wide_weights_are_in_fragment_order():
    network = float_network((12, 128, 128, 8), 1, "tanh")
    text, buffer = wide.source(network, 8, 2)
    assert "#define HIDDEN 128" in text
    # Lane 4 g + t of the second layer, k16 step 2, n8 tiles 4 and 5.
    base = 128 // 16 * 32 * 4 + (2 * (128 // 16) + 2) * 32 * 4
    half = network.layers[1].weight.astype(np.float16)
    for g, t in ((0, 0), (5, 3)):
        words = buffer[base + (4 * g + t) * 4 : base + (4 * g + t) * 4 + 4]
        rows = [32 + 2 * t, 32 + 2 * t + 8, 32 + 2 * t, 32 + 2 * t + 8]
        columns = [32 + g, 32 + g, 40 + g, 40 + g]
        for word, row, column in zip(words, rows, columns, strict=True):
            pair = np.array([word], np.uint32).view(np.float16)
            assert pair.tolist() == [half[row, column], half[row + 1, column]]
    bias = buffer[-8:].view(np.float32)
    assert np.array_equal(bias, network.layers[-1].bias)


def test_real_cases_verify_on_the_local_device():
    from gpu.track import opencl

    for case, samples in (("embed", HITS), ("exatrkx", 300)):
        checks = list(opencl.verify(case, samples=samples, seed=3))
        assert checks
        assert all(c.passed for c in checks), [c for c in checks if not c.passed]


def test_nvidia_hardware():
    devices = open_device("null")  # keeps the import of the API honest where there is none
    devices.close()
    from gpu.runtime.device import list_devices

    if not any("NVIDIA" in text for text in list_devices().values()):
        pytest.skip(
            "no NVIDIA GPU here: the tensor-core kernels are proved in numpy above and by `gatewarp verify` there"
        )
    from gpu.track import opencl

    for case in opencl.CASES:
        assert all(c.passed for c in opencl.verify(case, samples=3000, seed=1))
