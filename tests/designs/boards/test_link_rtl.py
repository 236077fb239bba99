"""The link against the shell's RTL: serial pins, a pseudo-terminal, pyserial, and faults between.

The core has a memory, so that any byte lost or changed in either direction changes all results after it. The long
proof, 100,000 DATA frames, both directions together, through the RTL at a byte error rate of 1e-3, takes some minutes:

    GATEWARP_RTL_FRAMES=100000 python -m pytest -s tests/designs/boards/test_link_rtl.py -k faults
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rtl_shell_board import BAUD, MHZ, WORD, RtlBoard, remembered, simulator

from designs.boards import session
from designs.boards.faults import FaultyStream
from designs.boards.frames import Flag
from designs.boards.line_errors import LinkLost, Stalled
from designs.boards.link import Link, Patience, open_serial

FRAMES = int(os.environ.get("GATEWARP_RTL_FRAMES", "3000"))
#: Bytes a DATA frame: few, so that many frames go over the line in little time.
SMALL = 16


@pytest.fixture(scope="module")
def program() -> Path:
    return simulator()


@pytest.fixture
def board(program: Path) -> Iterator[RtlBoard]:
    with RtlBoard(program) as there:
        yield there


class Words:
    """A subject whose items are words; the core is reset before each burst, so only the first items can be compared."""

    def count(self, case: str, inputs: Any) -> int:
        return len(inputs) // WORD

    def encode(self, case: str, inputs: Any) -> bytes:
        return bytes(inputs)

    def expected_bytes(self, case: str, n: int) -> int:
        return n * WORD

    def decode(self, case: str, data: bytes, n: int) -> Any:
        return data

    def check(self, case: str, inputs: Any, outputs: Any) -> str:
        return "" if outputs == remembered(inputs) else "differs"


def test_a_run_on_the_shell(board: RtlBoard) -> None:
    data = random.Random(1).randbytes(480 * 240)
    with open_serial(board.path, BAUD) as stream:
        link = Link(stream)
        outcome = session.run(link, Words(), "remembering", data, bursts=1, singles=1)
    assert outcome.difference == ""
    assert outcome.identity.name == "test/remembering"
    assert outcome.identity.design == "0123456789abcdef" * 2
    assert outcome.chip.items == outcome.identity.in_fifo // WORD
    assert outcome.chip.intervals == (1.0,), "a full FIFO runs at the core's own rate"
    assert outcome.chip.latencies == (1,)
    assert outcome.counters.flags == Flag(0)
    assert outcome.counters.frames_bad == outcome.statistics.bad == outcome.statistics.data_again == 0


def test_the_line_is_used(board: RtlBoard) -> None:
    """Cycles of the shell, but the design's time goes on while a busy machine keeps the host waiting: best of five."""
    data = random.Random(5).randbytes(480 * 240)
    best = 0.0
    with open_serial(board.path, BAUD) as stream:
        link = Link(stream)
        for _ in range(5):
            link.reset()
            assert link.exchange(data, len(data)) == remembered(data)
            best = max(best, len(data) * 10 * (MHZ * 1e6 / BAUD) / link.counters().line)
            if best >= 0.94:
                break
    print(f"{best:.1%} of the line in payload, both ways at once; {link.statistics}")
    assert best >= 0.9


def test_faults_on_the_line_to_the_shell(board: RtlBoard) -> None:
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    data, results = b"", b""
    with open_serial(board.path, BAUD) as stream:
        faulty = FaultyStream(stream, seed, flip=3e-4, drop=3e-4, repeat=3e-4, delay=1e-4, hold=0.005)
        link = Link(faulty, payload=SMALL)
        assert link.identify().name == "test/remembering"
        link.reset()
        began = time.perf_counter()
        seen = link.statistics
        while seen.data_sent + seen.data_received < FRAMES:  # the board joins words that wait: it sends fewer at times
            piece = rng.randbytes(FRAMES // 4 * SMALL)
            data, results = data + piece, results + link.exchange(piece, len(piece))
        wall = time.perf_counter() - began
        counters = link.counters()
    assert results == remembered(data), f"seed {seed}"
    bad = seen.bad + counters.frames_bad
    print(
        f"\nseed {seed}: {seen.data_sent} DATA frames to the board, {seen.data_received} from it, "
        f"{seen.data_again} sent again, {bad} bad, {wall:.0f} s, {counters.line} cycles"
    )
    assert seen.data_sent + seen.data_received >= FRAMES
    assert counters.words_out == len(data) // WORD
    assert bad > 0


def test_a_design_that_hangs_and_comes_back_with_a_reset(board: RtlBoard) -> None:
    data = random.Random(2).randbytes(2400)
    with open_serial(board.path, BAUD) as stream:
        link = Link(stream, patience=Patience(stalled=1.5))
        link.reset()
        hanging = data[:800] + (0xDEADBEEF).to_bytes(4, "little") + data
        with pytest.raises(Stalled, match="804 of 3204 came out"):
            link.exchange(hanging, len(hanging))
        link.reset()
        assert link.exchange(data, len(data)) == remembered(data)


def test_a_host_that_dies_and_another_one(board: RtlBoard) -> None:
    """What the first left in the line, in the FIFOs and in the board's tags does not matter to the second."""
    data = random.Random(3).randbytes(9600)
    for after in (700, 1501, 4000):
        with open_serial(board.path, BAUD) as stream, pytest.raises(LinkLost):
            Link(FaultyStream(stream, 1, unplug_after=after)).exchange(data, len(data))
    with open_serial(board.path, BAUD) as stream:
        link = Link(stream)
        link.reset()
        assert link.exchange(data, len(data)) == remembered(data)
        assert link.counters().words_in == len(data) // WORD


def test_unplugged_in_mid_run(board: RtlBoard) -> None:
    data = random.Random(4).randbytes(240_000)
    with open_serial(board.path, BAUD) as stream:
        link = Link(stream)
        link.reset()

        def pull(sent: int, _received: int) -> None:
            if sent > 10_000 and not board.report:
                board.unplug()

        with pytest.raises(LinkLost, match="was the board unplugged"):
            link.exchange(data, len(data), pull)
