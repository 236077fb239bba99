"""Launch of `mma_halo.cu`: regions of positions, with weights as for `mma_gather.cu`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpu.deconv.launch import Launch, Stage, Unsupported
from gpu.deconv.layout import Network
from gpu.deconv.mma_gather import chunks, constants_of, most_taps, phases, sides, stored, three
from gpu.deconv.mma_numbers import Numbers, numbers
from gpu.deconv.mma_text import OPTIONS, text
from workloads.deconv.layer import Layer

ENTRY = "halo"
#: Positions of a row, and rows, that are 64 rows of a matrix.
SIDE = 8


@dataclass(frozen=True)
class Halo:
    """What tuning may choose: columns, tiles of 64 rows of a warpgroup, warpgroups, stages of the weights.

    `tile`: items and positions (depth, rows, columns) of a region; `blocks`: those a multiprocessor must have room for;
    `pair`: blocks that fetch weights for each other.
    """

    bn: int
    tile: tuple[int, int, int, int]
    mt: int = 1
    wgs: int = 1
    stages: int = 5
    blocks: int = 1
    pair: int = 1

    def __str__(self) -> str:
        region = "x".join(map(str, self.tile))
        return f"halo {region}, {self.bn} mt={self.mt} stages={self.stages} pair={self.pair} blocks={self.blocks}"


def check(layer: Layer, size: int) -> None:
    """Errors: Unsupported for a layer that the kernel cannot do with numbers of `size` bytes."""
    found = phases(layer)
    if layer.channels_in * size % 16:
        raise Unsupported(
            f"{layer.name}: {layer.channels_in} channels of {size} bytes; a multiple of 16 bytes is needed"
        )
    if min(len(p.taps) for p in found) < 2:
        raise Unsupported(f"{layer.name}: a phase with fewer than two taps")
    if most_taps(layer) > 32 or min(layer.shape[-2:]) < SIDE:
        raise Unsupported(f"{layer.name}: an input of {layer.shape}; at least {SIDE} rows and columns are needed")


def extent(layer: Layer) -> tuple[int, int, int]:
    """How far the reaches of a group lie apart, in each of three dimensions."""
    apart = [0, 0, 0]
    for phase in phases(layer):
        reaches = [three(tap.reach, 0) for tap in phase.taps]
        apart = [max(a, max(r) - min(r)) for a, r in zip(apart, zip(*reaches, strict=True), strict=True)]
    return apart[0], apart[1], apart[2]


def geometry(layer: Layer, choice: Halo, size: int) -> dict[str, int]:
    """Stages of the weights, steps ahead, chunks of inputs that are kept, and bytes of shared memory."""
    parts, fewest = chunks(layer, size), min(len(p.taps) for p in phases(layer))
    steps = most_taps(layer) * parts
    stages, ahead = (steps, steps) if steps <= choice.stages and parts == 1 else (choice.stages, choice.stages - 2)
    if parts > 1 and ahead >= fewest:
        stages, ahead = fewest + 1, fewest - 1
    units = 8 if parts > 1 else -(-layer.channels_in * size // 32) * 2
    items, *region = choice.tile
    positions = items * math.prod(t + e for t, e in zip(region, extent(layer), strict=True))
    keep = -(-units * ((positions + 6) // 8 * 8 + 1) * 16 // 1024) * 1024
    kept = min(2, parts)
    bm = 64 * choice.mt * choice.wgs
    ring = max(kept * keep + stages * choice.bn * 128, bm * (choice.bn + 8) * 4)
    return {
        "stages": stages,
        "ahead": ahead,
        "kept": kept,
        "shared": 1024 + ring + bm * 8 + most_taps(layer) * 4 + 32 + 16 * stages,
    }


def regions(layer: Layer, choice: Halo) -> tuple[int, int, int]:
    """Regions of an item in each of three dimensions."""
    counts = three(tuple(-(-side // layer.stride) for side in layer.shape_out))
    found = [-(-count // tile) for count, tile in zip(counts, choice.tile[1:], strict=True)]
    return found[0], found[1], found[2]


def stage(network: Network, index: int, choice: Halo, arithmetic: str, n: int) -> Stage:
    """A layer as one launch. Errors: Unsupported."""
    values = numbers(network, index, arithmetic)
    layer = network.layers[index]
    check(layer, values.size)
    assert math.prod(choice.tile) == 64 * choice.mt * choice.wgs
    constants = constants_of(values, choice.bn)
    groups = len(constants["table"])
    size = geometry(layer, choice, values.size)
    items = -(-n // choice.tile[0]) * math.prod(regions(layer, choice))
    launch = Launch(
        _text(values, choice, groups, size),
        ENTRY,
        ("in", "out", *constants, n),
        -(-items // choice.pair) * choice.pair * groups,
        128 * choice.wgs,
        size["shared"],
        OPTIONS,
        dependent=True,
    )
    return Stage((launch,), constants)


def _text(values: Numbers, choice: Halo, groups: int, size: dict[str, int]) -> str:
    layer = values.layer
    macros = {
        "INT8": int(values.size == 1),
        "CIN": layer.channels_in,
        **sides("I", layer.shape),
        **sides("O", layer.shape_out),
        **sides("S", (layer.stride,) * layer.dimensions),
        "TI": choice.tile[0],
        **sides("T", choice.tile[1:]),
        **sides("E", extent(layer)),
        **sides("B", regions(layer, choice)),
        "OUT": layer.channels_out,
        "GROUPS": groups,
        "TAPS": most_taps(layer),
        "BN": choice.bn,
        "MT": choice.mt,
        "WGS": choice.wgs,
        "STAGES": size["stages"],
        "AHEAD": size["ahead"],
        "KEPT": size["kept"],
        "SPLIT": 1,
        "PAIR": choice.pair,
        "BLOCKS": choice.blocks,
        "STORED": stored(layer, values.size),
        **values.macros,
    }
    return text("halo", macros)
