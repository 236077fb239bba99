"""What Gowin and GateMate share: Yosys by script, nextpnr-himbaechel in WebAssembly, and the report it writes."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from designs.boards.top import CLOCK
from designs.flow import cache
from designs.flow.tools import FlowError, run_tool, version
from designs.flow.yosys import run_yosys


@dataclass(frozen=True)
class Tool:
    """A build of nextpnr-himbaechel: its package, the package's import name, and what its function is called."""

    package: str
    module: str
    function: str


@dataclass(frozen=True)
class Routed:
    """A routed design: Fmax and target in Hz in the domain `clock`; `folder` holds what nextpnr wrote."""

    folder: Path
    clock: str
    fmax_hz: float
    target_hz: float
    used: Mapping[str, int]
    available: Mapping[str, int]
    log: Path


def synthesise(top: str, sources: Sequence[Path], command: str, data: Sequence[Path]) -> Path:
    """Netlist (JSON) of `top` by the Yosys command `command`. Errors: FlowError, MissingTool."""
    # A module that is kept apart would get pads on its ports: these families' scripts put them on every module.
    flat = "setattr -mod -unset keep_hierarchy *"
    commands = [f"hierarchy -top {top}", flat, f"{command} -top {top}", "tee -q -o cells.json stat -json"]

    def produce(folder: Path) -> None:
        for path in data:
            (folder / path.name).symlink_to(path.resolve())
        read = [f'read_verilog -sv -defer "{source.resolve()}"' for source in sources]
        run_yosys([*read, *commands, "write_json netlist.json"], folder)
        for path in data:
            (folder / path.name).unlink()

    parts = {"step": command, "commands": commands, "pyosys": version("pyosys")}
    return cache.build(parts, [*sources, *data], produce) / "netlist.json"


def place_and_route(
    tool: Tool, netlist: Path, constraints: Path, arguments: Sequence[str], *, mhz: float, seed: int, port: str
) -> Routed:
    """Run nextpnr on a netlist in a folder of its own; `arguments` name files there, `constraints` among them.

    `port` is the board's clock: the name that the domain has where no PLL makes `clk`. Errors: FlowError with nextpnr's
    ERROR line, MissingTool.
    """
    common = ["--json", "netlist.json", "--report", "report.json", "--freq", f"{mhz:g}", "--seed", str(seed)]
    options = [*common, "--timing-allow-fail", "--threads", "1", *arguments]

    def produce(folder: Path) -> None:
        # WebAssembly sees the working folder but not every absolute path, so the inputs are copied in.
        shutil.copyfile(netlist, folder / "netlist.json")
        shutil.copyfile(constraints, folder / constraints.name)
        run_wasm(tool, tool.function, options, folder, folder / "nextpnr.log")
        (folder / "netlist.json").unlink()

    parts = {"step": tool.package, "arguments": options, tool.package: version(tool.package)}
    folder = cache.build(parts, [netlist, constraints], produce)
    report = json.loads((folder / "report.json").read_text())
    clocks = {name.split("$")[0]: figure for name, figure in report["fmax"].items()}
    clock = next((name for name in (CLOCK, port) if name in clocks), None)
    if clock is None:
        found = ", ".join(clocks) or "none with a path from register to register"
        raise FlowError(f"no clock domain {CLOCK!r}; domains of this design: {found}\nlog: {folder / 'nextpnr.log'}")
    counts = report["utilization"]
    return Routed(
        folder=folder,
        clock=clock,
        fmax_hz=clocks[clock]["achieved"] * 1e6,
        target_hz=clocks[clock]["constraint"] * 1e6,
        used={name: int(count["used"]) for name, count in counts.items()},
        available={name: int(count["available"]) for name, count in counts.items()},
        log=folder / "nextpnr.log",
    )


def run_wasm(tool: Tool, function: str, arguments: Sequence[str], folder: Path, log: Path) -> None:
    """Run a function of the package (`tool.function`, a packer) in `folder`; FlowError with its ERROR line."""
    command = [sys.executable, "-c", f"import sys, {tool.module} as t; sys.exit(t.{function}(sys.argv[1:]))"]
    environment = {"YOWASP_CACHE_DIR": os.environ.get("YOWASP_CACHE_DIR", str(cache.root() / "wasm"))}

    def compiled(part: Path) -> None:
        # One process compiles a tool's WebAssembly first: the runtime writes that cache in place.
        run_tool([*command, "--help"], cwd=part, log=part / "log", env=environment, check=False)

    parts = {"step": "wasm", "function": function, "environment": environment, tool.package: version(tool.package)}
    cache.build({**parts, "wasmtime": version("wasmtime")}, [], compiled)
    try:
        run_tool([*command, *arguments], cwd=folder, log=log, env=environment)
    except FlowError as error:
        raise FlowError(f"{function.removeprefix('run_')}: {error}") from None
