"""Launch of `mma_pair.cu`: a layer and the one after it, which has few output channels, in one kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu.deconv import mma_halo, mma_rows
from gpu.deconv.launch import Launch, Stage, Unsupported
from gpu.deconv.layout import NUMBERS, Network
from gpu.deconv.mma_gather import constants_of, phases, sides, stored
from gpu.deconv.mma_numbers import Numbers, numbers
from gpu.deconv.mma_text import OPTIONS, text
from gpu.runtime.device import Info

ENTRY = "pair"
#: Warpgroups, of 64 inputs of an item each.
MOST_WARPGROUPS = 4
#: Columns of one instruction, which are the channels between the layers.
MOST_BETWEEN = 64


@dataclass(frozen=True)
class Pair:
    """What tuning may choose: room for the inputs of one item, or of two. An item has a warpgroup for 8 x 8 inputs."""

    regions: int = 1

    def __str__(self) -> str:
        return f"pair: this layer and the next in one kernel, item by item, regions={self.regions}"


def check(network: Network, index: int, size: int) -> None:
    """Errors: Unsupported for layers that the kernel cannot do with numbers of `size` bytes."""
    if not network.chained or index + 1 >= len(network.layers):
        raise Unsupported(f"{network.layers[index].name}: no layer follows that takes its outputs")
    layer, last = network.layers[index : index + 2]
    mma_halo.check(layer, size)
    mma_rows.check(last, size)
    warpgroups, row = layer.shape[0] * layer.shape[-1] // 64, layer.channels_in * size
    if layer.dimensions != 2 or layer.shape[0] % 8 or layer.shape[1] % 8 or warpgroups > MOST_WARPGROUPS:
        raise Unsupported(
            f"{layer.name}: {layer.shape} inputs; needs multiples of 8 x 8, up to {MOST_WARPGROUPS} of them"
        )
    if row % 32 or row > 128:
        raise Unsupported(f"{layer.name}: {row} bytes of input channels; needs a multiple of 32, up to 128")
    if layer.channels_out > MOST_BETWEEN or layer.channels_out * size % 16 or layer.channels_out % 8:
        raise Unsupported(f"{layer.name}: {layer.channels_out} channels; needs 8 and 16 bytes, up to {MOST_BETWEEN}")
    if layer.activation != "clip" or last.shape[1] % 16 or last.shape[0] % (4 * warpgroups):
        raise Unsupported(
            f"{layer.name}: {layer.activation} to {last.shape}; needs clip, rows of 16 and {4 * warpgroups} of them"
        )


def stage(network: Network, index: int, choice: Pair, arithmetic: str, n: int, info: Info) -> Stage:
    """Both layers as one launch. Errors: Unsupported."""
    check(network, index, NUMBERS[arithmetic]().itemsize)
    first, last = numbers(network, index, arithmetic), numbers(network, index + 1, arithmetic)
    held, rows = constants_of(first, first.layer.channels_out), mma_rows.constants_of(last)
    constants: dict[str, NDArray[np.generic]] = {
        "weights": held["weights"],
        "bias": held["bias"],
        "last_weights": rows["weights"],
        "last_bias": rows["bias"],
        "lookup": rows["lookup"],
    }
    source, shared = _text(first, last, held["table"], choice.regions)
    if shared > info.local_bytes:
        raise Unsupported(f"{first.layer.name}: {shared} bytes of shared memory; at most {info.local_bytes}")
    threads = first.layer.shape[0] * first.layer.shape[1] * 2
    blocks = max(1, min(info.local_bytes // (shared + 1024), 512 // threads))  # of a multiprocessor
    launch = Launch(
        source,
        ENTRY,
        ("in", "out", *constants, n),
        min(n, info.units * blocks),
        threads,
        shared,
        OPTIONS,
        dependent=True,
    )
    return Stage((launch,), constants, layers=2)


def _text(first: Numbers, last: Numbers, table: NDArray[np.generic], regions: int) -> tuple[str, int]:
    """(text, bytes of shared memory)."""
    layer, found = first.layer, phases(first.layer)
    # As the groups of columns are: those with most taps first.
    order = sorted(range(len(found)), key=lambda i: -len(found[i].taps))
    taps = [(place, tap.reach) for place, i in enumerate(order) for tap in found[i].taps]
    reached_by = sorted({reach for _, reach in taps}, key=lambda r: (-sum(reach == r for _, reach in taps), r))
    steps = {tap: step for step, tap in enumerate(taps)}
    smallest, largest = mma_halo.reaches(layer)
    reached = [side + high - low for side, low, high in zip((1, *layer.shape), smallest, largest, strict=True)]
    assert [int(t) for t in table[:, 0]] == [len(found[i].taps) for i in order]
    reaches = [d for line in mma_rows.slots(last.layer)[0] for d in line]
    bn, parts = layer.channels_out, mma_rows.shared(last.layer, last.size)
    macros: dict[str, int | str] = {
        "INT8": int(first.size == 1),
        "CIN": layer.channels_in,
        **{k: v for k, v in sides("I", layer.shape).items() if k != "IZ"},
        "SY": layer.stride,
        "SX": layer.stride,
        "BN": bn,
        "MT": 1,
        "WGS": layer.shape[0] * layer.shape[1] // 64,
        "STAGES": 1,
        "SPLIT": 1,
        "STORED": stored(layer, first.size),
        "PHASES": len(found),
        "STEPS": len(taps),
        "PLACE": mma_rows.braces(mma_rows.braces(found[i].offset) for i in order),
        "REACHES": len(reached_by),
        "REACHED": mma_rows.braces(map(mma_rows.braces, reached_by)),
        "STEP": mma_rows.braces(
            mma_rows.braces(steps.get((place, reach), -1) for place in range(len(order))) for reach in reached_by
        ),
        "LY": largest[1],
        "LX": largest[2],
        "HY": reached[1],
        "HX": reached[2],
        "REGIONS": regions,
        "SHIFT1": first.shift,
        "LAST_OUT": last.layer.channels_out,
        "LAST_SY": last.layer.stride,
        "LAST_SX": last.layer.stride,
        **mma_rows.lists(last.layer),
        "WINDOW": max(reaches) - min(reaches) + 1,
        "MOST": max(reaches),
        **last.macros,
    }
    plane = (reached[1] * reached[2] + 6) // 8 * 8 + 1
    keep = -(-layer.channels_in * first.size // 16 * plane * 16 // 1024) * 1024
    between = last.layer.shape[0] * last.layer.shape[1] * bn * first.size
    return text("pair", macros), 1024 + len(taps) * bn * 128 + regions * keep + between + parts + 16
