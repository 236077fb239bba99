"""Launch of `mma_rows.cu`: whole rows of images, all kernel elements as columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpu.deconv.launch import Launch, Stage, Unsupported
from gpu.deconv.layout import Network
from gpu.deconv.mma_numbers import Numbers, numbers
from gpu.deconv.mma_text import OPTIONS, text
from workloads.deconv.layer import Layer

ENTRY = "rows"
#: Inputs of a row that a warp takes, and columns of a tile.
MOST_INPUTS, COLUMNS = 32, 8
#: Bytes of weights in shared memory.
MOST_WEIGHTS = 40 * 1024
#: Tiles of sums that fit the registers.
MOST_SUMS = 16
_LANE = np.arange(32)


@dataclass(frozen=True)
class Rows:
    """What tuning may choose: rows of positions that a warp finishes, the warps of a block, rows fetched `ahead`."""

    strip: int
    warps: int = 4
    ahead: int = 0

    def __str__(self) -> str:
        return f"rows strip={self.strip} warps={self.warps}" + f" ahead={self.ahead}" * bool(self.ahead)


def slots(layer: Layer) -> tuple[list[list[int]], list[list[int]]]:
    """(reaches of each phase of rows in order, reach of each phase of columns in each tile)."""
    lines = [sorted(d for d, f in layer.taps if f == phase) for phase in range(layer.stride)]
    tiles: list[dict[int, int]] = []
    for d in sorted({d for d, _ in layer.taps}, key=abs):
        own = {f: d for e, f in layer.taps if e == d}
        free = next((tile for tile in tiles if not tile.keys() & own.keys()), None)
        if free is None:
            tiles.append(own)
        else:
            free.update(own)
    return lines, [[tile.get(f, 0) for f in range(layer.stride)] for tile in tiles]


def check(layer: Layer, size: int) -> None:
    """Errors: Unsupported for a layer that the kernel cannot do with numbers of `size` bytes."""
    lines, tiles = slots(layer)
    bytes_in, run = layer.channels_in * size, layer.stride * layer.channels_out
    reach = max(abs(d) for d, _ in layer.taps)
    wanted = tuple(layer.stride * side for side in layer.shape)
    if layer.dimensions != 2 or layer.shape[1] > MOST_INPUTS:
        raise Unsupported(
            f"{layer.name}: an input of {layer.shape}; needs an image, at most {MOST_INPUTS} inputs a row"
        )
    if layer.shape_out != wanted or bytes_in % 16:
        raise Unsupported(
            f"{layer.name}: {layer.shape_out} outputs of {bytes_in} bytes; needs {wanted}, a multiple of 16 bytes"
        )
    if run > COLUMNS or reach > 1:
        raise Unsupported(
            f"{layer.name}: {run} numbers of a position, taps that reach {reach}; at most {COLUMNS}, and 1"
        )
    if not all(lines):
        raise Unsupported(f"{layer.name}: {sum(not line for line in lines)} phases without taps; each needs one")
    if shared(layer, size) > MOST_WEIGHTS or sum(map(len, lines)) * len(tiles) > MOST_SUMS:
        raise Unsupported(
            f"{layer.name}: {shared(layer, size)} bytes of weights, {sum(map(len, lines)) * len(tiles)} tiles of sums; "
            f"at most {MOST_WEIGHTS}, and {MOST_SUMS}"
        )


def shared(layer: Layer, size: int) -> int:
    """Bytes of shared memory: the weights."""
    lines, tiles = slots(layer)
    return sum(map(len, lines)) * -(-layer.channels_in * size // 64) * len(tiles) * 512


def row_bytes(layer: Layer, size: int) -> int:
    """Bytes of shared memory for a row of inputs of a warp: whole tiles of 16 inputs, of 64 bytes of channels."""
    return -(-layer.channels_in * size // 64) * -(-layer.shape[1] // 16) * 1024


def stage(network: Network, index: int, choice: Rows, arithmetic: str, n: int) -> Stage:
    """A layer as one launch. Errors: Unsupported."""
    values = numbers(network, index, arithmetic)
    layer = network.layers[index]
    check(layer, values.size)
    constants = constants_of(values)
    strips = n * -(-layer.shape[0] // choice.strip)
    launch = Launch(
        _text(values, choice),
        ENTRY,
        ("in", "out", *constants, n),
        -(-strips // choice.warps),
        32 * choice.warps,
        shared(layer, values.size) + choice.warps * choice.ahead * row_bytes(layer, values.size),
        OPTIONS,
        dependent=True,
    )
    return Stage((launch,), constants)


def _text(values: Numbers, choice: Rows) -> str:
    layer = values.layer
    macros: dict[str, int | str] = {
        "INT8": int(values.size == 1),
        "CIN": layer.channels_in,
        "IY": layer.shape[0],
        "IX": layer.shape[1],
        "OUT": layer.channels_out,
        "SY": layer.stride,
        "SX": layer.stride,
        "STRIP": choice.strip,
        **lists(layer),
        "MT": -(-layer.shape[1] // 16),
        "WARPS": choice.warps,
        "AHEAD": choice.ahead,
        **values.macros,
    }
    return text("rows", macros)


def lists(layer: Layer) -> dict[str, int | str]:
    """Macros LOW, COUNT, FIRST, SLOTS, REACH and TILES: where the sums of each phase are."""
    lines, tiles = slots(layer)
    return {
        "LOW": braces(line[0] for line in lines),
        "COUNT": braces(map(len, lines)),
        "FIRST": braces(sum(map(len, lines[:f])) for f in range(len(lines))),
        "SLOTS": sum(map(len, lines)),
        "REACH": braces(map(braces, tiles)),
        "TILES": len(tiles),
    }


@lru_cache(maxsize=64)
def constants_of(values: Numbers) -> dict[str, NDArray[np.generic]]:
    """Fragments (slots, deep, tiles, 32 lanes, 16 bytes) of the weights, biases, and the table."""
    layer = values.layer
    lines, tiles = slots(layer)
    out, deep = layer.channels_out, -(-layer.channels_in * values.size // 64)
    element = {tap: k for k, tap in enumerate(layer.taps)}
    blocks: list[NDArray[np.uint8]] = []
    for phase, line in enumerate(lines):
        for d in line:
            columns = np.zeros((len(tiles), COLUMNS, layer.channels_in), values.weight.dtype)
            for j, tile in enumerate(tiles):
                for f, reach in enumerate(tile):
                    if (reach, f) in element and (reach or j == _home(tiles, f)):
                        found = values.weight[:, element[d, phase], element[reach, f]]
                        columns[j, f * out : (f + 1) * out] = found.T
            padded = np.zeros((len(tiles), COLUMNS, deep * 64), np.uint8)
            raw = columns.view(np.uint8)
            padded[..., : raw.shape[-1]] = raw
            units = padded.reshape(len(tiles), COLUMNS, deep, 4, 16)
            blocks.append(units[:, _LANE // 4, :, _LANE % 4].transpose(2, 1, 0, 3))
    return {"weights": np.ascontiguousarray(np.stack(blocks)), "bias": values.bias, "lookup": values.lookup}


def _home(tiles: list[list[int]], phase: int) -> int:
    """The tile with the products of a phase that do not move: the first one that says so."""
    return next(j for j, tile in enumerate(tiles) if tile[phase] == 0)


def braces(values: Iterable[object]) -> str:
    """A list in C."""
    return "{" + ", ".join(str(v) for v in values) + "}"
