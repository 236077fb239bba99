"""A shell on a board in Python, and a serial line in virtual time between it and the host.

It is written from the description of frames and registers and shares no code with the host.

    line = Line(Shell(core))
    link = Link(line, line.clock)
"""

from __future__ import annotations

import binascii
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from cobs import cobs

SLOTS = 8
FULL = 240
FRAMES = 4096


@dataclass
class Core:
    """Takes items of `item_in` bytes, gives `item_out` bytes each by a function that `make` gives anew
    at each reset; timing in cycles, one word a byte."""

    item_in: int
    item_out: int
    make: Callable[[], Callable[[bytes], bytes]]
    interval: int = 1
    latency: int = 5
    hang_after: int | None = None


@dataclass
class Registers:
    """What a WRITE and a READ see."""

    design: str = "00112233445566778899aabbccddeeff"
    name: str = "test/model"
    version: int = 1
    magic: int = 0x47415445
    clock_hz: int = 50_000_000


@dataclass
class Shell:
    """One board. `feed` takes bytes from the host, `next_frame` gives the next frame to it; times in seconds."""

    core: Core
    registers: Registers = field(default_factory=Registers)
    in_fifo: int = 2048
    out_fifo: int = 2048
    cut: int = FULL
    nak_each: bool = True
    byte_time: float = 0.0

    def __post_init__(self) -> None:
        self.rest = b""
        self.last_tag: int | None = None
        self.resets = 0
        self.writes = 0
        self.on = True
        self._reset()

    # State

    def _reset(self) -> None:
        self.function = self.core.make()
        self.expected = 0
        self.base = self.next = self.top = 0  # output frames: oldest kept, to send next, first never sent
        self.slots: dict[int, bytes] = {}
        self.host_limit = 0
        self.fifo = bytearray()
        self.results: deque[tuple[float, bytes]] = deque()
        self.out = bytearray()
        self.out_time = 0.0
        self.reserved = 0
        self.changed = 0.0
        self.started = 0
        self.hold = False
        self.answers: deque[bytes] = deque()
        self.nak = self.state = False
        self.naked = False
        self.last_start = -1e9
        self._clear()

    def _clear(self) -> None:
        self.flags = self.ok = self.bad = 0
        self.in_bytes = self.out_bytes = self.items_out = 0
        self.first_start: float | None = None
        self.first_out: float | None = None
        self.last_out = 0.0
        self.latency_min, self.latency_max, self.latency_sum = 0xFFFFFFFF, 0, 0
        self.stall_out = 0

    @property
    def room(self) -> int:
        """Frames that fit the buffer of frames; words go on from it as the input FIFO has room."""
        return min(64, (FRAMES - max(0, len(self.fifo) - self.in_fifo)) // 256)

    # From the host

    def feed(self, data: bytes, now: float) -> None:
        if not self.on:
            return
        *pieces, self.rest = (self.rest + data).split(b"\0")
        self.rest = self.rest[:300]
        for piece in pieces:
            if piece:
                self._frame(piece, now)

    def _frame(self, piece: bytes, now: float) -> None:
        try:
            packet = cobs.decode(piece)
        except cobs.DecodeError:
            packet = b""
        if not 8 <= len(packet) <= 248 or binascii.crc32(packet[:-4]).to_bytes(4, "little") != packet[-4:]:
            self.bad += 1
            self.flags |= 4
            self._refuse()
            return
        self.ok += 1
        kind, seq, ack, limit = packet[:4]
        payload = packet[4:-4]
        ahead = (ack - self.base) % 256
        if ahead <= self.top - self.base:
            for number in range(self.base, self.base + ahead):
                del self.slots[number]
            self.base += ahead
            self.next = max(self.next, self.base)
            self.host_limit = self.base + (limit - ack) % 256
        if kind == 0x00:
            self.state, self.naked = True, False
        elif kind == 0x01:
            self._data(seq, payload, now)
        elif kind == 0x02:
            self._write(seq, payload[0], int.from_bytes(payload[1:5], "little"), now)
            self.naked = False
        elif kind == 0x03:
            words = self.words(now)[payload[0] : payload[0] + payload[1]]
            self._answer(0x83, seq, payload[:1] + b"".join(word.to_bytes(4, "little") for word in words))
            self.naked = False
        elif kind == 0x04:
            self.state, self.next, self.naked = True, self.base, False

    def _refuse(self) -> None:
        if self.nak_each or not self.naked:
            self.nak = True
        self.naked = True

    def _data(self, seq: int, payload: bytes, now: float) -> None:
        self.advance(now)
        if seq != self.expected % 256 or not self.room:
            behind = (self.expected - seq) % 256
            if not self.nak_each and 0 < behind <= 64:
                self.state = True
            else:
                self.flags |= 8
                self._refuse()
            return
        self.expected += 1
        self.naked = False
        self.fifo += payload
        self.in_bytes += len(payload)
        self.changed = now
        self.state = True
        self.advance(now)

    def _write(self, tag: int, address: int, value: int, now: float) -> None:
        if tag != self.last_tag:
            self.writes += 1
            assert address == 18, "only CONTROL can be written"
            if value & 1:
                self.resets += 1
                self._reset()
            if value & 4:
                self._clear()
            if self.hold and not value & 2:
                self.changed = now
            self.hold = bool(value & 2)
            self.last_tag = tag
        self._answer(0x82, tag, bytes([address]) + value.to_bytes(4, "little"))

    def words(self, now: float) -> list[int]:
        """All registers."""
        self.advance(now)
        reg, core = self.registers, self.core
        name = reg.name.encode().ljust(32, b"\0")
        hz = reg.clock_hz

        def cycles(seconds: float) -> list[int]:
            whole = round(seconds * hz)
            return [whole & 0xFFFFFFFF, whole >> 32]

        steady = self.last_out - self.first_out if self.first_out is not None else 0.0
        return [
            reg.magic,
            reg.version,
            *(int(reg.design[i : i + 8], 16) for i in (0, 8, 16, 24)),
            *(int.from_bytes(name[i : i + 4], "little") for i in range(0, 32, 4)),
            hz,
            1 | core.item_in << 16,
            1 | core.item_out << 16,
            self.in_fifo | self.out_fifo << 16,
            0,
            self.flags,
            0 if self.last_tag is None else 0x100 | self.last_tag,
            self.ok,
            self.bad,
            self.in_bytes - len(self.fifo),
            self.out_bytes,
            self.started,
            self.items_out,
            *cycles(self.last_out - self.first_start if self.first_start is not None else 0),
            *cycles(steady),
            self.latency_min,
            self.latency_max,
            self.latency_sum & 0xFFFFFFFF,
            self.latency_sum >> 32,
            0,
            self.stall_out,
            *cycles(0.0),
        ]

    # The core

    def advance(self, now: float) -> None:
        """Let the core work until `now`."""
        core, hz = self.core, self.registers.clock_hz
        while True:
            hung = core.hang_after is not None and self.started >= core.hang_after
            if self.hold or hung or len(self.fifo) < core.item_in:
                break
            if self.reserved + core.item_out > self.out_fifo:
                self.stall_out += 1
                self.flags |= 64
                break
            start = max(self.changed, self.last_start + core.interval / hz)
            if start > now:
                break
            self.last_start = start
            self.started += 1
            item = bytes(self.fifo[: core.item_in])
            del self.fifo[: core.item_in]
            self.state = True
            self.reserved += core.item_out
            finish = start + core.latency / hz
            self.latency_min, self.latency_max = (
                min(self.latency_min, core.latency),
                max(self.latency_max, core.latency),
            )
            self.latency_sum += core.latency
            self.first_start = start if self.first_start is None else self.first_start
            self.results.append((finish, self.function(item)))
        while self.results and self.results[0][0] <= now:
            self.out_time, data = self.results.popleft()
            self.first_out = self.out_time if self.first_out is None else self.first_out
            self.last_out = self.out_time
            self.items_out += 1
            self.out += data
            self.out_bytes += len(data)

    def next_event(self) -> float | None:
        """When the core or the cutting of frames has something to do by itself."""
        times = [self.results[0][0]] if self.results else []
        core = self.core
        hung = core.hang_after is not None and self.started >= core.hang_after
        ready = not self.hold and not hung and len(self.fifo) >= core.item_in
        if ready and self.reserved + core.item_out <= self.out_fifo:
            times.append(self.last_start + core.interval / self.registers.clock_hz)
        if self.out:
            times.append(self.out_time + 2 * self.byte_time)
        return min(times, default=None)

    # To the host

    def _pack(self, kind: int, seq: int, payload: bytes) -> bytes:
        body = bytes([kind, seq % 256, self.expected % 256, (self.expected + self.room) % 256]) + payload
        return cobs.encode(body + binascii.crc32(body).to_bytes(4, "little")) + b"\0"

    def _answer(self, kind: int, seq: int, payload: bytes) -> None:
        self.answers.append(self._pack(kind, seq, payload))

    def next_frame(self, now: float) -> bytes | None:
        """What goes out next when the line is free."""
        if not self.on:
            return None
        self.advance(now)
        if self.answers:
            return self.answers.popleft()
        if self.nak:
            self.nak = self.state = False
            return self._pack(0x84, 0, b"")
        if self.next < self.host_limit:
            if self.next < self.top:
                self.state = False
                self.next += 1
                return self._pack(0x81, self.next - 1, self.slots[self.next - 1])
            quiet = now >= self.out_time + 2 * self.byte_time
            if self.out and (len(self.out) >= self.cut or quiet) and self.top - self.base < SLOTS:
                payload = bytes(self.out[: self.cut])
                del self.out[: self.cut]
                self.reserved -= len(payload)
                self.changed = (
                    max(self.changed, now)
                    if self.reserved + self.core.item_out > self.out_fifo - FULL
                    else self.changed
                )
                self.slots[self.top] = payload
                self.top += 1
                self.next = self.top
                self.state = False
                return self._pack(0x81, self.top - 1, payload)
        if self.state:
            self.state = False
            return self._pack(0x80, 0, b"")
        return None


class Line:
    """The host's stream: a line in virtual time, `baud` bits a second, ten a byte, `latency` seconds each way."""

    WAIT = 0.005

    def __init__(self, shell: Shell, baud: float = 3e6, latency: float = 0.0005) -> None:
        self.shell = shell
        self.now = 100.0
        self.byte_time = 10 / baud
        shell.byte_time = self.byte_time
        self.latency = latency
        self.to_board: deque[tuple[float, bytes]] = deque()
        self.to_host: deque[tuple[float, bytes]] = deque()
        self.host_free = self.board_free = self.now
        self.plugged = True

    def clock(self) -> float:
        return self.now

    def write(self, data: bytes, /) -> int:
        for at in range(0, len(data), 256):
            piece = data[at : at + 256]
            self.host_free = max(self.now, self.host_free) + len(piece) * self.byte_time
            self.to_board.append((self.host_free + self.latency, piece))
        return len(data)

    def inject(self, data: bytes) -> None:
        """Bytes from the board's side that no frame of it."""
        self.to_host.append((self.now, data))

    def _run(self) -> None:
        """Everything up to `now`."""
        shell = self.shell
        while True:
            moved = False
            if self.to_board and self.to_board[0][0] <= self.now:
                when, data = self.to_board.popleft()
                shell.feed(data, when)
                moved = True
            if self.board_free <= self.now:
                frame = shell.next_frame(self.now)
                if frame is not None:
                    self.board_free = max(self.board_free, self.now) + len(frame) * self.byte_time
                    self.to_host.append((self.board_free + self.latency, frame))
                    moved = True
            if not moved:
                return

    def read(self, size: int, /) -> bytes:
        until = self.now + self.WAIT
        while True:
            self._run()
            ready = []
            while self.to_host and self.to_host[0][0] <= self.now:
                ready.append(self.to_host.popleft()[1])
            if ready:
                return b"".join(ready)
            if self.now >= until:
                return b""
            times = [until]
            times += [self.to_board[0][0]] if self.to_board else []
            times += [self.to_host[0][0]] if self.to_host else []
            if self.board_free > self.now:
                times.append(self.board_free)
            else:
                event = self.shell.next_event()
                if event is not None and event > self.now:
                    times.append(event)
            self.now = min(max(min(times), self.now), until)


def running_sum(item_out: int = 0) -> Callable[[bytes], bytes]:
    """A core with a memory: each result depends on all items before it, so that a lost or repeated one is seen."""
    state = 0

    def function(item: bytes) -> bytes:
        nonlocal state
        state = binascii.crc32(item, state)
        return state.to_bytes(4, "little") * ((item_out or len(item)) // 4)

    return function


def expected_output(data: bytes, item: int) -> bytes:
    """What a core of `running_sum` gives for a whole stream."""
    function = running_sum()
    return b"".join(function(data[i : i + item]) for i in range(0, len(data), item))
