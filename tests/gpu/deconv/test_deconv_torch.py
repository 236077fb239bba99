"""The outside baseline of `deconv`: which setting counts, and every way to write a layer on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from deconv_layers import LAYERS, Made

from gpu.deconv import torch as module
from gpu.deconv import torch_networks as networks
from gpu.deconv.layout import Network
from gpu.deconv.torch import PLANS, Plan, Settings
from gpu.runtime.device import DeviceError
from workloads.deconv import WORKLOAD

INPUTS = WORKLOAD.inputs("digits", 2, 1)
WANTED = WORKLOAD.reference("digits", INPUTS, "fp32")


class Faked(Settings):
    """Settings whose runners take the time and give the outputs that they are told to."""

    def __init__(self, monkeypatch, times, wrong=()):
        super().__init__(Network("digits"), "fp16")
        self.times, self.wrong, self.tf32 = times, wrong, []
        monkeypatch.setattr(module, "configure", self.tf32.append)
        monkeypatch.setattr(module, "trial", lambda runner, seconds=0.1: runner.took)

    def ways(self, plan, n):
        return tuple(next(w for w in plan.ways if networks.applies(x, w)) for x in self._network.layers)

    def runner(self, plan, mode, inputs, sets, decoded=None):
        name = self.name(plan, mode)
        if name not in self.times:
            raise RuntimeError("cannot do this\nhere")
        return Answer(self.times[name], WANTED + (1.0 if name in self.wrong else 0.0), sets)


class Answer:
    def __init__(self, took, outputs, sets):
        self.took, self.outputs, self.sets, self.batch = took, outputs, sets, len(outputs)

    def output(self, index):
        return self.outputs

    def close(self):
        pass


def test_the_fastest_right_setting_counts(monkeypatch):
    times = {"conv_transpose, graph": 3e-6, "conv_transpose, eager": 1e-6, "fastest way of each layer, graph": 2e-6}
    settings = Faked(monkeypatch, times, wrong=["conv_transpose, eager"])
    runner, name, said = settings.best(INPUTS, WANTED, 0.1, 5)
    assert (runner.took, runner.sets) == (2e-6, 5)
    assert name.startswith("fastest way of each layer, graph (deconv1: transposed, channels last; ")
    assert said["conv_transpose, graph"] == "3.0 us"
    assert said["conv_transpose, eager"] == "WrongError: outputs differ from the oracle's by 1, in 1.0 us"
    assert said["conv_transpose, channels last, compile"] == "RuntimeError: cannot do this"
    assert said[module.WARM] == "3.0 us"  # the fastest of the operator alone that is right


def test_the_operator_alone_is_timed_warm_and_only_if_it_works(monkeypatch):
    settings = Faked(monkeypatch, {"conv_transpose, graph": 3e-6, "fastest way of each layer, graph": 2e-6})
    seconds = []
    monkeypatch.setattr(module, "trial", lambda runner, s=None: seconds.append(s) or runner.took)
    assert settings.best(INPUTS, WANTED, 0.1, 1)[2][module.WARM] == "3.0 us"
    assert seconds[-2:] == [module.WARM_SECONDS] * 2
    assert (
        module.WARM not in Faked(monkeypatch, {"fastest way of each layer, graph": 2e-6}).best(INPUTS, WANTED, 1, 1)[2]
    )


def test_only_the_launch_modes_that_are_asked_for_are_tried(monkeypatch):
    settings = Faked(monkeypatch, {"conv_transpose, graph": 3e-6, "conv_transpose, eager": 1e-6})
    assert settings.best(INPUTS, WANTED, 0.1, 1, ["graph"])[1] == "conv_transpose, graph"


def test_no_setting_at_all_is_an_error_that_says_why(monkeypatch):
    with pytest.raises(DeviceError, match=r"no setting works here: .*cannot do this"):
        Faked(monkeypatch, {}).best(INPUTS, WANTED, 0.1, 1)


def test_every_plan_can_write_every_case():
    for plans in PLANS.values():
        for plan in plans:
            for case in module.CASES:
                for layer in Network(case).layers:
                    assert any(networks.applies(layer, way) for way in plan.ways), f"{plan.name} {case} {layer.name}"


def test_every_way_of_every_layer_equals_the_oracle():
    torch = pytest.importorskip("torch", reason="PyTorch is an outside baseline (pip install 'gatewarp[torch]')")
    module.configure(tf32=False)
    rng, proved = np.random.default_rng(4), set()
    for layer in (x for x in LAYERS if x.name != "unreached"):
        network = Made(layer, 4)
        inputs = (rng.integers(-128, 128, (3, *layer.shape, layer.channels_in)) / 128).astype(np.float32)
        settings = Settings(network, "fp32", "cpu")
        for way in (w for w in networks.WAYS if networks.applies(layer, w)):
            plan = Plan("one", (way,), ())
            try:
                function = settings.function(settings.ways(plan, 3))
            except NotImplementedError:
                continue
            with torch.inference_mode():
                got = settings.decode((function(*settings.encode(inputs, (way,))),))
            assert np.abs(got - network.wanted("fp32", inputs)).max() < 1e-5, f"{layer.name} {way}"
            proved.add(way)
    assert proved == set(networks.WAYS)
