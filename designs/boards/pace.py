"""How long to wait for an answer, learnt from the answers: the retransmission timer of RFC 6298.

    pace.measured(0.004)     an answer took 4 ms
    pace.timeout             seconds to wait before asking again
    pace.backoff()           asked again: wait twice as long the next time

Two of the RFC's constants differ: 0.3 s instead of 1 s before the first answer, and a floor of 20 ms (more than the
16 ms for which USB adapters hold short answers back) instead of 1 s. Both are safe here: a timeout only sends a small
question, data are sent again when the answer shows that they were lost.
"""

from __future__ import annotations

FIRST = 0.3
FLOOR = 0.02
#: Seconds that doubling may reach; a measured round trip may be longer.
CEILING = 1.0


class Pace:
    """The timer's state; all times in seconds."""

    def __init__(self) -> None:
        self.smoothed: float | None = None
        self._variation = 0.0
        self._base = FIRST
        self._factor = 1

    def measured(self, seconds: float) -> None:
        """Take the round trip of a question that was sent once (Karn's rule)."""
        if self.smoothed is None:
            self.smoothed, self._variation = seconds, seconds / 2
        else:
            self._variation += (abs(self.smoothed - seconds) - self._variation) / 4
            self.smoothed += (seconds - self.smoothed) / 8
        self._base = max(FLOOR, self.smoothed + 4 * self._variation)
        self._factor = 1

    @property
    def timeout(self) -> float:
        """Seconds until a question is asked again."""
        return max(self._base, min(CEILING, self._base * self._factor))

    def backoff(self) -> None:
        """Double the timeout until the next measurement."""
        self._factor = min(2 * self._factor, 1024)
