"""What faults a run is asked to have on its line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Faults:
    """Faults of the line that are put in between, each a chance a byte; see `designs.boards.faults`."""

    flip: float = 0.0
    drop: float = 0.0
    repeat: float = 0.0
    delay: float = 0.0
    unplug_after: int | None = None
    seed: int = 1

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return self.unplug_after is not None or max(self.flip, self.drop, self.repeat, self.delay) > 0
