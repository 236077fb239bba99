"""Runs the vendor's tools on a project where they are installed, and reads back what came out.

    built = build(project)              or, for a project that was built elsewhere: built = collect(project)
    built.bitstream, built.timing.fmax_hz, built.met, built.says, built.record

A project whose results are of its present files is not built again. Without the tools the error says where to go on.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from compare.provenance import make_provenance, repo_root
from compare.record import Boundary, Measurement, Record, Scalar, Stage
from designs.boards.shell.top import shell_sources
from designs.boards.vendor import reports, rtl
from designs.boards.vendor.facts import FOLDER
from designs.boards.vendor.project import HERE, Project, Step
from designs.boards.vendor.reports import Timing
from designs.flow.tools import FlowError, MissingTool, error_lines, run_tool
from workloads.api import Progress

#: A tool's own line that says what went wrong.
ERROR = r"^(ERROR|CRITICAL ERROR|error)\b"


@dataclass(frozen=True)
class Built:
    """A finished build: the bitstream, slack and resources after routing, and the clock (Hz) that it runs at.

    `met`: all paths keep their time, and the clock is the one that was asked for; `says` is one line about it.
    """

    bitstream: Path
    timing: Timing
    utilisation: Mapping[str, int]
    clock_hz: float
    met: bool
    says: str
    record: Record


def build(project: Project, *, sources: tuple[str, ...] = (), progress: Progress | None = None) -> Built:
    """Build the project unless its results are there; `sources` as in `collect`.

    Errors: MissingTool with the way out; FlowError with the ERROR lines of the tool that failed, and its log.
    """
    if not _done(project):
        missing = [tool for tool in project.tools if shutil.which(tool) is None]
        if missing:
            raise MissingTool(
                f"{project.vendor.name} is built by AMD's tools, and {' and '.join(missing)} "
                f"{'are' if len(missing) > 1 else 'is'} not on PATH: source settings64.sh of "
                f"{'Vitis' if project.vendor.platform else 'Vivado'}, or copy {project.folder} to a machine "
                "that has all, run ./build.sh there and copy it back; README.md in it says how to go on"
            )
        (project.folder / "built.json").unlink(missing_ok=True)
        for number, step in enumerate(project.steps):
            if progress:
                progress(step.tool, number, len(project.steps))
            _run(project, step)
        shutil.copyfile(project.folder / "project.json", project.folder / "built.json")
        if progress:
            progress(project.steps[-1].tool, len(project.steps), len(project.steps))
    return collect(project, sources=sources)


def _done(project: Project) -> bool:
    """True when the folder has results of its present files."""
    try:
        about = json.loads((project.folder / "built.json").read_text())
    except (OSError, ValueError):
        return False
    made = [name for step in project.steps for name in step.makes]
    return about.get("inputs") == project.inputs and all((project.folder / name).is_file() for name in made)


def _run(project: Project, step: Step) -> None:
    for name in step.makes:
        (project.folder / name).unlink(missing_ok=True)
    arguments = [argument.replace(HERE, str(project.folder)) for argument in step.arguments]
    log = project.folder / step.log
    run_tool([step.tool, *arguments], cwd=project.folder, log=log, error=ERROR)
    missing = [name for name in step.makes if not (project.folder / name).is_file()]
    if missing:
        raise FlowError(f"{step.tool} ended well but left no {', '.join(missing)}\n{error_lines(log, ERROR)}")


def collect(project: Project, *, sources: tuple[str, ...] = ()) -> Built:
    """Read the results of a built project. `sources`: repository-relative files that determine the core.

    Errors: FlowError when nothing was built of the project's present files, or a report misses what is needed.
    """
    if not _done(project):
        raise FlowError(f"{project.folder} has no results of its present files; run ./build.sh in it")
    folder = project.folder / "reports"
    timing = reports.read_timing(folder / "timing.rpt", (folder / "clock.txt").read_text().strip())
    used = reports.read_utilisation(folder / "utilisation.rpt")
    clock = project.clock_hz
    if project.vendor.platform:
        clock = reports.read_kernel_clock(project.folder / "gatewarp.xclbin.info")
    met, says = _verdict(project, timing, clock)
    return Built(
        bitstream=project.bitstream,
        timing=timing,
        utilisation=used,
        clock_hz=clock,
        met=met,
        says=says,
        record=_record(project, timing, used, clock, met, sources),
    )


def _verdict(project: Project, timing: Timing, clock: float) -> tuple[bool, str]:
    asked = f"{project.clock_hz / 1e6:.6g} MHz"
    could = f"{timing.fmax_hz / 1e6:.4g} MHz"
    if abs(clock / project.clock_hz - 1) > 0.001:
        return False, (
            f"clock of {asked} not met: v++ set the kernel's clock to {clock / 1e6:.6g} MHz, so the design's own clock "
            f"register is wrong; generate the project with {int(clock / 1e6)} MHz"
        )
    if timing.wns_ns < 0:
        return False, (
            f"clock of {asked} not met: worst setup slack {timing.wns_ns:g} ns, the design could do {could}; "
            "generate the project with a lower clock"
        )
    if timing.whs_ns < 0:
        return False, f"worst hold slack is {timing.whs_ns:g} ns: no lower clock mends that; see reports/timing.rpt"
    return True, f"clock of {asked} met with {timing.wns_ns:g} ns to spare; the design could do {could}"


def project_sources(project: Project) -> list[str]:
    """Repository-relative files that determine the project besides those of the core."""
    files = [*shell_sources(), *rtl.byte_port(), *rtl.clock(), *sorted(FOLDER.glob("*.py"))]
    files += [FOLDER / f"{project.vendor.name}.toml", FOLDER.parent / "shell" / "top.py", FOLDER.parent / "frames.py"]
    if not project.vendor.platform:
        files.append(project.vendor.board.constraints)
    return [path.relative_to(repo_root()).as_posix() for path in dict.fromkeys(files)]


def _record(
    project: Project, timing: Timing, used: Mapping[str, int], clock: float, met: bool, sources: tuple[str, ...]
) -> Record:
    """As a routing of the open flow: Fmax and resources at stage post_route."""
    core, vendor = project.core, project.vendor
    content = project.bitstream.read_bytes()
    part = "the kernel" if vendor.platform else "the whole board's design"
    told: dict[str, Scalar] = {
        "board": vendor.name,
        "target_clock_hz": project.clock_hz,
        "board_clock_hz": clock,
        "fmax_basis": "one run: period of the clock less its worst setup slack",
        "resources_of": part,
        "bram_kind": "18 Kb",
        "worst_setup_slack_ns": timing.wns_ns,
        "worst_hold_slack_ns": timing.whs_ns,
        "bitstream_bytes": len(content),
        "bitstream_sha256": hashlib.sha256(content).hexdigest(),
        "bitstream_clock_met": met,
    }
    text = (project.folder / "reports" / "utilisation.rpt").read_text(errors="replace")
    found = re.search(r"Vivado v\.?(\d{4}\.\d+)", text)
    figures = [("fmax", timing.fmax_hz, "Hz", "exact"), ("clock", clock, "Hz", "exact")]
    figures += [(name, float(count), "1", "count") for name, count in used.items()]
    return Record(
        workload=core.workload,
        case=core.case,
        implementation=core.implementation,
        device=vendor.board.part,
        conditions={**core.conditions, **told},
        provenance=make_provenance(
            f"gatewarp deploy {core.workload} --case {core.case} --board {vendor.name}",
            [*sources, *project_sources(project)],
            {"vivado": found.group(1) if found else "unknown"},
            source="timing summary and utilisation of Vivado after routing",
        ),
        measurements=tuple(
            Measurement(quantity, value, unit, statistic, 1, Stage.POST_ROUTE, Boundary.NONE)
            for quantity, value, unit, statistic in figures
        ),
    )
