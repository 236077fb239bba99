"""The two directions of DATA frames as state without any input or output: go-back-N with evidence of loss.

A serial line keeps its order. So when the board answers a question ("fence") that was sent after a frame, and the
answer does not acknowledge that frame, the frame was lost: this is certain and needs no clock. A NAK is faster, but it
may be about a frame that was sent before the last time we went back; `Outgoing.nak` decides which ones to believe.

Numbers are counted from the last reset and do not wrap; on the line they are taken modulo 256.
"""

from __future__ import annotations

from dataclasses import dataclass

from designs.boards.frames import PAYLOAD, SLOTS, WINDOW


@dataclass(frozen=True)
class Fence:
    """A question in the line: when it was sent, and what had been sent before it."""

    seconds: float
    sent: int
    epoch: int
    resends: int


class Outgoing:
    """Input stream, host to board: what may be sent, what is acknowledged, and when to go back."""

    def __init__(self, payload: int = PAYLOAD) -> None:
        self.payload = payload
        self.base = 0  #: first frame that is not acknowledged
        self.next = 0  #: frame to send next
        self.limit = 0  #: first frame that may not be sent yet
        self.epoch = 0  #: how often we went back
        self._start = 0
        self._data = b""
        self._back_to = 0  # base when we last went back
        self.high = 0  #: frames below were sent before we last went back
        self._returned = True  # the board has seen the fence of the last going back
        self._trusted = True  # every NAK is about frames sent in this epoch and not known to the board

    def load(self, data: bytes) -> None:
        """The bytes to send next; all earlier ones must be acknowledged."""
        if not self.done:
            raise ValueError("input of an earlier exchange is still under way; reset the board first")
        self._start, self._data = self.base, data

    @property
    def end(self) -> int:
        """First frame that the loaded bytes do not need."""
        return self._start + -(-len(self._data) // self.payload)

    @property
    def done(self) -> bool:
        """Whether all loaded bytes are acknowledged."""
        return self.base == self.end

    @property
    def sendable(self) -> bool:
        """Whether the next frame is there and within the board's credit."""
        return self.next < min(self.limit, self.end)

    def take(self) -> tuple[int, bytes, bool]:
        """The next frame's number and payload, and whether a fence should follow.

        It should after the last frame, and after the last of those that are sent again.
        """
        at = self.next
        self.next += 1
        first = (at - self._start) * self.payload
        return at, self._data[first : first + self.payload], self.next in (self.end, self.high)

    def heard(self, ack: int, limit: int) -> bool | None:
        """Take `ack` and `limit` of any frame; True when something new is acknowledged, None when it cannot be."""
        ahead = (ack - self.base) & 255
        if ahead > max(self.next, self.high) - self.base:
            return None
        self.base += ahead
        self.next = max(self.next, self.base)
        credit = (limit - ack) & 255
        if credit <= WINDOW:
            self.limit = max(self.limit, self.base + credit)
        return ahead > 0

    def nak(self) -> bool:
        """After `heard`: whether a NAK shows a loss.

        Until the fence sent on going back is answered, NAKs are about frames before it. After that one that still asks
        for the frame we went back to says that it was lost again. Any other may come from a frame that the board had
        already: to go back for those would send everything twice for ever.
        """
        lost = self.base < self.next
        return lost and (self._trusted or (self._returned and self.base == self._back_to))

    def answered(self, fence: Fence) -> bool:
        """After `heard`: whether the answer to a fence shows a loss."""
        if fence.epoch != self.epoch:
            return False
        self._returned = True
        self._trusted = self._trusted or fence.sent >= self.high
        return self.base < fence.sent

    def back(self) -> None:
        """Go back to the first frame that is not acknowledged; a fence has to be sent before it."""
        self._back_to, self.high = self.base, max(self.next, self.high)
        self.next = self.base
        self.epoch += 1
        self._returned = self._trusted = False


class Incoming:
    """Output stream, board to host: what came in order, and when to ask for the rest again."""

    def __init__(self) -> None:
        self.expected = 0  #: frame that must come next
        self.resends = 0  #: how often we asked for frames again
        self.unacknowledged = 0  #: frames taken since the board was last told
        self.asking = False  #: asked, and the board has not seen it yet as far as we know
        self._data = bytearray()

    def __len__(self) -> int:
        return len(self._data)

    def take(self, size: int) -> bytes:
        """Remove the first `size` bytes."""
        data = bytes(self._data[:size])
        del self._data[:size]
        return data

    def heard(self, seq: int, payload: bytes) -> bool | None:
        """A DATA frame: True when it is the expected one, False when an earlier one comes again, None for a gap."""
        ahead = (seq - self.expected) & 255
        if ahead == 0:
            self._data += payload
            self.expected += 1
            self.unacknowledged += 1
            self.asking = False
            return True
        return None if ahead < SLOTS else False

    def ask(self) -> None:
        """Asked the board to send again from `expected`; a fence has to follow."""
        self.resends += 1
        self.asking = True

    def answered(self, fence: Fence) -> None:
        """The board has seen a request when it answers the fence sent after it."""
        if fence.resends == self.resends:
            self.asking = False
