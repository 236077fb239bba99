"""A link over a line with faults: nothing wrong is ever accepted, and everything arrives or a clear error says why not.

The core has a memory, so that one lost, repeated, damaged or exchanged byte in either direction changes all results
after it. One case has 100,000 frames; as many in every case, in about four minutes:

    GATEWARP_LINK_FRAMES=100000 python -m pytest -s tests/designs/boards/test_link_faults.py -k many_frames
"""

from __future__ import annotations

import os
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serial_shell_model import Core, Line, Shell, expected_output, running_sum

from designs.boards.faults import FaultyStream
from designs.boards.line_errors import LinkError, LinkLost, TooNoisy
from designs.boards.link import Link, Patience

#: Frames in every case, instead of the case's own number.
FRAMES = int(os.environ.get("GATEWARP_LINK_FRAMES", "0"))
KINDS = ("flip", "drop", "repeat", "delay")


def make(
    rates: dict[str, float], *, item: int = 16, payload: int = 240, seed: int = 1, nak_each: bool = True
) -> tuple[Link, FaultyStream, Line]:
    line = Line(Shell(Core(item, item, running_sum), cut=payload, nak_each=nak_each))
    faulty = FaultyStream(line, seed, clock=line.clock, **rates)
    return Link(faulty, line.clock, payload=payload), faulty, line


def all_kinds(rate: float) -> dict[str, float]:
    """A rate per byte, shared equally by all kinds of fault."""
    return dict.fromkeys(KINDS, rate / len(KINDS))


@pytest.mark.parametrize("rate", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_fault(kind: str, rate: float) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    link, faulty, _ = make({kind: rate}, seed=seed)
    data = random.Random(seed).randbytes(48_000 if rate < 1e-2 else 9_600)
    try:
        assert link.identify().name == "test/model"
        link.reset()
        assert link.exchange(data, len(data)) == expected_output(data, 16)
    except LinkError:
        if rate < 1e-2:
            raise
    counts = faulty.written, faulty.received
    hits = sum(c.flipped + c.dropped + c.repeated + c.delayed for c in counts)
    total = sum(c.total for c in counts)
    assert hits == sum(
        {"flip": c.flipped, "drop": c.dropped, "repeat": c.repeated, "delay": c.delayed}[kind] for c in counts
    )
    assert abs(hits - rate * total) < 6 * (rate * total) ** 0.5 + 6
    if kind == "delay":
        assert link.statistics.data_again == 0 or rate == 1e-2, "late is not lost"


@pytest.mark.parametrize(
    ("rate", "payload", "frames", "nak_each"),
    [
        (1e-4, 64, 20_000, True),
        (1e-3, 64, 100_000, True),
        (1e-3, 64, 20_000, False),
        (1e-3, 16, 20_000, False),
        (1e-3, 240, 4_000, False),
        (1e-2, 16, 2_000, True),
        (1e-2, 16, 2_000, False),
    ],
)
def test_many_frames_and_no_wrong_result(rate: float, payload: int, frames: int, nak_each: bool) -> None:
    """Half of the frames each way; `nak_each` boards answer every lost frame, others only the first."""
    frames = FRAMES or frames
    seed = random.randrange(1 << 30)
    link, faulty, line = make(all_kinds(rate), item=payload, payload=payload, seed=seed, nak_each=nak_each)
    data = random.Random(seed).randbytes(frames // 2 * payload)
    link.reset()
    began, wall = line.now, time.perf_counter()
    assert link.exchange(data, len(data)) == expected_output(data, payload), f"seed {seed}"
    seen = link.statistics
    bad = seen.bad + line.shell.bad
    print(
        f"\nseed {seed}: rate {rate:g}, payload {payload}: {frames} frames, {seen.data_again} sent again, {bad} bad "
        f"({faulty.written.total + faulty.received.total} bytes), {line.now - began:.1f} s of line, "
        f"{time.perf_counter() - wall:.1f} s; undetected expected {bad * 2.0**-32:.1e}"
    )
    assert bad > 0.3 * rate * 2 * len(data)
    assert line.shell.expected >= frames // 2


def test_the_worst_rate_with_whole_frames_ends_well_or_clearly() -> None:
    """Of frames of 250 bytes one in twelve survives 1e-2; patience decides whether that is enough."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    link, _, _ = make(all_kinds(1e-2), seed=seed)
    data = random.Random(seed).randbytes(9_600)
    assert link.exchange(data, len(data)) == expected_output(data, 16)
    line = Line(Shell(Core(16, 16, running_sum)))
    hopeless = FaultyStream(line, seed, flip=0.06, clock=line.clock)
    began = line.now
    with pytest.raises(TooNoisy, match=r"damaged.*use a lower baud rate or a better cable"):
        Link(hopeless, line.clock, patience=Patience(silent=30, stalled=20)).exchange(data, len(data))
    assert line.now - began < 60


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    rates=st.tuples(*(st.sampled_from([0.0, 1e-3, 4e-3]) for _ in KINDS)),
    payload=st.sampled_from([7, 16, 100, 240]),
    items=st.integers(0, 120),
    nak_each=st.booleans(),
    latency=st.sampled_from([0.0, 0.001, 0.05]),
    baud=st.sampled_from([3e6, 115200]),
    interval=st.sampled_from([1, 5000]),
)
def test_any_line(
    seed: int,
    rates: tuple[float, ...],
    payload: int,
    items: int,
    nak_each: bool,
    latency: float,
    baud: float,
    interval: int,
) -> None:
    shell = Shell(Core(16, 16, running_sum, interval=interval), cut=payload, nak_each=nak_each)
    line = Line(shell, baud, latency)
    stream = FaultyStream(line, seed, clock=line.clock, **dict(zip(KINDS, rates, strict=True)))
    link = Link(stream, line.clock, payload=payload)
    data = random.Random(seed).randbytes(16 * items)
    for _ in range(2):
        link.reset()
        assert link.exchange(data, len(data)) == expected_output(data, 16)
        assert link.counters().items_out == items


@pytest.mark.parametrize("seed", range(8))
def test_bursts_on_a_noisy_line(seed: int) -> None:
    """Hold and release, each a WRITE that must be done once, at 1e-3 of all faults."""
    link, _, line = make(all_kinds(1e-3), seed=seed)
    data = random.Random(seed).randbytes(1600)
    for _ in range(5):
        link.reset()
        link.hold(True)
        link.exchange(data, 0)
        assert line.shell.started == 0
        link.hold(False)
        assert link.exchange(b"", len(data)) == expected_output(data, 16)
        assert link.counters().items_out == 100


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("seed", range(25))
def test_a_reset_in_the_middle_of_a_noisy_exchange(seed: int) -> None:
    """Frames of before the reset are under way in both directions, and answers to the reset are lost."""
    link, _, _ = make(all_kinds(4e-3), seed=seed, payload=40)
    data = random.Random(seed).randbytes(4000)

    def stop(sent: int, _received: int) -> None:
        if sent > 1000:
            raise Interrupted

    for _ in range(4):
        link.reset()
        with pytest.raises(Interrupted):
            link.exchange(data, len(data), stop)
    link.reset()
    assert link.exchange(data, len(data)) == expected_output(data, 16)


# The faults themselves


class Ideal:
    """Gives back what is written."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes, /) -> int:
        self.data += data
        return len(data)

    def read(self, size: int, /) -> bytes:
        data, self.data = self.data[:size], self.data[size:]
        return data


def test_without_faults_nothing_changes() -> None:
    stream = FaultyStream(Ideal(), 1)
    data = random.Random(1).randbytes(10_000)
    stream.write(data)
    assert b"".join(stream.read(1000) for _ in range(10)) == data


@pytest.mark.parametrize("kind", KINDS)
def test_faults_are_what_they_are_called(kind: str) -> None:
    now = 0.0
    inner = Ideal()
    stream = FaultyStream(inner, 7, clock=lambda: now, hold=0.5, **{kind: 0.01})
    data = bytes(range(1, 255)) * 100
    stream.write(data)
    counts, out = stream.written, inner.data
    if kind == "flip":
        wrong = [a ^ b for a, b in zip(data, out, strict=True) if a != b]
        assert len(wrong) == counts.flipped > 150
        assert all(bin(w).count("1") == 1 for w in wrong)
        assert len(set(wrong)) == 8
    elif kind == "drop":
        assert len(out) == len(data) - counts.dropped < len(data) - 150
    elif kind == "repeat":
        assert len(out) == len(data) + counts.repeated > len(data) + 150
    else:
        assert len(out) < len(data) / 10, "the rest is late"
        for _ in range(400):
            now += 0.5
            stream.write(b"")
        assert inner.data == data, "late, and in order"
        assert counts.delayed > 150


def test_faults_repeat_with_their_seed() -> None:
    outs = []
    for seed in (1, 1, 2):
        inner = Ideal()
        FaultyStream(inner, seed, flip=0.01, drop=0.01, repeat=0.01).write(bytes(5000))
        outs.append(inner.data)
    assert outs[0] == outs[1] != outs[2]


def test_every_rate_up_to_one() -> None:
    inner = Ideal()
    FaultyStream(inner, 1, drop=1.0).write(b"abc")
    assert inner.data == b""
    for rates in ({"flip": -0.1}, {"flip": 0.6, "drop": 0.6}):
        with pytest.raises(ValueError, match="probability per byte"):
            FaultyStream(Ideal(), 1, **rates)


def test_unplugged_for_good() -> None:
    inner = Ideal()
    stream = FaultyStream(inner, 1, unplug_after=5)
    stream.write(b"abcdefg")
    assert inner.data == b"abcde", "the bytes before it went through"
    for call in (lambda: stream.read(1), lambda: stream.write(b"h")):
        with pytest.raises(LinkLost):
            call()
