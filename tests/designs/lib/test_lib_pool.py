"""max_pool against numpy: bits and numbers, one beat a pixel and several, images back to back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from many_streams import Dut, run_many

#: (bits, lanes, folds, side, signed)
SHAPES = (
    (1, 4, 1, 2, 0),
    (1, 1, 1, 6, 0),
    (1, 3, 2, 2, 0),
    (1, 8, 4, 8, 0),
    (4, 3, 1, 4, 0),
    (4, 2, 1, 4, 1),
    (5, 2, 3, 6, 1),
    (2, 1, 5, 2, 1),
)
IMAGES = 3


def test_max_pool(tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    duts, sent, expected = [], [], []
    for bits, lanes, folds, side, signed in SHAPES:
        parameters = {"BITS": bits, "LANES": lanes, "FOLDS": folds, "SIDE": side, "SIGNED": signed}
        duts.append(Dut("max_pool", parameters, bits * lanes, bits * lanes))
        low = -(2 ** (bits - 1)) if signed else 0
        # A few values only, so that equal ones meet, and bits that are mostly 0.
        pool = np.array([0, 0, 0, 1]) if bits == 1 else rng.integers(low, low + 2**bits, 5)
        images = rng.choice(pool, (IMAGES, side, side, folds, lanes))
        pooled = images.reshape(IMAGES, side // 2, 2, side // 2, 2, folds, lanes).max(axis=(2, 4))
        sent.append(words(images, bits))
        expected.append(words(pooled, bits))
    seen = run_many(duts, sent, expected, results=tmp_path, seed=12)
    for (_, _, folds, side, _), rhythms in zip(SHAPES, seen, strict=True):
        assert set(np.diff(rhythms[0].in_cycles)) == {1}, "a beat a cycle, also from image to image"
        last = rhythms[0].out_cycles[side * side // 4 * folds - 1]
        assert last - rhythms[0].in_cycles[side * side * folds - 1] == 2, "nothing waits for the next image"


def words(values: np.ndarray, bits: int) -> list[int]:
    """Words of the last axis, its first number lowest."""
    rows = values.reshape(-1, values.shape[-1])
    return [sum((int(v) & (2**bits - 1)) << (bits * i) for i, v in enumerate(row)) for row in rows]
