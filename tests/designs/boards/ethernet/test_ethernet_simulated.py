"""The simulated board on a simulated cable: whole frames at the RGMII pins, and what a bad network does to them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from test_ethernet_top import core

from designs import boards
from designs.boards import program
from designs.boards.ecp5 import fingerprint
from designs.boards.ethernet import bitstream
from designs.boards.ethernet.address import Address
from designs.boards.ethernet.simulated import CableFaults, EthernetBoard
from designs.boards.ethernet.udp import open_udp
from designs.boards.line_errors import NoAnswer
from designs.boards.link import Link, Patience
from designs.boards.shell.top import Items
from designs.flow import ecppack

BOARD = boards.load("ecpix5-45f")
WORD = 3


def answer(data: bytes) -> bytes:
    """What the core makes of a stream: one is added to the low 20 of the 21 bits of each word."""
    words = (int.from_bytes(data[at : at + WORD], "little") for at in range(0, len(data), WORD))
    return b"".join((word & 1 << 20 | (word + 1) % (1 << 20)).to_bytes(WORD, "little") for word in words)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A stand-in for the bitstream, empty but for its part, and the simulator of the design."""
    empty = tmp_path_factory.mktemp("empty") / "routed.config"
    empty.write_text(".device LFE5UM5G-45F\n")
    planned = bitstream.plan(core(), BOARD, mhz=48, items=Items(1, 1), address=Address.of("10.1.2.3:4000"))
    return ecppack.pack(empty, idcode=BOARD.idcode), bitstream.simulator(planned)


@pytest.fixture
def seed() -> int:
    chosen = random.randrange(1 << 30)
    print(f"seed {chosen}")
    return chosen


def exchanged(link: Link, seed: int, size: int) -> None:
    data = random.Random(seed).randbytes(size)
    link.identify()
    link.reset()
    assert link.exchange(data, size) == answer(data)


@pytest.mark.parametrize(
    ("damage", "foreign"), [(0.0, 0.0), (1e-4, 0.1), (1e-3, 0.5), (1e-2, 0.5)]
)  # chances a frame  # fmt: skip
def test_frames_of_a_bad_cable_are_counted_and_leave_nothing_behind(
    files: tuple[Path, Path], seed: int, damage: float, foreign: float
) -> None:
    built, simulator = files
    with EthernetBoard(
        BOARD, {fingerprint(built.read_bytes()): simulator}, cable=CableFaults(damage, foreign, seed)
    ) as here:
        program.load(built, BOARD, cable=here.cable)
        with open_udp(here.address) as stream:
            stream.wait_for_board(5)
            link = Link(stream)
            exchanged(link, seed, 48_000)
            counts = stream.counts(5)
        assert link.statistics.bad == 0, "the FCS finds what the cable does"
        assert (counts.late, counts.lost, stream.late) == (0, 0, 0)
    (run,) = here.ended
    assert (run.malformed, run.dropped, run.answers >= 1) == (0, 0, True)
    assert counts.bad + counts.foreign == run.damaged_in + run.foreign_in
    assert (run.foreign_in > 0) == (foreign > 0)
    assert run.frames_in == counts.taken + counts.asked + counts.bad + counts.foreign
    if not damage:
        assert link.statistics.data_again == 0
        assert run.frames_out == counts.sent + counts.asked


def test_a_board_that_stops_and_one_that_is_configured_anew(files: tuple[Path, Path], seed: int) -> None:
    built, simulator = files
    with EthernetBoard(BOARD, {fingerprint(built.read_bytes()): simulator}) as here:
        with open_udp(here.address) as stream:
            with pytest.raises(NoAnswer, match=r"no answer from 127.0.0.1:\d+ in 0.3 s"):
                stream.wait_for_board(0.3)
            program.load(built, BOARD, cable=here.cable)
            stream.wait_for_board(5)
            exchanged(Link(stream), seed, 2_400)
            here.stop_clock()
            with pytest.raises(NoAnswer, match=r"stopped answering|no byte"):
                exchanged(Link(stream, patience=Patience(silent=0.5)), seed, 2_400)
            here.stop_clock(False)
            exchanged(Link(stream), seed, 2_400)
        program.load(built, BOARD, cable=here.cable)
        with open_udp(here.address) as stream:
            stream.wait_for_board(5)
            exchanged(Link(stream), seed, 2_400)
            assert stream.counts().late == 0
    assert [run.malformed for run in here.ended] == [0, 0]


def test_an_unknown_bitstream_leaves_the_cable_silent(files: tuple[Path, Path]) -> None:
    built, _ = files
    with EthernetBoard(BOARD, {}) as here:
        program.load(built, BOARD, cable=here.cable)
        with open_udp(here.address) as stream, pytest.raises(NoAnswer):
            stream.wait_for_board(0.3)
    assert here.ended == []
