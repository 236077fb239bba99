"""Parameters of each case: trained ones from the NPZ beside this file, seeded ones where there was no training."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from workloads.api import UnknownNameError
from workloads.bcnn.cases import LAYERS
from workloads.bcnn.network import Bits, Integers, Layer, Network

FOLDER = Path(__file__).parent / "parameters"
SEED = 1602


@dataclass(frozen=True)
class Parameters:
    """The network of a case; `training` is the record of its training, empty where there was none."""

    case: str
    network: Network
    training: Mapping[str, Any]

    @property
    def trained(self) -> bool:
        """Whether the parameters mean anything; seeded ones never show a quality figure."""
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
    return Parameters(case, seeded(LAYERS[case]), {})


def write(path: Path, network: Network, training: Mapping[str, Any]) -> None:
    """Write trained parameters, all or nothing: the bits of each layer's weights packed, and thresholds as int32.

    Errors: ValueError without a record of the training, which is what tells trained parameters from others.
    """
    if not training:
        raise ValueError(f"{path}: parameters without a record of their training")
    arrays: dict[str, Any] = {"training": np.array(json.dumps(dict(training), sort_keys=True))}
    for layer, weight, threshold in zip(network.layers, network.weights, network.thresholds, strict=True):
        arrays[f"{layer.name}.weights"] = np.packbits(weight.reshape(-1), bitorder="little")
        arrays[f"{layer.name}.shape"] = np.array(weight.shape, np.int32)
        if threshold is not None:
            arrays[f"{layer.name}.thresholds"] = threshold.astype(np.int32)
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
    arrays = _arrays(path)
    needed = {"training": ""} | {
        f"{layer.name}.{part}": f"{layer.name}: "
        for layer in layers
        for part in ("weights", "shape", *(() if layer.last else ("thresholds",)))
    }
    for name, owner in needed.items():
        if name not in arrays:
            raise ValueError(f"{path}: {owner}no array {name!r}; there are {', '.join(sorted(arrays)) or 'none'}")
    if strange := sorted(arrays.keys() - needed.keys()):
        raise ValueError(f"{path}: arrays that {case!r} does not have: {', '.join(strange)}")
    try:
        weights = tuple(_weights(layer, arrays) for layer in layers)
        thresholds = tuple(None if layer.last else arrays[f"{layer.name}.thresholds"] for layer in layers)
        network = Network(layers, weights, thresholds)
        return Parameters(case, network, _training(str(arrays["training"])))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        data = np.load(path, allow_pickle=False)
        if not isinstance(data, NpzFile):
            raise ValueError("a single array, not an NPZ")
        with data:
            return {name: data[name] for name in data.files}
    except (OSError, ValueError, RuntimeError, BadZipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: not a parameter file ({error})") from None


def _weights(layer: Layer, arrays: Mapping[str, NDArray[Any]]) -> Bits:
    packed, count = arrays[f"{layer.name}.weights"], int(np.prod(layer.weight_shape))
    shape = tuple(arrays[f"{layer.name}.shape"].reshape(-1).tolist())
    if shape != layer.weight_shape or packed.dtype != np.uint8 or packed.shape != (-(-count // 8),):
        raise ValueError(
            f"{layer.name}: weights of shape {shape} in {packed.dtype} {packed.shape}, but the layer needs "
            f"{layer.weight_shape} in uint8 {(-(-count // 8),)}"
        )
    return np.unpackbits(packed, count=count, bitorder="little").reshape(shape)


def _training(text: str) -> Mapping[str, Any]:
    try:
        training = json.loads(text)
    except ValueError as error:
        raise ValueError(f"training: not JSON ({error})") from None
    if not isinstance(training, dict) or not training:
        raise ValueError(f"training: {text[:60]} is no record of a training")
    return training


def seeded(layers: Sequence[Layer], seed: int = SEED) -> Network:
    """Random weights, and thresholds near the median of the sums, so that bits of both kinds come out of each layer.

    The median of the largest of four independent sums lies about one standard deviation above that of one.
    """
    rng = np.random.default_rng(seed)
    weights: list[Bits] = []
    thresholds: list[Integers | None] = []
    for layer in layers:
        count = int(np.prod(layer.weight_shape))
        packed = np.frombuffer(rng.bytes(-(-count // 8)), np.uint8)
        weights.append(np.unpackbits(packed, count=count, bitorder="little").reshape(layer.weight_shape))
        if layer.last:
            thresholds.append(None)
            continue
        deviation = layer.synapses**0.5 * (1.0 if layer.input_bits == 1 else 2.0 ** (layer.input_bits - 1) / 3**0.5)
        middle = deviation * (1.0 if layer.pool else 0.0)
        spread = rng.standard_normal(layer.channels_out) * deviation / 4
        thresholds.append(np.round(middle + spread).astype(np.int32))
    return Network(tuple(layers), tuple(weights), tuple(thresholds))
