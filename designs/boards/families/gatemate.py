"""Cologne Chip GateMate: Yosys, nextpnr-himbaechel and gmpack of Project Peppercorn, which come in one package.

The package `peppercorn` on PyPI is another thing. Timing is for the economy mode (core voltage 1.0 V), worst case, and
the PLL is set to that mode; the voltage is set by a jumper of the board. `luts` are halves of a CPE (a tree of LUT2
with up to four inputs), `brams` halves of a block of 40 kbit. The part has no multipliers, the format no IDCODE.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from designs.boards import Board
from designs.boards.families.built import Built
from designs.boards.families.himbaechel import Tool, place_and_route, run_wasm, synthesise
from designs.flow import cache
from designs.flow.tools import FlowError, version

TOOL = Tool(
    "yowasp-nextpnr-himbaechel-gatemate", "yowasp_nextpnr_himbaechel_gatemate", "run_nextpnr_himbaechel_gatemate"
)
PACKAGES: tuple[str, ...] = ("pyosys", TOOL.package)

RESOURCES: Mapping[str, str] = {"luts": "CPE_LT", "ffs": "CPE_FF", "brams": "RAM_HALF"}


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
    netlist = synthesise(top, sources, "synth_gatemate -luttree -nomx8", data)
    arguments = ["--device", board.nextpnr, "--vopt", f"ccf={board.constraints.name}", "--vopt", "out=routed.txt"]
    arguments += ["--vopt", "fpga_mode=economy", "--vopt", "time_mode=worst"]
    arguments += options
    routed = place_and_route(TOOL, netlist, board.constraints, arguments, mhz=mhz, seed=seed, port=board.clock_port)
    return Built(
        bitstream=pack(routed.folder / "routed.txt"),
        seed=seed,
        clock=routed.clock,
        fmax_hz=routed.fmax_hz,
        target_hz=routed.target_hz,
        resources={name: routed.used[cell] for name, cell in RESOURCES.items()},
        available={name: routed.available[cell] for name, cell in RESOURCES.items()},
        log=routed.log,
        options=tuple(options),
    )


def pack(routed: Path) -> Path:
    """Pack nextpnr's text configuration with gmpack; the path of the `.bit` file in the cache."""

    def produce(folder: Path) -> None:
        shutil.copyfile(routed, folder / "routed.txt")
        run_wasm(TOOL, "run_gmpack", ["routed.txt", "design.bit"], folder, folder / "log")
        (folder / "routed.txt").unlink()
        if not (folder / "design.bit").is_file():
            raise FlowError(f"gmpack wrote no bitstream; log: {folder / 'log'}")

    return cache.build({"step": "gmpack", TOOL.package: version(TOOL.package)}, [routed], produce) / "design.bit"
