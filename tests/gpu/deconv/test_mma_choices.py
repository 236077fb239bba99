"""Which tensor-core kernels there are for a layer and a batch, without a GPU."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gpu.deconv import mma, mma_gather, mma_halo, mma_pair, mma_rows, mma_scatter, mma_tuned
from gpu.deconv.launch import Unsupported, back_end
from gpu.deconv.layout import Network
from gpu.deconv.mma_gather import Gather
from gpu.runtime.device import Info
from workloads.deconv.cases import LAYERS
from workloads.deconv.layer import Layer

INFO = Info("x", "x", "cuda", 132, 60 << 20, 32, True, 232_448, {})
FOLDER = Path(mma.__file__).parent


@pytest.mark.parametrize("case", LAYERS)
def test_every_case_is_done_in_both_arithmetics(case):
    network = Network(case)
    assert back_end(INFO) is mma
    assert mma.supported(network, INFO) == ("fp16", "fixed8")
    for index, layer in enumerate(LAYERS[case]):
        for arithmetic in mma.ARITHMETICS:
            for n in (1, 16, 512):
                found = mma.choices(network, index, arithmetic, n, INFO)
                assert found, f"{layer.name} {arithmetic} at {n}"


@pytest.mark.parametrize("case", ["digits", "celeba"])
def test_choices_fit_the_chip_and_are_launched_whole(case):
    network = Network(case)
    for index, layer in enumerate(LAYERS[case]):
        for arithmetic in mma.ARITHMETICS:
            for choice in list(mma.every(layer, arithmetic, 64))[::7]:
                (launch,) = mma.stage(network, index, choice, arithmetic, 64, INFO).launches
                assert launch.shared <= INFO.local_bytes, f"{layer.name}: {choice}"
                assert launch.local <= 1024
                assert launch.groups > 0
                assert launch.groups % getattr(choice, "split", 1) == 0


def test_the_shipped_table_covers_all_cases_and_says_where_it_comes_from():
    table = json.loads(mma_tuned.FILE.read_text())
    assert table["source"]["device"] == "NVIDIA H200"
    for case, layers in LAYERS.items():
        for layer in layers:
            assert mma_tuned.of(layer, "fp16", 7), f"{case} {layer.name}"
            assert mma_tuned.of(layer, "fixed8", 7) == mma_tuned.of(layer, "fp16", 7)


def test_the_nearest_batch_of_the_table_counts(tmp_path, monkeypatch):
    layer = LAYERS["digits"][0]
    few, many = Gather(32), Gather(64)
    path = tmp_path / "table.json"
    mma_tuned.write(path, {mma_tuned.key(layer, "fp16"): {"1": [few], "64": [many]}}, {"device": "x"})
    monkeypatch.setattr(mma_tuned, "FILE", path)
    mma_tuned._table.cache_clear()
    try:
        assert mma_tuned.of(layer, "fp16", 2) == [few]
        assert mma_tuned.of(layer, "fp16", 500) == [many]
        assert mma_tuned.of(LAYERS["digits"][1], "fp16", 2) == []
    finally:
        mma_tuned._table.cache_clear()


@pytest.mark.parametrize(
    ("module", "layer", "said"),
    [
        (mma_gather, Layer("up", (4, 4), 5, 8, 4, 2, 1), "up: 5 input channels of 2 bytes"),
        (mma_gather, Layer("up", (5, 5, 5), 8, 8, 5, 1, 2), "up: 125 taps in a phase; at most 32"),
        (mma_halo, Layer("up", (4, 8), 8, 8, 4, 2, 1), r"up: an input of \(4, 8\)"),
        (mma_halo, Layer("up", (8, 8), 8, 8, 2, 3), "up: a phase of 0 taps"),
        (mma_rows, Layer("up", (4, 64), 8, 3, 4, 2, 1), r"up: an input of \(4, 64\).* at most 32 inputs a row"),
        (mma_rows, Layer("up", (4, 4), 8, 3, 4, 2, 0), r"up: \(10, 10\) outputs of 16 bytes; needs \(8, 8\)"),
        (mma_rows, Layer("up", (4, 4), 8, 5, 4, 2, 1), "up: 10 numbers of a position, taps that reach 1; at most 8"),
        (mma_rows, Layer("up", (4, 4), 2048, 3, 4, 2, 1), "up: 262144 bytes of weights.* at most 40960"),
        (mma_scatter, Layer("up", (4, 4), 8, 16, 4, 2, 1), "up: 256 products of an input; at most 128"),
    ],
)
def test_layers_beyond_a_kernel_are_refused_by_name(module, layer, said):
    with pytest.raises(Unsupported, match=said):
        module.check(layer, 2)


def test_a_pair_of_layers_is_tried_where_it_fits():
    for case, index in (("celeba", 3), ("mnist", 2)):
        network = Network(case)
        found = mma.choices(network, index, "fp16", 64, INFO)
        assert found[1:] == [mma_pair.Pair(1), mma_pair.Pair(2)]
        stage = mma.stage(network, index, found[-1], "fp16", 64, INFO)
        assert stage.layers == 2
        assert stage.launches[0].shared <= INFO.local_bytes
    small = replace(INFO, local_bytes=100_000)
    with pytest.raises(Unsupported, match="deconv4: 179216 bytes of shared memory; at most 100000"):
        mma.stage(Network("celeba"), 3, mma_pair.Pair(1), "fp16", 64, small)
    for case, index, said in (
        ("dcgan", 3, "deconv4: 512 bytes of input channels; needs a multiple of 32, up to 128"),
        ("celeba", 4, "deconv5: no layer follows"),
        ("vnet", 0, "up1: no layer follows"),
    ):
        with pytest.raises(Unsupported, match=said):
            mma_pair.check(Network(case), index, 2)


def test_balanced_blocks_need_room_for_the_sums():
    with pytest.raises(Unsupported, match="deconv2: balanced blocks with a split of 2, 8192 bytes of sums; at most 1"):
        mma.stage(Network("digits"), 1, Gather(32, split=2, balanced=True), "fp16", 1, INFO)


def test_blocks_that_do_not_divide_the_rows_are_refused():
    with pytest.raises(Unsupported, match="deconv2: 64 rows do not divide among 3 blocks"):
        mma.stage(Network("digits"), 1, Gather(32, split=3), "fp16", 1, INFO)
    for case, layers in LAYERS.items():
        for layer in layers:
            assert all(c.bm % c.split == 0 for c in mma.every(layer, "fp16", 64) if isinstance(c, Gather)), case


def test_activations_are_not_read_before_the_launch_before_is_complete():
    # A pointer that is const and __restrict__ may be read from the constant cache, before `griddepcontrol.wait`.
    for name in ("gather", "halo", "pair", "rows", "scatter"):
        text = (FOLDER / f"mma_{name}.cu").read_text()
        signature = re.search(rf"\b{name}\((.*?)\) \{{", text, re.S)
        assert signature, name
        first = signature[1].split(",")[0]
        assert re.fullmatch(r"const uint4? \*in", first.strip()), f"{name}: {first}"
        assert "wait_for_inputs();" in text[signature.end() :]
