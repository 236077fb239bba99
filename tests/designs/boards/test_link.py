"""A link to a shell in Python over a line in virtual time: requests, streams, and every way in which a run can fail."""

from __future__ import annotations

import random
import zlib

import pytest
from serial_shell_model import Core, Line, Registers, Shell, expected_output, running_sum

from designs.boards.faults import FaultyStream
from designs.boards.frames import Control, Flag, Kind, Register, pack
from designs.boards.line_errors import (
    BoardReset,
    LinkLost,
    NoAnswer,
    OtherProtocol,
    OtherShell,
    Stalled,
)
from designs.boards.link import Link, Patience

ITEM = 16


def board(**kwargs: object) -> Shell:
    core = Core(ITEM, ITEM, running_sum)
    for name in ("interval", "latency", "hang_after"):
        if name in kwargs:
            setattr(core, name, kwargs.pop(name))
    return Shell(core, **kwargs)  # type: ignore[arg-type]


def connect(shell: Shell | None = None, **kwargs: float) -> tuple[Link, Line]:
    line = Line(shell or board(), **kwargs)
    return Link(line, line.clock), line


def stream(items: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(items * ITEM)


# Requests


def test_identify() -> None:
    link, _ = connect(board(registers=Registers(name="track/compact", clock_hz=48_000_000)))
    identity = link.identify()
    assert identity.name == "track/compact"
    assert identity.design == "00112233445566778899aabbccddeeff"
    assert identity.clock_hz == 48_000_000
    assert (identity.in_bytes, identity.in_words, identity.out_bytes, identity.out_words) == (1, ITEM, 1, ITEM)
    assert (identity.in_fifo, identity.out_fifo, identity.item_in, identity.item_out) == (2048, 2048, ITEM, ITEM)


def test_another_version_and_another_magic_are_refused() -> None:
    with pytest.raises(OtherShell, match="version 2, this program speaks version 1; build and program"):
        connect(board(registers=Registers(version=2)))[0].identify()
    with pytest.raises(OtherShell, match="0x12345678, not 0x47415445"):
        connect(board(registers=Registers(magic=0x12345678)))[0].identify()


def test_counters_and_clear() -> None:
    link, line = connect(board(interval=7, latency=100))
    link.reset()
    link.exchange(stream(50), 50 * ITEM)
    counters = link.counters()
    assert counters.words_in == counters.words_out == 50 * ITEM
    assert counters.items_out == 50
    assert counters.latency == 100
    assert counters.interval is not None
    assert counters.frames_bad == 0
    assert counters.flags == Flag(0)
    line.shell.feed(b"noise\0", line.now)
    assert link.counters().flags == Flag.BAD_FRAME
    assert link.counters().frames_bad == 1
    link.clear()
    assert link.counters().flags == Flag(0)
    assert link.counters().items_out == 0


def test_hold_fills_the_fifo_and_lets_it_go_at_the_cores_rate() -> None:
    shell = board(interval=3)
    link, _ = connect(shell)
    link.reset()
    link.hold(True)
    data = stream(100)
    assert link.exchange(data, 0) == b""
    assert shell.started == 0
    assert len(shell.fifo) == len(data)
    link.clear()
    assert shell.hold, "clearing counters keeps the hold"
    link.hold(False)
    assert link.exchange(b"", len(data)) == expected_output(data, ITEM)
    assert link.counters().interval == pytest.approx(3, rel=0.01)


class Dropper:
    """Loses the frames that `lose` picks, by kind and count of that kind, in one direction."""

    def __init__(self, line: Line, lose: dict[int, set[int]], *, to_board: bool) -> None:
        self.line, self.lose, self.to_board = line, lose, to_board
        self.seen: dict[int, int] = {}
        self.lost = 0

    def cut(self, data: bytes) -> bytes:
        kept = b""
        for piece in data.split(b"\0")[:-1]:
            kind = kind_of(piece)
            count = self.seen[kind] = self.seen.get(kind, -1) + 1
            if count in self.lose.get(kind, ()):
                self.lost += 1
            else:
                kept += piece + b"\0"
        return kept

    def write(self, data: bytes, /) -> int:
        self.line.write(self.cut(data) if self.to_board else data)
        return len(data)

    def read(self, size: int, /) -> bytes:
        data = self.line.read(size)
        return data if self.to_board or not data else self.cut(data)


def kind_of(piece: bytes) -> int:
    """First byte of a stuffed packet."""
    return -1 if not piece else 0 if piece[0] == 1 else piece[1]


def test_a_reset_whose_answer_is_lost_is_not_done_twice() -> None:
    """The answers to the first resets are lost; data sent after the second must not be wiped by a third."""
    shell = board()
    line = Line(shell)
    link = Link(Dropper(line, {Kind.WRITTEN: {0, 1, 3}}, to_board=False), line.clock)
    link.reset()
    assert (shell.resets, shell.writes) == (1, 1)
    data = stream(20)
    link.hold(True)
    link.exchange(data, 0)
    link.hold(False)
    assert link.exchange(b"", len(data)) == expected_output(data, ITEM)
    assert (shell.resets, shell.writes) == (1, 3)


def test_a_repeated_write_frame_is_done_once() -> None:
    shell = board()
    line = Line(shell)
    link = Link(line, line.clock)
    link.reset()
    link.exchange(stream(4), 2 * ITEM)
    again = pack(Kind.WRITE, shell.last_tag or 0, payload=bytes([Register.CONTROL, Control.RESET, 0, 0, 0]))
    line.write(again)
    link.exchange(b"", 2 * ITEM)
    assert shell.resets == 1


def test_a_new_host_takes_a_tag_that_was_not_the_last() -> None:
    """Also after exactly as many requests as there are tags: reads have tags of their own."""
    shell = board()
    line = Line(shell)
    for writes in range(1, 6):
        link = Link(line, line.clock)
        for _ in range(255 if writes == 3 else 0):
            link.counters()
        link.reset()
        assert shell.writes == 2 * writes - 1
        for _ in range(255):
            link.counters()
        link.hold(False)
        assert shell.writes == 2 * writes


# Streams


@pytest.mark.parametrize("items", [1, 15, 16, 600])
def test_streams_of_any_length(items: int) -> None:
    link, _ = connect()
    data = stream(items)
    calls: list[tuple[int, int]] = []
    assert link.exchange(data, len(data), lambda sent, got: calls.append((sent, got))) == expected_output(data, ITEM)
    assert calls == sorted(calls)
    assert calls[-1] == (len(data), len(data))
    assert link.statistics.data_again == link.statistics.bad == 0


def test_sequence_numbers_wrap_around() -> None:
    link, line = connect()
    data = stream(20_000)
    assert link.exchange(data, len(data)) == expected_output(data, ITEM)
    assert line.shell.expected > 5 * 256
    assert line.shell.top > 5 * 256


def test_sequence_numbers_wrap_around_with_losses() -> None:
    line = Line(board())
    link = Link(FaultyStream(line, 5, flip=2e-4, drop=2e-4, clock=line.clock), line.clock)
    data = stream(20_000)
    assert link.exchange(data, len(data)) == expected_output(data, ITEM)
    assert link.statistics.data_again > 20


def test_output_beyond_what_was_asked_for_is_kept() -> None:
    link, _ = connect()
    data = stream(30)
    expected = expected_output(data, ITEM)
    got = link.exchange(data, 7)
    got += link.exchange(b"", 100)
    got += link.exchange(b"", len(data) - 107)
    assert got == expected


@pytest.mark.parametrize("latency", [0.0002, 0.001])
@pytest.mark.parametrize(("item_in", "item_out"), [(16, 16), (240, 16), (16, 240)])
def test_line_rate_at_3_mbaud(item_in: int, item_out: int, latency: float) -> None:
    """At least 90 % of the line in payload, in both directions at once and in each alone."""
    line = Line(Shell(Core(item_in, item_out, lambda: running_sum(item_out))), latency=latency)
    link = Link(line, line.clock)
    link.reset()
    items = 640_000 // max(item_in, item_out)
    began = line.now
    link.exchange(random.Random(1).randbytes(items * item_in), items * item_out)
    share = items * max(item_in, item_out) / (line.now - began) * line.byte_time
    print(f"{item_in} -> {item_out} bytes, latency {latency * 1e3:g} ms: {share:.1%} of the line in payload")
    assert share > 0.94


@pytest.mark.parametrize("baud", [3e6, 3e5, 3e4, 9600, 3000])
@pytest.mark.parametrize(("item_in", "item_out"), [(16, 16), (240, 16), (16, 240)])
def test_the_same_code_on_slow_lines(baud: float, item_in: int, item_out: int) -> None:
    """A slow line is no lossy line: nothing is sent twice, and few questions are asked."""
    line = Line(Shell(Core(item_in, item_out, lambda: running_sum(item_out))), baud, latency=0.001)
    link = Link(line, line.clock)
    link.reset()
    for _ in range(10):
        link.counters()  # short answers, from which a link learns to be quick
    items = 60_000 // max(item_in, item_out)
    began = line.now
    link.exchange(random.Random(1).randbytes(items * item_in), items * item_out)
    share = items * max(item_in, item_out) / (line.now - began) * line.byte_time
    print(f"{share:.1%} of the line in payload; {link.statistics}")
    assert link.statistics.data_again == 0
    assert link.statistics.resends <= 1
    assert link.statistics.fences <= 4
    assert share > 0.9


def test_a_full_fifo_slows_the_host_and_loses_nothing() -> None:
    """The core takes a hundredth of what the line brings, and for long stretches nothing at all."""
    shell = board(interval=500_000, latency=600_000)
    link, _ = connect(shell)
    data = stream(600)
    assert link.exchange(data, len(data)) == expected_output(data, ITEM)
    assert not shell.flags & Flag.INPUT_OVERFLOW
    assert link.statistics.data_again == 0


def test_a_full_output_fifo() -> None:
    """Few results are asked for; the rest waits on the board, then comes."""
    shell = board(out_fifo=256)
    link, _ = connect(shell)
    data = stream(120)
    link.reset()
    link.hold(True)
    link.exchange(data, 0)
    link.hold(False)
    assert link.exchange(b"", len(data)) == expected_output(data, ITEM)
    assert link.counters().flags & Flag.OUTPUT_FULL


class Damager(Dropper):
    """Damages the frames that it would lose: they arrive, and are no good."""

    def cut(self, data: bytes) -> bytes:
        kept = b""
        for piece in data.split(b"\0")[:-1]:
            good = super().cut(piece + b"\0")
            kept += good or piece[:-1] + bytes([piece[-1] ^ 1 or 2]) + b"\0"
        return kept


@pytest.mark.parametrize("how", [Dropper, Damager])
@pytest.mark.parametrize(("kind", "to_board"), [(Kind.DATA_IN, True), (Kind.DATA_OUT, False)])
def test_one_frame_lost_in_the_middle_costs_a_round_trip_and_no_timeout(
    how: type[Dropper], kind: Kind, to_board: bool
) -> None:
    times = []
    for lose in ({}, {kind: {20}}):
        line = Line(board(), latency=0.0002)
        dropper = how(line, lose, to_board=to_board)
        link = Link(dropper, line.clock)
        link.reset()
        data = stream(1000)
        began = line.now
        assert link.exchange(data, len(data)) == expected_output(data, ITEM)
        times.append(line.now - began)
        assert dropper.lost == len(lose)
        assert link.statistics.data_again <= (9 if lose else 0), "not more than was under way"
    print(f"{1e3 * (times[1] - times[0]):.1f} ms more")
    assert times[1] - times[0] < 0.012


@pytest.mark.parametrize(("kind", "to_board"), [(Kind.DATA_IN, True), (Kind.DATA_OUT, False)])
@pytest.mark.parametrize("lost", [{66}, {65, 66}, {64, 66}])
def test_the_last_frames_lost(kind: Kind, to_board: bool, lost: set[int]) -> None:
    """Nothing follows that would show the gap: a question does."""
    line = Line(board())
    dropper = Dropper(line, {kind: lost}, to_board=to_board)
    link = Link(dropper, line.clock)
    link.reset()
    data = stream(1005)
    began = line.now
    assert link.exchange(data, len(data)) == expected_output(data, ITEM)
    assert dropper.lost >= 1
    assert line.now - began < 0.5


@pytest.mark.parametrize(
    ("how", "kind", "to_board"),
    [(Dropper, Kind.DATA_IN, True), (Damager, Kind.DATA_IN, True), (Damager, Kind.DATA_OUT, False)],
)
def test_the_last_frame_costs_no_timeout(how: type[Dropper], kind: Kind, to_board: bool) -> None:
    """Lost on the way in, or damaged. A lost last output frame is nothing that the host can know of at once."""
    times = []
    for lose in ({}, {kind: {66}}):
        line = Line(board(), latency=0.0002)
        link = Link(how(line, lose, to_board=to_board), line.clock)
        link.reset()
        data = stream(1005)
        began = line.now
        assert link.exchange(data, len(data)) == expected_output(data, ITEM)
        times.append(line.now - began)
    print(f"{1e3 * (times[1] - times[0]):.1f} ms more")
    assert times[1] - times[0] < 0.004


def test_a_damaged_request_is_sent_again_at_the_boards_word() -> None:
    line = Line(board())
    damager = Damager(line, {Kind.READ: {0, 1}}, to_board=True)
    began = line.now
    Link(damager, line.clock).identify()
    assert damager.lost == 2
    assert line.now - began < 0.1, "before the first timeout"


def test_a_slow_design_is_asked_now_and_then_and_sends_nothing_twice() -> None:
    shell = board(interval=2_500_000)
    link, line = connect(shell)
    data = stream(100)
    began = line.now
    assert link.exchange(data, len(data)) == expected_output(data, ITEM)
    assert line.now - began > 4.9
    assert link.statistics.resends <= 1
    assert link.statistics.data_again == 0


def test_a_far_board_is_learnt_from_fences_alone() -> None:
    """Requests are asked again before their answer is there, and the one frame is lost: neither may be measured."""
    line = Line(board(), latency=0.4)
    link = Link(Dropper(line, {Kind.DATA_IN: {0}}, to_board=True), line.clock)
    link.reset()
    assert link._pace.smoothed is None
    data = stream(4)
    assert link.exchange(data, len(data)) == expected_output(data, ITEM)
    assert link._pace.smoothed == pytest.approx(0.8, rel=0.05)


def test_a_burst_on_a_slow_line() -> None:
    link, _ = connect(baud=3000)
    data = stream(128)
    link.reset()
    link.hold(True)
    link.exchange(data, 0)
    link.hold(False)
    asked = link.statistics.fences
    assert link.exchange(b"", len(data)) == expected_output(data, ITEM)
    assert link.statistics.resends <= 1
    assert link.statistics.fences - asked < 12


# Failures


def test_a_hung_design() -> None:
    link, line = connect(board(hang_after=10))
    began = line.now
    with pytest.raises(Stalled, match=r"for 60 s while the board kept answering; 1600 of 1600 .* 160 of 1600 came out"):
        link.exchange(stream(100), 100 * ITEM)
    assert 60 <= line.now - began < 65
    assert link.counters().items_out == 10, "the line is alive"


def test_a_hung_design_behind_a_full_fifo_and_a_run_after_it() -> None:
    shell = board(hang_after=10)
    line = Line(shell)
    link = Link(line, line.clock, patience=Patience(stalled=2))
    with pytest.raises(Stalled, match="for 2 s"):
        link.exchange(stream(1000), 1000 * ITEM)
    with pytest.raises(ValueError, match="under way; reset"):
        link.exchange(stream(1), ITEM)
    shell.core.hang_after = None
    link.reset()
    data = stream(100, 2)
    assert link.exchange(data, len(data)) == expected_output(data, ITEM)


def test_a_silent_board() -> None:
    shell = board()
    shell.on = False
    link, line = connect(shell)
    began = line.now
    with pytest.raises(NoAnswer, match="no byte from the board in 10 s; check that it is programmed"):
        link.identify()
    assert 10 <= line.now - began < 11


def test_a_board_that_falls_silent_in_mid_run() -> None:
    link, line = connect()
    link.reset()

    def stop(sent: int, _got: int) -> None:
        line.shell.on = sent < 5000

    with pytest.raises(NoAnswer, match="stopped answering"):
        link.exchange(stream(1000), 1000 * ITEM, stop)


def test_a_board_that_was_reset_in_mid_run() -> None:
    link, line = connect()
    link.reset()

    def press(sent: int, _got: int) -> None:
        if sent > 5000 and not line.shell.resets > 1:
            line.shell.resets += 1
            line.shell._reset()

    with pytest.raises(BoardReset, match="reset or programmed in mid-run"):
        link.exchange(stream(1000), 1000 * ITEM, press)


def test_another_protocol() -> None:
    class Chatter(Line):
        def read(self, size: int, /) -> bytes:
            super().read(size)
            return b"login: \0\r\n"

    line = Chatter(board())
    with pytest.raises(OtherProtocol, match=r"bytes came .* no good frame: another baud rate"):
        Link(line, line.clock).identify()


def test_a_looped_line() -> None:
    class Echo(Line):
        kept = b""

        def write(self, data: bytes, /) -> int:
            self.kept += data
            return len(data)

        def read(self, size: int, /) -> bytes:
            super().read(size)
            data, self.kept = self.kept, b""
            return data

    line = Echo(board())
    with pytest.raises(OtherProtocol, match="frames came back as they were sent: the line is looped"):
        Link(line, line.clock).identify()


@pytest.mark.parametrize("after", [0, 1, 30, 3000, 3001, 3100])
def test_unplugging_in_mid_frame(after: int) -> None:
    line = Line(board())
    link = Link(FaultyStream(line, 1, unplug_after=after, clock=line.clock), line.clock)
    with pytest.raises(LinkLost, match="unplugged"):
        link.exchange(stream(1000), 1000 * ITEM)


def test_noise_before_the_first_frame() -> None:
    line = Line(board())
    line.inject(random.Random(3).randbytes(5000))
    line.shell.feed(random.Random(4).randbytes(777), line.now)
    link = Link(line, line.clock)
    assert link.identify().name == "test/model"
    data = stream(100)
    assert link.exchange(data, len(data)) == expected_output(data, ITEM)


@pytest.mark.parametrize("cut", [1, 2, 5, 100, 1234])
def test_what_an_earlier_run_left_does_no_harm(cut: int) -> None:
    """A run ends anywhere, with half a frame sent and outputs on their way; the next one on the same line is right."""
    shell = board()
    line = Line(shell)
    first = Link(FaultyStream(line, 1, unplug_after=2000 + cut, clock=line.clock), line.clock)
    with pytest.raises(LinkLost):
        first.exchange(stream(1000), 1000 * ITEM)
    second = Link(line, line.clock)
    assert second.identify().name == "test/model"
    second.reset()
    data = stream(200, 9)
    assert second.exchange(data, len(data)) == expected_output(data, ITEM)


def test_payload_outside_its_range_is_refused() -> None:
    line = Line(board())
    for payload in (0, 241):
        with pytest.raises(ValueError, match="1 to 240"):
            Link(line, line.clock, payload=payload)


def test_the_models_crc_is_the_one_of_the_standard() -> None:
    """Check value of CRC-32 (IEEE 802.3), and a bitwise implementation."""
    assert zlib.crc32(b"123456789") == 0xCBF43926
    crc = 0xFFFFFFFF
    for byte in b"\x01\x02 a packet":
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    assert crc ^ 0xFFFFFFFF == zlib.crc32(b"\x01\x02 a packet")
