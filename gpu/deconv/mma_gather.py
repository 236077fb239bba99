"""Constants of `mma_gather.cu`: groups of columns, their taps, and weights as `wgmma` reads them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.deconv import layout
from gpu.deconv.launch import Launch, Stage, Unsupported
from gpu.deconv.layout import Network, Phase
from gpu.deconv.mma_numbers import Numbers, numbers
from gpu.deconv.mma_text import OPTIONS, text
from gpu.runtime.device import Info
from workloads.deconv.layer import Layer

ENTRY = "gather"
#: Taps whose need a bit of one word says.
MOST_TAPS = 32
HEAD = 8
CONSTANTS = ("weights", "table", "columns", "bias", "lookup")
#: Steps of a block with `balanced`, at least; parts of half as many are not cut off.
FEWEST_STEPS = 8


@dataclass(frozen=True)
class Gather:
    """What tuning may choose: columns of a block, tiles of 64 rows of a warpgroup, warpgroups, stages of the ring.

    `split`: blocks that share the products of a tile; `blocks`: those that a multiprocessor must have room for;
    `position_major`: rows are ordered by position, then item, so that blocks at a border need fewer taps;
    `group_major`: all tiles of the group with most taps go first; `persistent`: a block takes one tile after the other;
    `balanced`: so, and tiles are cut so that all blocks have the same number of steps (implies `persistent`);
    `aligned`: so, where there are fewer tiles than blocks: each is cut into equal parts, and a block has one of them.
    Tiles with as many steps then need the same weights at the same time.
    """

    bn: int
    mt: int = 1
    wgs: int = 1
    stages: int = 4
    split: int = 1
    blocks: int = 1
    position_major: bool = False
    group_major: bool = False
    persistent: bool = False
    balanced: bool = False
    aligned: bool = False

    @property
    def bm(self) -> int:
        """Rows of a block."""
        return 64 * self.mt * self.wgs

    @property
    def fetchers(self) -> int:
        """Threads that fetch: fewer where registers are scarce."""
        return 64 if self.blocks > 1 else 128

    def ring(self, layer: Layer, size: int) -> int:
        """Stages: no more than the steps of a tile."""
        return min(self.stages, -(-most_taps(layer) * chunks(layer, size) // self.split))

    def shared(self, layer: Layer, size: int) -> int:
        """Bytes of shared memory of a block."""
        stages = self.ring(layer, size)
        room = left(64 * self.mt * self.wgs, self.wgs, self.bn, self.split, size)
        ring = stages * (self.bm + self.bn) * 128
        ring = ring + room if self.persistent or self.balanced else max(ring, room)
        return 1024 + ring + self.bm * 16 + 48 + (2 * most_taps(layer) + 3) // 4 * 16 + 16 * stages + 8

    def __str__(self) -> str:
        order = " position-major" * self.position_major + " group-major" * self.group_major
        order += " persistent" * self.persistent + " balanced" * self.balanced + " aligned" * self.aligned
        more = f"mt={self.mt} stages={self.stages} split={self.split} blocks={self.blocks}"
        return f"gather {self.bm}x{self.bn} {more}{order}"


@dataclass(frozen=True)
class Columns:
    """Columns of a group: phase and channel of each, or -1; positions, and reaches of the taps they have in common."""

    phase: NDArray[np.int64]
    channel: NDArray[np.int64]
    counts: tuple[int, ...]
    taps: tuple[tuple[int, ...], ...]


def spread(layer: Layer) -> Layer:
    """The same operator with the kernel as its stride where there is one input position: an output has one tap then."""
    alone = max(layer.shape) == 1 and layer.padding == 0 and layer.extra == 0
    return replace(layer, stride=layer.kernel) if alone else layer


@lru_cache(maxsize=64)
def phases(layer: Layer) -> tuple[Phase, ...]:
    """`layout.phases` of the layer after `spread`."""
    return layout.phases(spread(layer))


def joined(layer: Layer) -> bool:
    """Whether all phases have one tap with the same reach, so that their channels are columns of one product."""
    found = phases(layer)
    return all(
        len(p.taps) == 1 and p.counts == found[0].counts and p.taps[0].reach == found[0].taps[0].reach for p in found
    )


def columns(layer: Layer, bn: int) -> list[Columns]:
    """The groups of `bn` columns, those with most taps first."""
    found = phases(layer)
    groups: list[Columns] = []
    for some in [range(len(found))] if joined(layer) else [range(i, i + 1) for i in range(len(found))]:
        phase = np.repeat(np.array(some), layer.channels_out)
        channel = np.tile(np.arange(layer.channels_out), len(some))
        taps = tuple(tap.reach for tap in found[some[0]].taps)
        for first in range(0, len(phase), bn):
            padded = [
                np.pad(a[first : first + bn], (0, max(0, first + bn - len(a))), constant_values=-1)
                for a in (phase, channel)
            ]
            groups.append(Columns(padded[0], padded[1], found[some[0]].counts, taps))
    return sorted(groups, key=lambda g: -len(g.taps))


def check(layer: Layer, size: int) -> None:
    """Errors: Unsupported for a layer that the kernel cannot do with numbers of `size` bytes."""
    most = max(len(p.taps) for p in phases(layer))
    if most > MOST_TAPS:
        raise Unsupported(f"{layer.name}: {most} taps in a phase; at most {MOST_TAPS}")
    if layer.channels_in * size % 4:
        raise Unsupported(
            f"{layer.name}: {layer.channels_in} input channels of {size} bytes; a multiple of 4 bytes is needed"
        )
    reach = max((abs(d) for p in phases(layer) for tap in p.taps for d in tap.reach), default=0)
    if reach > 127:
        raise Unsupported(f"{layer.name}: taps that reach {reach} positions; at most 127")


def most_taps(layer: Layer) -> int:
    """Taps of the phase with most, at least 1."""
    return max(1, *(len(p.taps) for p in phases(layer)))


def left(bm: int, wgs: int, bn: int, split: int, size: int) -> int:
    """Bytes through which results leave a block."""
    return bm * (bn + 8) * 4 if split > 1 else wgs * 64 * (min(bn, 64) * size + 16)


def chunks(layer: Layer, size: int) -> int:
    """Steps of a tap: 128 bytes of input channels each."""
    return -(-layer.channels_in * size // 128)


def stored(layer: Layer, size: int) -> int:
    """Numbers of a store: as many as fit 16 bytes and divide the channels."""
    return math.gcd(layer.channels_out, 16 // size)


def stage(network: Network, index: int, choice: Gather, arithmetic: str, n: int, info: Info) -> Stage:
    """A layer as one launch. Errors: Unsupported."""
    values = numbers(network, index, arithmetic)
    layer = network.layers[index]
    check(layer, values.size)
    if choice.bm % choice.split:
        raise Unsupported(f"{layer.name}: {choice.bm} rows do not divide among {choice.split} blocks")
    constants = constants_of(values, choice.bn)
    groups = len(constants["table"])
    positions = math.prod(-(-side // spread(layer).stride) for side in layer.shape_out)
    tiles = -(-n * positions // choice.bm)
    total = min(tiles * groups, info.units * choice.blocks) if choice.persistent else tiles * groups * choice.split
    plan, scratch = ["lookup"] * 3, {}  # what is not used is not read
    if choice.balanced:
        sums, ring = choice.bm * choice.bn * 4, choice.ring(layer, values.size) * (choice.bm + choice.bn) * 128
        if choice.split > 1 or sums > ring:
            raise Unsupported(
                f"{layer.name}: balanced blocks with a split of {choice.split}, {sums} bytes of sums; "
                f"at most 1, and {ring}"
            )
        total, made = planned(layer, choice, constants["table"], n, info.units * choice.blocks, values.size)
        plan = [f"plan{n}", "parts", "there"]
        constants = {**constants, plan[0]: made}  # named by the batch: constants of one name are the same for all
        scratch = {"parts": total * choice.bm * choice.bn * 4, "there": total * 4}
    launch = Launch(
        _text(values, choice, groups),
        ENTRY,
        ("in", "out", *CONSTANTS, *plan, n),
        total,
        128 * choice.wgs + choice.fetchers,
        choice.shared(layer, values.size),
        OPTIONS,
        dependent=True,
    )
    return Stage((launch,), constants, scratch)


def planned(
    layer: Layer, choice: Gather, table: NDArray[np.generic], n: int, most: int, size: int
) -> tuple[int, NDArray[np.int32]]:
    """(blocks, at most `most`; their plan as `mma_gather.cu` reads it): steps cut into equal parts, tiles in order."""
    steps = tile_steps(layer, choice, table, n) * chunks(layer, size)
    if choice.aligned and len(steps) < most:
        return aligned(steps, most)
    ends = np.cumsum(steps)
    blocks = int(max(1, min(most, ends[-1] // FEWEST_STEPS)))
    cuts = np.arange(blocks + 1) * ends[-1] // blocks
    edges = np.array([0, *ends])
    nearest = edges[np.argmin(np.abs(edges[None, :] - cuts[:, None]), axis=1)]
    cuts = np.where(np.abs(nearest - cuts) < FEWEST_STEPS // 2, nearest, cuts)  # no parts of a step or two
    places, pieces = [0], []
    for block in reversed(range(blocks)):  # who takes has a larger number than who gives
        low, high = int(cuts[block]), int(cuts[block + 1])
        for tile in range(int(np.searchsorted(ends, low, side="right")), len(steps)):
            start, end = int(edges[tile]), int(edges[tile + 1])
            if start >= high:
                break
            begin, stop = max(low, start), min(high, end)
            others = int(np.sum((cuts[1:-1] > start) & (cuts[1:-1] < end)))
            role = -1 if begin > start else others
            pieces.append((tile, begin - start, stop - begin, role))
        places.append(len(pieces))
    return blocks, np.array([*places, *(number for piece in pieces for number in piece)], np.int32)


def aligned(steps: NDArray[np.int64], most: int) -> tuple[int, NDArray[np.int32]]:
    """(blocks, their plan) with a part of a tile for each: as many parts as `most`, the largest as small as can be."""
    parts = np.ones(len(steps), np.int64)
    while parts.sum() < most:
        largest = int(np.argmax(steps / parts))
        if steps[largest] < FEWEST_STEPS * (parts[largest] + 1):
            break
        parts[largest] += 1
    pieces: list[tuple[int, int, int, int]] = []
    for tile, (count, of) in enumerate(zip(steps, parts, strict=True)):
        edges = np.arange(of + 1) * count // of
        for part in reversed(range(of)):  # who takes has a larger number than who gives
            role = -1 if part else int(of) - 1
            pieces.append((tile, int(edges[part]), int(edges[part + 1] - edges[part]), role))
    places = range(len(pieces) + 1)
    return len(pieces), np.array([*places, *(number for piece in pieces for number in piece)], np.int32)


def tile_steps(layer: Layer, choice: Gather, table: NDArray[np.generic], n: int) -> NDArray[np.int64]:
    """Taps that each tile needs, at least 1, in the order in which the kernel counts tiles."""
    counts = tuple(-(-side // spread(layer).stride) for side in layer.shape_out)
    places = np.stack(np.unravel_index(np.arange(math.prod(counts)), three(counts)), axis=-1)
    rows = np.arange(n * len(places))
    position = rows // n if choice.position_major else rows % len(places)
    first = np.arange(0, len(rows), choice.bm)
    found = []
    for group in table.astype(np.int64):
        mask = np.zeros(len(places), np.int64)
        for t in range(group[0]):
            reach = np.array([np.int8(group[HEAD + t] >> shift & 0xFF) for shift in (16, 8, 0)])
            source = places - reach
            mask |= np.all((source >= 0) & (source < three(layer.shape)), axis=1).astype(np.int64) << t
        needed = np.bitwise_or.reduceat(mask[position], first)
        found.append([max(1, int(word).bit_count()) for word in needed])
    per_group = np.array(found)
    return (per_group if choice.group_major else per_group.T).reshape(-1)


def _text(values: Numbers, choice: Gather, groups: int) -> str:
    layer, own = values.layer, spread(values.layer)
    macros = {
        "INT8": int(values.size == 1),
        "CIN": layer.channels_in,
        "UNIT": math.gcd(layer.channels_in * values.size, 16),
        **sides("I", layer.shape),
        **sides("O", layer.shape_out),
        **sides("S", (own.stride,) * layer.dimensions),
        **sides("Q", tuple(-(-side // own.stride) for side in layer.shape_out)),
        "OUT": layer.channels_out,
        "GROUPS": groups,
        "TAPS": most_taps(layer),
        "BN": choice.bn,
        "MT": choice.mt,
        "WGS": choice.wgs,
        "STAGES": choice.ring(layer, values.size),
        "FETCHERS": choice.fetchers,
        "SPLIT": choice.split,
        "PERSISTENT": int(choice.persistent or choice.balanced),
        "BALANCED": int(choice.balanced),
        "BLOCKS": choice.blocks,
        "POSITION_MAJOR": int(choice.position_major),
        "GROUP_MAJOR": int(choice.group_major),
        "STORED": stored(layer, values.size),
        **values.macros,
    }
    return text("gather", macros)


@lru_cache(maxsize=64)
def constants_of(values: Numbers, bn: int) -> dict[str, NDArray[np.generic]]:
    """What the kernel reads besides its inputs: the same for every batch, and for every choice of so many columns."""
    layer, own, found = values.layer, spread(values.layer), phases(values.layer)
    groups, taps = columns(layer, bn), most_taps(layer)
    parts, each = chunks(layer, values.size), stored(layer, values.size)
    table = np.zeros((len(groups), HEAD + taps), np.int32)
    offsets = np.full((len(groups), bn // each), -1, np.int32)
    bias = np.zeros((len(groups), bn), values.bias.dtype)
    blocks: list[NDArray[np.generic]] = []
    steps = 0
    for g, group in enumerate(groups):
        real = group.phase >= 0
        bias[g, real] = values.bias[group.channel[real]]
        for unit in range(bn // each):
            at = unit * each
            if real[at]:
                offsets[g, unit] = (
                    offset_of(own, found[group.phase[at]].offset) * layer.channels_out + group.channel[at]
                )
        table[g, 0], table[g, 1] = len(group.taps), steps
        table[g, 2:5] = three(group.counts)
        table[g, 5:8] = np.max([three(reach, 0) for reach in group.taps], axis=0) if group.taps else 0
        for t, reach in enumerate(group.taps):
            z, y, x = (d & 0xFF for d in three(reach, 0))
            table[g, HEAD + t] = z << 16 | y << 8 | x
            blocks.append(_swizzled(_tap(values, found, group, t), parts))
        steps += len(group.taps) * parts
    if not all(group.taps for group in groups):  # they come last, and a tile has a step nevertheless: of zeros
        blocks.append(np.zeros(parts * bn * 128, np.uint8))
    return {
        "weights": np.concatenate(blocks),
        "table": table,
        "columns": offsets,
        "bias": bias,
        "lookup": values.lookup,
    }


def _tap(values: Numbers, found: tuple[Phase, ...], group: Columns, t: int) -> NDArray[np.generic]:
    """Weights (columns, in) of tap `t` of a group."""
    picked = np.zeros((len(group.phase), values.layer.channels_in), values.weight.dtype)
    for phase in np.unique(group.phase[group.phase >= 0]):
        element: tuple[Any, ...] = (slice(None), *found[int(phase)].taps[t].element)
        rows = group.phase == phase
        picked[rows] = values.weight[element][:, group.channel[rows]].T
    return picked


def _swizzled(weight: NDArray[np.generic], parts: int) -> NDArray[np.uint8]:
    """Weights (columns, in) as bytes: `parts` blocks of a row of 128 bytes a column, its 16-byte units exchanged."""
    rows = len(weight)
    raw = np.ascontiguousarray(weight).view(np.uint8)
    padded = np.zeros((rows, parts * 128), np.uint8)
    padded[:, : raw.shape[1]] = raw
    units = padded.reshape(rows, parts, 8, 16).transpose(1, 0, 2, 3)
    place = np.arange(8)[None, :] ^ (np.arange(rows) % 8)[:, None]  # unit u of row r is at u ^ (r % 8), and the reverse
    swizzled: NDArray[np.uint8] = units[:, np.arange(rows)[:, None], place]
    return swizzled.reshape(-1)


def offset_of(layer: Layer, phase: tuple[int, ...]) -> int:
    """Outputs (without channels) from position 0 of phase 0 to that of this phase."""
    _, rows, width = three(layer.shape_out)
    z, y, x = three(phase, 0)
    return (z * rows + y) * width + x


def three(values: tuple[int, ...], fill: int = 1) -> tuple[int, ...]:
    """Sides (depth, rows, columns), `fill` where a layer has fewer dimensions."""
    return (fill,) * (3 - len(values)) + values


def sides(letter: str, values: tuple[int, ...]) -> dict[str, int]:
    """Macros `letter`Z, Y and X."""
    return {f"{letter}{axis}": value for axis, value in zip("ZYX", three(values), strict=True)}
