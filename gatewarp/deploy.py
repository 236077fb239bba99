"""Put a design on a board, real or simulated, run it over its line, and check every bit of what comes back.

    bitstream (cached) -> board found -> programmed -> its registers say that it is this design -> run -> record

The simulated board takes the same way: the same bitstream by the same openFPGALoader, the same host software on a
serial port or a UDP socket. Only the copper is missing, and with it all times.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from compare.record import Record
from designs import boards
from designs.boards import Board, BoardError, bitstream, kept, program, session
from designs.boards.bitstream import Built
from designs.boards.ecp5 import fingerprint
from designs.boards.faults import FaultyStream
from designs.boards.identity import Identity
from designs.boards.link import Link, open_serial
from designs.boards.program import Cable, Found
from designs.boards.serial_line import SerialStream, Stream
from designs.boards.subject import Sample, Subject, options_of, quality_of
from designs.flow.tools import run_parallel
from gatewarp.board_record import Over, Runs, record, serial
from gatewarp.faults import Faults
from gatewarp.plugged import SIMULATED
from gatewarp.ports import port_of, when_back
from gatewarp.power import Power
from workloads.api import Progress, UnknownNameError

if TYPE_CHECKING:
    from designs.boards.ethernet.address import Address

#: Workload -> module of its subject; imported when it is asked for, since reading a model takes seconds.
SUBJECTS: Mapping[str, str] = {
    "bcnn": "designs.bcnn.on_board",
    "deconv": "designs.deconv.on_board",
    "md": "designs.md.on_board",
    "track": "hls.track.on_board",
}

#: Runs of all items on a real board, for a median; a simulated chip counts the same each time, but for the
#: host's pauses on the line.
RUNS = 5

#: Rate at which a port is opened to see whether it can be; every adapter has it.
LOOK_BAUD = 115_200


class WrongDesign(RuntimeError):
    """The board does not hold the design that was programmed, or its outputs are not the oracle's."""


@dataclass(frozen=True)
class Request:
    """What is asked for. None where the default of the board or of the case is meant."""

    workload: str
    board: str
    case: str | None = None
    simulated: bool = False
    samples: int | None = None
    runs: int = 1
    seed: int = 1
    clock_mhz: float | None = None
    baud: int | None = None
    bitstream: Path | None = None
    keep: Path | None = None
    port: str | None = None
    transport: str = "serial"
    address: str | None = None
    serial: str | None = None
    flash: bool = False
    faults: Faults = field(default_factory=Faults)
    power: Power | None = None
    command: str = "gatewarp deploy"


@dataclass(frozen=True)
class Deployed:
    """What came of it. `record` is None for a run with faults put in: that proves the link and measures nothing.

    `quality` is that of an arithmetic which only the board's design has.
    """

    built: Built
    identity: Identity
    runs: Runs
    programmed_s: float
    record: Record | None
    simulated: bool
    item: str
    over: Over
    quality: Mapping[str, Sample]


def subject_of(workload: str) -> Subject:
    """The subject of a workload. Errors: UnknownNameError listing those there are."""
    if workload not in SUBJECTS:
        raise UnknownNameError("workload", workload, tuple(SUBJECTS))
    return cast(Subject, importlib.import_module(SUBJECTS[workload]))


def deploy(
    request: Request, *, say: Callable[[str], None], progress: Progress, confirm: Callable[[str], bool]
) -> Deployed:
    """Do all of it. `say` gets a line for each step, `confirm` a question before flash is written.

    Errors: those of `check`, of the build, ProgramError, LinkError, WrongDesign; each message has a way out.
    """
    subject = subject_of(request.workload)
    check(request, subject)
    board = boards.load(request.board)
    if not request.simulated:
        _find(request, board)  # before anything that takes minutes
    built, simulator = _bitstream(request, subject, board, say, progress)
    case = built.core.case
    say(
        f"bitstream {built.path} ({built.sha256[:12]}): {built.core.workload}/{case} at "
        f"{built.clocking.frequency_hz / 1e6:.4g} MHz, seed {built.seed}"
    )
    with ExitStack() as stack:
        cable, port = None, request.port
        address = _address(request)
        if simulator is not None:
            cable, port, address = stack.enter_context(_simulated(request, board, built, simulator))
        loaded = program.load(
            built.path, board, cable=cable, serial=request.serial, flash=request.flash, confirm=confirm
        )
        say(f"programmed {board.title}{' (simulated)' if cable else ''} in {loaded.seconds:.1f} s")

        def opened() -> tuple[str, SerialStream]:
            name = port or port_of(board, loaded.found, None)
            return name, open_serial(name, built.baud)

        line: Stream
        over: Callable[[Built], Over] = serial
        if address is not None:
            from gatewarp import over_udp

            name, line, over = over_udp.reached(stack, address, request.faults, say)
        else:
            name, port_line = opened() if cable else when_back(opened)
            line = _faulty(stack.enter_context(port_line), request.faults)
        link = Link(line)
        identity = link.identify()
        check_identity(identity, built)
        rate = f", {built.baud:,} baud" if built.baud else ""
        say(f"identified {identity.name} on {name}, design {identity.design[:16]}{rate}")
        runs = run_items(request, subject, link, identity, built, progress)
        carried = over(built)
    made, quality = None, quality_of(subject, case)
    if not request.faults.any:
        made = record(
            built, runs, simulated=request.simulated, command=request.command, sources=subject.sources(case),
            seed=request.seed, power=request.power, over=carried, quality=quality,
        )  # fmt: skip
    return Deployed(built, identity, runs, loaded.seconds, made, request.simulated, subject.ITEM, carried, quality)


def check(request: Request, subject: Subject) -> None:
    """Refuse what cannot be meant, before anything else happens. Errors: ValueErrors."""
    check_case(request, subject)
    board = boards.load(request.board)
    if board.flow != "open":
        raise BoardError(f"{board.title} is built with {board.flow}: see `gatewarp deploy --help` and docs/boards.md")
    if request.bitstream is not None and (request.clock_mhz is not None or request.baud is not None):
        raise BoardError("--clock and --baud are decided in the bitstream: leave them out with --bitstream")
    _check_transport(request, board)
    if not request.simulated and not board.sram and not request.flash:
        raise BoardError(
            f"{board.title} is only programmed through its flash; say --flash to write it, after a question"
        )
    if not request.simulated:
        return
    for name, value in (("--port", request.port), ("--serial", request.serial), ("--flash", request.flash or None)):
        if value is not None:
            raise BoardError(f"{name} is for a real board; leave it out with --simulated")
    if request.power is not None:
        raise BoardError("a simulated board draws no power: leave --power-... out, or leave --simulated out")
    if board.family not in SIMULATED:
        raise BoardError(f"{board.name}: only boards with an ECP5 can be simulated; leave --simulated out")


def _check_transport(request: Request, board: Board) -> None:
    """Errors: BoardError for a transport that the board has not, and for options of the other one."""
    if request.transport == "serial":
        if request.address is not None:
            raise BoardError("--address is for --transport udp; say that as well, or leave --address out")
        return
    if request.transport != "udp":
        raise BoardError(f"no transport {request.transport!r}; there are: serial, udp")
    from gatewarp import over_udp

    over_udp.check(board, _address(request))
    for name, value in (
        ("--port", request.port),
        ("--baud", request.baud),
        ("--bitstream", request.bitstream),
        ("--keep", request.keep),
    ):
        if value is not None:
            raise BoardError(f"{name} is for the serial line; leave it out with --transport udp")


def _address(request: Request) -> Address | None:
    """Where the board is on the network; None on a serial line. Errors: BoardError for what is no address."""
    if request.transport != "udp":
        return None
    from designs.boards.ethernet.address import Address

    return Address.of(request.address)


def check_case(request: Request, subject: Subject) -> None:
    """Errors: UnknownNameError for a case that has no form on a board; ValueError for too few items."""
    if request.case is not None and request.case not in subject.CASES:
        raise UnknownNameError("case on a board", request.case, subject.CASES)
    if request.samples is not None:
        subject.inputs(request.case or subject.CASES[0], request.samples, request.seed)  # too few are refused now


def check_identity(identity: Identity, built: Built) -> None:
    """Refuse a board whose registers tell of another design. Errors: WrongDesign."""
    core = built.core
    for what, has, due in (
        ("design", identity.design, built.design),
        ("name", identity.name, f"{core.workload}/{core.case}"[:32]),
        ("clock", identity.clock_hz, round(built.clocking.frequency_hz)),
    ):
        if has != due:
            raise WrongDesign(
                f"the board says {what} {has}, the bitstream has {due}: it holds something else; program it again, and "
                "check that --port is the port of the board that was programmed"
            )


def _bitstream(
    request: Request, subject: Subject, board: Board, say: Callable[[str], None], progress: Progress
) -> tuple[Built, Path | None]:
    """The bitstream, kept or built, and beside it the simulator of the same top."""
    facts: Mapping[str, Any] = {}
    case = request.case or subject.CASES[0]
    mhz, baud = request.clock_mhz, request.baud
    if request.bitstream is not None:
        facts = kept.facts_of(request.bitstream)
        if (facts["workload"], facts["case"]) != (request.workload, request.case or facts["case"]):
            raise kept.WrongBitstream(
                f"{request.bitstream} holds {facts['workload']}/{facts['case']}, not {request.workload}/{case}; leave "
                "--bitstream out and it is built"
            )
        kept.check(request.bitstream, facts, board)
        case, mhz, baud = facts["case"], facts["clock_mhz"], facts["baud"]
    progress("generate RTL", 0, 1)
    core = subject.core(case)
    mhz = subject.clock_mhz(case, board.name) if mhz is None else mhz
    if (address := _address(request)) is not None:
        from gatewarp import over_udp

        return over_udp.bitstreams(core, board, mhz, subject.items(case), address, request.simulated, progress)
    planned = bitstream.plan(core, board, mhz=mhz, items=subject.items(case), baud=baud)
    ready = kept.stored(request.bitstream, planned, facts) if request.bitstream else None
    options = options_of(subject, board.name)
    jobs: list[Callable[[], Any]] = [partial(bitstream.build, planned, options=options, progress=progress)]
    if ready is not None:
        jobs = [lambda: ready]
    if request.simulated:
        jobs.append(partial(_simulator, planned, ready is None))
    built, *simulators = run_parallel(jobs)
    if request.keep is not None:
        say(f"kept {kept.keep(built, request.keep, subject.sources(case))}")
    return built, simulators[0] if simulators else None


def _simulator(planned: bitstream.Plan, beside: bool) -> Path:
    """The simulator of a plan; `beside` a build, whose synthesis first has the cores to itself."""
    if beside:
        bitstream.until_synthesised(planned)
    return bitstream.simulator(planned)


@contextmanager
def _simulated(
    request: Request, board: Board, built: Built, simulator: Path
) -> Iterator[tuple[Cable, str | None, Address | None]]:
    """A simulated board that knows this bitstream: how its JTAG port is reached, its serial port or its address."""
    registry = {fingerprint(built.path.read_bytes()): simulator}
    if request.transport == "udp":
        from designs.boards.ethernet.simulated import EthernetBoard

        with EthernetBoard(board, registry) as networked:
            yield networked.cable, None, networked.address
        return
    from designs.boards.simulated.board import SimulatedBoard

    with SimulatedBoard(board, registry) as here:
        yield here.cable, here.serial_port, None


def _find(request: Request, board: Board) -> None:
    """Refuse a real board that is not there, and a port that cannot be opened. Errors: ProgramError, PortError."""
    if (address := _address(request)) is not None:
        from designs.boards.ethernet.udp import open_udp

        with open_udp(address):  # no way there is said now; nobody answers before the board is programmed
            program.check_part(board, program.detect(board, serial=request.serial))
        return
    if request.port or board.bridge == "external":
        # First, since a look over JTAG may take the port away from the program that has it.
        with open_serial(port_of(board, Found(0, None), request.port), LOOK_BAUD):
            pass
    found = program.detect(board, serial=request.serial)
    program.check_part(board, found)
    if not request.port:
        with when_back(lambda: open_serial(port_of(board, found, None), LOOK_BAUD)):
            pass


def _faulty(stream: Stream, faults: Faults) -> Stream:
    """The serial port, with faults put in between when there are any."""
    if not faults.any:
        return stream
    rates = {name: getattr(faults, name) for name in ("flip", "drop", "repeat", "delay")}
    return FaultyStream(stream, faults.seed, unplug_after=faults.unplug_after, **rates)


def run_items(
    request: Request, subject: Subject, link: Link, identity: Identity, built: Built, progress: Progress
) -> Runs:
    """All runs. Errors: WrongDesign for the first output that is not the oracle's, LinkError."""
    case, item = built.core.case, subject.ITEM
    inputs = subject.inputs(case, request.samples or subject.SAMPLES[case], request.seed)
    count = subject.count(case, inputs)
    total = len(subject.encode(case, inputs)) + subject.expected_bytes(case, count)
    outcomes, counts = [], []
    for number in range(1, request.runs + 1):
        what = f"{item}s over the line" + (f", run {number} of {request.runs}" if request.runs > 1 else "")
        seen = partial(_seen, progress, what, total)
        timed = not request.faults.any
        outcome = session.run(link, subject, case, inputs, identity=identity, timed=timed, progress=seen)
        if outcome.difference:
            raise WrongDesign(f"{built.core.workload}/{case} on {built.board.name}: {outcome.difference}")
        outcomes.append(outcome)
        if (counted := subject.counted(case, outcome.outputs)) is not None:
            counts.append(counted)
    return Runs(tuple(outcomes), tuple(counts))


def _seen(progress: Progress, what: str, total: int, sent: int, received: int) -> None:
    progress(f"{what}, bytes", sent + received, total)
