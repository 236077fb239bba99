"""Choices that were the fastest on an H200 (`mma_tuned.json`, written by `write`), by layer, arithmetic and batch."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from gpu.deconv.mma_gather import Gather
from gpu.deconv.mma_halo import Halo
from gpu.deconv.mma_pair import Pair
from gpu.deconv.mma_rows import Rows
from gpu.deconv.mma_scatter import Scatter
from workloads.deconv.layer import Layer

FILE = Path(__file__).with_name("mma_tuned.json")
Choice = Gather | Halo | Pair | Rows | Scatter
_FAMILIES: dict[str, type[Choice]] = {
    "gather": Gather,
    "halo": Halo,
    "pair": Pair,
    "rows": Rows,
    "scatter": Scatter,
}


def key(layer: Layer, arithmetic: str) -> str:
    """The shape of a layer and its arithmetic: all that the speed depends on."""
    sides = "x".join(map(str, layer.shape))
    numbers = f"k{layer.kernel} s{layer.stride} p{layer.padding} e{layer.extra}"
    return f"{sides} {layer.channels_in}>{layer.channels_out} {numbers} {layer.activation} {arithmetic}"


def of(layer: Layer, arithmetic: str, n: int) -> list[Choice]:
    """The fastest choices of the nearest batch, the best first; none for a shape that was not tuned.

    An arithmetic that was not tuned takes those of binary16, whose tiles are the same in bytes.
    """
    found = _table().get(key(layer, arithmetic)) or _table().get(key(layer, "fp16"), {})
    if not found:
        return []
    nearest = min(found, key=lambda batch: abs(math.log(int(batch) / n)))
    return [_choice(values) for values in found[nearest]]


def known() -> dict[str, dict[str, list[Choice]]]:
    """The whole table."""
    return {key: {n: [_choice(c) for c in found] for n, found in batches.items()} for key, batches in _table().items()}


def coded(choice: Choice) -> dict[str, Any]:
    """A choice as JSON."""
    return {"family": type(choice).__name__.lower(), **asdict(choice)}


def write(path: Path, table: Mapping[str, Mapping[str, list[Choice]]], source: Mapping[str, str]) -> None:
    """Write the table of a tuning run; `source` says how it was made."""
    choices = {k: {n: [coded(c) for c in found] for n, found in batches.items()} for k, batches in table.items()}
    lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(choices.items())]
    path.write_text(f'{{"source": {json.dumps(dict(source))},\n "choices": {{\n' + ",\n".join(lines) + "\n}}\n")


@cache
def _table() -> dict[str, dict[str, list[dict[str, Any]]]]:
    if not FILE.is_file():
        return {}
    found: dict[str, dict[str, list[dict[str, Any]]]] = json.loads(FILE.read_text())["choices"]
    return found


def _choice(values: Mapping[str, Any]) -> Choice:
    numbers: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k != "family"}
    return _FAMILIES[values["family"]](**numbers)
