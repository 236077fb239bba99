"""The parameter file: what is written is read, and what does not fit is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workloads.api import UnknownNameError
from workloads.bcnn import parameters
from workloads.bcnn.cases import LAYERS
from workloads.bcnn.network import Layer, Network, check_parameters
from workloads.bcnn.parameters import read, seeded, write

CASE = "digits_small"
TRAINING = {"seed": 3, "validation_accuracy": 0.5}
Arrays = dict[str, Any]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "made" / "p.npz"
    write(path, seeded(LAYERS[CASE], 5), TRAINING)
    return path


def equal(a: Network, b: Network) -> bool:
    same = all(np.array_equal(x, y) for x, y in zip(a.weights, b.weights, strict=True))
    return same and all(
        (x is None) == (y is None) and (x is None or np.array_equal(x, y))
        for x, y in zip(a.thresholds, b.thresholds, strict=True)
    )


@pytest.mark.parametrize("case", LAYERS)
def test_what_is_written_is_read(case: str, tmp_path: Path) -> None:
    network = seeded(LAYERS[case], 5)
    path = tmp_path / "p.npz"
    write(path, network, TRAINING)
    loaded = read(path, case)
    assert equal(loaded.network, network)
    assert loaded.training == TRAINING
    assert loaded.trained
    assert [p.name for p in tmp_path.iterdir()] == ["p.npz"]
    bits = sum(int(np.prod(layer.weight_shape)) for layer in LAYERS[case])
    assert path.stat().st_size < bits // 8 + 4 * sum(la.channels_out for la in LAYERS[case]) + 8_000, "bits are packed"


def test_a_failed_write_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="disk full"):
        write(file, seeded(LAYERS[CASE], 6), TRAINING)
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == ["p.npz"]


def test_parameters_without_a_training_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="without a record of their training"):
        write(tmp_path / "p.npz", seeded(LAYERS[CASE]), {})
    assert not list(tmp_path.iterdir())


def drop(name: str) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.pop(name)


def put(name: str, value: Any) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.update({name: value})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (drop("conv2.weights"), r"conv2: no array 'conv2.weights'; there are conv1.shape, .*training"),
        (drop("conv1.thresholds"), "conv1: no array 'conv1.thresholds'"),
        (drop("fc1.shape"), "fc1: no array 'fc1.shape'"),
        (drop("training"), "no array 'training'"),
        (put("fc9.weights", np.zeros(1)), "arrays that 'digits_small' does not have: fc9.weights"),
        (put("fc1.thresholds", np.zeros(10, np.int32)), "does not have: fc1.thresholds"),
        (put("conv2.shape", np.array([8, 3, 3, 16])), r"conv2: weights of shape \(8, 3, 3, 16\) .* \(16, 3, 3, 8\)"),
        (put("conv2.weights", np.zeros(143, np.uint8)), r"conv2: .* in uint8 \(143,\), .* in uint8 \(144,\)"),
        (put("conv2.weights", np.zeros(144)), "conv2: weights .* in float64"),
        (put("conv3.thresholds", np.zeros(15, np.int32)), r"conv3: thresholds of shape \(15,\), .* needs \(16,\)"),
        (put("conv3.thresholds", np.zeros(16)), "conv3: thresholds of float64, but the layer needs int32"),
        (put("training", np.array("{")), "training: not JSON"),
        (put("training", np.array("[1]")), r"training: \[1\] is no record"),
        (put("training", np.array("{}")), "training: {} is no record"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(file: Path, spoil: Callable[[Arrays], None], message: str) -> None:
    with np.load(file) as data:
        arrays = dict(data)
    spoil(arrays)
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match=message) as raised:
        read(file, CASE)
    assert str(file) in str(raised.value)


def test_the_file_of_another_case_is_refused(file: Path) -> None:
    with pytest.raises(ValueError, match=r"p\.npz: fc1: no array 'fc1.thresholds'"):
        read(file, "digits")


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 cut", None], ids=["empty", "text", "zip cut", "npy"])
def test_another_kind_of_file_is_refused(file: Path, content: bytes | None) -> None:
    if content is None:
        with file.open("wb") as out:
            np.save(out, np.zeros(3))
    else:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=r"p\.npz: not a parameter file"):
        read(file, CASE)


def test_a_damaged_file_is_refused_or_says_the_same(file: Path) -> None:
    """A byte turned over anywhere: some of an archive's, such as dates, do not matter, but none changes the network."""
    whole, network = file.read_bytes(), seeded(LAYERS[CASE], 5)
    refused = []
    places = range(0, len(whole), 5)
    for place in places:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            loaded = read(file, CASE)
        except ValueError as error:
            refused.append(str(error))
        else:
            assert equal(loaded.network, network), place
            assert loaded.training == TRAINING, place
    assert len(refused) > len(places) / 2
    assert all(message.startswith(str(file)) for message in refused)


def test_a_cut_or_missing_file_is_refused(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"p\.npz: not a parameter file"):
        read(file, CASE)
    with pytest.raises(ValueError, match=r"none\.npz: not a parameter file"):
        read(file.with_name("none.npz"), CASE)


LAYER = Layer("conv7", "conv", 2, 3, 4, 3)


@pytest.mark.parametrize("value", [2, 255])
def test_weights_are_bits(value: int) -> None:
    weights = np.zeros(LAYER.weight_shape, np.uint8)
    weights[1, 2, 0, 1] = value
    with pytest.raises(ValueError, match=f"conv7: weights are bits, .* but one is {value}"):
        check_parameters(LAYER, weights, np.zeros(3, np.int32))


def test_weights_of_minus_one_are_no_bits() -> None:
    with pytest.raises(ValueError, match=r"conv7: weights are bits, .* but one is -1"):
        check_parameters(LAYER, -np.ones(LAYER.weight_shape, np.int8), np.zeros(3, np.int32))


def test_thresholds_belong_to_all_layers_but_the_last() -> None:
    weights = np.zeros(LAYER.weight_shape, np.uint8)
    with pytest.raises(ValueError, match=r"conv7: thresholds of shape None, but the layer needs \(3,\)"):
        check_parameters(LAYER, weights, None)
    last = Layer("fc", "dense", 2, 3, last=True)
    with pytest.raises(ValueError, match="fc: the last layer returns sums and has no thresholds"):
        check_parameters(last, np.zeros((3, 2), np.uint8), np.zeros(3, np.int32))
    with pytest.raises(ValueError, match="1 layers, but weights of 2 and thresholds of 1"):
        Network((last,), (weights, weights), (None,))


def test_seeded_parameters_are_the_same_and_pass_both_bits() -> None:
    assert equal(seeded(LAYERS["cnv"]), seeded(LAYERS["cnv"]))
    assert not equal(seeded(LAYERS["cnv"]), seeded(LAYERS["cnv"], 7))
    for case in ("cnv", "digits"):
        network = seeded(LAYERS[case])
        high = 2 ** (network.layers[0].input_bits - 1)
        x = np.random.default_rng(1).integers(-high, high, (4, *network.input_shape), np.int8)
        for layer, bits in zip(network.layers[:-1], network.outputs(x), strict=False):
            assert 0.3 < bits.mean() < 0.7, (case, layer.name)


def test_a_case_without_a_file_is_seeded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(parameters, "FOLDER", tmp_path)
    parameters.load.cache_clear()
    try:
        assert not parameters.load("digits").trained
        write(tmp_path / "digits.npz", seeded(LAYERS["digits"], 9), TRAINING)
        parameters.load.cache_clear()
        assert parameters.load("digits").trained
    finally:
        parameters.load.cache_clear()
    with pytest.raises(UnknownNameError, match="unknown case 'big'; valid: binarynet, cnv, digits, digits_small"):
        parameters.load("big")


def test_shipped_files_tell_how_they_were_trained() -> None:
    files = sorted(parameters.FOLDER.glob("*.npz"))
    assert "digits" in {f.stem for f in files}
    for file in files:
        training = read(file, file.stem).training
        assert training["command"] == f"python -m workloads.bcnn.train {file.stem}"
        assert {"date", "host", "seconds", "recipe", "epoch", "images", "validation_accuracy", "tools"} <= set(training)
        json.dumps(training)
