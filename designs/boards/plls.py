"""Dividers of the PLLs of Lattice iCE40 and Gowin for a wanted clock, within the limits of their data sheets.

    solve_ice40(12e6, 24e6).parameters        parameters of designs/lib/lattice/ice40_pll.sv
    solve_gowin(27e6, 54e6, "GW2AR-18C")      of designs/lib/gowin/gowin_pll.sv

iCE40: limits of the LP/HX and UltraPlus data sheets, table sysCLOCK PLL timing; `icepll` of Project IceStorm takes
the same, and the tests compare with it. Gowin: data sheets DS117 (GW1NR-9, C6/I5) and DS226 (GW2AR-18, C8/I7), as
Project Apicula's `gowin_pll` has them; the tests compare with it too. The ECP5 is in `designs.boards.pll`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from designs.boards.pll import PllError


class _Setting(Protocol):
    @property
    def frequency_hz(self) -> float: ...
    @property
    def vco_hz(self) -> float: ...


S = TypeVar("S", bound=_Setting)


@dataclass(frozen=True)
class Limits:
    """Lowest and highest frequency (Hz) of a PLL's input, phase detector, VCO and output."""

    input: tuple[float, float]
    detector: tuple[float, float]
    vco: tuple[float, float]
    output: tuple[float, float]


ICE40 = Limits((10e6, 133e6), (10e6, 133e6), (533e6, 1066e6), (16e6, 275e6))

#: By the name that the primitive rPLL has for the device.
GOWIN: Mapping[str, Limits] = {
    "GW1NR-9C": Limits((3e6, 400e6), (3e6, 400e6), (400e6, 1200e6), (3.125e6, 600e6)),
    "GW2AR-18C": Limits((3e6, 500e6), (3e6, 500e6), (500e6, 1250e6), (3.90625e6, 625e6)),
}

GOWIN_ODIV = (2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128)

#: Highest frequency at the phase detector for each loop filter from 1 on; 6 is for the rest.
ICE40_FILTERS = (17e6, 26e6, 44e6, 66e6, 101e6)


@dataclass(frozen=True)
class Ice40Pll:
    """Dividers of `ice40_pll` and the exact frequencies (Hz) that they give."""

    divr: int
    divf: int
    divq: int
    filter_range: int
    vco_hz: float
    frequency_hz: float

    @property
    def parameters(self) -> dict[str, int]:
        """Parameters of the SystemVerilog module `ice40_pll`."""
        return {"DIVR": self.divr, "DIVF": self.divf, "DIVQ": self.divq, "FILTER_RANGE": self.filter_range}


@dataclass(frozen=True)
class GowinPll:
    """Dividers of `gowin_pll` and the exact frequencies (Hz) that they give."""

    idiv: int
    fbdiv: int
    odiv: int
    vco_hz: float
    frequency_hz: float

    @property
    def parameters(self) -> dict[str, int]:
        """Integer parameters of the SystemVerilog module `gowin_pll`."""
        return {"IDIV_SEL": self.idiv - 1, "FBDIV_SEL": self.fbdiv - 1, "ODIV_SEL": self.odiv}


def solve_ice40(input_hz: float, wanted_hz: float, *, tolerance: float = 0.01) -> Ice40Pll:
    """Dividers whose output is nearest to `wanted_hz`; at most a fraction `tolerance` off. Errors: PllError."""

    def candidates() -> Iterable[Ice40Pll]:
        for divr in range(16):
            detector = input_hz / (divr + 1)
            for divf in range(128):
                for divq in range(1, 7):
                    if _within(detector, ICE40.detector) and _within(detector * (divf + 1), ICE40.vco):
                        vco = detector * (divf + 1)
                        yield Ice40Pll(divr, divf, divq, ice40_filter(detector), vco, vco / 2**divq)

    return _nearest(input_hz, wanted_hz, ICE40, candidates, tolerance)


def ice40_filter(detector_hz: float) -> int:
    """FILTER_RANGE for a frequency at the phase detector."""
    return 1 + sum(detector_hz >= limit for limit in ICE40_FILTERS)


def solve_gowin(input_hz: float, wanted_hz: float, device: str, *, tolerance: float = 0.01) -> GowinPll:
    """Dividers whose output is nearest to `wanted_hz` on `device` (a key of GOWIN). Errors: PllError."""
    if device not in GOWIN:
        raise PllError(f"no limits of the PLL of {device!r}; known: {', '.join(GOWIN)}")
    limits = GOWIN[device]

    def candidates() -> Iterable[GowinPll]:
        for idiv in range(1, 65):
            detector = input_hz / idiv
            for fbdiv in range(1, 65):
                output = detector * fbdiv
                if _within(detector, limits.detector) and _within(output, limits.output):
                    for odiv in GOWIN_ODIV:
                        if _within(output * odiv, limits.vco):
                            yield GowinPll(idiv, fbdiv, odiv, output * odiv, output)

    return _nearest(input_hz, wanted_hz, limits, candidates, tolerance)


def _nearest(
    input_hz: float, wanted_hz: float, limits: Limits, candidates: Callable[[], Iterable[S]], tolerance: float
) -> S:
    if not _within(input_hz, limits.input):
        raise PllError(f"input of {input_hz / 1e6:g} MHz is outside {_mhz(limits.input)}")
    if not _within(wanted_hz, limits.output):
        raise PllError(f"a clock of {wanted_hz / 1e6:g} MHz is outside what the PLL gives, {_mhz(limits.output)}")
    best = min(
        (pll for pll in candidates() if _within(pll.frequency_hz, limits.output)),
        key=lambda pll: (abs(pll.frequency_hz - wanted_hz), -pll.vco_hz),
        default=None,
    )
    if best is None or abs(best.frequency_hz - wanted_hz) > tolerance * wanted_hz:
        there = f"; next: {best.frequency_hz / 1e6:g}" if best else ""
        raise PllError(f"no clock within {tolerance:.1%} of {wanted_hz / 1e6:g} MHz{there}")
    return best


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= value <= limits[1]


def _mhz(limits: tuple[float, float]) -> str:
    return f"{limits[0] / 1e6:g} to {limits[1] / 1e6:g} MHz"
