"""What faults a run is asked to have on its line."""

from __future__ import annotations

from dataclasses import dataclass


class FaultsError(ValueError):
    """Chances that cannot be; the message names them."""


@dataclass(frozen=True)
class Faults:
    """Faults of the line that are put in between, each a chance a byte, or over UDP a datagram.

    See `designs.boards.faults` and `designs.boards.ethernet.noise`.
    """

    flip: float = 0.0
    drop: float = 0.0
    repeat: float = 0.0
    delay: float = 0.0
    unplug_after: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        """Errors: FaultsError for chances that cannot be."""
        rates = {name: getattr(self, name) for name in ("flip", "drop", "repeat", "delay")}
        if min(rates.values()) < 0 or sum(rates.values()) > 1:
            asked = " ".join(f"--{name} {rate:g}" for name, rate in rates.items() if rate)
            raise FaultsError(f"{asked}: each is a chance from 0 to 1, and together they must not be above 1")

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return self.unplug_after is not None or max(self.flip, self.drop, self.repeat, self.delay) > 0
