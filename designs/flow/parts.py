"""Parts that designs are synthesised for: what they have, and how the tools name them.

part("xc7z020").luts
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.api import UnknownNameError


class DoesNotFit(ValueError):
    """A network that is too large for a part; the message names the layer that takes most and what to change."""


@dataclass(frozen=True)
class Part:
    """One device. Totals are the vendor's; `compare/facts` has each with its source.

    `brams` are blocks of 18 kbit on xc7 (half a RAMB36) and ecp5, of 4 kbit on ice40. `device` and `package` are the
    names of place and route, empty where there is none without the vendor's tools, or where a board gives them.
    """

    name: str
    family: str
    luts: int
    ffs: int
    brams: int
    dsps: int
    device: str = ""
    package: str = ""

    @property
    def memory_bits(self) -> int:
        """What all block RAMs hold."""
        return self.brams * (4_096 if self.family == "ice40" else 18_432)

    def share(self, counts: Mapping[str, int]) -> dict[str, float]:
        """Fraction of the part (1.0: all of it) that is used of `luts`, `ffs`, `brams` and `dsps`."""
        return {name: counts[name] / getattr(self, name) for name in ("luts", "ffs", "brams", "dsps")}


PARTS: Mapping[str, Part] = {
    part.name: part
    for part in (
        Part("lfe5u-85f", "ecp5", 83_640, 83_640, 208, 156),
        Part("ice40up5k", "ice40", 5_280, 5_280, 30, 8, "up5k", "sg48"),
        Part("xc7z020", "xc7", 53_200, 106_400, 280, 220),
        Part("xc7vx690t", "xc7", 433_200, 866_400, 2_940, 3_600),
    )
}


def part(name: str) -> Part:
    """A part by name. Errors: UnknownNameError listing the parts."""
    if name not in PARTS:
        raise UnknownNameError("part", name, tuple(PARTS))
    return PARTS[name]
