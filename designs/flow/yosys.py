"""Synthesis for ECP5 with Yosys, and Yosys as a second opinion on our SystemVerilog.

    synthesis = synth_ecp5("fifo_top", [Path("fifo.sv")], parameters={"DEPTH": 32})
    synthesis.json, synthesis.cells["luts"]

Yosys comes as the Python package `pyosys`. It ends the whole process on an error, so it runs in a process of its own;
its errors surface as `FlowError` with the ERROR line and the path of the log. Results are cached.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from designs.flow import cache
from designs.flow.tools import FlowError, error_lines, package_folder, run_tool, version

#: What each figure of `Synthesis.cells` counts, by ECP5 cell type and the weight of that cell.
CELL_WEIGHTS: Mapping[str, Mapping[str, int]] = {
    "luts": {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4},  # a carry cell and a 16x4 RAM take the place of LUTs
    "ffs": {"TRELLIS_FF": 1},
    "brams": {"DP16KD": 1, "PDPW16KD": 1},
    "dsps": {"MULT18X18D": 1, "MULT9X9D": 1},
    "carry": {"CCU2C": 1},
    "lutrams": {"TRELLIS_DPR16X4": 1},
}


@dataclass(frozen=True)
class SynthesisOptions:
    """Choices of `synth_ecp5`, which maps with abc9 (timing-driven).

    `retime` moves registers without reset across logic (ABC's `dret`) before mapping; latency does not change.
    `dff` passes registers through abc9. `flatten` dissolves the hierarchy. `extra` are further options of Yosys' own
    `synth_ecp5`, such as `-nobram` or `-noccu2`.
    """

    retime: bool = False
    dff: bool = False
    flatten: bool = True
    extra: tuple[str, ...] = ()

    def commands(self, top: str) -> list[str]:
        """The Yosys commands that map `top` with these options."""
        words = ["synth_ecp5", "-top", top, *self.extra]
        words += ["-dff"] if self.dff else []
        words += [] if self.flatten else ["-noflatten"]
        synth = " ".join(words)
        if not self.retime:
            return [synth]
        return [f"{synth} -run begin:map_ffs", "abc -dff -D 1", f"{synth} -run map_ffs:"]


@dataclass(frozen=True)
class Synthesis:
    """A netlist: `json` for nextpnr, `verilog` for simulation, and `cells`: luts, ffs, brams, dsps, carry, lutrams.

    See CELL_WEIGHTS for what each counts. `verilator.simulate_netlist` runs the netlist's Verilog.
    """

    top: str
    json: Path
    verilog: Path
    log: Path
    cells: Mapping[str, int]


def synth_ecp5(
    top: str,
    sources: Sequence[Path],
    *,
    parameters: Mapping[str, int | str] | None = None,
    options: SynthesisOptions | None = None,
    defines: Mapping[str, str] | None = None,
    data: Sequence[Path] = (),
) -> Synthesis:
    """Synthesise `top` out of Verilog or SystemVerilog sources for Lattice ECP5.

    `parameters` are the top's: integers or Verilog literals. `data` are files that the sources read by name
    ($readmemh), found in the working folder. Errors: FlowError with Yosys' ERROR line; MissingTool.
    """
    options = options or SynthesisOptions()
    parameters = dict(parameters or {})
    defines = dict(defines or {})
    commands = [
        _hierarchy(top, parameters),  # unchecked: synth_ecp5 brings the vendor's primitives and checks
        *options.commands(top),
        "tee -q -o cells.json stat -json",
        "write_json netlist.json",
        "write_verilog -noattr -simple-lhs netlist.v",
    ]
    key_parts = {"step": "synth_ecp5", "commands": commands, "defines": defines, "pyosys": version("pyosys")}

    def produce(folder: Path) -> None:
        _link(data, folder)
        run_yosys([*_read(sources, defines), *commands], folder)

    folder = cache.build(key_parts, [*sources, *data], produce)
    return Synthesis(
        top, folder / "netlist.json", folder / "netlist.v", folder / "yosys.log", _cells(folder / "cells.json")
    )


def cell_library() -> Path:
    """Yosys' simulation models of the ECP5 cells; their folder must be in the include path of who reads them."""
    return package_folder("pyosys") / "share" / "lattice" / "cells_sim_ecp5.v"


def lint(top: str, sources: Sequence[Path], *, parameters: Mapping[str, int | str] | None = None) -> None:
    """Read and elaborate our own sources with `read_verilog -sv`; FlowError on any error or warning."""
    commands = [f"{_hierarchy(top, parameters or {})} -check", "proc", "check -nolatches -assert"]

    def produce(folder: Path) -> None:
        log = run_yosys([*_read(sources, {}), *commands], folder)
        if "Warning" in log.read_text():
            raise FlowError(f"Yosys warns about {top}\n{error_lines(log, 'Warning')}")

    cache.build({"step": "yosys lint", "commands": commands, "pyosys": version("pyosys")}, sources, produce)


def run_yosys(script: Sequence[str], folder: Path) -> Path:
    """Run Yosys commands in `folder` in a process of their own; return the log. FlowError with the ERROR line."""
    version("pyosys")
    (folder / "script.ys").write_text("\n".join(script) + "\n")
    log = folder / "yosys.log"
    code = "from pyosys import libyosys; libyosys.run_pass('script script.ys')"
    status = run_tool([sys.executable, "-c", code], cwd=folder, log=log, check=False)
    if status != 0:
        raise FlowError(f"Yosys failed\n{_context(log)}{error_lines(log, 'ERROR|Warning')}")
    return log


def _read(sources: Sequence[Path], defines: Mapping[str, str]) -> list[str]:
    options = "".join(f" -D{name}={value}" for name, value in defines.items())
    # Deferred: a module is elaborated with the parameters of its instances, not with its defaults.
    return [f'read_verilog -sv -defer{options} "{source.resolve()}"' for source in sources]


def _hierarchy(top: str, parameters: Mapping[str, int | str]) -> str:
    chosen = "".join(f" -chparam {name} {value}" for name, value in parameters.items())
    return f"hierarchy -top {top}{chosen}"


def _link(data: Sequence[Path], folder: Path) -> None:
    for path in data:
        (folder / path.name).symlink_to(path.resolve())


def _context(log: Path) -> str:
    """The module and parameters that Yosys was deriving when it failed: its own message does not name them."""
    lines = log.read_text(errors="replace").splitlines()
    failed = next((i for i, line in enumerate(lines) if "ERROR" in line), len(lines))
    start = next((i for i in range(failed - 1, -1, -1) if "derive mode" in lines[i]), None)
    if start is None:
        return ""
    parameters = [line for line in lines[max(0, start - 20) : failed] if line.startswith("Parameter ")]
    return "\n".join([*dict.fromkeys(parameters), lines[start]]) + "\n"


def _cells(path: Path) -> dict[str, int]:
    counts = json.loads(path.read_text())["design"]["num_cells_by_type"]
    return {
        name: sum(weight * int(counts.get(cell, 0)) for cell, weight in weights.items())
        for name, weights in CELL_WEIGHTS.items()
    }
