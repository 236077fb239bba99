"""Clocks of the vendor boards: dividers of the MMCM on the VC709 and of the processing system on the PYNQ-Z2.

    mmcm(200e6, 170e6).frequency_hz
    fclk(1e9, 100e6).frequency_hz

Limits of the MMCM are those of a Virtex-7 in speed grade -2 (DS183). Only whole multipliers and dividers are taken:
fractional ones jitter more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from designs.boards.pll import PllError

DETECTOR_HZ = (10e6, 500e6)
VCO_HZ = (600e6, 1440e6)
DIVIDE, MULTIPLY, OUTPUT = (1, 106), (2, 64), (1, 128)

#: The lowest and highest clock that a design is given: below, the MMCM ends; above, no design of ours comes near.
CLOCK_HZ = (5e6, 600e6)

#: Two dividers of six bits each stand between the I/O PLL and FCLK_CLK0.
FCLK = (1, 63)

#: Vivado's range of FCLK_CLK0, from where two dividers still reach.
FCLK_HZ = (1e6, 250e6)


@dataclass(frozen=True)
class Mmcm:
    """Settings of `vc709_clock`, and the exact clock in Hz."""

    divide: int
    multiply: int
    output: int
    vco_hz: float
    frequency_hz: float

    @property
    def parameters(self) -> dict[str, int]:
        """Parameters of the module `vc709_clock`."""
        return {"DIVIDE": self.divide, "MULTIPLY": self.multiply, "OUTPUT": self.output}


@dataclass(frozen=True)
class Fclk:
    """Two dividers of the processing system's PLL, and the exact clock in Hz."""

    divisors: tuple[int, int]
    frequency_hz: float


def mmcm(input_hz: float, wanted_hz: float, *, tolerance: float = 0.01) -> Mmcm:
    """Settings nearest to `wanted_hz` (then the highest VCO, for the least jitter); PllError beyond `tolerance`."""
    _within("the MMCM", wanted_hz, CLOCK_HZ)
    found = min(_candidates(input_hz, wanted_hz), key=lambda each: (abs(each.frequency_hz - wanted_hz), -each.vco_hz))
    if abs(found.frequency_hz - wanted_hz) > tolerance * wanted_hz:
        nearest = f"{found.frequency_hz / 1e6:.6g}"
        raise PllError(f"no clock within {tolerance:.0%} of {wanted_hz / 1e6:g} MHz; nearest: {nearest} MHz")
    return found


def _candidates(input_hz: float, wanted_hz: float) -> Iterator[Mmcm]:
    for divide in range(DIVIDE[0], DIVIDE[1] + 1):
        detector = input_hz / divide
        if not DETECTOR_HZ[0] <= detector <= DETECTOR_HZ[1]:
            continue
        for multiply in range(MULTIPLY[0], MULTIPLY[1] + 1):
            vco = detector * multiply
            if VCO_HZ[0] <= vco <= VCO_HZ[1]:
                output = min(max(round(vco / wanted_hz), OUTPUT[0]), OUTPUT[1])
                yield Mmcm(divide, multiply, output, vco, vco / output)


def fclk(pll_hz: float, wanted_hz: float) -> Fclk:
    """Dividers of the fastest clock that is not above `wanted_hz`: they are few, so it may lie 10 % below.

    Errors: PllError outside what there is.
    """
    _within("FCLK_CLK0", wanted_hz, FCLK_HZ)
    each = range(FCLK[0], FCLK[1] + 1)
    pairs = (Fclk((first, second), pll_hz / first / second) for first in each for second in each if first >= second)
    slower = (pair for pair in pairs if pair.frequency_hz <= wanted_hz * (1 + 1e-6))
    return max(slower, key=lambda pair: (pair.frequency_hz, -pair.divisors[1]))


def _within(what: str, wanted_hz: float, limits: tuple[float, float]) -> None:
    if not limits[0] <= wanted_hz <= limits[1]:
        said = f"{limits[0] / 1e6:g} to {limits[1] / 1e6:g} MHz"
        raise PllError(f"a clock of {wanted_hz / 1e6:g} MHz is outside what {what} gives, {said}")
