"""Lattice iCE40, through `designs.flow.ice40`: Yosys, nextpnr-ice40, icepack. The format has no IDCODE.

`luts` are logic cells, each a LUT4 and a flip-flop; `ffs` counts the flip-flops in use. `dsps` are SB_MAC16, which this
flow does not infer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from designs.boards import Board
from designs.boards.families.built import Built
from designs.flow import ice40

PACKAGES: tuple[str, ...] = ("pyosys", ice40.PACKAGE)


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
    synthesis = ice40.synth_ice40(top, sources, data=data)
    routing = ice40.place_and_route(
        synthesis.json,
        device=board.nextpnr,
        package=board.package,
        pcf=board.constraints,
        target_mhz=mhz,
        seed=seed,
        options=options,
    )
    return Built(
        bitstream=ice40.pack(routing.textcfg),
        seed=seed,
        clock=routing.clock,
        fmax_hz=routing.fmax_hz,
        target_hz=routing.target_hz,
        resources={name: int(getattr(routing, name)) for name in ("luts", "ffs", "brams", "dsps")},
        available=routing.available,
        log=routing.log,
        options=tuple(options),
    )
