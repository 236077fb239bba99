"""The tensor-core kernels of `bcnn` without a GPU: the CUDA text itself, thread for thread on the CPU."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import simt
from bcnn_networks import NETWORKS, images, network

from gpu.bcnn import fragments, layout, tensor
from gpu.bcnn.kernels import Choice, Unsupported
from gpu.runtime.device import Info
from workloads.bcnn.cases import LAYERS
from workloads.bcnn.parameters import load

#: Few multiprocessors, so that a block walks over several stages.
INFO = Info("x", "x", "cuda", 2, 60 << 20, 32, True, 232_448, {})
BATCHES = (1, 16, 64, 256, 4096)
FOLDER = Path(tensor.__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("simt")


def check_layer(net, index, choice, x, folder):
    """A layer by one kernel on the oracle's own activations."""
    shapes = layout.shapes(net, tensor.MULTIPLE)
    shape, layer = shapes[index], net.layers[index]
    outputs = list(net.outputs(x))
    source = x if index == 0 else layout.pack(outputs[index - 1], shapes[index - 1].words_out)
    wanted = outputs[index].astype(np.int32) if layer.last else layout.pack(outputs[index], shape.words_out)
    step = tensor.step(net, index, choice)
    got = simt.run(step, INFO, source, len(x), step.out_bytes * len(x), folder).view(wanted.dtype)
    return np.array_equal(got, wanted.reshape(-1))


def of_each_family(net, index):
    """The last choice of each family and number of columns: those that tuning may take at some batch."""
    found = {}
    for n in BATCHES:
        for choice in tensor.choices(net, index, n, INFO):
            found[choice.family, choice["nt"]] = choice
    return list(found.values())


@pytest.mark.parametrize("name", NETWORKS)
def test_every_family_equals_the_oracle(name, folder):
    seed = 11
    print("seed", seed)
    net = NETWORKS[name]
    x = images(net, 3, seed)
    assert all(0 < bits.mean() < 1 for bits in list(net.outputs(x))[:-1]), "constant bits prove nothing"
    for index, layer in enumerate(net.layers):
        for choice in of_each_family(net, index):
            assert check_layer(net, index, choice, x, folder), f"{layer.name}: {choice}"


def test_all_families_are_among_those_networks():
    families = {c.family for net in NETWORKS.values() for i in range(len(net.layers)) for c in of_each_family(net, i)}
    assert families == set(fragments.PARTS)


def test_every_tile_of_a_region_and_of_several_images(folder):
    net = NETWORKS["two planes"]
    x = images(net, 5, 3)
    choices = {c for n in BATCHES for c in tensor.choices(net, 2, n, INFO) if c.family == "region"}
    assert {c["groups"] for c in choices} == {1, 2, 4}
    several = Choice("region", images=2, rows=8, mt=4, nt=4, wm=1, wn=4, groups=2)
    for choice in [*sorted(choices, key=str)[::4], several]:
        assert check_layer(net, 2, choice, x, folder), str(choice)


def test_a_wrong_text_is_seen(folder, monkeypatch):
    net = NETWORKS["two planes"]
    x = images(net, 2, 1)
    choice = next(c for c in of_each_family(net, 2) if c.family == "region")
    original = fragments._source

    def without_a_barrier(family, macros):
        text = original(family, macros)
        return text.replace("group_barrier(group);", "if (threadIdx.x) group_barrier(group);", 1)

    monkeypatch.setattr(fragments, "_source", without_a_barrier)
    with pytest.raises(AssertionError, match="a barrier that not all threads reach"):
        check_layer(net, 2, choice, x, folder)
    monkeypatch.setattr(
        fragments,
        "_source",
        lambda family, macros: original(family, macros).replace("base + 16 * ((i + 2)", "base + 16 * ((i + 1)"),
    )
    assert not check_layer(net, 2, choice, x, folder)


@pytest.mark.parametrize("nt", [4, 8, 16])
def test_columns_are_a_permutation_of_the_channels(nt):
    assert sorted(fragments.column_order(nt).ravel()) == list(range(8 * nt))


def test_binarynet_fits_and_has_a_family_for_each_layer():
    chip = Info("x", "x", "cuda", 132, 60 << 20, 32, True, 232_448, {})
    net = load("binarynet").network
    tensor.check(net)
    for index, layer in enumerate(LAYERS["binarynet"]):
        for n in BATCHES:
            found = list(tensor.choices(net, index, n, chip))
            assert found, f"{layer.name} at {n}"
            families = {c.family for c in found}
            assert families == {"first"} if index == 0 else families <= {"gather", "region"}
    assert {c.family for c in tensor.choices(net, 5, 4096, chip)} == {"region"}
    for choice in tensor.choices(net, 5, 4096, chip):
        step = tensor.step(net, 5, choice)
        assert step.shared <= chip.local_bytes
        assert step.groups(4096, chip) == chip.units


def test_stages_beyond_shared_memory_are_not_offered():
    shape = layout.shapes(load("binarynet").network, tensor.MULTIPLE)[5]
    big = Choice("region", images=8, rows=8, mt=4, nt=4, wm=1, wn=4, groups=4)
    assert fragments.conv_size(shape, big)["shared"] > INFO.local_bytes


def test_networks_beyond_the_kernels_are_refused_by_name():
    with pytest.raises(Unsupported, match=r"fc1: sums up to"):
        tensor.check(network(32, 3, 8, ((64, 1, False),), (4,)))
    with pytest.raises(Unsupported, match=r"conv3: sums up to 36000"):
        tensor.check(network(8, 3, 8, ((8, 1, False), (4000, 1, False), (8, 1, False)), (4,)))
    with pytest.raises(Unsupported, match=r"conv1: .* at most 3 channels"):
        tensor.check(network(8, 4, 8, ((8, 1, False),), (4,)))
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
        body = text[signature.end() :]
        assert body.index("wait_for_inputs()") < body.index("row[q][offset]" if name == "gather" else "fetch(")
