"""stream_width: collects, splits and registers words, at full rate on the narrow side."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from many_streams import Dut, run_many

#: (unit, in, out)
SHAPES = ((1, 1, 1), (8, 3, 3), (1, 1, 8), (5, 2, 6), (9, 1, 2), (3, 4, 1), (1, 6, 3), (7, 5, 1), (33, 2, 8))


def test_stream_width(tmp_path: Path) -> None:
    rng = random.Random(11)
    duts, sent, expected = [], [], []
    for unit, wide_in, wide_out in SHAPES:
        duts.append(
            Dut("stream_width", {"UNIT": unit, "IN": wide_in, "OUT": wide_out}, unit * wide_in, unit * wide_out)
        )
        units = [rng.getrandbits(unit) for _ in range(24 * wide_in * wide_out)]
        sent.append(words(units, unit, wide_in))
        expected.append(words(units, unit, wide_out))
    seen = run_many(duts, sent, expected, results=tmp_path, seed=11)
    for (_, wide_in, wide_out), rhythms in zip(SHAPES, seen, strict=True):
        inward, outward = np.diff(rhythms[0].in_cycles), np.diff(rhythms[0].out_cycles)
        if wide_out > wide_in:
            assert set(inward) == {1}, "a narrow word a cycle"
            assert set(outward) == {wide_out // wide_in}
        else:
            assert set(outward) == {1}, "a narrow word a cycle"
            assert rhythms[0].out_cycles[0] - rhythms[0].in_cycles[0] == 1


def words(units: list[int], bits: int, count: int) -> list[int]:
    """Words of `count` units, the first lowest."""
    return [sum(unit << (bits * i) for i, unit in enumerate(units[n : n + count])) for n in range(0, len(units), count)]
