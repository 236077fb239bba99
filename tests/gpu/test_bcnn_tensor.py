"""The tensor-core kernels of `bcnn` without hardware: their constants, fragments and packing in numpy."""

from __future__ import annotations

import re
from pathlib import Path

import bcnn_emulator
import numpy as np
import pytest
from bcnn_networks import NETWORKS, images, network

from gpu.bcnn import fragments, layout, tensor
from gpu.bcnn.kernels import Choice, Unsupported
from gpu.runtime.device import Info
from workloads.bcnn import WORKLOAD
from workloads.bcnn.cases import LAYERS
from workloads.bcnn.parameters import load

INFO = Info("x", "x", "cuda", 132, 60 << 20, 32, True, 232_448, {})
BATCHES = (1, 16, 64, 256, 4096)
FOLDER = Path(tensor.__file__).parent


def every_choice(net, index):
    """Choices of all batches that differ in what the constants or the packing are."""
    found = {}
    for n in BATCHES:
        for choice in tensor.choices(net, index, n, INFO):
            values = {k: v for k, v in choice.values if k in ("nt", "wn")}
            found.setdefault((choice.family, tuple(values.items())), choice)
    return list(found.values())


def check_layers(net, x):
    """Every layer by every family on the oracle's own activations; returns the families that were tried."""
    shapes = layout.shapes(net, tensor.MULTIPLE)
    outputs = list(net.outputs(x))
    families = set()
    for index, (layer, shape) in enumerate(zip(net.layers, shapes, strict=True)):
        source = x if index == 0 else layout.pack(outputs[index - 1], shapes[index - 1].words_out)
        wanted = outputs[index] if layer.last else layout.pack(outputs[index], shape.words_out)
        for choice in every_choice(net, index):
            step = tensor.step(net, index, choice)
            emulate = {"first": bcnn_emulator.first, "gather": bcnn_emulator.gather}
            got = emulate.get(choice.family, bcnn_emulator.conv)(step, shape, source)
            assert np.array_equal(got, wanted), f"{layer.name}: {choice}"
            families.add(choice.family)
    return families


@pytest.mark.parametrize("name", NETWORKS)
def test_every_family_equals_the_oracle(name):
    seed = 11
    print("seed", seed)
    net = NETWORKS[name]
    outputs = list(net.outputs(images(net, 3, seed)))
    assert all(0 < bits.mean() < 1 for bits in outputs[:-1]), "constant bits prove nothing"
    check_layers(net, images(net, 3, seed))


@pytest.mark.parametrize("case", ["cnv", "digits"])
def test_the_cases_equal_the_oracle(case):
    families = check_layers(load(case).network, WORKLOAD.inputs(case, 1, 5))
    assert {"first", "gather", "conv" if case == "cnv" else "region"} <= families


def test_a_wrong_weight_is_seen():
    net = NETWORKS["two planes"]
    x = images(net, 2, 1)
    shape = layout.shapes(net, tensor.MULTIPLE)[2]
    outputs = list(net.outputs(x))
    choice = next(c for c in every_choice(net, 2) if c.family == "region")
    step = tensor.step(net, 2, choice)
    step.constants[0][0, :128:4] ^= 1 << 7  # one bit of each of 32 words
    got = bcnn_emulator.conv(step, shape, layout.pack(outputs[1], shape.words_in))
    assert not np.array_equal(got, layout.pack(outputs[2], shape.words_out))


@pytest.mark.parametrize("nt", [4, 8, 16])
def test_columns_are_a_permutation_of_the_channels(nt):
    assert sorted(fragments.column_order(nt).ravel()) == list(range(8 * nt))


def test_binarynet_fits_and_has_a_family_for_each_layer():
    net = load("binarynet").network
    tensor.check(net)
    for index, layer in enumerate(LAYERS["binarynet"]):
        for n in BATCHES:
            found = list(tensor.choices(net, index, n, INFO))
            assert found, f"{layer.name} at {n}"
            families = {c.family for c in found}
            assert families == {"first"} if index == 0 else families <= {"gather", "region"}
    assert {c.family for c in tensor.choices(net, 5, 4096, INFO)} == {"region"}


def test_shared_memory_is_what_the_chip_has():
    shape = layout.shapes(load("binarynet").network, tensor.MULTIPLE)[5]
    big = Choice("region", images=8, rows=8, mt=4, nt=4, wm=1, wn=4, groups=4)
    assert fragments.conv_size(shape, big)["shared"] > INFO.local_bytes
    for choice in tensor.choices(load("binarynet").network, 5, 4096, INFO):
        assert fragments.conv_step(shape, *parameters(5), choice).shared <= INFO.local_bytes


def parameters(index):
    net = load("binarynet").network
    return net.weights[index], net.thresholds[index]


def test_networks_beyond_the_kernels_are_refused_by_name():
    wide = network(8, 3, 8, ((8, 1, False), (4000, 1, False), (8, 1, False)), (4,))
    many = network(8, 4, 8, ((8, 1, False),), (4,))
    with pytest.raises(Unsupported, match=r"fc1: sums up to"):
        tensor.check(network(32, 3, 8, ((64, 1, False),), (4,)))
    with pytest.raises(Unsupported, match=r"conv3: sums up to 36000"):
        tensor.check(wide)
    with pytest.raises(Unsupported, match=r"conv1: .* at most 3 channels"):
        tensor.check(many)
    for net in NETWORKS.values():
        tensor.check(net)


def test_activations_are_not_read_before_the_launch_before_is_complete():
    # A pointer that is const and __restrict__ may be read from the constant cache, before `griddepcontrol.wait`.
    for name in ("first", "conv", "region", "gather"):
        text = (FOLDER / f"{name}.cu").read_text()
        signature = re.search(r"layer\((.*?)\) \{", text, re.S)
        assert signature, name
        first = signature[1].split(",")[0]
        assert re.fullmatch(r"const uint4? \*in", first.strip()), f"{name}: {first}"
        assert text.index("wait_for_inputs()") < text.rindex("fetch(" if name != "gather" else "row[q][offset]")
