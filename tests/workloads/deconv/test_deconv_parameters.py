"""The parameter file: what is written is read, and what does not fit is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workloads.api import UnknownNameError
from workloads.deconv import parameters
from workloads.deconv.cases import LAYERS, UNCHAINED
from workloads.deconv.network import Network
from workloads.deconv.parameters import read, seeded, write

CASE = "digits"
TRAINING = {"seed": 3, "estimated_distance": 0.5}
Arrays = dict[str, Any]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "made" / "p.npz"
    write(path, seeded(CASE, 5), TRAINING)
    return path


def equal(a: Network, b: Network) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a.weights + a.biases, b.weights + b.biases, strict=True))


@pytest.mark.parametrize("case", ["digits", "mnist", "vnet"])
def test_what_is_written_is_read(case: str, tmp_path: Path) -> None:
    network = seeded(case, 5)
    path = tmp_path / "p.npz"
    write(path, network, TRAINING)
    loaded = read(path, case)
    assert equal(loaded.network, network)
    assert loaded.network.chained == (case not in UNCHAINED)
    assert loaded.training == TRAINING
    assert loaded.trained
    assert [p.name for p in tmp_path.iterdir()] == ["p.npz"]


def test_a_failed_write_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="disk full"):
        write(file, seeded(CASE, 6), TRAINING)
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == ["p.npz"]


def test_parameters_without_a_training_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="without a record of their training"):
        write(tmp_path / "p.npz", seeded(CASE), {})
    assert not list(tmp_path.iterdir())


def drop(name: str) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.pop(name)


def put(name: str, value: Any) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.update({name: value})


NAN = np.zeros(LAYERS[CASE][1].channels_out, np.float32)
NAN[7] = np.nan


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (drop("deconv2.weights"), r"has deconv1.biases, .*, but 'digits' needs .*deconv2.weights"),
        (drop("deconv1.biases"), "'digits' needs deconv1.biases"),
        (drop("training"), "'digits' needs .*training"),
        (put("deconv9.weights", np.zeros(1)), "has .*deconv9.weights, .*but 'digits' needs"),
        (put("deconv2.weights", np.zeros((2, 2), np.float32)), r"deconv2: weights of shape \(2, 2\), but the layer"),
        (put("deconv2.biases", NAN.astype(np.float64)), "deconv2: biases of float64, but the layer needs float32"),
        (put("deconv2.biases", NAN), r"deconv2: biases must be finite, but 1 are not, the first at \(7,\)"),
        (
            put("training", np.array("{")),
            r"training: its record must be JSON, but begins with '\{' \(Expecting property",
        ),
        (put("training", np.array("two days")), "training: its record must be JSON, but begins with 'two days'"),
        (put("training", np.array("[1]")), "training: no record of a training"),
        (put("training", np.array("{}")), "training: no record of a training"),
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
    with pytest.raises(ValueError, match=r"p\.npz: has .*, but 'mnist' needs .*deconv4.weights"):
        read(file, "mnist")


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
    """A byte turned over in a hundred places: some of an archive's do not matter, but none changes the network."""
    whole, network = file.read_bytes(), seeded(CASE, 5)
    refused = []
    places = range(0, len(whole), len(whole) // 100)
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


@pytest.mark.parametrize("case", ["digits", "mnist", "celeba"])
def test_seeded_parameters_are_the_same_and_use_the_range(case: str) -> None:
    network = seeded(case)
    assert equal(network, seeded(case))
    assert not equal(network, seeded(case, 7))
    x = np.random.default_rng(1).integers(-128, 128, (8, *network.input_shape)) / 128
    for depth in range(1, len(network.layers)):
        part = Network(network.layers[:depth], network.weights[:depth], network.biases[:depth])
        inside = part(x)
        assert 0.3 < ((inside > 0) & (inside < 1)).mean() < 0.7, (case, depth)
    assert 0.2 < np.abs(network(x)).mean() < 0.8


def test_a_case_without_a_file_is_seeded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(parameters, "FOLDER", tmp_path)
    parameters.load.cache_clear()
    parameters.fixed.cache_clear()
    try:
        assert not parameters.load(CASE).trained
        assert equal(parameters.load(CASE).network, seeded(CASE))
        write(tmp_path / "digits.npz", seeded(CASE, 9), TRAINING)
        parameters.load.cache_clear()
        assert parameters.load(CASE).trained
        assert equal(parameters.load(CASE).network, seeded(CASE, 9))
        weight = parameters.fixed(CASE, 8).layers[0]
        assert (
            np.abs(weight.weight * 2.0**-weight.fraction - seeded(CASE, 9).weights[0]).max() <= 0.5**weight.fraction / 2
        )
    finally:
        parameters.load.cache_clear()
        parameters.fixed.cache_clear()
    with pytest.raises(UnknownNameError, match="unknown case 'big'; valid: digits, mnist, celeba, dcgan, gan3d, vnet"):
        parameters.load("big")


def test_shipped_files_tell_how_they_were_trained() -> None:
    files = sorted(parameters.FOLDER.glob("*.npz"))
    assert [f.stem for f in files] == ["digits"]
    for file in files:
        training = read(file, file.stem).training
        assert training["command"].startswith("python -m workloads.deconv.train")
        assert {"date", "host", "seconds", "recipe", "images", "estimated_distance", "tools"} <= set(training)
        json.dumps(training)
