"""sliding_window against numpy: kernels, padding with and without masks, bits and numbers, images back to back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from many_streams import Dut, run_many

#: (bits, channels, side, kernel, padding, mask_lanes)
SHAPES = (
    (1, 4, 3, 1, 0, 0),
    (1, 4, 8, 3, 0, 0),
    (1, 6, 8, 3, 1, 1),
    (1, 6, 7, 3, 1, 3),
    (1, 2, 6, 3, 2, 2),
    (8, 3, 6, 3, 0, 0),
    (5, 2, 6, 3, 1, 0),
    (1, 3, 3, 3, 0, 0),
    (1, 3, 4, 3, 0, 0),
    (1, 3, 2, 3, 1, 1),
    (3, 1, 7, 5, 2, 0),
    (1, 5, 9, 5, 1, 5),
    (4, 2, 5, 2, 0, 0),
    (1, 4, 5, 2, 1, 2),
    (1, 40, 16, 3, 1, 1),
)
IMAGES = 4


def columns(images: np.ndarray, bits: int, kernel: int, padding: int, mask_lanes: int) -> list[int]:
    """Words that the window unit gives for images (n, side, side, channels)."""
    n, _, _, channels = images.shape
    lanes = mask_lanes or 1
    pad = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    values, inside = np.pad(images, pad), np.pad(np.ones_like(images[..., :1]), pad)
    # (n, row, column, kx, ky, channel)
    cut = np.lib.stride_tricks.sliding_window_view(values, (kernel, kernel), axis=(1, 2)).transpose(0, 1, 2, 5, 4, 3)
    taps = np.lib.stride_tricks.sliding_window_view(inside, (kernel, kernel), axis=(1, 2)).transpose(0, 1, 2, 5, 4, 3)
    words = []
    for column, tap in zip(cut.reshape(-1, kernel, channels), taps.reshape(-1, kernel), strict=True):
        word = shift = 0
        for ky in range(kernel):
            for group in column[ky].reshape(lanes, -1):
                for value in group:
                    word |= (int(value) & (2**bits - 1)) << shift
                    shift += bits
                if mask_lanes:
                    word |= int(tap[ky]) << shift
                    shift += 1
        words.append(word)
    assert len(words) == n * (images.shape[1] + 2 * padding - kernel + 1) ** 2 * kernel
    return words


def pixels(images: np.ndarray, bits: int) -> list[int]:
    """Words of the pixels, channel 0 lowest."""
    rows = images.reshape(-1, images.shape[-1])
    return [sum((int(v) & (2**bits - 1)) << (bits * i) for i, v in enumerate(row)) for row in rows]


@pytest.mark.parametrize(
    ("shapes", "seed", "form"),
    [(SHAPES[0::2], 13, ""), (SHAPES[1::2], 14, ""), (SHAPES[1:3], 15, "netlist")],
    ids=["even", "odd", "synthesised"],
)
def test_sliding_window(tmp_path: Path, shapes: tuple[tuple[int, ...], ...], seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    duts, sent, expected = [], [], []
    for bits, channels, side, kernel, padding, lanes in shapes:
        parameters = {
            "BITS": bits,
            "CHANNELS": channels,
            "SIDE": side,
            "KERNEL": kernel,
            "PADDING": padding,
            "MASK_LANES": lanes,
        }
        duts.append(Dut("sliding_window", parameters, bits * channels, kernel * (bits * channels + lanes)))
        low = 0 if bits == 1 else -(2 ** (bits - 1))
        images = rng.integers(low, low + 2**bits, (IMAGES, side, side, channels))
        sent.append(pixels(images, bits))
        expected.append(columns(images, bits, kernel, padding, lanes))
    seen = run_many(duts, sent, expected, results=tmp_path, seed=seed, form=form)
    for (_, _, side, kernel, padding, _), rhythms in zip(shapes, seen, strict=True):
        inward, outward = rhythms[0].in_cycles, rhythms[0].out_cycles
        beats = kernel * (side + 2 * padding - kernel + 1) ** 2
        interval = max(beats, side * side)
        case = f"side {side}, kernel {kernel}, padding {padding}"
        assert set(np.diff(outward[beats - 1 :: beats])) == {interval}, f"{case}: interval between images"
        if beats >= side * side + side:
            assert set(np.diff(outward)) == {1}, f"{case}: a column a cycle, also from row to row and image to image"
        elif beats < side * side:
            assert set(np.diff(inward)) == {1}, f"{case}: a pixel a cycle"
        # The first position needs the pixels of its window and no more.
        first = (kernel - 1 - padding) * side + kernel - padding
        assert outward[0] - inward[first - 1] == (1 if kernel == 1 else 3), case
