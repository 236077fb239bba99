"""The streams of `track` on a board: five bytes a hit, and that one wrong bit is seen."""

from __future__ import annotations

import pytest

from hls.track import model, on_board


@pytest.mark.parametrize("case", on_board.CASES)
def test_streams(case: str) -> None:
    core = on_board.core(case)
    in_bytes, out_bytes = -(-core.in_bits // 8), -(-core.out_bits // 8)
    hits = on_board.inputs(case, 600, 3)
    assert len(hits) == 600
    data = on_board.encode(case, hits)
    assert len(data) == 600 * in_bytes
    assert on_board.expected_bytes(case, 600) == 600 * out_bytes
    network = model.oracle(case)
    words = model.pack(network.evaluate(network.encode(hits)), model.out_width(network))
    answer = b"".join(word.to_bytes(out_bytes, "little") for word in words)
    assert on_board.check(case, hits, on_board.decode(case, answer, 600)) == ""
    wrong = bytearray(answer)
    wrong[17 * out_bytes] ^= 1
    said = on_board.check(case, hits, on_board.decode(case, bytes(wrong), 600))
    assert said.startswith("1 of 600 hits differ from the oracle, first hit 17: number 0 is ")
