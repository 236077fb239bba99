"""Dividers of the ECP5 PLL for a wanted clock, within the limits of the data sheet.

    pll = solve(25e6, 120e6)
    pll.frequency_hz, pll.parameters

The feedback output CLKOP sets the VCO (input / CLKI_DIV * CLKOP_DIV), the output CLKOS divides it. Limits from the
Lattice ECP5 and ECP5-5G Family Data Sheet (FPGA-DS-02012), table sysCLOCK PLL timing. The lowest phase-detector
frequency is taken as 10 MHz, the stricter of the two figures in use (Project Trellis' ecppll takes 3.125 MHz).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

INPUT_HZ = (8e6, 400e6)
PHASE_DETECTOR_HZ = (10e6, 400e6)
VCO_HZ = (400e6, 800e6)
OUTPUT_HZ = (3.125e6, 400e6)
DIVIDER = (1, 128)


class PllError(ValueError):
    """No dividers give the wanted clock; the message says why and what would do."""


@dataclass(frozen=True)
class Pll:
    """Dividers of `ecp5_pll` and the exact frequencies (Hz) that they give."""

    clki_div: int
    clkop_div: int
    clkos_div: int
    vco_hz: float
    frequency_hz: float

    @property
    def parameters(self) -> dict[str, int]:
        """Parameters of the SystemVerilog module `ecp5_pll`."""
        return {"CLKI_DIV": self.clki_div, "CLKOP_DIV": self.clkop_div, "CLKOS_DIV": self.clkos_div}


def solve(input_hz: float, wanted_hz: float, *, tolerance: float = 0.01) -> Pll:
    """Dividers whose output is nearest to `wanted_hz` (then the highest VCO, for the least jitter).

    `tolerance` is the largest relative error that is accepted. Errors: PllError.
    """
    if not INPUT_HZ[0] <= input_hz <= INPUT_HZ[1]:
        raise PllError(f"input of {input_hz / 1e6:g} MHz is outside {INPUT_HZ[0] / 1e6:g} to {INPUT_HZ[1] / 1e6:g} MHz")
    if not OUTPUT_HZ[0] <= wanted_hz <= OUTPUT_HZ[1]:
        limits = f"{OUTPUT_HZ[0] / 1e6:g} to {OUTPUT_HZ[1] / 1e6:g} MHz"
        raise PllError(f"a clock of {wanted_hz / 1e6:g} MHz is outside what the PLL gives, {limits}")
    best = min(_candidates(input_hz, wanted_hz), key=lambda pll: (abs(pll.frequency_hz - wanted_hz), -pll.vco_hz))
    if abs(best.frequency_hz - wanted_hz) > tolerance * wanted_hz:
        raise PllError(f"no clock within {tolerance:.1%} of {wanted_hz / 1e6:g} MHz; next: {best.frequency_hz / 1e6:g}")
    return best


def _candidates(input_hz: float, wanted_hz: float) -> Iterator[Pll]:
    for clki in range(DIVIDER[0], DIVIDER[1] + 1):
        detector = input_hz / clki
        if not PHASE_DETECTOR_HZ[0] <= detector <= PHASE_DETECTOR_HZ[1]:
            continue
        for clkop in range(DIVIDER[0], DIVIDER[1] + 1):
            vco = detector * clkop
            if not VCO_HZ[0] <= vco <= VCO_HZ[1]:
                continue
            clkos = min(max(round(vco / wanted_hz), DIVIDER[0]), DIVIDER[1])
            if OUTPUT_HZ[0] <= vco / clkos <= OUTPUT_HZ[1]:
                yield Pll(clki, clkop, clkos, vco, vco / clkos)
