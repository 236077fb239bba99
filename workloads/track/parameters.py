"""Parameters of each case: trained ones from the JSON beside this file, seeded ones where there was no training."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from workloads.api import UnknownNameError
from workloads.track.network import FixedLayer, FixedNetwork, FloatLayer, FloatNetwork, Format

FOLDER = Path(__file__).parent / "parameters"

#: Widths of each case. The hidden widths of `embed` and `compact` are our own choice: those of the LHCb network
#: (arXiv 2502.02304) are not published where we could read them. `exatrkx` has the shape of the Exa.TrkX embedding
#: (12 inputs, 6 layers of 512, 8 outputs, tanh) with seeded, untrained parameters.
WIDTHS: Mapping[str, tuple[int, ...]] = {
    "embed": (3, 32, 32, 32, 32, 4),
    "compact": (3, 16, 16, 4),
    "exatrkx": (12, 512, 512, 512, 512, 512, 512, 8),
}
TRAINED = ("embed", "compact")
SEED = 2502


@dataclass(frozen=True)
class Parameters:
    """Networks of one case. `fixed` and `radius` are None where nothing was trained; `training` is the record of it."""

    case: str
    float_network: FloatNetwork
    fixed: FixedNetwork | None
    radius: float | None
    training: Mapping[str, Any]

    @property
    def trained(self) -> bool:
        """Whether the parameters mean anything; seeded ones never show a quality figure."""
        return self.fixed is not None


def path_of(case: str) -> Path:
    """The JSON file of a trained case."""
    return FOLDER / f"{case}.json"


def keras_path_of(case: str) -> Path:
    """The HGQ2 model of a trained case, a Keras file that says the same as the JSON."""
    return FOLDER / f"{case}.keras"


@cache
def load(case: str) -> Parameters:
    """Load a case. Errors: UnknownNameError listing the cases."""
    if case not in WIDTHS:
        raise UnknownNameError("case", case, tuple(WIDTHS))
    if case not in TRAINED:
        return Parameters(case, _seeded(WIDTHS[case], "tanh"), None, None, {})
    data = json.loads(path_of(case).read_text())
    return Parameters(
        case, _float_from(data["float"]), _fixed_from(data["fixed"]), float(data["radius"]), data["training"]
    )


def save(
    case: str, float_network: FloatNetwork, fixed: FixedNetwork, radius: float, training: Mapping[str, Any]
) -> None:
    """Write the JSON of a trained case, all or nothing."""
    data = {
        "case": case,
        "radius": radius,
        "training": training,
        "fixed": _fixed_to(fixed),
        "float": [
            {"weight": la.weight.tolist(), "bias": la.bias.tolist(), "activation": la.activation}
            for la in float_network.layers
        ],
    }
    part = path_of(case).with_suffix(".json.part")
    part.write_text(json.dumps(data, separators=(",", ":")).replace("],[", "],\n[") + "\n")
    part.rename(path_of(case))


def _seeded(widths: tuple[int, ...], activation: str) -> FloatNetwork:
    """Glorot-uniform weights from a fixed seed."""
    rng = np.random.default_rng(SEED)
    layers: list[FloatLayer] = []
    for n_in, n_out in itertools.pairwise(widths):
        limit = np.sqrt(6 / (n_in + n_out))
        weight = rng.uniform(-limit, limit, (n_in, n_out)).astype(np.float32)
        bias = rng.uniform(-0.1, 0.1, n_out).astype(np.float32)
        last = len(layers) == len(widths) - 2
        layers.append(FloatLayer(weight, bias, "linear" if last else activation))
    return FloatNetwork(tuple(layers))


def _float_from(layers: list[dict[str, Any]]) -> FloatNetwork:
    return FloatNetwork(
        tuple(
            FloatLayer(np.array(la["weight"], np.float32), np.array(la["bias"], np.float32), la["activation"])
            for la in layers
        )
    )


def _format_to(f: Format) -> dict[str, Any]:
    return {
        "signed": f.signed.tolist(),
        "integer": f.integer.tolist(),
        "fraction": f.fraction.tolist(),
        "overflow": f.overflow,
    }


def _format_from(d: dict[str, Any]) -> Format:
    k, i, f = (np.array(d[name], np.int64) for name in ("signed", "integer", "fraction"))
    return Format(k, i, f, d["overflow"])


def _fixed_to(network: FixedNetwork) -> dict[str, Any]:
    return {
        "input": _format_to(network.input),
        "layers": [
            {
                "weight": la.weight.tolist(),
                "weight_fraction": la.weight_fraction,
                "bias": la.bias.tolist(),
                "bias_fraction": la.bias_fraction,
                "relu": la.relu,
                "output": _format_to(la.output),
            }
            for la in network.layers
        ],
    }


def _fixed_from(data: dict[str, Any]) -> FixedNetwork:
    layers = tuple(
        FixedLayer(
            np.array(la["weight"], np.int64),
            la["weight_fraction"],
            np.array(la["bias"], np.int64),
            la["bias_fraction"],
            la["relu"],
            _format_from(la["output"]),
        )
        for la in data["layers"]
    )
    return FixedNetwork(_format_from(data["input"]), layers)
