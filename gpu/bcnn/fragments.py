"""Constants of the tensor-core kernels in fragment order, one launch a layer.

Fragment layouts are those of `mma.m16n8k256` (b1) and `mma.m16n8k32` (s8) in the PTX ISA; a lane is 4 g + t.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.bcnn import layout
from gpu.bcnn.kernels import Choice, Step
from gpu.bcnn.layout import Limits, Shape, Words
from gpu.runtime.device import Info

Bits = NDArray[np.uint8]
Thresholds = NDArray[np.int32] | None
#: The texts of each family of kernels, in order.
PARTS = {
    "first": ("bits", "first"),
    "gather": ("bits", "gather"),
    "conv": ("bits", "stage", "conv"),
    "region": ("bits", "stage", "region"),
}
_FOLDER = Path(__file__).parent
_LANE = np.arange(32)
_G, _T = _LANE // 4, _LANE % 4


def _source(family: str, macros: dict[str, Any]) -> str:
    return layout.defines(macros) + "\n".join((_FOLDER / f"{part}.cu").read_text() for part in PARTS[family])


def column_order(nt: int) -> NDArray[np.int64]:
    """Channel within a block of 8 nt at each column (tile, column), so that packing gives channels in order."""
    j, column = np.meshgrid(np.arange(nt), np.arange(8), indexing="ij")
    t, e = column // 2, column % 2
    lanes = 16 // nt  # that share a word
    return 32 * (t // lanes) + 8 * (2 * (j % 2) + e) + 7 - j // 2 - nt // 2 * (t % lanes)


def pairs(bound: Limits, channels: NDArray[np.int64]) -> Words:
    """Limits (classes, ...) of two channels in one word, `channels` (..., 2): 0x8000 - H in each half."""
    half = 0x8000 - bound.least[:, channels]
    return ((half[..., 1] << 16) + half[..., 0]).astype(np.uint64).astype(np.uint32)


def first_step(shape: Shape, weight: Bits, threshold: Thresholds, c: Choice) -> Step:
    """`first.cu`: int8 weights, among them those that add 0x8000 - threshold to a sum."""
    layer, nt = shape.layer, c["nt"]
    assert threshold is not None
    blocks = -(-layer.channels_out // (8 * nt))
    outputs = blocks * 8 * nt
    signs = np.zeros((outputs, 9, 4), np.int8)
    signs[: layer.channels_out, :, : layer.channels_in] = weight.reshape(layer.channels_out, 9, -1) * 2 - 1
    signs[:, :3, 3] = signs[:, 8, :3]
    start = np.full(outputs, 0x8000 - layer.bound - 1, np.int64)
    start[: layer.channels_out] = 0x8000 - np.clip(threshold.astype(np.int64), -layer.bound, layer.bound + 1)
    rest = start - 2 * 127**2
    tens = np.rint(rest / 127).astype(np.int64)
    signs[:, 4:8, 3] = np.stack([np.full(outputs, 127), np.full(outputs, 127), tens, rest - 127 * tens], axis=1)
    word = signs.view("<u4")[..., 0].astype(np.uint32)  # (outputs, taps)
    lanes = (np.arange(blocks)[:, None, None] * 8 * nt + column_order(nt))[:, :, _G]  # (blocks, tiles, 32)
    width = layer.side + 2 * layer.padding
    while not 10 <= width % 32 <= 22:  # the taps of a fragment then meet no bank twice
        width += 1
    macros = shape.defines() | {
        "CHANNELS": layer.channels_in,
        "ROWS": c["rows"],
        "WIDTH": width,
        "MT": c["mt"],
        "NT": nt,
        "WARPS": c["warps"],
        "BLOCKS_N": blocks,
    }
    strips = layer.side_sums // c["rows"]

    def groups(n: int, info: Info) -> int:
        return blocks * min(n * strips, 8 * info.units)

    return Step(
        layer.name,
        _source("first", macros),
        (np.ascontiguousarray(np.stack([word[lanes, _T], word[lanes, _T + 4]], axis=-1)),),
        groups,
        32 * c["warps"],
        0,
        4 * shape.units * shape.words_out,
        c,
    )


def chunk_pairs(planes: int, family: str) -> tuple[list[tuple[int, int]], int | None]:
    """The two chunks of each step of 256 products in `conv.cu` or `region.cu`, and the chunk of the half step if any.

    A chunk is tap * planes + plane.
    """
    if planes == 1 and family == "conv":
        return [(0, 3), (1, 4), (2, 5), (6, 8)], 7
    if planes == 1:
        return [(0, 1), (3, 4), (6, 7), (2, 5)], 8
    if family == "conv":
        first = list(range(0, 9 * planes, 2))
    else:
        first = [(ky * 3 + kx) * planes + p for p in range(0, planes, 2) for kx in range(3) for ky in range(3)]
    return [(c, c + 1) for c in first], None


def conv_size(shape: Shape, c: Choice) -> dict[str, int]:
    """Pixels a row and a plane of a stage in shared memory, and bytes of shared memory a block."""
    layer, planes = shape.layer, shape.words_in // 4
    width = layer.side + 2 * layer.padding
    pixels = c["images"] * (c["rows"] + layer.kernel - 1) * width
    plane = -(-pixels // 8) * 8 + max(1, 8 // planes)
    sums = c["images"] * c["rows"] * layer.side_sums
    tile = 16 * c["mt"] * c["wm"]
    extra = sums if c.family == "region" else 3 * -(-sums // tile) * tile
    steps, half = chunk_pairs(planes, c.family)
    weights = (2 * len(steps) + (half is not None)) * c["nt"] // 4 * 32 * c["wn"]
    table = len(layout.borders(shape)) * c["wn"] * c["nt"]
    group = 2 * planes * plane + (pixels + extra + 3) // 4
    return {"width": width, "plane": plane, "shared": 16 * (weights + table + c["groups"] * group)}


def conv_step(shape: Shape, weight: Bits, threshold: Thresholds, c: Choice) -> Step:
    """`conv.cu` or `region.cu`."""
    layer, wn, nt, planes = shape.layer, c["wn"], c["nt"], shape.words_in // 4
    size = conv_size(shape, c)
    blocks = -(-layer.channels_out // (8 * nt * wn))
    outputs = blocks * 8 * nt * wn
    order = (np.arange(blocks * wn)[:, None, None] * 8 * nt + column_order(nt)).reshape(blocks, wn, nt, 8)
    # (blocks, wn, tiles, 8 columns, chunks, words)
    chunks = layout.packed_weights(shape, weight, outputs).reshape(outputs, shape.taps * planes, 4)[order]
    steps, half = chunk_pairs(planes, c.family)
    first, second = np.array(steps).T
    at = chunks[:, :, :, _G, :, _T]  # (32 lanes, blocks, wn, tiles, chunks)
    both = np.stack([at[..., first], at[..., second]], axis=-1)  # (32, blocks, wn, tiles, steps, 2)
    both = both.reshape(32, blocks, wn, nt // 2, 2, len(steps), 2).transpose(1, 5, 2, 3, 0, 4, 6)
    parts = [both.reshape(blocks, -1)]
    if half is not None:
        last = at[..., half].reshape(32, blocks, wn, nt // 4, 4).transpose(1, 2, 3, 0, 4)
        parts.append(last.reshape(blocks, -1))
    bound = layout.limits(shape, weight, threshold, outputs)
    table = pairs(bound, order.reshape(blocks, wn, nt, 4, 2))  # (classes, blocks, wn, tiles, 4)
    macros = shape.defines() | {
        "PLANES": planes,
        "IMAGES": c["images"],
        "ROWS": c["rows"],
        "WIDTH": size["width"],
        "PLANE": size["plane"],
        "MT": c["mt"],
        "NT": nt,
        "WARPS_M": c["wm"],
        "WARPS_N": wn,
        "GROUPS": c["groups"],
        "BLOCKS_N": blocks,
        "CLASSES": len(table),
        "SPLIT": int(layer.pool and c.family == "conv"),
    }
    strips = layer.side_sums // c["rows"]

    def groups(n: int, info: Info) -> int:
        stages = -(-n // c["images"]) * strips
        return blocks * max(1, min(-(-stages // c["groups"]), info.units // blocks))

    return Step(
        layer.name,
        _source(c.family, macros),
        (np.ascontiguousarray(np.concatenate(parts, axis=1)), np.ascontiguousarray(table.transpose(1, 0, 2, 4, 3))),
        groups,
        32 * c["wm"] * wn * c["groups"],
        size["shared"],
        4 * shape.units * shape.words_out,
        c,
    )


def gather_step(shape: Shape, weight: Bits, threshold: Thresholds, c: Choice) -> Step:
    """`gather.cu`."""
    layer, nt, planes = shape.layer, c["nt"], shape.words_in // 4
    blocks = -(-layer.channels_out // (8 * nt))
    outputs = blocks * 8 * nt
    columns = np.arange(8 * nt).reshape(nt, 8) if layer.last else column_order(nt)
    order = np.arange(blocks)[:, None, None] * 8 * nt + columns  # (blocks, tiles, 8)
    groups_k = -(-shape.taps * planes // 4)
    chunks = np.zeros((outputs, groups_k * 4, 4), np.uint32)
    chunks[:, : shape.taps * planes] = layout.packed_weights(shape, weight, outputs).reshape(outputs, -1, 4)
    chunks = chunks.reshape(outputs, groups_k, 4, 4)[order][:, :, _G, :, _T]  # (32, blocks, tiles, groups, 4 words)
    bound = layout.limits(shape, weight, threshold, outputs)
    table: NDArray[Any]
    if layer.last:
        table = bound.base.reshape(-1, blocks, nt, 4, 2).transpose(0, 1, 3, 2, 4).astype(np.int32)
    else:
        table = pairs(bound, order.reshape(blocks, nt, 4, 2)).transpose(0, 1, 3, 2)
    tile = 16 * c["mt"] // shape.parts
    macros = shape.defines() | {
        "PLANES": planes,
        "MT": c["mt"],
        "NT": nt,
        "WARPS": c["warps"],
        "BLOCKS_N": blocks,
    }

    def groups(n: int, info: Info) -> int:
        return blocks * -(-n * shape.units // tile)

    return Step(
        layer.name,
        _source("gather", macros),
        (np.ascontiguousarray(chunks.transpose(1, 3, 2, 0, 4)), np.ascontiguousarray(table)),
        groups,
        32 * c["warps"],
        0,
        4 * shape.units * (layer.channels_out if layer.last else shape.words_out),
        c,
    )
