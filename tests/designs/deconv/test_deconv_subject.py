"""The streams of `deconv` on a board: beats of words, and that one wrong bit of an image is seen."""

from __future__ import annotations

import numpy as np
import pytest

from designs.deconv import on_board
from designs.deconv.compiler_images import packed
from workloads.api import UnknownNameError


def test_streams() -> None:
    case = "digits"
    core, items, made = on_board.core(case), on_board.items(case), on_board.design(case)
    seeds = on_board.inputs(case, 6, 3)
    data = on_board.encode(case, seeds)
    assert len(data) == 6 * items.in_words * core.in_bits // 8
    assert on_board.expected_bytes(case, 6) == 6 * items.out_words * core.out_bits // 8
    beats = [made.program.expect(seed) for seed in seeds]
    answer = b"".join(packed(values, made.engine.bits).tobytes() for values, _ in beats)
    assert len(answer) == on_board.expected_bytes(case, 6)
    assert on_board.check(case, seeds, on_board.decode(case, answer, 6)) == ""
    wrong = bytearray(answer)
    each = len(answer) // 6
    places = np.flatnonzero(beats[4][1].reshape(-1))
    wrong[4 * each + int(places[7])] ^= 1
    said = on_board.check(case, seeds, on_board.decode(case, bytes(wrong), 6))
    assert said.startswith("1 of 6 images differ from the oracle, first image 4: number ")
    # What an output beat carries beyond the image is not looked at.
    beyond = bytearray(answer)
    beyond[int(np.flatnonzero(~beats[0][1].reshape(-1))[0])] ^= 1
    assert on_board.check(case, seeds, on_board.decode(case, bytes(beyond), 6)) == ""


def test_unknown_case() -> None:
    with pytest.raises(UnknownNameError, match="unknown case 'nope'"):
        on_board.core("nope")
