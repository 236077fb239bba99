"""Parameters of each case: trained ones from the NPZ beside this file, seeded ones where there was no training."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

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
    """Write parameters, all or nothing: the bits of each layer's weights packed, and thresholds as int32."""
    arrays: dict[str, Any] = {"training": np.array(json.dumps(dict(training), sort_keys=True))}
    for layer, weight, threshold in zip(network.layers, network.weights, network.thresholds, strict=True):
        arrays[f"{layer.name}.weights"] = np.packbits(weight.reshape(-1), bitorder="little")
        arrays[f"{layer.name}.shape"] = np.array(weight.shape, np.int32)
        if threshold is not None:
            arrays[f"{layer.name}.thresholds"] = threshold.astype(np.int32)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part.npz")
    np.savez_compressed(temporary, **arrays)
    temporary.replace(path)


def read(path: Path, case: str) -> Parameters:
    """Read what `write` wrote. Errors: ValueError naming the file, the layer and the shape that it needs."""
    layers = LAYERS[case]
    try:
        with np.load(path, allow_pickle=False) as data:
            arrays = {name: data[name] for name in data.files}
    except (OSError, ValueError, BadZipFile, EOFError) as error:
        raise ValueError(f"{path}: not a parameter file ({error})") from None
    weights: list[Bits] = []
    thresholds: list[Integers | None] = []
    for layer in layers:
        needed = [f"{layer.name}.weights", f"{layer.name}.shape"]
        needed += [] if layer.last else [f"{layer.name}.thresholds"]
        for name in needed:
            if name not in arrays:
                raise ValueError(f"{path}: {layer.name}: no array {name!r}; there are {', '.join(sorted(arrays))}")
        shape = tuple(int(n) for n in arrays[f"{layer.name}.shape"])
        packed, count = arrays[f"{layer.name}.weights"], int(np.prod(layer.weight_shape))
        if shape != layer.weight_shape or packed.dtype != np.uint8 or packed.size != -(-count // 8):
            raise ValueError(
                f"{path}: {layer.name}: weights of shape {shape} in {packed.size} bytes, but the layer needs "
                f"{layer.weight_shape} in {-(-count // 8)} bytes"
            )
        weights.append(np.unpackbits(packed, count=count, bitorder="little").reshape(shape))
        thresholds.append(None if layer.last else arrays[f"{layer.name}.thresholds"].astype(np.int32))
    try:
        network = Network(layers, tuple(weights), tuple(thresholds))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return Parameters(case, network, json.loads(str(arrays.get("training", "{}"))))


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
