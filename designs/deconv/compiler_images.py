"""What the engine's memories hold: weight words, biases, and the activation table, in the engine's order.

A weight word has the weights of TM output channels and of the input channels of a fold: those of one tap. Numbers are
laid out [(m LZ + z) TN + n], lowest first, for output channel m, z lane z and input channel n of it; LZ is TZ where
the z lanes take channels, else 1. Words follow each other by group of output channels, tap and fold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from designs.deconv.compiler_tiles import Tile, merged
from designs.deconv.config import Engine
from workloads.deconv import fixed
from workloads.deconv.fixed import FixedLayer, Integers
from workloads.deconv.layer import Activation

#: Most words of a bank of resident weights, as in `deconv_rom`.
BLOCK = 2048


def weight_words(layer: FixedLayer, tile: Tile, order: Sequence[int]) -> Integers:
    """Words (groups, taps, folds, numbers) of a layer; `order` are the kernel's elements in raster order, as wanted."""
    engine = tile.engine
    lanes = engine.tz if merged(layer.layer, engine) else 1
    into, out = layer.layer.channels_in, layer.layer.channels_out
    taps = len(order)
    padded = np.zeros((tile.folds * lanes * engine.tn, taps, tile.groups * engine.tm), np.int64)
    padded[:into, :, :out] = layer.weight.reshape(into, taps, out)[:, list(order)]
    split = padded.reshape(tile.folds, lanes, engine.tn, taps, tile.groups, engine.tm)
    words: Integers = split.transpose(4, 3, 0, 5, 1, 2)
    return words.reshape(tile.groups, taps, tile.folds, engine.tm * lanes * engine.tn)


def bias_words(layer: FixedLayer, tile: Tile) -> Integers:
    """Biases (groups, TM) on the grid of the sums."""
    padded = np.zeros(tile.groups * tile.engine.tm, np.int64)
    padded[: layer.layer.channels_out] = layer.bias
    return padded.reshape(tile.groups, tile.engine.tm)


def table_words(activation: Activation, bits: int) -> Integers:
    """Entries (1024, columns) of a table, lowest address first: the value; with 16 bits also the step to the next."""
    values = fixed.table(activation, bits)
    if bits == 8:
        return values[:-1, None]
    return np.stack([values[:-1], np.diff(values)], axis=1)


def packed(words: NDArray[np.int64], bits: int) -> NDArray[np.uint8]:
    """Words (n, bytes) of words of numbers (n, numbers), the first lowest, each in `bits` bits of two's complement.

    Bytes come lowest first; the last is filled with zeros.
    """
    if bits in (8, 16, 32):
        return words.astype(f"<i{bits // 8}").view(np.uint8).reshape(len(words), -1)
    spread = ((words[..., None] >> np.arange(bits)) & 1).astype(np.uint8).reshape(len(words), -1)
    return np.packbits(spread, axis=1, bitorder="little")


def hexadecimal(rows: NDArray[np.uint8], bits: int) -> str:
    """Text for $readmemh of words (n, bytes), lowest byte first, of `bits` bits."""
    digits = -(-bits // 4)
    return "".join(f"{row.tobytes()[::-1].hex()[-digits:]}\n" for row in rows)


def lines_of(rows: NDArray[np.uint8], block: int = BLOCK) -> NDArray[np.uint8]:
    """Words (n, bytes) as lines (lines, banks x bytes) of `deconv_rom`: word w in bank w mod banks; zeros at the end.

    As many banks, a power of two, as keep each to `block` words.
    """
    banks = 1
    while len(rows) > banks * block:
        banks *= 2
    filled = np.pad(rows, ((0, -len(rows) % banks), (0, 0)))
    return filled.reshape(-1, banks * rows.shape[1])


def acc_bits(layer: FixedLayer) -> int:
    """Bits of a register that no sum of a layer, with bias and rounding, ever leaves."""
    return (layer.largest_sum + (1 << max(layer.fraction - 1, 0))).bit_length() + 1


def beats(tensor: Integers, engine: Engine) -> Integers:
    """Beats (n, io * wide) of a tensor (z, rows, columns, channels) in the order of the streams."""
    z, rows, columns, channels = tensor.shape
    groups, words = -(-columns // engine.io), -(-channels // engine.wide)
    padded = np.zeros((z, rows, groups * engine.io, words * engine.wide), np.int64)
    padded[:, :, :columns, :channels] = tensor
    split = padded.reshape(z, rows, groups, engine.io, words, engine.wide)
    return split.transpose(0, 1, 2, 4, 3, 5).reshape(-1, engine.io * engine.wide)


def tensor_of(words: Integers, shape: tuple[int, int, int, int], engine: Engine) -> Integers:
    """The tensor (z, rows, columns, channels) of beats; the inverse of `beats`."""
    z, rows, columns, channels = shape
    groups, count = -(-columns // engine.io), -(-channels // engine.wide)
    split = words.reshape(z, rows, groups, count, engine.io, engine.wide).transpose(0, 1, 2, 4, 3, 5)
    return split.reshape(z, rows, groups * engine.io, -1)[:, :, :columns, :channels]
