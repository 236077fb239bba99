"""A line with faults, for tests and for trials before a board is at hand: any `Stream`, and bytes go wrong in it.

    stream = FaultyStream(open_serial(port, baud), seed=1, flip=1e-3, drop=1e-4)

Both directions have faults at the same rates, from one seed. The rates are per byte: `flip` inverts one bit, `drop`
loses the byte, `repeat` delivers it twice, `delay` holds it and everything behind it back for up to `hold` seconds (a
line keeps its order). `unplug_after` bytes in both directions together the line is gone: every call ends in LinkLost.
"""

from __future__ import annotations

import math
import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from designs.boards.line_errors import LinkLost
from designs.boards.serial_line import Stream


@dataclass
class FaultCounts:
    """Bytes that went through one direction, and what happened to them."""

    total: int = 0
    flipped: int = 0
    dropped: int = 0
    repeated: int = 0
    delayed: int = 0


class _Direction:
    """Faults of one direction: gaps between faults are drawn at once, since most bytes are good."""

    def __init__(self, rng: random.Random, rates: dict[str, float], hold: float, clock: Callable[[], float]) -> None:
        self.counts = FaultCounts()
        self._rng, self._hold, self._clock = rng, hold, clock
        self._kinds, self._weights = list(rates), list(rates.values())
        self._rate = sum(self._weights)
        self._gap = self._draw()
        self._queue: deque[tuple[float, bytes]] = deque()  # when each piece may go on
        self._free = 0.0

    def _draw(self) -> int:
        if self._rate <= 0:
            return 1 << 62
        if self._rate >= 1:
            return 0
        return int(math.log(1 - self._rng.random()) / math.log(1 - self._rate))

    def put(self, data: bytes) -> None:
        """Bytes into the line."""
        self.counts.total += len(data)
        piece = bytearray()
        at = 0
        while at + self._gap < len(data):
            piece += data[at : at + self._gap]
            at += self._gap
            byte = data[at]
            kind = self._rng.choices(self._kinds, self._weights)[0]
            if kind == "flip":
                piece.append(byte ^ 1 << self._rng.randrange(8))
                self.counts.flipped += 1
            elif kind == "drop":
                self.counts.dropped += 1
            elif kind == "repeat":
                piece += bytes((byte, byte))
                self.counts.repeated += 1
            else:
                self._push(piece)
                piece = bytearray((byte,))
                self._free = max(self._free, self._clock() + self._hold * self._rng.random())
                self.counts.delayed += 1
            at += 1
            self._gap = self._draw()
        self._gap -= len(data) - at
        self._push(piece + data[at:])

    def _push(self, piece: bytes | bytearray) -> None:
        if piece:
            self._queue.append((self._free, bytes(piece)))

    def get(self) -> bytes:
        """The bytes that may go on by now."""
        now = self._clock()
        ready = []
        while self._queue and self._queue[0][0] <= now:
            ready.append(self._queue.popleft()[1])
        return b"".join(ready)

    def unread(self, data: bytes) -> None:
        """Put bytes back that the reader has no room for."""
        self._queue.appendleft((0.0, data))


class FaultyStream:
    """A stream with faults in both directions; `written` and `received` count them."""

    def __init__(
        self,
        stream: Stream,
        seed: int,
        *,
        flip: float = 0.0,
        drop: float = 0.0,
        repeat: float = 0.0,
        delay: float = 0.0,
        unplug_after: int | None = None,
        hold: float = 0.02,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        rates = {"flip": flip, "drop": drop, "repeat": repeat, "delay": delay}
        if min(rates.values()) < 0 or sum(rates.values()) > 1:
            raise ValueError(f"fault rates {rates}: each is a probability per byte, together at most 1")
        rng = random.Random(seed)
        self._stream = stream
        self._left = unplug_after
        self._to_board = _Direction(random.Random(rng.random()), rates, hold, clock)
        self._to_host = _Direction(random.Random(rng.random()), rates, hold, clock)
        self.written = self._to_board.counts
        self.received = self._to_host.counts

    def _pass(self, size: int) -> int:
        """How many of `size` bytes still go through before the cable is out."""
        if self._left is None:
            return size
        if self._left <= 0:
            raise LinkLost("the line was unplugged (on purpose, by the fault injection)")
        size = min(size, self._left)
        self._left -= size
        return size

    def _flush(self) -> None:
        ready = self._to_board.get()
        if ready:
            taken = self._stream.write(ready)
            if taken < len(ready):
                self._to_board.unread(ready[taken:])

    def write(self, data: bytes, /) -> int:
        """See `Stream.write`."""
        self._to_board.put(data[: self._pass(len(data))])
        self._flush()
        return len(data)

    def read(self, size: int, /) -> bytes:
        """See `Stream.read`."""
        self._flush()
        data = self._stream.read(size)
        self._to_host.put(data[: self._pass(len(data))])
        ready = self._to_host.get()
        if len(ready) > size:
            self._to_host.unread(ready[size:])
        return ready[:size]

    def close(self) -> None:
        """Close the stream below, where it can be closed."""
        close = getattr(self._stream, "close", None)
        if close is not None:
            close()
