"""Folding: the papers' own cycle counts, legality, and errors that name the layer and the nearest legal values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from designs.bcnn import folding, presets
from designs.bcnn.folding import Fold, Folding, FoldingError
from workloads.bcnn.cases import LAYERS
from workloads.bcnn.network import Layer

BINARYNET = LAYERS["binarynet"]
CONV2 = BINARYNET[1]


def test_the_paper_of_binarynet_gives_its_own_cycles() -> None:
    paper = presets.folding("binarynet")
    assert paper.cycles == (4096, 12288, 12288, 12288, 12288, 12288, 8192, 8192, 10240)
    assert paper.interval == 12288
    assert paper.bottleneck.name == "conv2"


def test_pynq_folding_of_cnv() -> None:
    pynq = presets.folding("cnv")
    # 30 x 30 x (27 / 3) x (64 / 16) and so on, as FINN's own model of this network counts.
    assert pynq.cycles == (32400, 28224, 20736, 28800, 20736, 18432, 32768, 32768, 5120)
    assert pynq.bottleneck.name == "fc1"


def test_the_window_unit_is_a_floor() -> None:
    layer = Layer("conv1", "conv", 1, 4, 8, 3, 1)
    assert folding.cycles(layer, Fold(9, 4)) == 3 * 64
    # Without padding and with a small output, what comes in is more than what goes out.
    assert folding.cycles(Layer("conv1", "conv", 1, 1, 8, 8), Fold(64, 1)) == 64


@pytest.mark.parametrize("case", LAYERS)
def test_presets_are_legal(case: str) -> None:
    assert presets.folding(case).layers == LAYERS[case]


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ({"conv2": (100, 32)}, r"conv2: simd 100 does not divide a column of 384 .*; nearest legal: 96 and 128"),
        ({"conv2": (768, 32)}, r"conv2: simd 768 .* nearest legal: 384 and 1152"),
        ({"conv2": (5000, 32)}, r"conv2: simd 5000 .* nearest legal: 1152$"),
        ({"conv2": (0, 32)}, r"conv2: simd 0 .* nearest legal: 1$"),
        ({"fc1": (513, 2)}, r"fc1: simd 513 does not divide 8192 synapses; nearest legal: 512 and 1024"),
        ({"fc3": (1, 3)}, r"fc3: pe 3 does not divide 10 neurons; nearest legal: 2 and 5"),
        ({"conv9": (1, 1)}, r"no layer 'conv9' to fold; layers: conv1, conv2"),
    ],
)
def test_illegal_foldings_are_refused(folds: dict[str, tuple[int, int]], message: str) -> None:
    good = presets.FOLDS["binarynet"]
    with pytest.raises(FoldingError, match=message):
        folding.of(BINARYNET, {**good, **folds})


def test_every_layer_needs_a_fold() -> None:
    good = dict(presets.FOLDS["digits"])
    del good["fc1"]
    with pytest.raises(FoldingError, match="fc1: no fold given"):
        folding.of(LAYERS["digits"], good)
    for odd in ((48.0, 32), (48,)):
        with pytest.raises(FoldingError, match="conv2: a fold is two whole numbers"):
            folding.of(LAYERS["digits"], presets.FOLDS["digits"] | {"conv2": odd})
    with pytest.raises(FoldingError, match="1 folds for 5 layers"):
        Folding(LAYERS["digits"], (Fold(1, 1),))


@given(st.integers(1, 600), st.integers(1, 300))
def test_legal_is_what_the_choices_say(simd: int, pe: int) -> None:
    legal = simd in folding.simd_choices(CONV2) and pe in folding.pe_choices(CONV2)
    try:
        folding.check(CONV2, Fold(simd, pe))
    except FoldingError:
        assert not legal
    else:
        assert legal
        assert CONV2.synapses % simd == 0
        assert CONV2.channels_out % pe == 0
        # A group of the mask is cut by no beat and by no pixel.
        group = folding.mask_group(CONV2, Fold(simd, pe))
        assert simd % group == 0
        assert CONV2.channels_in % group == 0


def test_masks_are_for_padded_bits_only() -> None:
    fold = Fold(3, 1)
    assert folding.mask_group(Layer("a", "conv", 3, 4, 8, 3, 1), fold) == 3
    assert folding.mask_group(Layer("a", "conv", 3, 4, 8, 3, 1, input_bits=6), fold) == 0
    assert folding.mask_group(Layer("a", "conv", 3, 4, 8, 3), fold) == 0
    assert folding.mask_group(Layer("a", "dense", 9, 4), fold) == 0
