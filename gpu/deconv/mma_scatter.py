"""Constants of `mma_scatter.cu`: all elements of the kernel as columns of one product, in fragment order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpu.deconv.launch import Launch, Stage, Unsupported
from gpu.deconv.layout import Network
from gpu.deconv.mma_numbers import Numbers, numbers
from gpu.deconv.mma_text import OPTIONS, text
from workloads.deconv.layer import Layer

ENTRY = "scatter"
#: Columns, that is kernel elements times output channels, of which a warp keeps the sums in registers.
MOST_COLUMNS = 128
_LANE = np.arange(32)


@dataclass(frozen=True)
class Scatter:
    """What tuning may choose: positions (depth, rows, columns) of a block, its warps, tiles of 16 rows of each."""

    tile: tuple[int, int, int]
    warps: int = 8
    mt: int = 1

    def __str__(self) -> str:
        return f"scatter {'x'.join(map(str, self.tile))} warps={self.warps} mt={self.mt}"


def check(layer: Layer, size: int) -> None:
    """Errors: Unsupported for a layer that the kernel cannot do with numbers of `size` bytes."""
    if layer.channels_in * size % 16:
        raise Unsupported(
            f"{layer.name}: {layer.channels_in} input channels of {size} bytes; a multiple of 16 bytes is needed"
        )
    count = _products(layer)
    if count > MOST_COLUMNS:
        raise Unsupported(f"{layer.name}: {count} products of an input; at most {MOST_COLUMNS}")


def _products(layer: Layer) -> int:
    """Products of an input channel: kernel elements times output channels."""
    return math.prod(layer.kernel_shape) * layer.channels_out


def halo(layer: Layer, choice: Scatter) -> tuple[list[int], list[int]]:
    """(largest reach, inputs that a block reads) in each of three dimensions."""
    reach = [d for d, _ in layer.taps]
    flat = 3 - layer.dimensions
    largest = [0] * flat + [max(reach)] * layer.dimensions
    extra = [0] * flat + [max(reach) - min(reach)] * layer.dimensions
    return largest, [t + e for t, e in zip(choice.tile, extra, strict=True)]


def shared(layer: Layer, choice: Scatter, size: int) -> int:
    """Bytes of shared memory of a block."""
    tiles = -(-_products(layer) // 8)
    deep = -(-layer.channels_in * size // 64)
    rows = math.prod(halo(layer, choice)[1])
    return deep * tiles * 512 + tiles * 8 * ((rows + 11) // 16 * 16 + 4) * 4


def blocks(layer: Layer, choice: Scatter) -> list[int]:
    """Blocks of an item in each of three dimensions."""
    sides = [1] * (3 - layer.dimensions) + [-(-side // layer.stride) for side in layer.shape_out]
    return [-(-side // tile) for side, tile in zip(sides, choice.tile, strict=True)]


def stage(network: Network, index: int, choice: Scatter, arithmetic: str, n: int) -> Stage:
    """A layer as one launch. Errors: Unsupported."""
    values = numbers(network, index, arithmetic)
    layer = network.layers[index]
    check(layer, values.size)
    source, constants = _built(values, choice)
    launch = Launch(
        source,
        ENTRY,
        ("in", "out", *constants, n),
        n * math.prod(blocks(layer, choice)),
        32 * choice.warps,
        shared(layer, choice, values.size),
        OPTIONS,
        dependent=True,
    )
    return Stage((launch,), constants)


@lru_cache(maxsize=64)
def _built(values: Numbers, choice: Scatter) -> tuple[str, dict[str, NDArray[np.generic]]]:
    layer = values.layer
    flat = 3 - layer.dimensions
    sides = {
        "I": [1] * flat + list(layer.shape),
        "O": [1] * flat + list(layer.shape_out),
        "K": [1] * flat + [layer.kernel] * layer.dimensions,
        "S": [1] * flat + [layer.stride] * layer.dimensions,
        "P": [0] * flat + [layer.padding] * layer.dimensions,
        "T": list(choice.tile),
        "L": halo(layer, choice)[0],
        "H": halo(layer, choice)[1],
        "B": blocks(layer, choice),
    }
    weight = values.weight.reshape(layer.channels_in, -1)  # (in, element x out)
    tiles, deep = -(-weight.shape[1] // 8), -(-layer.channels_in * values.size // 64)
    padded = np.zeros((tiles * 8, deep * 64), np.uint8)
    raw = np.ascontiguousarray(weight.T).view(np.uint8)
    padded[: raw.shape[0], : raw.shape[1]] = raw
    units = padded.reshape(tiles, 8, deep, 4, 16)
    fragments = units[:, _LANE // 4, :, _LANE % 4].transpose(2, 1, 0, 3)  # (deep, tiles, 32, 16)
    macros = {
        "INT8": int(values.size == 1),
        "CIN": layer.channels_in,
        "OUT": layer.channels_out,
        **{
            f"{letter}{axis}": value
            for letter, found in sides.items()
            for axis, value in zip("ZYX", found, strict=True)
        },
        "NT": tiles,
        "MT": choice.mt,
        "WARPS": choice.warps,
        **values.macros,
    }
    constants: dict[str, NDArray[np.generic]] = {
        "weights": np.ascontiguousarray(fragments),
        "bias": values.bias,
        "lookup": values.lookup,
    }
    return text("scatter", macros), constants
