"""The simulated board: programmed by the real openFPGALoader, talked to over its serial port, and what can go wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import serial
import table_design

from designs import boards
from designs.boards import BoardError, program
from designs.boards.ecp5 import PARTS, fingerprint, payload
from designs.boards.program_errors import Failed, NoBoard, WrongPart
from designs.boards.simulated import SimulatedBoard, build_simulator
from designs.boards.simulated.chip import Instruction

BOARD = table_design.BOARD


@pytest.fixture(scope="module")
def bitstream() -> Path:
    return table_design.bitstream()


@pytest.fixture(scope="module")
def registry(bitstream: Path) -> dict[str, Path]:
    return {fingerprint(bitstream.read_bytes()): table_design.simulator()}


@pytest.fixture
def board(registry: dict[str, Path]) -> Iterator[SimulatedBoard]:
    with SimulatedBoard(BOARD, registry) as simulated:
        yield simulated


def port(board: SimulatedBoard, timeout: float = 20) -> serial.Serial:
    return serial.Serial(board.serial_port, table_design.BAUD, timeout=timeout, write_timeout=20)


def damaged(bitstream: Path, folder: Path, data: bytes) -> Path:
    path = folder / "damaged.bit"
    path.write_bytes(data)
    assert data != bitstream.read_bytes()
    return path


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_program_with_the_real_tool_and_talk(board: SimulatedBoard, bitstream: Path) -> None:
    assert program.detect(BOARD, cable=board.cable).idcode == BOARD.idcode
    loaded = program.load(bitstream, BOARD, cable=board.cable)
    assert loaded.found.idcode == BOARD.idcode
    assert not loaded.flash
    assert bytes(board.chip.loading.captured) == payload_sent(bitstream), "what the part took is the file, bit for bit"
    assert board.chip.loading.frames == PARTS["LFE5U-25F"].frames
    assert board.programmed == fingerprint(bitstream.read_bytes())
    assert Instruction.LSC_PROG_SPI not in board.chip.history, "nothing went to a flash"
    data = bytes(range(256))
    with port(board) as line:
        for piece in (data[:1], data[:16], data[240:]):  # at most 16 words may be under way
            line.write(piece)
            assert line.read(len(piece)) == table_design.answer(piece)
    board.unplug()
    (run,) = board.runs
    assert (run.bytes_in, run.bytes_out, run.dropped, run.malformed) == (33, 33, 0, 0)
    assert run.cycles > 10 * 8 * 33


def payload_sent(bitstream: Path) -> bytes:
    """What openFPGALoader sends of a file: from one byte before the preamble."""
    data = bitstream.read_bytes()
    return data[len(data) - len(payload(data)) - 1 :]


def test_a_new_configuration_ends_the_old_run(board: SimulatedBoard, bitstream: Path, tmp_path: Path) -> None:
    program.load(bitstream, BOARD, cable=board.cable)
    first = board._process
    assert first is not None
    with port(board) as line:
        line.write(b"a")
        assert line.read(1) == table_design.answer(b"a")
        # The same port goes on over another configuration, and bytes sent in between are lost.
        other = table_design.bitstream(compress=False)
        program.load(other, BOARD, cable=board.cable)
        assert first.poll() == 0, "the old run has ended, cleanly"
        assert board._process is None, "this bitstream is not in the registry"
        assert board.programmed == fingerprint(other.read_bytes())
        line.write(b"lost" * 2000)  # more than the terminal's queue: nobody blocks
        program.load(bitstream, BOARD, cable=board.cable)
        line.reset_input_buffer()
        line.write(b"xyz")
        assert line.read(3) == table_design.answer(b"xyz")
    assert len(board.runs) == 1


def test_what_was_sent_before_the_design_ran_is_lost(board: SimulatedBoard, registry: dict[str, Path]) -> None:
    with port(board) as line:
        with board._lock:  # so that nothing takes the bytes before the design could
            line.write(b"stale")
            board._start(next(iter(registry)))
        line.write(b"n")
        assert line.read(1) == table_design.answer(b"n")


def test_an_unknown_bitstream_leaves_the_board_silent(bitstream: Path) -> None:
    with SimulatedBoard(BOARD, {}) as board:
        program.load(bitstream, BOARD, cable=board.cable)
        with port(board, timeout=0.3) as line:
            line.write(b"hello")
            assert line.read(1) == b""


def test_damage_in_the_bitstream_fails_with_the_reason(board: SimulatedBoard, bitstream: Path, tmp_path: Path) -> None:
    data = bytearray(bitstream.read_bytes())
    data[len(data) // 2] ^= 0x10
    with pytest.raises(Failed, match=r"(?s)failed \(the part reports: CRC ERR\).*openFPGALoader: "):
        program.load(damaged(bitstream, tmp_path, bytes(data)), BOARD, cable=board.cable)
    assert board.programmed is None
    # The tool itself exits with success here.
    with pytest.raises(Failed, match="does not report DONE"):
        program.load(damaged(bitstream, tmp_path, bitstream.read_bytes()[:-2000]), BOARD, cable=board.cable)
    assert board.programmed is None
    assert board.runs == []


def test_a_bitstream_for_another_part_is_refused_before_anything_is_sent(
    board: SimulatedBoard, bitstream: Path, tmp_path: Path
) -> None:
    other = table_design.bitstream(idcode=PARTS["LFE5UM-25F"].idcode)
    with pytest.raises(WrongPart, match=r"is for LFE5UM-25F .* has LFE5U-25F .*--board ulx3s-25f"):
        program.load(other, BOARD, cable=board.cable)
    assert board.chip.history == []
    with pytest.raises(
        WrongPart, match=r"a board with LFE5U-25F .* answers, but ulx3s-85f has .*use --board ulx3s-25f"
    ):
        program.load(
            table_design.bitstream(idcode=PARTS["LFE5U-85F"].idcode), boards.load("ulx3s-85f"), cable=board.cable
        )
    assert board.chip.history == []
    # The tool by itself refuses as well, and so does the part when the tool is told nothing.
    run = subprocess.run([program.tool(), *board.cable.arguments, str(other)], capture_output=True, text=True)
    assert run.returncode != 0
    assert "mismatch between target's idcode and bitstream idcode" in run.stderr
    assert board.programmed is None


def test_a_stopped_clock_hangs_everything_and_it_runs_on_after(board: SimulatedBoard, bitstream: Path) -> None:
    program.load(bitstream, BOARD, cable=board.cable)
    with port(board) as line:
        line.write(b"1")
        assert line.read(1) == table_design.answer(b"1")
        board.stop_clock()
        time.sleep(0.1)
        line.timeout = 0.3
        line.write(b"2" * 8)
        assert line.read(1) == b""
        board.stop_clock(False)
        time.sleep(0.1)
        line.timeout = 20
        line.write(b"3")
        assert line.read(1) == table_design.answer(b"3"), "what came while it stood still was lost"


def test_a_core_that_hangs(bitstream: Path) -> None:
    with SimulatedBoard(BOARD, {fingerprint(bitstream.read_bytes()): table_design.simulator(stuck=True)}) as board:
        program.load(bitstream, BOARD, cable=board.cable)
        with port(board, timeout=0.3) as line:
            line.write(b"hello")
            assert line.read(1) == b""
    assert board.runs[0].bytes_in == 5


def test_unplugged_in_mid_run(board: SimulatedBoard, bitstream: Path) -> None:
    program.load(bitstream, BOARD, cable=board.cable)
    cable, process = board.cable, board._process
    assert process is not None
    with port(board) as line:
        line.write(b"a")
        board.unplug()
        with pytest.raises((serial.SerialException, OSError)):
            line.read(2)
    assert process.poll() == 0
    with pytest.raises(NoBoard, match="nothing answers there"):
        program.detect(BOARD, cable=cable)


def test_idle_costs_little_and_answers_at_once(registry: dict[str, Path], bitstream: Path) -> None:
    with SimulatedBoard(BOARD, registry, awake_s=0.2) as board:
        program.load(bitstream, BOARD, cable=board.cable)
        process = board._process
        assert process is not None
        time.sleep(0.4)
        before, start = cpu_seconds(process.pid), time.monotonic()
        time.sleep(1.5)
        share = (cpu_seconds(process.pid) - before) / (time.monotonic() - start)
        assert share < 0.25, f"{share:.0%} of a core while idle"
        with port(board) as line:
            line.write(b"q")
            assert line.read(1) == table_design.answer(b"q")
    (run,) = board.runs
    assert run.napped > 1
    assert run.rate > 500_000, f"{run.rate:,.0f} cycles/s"


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


PARENT = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
import table_design
from designs.boards import program
from designs.boards.ecp5 import fingerprint
from designs.boards.simulated import SimulatedBoard
bitstream = table_design.bitstream()
with SimulatedBoard(table_design.BOARD, {{fingerprint(bitstream.read_bytes()): table_design.simulator()}}) as board:
    program.load(bitstream, table_design.BOARD, cable=board.cable)
    print(board._process.pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_the_parent_dies(registry: dict[str, Path], bitstream: Path, how: signal.Signals) -> None:
    script = PARENT.format(tests=str(Path(__file__).parent))
    root = Path(program.__file__).parents[2]
    parent = subprocess.Popen(
        [sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert alive(child)
    parent.send_signal(how)
    parent.wait(timeout=20)
    deadline = time.monotonic() + 10
    while alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(child)


def test_only_ecp5_boards() -> None:
    with pytest.raises(BoardError, match="only boards with an ECP5 can be simulated"):
        SimulatedBoard(boards.load("tangnano9k"), {})


def test_a_line_that_is_too_fast() -> None:
    with pytest.raises(ValueError, match="at least 2 clock cycles, got 1; choose a lower baud rate"):
        build_simulator("", [], BOARD, clocks_per_bit=1)
