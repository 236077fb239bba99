"""A run of a workload on a board: its whole input stream for the end-to-end time, bursts for the times on the chip.

    outcome = run(link, subject, "compact", inputs)
    outcome.difference                     "" when every output equals the oracle, bit for bit
    outcome.chip.interval, outcome.line.seconds

The line is far slower than most cores. So a core's own rate is measured in bursts: hold words in the input FIFO, fill
it, let go, and read the chip's counters. A burst of many items gives the interval (mean cycles from one item out to the
next), a burst of one item the latency without queueing (first word in to last word out). The end-to-end time is the
host's: from its first byte out to its last byte in, line and operating system included. The two are never mixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from designs.boards.frames import Flag
from designs.boards.identity import Counters, Identity
from designs.boards.line_errors import LinkError
from designs.boards.link import Link, Statistics

#: Bursts of many items, and of one, unless told otherwise.
BURSTS = 5
SINGLES = 9

#: Flags that mean that the shell lost something, not only the line.
BROKEN = Flag.INPUT_OVERFLOW | Flag.SERIAL_OVERRUN


class Streamed(Protocol):
    """What is needed of a subject (`designs.boards.subject`): its streams and its oracle."""

    def count(self, case: str, inputs: Any) -> int:
        """How many items `inputs` are."""

    def encode(self, case: str, inputs: Any) -> bytes:
        """The input stream."""

    def expected_bytes(self, case: str, n: int) -> int:
        """Bytes of the output stream for `n` items."""

    def decode(self, case: str, data: bytes, n: int) -> Any:
        """Outputs from the output stream."""

    def check(self, case: str, inputs: Any, outputs: Any) -> str:
        """Empty when all bits equal the oracle's, else one line that names the first difference."""


class ChipFault(LinkError):
    """The chip's own counters contradict what went over the line."""


@dataclass(frozen=True)
class ChipTimes:
    """Cycles counted on the chip. `missing` says why a tuple is empty.

    intervals   mean cycles between items, one a burst of `items` items
    latencies   cycles of a single item through an empty core, one a burst
    queued      least and largest latency within the bursts of many items; None if the chip cannot time so many
    """

    intervals: tuple[float, ...] = ()
    latencies: tuple[int, ...] = ()
    items: int = 0
    queued: tuple[int, int] | None = None
    missing: str = ""


@dataclass(frozen=True)
class LineTimes:
    """The whole stream over the line.

    seconds     on the host, from the first byte written to the last byte read
    cycles      on the chip, from the first byte of the first DATA frame in to the last byte of the last one out
    spacing     mean cycles from one item out to the next; the line's when the line is slower than the core
    """

    seconds: float
    bytes_in: int
    bytes_out: int
    cycles: int
    spacing: float | None


@dataclass(frozen=True)
class Outcome:
    """A run: outputs (None where the stream says nothing), how they differ from the oracle's, times, and the line."""

    identity: Identity
    items: int
    outputs: Any
    difference: str
    chip: ChipTimes
    line: LineTimes
    counters: Counters
    statistics: Statistics


def whole(
    link: Link, identity: Identity, data: bytes, expected: int, progress: Callable[[int, int], object] | None = None
) -> tuple[bytes, LineTimes, Counters]:
    """Reset, then one stream; checks what the chip counted. Errors: ChipFault and those of `Link.exchange`."""
    link.reset()
    began = link.clock()
    output = link.exchange(data, expected, progress)
    seconds = link.clock() - began
    counters = link.counters()
    for what, words, size, size_of_word in (
        ("took", counters.words_in, len(data), identity.in_bytes),
        ("gave", counters.words_out, expected, identity.out_bytes),
    ):
        if words * size_of_word != size:
            raise ChipFault(
                f"the core {what} {words} words of {size_of_word} bytes, the streams have {size} bytes: the design and "
                "the case do not fit; build the bitstream again"
            )
    if counters.flags & BROKEN:
        raise ChipFault(f"the shell lost bytes ({(counters.flags & BROKEN)!r}); use a lower baud rate")
    return output, LineTimes(seconds, len(data), expected, counters.line, counters.interval), counters


def burst(link: Link, data: bytes, expected: int) -> tuple[bytes, Counters]:
    """Reset, fill the input FIFO, let go; output and counters. `data` must fit the input FIFO."""
    link.reset()
    link.hold(True)
    link.exchange(data, 0)
    link.settle()
    link.hold(False)
    return link.exchange(b"", expected), link.counters()


def chip_times(
    link: Link, identity: Identity, data: bytes, output: bytes, *, bursts: int = BURSTS, singles: int = SINGLES
) -> ChipTimes:
    """Bursts of the first items of a stream; their outputs must be those of the whole stream. Errors: ChipFault."""
    size, result = identity.item_in, identity.item_out
    if not size or not result:
        return ChipTimes(missing="the design's items have no fixed length, so its pins do not show them")
    items = min(identity.in_fifo // size, identity.out_fifo // result, len(data) // size)
    if not items:
        return ChipTimes(
            missing=f"an item of {size} bytes in and {result} out does not fit the FIFOs of {identity.in_fifo} and "
            f"{identity.out_fifo} bytes"
        )

    def go(first: int, count: int) -> Counters:
        first %= len(data) // size - count + 1
        got, counters = burst(link, data[first * size : (first + count) * size], count * result)
        if got != output[first * result : (first + count) * result]:
            raise ChipFault(f"items {first} to {first + count - 1} gave other outputs in a burst than in the stream")
        if counters.items_out != count:
            raise ChipFault(f"the chip counted {counters.items_out} items in a burst of {count}")
        return counters

    times = ChipTimes(latencies=tuple(go(i, 1).latency_max for i in range(singles)), items=items)
    if items < 2:
        missing = f"two items of {size} bytes do not fit the input FIFO of {identity.in_fifo} bytes: no interval"
        return replace(times, missing=missing)
    many = [go(i * items, items) for i in range(bursts)]
    counted = not any(c.flags & Flag.LATENCY_OVERFLOW for c in many)
    queued = (min(c.latency_min for c in many), max(c.latency_max for c in many)) if counted else None
    return replace(times, intervals=tuple(c.steady / (items - 1) for c in many), queued=queued)


def run(
    link: Link,
    subject: Streamed,
    case: str,
    inputs: Any,
    *,
    identity: Identity | None = None,
    bursts: int = BURSTS,
    singles: int = SINGLES,
    timed: bool = True,
    progress: Callable[[int, int], object] | None = None,
) -> Outcome:
    """Run all items, compare them with the oracle, measure. A wrong output is reported in `difference`, not raised.

    Without `timed` there are no bursts: on a line with faults they take far longer than the stream, and prove no more.
    Errors: LinkError; after one, `link.reset` or a new link is needed.
    """
    identity = identity or link.identify()
    items = subject.count(case, inputs)
    data, expected = subject.encode(case, inputs), subject.expected_bytes(case, items)
    output, line, counters = whole(link, identity, data, expected, progress)
    try:
        outputs = subject.decode(case, output, items)
        difference = subject.check(case, inputs, outputs)
    except ValueError as error:  # a stream that says nothing, such as a packet of a wrong length
        outputs, difference = None, f"the output stream is none of {case}: {error}"
    chip = ChipTimes(missing="not measured, since outputs are wrong")
    if not timed:
        chip = ChipTimes(missing="faults were put in")
    elif not difference:
        chip = chip_times(link, identity, data, output, bursts=bursts, singles=singles)
    return Outcome(identity, items, outputs, difference, chip, line, counters, replace(link.statistics))
