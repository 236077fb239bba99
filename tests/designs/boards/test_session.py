"""Runs of a subject: outputs against an oracle, intervals and latencies of the chip, end-to-end time of the line."""

from __future__ import annotations

import random
from typing import Any

import pytest
from serial_shell_model import Core, Line, Registers, Shell, running_sum

from designs.boards import session
from designs.boards.faults import FaultyStream
from designs.boards.line_errors import Stalled
from designs.boards.link import Link, Patience


def inverted() -> Any:
    """A core without memory: each item's bytes inverted, the first `out` of them."""
    return lambda item: bytes(byte ^ 255 for byte in item)


class Subject:
    """Items of 16 bytes, inverted."""

    def __init__(self, item: int = 16, wrong: int | None = None) -> None:
        self.item, self.wrong = item, wrong

    def count(self, case: str, inputs: Any) -> int:
        return len(inputs)

    def encode(self, case: str, inputs: Any) -> bytes:
        return b"".join(inputs)

    def expected_bytes(self, case: str, n: int) -> int:
        return n * self.item

    def decode(self, case: str, data: bytes, n: int) -> Any:
        return [data[i * self.item : (i + 1) * self.item] for i in range(n)]

    def check(self, case: str, inputs: Any, outputs: Any) -> str:
        for i, (given, got) in enumerate(zip(inputs, outputs, strict=True)):
            if got != bytes(byte ^ 255 for byte in given) or i == self.wrong:
                return f"{case}: item {i} differs"
        return ""


def items(n: int, size: int = 16) -> list[bytes]:
    rng = random.Random(1)
    return [rng.randbytes(size) for _ in range(n)]


def make(item: int = 16, **kwargs: Any) -> tuple[Link, Line]:
    timing = {name: kwargs.pop(name) for name in ("interval", "latency", "hang_after") if name in kwargs}
    line = Line(Shell(Core(item, item, inverted, **timing), **kwargs))
    return Link(line, line.clock, patience=Patience(stalled=5)), line


def test_a_run_measures_on_the_chip_and_over_the_line() -> None:
    link, line = make(interval=7, latency=123)
    outcome = session.run(link, Subject(), "plain", items(3000))
    assert outcome.difference == ""
    assert outcome.outputs == Subject().decode("plain", bytes(b ^ 255 for b in b"".join(items(3000))), 3000)
    assert outcome.items == 3000
    assert outcome.identity.name == "test/model"
    assert outcome.chip.items == 2048 // 16
    assert outcome.chip.intervals == pytest.approx([7.0] * session.BURSTS, rel=0.001)
    assert outcome.chip.latencies == (123,) * session.SINGLES
    assert outcome.chip.queued == (123, 123)
    assert outcome.chip.missing == ""
    lower = 48_000 * line.byte_time
    assert lower < outcome.line.seconds < 1.1 * lower
    assert outcome.line.spacing is not None
    assert outcome.line.spacing > 100, "the line is slower than the core"
    assert outcome.counters.items_out == 3000
    assert outcome.statistics.data_again == 0


def test_a_slow_core_is_measured_as_well() -> None:
    link, _ = make(interval=50_000, latency=60_000)
    outcome = session.run(link, Subject(), "plain", items(40), bursts=2, singles=2)
    assert outcome.chip.intervals == pytest.approx([50_000.0] * 2, rel=0.001)
    assert outcome.chip.latencies == (60_000, 60_000)
    assert outcome.line.spacing == pytest.approx(50_000, rel=0.05)


def test_on_a_noisy_line_the_times_on_the_chip_are_the_same() -> None:
    line = Line(Shell(Core(16, 16, inverted, interval=7, latency=123)))
    noisy = FaultyStream(line, 3, flip=2e-4, drop=2e-4, repeat=2e-4, delay=2e-4, clock=line.clock)
    outcome = session.run(Link(noisy, line.clock), Subject(), "plain", items(1000))
    assert outcome.difference == ""
    assert outcome.chip.intervals == pytest.approx([7.0] * session.BURSTS, rel=0.001)
    assert outcome.chip.latencies == (123,) * session.SINGLES
    assert outcome.statistics.bad > 0


def test_a_wrong_output_is_told_and_nothing_is_measured() -> None:
    link, _ = make()
    outcome = session.run(link, Subject(wrong=5), "plain", items(20))
    assert outcome.difference == "plain: item 5 differs"
    assert outcome.chip.intervals == outcome.chip.latencies == ()
    assert "wrong" in outcome.chip.missing


def test_items_that_do_not_fit_the_fifo_have_no_interval() -> None:
    link, _ = make(item=1500)
    outcome = session.run(link, Subject(1500), "large", items(4, 1500))
    assert outcome.chip.latencies == (5,) * session.SINGLES
    assert outcome.chip.intervals == ()
    assert "two items of 1500 bytes do not fit the input FIFO of 2048 bytes" in outcome.chip.missing
    link, _ = make(item=3000, out_fifo=4000)
    outcome = session.run(link, Subject(3000), "larger", items(2, 3000))
    assert "3000 bytes in and 3000 out does not fit" in outcome.chip.missing


def test_items_without_a_length() -> None:
    link, line = make()
    words = line.shell.words

    def without_items(now: float) -> list[int]:
        return [*words(now)[:15], 1, 1, *words(now)[17:]]

    line.shell.words = without_items  # type: ignore[method-assign]
    outcome = session.run(link, Subject(), "plain", items(20))
    assert outcome.chip.missing.startswith("the design's items have no fixed length")


def test_a_hung_design_ends_the_run() -> None:
    link, _ = make(hang_after=7)
    with pytest.raises(Stalled, match="112 of 320 came out"):
        session.run(link, Subject(), "plain", items(20))


def test_a_line_with_faults_carries_the_stream_alone() -> None:
    link, _ = make()
    outcome = session.run(link, Subject(), "plain", items(20), timed=False)
    assert (outcome.difference, outcome.items) == ("", 20)
    assert outcome.chip == session.ChipTimes(missing="faults were put in")


def test_a_stream_that_says_nothing_is_a_wrong_output() -> None:
    link, _ = make()

    class Packets(Subject):
        def decode(self, case: str, data: bytes, n: int) -> Any:
            raise ValueError("a dump in which a particle comes twice")

    outcome = session.run(link, Packets(), "plain", items(20))
    assert outcome.difference == "the output stream is none of plain: a dump in which a particle comes twice"
    assert outcome.outputs is None
    assert outcome.chip.missing == "not measured, since outputs are wrong"


def test_counts_that_contradict_the_streams() -> None:
    """A design that gives more than the case says: the surplus is seen in the chip's count of words."""
    link, _ = make()

    class Short(Subject):
        def expected_bytes(self, case: str, n: int) -> int:
            return 16 * n - 16

        def decode(self, case: str, data: bytes, n: int) -> Any:
            return super().decode(case, data, n - 1)

    with pytest.raises(session.ChipFault, match="the core gave 320 words of 1 bytes, the streams have 304 bytes"):
        session.run(link, Short(), "plain", items(20))


def test_outputs_that_depend_on_the_pace() -> None:
    """In a burst the core gives something else than in the stream."""
    line = Line(Shell(Core(16, 16, running_sum), registers=Registers(name="test/memory")))

    class Any_(Subject):
        def check(self, case: str, inputs: Any, outputs: Any) -> str:
            return ""

    with pytest.raises(session.ChipFault, match="items 1 to 1 gave other outputs in a burst than in the stream"):
        session.run(Link(line, line.clock), Any_(), "plain", items(20))


def test_lost_bytes_in_the_shell_are_an_error() -> None:
    link, line = make()
    before = line.shell.feed

    def feed(data: bytes, now: float) -> None:
        before(data, now)
        if line.shell.in_bytes:
            line.shell.flags |= 16

    line.shell.feed = feed  # type: ignore[method-assign]
    with pytest.raises(session.ChipFault, match="INPUT_OVERFLOW"):
        session.run(link, Subject(), "plain", items(20))
