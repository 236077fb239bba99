"""What a family's flow takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from designs.boards import Board


@dataclass(frozen=True)
class Built:
    """A bitstream and its timing: Fmax and target in Hz, register to register in the domain `clock`.

    `resources` and `available` count by quantity, of which every family has `luts`, `ffs` and `brams`; what one of them
    is depends on the family. `options` of place and route, where they are not the tool's own.
    """

    bitstream: Path
    seed: int
    clock: str
    fmax_hz: float
    target_hz: float
    resources: Mapping[str, int]
    available: Mapping[str, int]
    log: Path
    options: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether the timing analysis says that the clock is kept."""
        return self.fmax_hz >= self.target_hz

    def __str__(self) -> str:
        used = ", ".join(f"{count:,} of {self.available[name]:,} {name}" for name, count in self.resources.items())
        kept = "met" if self.met else "missed"
        return f"{self.fmax_hz / 1e6:.1f} MHz, {kept} at {self.target_hz / 1e6:g} MHz (seed {self.seed}); {used}"


class Flow(Protocol):
    """A module of this package."""

    PACKAGES: tuple[str, ...]

    def implement(
        self,
        sources: Sequence[Path],
        board: Board,
        mhz: float,
        seed: int,
        *,
        data: Sequence[Path],
        top: str,
        options: Sequence[str],
    ) -> Built:
        """Build; see `families.implement`."""
        ...
