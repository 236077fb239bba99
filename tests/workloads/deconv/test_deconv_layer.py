"""Shapes and counts against publications and against counting; what cannot be is refused by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from deconv_oracles import grid, kept_by_counting

from workloads.deconv import WORKLOAD
from workloads.deconv.algorithms import scatter
from workloads.deconv.cases import LAYERS, UNCHAINED
from workloads.deconv.layer import Layer, check_chain


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_kept_macs_are_those_counted_one_by_one(dimensions: int) -> None:
    for layer in grid(dimensions):
        assert layer.kept_macs == kept_by_counting(layer), layer
        assert 0 <= layer.kept_macs <= layer.macs
        ones = scatter(layer, np.ones((1, *layer.shape, 2), int), np.ones(layer.weight_shape, int))
        assert layer.kept_macs == ones.sum(), "each product of ones adds one to one output"


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_nothing_is_lost_without_padding(dimensions: int) -> None:
    assert all(la.kept_macs == la.macs for la in grid(dimensions) if la.padding == 0)


def test_published_counts() -> None:
    """Layer by layer for QDCGAN; whole for 3D-GAN. In multiply-accumulates, cropped ones included."""
    assert [round(layer.macs / 1e6, 2) for layer in LAYERS["celeba"]] == [0.26, 8.39, 8.39, 8.39, 1.57]
    assert round(WORKLOAD.operations("celeba").macs / 1e6, 1) == 27.0
    assert round(WORKLOAD.operations("mnist").macs / 1e6, 2) == 4.39
    assert round(WORKLOAD.operations("gan3d").macs / 1e9, 2) == 3.90


@pytest.mark.parametrize(("case", "ratio"), [("mnist", 4), ("celeba", 4), ("dcgan", 4), ("gan3d", 8), ("vnet", 8)])
def test_equivalent_counts_are_stride_to_the_dimensions(case: str, ratio: int) -> None:
    doubling = [layer for layer in LAYERS[case] if layer.stride == 2]
    assert doubling
    for layer in doubling:
        assert layer.shape_out == tuple(2 * side for side in layer.shape)
        assert layer.equivalent_macs == ratio * layer.macs
    # The first layer of a generator, from one position to 4 a side: each output sees the whole kernel.
    for layer in set(LAYERS[case]) - set(doubling):
        assert layer.equivalent_macs == layer.macs * math.prod(layer.shape_out)


def test_published_shapes() -> None:
    def rows(case: str) -> list[tuple[int, int, int, int, int, int, int]]:
        return [
            (la.channels_in, la.channels_out, la.shape[-1], la.shape_out[-1], la.kernel, la.stride, la.padding)
            for la in LAYERS[case]
        ]

    assert rows("celeba") == [
        (64, 256, 1, 4, 4, 1, 0),
        (256, 128, 4, 8, 4, 2, 1),
        (128, 64, 8, 16, 4, 2, 1),
        (64, 32, 16, 32, 4, 2, 1),
        (32, 3, 32, 64, 4, 2, 1),
    ]
    assert rows("mnist") == [
        (32, 128, 1, 4, 4, 1, 0),
        (128, 64, 4, 8, 4, 2, 1),
        (64, 32, 8, 16, 4, 2, 1),
        (32, 1, 16, 32, 4, 2, 1),
    ]
    assert rows("gan3d") == [
        (200, 512, 1, 4, 4, 1, 0),
        (512, 256, 4, 8, 4, 2, 1),
        (256, 128, 8, 16, 4, 2, 1),
        (128, 64, 16, 32, 4, 2, 1),
        (64, 1, 32, 64, 4, 2, 1),
    ]
    assert [row[:4] for row in rows("dcgan")] == [
        (100, 1024, 1, 4),
        (1024, 512, 4, 8),
        (512, 256, 8, 16),
        (256, 128, 16, 32),
        (128, 3, 32, 64),
    ]
    assert {row[4:6] for row in rows("dcgan")[1:]} == {(5, 2)}
    assert [row[:2] for row in rows("vnet")] == [(256, 128), (256, 64), (128, 32), (64, 16)]
    assert {row[4:] for row in rows("vnet")} == {(2, 2, 0)}
    assert LAYERS["vnet"][-1].shape_out == (64, 128, 128)
    assert {case: la[-1].activation for case, la in LAYERS.items() if case not in UNCHAINED} == {
        "digits": "tanh", "mnist": "tanh", "celeba": "tanh", "dcgan": "tanh", "gan3d": "sigmoid"
    }  # fmt: skip
    assert all(la.activation == "clip" for case in LAYERS for la in LAYERS[case][:-1])


def test_digits_fit_a_small_part() -> None:
    """What the FPGA side counts on: channels between layers in multiples of 32, weights for its block memory."""
    layers = LAYERS["digits"]
    assert all(layer.channels_out % 32 == 0 for layer in layers[:-1])
    assert (layers[0].inputs, layers[-1].shape_out, layers[-1].channels_out) == (32, (8, 8), 1)
    assert sum(layer.macs for layer in layers) < 1_500_000
    assert sum(layer.weights for layer in layers) < 120_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"channels_in": 0}, "up3: input channels of 0; a whole number of at least 1"),
        ({"channels_out": -2}, "up3: output channels of -2; a whole number of at least 1"),
        ({"kernel": 0}, "up3: a kernel of 0; a whole number of at least 1"),
        ({"stride": 0}, "up3: a stride of 0; a whole number of at least 1"),
        ({"padding": -1}, "up3: a padding of -1; a whole number of at least 0"),
        ({"extra": -1}, "up3: extra positions of -1; a whole number of at least 0"),
        ({"extra": 2}, "up3: 2 extra positions; fewer than the stride of 2"),
        ({"stride": 1, "extra": 1}, "up3: 1 extra positions; fewer than the stride of 1"),
        ({"shape": ()}, r"up3: an input of shape \(\); every side must be at least 1"),
        ({"shape": (4, 0)}, r"up3: an input of shape \(4, 0\); every side must be at least 1"),
        ({"activation": "relu"}, "up3: activation 'relu'; valid: linear, clip, tanh, sigmoid"),
        ({"padding": 5}, "up3: an input side of 4 with kernel 4, stride 2 and padding 5 gives an output side of 0; it"),
        ({"padding": 9}, "kernel 4, stride 2 and padding 9 gives an output side of -8; it must be at least 1"),
        ({"shape": (9, 1), "padding": 2}, "up3: an input side of 1 with .* gives an output side of 0"),
    ],
)
def test_layers_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"shape": (4, 4), "channels_in": 2, "channels_out": 3, "kernel": 4, "stride": 2}
    Layer("up3", **good)
    with pytest.raises(ValueError, match=message):
        Layer("up3", **{**good, **change})


def test_an_output_of_one_is_the_smallest() -> None:
    assert Layer("up3", (4, 4), 1, 1, 3, 2, 4).shape_out == (1, 1)


def test_chains_that_do_not_fit_are_refused() -> None:
    a, b = Layer("a", (4, 4), 2, 3, 4, 2, 1), Layer("b", (8, 8), 3, 1, 3, 1, 1)
    check_chain((a, b))
    for wrong, message in (
        (Layer("b", (8, 8), 4, 1, 3), r"b: takes 4 channels of shape \(8, 8\), but a gives 3 of \(8, 8\)"),
        (Layer("b", (8, 7), 3, 1, 3), r"b: takes 3 channels of shape \(8, 7\), but a gives 3 of \(8, 8\)"),
        (Layer("b", (8,), 3, 1, 3), r"b: takes 3 channels of shape \(8,\), but a gives"),
    ):
        with pytest.raises(ValueError, match=message):
            check_chain((a, wrong))
    with pytest.raises(ValueError, match="a network needs a layer"):
        check_chain(())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": 4.5}, "up: a kernel of 4.5; a whole number of at least 1"),
        ({"stride": True}, "up: a stride of True; a whole number of at least 1"),
        ({"padding": None}, "up: a padding of None; a whole number of at least 0"),
        ({"shape": (4.5, 4)}, r"up: an input of shape \(4.5, 4\); a tuple of whole numbers"),
        ({"shape": [4, 4]}, r"up: an input of shape \[4, 4\]; a tuple of whole numbers"),
    ],
)
def test_sizes_of_another_type_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Layer(
            **({"name": "up", "shape": (4, 4), "channels_in": 1, "channels_out": 1, "kernel": 4, "stride": 2} | change)
        )
