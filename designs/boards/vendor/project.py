"""Writes the whole project of a core for a vendor board into a folder: RTL, constraints, Tcl, bridge, build.sh, README.

    project = generate(core, "vc709", folder, mhz=150, items=Items(1, 1))
    project.steps, project.bitstream, project.clock_hz

The folder stands for itself: it can be copied to a machine with the vendor's tools, built there with ./build.sh and
copied back. `project.json` has the hash of all that the tools read; `built.json` is a copy of it made after a build.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from designs.boards import BoardError
from designs.boards.shell.top import Items, shell_sources, shelled
from designs.boards.vendor import rtl, tcl, wrapper
from designs.boards.vendor.facts import FOLDER, VendorBoard, clock_hz, load
from designs.boards.vendor.readme import readme
from designs.flow.evidence import Core

#: Stands for the project's folder in the arguments of a step: v++ wants the hook's whole path.
HERE = "{folder}"

#: Clock that is asked for unless told otherwise, in MHz.
DEFAULT_MHZ = 100.0


@dataclass(frozen=True)
class Step:
    """One run of a tool: its arguments after the tool's name, its log under logs/, and the files that it must leave."""

    tool: str
    arguments: tuple[str, ...]
    log: str
    makes: tuple[str, ...]


@dataclass(frozen=True)
class Project:
    """A generated project. `inputs` is the hash of all files that the tools read, `clock_hz` the exact clock."""

    core: Core
    vendor: VendorBoard
    folder: Path
    clock_hz: float
    steps: tuple[Step, ...]
    inputs: str

    @property
    def bitstream(self) -> Path:
        """What is loaded into the board."""
        return self.folder / ("gatewarp.xclbin" if self.vendor.platform else "gatewarp.bit")

    @property
    def tools(self) -> tuple[str, ...]:
        """Programs that building needs on PATH."""
        return tuple(dict.fromkeys(step.tool for step in self.steps))


def generate(
    core: Core,
    board: str,
    folder: Path,
    *,
    mhz: float = DEFAULT_MHZ,
    items: Items | None = None,
    baud: int | None = None,
) -> Project:
    """Write the project of `core` for `board` into `folder`; files that are right already stay untouched.

    `mhz` is the clock to ask for, `items` as in `shell_top`, `baud` the rate of a serial port (default: the board's
    highest). Errors: BoardError for a board, a rate or two files of one name; PllError for a clock.
    """
    vendor = load(board)
    frequency = clock_hz(vendor, mhz)
    texts, copies = _design(core, vendor, mhz, frequency, items, baud)
    memories = [f"rtl/{path.name}" for path in core.memories]
    sources = [name for name in (*copies, *texts) if name.endswith((".sv", ".v")) and name not in memories]
    steps: tuple[Step, ...]
    if vendor.platform:
        texts["package_kernel.tcl"] = tcl.kernel(vendor.part, sources, memories)
        texts["reports.tcl"] = tcl.reports("")
        texts["link.cfg"] = f"[connectivity]\nnk={tcl.KERNEL}:1:{tcl.KERNEL}_1\n"
        copies["xrt_bridge.cpp"] = FOLDER / "bridges" / "xrt_bridge.cpp"
        steps = (_vivado("package_kernel.tcl", "gatewarp.xo"), _link(vendor, frequency))
    else:
        copies[vendor.board.constraints.name] = vendor.board.constraints
        constraints = vendor.board.constraints.name
        made = ["gatewarp.bit"]
        if vendor.transport == "serial":
            texts["build.tcl"] = tcl.vc709(vendor.part, sources, memories, constraints)
            texts["program.tcl"] = tcl.program()
            texts["reports.tcl"] = tcl.reports("clk")
        else:
            texts["build.tcl"] = tcl.pynq(
                vendor.part, vendor.board_part, frequency / 1e6, sources, memories, constraints
            )
            texts["reports.tcl"] = tcl.reports("clk_fpga_0")
            copies["pynq_bridge.py"] = FOLDER / "bridges" / "pynq_bridge.py"
            made.append("gatewarp.hwh")
        steps = (_vivado("build.tcl", *made, *_REPORTS),)
    contents = {name: path.read_bytes() for name, path in copies.items()}
    contents.update({name: text.encode() for name, text in texts.items()})
    project = Project(
        core, vendor, folder.resolve(), frequency, steps, _hash({**contents, "steps": repr(steps).encode()})
    )
    contents["build.sh"] = _script(project).encode()
    contents["README.md"] = readme(core, vendor, frequency).encode()
    contents["project.json"] = json.dumps(_about(project), indent=2).encode() + b"\n"
    _write(project.folder, contents)
    (project.folder / "build.sh").chmod(0o755)
    return project


_REPORTS = tuple(f"reports/{name}" for name in ("timing.rpt", "utilisation.rpt", "clock.txt"))


def _design(
    core: Core, vendor: VendorBoard, mhz: float, frequency: float, items: Items | None, baud: int | None
) -> tuple[dict[str, str], dict[str, Path]]:
    """Texts that are written and files that are copied, by name in the project; sources in the order to be read."""
    shared = [*shell_sources(), *core.sources, *core.memories]
    if vendor.transport == "serial":
        outer, inner = wrapper.vc709(core, vendor, mhz=mhz, baud=baud, items=items)
        texts = {"rtl/board_top.sv": inner, f"rtl/{tcl.TOP}.sv": outer}
        shared += rtl.clock()
    else:
        if baud is not None:
            raise BoardError(f"{vendor.name} has no serial port, so no baud rate; leave it out")
        texts = {
            "rtl/shelled.sv": shelled(core, clock_hz=frequency, items=items),
            "rtl/gatewarp_axil.sv": wrapper.axil_top(),
        }
        if vendor.platform:
            texts[f"rtl/{tcl.KERNEL}.v"] = wrapper.port(tcl.KERNEL, "s_axi_control", "ap_clk", "ap_rst_n", leds=False)
        else:
            texts[f"rtl/{tcl.PORT}.v"] = wrapper.port(tcl.PORT, "s_axi", "s_axi_aclk", "s_axi_aresetn", leds=True)
        shared += rtl.byte_port()
    copies: dict[str, Path] = {}
    for path in dict.fromkeys(path.resolve() for path in shared):
        name = f"rtl/{path.name}"
        if name in texts or (name in copies and copies[name].read_bytes() != path.read_bytes()):
            raise BoardError(f"two files are called {path.name}: {path} and another; rename one")
        copies.setdefault(name, path)
    return texts, copies


def _vivado(script: str, *makes: str) -> Step:
    log = f"logs/{Path(script).stem}.log"
    return Step("vivado", ("-mode", "batch", "-nojournal", "-nolog", "-notrace", "-source", script), log, makes)


def _link(vendor: VendorBoard, frequency: float) -> Step:
    """v++ links the kernel into the platform; after routing it runs reports.tcl."""
    arguments: tuple[str, ...] = ("--link", "--target", "hw", "--platform", vendor.platform, "--config", "link.cfg")
    arguments += ("--kernel_frequency", f"{frequency / 1e6:.0f}")
    arguments += ("--vivado.prop", f"run.impl_1.STEPS.ROUTE_DESIGN.TCL.POST={HERE}/reports.tcl")
    arguments += ("--temp_dir", "link", "--log_dir", "logs", "--report_dir", "link/reports")
    arguments += ("--output", "gatewarp.xclbin", "gatewarp.xo")
    return Step("v++", arguments, "logs/link.log", ("gatewarp.xclbin", "gatewarp.xclbin.info", *_REPORTS))


def _script(project: Project) -> str:
    """build.sh: the same steps for a machine that has the tools and not this program."""
    lines = []
    for step in project.steps:
        words = " ".join(shlex.quote(word).replace(HERE, "'\"$PWD\"'") for word in (step.tool, *step.arguments))
        lines.append(f"{words} > {step.log} 2>&1 || {{ grep -h '^ERROR' {step.log} >&2; exit 1; }}")
        lines += [
            f'[ -s {name} ] || {{ echo "ERROR: {step.tool} left no {name}" >&2; exit 1; }}' for name in step.makes
        ]
    commands = "\n".join(lines)
    return f"""\
#!/bin/sh
# Builds the bitstream with AMD's tools: {", ".join(project.tools)}. Copy the folder back when it is done.
set -u
cd "$(dirname "$0")"
for tool in {" ".join(project.tools)}; do
  command -v "$tool" > /dev/null && continue
  echo "ERROR: $tool is not on PATH; source settings64.sh of Vivado or Vitis" >&2
  exit 1
done
rm -f built.json
mkdir -p logs
{commands}
cp project.json built.json
"""


def _about(project: Project) -> dict[str, Any]:
    core = project.core
    return {
        "board": project.vendor.name,
        "part": project.vendor.part,
        "platform": project.vendor.platform,
        "workload": core.workload,
        "case": core.case,
        "implementation": core.implementation,
        "design": core.digest,
        "clock_hz": project.clock_hz,
        "inputs": project.inputs,
    }


def _hash(contents: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(contents):
        digest.update(name.encode() + b"\0" + hashlib.sha256(contents[name]).digest())
    return digest.hexdigest()


def _write(folder: Path, contents: dict[str, bytes]) -> None:
    """Write what differs, and take away RTL of an earlier project in this folder. Errors: BoardError, not a folder."""
    if folder.exists() and not folder.is_dir():
        raise BoardError(f"{folder} is a file; name a folder for the project")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "project.json").is_file():
        raise BoardError(f"{folder} holds something else; name an empty folder for the project")
    for name, content in contents.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    for path in (folder / "rtl").iterdir():
        if f"rtl/{path.name}" not in contents:
            path.unlink()
