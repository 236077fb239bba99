"""Images, inputs, operations and quality of the workload."""

from __future__ import annotations

import hashlib
import sys

import numpy as np
import pytest
from bcnn_oracles import by_popcount

from compare.provenance import hash_sources, repo_root
from gatewarp import oracle
from workloads.api import UnknownNameError
from workloads.bcnn import DIGITS, WORKLOAD, cifar, digits, parameters
from workloads.bcnn.cases import LAYERS
from workloads.bcnn.images import ImagesError

TRAINED = [name for name, case in WORKLOAD.cases.items() if case.trained]


def test_the_split_is_the_one_behind_every_figure() -> None:
    """Other images of the test set would void the accuracies, so their content is written down here."""
    parts = digits.load()
    test = hashlib.sha256(parts.test.pixels.tobytes() + parts.test.labels.tobytes()).hexdigest()
    assert test == "f5b804bc54d3ce7eb255d58fe9d60314fcf74b10c9fd9bbb85243dc627e2a275"
    assert [len(p) for p in (parts.train, parts.validation, parts.test)] == [1147, 200, 450]
    assert len(parts.test) / 1797 > 0.25
    assert len(parts.test) == digits.TEST == WORKLOAD.quality_samples


def test_the_parts_have_no_image_in_common_and_all_classes() -> None:
    parts = digits.load()
    every = (parts.train, parts.validation, parts.test)
    images = [image.tobytes() for part in every for image in part.pixels]
    assert len(set(images)) == len(images) == 1797
    for part in every:
        assert part.pixels.shape[1:] == (8, 8, 1)
        assert part.pixels.dtype == np.int8
        assert (part.pixels.min(), part.pixels.max()) == (-8, 8)
        assert np.abs(np.bincount(part.labels, minlength=10) / len(part) - 0.1).max() < 0.01


def test_a_missing_scikit_learn_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImagesError, match=r"come with scikit-learn .*pip install 'gatewarp\[data\]'"):
        digits.load.__wrapped__()


@pytest.mark.parametrize("case", WORKLOAD.cases)
def test_inputs_fit_and_are_reproducible(case: str) -> None:
    first = LAYERS[case][0]
    x = WORKLOAD.inputs(case, 41, seed=4)
    assert x.dtype == np.int8
    assert x.shape == (41, first.side, first.side, first.channels_in)
    parameters.load(case).network.check_images(x)
    assert np.array_equal(x, WORKLOAD.inputs(case, 41, seed=4))
    assert np.array_equal(x[:7], WORKLOAD.inputs(case, 7, seed=4))
    assert not np.array_equal(x, WORKLOAD.inputs(case, 41, seed=5))
    assert WORKLOAD.inputs(case, 0, seed=1).shape == (0, first.side, first.side, first.channels_in)


@pytest.mark.parametrize("case", TRAINED)
def test_inputs_of_a_trained_case_are_the_test_images_round_and_round(case: str) -> None:
    known = sorted(image.tobytes() for image in digits.load().test.pixels)
    x = [image.tobytes() for image in WORKLOAD.inputs(case, 1000, seed=8)]
    assert sorted(x[:450]) == sorted(x[450:900]) == known
    assert x[:450] != x[450:900]
    assert set(x[900:]) <= set(known)


def test_inputs_of_an_untrained_case_fill_the_range() -> None:
    for case, low, high in (("binarynet", -32, 31), ("cnv", -128, 127)):
        x = WORKLOAD.inputs(case, 10, seed=1)
        assert (x.min(), x.max()) == (low, high)
        assert "untrained" in WORKLOAD.cases[case].summary


@pytest.mark.parametrize("case", WORKLOAD.cases)
def test_extremes_are_the_ends_of_the_range(case: str) -> None:
    high = 2 ** (LAYERS[case][0].input_bits - 1)
    x = WORKLOAD.extremes(case)
    parameters.load(case).network.check_images(x)
    assert set(np.unique(x)) == {-high, 0, high - 1}
    assert len(np.unique(x, axis=0)) >= len(x) - 1, "a single channel makes two of them equal"
    assert (x[0] == -high).all()
    assert (x[1] == high - 1).all()
    assert x[2, 0, :4, 0].tolist() == x[2, :4, 0, 0].tolist() == [high - 1, -high, high - 1, -high]
    assert np.array_equal(x[2] == high - 1, x[3] == -high)


def test_operations_by_hand() -> None:
    """BinaryNet: two bit operations for each of its MACs but those of the first layer; 14,022,016 bits of weights."""
    found = WORKLOAD.operations("binarynet")
    assert found.macs == 616_966_144
    assert found.bit_operations == 2 * (616_966_144 - 3_538_944)
    assert found.weight_bytes == 14_022_016 // 8
    assert (found.bytes_in, found.bytes_out) == (3072, 20)
    small = WORKLOAD.operations("digits_small")
    macs = [64 * 9 * 8, 64 * 72 * 16, 16 * 144 * 16, 64 * 10]
    assert small.macs == sum(macs)
    assert small.bit_operations == 2 * sum(macs[1:])
    assert small.weight_bytes == (8 * 9 + 16 * 72 + 16 * 144 + 10 * 64) / 8
    assert (small.bytes_in, small.bytes_out) == (64, 20)


@pytest.mark.parametrize("case", TRAINED)
def test_quality_is_the_accuracy_on_the_whole_test_set(case: str) -> None:
    test = digits.load().test
    sums = by_popcount(parameters.load(case).network, test.pixels)
    # The lowest class of the largest sum, without argmax.
    answers = [min(c for c in range(10) if row[c] == max(row)) for row in sums.tolist()]
    right = sum(a == b for a, b in zip(answers, test.labels.tolist(), strict=True))
    assert WORKLOAD.quality(case, "binary") == {"accuracy": right / 450}


def test_the_digits_are_worth_using() -> None:
    assert WORKLOAD.quality("digits", "binary")["accuracy"] >= 0.95


def test_quality_is_recorded_with_the_size_of_the_test_set() -> None:
    (record,) = oracle.quality("bcnn", "digits")
    (measurement,) = record.measurements
    assert (measurement.quantity, measurement.samples) == ("quality.accuracy", 450)
    assert record.conditions["arithmetic"] == "binary"
    assert WORKLOAD.cases["binarynet"].quality_samples == cifar.TEST == 10_000


@pytest.mark.parametrize("case", [c for c in WORKLOAD.cases if c not in TRAINED])
def test_untrained_parameters_show_no_quality(case: str) -> None:
    assert case not in DIGITS
    assert WORKLOAD.quality(case, "binary") == {}
    assert list(oracle.quality("bcnn", case)) == []


@pytest.mark.parametrize("case", WORKLOAD.cases)
def test_sources_exist(case: str) -> None:
    assert hash_sources(repo_root(), WORKLOAD.sources(case))
    assert (f"workloads/bcnn/parameters/{case}.npz" in WORKLOAD.sources(case)) == WORKLOAD.cases[case].trained


def test_unknown_names_list_the_valid_ones() -> None:
    for call in (
        lambda: WORKLOAD.inputs("big", 1, 1),
        lambda: WORKLOAD.extremes("big"),
        lambda: WORKLOAD.operations("big"),
        lambda: WORKLOAD.sources("big"),
        lambda: WORKLOAD.quality("big", "binary"),
    ):
        with pytest.raises(UnknownNameError, match="unknown case 'big'; valid: binarynet, cnv, digits, digits_small"):
            call()
    for method in (
        lambda: WORKLOAD.quality("digits", "fp16"),
        lambda: WORKLOAD.reference("digits", np.zeros((1, 8, 8, 1), np.int8), "fp16"),
    ):
        with pytest.raises(UnknownNameError, match="unknown arithmetic 'fp16'; valid: binary"):
            method()
