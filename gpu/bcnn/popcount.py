"""Portable kernels in OpenCL C by xor and popcount: what the host prepares for `first.cl` and `popcount.cl`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu.bcnn import layout
from gpu.bcnn.kernels import Choice, Step, Unsupported
from gpu.bcnn.layout import Shape
from gpu.runtime.device import Info
from workloads.bcnn.network import Network

VARIANT = "popcount"
FILES = ("gpu/bcnn/popcount.py", "gpu/bcnn/layout.py", "gpu/bcnn/first.cl", "gpu/bcnn/popcount.cl")
_FOLDER = Path(__file__).parent
#: Bytes of weights in local memory at once; OpenCL on NVIDIA gives a group 48 kB.
_STAGED = 32 * 1024


def check(network: Network) -> None:
    """Errors: Unsupported, naming the layer and the condition that fails."""
    first = network.layers[0]
    if first.input_bits == 1 or first.last or first.kind != "conv":
        raise Unsupported(f"{first.name}: the first layer must be a convolution of numbers of several bits")


def choices(network: Network, index: int, n: int, info: Info) -> Iterator[Choice]:
    """Yield what tuning may try for layer `index` at batch `n`."""
    gpu, ptx = info.warp > 1, int(info.warp == 32 and info.tensor)
    if index == 0:
        for local in (64, 256) if gpu else (16,):
            yield Choice("first", local=local, dp4a=ptx)
        return
    shape = layout.shapes(network, 1)[index]
    layer, parts = shape.layer, shape.parts
    vector = next(v for v in (4, 2, 1) if shape.words_in % v == 0)
    same = {"vector": vector, "carry": int(vector > 1), "ptx": ptx, "wide": int(gpu)}
    if not gpu:
        yield Choice("popcount", tm=parts, tn=2, channels=32, local=32, **same)
        return
    tiles: tuple[tuple[int, int, int, int], ...]
    if n * shape.units * parts * layer.channels_out <= 2**18:
        tiles = ((4, 1, 32, 64), (parts, 1, 32, 64), (parts, 2, 32, 32))
    else:
        tiles = ((4, 4, 64, 256), (4, 4, 64, 128), (4, 8, 64, 256), (8, 4, 64, 128))
    widest = max(32, -(-layer.channels_out // 32) * 32)
    narrow = ((4, 1, 32, 64), (parts, 2, 32, 32))  # a layer of few channels
    for tm, tn, channels, local in [tile for tile in tiles if tile[2] <= widest] or narrow:
        yield Choice("popcount", tm=tm, tn=tn, channels=channels, local=local, **same)
    if vector > 1 and tiles[0][1] == 4 and layer.channels_out >= 64:
        yield Choice("popcount", tm=4, tn=4, channels=64, local=256, **(same | {"carry": 0}))


def step(network: Network, index: int, choice: Choice) -> Step:
    """Build the launch of one layer."""
    shape = layout.shapes(network, 1)[index]
    build = first_step if choice.family == "first" else popcount_step
    return build(shape, network.weights[index], network.thresholds[index], choice)


def first_step(shape: Shape, weight: NDArray[np.uint8], threshold: NDArray[np.int32] | None, c: Choice) -> Step:
    """The first layer: signs as bytes, four a word, 32 channels together."""
    layer = shape.layer
    assert threshold is not None
    outputs = 32 * shape.words_out
    signs = np.zeros((outputs, -(-layer.synapses // 4) * 4), np.int8)
    signs[: layer.channels_out, : layer.synapses] = weight.reshape(layer.channels_out, -1) * 2 - 1
    macros = shape.defines() | {"CHANNELS": layer.channels_in, "LOCAL": c["local"], "DP4A": c["dp4a"]}

    def groups(n: int, info: Info) -> int:
        return shape.words_out * -(-n * shape.units // c["local"])

    return Step(
        layer.name,
        layout.defines(macros) + (_FOLDER / "first.cl").read_text(),
        (signs.view("<u4").astype(np.uint32), _limits(threshold, outputs)),
        groups,
        c["local"],
        0,
        4 * shape.units * shape.words_out,
        c,
    )


def popcount_step(shape: Shape, weight: NDArray[np.uint8], threshold: NDArray[np.int32] | None, c: Choice) -> Step:
    """A layer with binary inputs: weights by block of channels, tap, words of a load, channel."""
    layer, channels, vector = shape.layer, c["channels"], c["vector"]
    blocks = -(-layer.channels_out // channels)
    words = layout.packed_weights(shape, weight, blocks * channels)
    words = words.reshape(blocks, channels, shape.taps, shape.words_in // vector, vector).transpose(0, 2, 3, 1, 4)
    taps, staged = staging(shape, channels, vector)
    macros = shape.defines() | {
        "WORDS": shape.words_in,
        "PRODUCTS": shape.products,
        "TM": c["tm"],
        "TN": c["tn"],
        "CHANNELS": channels,
        "GROUPS": channels // c["tn"],
        "LOCAL": c["local"],
        "STAGED_TAPS": taps,
        "STAGED_WORDS": staged,
        "VECTOR": vector,
        "WIDE": c["wide"],
        "CARRY": c["carry"],
        "PTX": c["ptx"],
    }
    units = c["local"] * c["tn"] // channels * c["tm"] // shape.parts

    def groups(n: int, info: Info) -> int:
        return blocks * -(-n * shape.units // units)

    return Step(
        layer.name,
        layout.defines(macros) + (_FOLDER / "popcount.cl").read_text(),
        (np.ascontiguousarray(words), _limits(threshold, blocks * channels)),
        groups,
        c["local"],
        0,
        4 * shape.units * (layer.channels_out if layer.last else shape.words_out),
        c,
    )


def staging(shape: Shape, channels: int, vector: int) -> tuple[int, int]:
    """Taps, and words of each, whose weights are in local memory at once: all words of some taps, or part of one."""
    taps = [t for t in range(1, shape.taps + 1) if shape.taps % t == 0]
    fit = [t for t in taps if 4 * t * shape.words_in * channels <= _STAGED]
    if fit:
        return fit[-1], shape.words_in
    words = [w for w in range(vector, shape.words_in + 1, vector) if shape.words_in % w == 0]
    return 1, max(w for w in words if w == vector or 4 * w * channels <= _STAGED)


def _limits(threshold: NDArray[np.int32] | None, outputs: int) -> NDArray[np.int32]:
    """Thresholds of all outputs of all blocks; those that the layer lacks are never reached."""
    found = np.full(outputs, np.iinfo(np.int32).max, np.int32)
    if threshold is not None:
        found[: len(threshold)] = threshold
    return found
