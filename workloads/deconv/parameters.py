"""Parameters of each case: trained ones from the NPZ beside this file, seeded ones where there was no training."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from workloads.api import UnknownNameError
from workloads.deconv.cases import LAYERS, UNCHAINED
from workloads.deconv.network import FixedNetwork, Network, Reals

FOLDER = Path(__file__).parent / "parameters"
SEED = 2102


@dataclass(frozen=True)
class Parameters:
    """The network of a case; `training` is the record of its training, empty where there was none."""

    case: str
    network: Network
    training: Mapping[str, Any]

    @property
    def trained(self) -> bool:
        """Whether the parameters mean anything."""
        return bool(self.training)


def path_of(case: str) -> Path:
    """The NPZ file of a trained case; a case without one gets seeded parameters."""
    return FOLDER / f"{case}.npz"


@cache
def load(case: str) -> Parameters:
    """Load a case. Errors: UnknownNameError listing the cases; ValueError for a file that does not fit."""
    if case not in LAYERS:
        raise UnknownNameError("case", case, tuple(LAYERS))
    if path_of(case).is_file():
        return read(path_of(case), case)
    return Parameters(case, seeded(case), {})


@cache
def fixed(case: str, bits: int) -> FixedNetwork:
    """The integers of a case. Errors: as of `load`."""
    return load(case).network.fixed(bits)


def write(path: Path, network: Network, training: Mapping[str, Any]) -> None:
    """Write trained parameters, all or nothing.

    Errors: ValueError without a record of the training, which is what tells trained parameters from others.
    """
    if not training:
        raise ValueError(f"{path}: parameters without a record of their training")
    arrays: dict[str, Any] = {"training": np.array(json.dumps(dict(training), sort_keys=True))}
    for layer, weight, bias in zip(network.layers, network.weights, network.biases, strict=True):
        arrays[f"{layer.name}.weights"], arrays[f"{layer.name}.biases"] = weight, bias
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.part")
    try:
        with temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path, case: str) -> Parameters:
    """Read what `write` wrote. Errors: ValueError naming the file, the layer and what it needs."""
    layers = LAYERS[case]
    try:
        with np.load(path, allow_pickle=False) as data:
            arrays = {name: data[name] for name in data.files}
    except Exception as error:  # numpy and zipfile raise a dozen kinds for a file that is none
        raise ValueError(f"{path}: not a parameter file ({error})") from None
    needed = {"training", *(f"{layer.name}.{part}" for layer in layers for part in ("weights", "biases"))}
    if needed != arrays.keys():
        raise ValueError(
            f"{path}: has {', '.join(sorted(arrays)) or 'nothing'}, but {case!r} needs {', '.join(sorted(needed))}"
        )
    try:
        network = Network(
            layers,
            tuple(arrays[f"{layer.name}.weights"] for layer in layers),
            tuple(arrays[f"{layer.name}.biases"] for layer in layers),
            case not in UNCHAINED,
        )
        training = _training(str(arrays["training"]))
        if not isinstance(training, dict) or not training:
            raise ValueError("training: no record of a training")
        return Parameters(case, network, training)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _training(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"training: its record must be JSON, but begins with {text[:20]!r} ({error})") from None


def seeded(case: str, seed: int = SEED) -> Network:
    """Random parameters with which about half of the activations of each layer lie inside their range.

    Weights are normal with such a deviation that sums have one of 0.7; the mean square of an input is 1/3 for numbers
    spread evenly over the range, and about 1/5 behind a clipped ReLU of such sums.
    """
    rng = np.random.default_rng(seed)
    weights: list[Reals] = []
    biases: list[Reals] = []
    for number, layer in enumerate(LAYERS[case]):
        square = 1 / 3 if number == 0 or case in UNCHAINED else 1 / 5
        taps = (layer.kernel / layer.stride) ** layer.dimensions if layer.inputs > layer.channels_in else 1
        products = layer.channels_in * taps
        deviation = 0.7 / np.sqrt(products * square)
        weights.append(rng.standard_normal(layer.weight_shape, np.float32) * np.float32(deviation))
        biases.append(rng.standard_normal(layer.channels_out, np.float32) * np.float32(0.1))
    return Network(LAYERS[case], tuple(weights), tuple(biases), case not in UNCHAINED)
