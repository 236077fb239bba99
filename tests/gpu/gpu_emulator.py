"""`mma.cl` in numpy: the same words, fragments and generated calls, which prove the layout without hardware."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.track.lower import Lowered
from gpu.track.mma import UNIT, Fragments

LANE = np.arange(32)
G, T = LANE // 4, LANE % 4


def halves(words: NDArray[np.uint32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Low and high half of each word as float64."""
    low, high = (words & 0xFFFF).astype(np.uint16), (words >> 16).astype(np.uint16)
    return low.view(np.float16).astype(np.float64), high.view(np.float16).astype(np.float64)


def matrix(registers: list[NDArray[np.uint32]], by_row: bool) -> NDArray[np.float64]:
    """Fragments (tiles, 32) to A (tiles, 16, 8 or 16), or B (8 or 16, 8) from (32,) when not `by_row`."""
    tiles = registers[0].shape[0] if by_row else 1
    depth = 8 * (len(registers) // 2 if by_row else len(registers))
    full = np.zeros((tiles, 16, depth) if by_row else (1, 8, depth))
    for r, words in enumerate(registers):
        low, high = halves(words)
        row = G + 8 * (r % 2) if by_row else G
        at = 8 * (r // 2 if by_row else r) + 2 * T
        full[:, row, at], full[:, row, at + 1] = low, high
    return full if by_row else full[0].T


def input_words(data: NDArray[Any], rows: int) -> list[NDArray[np.uint32]]:
    """The two words a lane reads for rows g and g + 8 of each tile, as `FETCH` does for an odd number of inputs."""
    n_in = data.shape[1]
    padded = np.zeros((rows, n_in), data.dtype)
    padded[: len(data)] = data
    stream = np.concatenate([padded.reshape(-1).view(np.uint16), np.zeros(8, np.uint16)]).view(np.uint32)
    odd = G & 1 if n_in % 2 else G * 0
    slot = np.where(odd == 1, T - 2, T)
    words = (n_in + 1) // 2
    used = np.where(odd == 1, (T >= 2) & (slot < words), slot < words)
    mask = np.where(used, 0xFFFFFFFF, 0)
    if n_in % 2:
        mask = np.where(used & (odd == 0) & (slot == words - 1), 0x0000FFFF, mask)
        mask = np.where(used & (odd == 1) & (slot == 0), 0xFFFF0000, mask)
    at = np.where(used, (G * n_in - odd) // 2 + slot, 0)
    block = np.arange(rows // 8)[:, None] * (4 * n_in)
    read = stream[block + at] & mask.astype(np.uint32)
    return [read[0::2], read[1::2]]


def run(parts: Fragments, data: NDArray[Any], n_out: int, fixed: Lowered | None) -> NDArray[Any]:
    """Evaluate `data` (n, n_in), int16 or float16, tile by tile; return (n, n_out) int64 or float64."""
    rows = -(-len(data) // 16) * 16
    x = input_words(data, rows)
    if fixed is not None:
        x = [_decode(word) for word in x]
    w, a, c = parts.words, {}, {}
    tiles = rows // 16
    for name, text in re.findall(r"(\w+)\(([^)]*)\)", parts.layers):
        args = [v.strip() for v in text.split(",")]
        if name in ("FIRST", "DENSE"):
            kts, nts, w_at, b_at = (1, *map(int, args)) if name == "FIRST" else tuple(map(int, args))
            for j in range(nts):
                bias = [w[b_at + 2 * j].view(np.float32), w[b_at + 2 * j + 1].view(np.float32)]
                d = np.zeros((tiles, 16, 8))
                for g in (0, 8):
                    d[:, G + g, 2 * T], d[:, G + g, 2 * T + 1] = bias[0], bias[1]
                for k in range(kts):
                    if name == "FIRST":
                        left, right = matrix(x, True), matrix([w[w_at + j]], False)
                    else:
                        at = w_at + 2 * (k * nts + j)
                        left, right = matrix(a[k], True), matrix([w[at], w[at + 1]], False)
                    d = d + left @ right
                c[j] = [d[:, G, 2 * T], d[:, G, 2 * T + 1], d[:, G + 8, 2 * T], d[:, G + 8, 2 * T + 1]]
        elif name == "PACK":
            j, pair, q = int(args[0]), args[1], w[int(args[2])]
            registers = a.setdefault(j // 2, [np.zeros((tiles, 32), np.uint32)] * 4)
            a[j // 2] = registers = list(registers)
            registers[2 * (j % 2)] = _pair(pair, c[j][0], c[j][1], q)
            registers[2 * (j % 2) + 1] = _pair(pair, c[j][2], c[j][3], q)
        elif name == "PAD":
            k = int(args[0]) // 2
            a[k] = [*a[k][:2], np.zeros((tiles, 32), np.uint32), np.zeros((tiles, 32), np.uint32)]
    out = np.zeros((tiles, 16, 8))
    for r, part in enumerate(c[0]):
        out[:, G + 8 * (r // 2), 2 * T + r % 2] = part
    flat = out.reshape(rows, 8)[: len(data), :n_out]
    if fixed is None:
        return flat.astype(np.float16).astype(np.float64)
    last = fixed.steps[-1]
    q = np.floor(flat / UNIT).astype(np.int64)
    q = np.maximum(q, 0) if last.relu else q
    low, high, up = (w[parts.last + i].view(np.int32) for i in range(3))
    odd = [w[parts.last + 3 + i].view(np.int32) for i in range(3)]
    for column in range(n_out):
        lo, hi, shift = (int((odd if column % 2 else [low, high, up])[i][column // 2]) for i in range(3))
        value = ((q[:, column] - lo) & (hi - lo)) + lo if parts.last_wrap else np.clip(q[:, column], lo, hi)
        q[:, column] = value << shift
    return q


def _decode(word: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Two int16 to two halves of x times 2^-24."""
    parts = [((word >> shift) & 0xFFFF).astype(np.uint16).view(np.int16).astype(np.float64) for shift in (0, 16)]
    bits = [(p * UNIT).astype(np.float16).view(np.uint16).astype(np.uint32) for p in parts]
    return bits[0] | (bits[1] << 16)


def _pair(kind: str, x: NDArray[np.float64], y: NDArray[np.float64], ranges: NDArray[np.uint32]) -> NDArray[np.uint32]:
    bits = []
    for value, limit in ((x, ranges & 0xFFFF), (y, ranges >> 16)):
        if kind in ("pair_relu", "pair_linear"):
            rounded = (np.maximum(value, 0.0) if kind == "pair_relu" else value).astype(np.float16)
            bits.append(rounded.view(np.uint16).astype(np.uint32))
            continue
        q = np.floor(np.maximum(value, 0.0) / UNIT)
        assert np.abs(value / UNIT).max() < 2**24, "a sum leaves the exact range of float32"
        if kind in ("pair_floor", "pair_mask"):
            assert q.max() <= 2047, f"{kind} met {q.max()}, half counts to 2047 in this unit"
        q = q.astype(np.uint32)
        if kind == "pair_saturate":
            q = np.minimum(q, limit)
        elif kind in ("pair_mask", "pair_wrap"):
            q = q & limit
        bits.append(q)
    return (bits[0] | (bits[1] << 16)).astype(np.uint32)
