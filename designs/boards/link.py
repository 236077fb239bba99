"""A host's link to the shell on a board: identify, reset, hold, counters, and an exchange of streams.

    with open_serial(port, baud) as stream:
        link = Link(stream)
        identity = link.identify()
        link.reset()
        output = link.exchange(data, expected)

The board has no timeouts. Whatever the line does, the host gets things going again: with its frames it sends questions
("fences": a READ with a tag of its own) whose answers prove what came before them was received or lost, see `window`.
How long to wait for an answer is learnt (`pace`), so the same code serves a line of 3 Mbaud and a simulated one that is
a hundred times slower. What does not end well within `Patience` ends in an error of `line_errors` that names the way
out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from designs.boards import identity as registers
from designs.boards.frames import (
    PAYLOAD,
    REGISTER_WORDS,
    SLOTS,
    WINDOW,
    Control,
    Decoder,
    Frame,
    Kind,
    Register,
    pack,
)
from designs.boards.identity import Counters, Identity
from designs.boards.line_errors import BoardReset, NoAnswer, OtherProtocol, Stalled, TooNoisy
from designs.boards.pace import Pace
from designs.boards.serial_line import Stream, open_serial
from designs.boards.window import Fence, Incoming, Outgoing

__all__ = ["Link", "Patience", "Statistics", "open_serial"]

#: DATA frames taken before the board is told, out of the `SLOTS` that it may be ahead.
TELL_AFTER = 3
#: Frames that we are ahead while output comes, whatever the credit: what we acknowledge goes behind them, and must get
#: to the board before its `SLOTS` are full. Without output for `ONE_WAY` frames the credit alone counts.
BOTH_WAYS = SLOTS - 3
ONE_WAY = 16
#: Fences that may be under way; older ones are forgotten.
FENCES = 64
#: Seconds between questions to a board that answers but whose design is busy, once that has lasted.
RARELY = 0.5
#: Share of damaged frames above which a run that does not go on is called noisy.
NOISY = 0.3


@dataclass(frozen=True)
class Patience:
    """Seconds before giving up: without any good frame from the board, and without any byte of the streams going on."""

    silent: float = 10.0
    stalled: float = 60.0


@dataclass
class Statistics:
    """What went over the line since the link was made; frames unless the name says otherwise."""

    sent: int = 0
    data_sent: int = 0
    data_again: int = 0
    received: int = 0
    data_received: int = 0
    bad: int = 0
    naks: int = 0
    resends: int = 0
    fences: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0


class Link:
    """The host's end of the line. `payload` is the most bytes in a DATA frame: small frames survive noise better.

    `clock` gives seconds; a stream's `read` is the only place where time passes. Errors are subclasses of LinkError.
    """

    def __init__(
        self,
        stream: Stream,
        clock: Callable[[], float] = time.monotonic,
        *,
        patience: Patience | None = None,
        payload: int = PAYLOAD,
    ) -> None:
        if not 1 <= payload <= PAYLOAD:
            raise ValueError(f"a payload of {payload} bytes a frame; it may be 1 to {PAYLOAD}")
        self.statistics = Statistics()
        self.patience = patience or Patience()
        self.clock = clock
        self._stream, self._payload = stream, payload
        self._decoder = Decoder()
        self._outbox = bytearray(2)  # two delimiters end whatever an earlier run left half said
        self._pace = Pace()
        self._out, self._in = Outgoing(payload), Incoming()
        self._synchronised = False
        self._read_tag = int(clock() * 997) & 255  # an answer to an earlier run hardly has the same
        self._write_tag: int | None = None
        self._fences: dict[int, Fence] = {}
        self._timed: tuple[int, float] | None = None  # what `base` shows that a frame arrived, and when it was sent
        self._pending: tuple[int, int] | None = None
        self._answer: Frame | None = None
        self._hold = False
        self._credit = 0
        self._heard = self._progress = self._probe_at = clock()
        self._echoes = self._quiet = self._one_way = 0

    # Requests

    def identify(self) -> Identity:
        """What is on the board. Errors: OtherShell, OtherProtocol, NoAnswer."""
        return registers.identity(self.read(Register.MAGIC, Register.CONTROL))

    def reset(self) -> None:
        """Reset core, FIFOs, sequence numbers and counters, and forget all bytes under way in both directions."""
        self._synchronised = False
        written = self._write(Register.CONTROL, Control.RESET)
        self._hold = False
        self._out, self._in = Outgoing(self._payload), Incoming()
        self._out.heard(written.ack, written.limit)  # without effect if the answer still has numbers of before
        self._credit = self._out.limit
        self._fences.clear()
        self._timed = None
        self._synchronised = True

    def settle(self) -> None:
        """Wait until what the board has acknowledged is in its input FIFO: its credit is then as after a reset.

        What is acknowledged may still wait to become words, for longer than a fast line takes for the next question.
        Errors: Stalled, where the input FIFO is full, and those of `exchange`.
        """
        began = self._heard = self.clock()
        again = began
        while self._out.limit - self._out.base < self._credit:
            now = self.clock()
            if now >= again:
                self._send(Kind.POLL)
                again = now + self._pace.timeout
            self._pump()
            self._check_silence()
            if now - began > self.patience.stalled:
                raise Stalled(
                    f"the input FIFO did not take all that was sent in {self.patience.stalled:g} s: it is full, or the "
                    "design was not held; reset the board"
                )

    def hold(self, on: bool) -> None:
        """Keep words in the input FIFO, or let them go at the core's own rate."""
        self._write(Register.CONTROL, Control.HOLD if on else 0)
        self._hold = on

    def clear(self) -> None:
        """Set counters and flags to zero."""
        self._write(Register.CONTROL, Control.CLEAR | (Control.HOLD if self._hold else 0))

    def counters(self) -> Counters:
        """Counters and flags now."""
        return registers.counters(self.read(registers.COUNTERS_FROM, REGISTER_WORDS - registers.COUNTERS_FROM))

    def read(self, address: int, count: int) -> list[int]:
        """`count` registers from an address."""
        self._read_tag = (self._read_tag + 1) & 255
        size = 1 + 4 * count
        answer = self._ask(Kind.READ, self._read_tag, bytes((address, count)), Kind.REGISTERS, size)
        return [int.from_bytes(answer.payload[i : i + 4], "little") for i in range(1, size, 4)]

    def _write(self, address: int, value: int) -> Frame:
        """Write a register once, however often the frame is sent: the board does the tag that it did last no more."""
        if self._write_tag is None:
            self._write_tag = self.read(Register.LAST_TAG, 1)[0] & 255
        self._write_tag = (self._write_tag + 1) & 255
        payload = bytes((address,)) + value.to_bytes(4, "little")
        return self._ask(Kind.WRITE, self._write_tag, payload, Kind.WRITTEN, len(payload))

    def _ask(self, kind: Kind, tag: int, payload: bytes, reply: Kind, size: int) -> Frame:
        """Send a request until its answer comes."""
        began = self._heard = self.clock()
        damaged = self.statistics.bad
        self._pending, self._answer = (reply, tag), None
        tries, asked, again = 0, began, began
        while True:
            now = self.clock()
            if now >= again:
                if tries:
                    self._outbox.append(0)
                    self._pace.backoff()
                self._send(kind, tag, payload)
                tries, asked, again = tries + 1, now, now + self._pace.timeout
            naks = self.statistics.naks
            self._pump()
            answer = self._answer
            if answer is not None and answer.payload[:1] == payload[:1] and len(answer.payload) == size:
                if tries == 1:
                    self._pace.measured(self.clock() - asked)
                self._pending = None
                return answer
            if self.statistics.naks > naks:
                again = now  # the request may be what was damaged
            self._check_silence()
            if now - began > self.patience.stalled:
                bad = self.statistics.bad - damaged
                raise TooNoisy(
                    f"no answer to {kind.name} in {self.patience.stalled:g} s and {tries} tries, {bad} damaged frames "
                    "came meanwhile; use a lower baud rate or a better cable"
                )

    # Streams

    def exchange(self, data: bytes, expected: int, progress: Callable[[int, int], object] | None = None) -> bytes:
        """Send all of `data` and return the next `expected` bytes of the output stream.

        `progress(sent, received)` is called as bytes of the streams are acknowledged and received. Output beyond
        `expected` is kept for the next call. Errors: Stalled, TooNoisy, NoAnswer, LinkLost, BoardReset; `reset` before
        going on.
        """
        if not self._synchronised:
            self.reset()
        out, inp = self._out, self._in
        out.load(data)
        now = self.clock()
        self._heard = self._progress = now
        self._probe_at = now + self._pace.timeout if out.sendable else now
        self._one_way = 0 if expected > len(inp) else WINDOW
        began, damaged, received = out.base, self.statistics.bad, self.statistics.received
        while not out.done or len(inp) < expected:
            self._send_data()
            if inp.unacknowledged > TELL_AFTER:
                self._send(Kind.POLL)
            moved = out.base, inp.expected
            self._pump(want=len(inp) < expected)
            now = self.clock()
            if (out.base, inp.expected) != moved:
                self._one_way = self._one_way + out.base - moved[0] if inp.expected == moved[1] else 0
                damaged, received = self.statistics.bad, self.statistics.received
                self._progress = now
                self._quiet = 0
                self._probe_at = now + self._pace.timeout
                if progress is not None:
                    progress(min((out.base - began) * self._payload, len(data)), min(len(inp), expected))
            elif now >= self._probe_at:
                self._probe(want=len(inp) < expected)
            self._check_silence()
            if now - self._progress > self.patience.stalled:
                self._give_up(len(data), expected, damaged, received, began)
        return inp.take(expected)

    def _give_up(self, size: int, expected: int, damaged: int, received: int, began: int) -> None:
        bad, good = self.statistics.bad - damaged, self.statistics.received - received
        state = (
            f"{min((self._out.base - began) * self._payload, size)} of {size} bytes went in, "
            f"{min(len(self._in), expected)} of {expected} came out"
        )
        if bad > NOISY * (bad + good):
            raise TooNoisy(
                f"nothing got through for {self.patience.stalled:g} s, {bad} of {bad + good} frames came damaged; "
                f"{state}; use a lower baud rate or a better cable"
            )
        raise Stalled(
            f"the design gave and took nothing for {self.patience.stalled:g} s while the board kept answering; "
            f"{state}; the design hangs, needs more input, or takes longer for an item (then give it more patience)"
        )

    def _send_data(self) -> None:
        out = self._out
        ahead = WINDOW if self._one_way > ONE_WAY else BOTH_WAYS
        while out.sendable and out.next < out.base + ahead:
            again = out.next < out.high
            number, payload, fence = out.take()
            self.statistics.data_sent += 1
            self.statistics.data_again += again
            if self._timed is None and not again:
                self._timed = out.next, self.clock()
            self._send(Kind.DATA_IN, number, payload)
            if fence:
                self._fence()

    def _fence(self) -> None:
        """A question whose answer proves what came before it."""
        self._read_tag = tag = (self._read_tag + 1) & 255
        self._fences.pop(tag, None)
        self._fences[tag] = Fence(self.clock(), self._out.next, self._out.epoch, self._in.resends)
        if len(self._fences) > FENCES:
            del self._fences[next(iter(self._fences))]
        self.statistics.fences += 1
        self._send(Kind.READ, tag, bytes((Register.LAST_TAG, 1)))

    def _probe(self, want: bool) -> None:
        """Nothing went on for a while: ask, and from the second time on ask for output again that may be lost."""
        self._outbox.append(0)
        if want and self._quiet:
            self._in.ask()
            self.statistics.resends += 1
            self._send(Kind.RESEND)
        self._fence()
        self._quiet = min(self._quiet + 1, 10)
        wait = self._pace.timeout
        self._probe_at = self.clock() + max(wait, min(RARELY, wait * 2**self._quiet))

    def _go_back(self) -> None:
        self._out.back()
        self._timed = None  # an acknowledgement would not tell which of two frames it is for
        self._outbox.append(0)
        self._fence()
        self._probe_at = self.clock() + self._pace.timeout

    def _ask_again(self) -> None:
        if not self._in.asking:
            self._in.ask()
            self.statistics.resends += 1
            self._send(Kind.RESEND)
            self._fence()

    # Frames

    def _send(self, kind: int, seq: int = 0, payload: bytes = b"") -> None:
        expected = self._in.expected
        self._outbox += pack(kind, seq, expected, expected + WINDOW, payload)
        self._in.unacknowledged = 0
        self.statistics.sent += 1

    def _pump(self, want: bool = False) -> None:
        """Send what waits, take what came. `want`: output is awaited, so damage may have hit it."""
        while self._outbox:
            taken = self._stream.write(bytes(self._outbox))
            self.statistics.bytes_sent += taken
            del self._outbox[:taken]
            if not taken:
                break
        data = self._stream.read(65536)
        self.statistics.bytes_received += len(data)
        for frame in self._decoder.feed(data) if data else ():
            if frame is None:
                self.statistics.bad += 1
                if want and self._synchronised:
                    self._ask_again()
            elif frame.kind < Kind.STATE:
                self._echoes += 1
            else:
                self.statistics.received += 1
                self._heard = self.clock()
                if (frame.kind, frame.seq) == self._pending:
                    self._answer = frame
                self.statistics.naks += frame.kind == Kind.NAK
                if self._synchronised:
                    self._take(frame)

    def _take(self, frame: Frame) -> None:
        """A good frame while sequence numbers hold."""
        possible = self._out.heard(frame.ack, frame.limit) is not None
        lost = False
        if frame.kind == Kind.DATA_OUT:
            self.statistics.data_received += 1
            if self._in.heard(frame.seq, frame.payload) is None:
                self._ask_again()
        elif frame.kind == Kind.NAK:
            lost = possible and self._out.nak()
        elif frame.kind == Kind.REGISTERS and frame.seq in self._fences:
            fence = self._fences.pop(frame.seq)
            if not possible:
                raise BoardReset(
                    f"the board expects input frame {frame.ack}, which was acknowledged or never sent: it was reset or "
                    "programmed in mid-run; repeat the run"
                )
            self._pace.measured(self.clock() - fence.seconds)
            self._in.answered(fence)
            lost = self._out.answered(fence)
        if lost:
            self._go_back()
        elif self._timed is not None and self._out.base >= self._timed[0]:
            self._pace.measured(self.clock() - self._timed[1])
            self._timed = None

    def _check_silence(self) -> None:
        silent = self.clock() - self._heard
        if silent <= self.patience.silent:
            return
        if self._echoes:
            raise OtherProtocol(
                f"{self._echoes} frames came back as they were sent: the line is looped; check the wiring and the port"
            )
        if self.statistics.received:
            raise NoAnswer(
                f"the board stopped answering {silent:.0f} s ago; check power and cable, program it again, repeat the "
                "run"
            )
        if self.statistics.bytes_received:
            raise OtherProtocol(
                f"{self.statistics.bytes_received} bytes came in {silent:.0f} s, but no good frame: another baud rate, "
                "another design on the board, or another port of it"
            )
        raise NoAnswer(
            f"no byte from the board in {silent:.0f} s; check that it is programmed, powered, and that this is its port"
        )
