"""The streams of `bcnn` on a board: what goes in, what comes out, and that one wrong bit is seen."""

from __future__ import annotations

import numpy as np
import pytest

from designs.bcnn import on_board
from workloads.api import UnknownNameError
from workloads.bcnn import WORKLOAD


@pytest.mark.parametrize("case", on_board.CASES)
def test_streams(case: str) -> None:
    core, items = on_board.core(case), on_board.items(case)
    images = on_board.inputs(case, 12, 3)
    assert np.array_equal(images[:8], WORKLOAD.extremes(case))
    data = on_board.encode(case, images)
    in_bytes, out_bytes = -(-core.in_bits // 8), -(-core.out_bits // 8)
    assert len(data) == 12 * items.in_words * in_bytes
    assert on_board.expected_bytes(case, 12) == 12 * items.out_words * out_bytes
    # The first word is the first pixel in two's complement.
    assert data[0] == int(images[0, 0, 0, 0]) & (1 << core.in_bits) - 1
    sums = WORKLOAD.reference(case, images, "binary")
    answer = sums.astype("<i2").tobytes()
    assert on_board.check(case, images, on_board.decode(case, answer, 12)) == ""
    wrong = bytearray(answer)
    wrong[5 * out_bytes + 4] ^= 1
    said = on_board.check(case, images, on_board.decode(case, bytes(wrong), 12))
    assert said.startswith("1 of 12 images differ from the oracle, first image 5: number 2 is ")


def test_fewer_images_than_extremes() -> None:
    assert len(on_board.inputs("digits_small", 3, 1)) == 3


def test_unknown_case() -> None:
    with pytest.raises(UnknownNameError, match="unknown case 'nope'"):
        on_board.core("nope")
