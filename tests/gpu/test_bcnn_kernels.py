"""The portable kernels of `bcnn` on PoCL against the oracle, the bench, and the chain of launches."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
from bcnn_networks import NETWORKS, Parameters, images, network

from gpu.bcnn import bench, kernels, launch, popcount
from gpu.bcnn.bench import Bench
from gpu.bcnn.kernels import Choice, Network, Unsupported, choices, make, supported
from gpu.runtime.cuda import _Bound
from gpu.runtime.device import open_device
from workloads.bcnn.cases import LAYERS
from workloads.bcnn.parameters import load


@pytest.fixture(scope="module")
def device():
    opened = open_device("opencl")
    yield opened
    opened.close()


def run(device, net, chosen, x):
    wrapped = Network(net)
    benched = Bench(device, wrapped)
    kernel = make(wrapped, chosen, device.info)
    runner = benched.runner(kernel, x)
    runner.launch(0)
    runner.finish()
    return benched.compare(kernel, x, runner.output(0))


def usual(device, net, n=1):
    return [choices(Network(net), i, n, device.info)[0] for i in range(len(net.layers))]


@pytest.mark.parametrize("name", NETWORKS)
def test_popcount_equals_the_oracle(device, name):
    seed = 21
    print("seed", seed)
    net = NETWORKS[name]
    for n in (1, 3, 7):
        assert run(device, net, usual(device, net), images(net, n, seed)) == (True, 0.0, None)


def test_popcount_counts_carries_and_stages_weights(device, monkeypatch):
    net = network(8, 2, 4, ((128, 1, False), (64, 1, True)), (40, 6), 5)
    x = images(net, 3, 2)
    first = usual(device, net)[0]
    # A whole layer, some taps, some words at a time.
    for carry, tm, tn, local, staged in ((0, 4, 4, 16, 32 * 1024), (1, 4, 4, 16, 2048), (1, 8, 2, 32, 256)):
        monkeypatch.setattr(popcount, "_STAGED", staged)
        tile = {"channels": 32, "local": local, "wide": 0, "carry": carry, "ptx": 0}
        vectors = [layout_vector(net, i) for i in (1, 2, 3)]
        chosen = [first, *(Choice("popcount", tm=tm, tn=tn, vector=v, **tile) for v in vectors)]
        assert run(device, net, chosen, x) == (True, 0.0, None), (carry, tm, staged)


def layout_vector(net, index):
    words = popcount.layout.shapes(net, 1)[index].words_in
    return 4 if words % 4 == 0 else 2 if words % 2 == 0 else 1


def test_staging_takes_whole_taps_or_part_of_one():
    shapes = popcount.layout.shapes(network(8, 1, 4, ((128, 1, False), (64, 1, False)), (4,)), 1)
    assert popcount.staging(shapes[1], 64, 4) == (9, 4)
    assert popcount.staging(shapes[2], 64, 4) == (1, 128)
    assert popcount.staging(shapes[2], 1024, 4) == (1, 8)


def test_a_first_layer_of_bits_is_refused(device):
    net = network(8, 3, 1, ((8, 1, False),), (4,))
    with pytest.raises(Unsupported, match="conv1: the first layer"):
        make(Network(net), usual(device, net), device.info)
    assert supported(Network(net), device.info) == ()


def test_bench_tunes_each_layer_and_rotates_its_sets(device):
    net = NETWORKS["pooled first"]
    benched = Bench(device, Network(net))
    x = images(net, 5, 3)
    kernel, times = benched.tune("binary", x)
    assert [step.layer for step in kernel.steps] == [layer.name for layer in net.layers]
    assert {name for name, _ in times} == {layer.name for layer in net.layers}
    runner = benched.runner(kernel, x, sets=3)
    assert (runner.output(0).view(np.uint8) == 0x5A).all(), "outputs are poisoned before the first launch"
    for index in range(3):
        runner.round_trip(index)
        assert np.array_equal(runner.output(index), net(np.roll(x, -index, axis=0)))
    assert (runner.kernel_times(4) > 0).all()
    assert (runner.empty_times(2) >= 0).all()
    conditions = kernel.conditions(5, device.info)
    assert conditions["launches"] == 3
    assert conditions["io"] == "int8 x 64 in, int32 x 3 out"
    assert kernel.item_bytes == 64 + 12


def test_kernels_cover_every_choice():
    info = SimpleNamespace(api="opencl", warp=32, tensor=True)
    net = Network(NETWORKS["padded"])
    made = list(kernels.kernels(net, 4096, info))
    for index in range(len(net.layers.layers)):
        assert {k.steps[index].choice for k in made} == set(choices(net, index, 4096, info))


@pytest.mark.parametrize("case", LAYERS)
def test_every_layer_of_every_case_has_a_choice_at_any_batch(case):
    info = SimpleNamespace(api="opencl", warp=32, tensor=True)
    net = Network(load(case).network)
    for n in (1, 64, 512, 4096, 2**18):
        for index, layer in enumerate(net.layers.layers):
            assert list(popcount.choices(net.layers, index, n, info)), (layer.name, n)


def test_verify_reports_a_wrong_kernel(monkeypatch):
    net = NETWORKS["pooled first"]
    monkeypatch.setitem(bench.LARGEST, "x", 20)

    def checks():
        return list(
            bench.verify("n", "opencl", "x", Parameters(net), lambda n, s: images(net, n, s), samples=99, seed=1)
        )

    good = checks()
    assert good
    assert all(c.passed and c.samples == 20 and c.tolerance is None for c in good)
    original = popcount._limits
    monkeypatch.setattr(popcount, "_limits", lambda t, n: original(t, n) + (t is not None and len(t) == 16))
    assert not any(c.passed for c in checks())


def test_binarynet_on_the_local_device():
    from gpu.bcnn import opencl

    checks = list(opencl.verify("binarynet", samples=2, seed=3))
    assert [c.passed for c in checks] == [True]


def test_a_chain_spans_from_the_first_start_to_the_last_end():
    def event(start, end):
        return lambda: SimpleNamespace(profile=SimpleNamespace(start=start, end=end))

    opencl = SimpleNamespace(info=SimpleNamespace(api="opencl"))
    spanned = launch.chain(opencl, [event(3, 5), event(6, 9), event(9, 17)])()
    assert (spanned.profile.start, spanned.profile.end) == (3, 17)
    ran = []
    assert launch.chain(opencl, [lambda: ran.append(1), lambda: ran.append(2)])() is None
    assert ran == [1, 2]


def test_all_but_the_first_cuda_launch_are_programmatic(monkeypatch):
    seen = []

    def extended(config, function, pointers, extra):
        c = config._obj
        attribute = c.attributes[0]
        seen.append((c.gx, c.gy, c.bx, c.shared, c.stream, c.count, attribute.id, attribute.value[0], function.value))
        return 0

    monkeypatch.setattr(launch.ctypes, "CDLL", lambda name: SimpleNamespace(cuLaunchKernelEx=extended))
    plain = []
    sizes = [ctypes.c_uint(v) for v in (7, 1, 1, 96, 1, 1, 1024)]
    packed = (ctypes.c_void_p(5), *sizes, ctypes.c_void_p(77), None, None)
    bound = [_Bound(lambda *a: plain.append(a) or 0, packed, None) for _ in range(3)]
    launch.chain(SimpleNamespace(info=SimpleNamespace(api="cuda")), bound)()
    assert len(plain) == 1
    # Grid, block, shared memory, stream, one attribute: programmatic stream serialisation (6) is allowed.
    assert seen == [(7, 1, 96, 1024, 77, 1, 6, 1, 5)] * 2
    assert ctypes.sizeof(launch._Attribute) == 72
    assert launch._Config.stream.offset == 32


def test_nvidia_hardware():
    from gpu.runtime.device import list_devices

    if not any(name.startswith("cuda") for name in list_devices()):
        pytest.skip("no NVIDIA GPU here: their text is proved on the CPU, and by `gatewarp verify` there")
    from gpu.bcnn import cuda

    for case in ("digits", "cnv"):
        assert all(c.passed for c in cuda.verify(case, samples=9, seed=1))
