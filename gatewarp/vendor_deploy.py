"""`gatewarp deploy` on the boards that AMD's tools build: a generated project, the tools where they are, the same host.

    project -> vivado, v++ (or results built elsewhere) -> the board says that it is this design -> run -> records

The VC709 is programmed over JTAG by Vivado and answers on its serial port. Linux on the PYNQ-Z2 and XRT on the host of
an Alveo card load the design themselves, by the bridge program of the project; --port is then that bridge's host:port.
"""

from __future__ import annotations

import math
import shutil
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from compare.provenance import repo_root
from compare.record import Record
from designs import boards
from designs.boards import BoardError, bitstream, vendor
from designs.boards.bitstream import ClockMissed
from designs.boards.clocking import Clocking
from designs.boards.identity import Identity
from designs.boards.line_errors import NoPort
from designs.boards.link import Link, open_serial
from designs.boards.serial_line import SerialStream
from designs.boards.shell.top import design_hash
from designs.boards.subject import quality_of
from designs.boards.vendor import BridgeStream
from designs.flow.tools import run_tool
from gatewarp.board_record import Runs, record
from gatewarp.deploy import Request, check_case, check_identity, run_items, subject_of
from gatewarp.words import with_article
from workloads.api import Progress


@dataclass(frozen=True)
class VendorDeployed:
    """What came of it; `records` are that of the build and that of the run."""

    project: vendor.Project
    built: vendor.Built
    identity: Identity
    runs: Runs
    records: tuple[Record, Record]
    item: str


def builds(board: str) -> bool:
    """Whether a board is one of AMD's tools. Errors: BoardError for an unknown one."""
    return boards.load(board).flow != "open"


def deploy(request: Request, *, say: Callable[[str], None], progress: Progress) -> VendorDeployed:
    """Generate, build where the tools are, reach the board, run and check every bit.

    Errors: BoardError, MissingTool with the way out, FlowError, ClockMissed, LinkError, WrongDesign.
    """
    subject = subject_of(request.workload)
    check_case(request, subject)
    _check(request)
    name = boards.load(request.board).name
    case = request.case or subject.CASES[0]
    mhz = subject.clock_mhz(case, name) if request.clock_mhz is None else request.clock_mhz
    if not (math.isfinite(mhz) and mhz > 0):
        raise BoardError(f"{name}: a clock of {mhz:g} MHz cannot be; give one above 0 with --clock")
    progress("generate RTL", 0, 1)
    folder = request.keep or repo_root() / "build" / f"{request.workload}-{case}-{name}"
    project = vendor.generate(
        subject.core(case),
        name,
        folder,
        mhz=mhz,
        items=subject.items(case),
        baud=request.baud,
    )
    say(f"project {project.folder}: {request.workload}/{case} at {project.clock_hz / 1e6:.6g} MHz")
    built = vendor.build(project, sources=tuple(subject.sources(case)), progress=progress)
    say(built.says)
    if not built.met:
        raise ClockMissed(f"{name}: {built.says}")
    with _reach(request, project, say) as stream:
        link = Link(stream)
        identity = link.identify()
        ours = _as_built(request, project, built)
        check_identity(identity, ours)
        say(f"identified {identity.name} on {request.port}, design {identity.design[:16]}")
        runs = run_items(request, subject, link, identity, ours, progress)
    made = record(
        ours, runs, simulated=False, command=request.command, sources=subject.sources(case), seed=request.seed,
        power=request.power, quality=quality_of(subject, case),
    )  # fmt: skip
    told = replace(made.provenance, tools=dict(built.record.provenance.tools))
    conditions = {**made.conditions, "launch_mode": project.vendor.transport}
    measured = replace(made, provenance=told, conditions=conditions)
    return VendorDeployed(project, built, identity, runs, (built.record, measured), subject.ITEM)


def _check(request: Request) -> None:
    """Refuse what these boards do not have. Errors: BoardError."""
    board = boards.load(request.board)
    for option, value, why in (
        ("--simulated", request.simulated or None, "only boards with an ECP5 can be simulated"),
        ("--flash", request.flash or None, "nothing is flashed on it"),
        ("--serial", request.serial, "choose the board with --port"),
        ("--bitstream", request.bitstream, "--keep names the folder of a project that was built elsewhere"),
        (
            "--transport",
            request.transport if request.transport != "serial" else None,
            "its line is that of its project",
        ),
        ("--address", request.address, "choose the board with --port"),
        ("--flip and the like", request.faults.any or None, "faults are put into serial lines of open boards"),
    ):
        if value is not None:
            raise BoardError(f"{board.name}: no {option} here: {why}; leave it out")


def _reach(request: Request, project: vendor.Project, say: Callable[[str], None]) -> BridgeStream | SerialStream:
    """The stream to the board, which is programmed first where Vivado is. Errors: NoPort with all steps."""
    if request.port is None:
        steps = " ".join(f"({number}) {step}" for number, step in enumerate(vendor.deploy_steps(project), start=1))
        raise NoPort(f"--port is needed to reach {project.vendor.name}; the steps: {steps}")
    if project.vendor.transport == "bridge":
        return vendor.open_bridge(request.port)
    if shutil.which("vivado"):
        command = ["vivado", "-mode", "batch", "-nojournal", "-nolog", "-notrace", "-source", "program.tcl"]
        run_tool(command, cwd=project.folder, log=project.folder / "logs" / "program.log", error="^ERROR")
        say(f"programmed {project.vendor.board.title}")
    else:
        say("not programmed: vivado is not on PATH; the board must hold the design already")
    return open_serial(request.port, request.baud or project.vendor.board.highest_baud)


def _as_built(request: Request, project: vendor.Project, built: vendor.Built) -> bitstream.Built:
    """The same in the terms of an open build, which records and checks take."""
    board = project.vendor.board
    if not board.constraints.is_file():
        board = replace(board, constraints=Path(vendor.__file__).parent / f"{board.name}.toml")
    return bitstream.Built(
        core=project.core,
        board=board,
        items=subject_of(request.workload).items(project.core.case),
        clocking=Clocking(built.clock_hz, "", (), (), "the vendor's clock"),
        baud=(request.baud or board.highest_baud) if board.highest_baud else 0,
        path=built.bitstream,
        sha256=str(built.record.conditions["bitstream_sha256"]),
        design=design_hash(project.core),
        seed=0,
        fmax_hz=built.timing.fmax_hz,
        text="",
        sources=(),
        simulated_sources=(),
    )


def lines(done: VendorDeployed) -> Iterator[str]:
    """What came of it, in words."""

    first, clock = done.runs.outcomes[0], done.built.clock_hz
    core = done.project.core
    yield (
        f"{core.workload}/{core.case} on {done.project.vendor.name}: {first.items:,} {done.item}s, "
        "every bit equal to the oracle"
    )
    if intervals := done.runs.intervals:
        interval = statistics.median(intervals)
        yield (
            f"on the chip: {interval:,.6g} cycles between {done.item}s at {clock / 1e6:.4g} MHz, "
            f"{clock / interval:,.0f} {done.item}s/s"
        )
    if latencies := done.runs.latencies:
        cycles = f"{statistics.median(latencies):,.0f} cycles"
        yield f"on the chip: {cycles} for {with_article(done.item)} that meets an empty core"
    rates = [each.items / each.line.seconds for each in done.runs.outcomes]
    yield f"end to end: {statistics.median(rates):,.0f} {done.item}s/s as the host saw {len(rates)} runs"
