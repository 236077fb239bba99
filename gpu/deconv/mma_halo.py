"""Launch of `mma_halo.cu`: regions of positions, with weights as for `mma_gather.cu`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpu.deconv.launch import Launch, Stage, Unsupported
from gpu.deconv.layout import Network
from gpu.deconv.mma_gather import MOST_TAPS, chunks, constants_of, left, most_taps, phases, sides, stored, three
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
    `sets`: blocks of a region that share its phases.
    """

    bn: int
    tile: tuple[int, int, int, int]
    mt: int = 1
    wgs: int = 1
    stages: int = 5
    blocks: int = 1
    sets: int = 1

    def __str__(self) -> str:
        region = "x".join(map(str, self.tile))
        more = f"mt={self.mt} stages={self.stages} sets={self.sets} blocks={self.blocks}"
        return f"halo {region}, {self.bn} {more}"


def check(layer: Layer, size: int) -> None:
    """Errors: Unsupported for a layer that the kernel cannot do with numbers of `size` bytes."""
    found = phases(layer)
    if layer.channels_in * size % 16:
        raise Unsupported(
            f"{layer.name}: {layer.channels_in} channels of {size} bytes; a multiple of 16 bytes is needed"
        )
    fewest, counts = min(len(p.taps) for p in found), sorted({p.counts for p in found})
    if fewest < 1 or len(counts) > 1:
        raise Unsupported(
            f"{layer.name}: a phase of {fewest} taps, phases of {counts} positions; at least 1, and all of one size"
        )
    if min(layer.shape[-2:]) < SIDE:
        raise Unsupported(f"{layer.name}: an input of {layer.shape}; at least {SIDE} rows and columns are needed")
    if most_taps(layer) > MOST_TAPS:
        raise Unsupported(f"{layer.name}: {most_taps(layer)} taps in a phase; at most {MOST_TAPS}")


def reaches(layer: Layer) -> tuple[list[int], list[int]]:
    """(smallest, largest) reach of any tap in each of three dimensions."""
    found = [three(tap.reach, 0) for phase in phases(layer) for tap in phase.taps]
    return [min(r) for r in zip(*found, strict=True)], [max(r) for r in zip(*found, strict=True)]


def geometry(layer: Layer, choice: Halo, size: int) -> tuple[list[int], int]:
    """(positions that a region's taps reach in each of three dimensions, bytes of shared memory of a block)."""
    smallest, largest = reaches(layer)
    reached = [t + high - low for t, low, high in zip(choice.tile[1:], smallest, largest, strict=True)]
    parts = chunks(layer, size)
    units = 8 * parts if parts > 1 else -(-layer.channels_in * size // 32) * 2
    positions = (choice.tile[0] * math.prod(reached) + 6) // 8 * 8 + 1
    keep = -(-units * positions * 16 // 1024) * 1024
    groups = len(phases(layer)) * -(-layer.channels_out // choice.bn)
    bm = 64 * choice.mt * choice.wgs
    tables = bm * 8 + groups * choice.bn * 8 + (groups * most_taps(layer) + 3) // 4 * 16 + 16 * choice.stages
    return reached, 1024 + keep + choice.stages * choice.bn * 128 + left(bm, choice.wgs, choice.bn, 1, size) + tables


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
    reached, shared = geometry(layer, choice, values.size)
    items = -(-n // choice.tile[0]) * math.prod(regions(layer, choice))
    launch = Launch(
        _text(values, choice, groups, reached),
        ENTRY,
        ("in", "out", *constants, n),
        items * choice.sets,
        128 * choice.wgs + 32,
        shared,
        OPTIONS,
        dependent=True,
    )
    return Stage((launch,), constants)


def _text(values: Numbers, choice: Halo, groups: int, reached: list[int]) -> str:
    layer = values.layer
    macros = {
        "INT8": int(values.size == 1),
        "CIN": layer.channels_in,
        **sides("I", layer.shape),
        **sides("O", layer.shape_out),
        **sides("S", (layer.stride,) * layer.dimensions),
        "TI": choice.tile[0],
        **sides("T", choice.tile[1:]),
        **sides("L", tuple(reaches(layer)[1])),
        **sides("H", tuple(reached)),
        **sides("Q", phases(layer)[0].counts),
        **sides("B", regions(layer, choice)),
        "OUT": layer.channels_out,
        "GROUPS": groups,
        "TAPS": most_taps(layer),
        "BN": choice.bn,
        "MT": choice.mt,
        "WGS": choice.wgs,
        "STAGES": choice.stages,
        "SETS": choice.sets,
        "SPLIT": 1,
        "BLOCKS": choice.blocks,
        "STORED": stored(layer, values.size),
        **values.macros,
    }
    return text("halo", macros)
