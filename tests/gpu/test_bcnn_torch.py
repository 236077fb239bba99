"""The outside baseline of `bcnn`: what fp16 decides, how the fastest setting is found, and the networks on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.bcnn import torch as module
from gpu.bcnn import torch_networks as networks
from gpu.bcnn.torch import WAYS, Settings
from gpu.runtime.device import DeviceError
from workloads.bcnn.cases import LAYERS, layers_of
from workloads.bcnn.network import Layer, Network
from workloads.bcnn.parameters import load, seeded

BIG = Layer("conv6", "conv", 512, 512, 8, 3, 1, True)


IMAGES, SUMS = np.zeros((2, 8, 8, 1), np.int8), np.arange(20).reshape(2, 10)


def decided(layer: Layer, threshold: int) -> np.ndarray:
    """What fp16 says of every sum that the layer can have."""
    sums = np.arange(-layer.bound, layer.bound + 1)
    limit = networks.fp16_thresholds(layer, np.array([threshold], np.int32)).astype(np.float16)
    return sums.astype(np.float16) >= limit


@pytest.mark.parametrize("threshold", [-9000, -4609, -4608, -2047, -1025, -1, 0, 7, 1024, 1025, 2047, 4609, 9000])
def test_fp16_decides_every_sum_as_integers_do(threshold):
    sums = np.arange(-BIG.bound, BIG.bound + 1)
    assert np.array_equal(decided(BIG, threshold), sums >= threshold)


@pytest.mark.parametrize("threshold", [-4607, -2048, 2048, 2052, 4608])
def test_fp16_refuses_thresholds_where_rounding_could_decide(threshold):
    with pytest.raises(DeviceError, match=f"conv6: a threshold of {abs(threshold)}; fp16 counts exactly to 2048"):
        networks.fp16_thresholds(BIG, np.array([3, threshold], np.int32))
    assert np.float16(2051) >= np.float16(2052), "which is why"


def test_the_cases_have_thresholds_that_fp16_holds():
    for case in LAYERS:
        network = load(case).network
        for layer, threshold in zip(network.layers, network.thresholds, strict=True):
            if threshold is not None:
                assert np.isfinite(networks.fp16_thresholds(layer, threshold)).all() or load(case).trained


class Trials(Settings):
    """Settings whose trials take the times, s, given by way and mode; an exception is raised."""

    def __init__(self, monkeypatch, times, broken=()):
        super().__init__(load("digits").network, "fp16")
        self.times, self.broken, self.bound = times, broken, []
        monkeypatch.setattr(module, "configure", lambda: None)

    def _trial(self, way, mode, images, sums):
        took = self.times.get((way.name, mode), 1.0)
        if isinstance(took, Exception):
            raise took
        return took

    def runner(self, way, mode, images, sets):
        self.bound.append((way.name, mode, sets))
        if (way.name, mode) in self.broken:
            raise RuntimeError("out of memory\nand more")
        return "runner"


def test_the_fastest_setting_is_taken_and_the_others_are_named(monkeypatch):
    wide = "conv2d, input filled up to 8 channels"
    times = {("conv2d", "graph"): 2e-3, (wide, "graph"): 1e-3, ("conv2d", "compile"): ValueError("no compiler\nhere")}
    trials = Trials(monkeypatch, times)
    runner, way, mode, said = trials.best(IMAGES, SUMS, 3)
    assert (runner, way.name, mode) == ("runner", wide, "graph")
    assert trials.bound == [(wide, "graph", 3)]
    assert said["conv2d, graph"] == "2000.0 us"
    assert said["conv2d, compile"] == "ValueError: no compiler"
    assert set(said) == {f"{way.name}, {mode}" for way in WAYS["fp16"] for mode in way.modes}


def test_only_the_modes_that_are_asked_for_are_tried(monkeypatch):
    _, way, mode, said = Trials(monkeypatch, {}).best(IMAGES, SUMS, 1, ["eager"])
    assert (way.name, mode, list(said)) == ("conv2d", "eager", ["conv2d, eager"])


def test_a_setting_that_works_alone_but_not_in_all_sets_gives_way(monkeypatch):
    times = {("conv2d", "graph"): 1e-3, ("conv2d", "eager"): 2e-3}
    trials = Trials(monkeypatch, times, [("conv2d", "graph")])
    _, way, mode, said = trials.best(IMAGES, SUMS, 3)
    assert (way.name, mode) == ("conv2d", "eager")
    assert said["conv2d, graph"] == "1000.0 us, then RuntimeError: out of memory"


def test_no_setting_at_all_is_an_error_that_says_why(monkeypatch):
    times = {(way.name, mode): RuntimeError("no GPU") for way in WAYS["fp16"] for mode in way.modes}
    with pytest.raises(DeviceError, match=r"no setting works here.*no GPU"):
        Trials(monkeypatch, times).best(IMAGES, SUMS, 1)


class Quick:
    """A runner that gives the sums it was made with."""

    def __init__(self, sums):
        self.sums, self.closed = sums, False

    def launch(self, index):
        pass

    def finish(self):
        pass

    def output(self, index):
        return self.sums

    def close(self):
        self.closed = True


def test_a_setting_with_other_sums_is_no_opponent(monkeypatch):
    right, wrong = Quick(SUMS.astype(np.float16)), Quick(SUMS + (SUMS == 13))
    settings = Settings(load("digits").network, "fp16")
    monkeypatch.setattr(module, "TRIAL_SECONDS", 0.0)
    monkeypatch.setattr(module, "configure", lambda: None)
    monkeypatch.setattr(settings, "runner", lambda way, mode, images, sets: right if mode == "compile" else wrong)
    runner, way, mode, said = settings.best(IMAGES, SUMS, 3)
    assert (runner, mode) == (right, "compile"), way.name
    assert said["conv2d, eager"].startswith("WrongError: sums differ from the oracle's by 1, in ")
    assert right.closed
    assert wrong.closed


# From here on PyTorch itself; it is an outside baseline, so a machine may be without it.


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is an outside baseline (pip install 'gatewarp[torch]')")


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize(("channels", "bits"), [(3, 6), (1, 5), (8, 8)])
def test_every_way_is_exact_on_the_cpu(torch, padding, channels, bits):
    seed = 5 + padding + bits
    print("seed", seed)
    side = 8 if padding else 14
    layers = layers_of(side, channels, bits, padding, ((16, False), (24, True), (8, False)), (16, 10))
    network = seeded(layers, seed)
    rng = np.random.default_rng(seed)
    high = 2 ** (bits - 1)
    images = rng.integers(-high, high, (20, *network.input_shape), np.int8)
    wanted = network(images)
    assert len(np.unique(wanted)) > 5, "a network of constants proves nothing"
    done = []
    for arithmetic, ways in WAYS.items():
        for way in ways[: None if arithmetic == "fp16" else 1]:
            inputs = module.encode(arithmetic, images, way.channels(network))
            for n in (1, 3, 20):
                with torch.inference_mode():
                    got = way.function(network, "cpu")(inputs[:n]).numpy()
                assert np.array_equal(got, wanted[:n]), (arithmetic, way.name, n)
            done.append(way.name)
    assert len(done) == 1 + len(WAYS["fp16"])


def test_every_way_sees_extreme_thresholds(torch):
    network = seeded(layers_of(8, 1, 5, 1, ((16, False), (16, True)), (16, 10)), 3)
    bound = network.layers[1].bound
    extreme = np.tile(np.array([-bound - 1, -bound, bound, bound + 1], np.int32), 4)
    made = Network(network.layers, network.weights, (network.thresholds[0], extreme, *network.thresholds[2:]))
    images = np.random.default_rng(1).integers(-16, 16, (9, 8, 8, 1), np.int8)
    for arithmetic, ways in WAYS.items():
        with torch.inference_mode():
            got = ways[0].function(made, "cpu")(module.encode(arithmetic, images, 1)).numpy()
        assert np.array_equal(got, made(images))


def test_verify_proves_each_way_once(torch):
    checks = list(module.verify("digits", samples=40, seed=2))
    assert [c.arithmetic for c in checks][:3] == ["fp16"] * 3
    assert {c.arithmetic for c in checks} == {"fp16", "int8"}
    assert all(c.passed and c.tolerance is None for c in checks)


def test_verify_sees_a_wrong_network(torch, monkeypatch):
    right = networks.signs
    monkeypatch.setattr(networks, "signs", lambda layer, weight, channels: -right(layer, weight, channels))
    assert not any(c.passed for c in module.verify("digits", samples=40, seed=2))


def test_int8_of_cudnn_says_where_no_layer_fits(torch):
    network = seeded(layers_of(8, 1, 5, 1, ((16, False),), (10,)), 3)
    far = np.full(16, 200, np.int32)
    with pytest.raises(DeviceError, match="no layer has thresholds within 127"):
        networks.int8(Network(network.layers, network.weights, (far, None)), "cpu", cudnn=True)
