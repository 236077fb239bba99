"""`deconv` on NVIDIA's tensor cores (Hopper): which kernels there are for a layer and a batch; see `gpu.deconv.launch`.

`mma_gather.cu` does layers of many channels, `mma_halo.cu` those of many positions, `mma_scatter.cu` and `mma_rows.cu`
those of few output channels, `mma_pair.cu` a layer of the last kind with the one before it. Which tiles are fastest for
a layer and a batch was found on an H200 and is in `mma_tuned.json`. Of its batches the nearest one counts; for a shape
that is not there `every` lists what is worth a try. Whether a pair is faster than two layers is timed for each batch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from gpu.deconv import mma_gather, mma_halo, mma_pair, mma_rows, mma_scatter, mma_tuned
from gpu.deconv.launch import Stage, Unsupported
from gpu.deconv.layout import NUMBERS, Network
from gpu.deconv.mma_gather import Gather
from gpu.deconv.mma_halo import Halo
from gpu.deconv.mma_numbers import ARITHMETICS, numbers
from gpu.deconv.mma_pair import Pair
from gpu.deconv.mma_rows import Rows
from gpu.deconv.mma_scatter import Scatter
from gpu.runtime.device import Info
from workloads.deconv.layer import Layer

Choice = Gather | Halo | Pair | Rows | Scatter
VARIANT = "wgmma"
FILES = tuple(
    f"gpu/deconv/{name}"
    for name in (
        "mma.py",
        "mma_text.py",
        "mma_numbers.py",
        "mma_gather.py",
        "mma_halo.py",
        "mma_pair.py",
        "mma_rows.py",
        "mma_scatter.py",
        "mma_tuned.py",
        "mma_tuned.json",
        "mma_ptx.cuh",
        "mma_tile.cuh",
        "mma_gather.cu",
        "mma_halo.cu",
        "mma_pair.cu",
        "mma_rows.cu",
        "mma_scatter.cu",
    )
)
#: Blocks beyond which splitting the products of a tile cannot help.
_FULL = 600
#: Steps of a tile from half of which on it is worth to cut it.
_LONG = mma_gather.FEWEST_STEPS
#: Positions from which on larger tiles are worth a try.
_MANY = 2**12


def supported(network: Network, info: Info) -> tuple[str, ...]:
    """The arithmetics that this device does on this case: `wgmma` is of compute capability 9.0."""
    return tuple(a for a in ARITHMETICS if info.api == "cuda" and info.tensor and _fits(network, a))


def _fits(network: Network, arithmetic: str) -> bool:
    try:
        for index in range(len(network.layers)):
            numbers(network, index, arithmetic)
            if not list(every(network.layers[index], arithmetic, 1)):
                return False
    except Unsupported:
        return False
    return True


def choices(network: Network, index: int, arithmetic: str, n: int, info: Info) -> Sequence[Choice]:
    """What tuning may try for layer `index` at batch `n`: the best of the table, or a few if it has none, and pairs."""
    layer = network.layers[index]
    found = mma_tuned.of(layer, arithmetic, n)[:1] or list(every(layer, arithmetic, n))[:6]
    found += [replace(c, aligned=True) for c in found if isinstance(c, Gather) and c.balanced]
    for pair in (Pair(1), Pair(2)):
        with suppress(Unsupported):
            mma_pair.stage(network, index, pair, arithmetic, n, info)
            found.append(pair)
    return found


def stage(network: Network, index: int, choice: Choice, arithmetic: str, n: int, info: Info) -> Stage:
    """A layer as one launch. Errors: Unsupported."""
    if isinstance(choice, Gather):
        return mma_gather.stage(network, index, choice, arithmetic, n, info)
    if isinstance(choice, Halo):
        return mma_halo.stage(network, index, choice, arithmetic, n)
    if isinstance(choice, Pair):
        return mma_pair.stage(network, index, choice, arithmetic, n, info)
    if isinstance(choice, Rows):
        return mma_rows.stage(network, index, choice, arithmetic, n)
    return mma_scatter.stage(network, index, choice, arithmetic, n)


def every(layer: Layer, arithmetic: str, n: int) -> Iterator[Choice]:
    """All that is worth a try for a layer at batch `n`."""
    size = NUMBERS[arithmetic]().itemsize
    families = (
        (mma_rows.check, _rows),
        (mma_scatter.check, _scatters),
        (mma_gather.check, _gathers),
        (mma_halo.check, _halos),
    )
    for check, found in families:
        try:
            check(layer, size)
        except Unsupported:
            continue
        yield from found(layer, size, n)


def _rows(layer: Layer, size: int, n: int) -> Iterator[Rows]:
    for strip in (1, 2, 4, 8, 16):
        for warps in (2, 4, 8):
            if strip <= layer.shape[0] and n * layer.shape[0] >= strip * warps:
                yield Rows(strip, warps)
                if mma_rows.row_bytes(layer, size) * warps * 2 + mma_rows.shared(layer, size) <= 226 * 1024:
                    yield Rows(strip, warps, ahead=2)


def _scatters(layer: Layer, size: int, n: int) -> Iterator[Scatter]:
    flat = layer.dimensions == 2
    tiles = ((1, 4, 8), (1, 8, 8), (1, 8, 16), (1, 16, 16)) if flat else ((2, 4, 8), (4, 4, 8), (4, 8, 8), (2, 8, 8))
    for tile in tiles:
        for warps, mt in ((4, 1), (8, 1), (8, 2)):
            choice = Scatter(tile, warps, mt)
            items = math.prod(mma_scatter.blocks(layer, choice))
            if mma_scatter.shared(layer, choice, size) <= 200 * 1024 and (items > 1 or tile == tiles[0] or n > 1):
                yield choice


def _gathers(layer: Layer, size: int, n: int) -> Iterator[Gather]:
    found = mma_gather.phases(layer)
    joined, most = mma_gather.joined(layer), mma_gather.most_taps(layer)
    wide, sets = layer.channels_out * (len(found) if joined else 1), 1 if joined else len(found)
    rows = n * math.prod(max(p.counts[axis] for p in found) for axis in range(layer.dimensions))
    steps = most * mma_gather.chunks(layer, size)
    orders = (False, True) if n >= 16 and most > 1 else (False,)
    uneven = len({len(p.taps) for p in found}) > 1
    for order, bn in itertools.product(orders, [w for w in _WIDTHS if w < 2 * wide and w * 2048 >= wide] or [16]):
        each = sets * -(-wide // bn)
        for mt, wgs, stages, blocks in _TILES:
            tile = Gather(bn, mt, wgs, stages, 1, blocks, order)
            if bn * mt > 256 or (bn < 64 and mt > 1) or tile.shared(layer, size) * blocks > 226 * 1024:
                continue
            if blocks * (wgs * 128 + tile.fetchers) * (mt * bn // 2 + 32) > 65536 or (
                tile.bm > 64 and rows * each < _MANY * 2
            ):
                continue
            tiles = -(-rows // tile.bm) * each
            for split in (1, 2, 4, 8):
                fits = tiles * split <= _FULL and steps >= 2 * split and blocks == 1 and (tile.bm == 64 or split < 5)
                if split == 1 or fits:
                    yield replace(tile, split=split)
                    if uneven and tiles * split >= 128:
                        yield replace(tile, split=split, group_major=True)
            persistent = replace(tile, persistent=True)
            if tiles >= 256 and persistent.shared(layer, size) * blocks <= 226 * 1024:
                yield persistent
                if uneven:
                    yield replace(persistent, group_major=True)
            balanced = replace(tile, balanced=True)
            ring = tile.ring(layer, size) * (tile.bm + bn) * 128
            if (
                blocks == 1
                and steps >= 2 * _LONG
                and tile.bm * bn * 4 <= ring
                and balanced.shared(layer, size) <= 226 * 1024
            ):
                yield balanced


def _halos(layer: Layer, size: int, n: int) -> Iterator[Halo]:
    if layer.channels_out < 16:
        return
    counts = mma_gather.phases(layer)[0].counts
    for tile in _REGIONS:
        regions = mma_halo.regions(layer, Halo(16, tile))
        if tile[0] > n or (tile[0] > 1 and math.prod(regions) > 1):
            continue
        if any(t > max(8, c) or (t < c and c % t) for t, c in zip(tile[1:], mma_gather.three(counts), strict=True)):
            continue
        rows = math.prod(tile)
        for bn, stages in itertools.product((32, 64, 128), (4, 8)):
            groups = len(mma_gather.phases(layer)) * -(-layer.channels_out // bn)
            if bn >= 2 * max(32, layer.channels_out):
                continue
            for mt, wgs in {64: ((1, 1),), 128: ((1, 2), (2, 1)), 256: ((2, 2), (1, 4))}[rows]:
                choice = Halo(bn, tile, mt, wgs, stages)
                room = 226 * 1024 // mma_halo.geometry(layer, choice, size)[1]
                blocks = min(room, 65536 // ((wgs * 128 + 32) * (mt * bn // 2 + 56)), 4)
                for sets in (1, 2, 4, 8):
                    if blocks and sets <= groups and n * math.prod(regions) // tile[0] * sets <= 2**15:
                        yield replace(choice, blocks=blocks, sets=sets)


#: Columns of a block.
_WIDTHS = (32, 64, 128, 256)
#: Items and positions (depth, rows, columns) of a region.
_REGIONS = (
    (1, 1, 8, 8),
    (2, 1, 8, 8),
    (4, 1, 8, 8),
    (1, 1, 8, 16),
    (1, 1, 16, 16),
    (1, 1, 16, 8),
    (1, 2, 8, 8),
    (1, 4, 8, 8),
    (1, 2, 8, 16),
)
#: Tiles of 64 rows of a warpgroup, warpgroups, stages, blocks of a multiprocessor.
_TILES = (
    (1, 1, 4, 1),
    (1, 1, 6, 1),
    (1, 2, 4, 1),
    (1, 2, 3, 2),
    (1, 2, 4, 2),
    (2, 2, 4, 1),
)
