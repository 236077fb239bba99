"""A network with faults, for tests and trials: datagrams are lost, damaged, repeated, and overtake each other.

open_udp(address).behind(lambda socket: NoisyDatagrams(socket, 1, drop=1e-3, reorder=1e-3))

Rates are a chance a datagram, in both directions, from one seed. `flip` inverts one bit, which a network would have
found by its own checksums: the CRC of the frames has to. `reorder` holds a datagram back until up to eight others have
gone by, or a later call finds none to wait for.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

from designs.boards.ethernet.udp import Datagrams

#: Most datagrams that overtake one that is held back.
OVERTAKING = 8


@dataclass
class NetworkCounts:
    """Datagrams that went through one direction, and what happened to them."""

    total: int = 0
    flipped: int = 0
    dropped: int = 0
    repeated: int = 0
    reordered: int = 0


@dataclass
class _Way:
    """One direction: what goes in, what comes out."""

    rng: random.Random
    rates: dict[str, float]
    counts: NetworkCounts = field(default_factory=NetworkCounts)
    held: list[tuple[int, bytes]] = field(default_factory=list)

    def through(self, data: bytes) -> list[bytes]:
        """What arrives because of one datagram, in order."""
        self.counts.total += 1
        out = [data]
        if self._hit("drop"):
            self.counts.dropped += 1
            out = []
        elif self._hit("flip") and data:
            self.counts.flipped += 1
            bit = self.rng.randrange(8 * len(data))
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            out = [bytes(changed)]
        elif self._hit("repeat"):
            self.counts.repeated += 1
            out = [data]
            self.held.append((self.rng.randint(1, OVERTAKING), data))
        elif self._hit("reorder"):
            self.counts.reordered += 1
            out = []
            self.held.append((self.rng.randint(1, OVERTAKING), data))
        self.held = [(left - 1, each) for left, each in self.held]
        return out + self.due()

    def due(self, *, all_of_them: bool = False) -> list[bytes]:
        """What has waited long enough."""
        ready = [each for left, each in self.held if left <= 0 or all_of_them]
        self.held = [(left, each) for left, each in self.held if left > 0 and not all_of_them]
        return ready

    def _hit(self, kind: str) -> bool:
        return self.rng.random() < self.rates[kind]


class NoisyDatagrams:
    """A socket behind such a network; `written` and `received` count what happened."""

    def __init__(
        self,
        datagrams: Datagrams,
        seed: int,
        *,
        flip: float = 0.0,
        drop: float = 0.0,
        repeat: float = 0.0,
        reorder: float = 0.0,
    ) -> None:
        rates = {"flip": flip, "drop": drop, "repeat": repeat, "reorder": reorder}
        if min(rates.values()) < 0 or max(rates.values()) > 1:
            raise ValueError(f"fault rates {rates}: each is a probability a datagram, from 0 to 1")
        rng = random.Random(seed)
        self._datagrams = datagrams
        self._to_board = _Way(random.Random(rng.random()), rates)
        self._to_host = _Way(random.Random(rng.random()), rates)
        self._arrived: deque[bytes] = deque()
        self.written, self.received = self._to_board.counts, self._to_host.counts

    def send(self, data: bytes, /) -> int:
        """See `Datagrams.send`."""
        for each in self._to_board.through(data):
            self._datagrams.send(each)
        return len(data)

    def recv(self, size: int, /) -> bytes:
        """See `Datagrams.recv`."""
        while not self._arrived:
            try:
                self._arrived.extend(self._to_host.through(self._datagrams.recv(size)))
            except BlockingIOError:
                # Nothing else is on its way: what was held back is late now.
                for each in self._to_board.due(all_of_them=True):
                    self._datagrams.send(each)
                self._arrived.extend(self._to_host.due(all_of_them=True))
                if not self._arrived:
                    raise
        return self._arrived.popleft()

    def renew(self) -> None:
        """See `Datagrams.renew`."""
        self._datagrams.renew()

    def close(self) -> None:
        """See `Datagrams.close`."""
        self._datagrams.close()
