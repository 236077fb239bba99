"""Lattice ECP5, through the flow of `designs.flow`: Yosys, nextpnr-ecp5, ecppack. The bitstream holds the IDCODE.

`luts` are places of a LUT4, which logic, carry (half a cell) and small RAMs take.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from designs.boards import Board
from designs.boards.families.built import Built
from designs.boards.top import CLOCK
from designs.flow import ecppack, nextpnr
from designs.flow.yosys import synth_ecp5

#: Options of the first seed for a clock up to QUICK_MHZ: a placement that looks at the length of wires and not at their
#: delays takes half the time. The seeds after it, for a design that this is too slow for, have nextpnr's own options.
QUICK, QUICK_MHZ = ("--placer", "static", "--no-tmdriv"), 50.0

PACKAGES: tuple[str, ...] = ("pyosys", nextpnr.PACKAGE)


def implement(sources: Sequence[Path], board: Board, mhz: float, seed: int, *, data: Sequence[Path], top: str) -> Built:
    """See `families.implement`."""
    options = QUICK if seed == 1 and mhz <= QUICK_MHZ else ()
    synthesis = synth_ecp5(top, sources, data=data)
    routing = nextpnr.place_and_route(
        synthesis.json,
        device=board.nextpnr,
        package=board.package,
        speed=board.speed,
        lpf=board.constraints,
        target_mhz=mhz,
        seed=seed,
        clock=CLOCK,
        options=options,
    )
    return Built(
        bitstream=ecppack.pack(routing.textcfg, idcode=board.idcode),
        seed=seed,
        clock=routing.clock,
        fmax_hz=routing.fmax_hz,
        target_hz=routing.target_hz,
        resources={name: int(getattr(routing, name)) for name in nextpnr.RESOURCES},
        available=routing.available,
        log=routing.log,
        options=options,
    )
