"""The tensor-core kernels of `bcnn` in numpy: the same constants, fragments and packing, without hardware.

Activations are packed words (n, rows, columns, words); fragments follow the PTX ISA, a lane is 4 g + t.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.bcnn.kernels import Step
from gpu.bcnn.layout import Shape

Words = NDArray[np.uint32]


def windows(shape: Shape, x: Words) -> Words:
    """Chunks of 128 bits of every window: (n, rows, columns, taps, planes, 4), padding as zeros."""
    layer = shape.layer
    x = x.reshape(len(x), layer.side, layer.side, shape.words_in)
    p, k = layer.padding, layer.kernel
    padded = np.pad(x, ((0, 0), (p, p), (p, p), (0, 0)))
    found = np.lib.stride_tricks.sliding_window_view(padded, (k, k), axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)
    return found.reshape(len(x), layer.side_sums, layer.side_sums, k * k, -1, 4)


def classes(shape: Shape) -> NDArray[np.int64]:
    """Class of each position, as `border` in bits.cu counts the taps that it loses."""
    layer = shape.layer
    at = np.arange(layer.side_sums)
    low = np.maximum(0, layer.padding - at)
    high = np.maximum(0, at + layer.kernel - layer.padding - layer.side)
    one = low * (layer.padding + 1) + high
    return one[:, None] * (layer.padding + 1) ** 2 + one[None, :]


def product(a: Words, b: Words) -> NDArray[np.int64]:
    """Ones in common: a (..., 4 words) against b (tiles, 8 columns g, 4 t): (..., tiles, 8)."""
    return np.bitwise_count(a[..., None, None, :] & b).sum(axis=-1, dtype=np.int64)


def columns(b: Words) -> Words:
    """Words of lanes (..., 32) as (..., 8 columns, 4)."""
    return b.reshape(*b.shape[:-1], 8, 4)


def pack(y: Words, nt: int) -> Words:
    """`pack` of bits.cu: halves (..., nt tiles, 4 lanes t) to words (..., nt / 4)."""
    b = (y[..., None] >> np.array([8, 24], np.uint32) & 0x80).astype(np.uint32)  # top bits of both halves
    quad = b[..., 0::2, :, :], b[..., 1::2, :, :]
    lanes = np.zeros((*y.shape[:-2], 4), np.uint32)
    for i in range(nt // 2):
        for byte, part in enumerate((quad[0][..., 0], quad[0][..., 1], quad[1][..., 0], quad[1][..., 1])):
            lanes |= part[..., i, :] >> i << 8 * byte
    share = 16 // nt
    shifted = lanes >> (nt // 2 * (np.arange(4, dtype=np.uint32) % share))
    return np.bitwise_or.reduce(shifted.reshape(*y.shape[:-2], 4 // share, share), axis=-1)


def finish(shape: Shape, y: NDArray[Any], nt: int) -> Words:
    """Pool by or, pack: y (n, rows, columns, blocks, nt, 4) to (n, rows, columns, words_out)."""
    y = y.astype(np.uint64).astype(np.uint32)
    if shape.layer.pool:
        side = shape.layer.side_out
        grouped = y.reshape(len(y), side, 2, side, 2, *y.shape[3:])
        y = np.bitwise_or.reduce(np.bitwise_or.reduce(grouped, axis=4), axis=2)
    words = pack(y, nt)
    words = words.reshape(*words.shape[:3], -1)
    out = np.zeros((*words.shape[:3], max(shape.words_out, words.shape[-1])), np.uint32)
    out[..., : words.shape[-1]] = words
    assert not out[..., shape.words_out :].any()
    return out[..., : shape.words_out]


def halves(acc: NDArray[np.int64], ones: NDArray[np.int64], table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two channels a word: acc (..., tiles, 8), ones (...), table (..., tiles, 4), modulo 2^32."""
    two = table - 65537 * ones[..., None, None] + 2 * acc[..., 0::2] + 131072 * acc[..., 1::2]
    return two & 0xFFFFFFFF


def first(step: Step, shape: Shape, images: NDArray[np.int8]) -> Words:
    """`first.cu`."""
    layer, nt = shape.layer, step.choice["nt"]
    p = layer.padding
    pixels = np.zeros((*images.shape[:3], 4), np.int64)
    pixels[..., : images.shape[3]] = images
    padded = np.pad(pixels, ((0, 0), (p, p), (p, p), (0, 0)))
    taps = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)
    taps = taps.reshape(*taps.shape[:3], 9, 4)
    a = taps[..., :8, :].copy()
    a[..., :4, 3] = taps[..., 8, :]  # byte t of the ninth tap is the spare byte of lane t's word
    a[..., 4:, 3] = [127, 127, 127, 1]
    (weights,) = step.constants
    signs = weights.view(np.int8).reshape(-1, nt, 8, 4, 2, 4).astype(np.int64)  # blocks, tiles, g, t, register, byte
    acc = np.einsum("nyxrtb,kjgtrb->nyxkjg", a.reshape(*a.shape[:3], 2, 4, 4), signs)
    assert acc.min() >= 0
    assert acc.max() < 65536
    return finish(shape, acc[..., 0::2] + 65536 * acc[..., 1::2], nt)


def conv(step: Step, shape: Shape, x: Words) -> Words:
    """`conv.cu` and `region.cu`: a step is two chunks of 128 products, each (ky, kx, plane)."""
    wn, nt, planes = step.choice["wn"], step.choice["nt"], shape.words_in // 4
    chunks = windows(shape, x)
    ones = np.bitwise_count(chunks).sum(axis=(3, 4, 5), dtype=np.int64)
    weights, table = step.constants
    blocks = len(weights)
    region = step.choice.family == "region"
    if region and planes == 1:
        steps, last_tap = [((ky, 0, 0), (ky, 1, 0)) for ky in range(3)] + [((0, 2, 0), (1, 2, 0))], 8
    elif region:
        order = [(p, kx, ky) for p in range(planes // 2) for kx in range(3) for ky in range(3)]
        steps = [((ky, kx, 2 * p), (ky, kx, 2 * p + 1)) for p, kx, ky in order]
    elif planes == 1:
        steps, last_tap = [((0, kx, 0), (1, kx, 0)) for kx in range(3)] + [((2, 0, 0), (2, 2, 0))], 7
    else:
        taps = [(ky, kx) for ky in range(3) for kx in range(3)]
        steps = [((*t, 2 * p), (*t, 2 * p + 1)) for t in taps for p in range(planes // 2)]
    full = len(steps) * wn * nt * 64
    b = weights[:, :full].reshape(blocks, len(steps), wn, nt // 2, 32, 2, 2)
    b = b.transpose(0, 2, 1, 3, 5, 6, 4).reshape(blocks, wn, len(steps), nt, 2, 32)
    acc = np.zeros((*chunks.shape[:3], blocks, wn, nt, 8), np.int64)
    for block in range(blocks):
        for w in range(wn):
            for s, pair in enumerate(steps):
                for half, (ky, kx, plane) in enumerate(pair):
                    a = chunks[:, :, :, 3 * ky + kx, plane]
                    acc[..., block, w, :, :] += product(a, columns(b[block, w, s, :, half]))
            if planes == 1:
                last = weights[block, full:].reshape(wn, nt // 4, 32, 4)[w].transpose(0, 2, 1).reshape(nt, 32)
                acc[..., block, w, :, :] += product(chunks[:, :, :, last_tap, 0], columns(last))
    kinds = classes(shape)
    limit = table.astype(np.int64).transpose(1, 0, 2, 4, 3)[kinds]  # rows, columns, blocks, wn, tiles, 4 t
    y = halves(acc, ones[..., None, None], limit)
    return finish(shape, y.reshape(*y.shape[:3], blocks * wn, nt, 4), nt)


def gather(step: Step, shape: Shape, x: Words) -> NDArray[Any]:
    """`gather.cu`."""
    nt = step.choice["nt"]
    chunks = windows(shape, x)
    chunks = chunks.reshape(*chunks.shape[:3], -1, 4)
    ones = np.bitwise_count(chunks).sum(axis=(3, 4), dtype=np.int64)
    weights, table = step.constants
    blocks, groups = weights.shape[:2]
    padded = np.zeros((*chunks.shape[:3], 4 * groups, 4), np.uint32)
    padded[..., : chunks.shape[3], :] = chunks
    acc = np.zeros((*chunks.shape[:3], blocks, nt, 8), np.int64)
    for block in range(blocks):
        for group in range(groups):
            for word in range(4):  # lane t has this word of chunk 4 group + t
                a = padded[..., 4 * group : 4 * group + 4, word]
                acc[..., block, :, :] += product(a, columns(weights[block, group, ..., word]))
    kinds = classes(shape)
    if shape.layer.last:
        base = table[kinds].transpose(0, 1, 2, 4, 3, 5).reshape(*kinds.shape, blocks, nt, 8).astype(np.int64)
        sums = base + 4 * acc - 2 * ones[..., None, None, None]
        return sums.reshape(*sums.shape[:3], -1)[..., : shape.layer.channels_out].reshape(len(x), -1)
    limit = table.astype(np.int64).transpose(0, 1, 3, 2)[kinds]
    return finish(shape, halves(acc, ones[..., None], limit), nt)
