"""Kernels on NVIDIA's binary tensor cores: what the host prepares for `first.cu`, `conv.cu` and `gather.cu`.

Fragment layouts are those of `mma.m16n8k256` (b1) and `mma.m16n8k32` (s8) in the PTX ISA; a lane is 4 g + t.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.bcnn import layout
from gpu.bcnn.kernels import Choice, Step, Unsupported
from gpu.bcnn.layout import Limits, Shape, Words
from gpu.runtime.device import Info
from workloads.bcnn.network import Layer, Network

VARIANT = "bmma"
FILES = ("gpu/bcnn/tensor.py", "gpu/bcnn/layout.py", *(f"gpu/bcnn/{f}.cu" for f in ("bits", "first", "conv", "gather")))
#: A pixel is a multiple of 128 bits.
MULTIPLE = 4
_FOLDER = Path(__file__).parent
_LANE = np.arange(32)
_G, _T = _LANE // 4, _LANE % 4
#: A sum must fit the 16 bits that two channels leave each other.
_MOST = 2**15 - 2


def check(network: Network) -> None:
    """Errors: Unsupported, naming the layer and the condition that fails."""
    first = network.layers[0]
    name = first.name
    if first.kind != "conv" or first.kernel != 3 or first.channels_in > 3 or first.last:
        raise Unsupported(f"{name}: the first layer must be a 3 x 3 convolution of at most 3 channels")
    if first.side % 4 or first.padding > 1 or first.bound > _MOST:
        raise Unsupported(f"{name}: side {first.side}, padding {first.padding}, sums up to {first.bound}")
    for layer in network.layers[1:]:
        if layer.bound > _MOST:
            raise Unsupported(f"{layer.name}: sums up to {layer.bound}, but 16 bits hold {_MOST}")
        if layer.pool and layer.last:
            raise Unsupported(f"{layer.name}: pooled sums at the end")


def choices(network: Network, index: int, n: int, info: Info) -> Iterator[Choice]:
    """Yield what tuning may try for layer `index` at batch `n`."""
    shape = layout.shapes(network, MULTIPLE)[index]
    layer = shape.layer
    if index == 0:
        yield from _first_choices(layer, n, info)
        return
    pixels = n * layer.pixels
    chunks = shape.taps * shape.words_in // 4
    groups = -(-chunks // 4)
    if layer.kind == "dense" or pixels <= 2**15:
        yield from _gather_choices(layer, groups, pixels)
    if layer.kind == "conv" and layer.kernel == 3 and not layer.last and pixels >= 2**10:
        for choice in _conv_choices(shape, pixels):
            if conv_shared(shape, choice) <= info.local_bytes:
                yield choice


def _first_choices(layer: Layer, n: int, info: Info) -> Iterator[Choice]:
    wide = 16 if layer.channels_out > 64 else 8 if layer.channels_out > 32 else 4
    mt = 2 if layer.pool else 1
    least = 2 if layer.pool else 1
    rows = [r for r in (least, 2, 4, 8, 16, layer.side_sums) if layer.side_sums % r == 0 and r % least == 0]
    if n < 32:
        small = rows[0]
        yield Choice("first", rows=small, mt=mt, nt=wide, warps=2)
        yield Choice("first", rows=small, mt=mt, nt=min(wide, 8), warps=2)
        return
    for r in sorted({r for r in rows if r * layer.side_sums >= 64} or {rows[-1]}):
        if r >= 8 or r == rows[-1]:
            yield Choice("first", rows=r, mt=mt, nt=wide, warps=4)


def _gather_choices(layer: Layer, groups: int, pixels: int) -> Iterator[Choice]:
    warps = [w for w in (1, 2, 4, 8, 16) if w < 2 * groups and -(-groups // w) <= 8]
    nts = [2] if layer.last and layer.channels_out <= 16 else [4, 8] if layer.channels_out > 32 else [4]
    mts = [2] if layer.pool else [1, 2]
    for mt in mts:
        for nt in nts:
            for w in warps[-2:] if pixels * layer.channels_out <= 2**19 else warps[:3]:
                if w * mt * (nt + 1) * 512 <= 48 * 1024:
                    yield Choice("gather", mt=mt, nt=nt, warps=w)


def _conv_choices(shape: Shape, pixels: int) -> Iterator[Choice]:
    layer = shape.layer
    if shape.words_in != 4 and shape.words_in % 8:
        return
    area, even = layer.side_sums**2, 2 if layer.pool else 1
    strips = [r for r in range(even, layer.side_sums, even) if layer.side_sums % r == 0]
    for mt, nt, wm, wn, groups in (
        ((4, 8, 2, 2, 2), (4, 4, 2, 4, 2), (4, 4, 1, 4, 4), (2, 8, 2, 2, 4), (2, 8, 4, 2, 2))
        if layer.channels_out > 64
        else ((4, 8, 4, 1, 2), (4, 4, 2, 2, 4), (4, 4, 4, 2, 2))
    ):
        warps = {"mt": mt, "nt": nt, "wm": wm, "wn": wn, "groups": groups}
        tile = 16 * mt * wm
        for r in strips:
            if r * layer.side_sums % tile == 0 and r * layer.side_sums <= 4 * tile:
                yield Choice("conv", images=1, rows=r, **warps)
        for images in sorted({1, max(1, tile // area), max(1, 2 * tile // area)}):
            yield Choice("conv", images=images, rows=layer.side_sums, **warps)


def step(network: Network, index: int, choice: Choice) -> Step:
    """Build the launch of one layer."""
    shape = layout.shapes(network, MULTIPLE)[index]
    weight, threshold = network.weights[index], network.thresholds[index]
    return {"first": first_step, "conv": conv_step, "gather": gather_step}[choice.family](
        shape, weight, threshold, choice
    )


def _source(name: str, macros: dict[str, Any]) -> str:
    parts = [(_FOLDER / f"{part}.cu").read_text() for part in ("bits", name)]
    return layout.defines(macros) + "".join(parts)


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


def first_step(shape: Shape, weight: NDArray[np.uint8], threshold: NDArray[np.int32] | None, c: Choice) -> Step:
    """The first layer: int8 weights in fragment order, and where each sum starts."""
    layer, nt = shape.layer, c["nt"]
    assert threshold is not None
    blocks = -(-layer.channels_out // (8 * nt))
    outputs = blocks * 8 * nt
    signs = np.zeros((outputs, 9, 4), np.int8)
    signs[: layer.channels_out, :, : layer.channels_in] = weight.reshape(layer.channels_out, 9, -1) * 2 - 1
    ninth = signs[:, 8].copy()
    signs[:, :3, 3] = ninth[:, :3]
    word = signs.view("<u4")[..., 0].astype(np.uint32)  # (outputs, taps)
    order = (np.arange(blocks)[:, None, None] * 8 * nt + column_order(nt)).astype(np.int64)
    lanes = order[:, :, _G]  # (blocks, nt, 32)
    weights = np.stack([word[lanes, _T], word[lanes, _T + 4]], axis=-1)
    start = np.full(outputs, 0x8000 - layer.bound - 1, np.int64)
    start[: layer.channels_out] = 0x8000 - np.clip(threshold.astype(np.int64), -layer.bound, layer.bound + 1)
    starts = start[order].reshape(blocks, nt, 4, 2).astype(np.int32)
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
        (np.ascontiguousarray(weights), np.ascontiguousarray(starts)),
        groups,
        32 * c["warps"],
        0,
        4 * shape.units * shape.words_out,
        c,
    )


def chunk_pairs(shape: Shape) -> tuple[list[tuple[int, int]], int | None]:
    """The two chunks of each k256 step of `conv.cu`, and the chunk of its k128 step if any.

    A chunk is tap * planes + plane.
    """
    planes = shape.words_in // 4
    if planes == 1:
        return [(0, 3), (1, 4), (2, 5), (6, 8)], 7
    return [(c, c + 1) for c in range(0, shape.taps * planes, 2)], None


def conv_size(shape: Shape, c: Choice) -> dict[str, int]:
    """Pixels a row and a plane of a stage in shared memory, and its bytes for the block."""
    layer, planes = shape.layer, shape.words_in // 4
    width = layer.side + 2 * layer.padding
    rows_in = c["rows"] + layer.kernel - 1
    pixels = c["images"] * rows_in * width
    plane = -(-pixels // 8) * 8 + max(1, 8 // planes)
    units = c["images"] * c["rows"] * layer.side_sums // shape.parts
    tile = 16 * c["mt"] * c["wm"] // shape.parts
    slots = -(-units // tile) * 16 * c["mt"] * c["wm"]
    chunk_steps, half = chunk_pairs(shape)
    weights = (2 * len(chunk_steps) + (half is not None)) * c["nt"] // 4 * 32 * c["wn"]
    table = len(layout.borders(shape)) * c["wn"] * c["nt"]
    group = 2 * planes * plane + (pixels + 2 * slots + 3) // 4
    return {"width": width, "plane": plane, "shared": 16 * (weights + table + c["groups"] * group)}


def conv_shared(shape: Shape, c: Choice) -> int:
    """Bytes of shared memory a block."""
    return conv_size(shape, c)["shared"]


def conv_step(shape: Shape, weight: NDArray[np.uint8], threshold: NDArray[np.int32] | None, c: Choice) -> Step:
    """A convolution for many pixels."""
    layer, wn, nt, planes = shape.layer, c["wn"], c["nt"], shape.words_in // 4
    size = conv_size(shape, c)
    blocks = -(-layer.channels_out // (8 * nt * wn))
    outputs = blocks * 8 * nt * wn
    order = (np.arange(blocks * wn)[:, None, None] * 8 * nt + column_order(nt)).reshape(blocks, wn, nt, 8)
    # (blocks, wn, tiles, 8 columns, chunks, words)
    chunks = layout.packed_weights(shape, weight, outputs).reshape(outputs, shape.taps * planes, 4)[order]
    steps, half = chunk_pairs(shape)
    first = np.array([s[0] for s in steps])
    second = np.array([s[1] for s in steps])
    at = chunks[:, :, :, _G, :, _T]  # (32 lanes, blocks, wn, tiles, chunks)
    both = np.stack([at[..., first], at[..., second]], axis=-1)  # (32, blocks, wn, tiles, steps, 2)
    both = both.reshape(32, blocks, wn, nt // 2, 2, len(steps), 2).transpose(1, 5, 2, 3, 0, 4, 6)
    parts = [both.reshape(blocks, -1)]
    if half is not None:
        parts.append(at[..., half].reshape(32, blocks, wn, nt // 4, 4).transpose(1, 2, 3, 0, 4).reshape(blocks, -1))
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
    }
    strips = layer.side_sums // c["rows"]

    def groups(n: int, info: Info) -> int:
        stages = -(-n // c["images"]) * strips
        return blocks * max(1, min(-(-stages // c["groups"]), info.units // blocks))

    return Step(
        layer.name,
        _source("conv", macros),
        (np.ascontiguousarray(np.concatenate(parts, axis=1)), np.ascontiguousarray(table.transpose(1, 0, 2, 4, 3))),
        groups,
        32 * c["wm"] * wn * c["groups"],
        size["shared"],
        4 * shape.units * shape.words_out,
        c,
    )


def gather_step(shape: Shape, weight: NDArray[np.uint8], threshold: NDArray[np.int32] | None, c: Choice) -> Step:
    """A dense layer, or a convolution for few pixels."""
    layer, nt, planes = shape.layer, c["nt"], shape.words_in // 4
    blocks = -(-layer.channels_out // (8 * nt))
    outputs = blocks * 8 * nt
    columns = np.arange(8 * nt).reshape(nt, 8) if layer.last else column_order(nt)
    order = np.arange(blocks)[:, None, None] * 8 * nt + columns  # (blocks, nt, 8)
    groups_k = -(-shape.taps * planes // 4)
    chunks = np.zeros((outputs, groups_k * 4, 4), np.uint32)
    chunks[:, : shape.taps * planes] = layout.packed_weights(shape, weight, outputs).reshape(outputs, -1, 4)
    chunks = chunks.reshape(outputs, groups_k, 4, 4)[order][:, :, _G, :, _T]  # (32, blocks, nt, groups, 4 words)
    bound = layout.limits(shape, weight, threshold, outputs)
    table: NDArray[Any]
    if layer.last:
        table = bound.base.astype(np.int32)
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
