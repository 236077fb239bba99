"""What the tensor-core kernel of wide networks, `wide.cl`, needs from the host: weights in fragment order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu.runtime.device import Info
from gpu.track.mma import Unsupported
from workloads.track.network import FloatNetwork

#: Warps of a group and m16 tiles of hits: the more hits, the less often the weights are read, until registers end.
SHAPES = ((16, 6), (16, 4), (8, 4), (8, 2), (16, 2))
_PAD = 8
_LANE = np.arange(32)
_G, _T = _LANE // 4, _LANE % 4


def shared_bytes(hidden: int, tiles: int) -> int:
    """Shared memory that a group of `tiles` x 16 hits takes."""
    return tiles * 16 * (hidden // 2 + _PAD) * 4


def shapes(network: FloatNetwork, info: Info) -> Iterator[tuple[int, int]]:
    """Yield (warps, m16 tiles) that fit this network and device. Errors: Unsupported, saying why none does."""
    widths, kinds = network.widths, [layer.activation for layer in network.layers]
    hidden = widths[1]
    if set(widths[1:-1]) != {hidden} or widths[0] > 16 or widths[-1] > 8 or widths[-1] % 2:
        raise Unsupported(f"wide: widths {widths}; it does equal hidden layers, up to 16 inputs and 8 even outputs")
    if kinds[-1] != "linear" or len(set(kinds[:-1])) != 1 or kinds[0] not in ("tanh", "relu"):
        raise Unsupported(f"wide: activations {kinds}; it does one of tanh and relu, the last layer linear")
    for warps, tiles in SHAPES:
        if hidden % (16 * warps) == 0 and shared_bytes(hidden, tiles) <= info.local_bytes:
            yield warps, tiles


def source(network: FloatNetwork, warps: int, tiles: int) -> tuple[str, NDArray[np.uint32]]:
    """Return the kernel's text and its weights buffer, uint32: fragments of each layer, then the biases as float32."""
    widths = network.widths
    hidden, depth = widths[1], len(widths) - 2
    parts = []
    for index, layer in enumerate(network.layers):
        rows, columns = -(-layer.weight.shape[0] // 16) * 16, -(-layer.weight.shape[1] // 8) * 8
        weight = np.zeros((rows, columns), np.float16)
        weight[: layer.weight.shape[0], : layer.weight.shape[1]] = layer.weight
        half = weight.view(np.uint16).astype(np.uint32)
        k, n = np.arange(rows // 16), np.arange(columns // 8)
        row = 16 * k[:, None, None, None] + 2 * _T[:, None] + 8 * np.arange(2)  # (k, 1, lane, b)
        column = 8 * n[None, :, None, None] + _G[:, None]  # (1, n, lane, 1)
        registers = half[row, column] | (half[row + 1, column] << 16)  # (k, n, lane, b)
        # 16 bytes a lane: two neighbouring n8 tiles, or two k16 steps in the last layer, which has one tile.
        last = index == depth
        paired = registers.reshape(len(k) // 2, 2, 32, 2) if last else registers.reshape(len(k), len(n) // 2, 2, 32, 2)
        parts.append(np.moveaxis(paired, -3, -2).reshape(-1))
    biases = [np.asarray(layer.bias, np.float32) for layer in network.layers]
    biases[-1] = np.pad(biases[-1], (0, 8 - len(biases[-1])))
    words = np.concatenate(parts)
    defines = {
        "WARPS": warps,
        "M_TILES": tiles,
        "NT": hidden // 8 // warps,
        "N_IN": widths[0],
        "N_OUT": widths[-1],
        "HIDDEN": hidden,
        "DEPTH": depth,
        "ROW": hidden // 2 + _PAD,
        "BIAS": len(words),
        "TANH": int(network.layers[0].activation == "tanh"),
    }
    text = "".join(f"#define {key} {value}\n" for key, value in defines.items())
    buffer = np.concatenate([words, *(b.view(np.uint32) for b in biases)]).astype(np.uint32)
    return text + Path(__file__).with_name("wide.cl").read_text(), buffer
