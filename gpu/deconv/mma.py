"""`deconv` on NVIDIA's tensor cores (Hopper): which kernels there are for a layer and a batch; see `gpu.deconv.launch`.

`mma_gather.cu` does layers of many channels, `mma_halo.cu` those of many positions, `mma_scatter.cu` those of few
output channels. Which tiles are fastest for a layer and a batch was found on an H200 and is in `mma_tuned.json`; between
its batches the nearest one counts, and for a shape that is not there `every` lists what is worth a try.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpu.deconv import mma_gather, mma_halo, mma_scatter, mma_tuned
from gpu.deconv.launch import Stage, Unsupported
from gpu.deconv.layout import NUMBERS, Network
from gpu.deconv.mma_gather import Gather
from gpu.deconv.mma_halo import Halo
from gpu.deconv.mma_numbers import ARITHMETICS, numbers
from gpu.deconv.mma_scatter import Scatter
from gpu.runtime.device import Info
from workloads.deconv.layer import Layer

Choice = Gather | Halo | Scatter
VARIANT = "wgmma"
FILES = tuple(
    f"gpu/deconv/{name}"
    for name in (
        "mma.py",
        "mma_text.py",
        "mma_numbers.py",
        "mma_gather.py",
        "mma_halo.py",
        "mma_scatter.py",
        "mma_tuned.py",
        "mma_tuned.json",
        "mma_ptx.cuh",
        "mma_tile.cuh",
        "mma_gather.cu",
        "mma_halo.cu",
        "mma_scatter.cu",
    )
)
#: Blocks beyond which splitting the products of a tile cannot help.
_FULL = 600
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
    """What tuning may try for layer `index` at batch `n`, the expected best first."""
    layer = network.layers[index]
    return mma_tuned.of(layer, arithmetic, n) or list(every(layer, arithmetic, n))[:6]


def stage(network: Network, index: int, choice: Choice, arithmetic: str, n: int, info: Info) -> Stage:
    """A layer as one launch. Errors: Unsupported."""
    if isinstance(choice, Gather):
        return mma_gather.stage(network, index, choice, arithmetic, n)
    if isinstance(choice, Halo):
        return mma_halo.stage(network, index, choice, arithmetic, n)
    return mma_scatter.stage(network, index, choice, arithmetic, n)


def every(layer: Layer, arithmetic: str, n: int) -> Iterator[Choice]:
    """All that is worth a try for a layer at batch `n`."""
    size = NUMBERS[arithmetic]().itemsize
    for check, found in ((mma_scatter.check, _scatters), (mma_gather.check, _gathers), (mma_halo.check, _halos)):
        try:
            check(layer, size)
        except Unsupported:
            continue
        yield from found(layer, size, n)


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
    wide = layer.channels_out * (len(found) if mma_gather.joined(layer) else 1)
    sets = 1 if mma_gather.joined(layer) else len(found)
    side = max(max(p.counts) for p in found)
    rows = n * math.prod(max(p.counts[axis] for p in found) for axis in range(layer.dimensions))
    steps = mma_gather.most_taps(layer) * mma_gather.chunks(layer, size)
    orders = (False, True) if n >= 16 and side > 1 and mma_gather.most_taps(layer) > 1 else (False,)
    widths = [
        w for w in (16, 32, 64, 128, 256) if w < 2 * wide and (w >= 32 or wide <= 16) and (w >= 64 or w * 64 >= wide)
    ]
    for order in orders:
        for bn in widths:
            each = sets * -(-wide // bn)
            for mt, wgs, stages, blocks in _TILES:
                tile = Gather(bn, mt, wgs, stages, 1, blocks, order)
                if bn * mt > 256 or (bn < 64 and wgs * mt > 2) or tile.shared(layer, size) * blocks > 224 * 1024:
                    continue
                if tile.bm > 64 and (rows < tile.bm or rows * each < _MANY * 8 / 4):
                    continue
                tiles = -(-rows // tile.bm) * each
                for split in (1, 2, 4, 8):
                    if split == 1 or (tile.bm == 64 and tiles * split <= _FULL and steps >= 2 * split):
                        yield replace(tile, split=split)
                for pair in (2, 4):
                    if rows >= pair * tile.bm and stages == 4:
                        yield replace(tile, pair=pair)


def _halos(layer: Layer, size: int, n: int) -> Iterator[Halo]:
    counts = mma_gather.three(tuple(-(-side // layer.stride) for side in layer.shape_out))
    for tile in _REGIONS if layer.channels_out >= 16 else ():
        regions = mma_halo.regions(layer, Halo(16, tile))
        if tile[0] > n or (tile[0] > 1 and math.prod(regions) > 1):
            continue
        if any(t > max(8, c) or (t < c and c % t) for t, c in zip(tile[1:], counts, strict=True)):
            continue
        rows = math.prod(tile)
        for bn in (32, 64, 128, 256):
            if bn >= 2 * max(32, layer.channels_out) or bn * rows > 2**15:
                continue
            for mt, wgs in {64: ((1, 1),), 128: ((1, 2),), 256: ((2, 2),)}[rows]:
                for stages, blocks in ((4, 1), (4, 2), (6, 1), (4, 3)):
                    choice = Halo(bn, tile, mt, wgs, stages, blocks)
                    fits = mma_halo.geometry(layer, choice, size)["shared"] * blocks <= 224 * 1024
                    if fits and blocks * wgs * (mt * bn // 2 + 60) * 128 <= 65536:
                        yield from (replace(choice, pair=p) for p in (1, 2, 4) if n * math.prod(regions) >= p * tile[0])


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
    (2, 2, 4, 1),
    (2, 2, 3, 1),
    (2, 1, 4, 2),
    (1, 2, 5, 1),
)
