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
from designs.flow.yosys import Synthesis, synth_ecp5

PACKAGES: tuple[str, ...] = ("pyosys", nextpnr.PACKAGE)


def synthesise(sources: Sequence[Path], *, data: Sequence[Path], top: str) -> Synthesis:
    """The netlist of a top, from the cache or made; who asks while it is being made waits for it."""
    return synth_ecp5(top, sources, data=data)


def implement(
    sources: Sequence[Path],
    board: Board,
    mhz: float,
    seed: int,
    *,
    data: Sequence[Path],
    top: str,
    options: Sequence[str],
) -> Built:
    """See `families.implement`."""
    synthesis = synthesise(sources, data=data, top=top)
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
        options=tuple(options),
    )
