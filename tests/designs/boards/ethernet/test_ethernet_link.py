"""A link over a network that loses, damages, repeats and reorders: nothing wrong is accepted, everything arrives.

The core has a memory, so that one lost, repeated, damaged or exchanged byte changes all results after it. More frames:

    GATEWARP_LINK_FRAMES=100000 python -m pytest -s tests/designs/boards/ethernet/test_ethernet_link.py -k many
"""

from __future__ import annotations

import os
import random

import pytest
from udp_models import Core, ModelDatagrams, Shell, expected_output, running_sum

from designs.boards.ethernet.address import Address
from designs.boards.ethernet.noise import NoisyDatagrams
from designs.boards.ethernet.udp import UdpStream
from designs.boards.line_errors import BoardReset
from designs.boards.link import Link

FRAMES = int(os.environ.get("GATEWARP_LINK_FRAMES", "0"))
KINDS = ("flip", "drop", "repeat", "reorder")


def make(rates: dict[str, float], seed: int, *, payload: int = 240) -> tuple[Link, UdpStream, NoisyDatagrams]:
    board = ModelDatagrams(Shell(Core(16, 16, running_sum), cut=payload))
    noisy = NoisyDatagrams(board, seed, **rates)
    stream = UdpStream(noisy, Address.of(None), clock=board.line.clock)
    return Link(stream, board.line.clock, payload=payload), stream, noisy


def seeded() -> int:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    return seed


def exchanged(link: Link, seed: int, size: int) -> None:
    data = random.Random(seed).randbytes(size)
    link.identify()
    link.reset()
    assert link.exchange(data, size) == expected_output(data, 16)


@pytest.mark.parametrize("rate", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_fault(kind: str, rate: float) -> None:
    seed = seeded()
    link, stream, noisy = make({kind: rate}, seed)
    exchanged(link, seed, 240_000)
    hits = {"flip": "flipped", "drop": "dropped", "repeat": "repeated", "reorder": "reordered"}[kind]
    for counts in (noisy.written, noisy.received):
        assert abs(getattr(counts, hits) - rate * counts.total) < 6 * (rate * counts.total) ** 0.5 + 6
    if kind == "repeat":
        assert link.statistics.data_again == 0, "twice is not lost"
        assert stream.late == noisy.received.repeated
        assert link.statistics.bad == 0


def test_without_faults_nothing_is_sent_twice() -> None:
    link, stream, _ = make({}, 1)
    exchanged(link, 1, 480_000)
    assert (link.statistics.data_again, link.statistics.bad, link.statistics.naks, stream.late) == (0, 0, 0, 0)


@pytest.mark.parametrize(("rate", "payload", "frames"), [(1e-3, 64, 10_000), (1e-2, 240, 3_000), (5e-2, 240, 1_500)])
def test_many_frames_with_all_faults_at_once(rate: float, payload: int, frames: int) -> None:
    """`frames` each way, or half of GATEWARP_LINK_FRAMES; each kind at `rate` a datagram."""
    seed = seeded()
    frames = FRAMES // 2 or frames
    link, stream, noisy = make(dict.fromkeys(KINDS, rate), seed, payload=payload)
    exchanged(link, seed, frames * payload // 16 * 16)
    stats = link.statistics
    print(
        f"rate {rate:g}, {payload} bytes: {stats.data_sent} + {stats.data_received} DATA frames in "
        f"{noisy.written.total} + {noisy.received.total} datagrams, {stats.data_again} again, {stats.bad} damaged, "
        f"{stream.late} late here"
    )


def test_numbers_are_what_keeps_a_reordered_link_alive() -> None:
    """Without them an old acknowledgement that comes late is taken for that of a board that was reset."""

    class Unnumbered(UdpStream):
        def _take(self, datagram: bytes) -> None:
            self._arrived.append(datagram[4:])

    seed, ended = seeded(), set[str]()
    for trial in range(30):
        board = ModelDatagrams(Shell(Core(16, 16, running_sum)))
        board.numbers.takes = lambda sender, number: True  # type: ignore[method-assign]
        stream = Unnumbered(NoisyDatagrams(board, seed + trial, reorder=0.1), Address.of(None), clock=board.line.clock)
        try:
            exchanged(Link(stream, board.line.clock), seed, 96_000)
        except BoardReset:
            ended.add("reset")
    assert ended == {"reset"}


def test_a_damaged_number_does_not_wedge_the_line() -> None:
    """A number far ahead at either end makes all that follows late: after a second of silence numbers start anew."""
    link, stream, noisy = make({}, 1)
    exchanged(link, 1, 24_000)
    board = noisy._datagrams
    assert isinstance(board, ModelDatagrams)
    board.numbers.last += 1 << 30
    exchanged(link, 2, 24_000)
    assert board.port == 1
    assert board.numbers.late > 0
    stream._last = (stream._last or 0) + (1 << 30)
    exchanged(link, 3, 24_000)
    assert board.port == 2
    assert stream.late > 0
