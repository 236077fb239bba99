"""A board without copper: its JTAG port, its part, its serial port, and the programmed design running in simulation.

    with SimulatedBoard(load("ulx3s-85f"), {fingerprint(bitstream): program}) as board:
        board.jtag, board.serial_port

The serial port exists from the start, as the USB bridge of a real board does, and keeps its name when the part is
configured anew. What is sent to a part without a design is lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import threading
import tty
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from designs.boards import Board, BoardError
from designs.boards.ecp5 import by_idcode
from designs.boards.program import Cable
from designs.boards.simulated.chip import Chip
from designs.boards.simulated.tap import Tap
from designs.boards.simulated.xvc import XvcServer

#: Seconds at full speed after the last byte on the line.
AWAKE_S = 3.0


@dataclass(frozen=True)
class Run:
    """One run of a design until it ended; `seconds` and, of these, `napped` are wall-clock time, `cpu` is its own."""

    cycles: int
    seconds: float
    napped: float
    cpu: float
    bytes_in: int
    bytes_out: int
    dropped: int
    malformed: int

    @property
    def rate(self) -> float:
        """Simulated cycles a second of the processor's time."""
        return self.cycles / max(self.cpu, 1e-3)


class SimulatedBoard:
    """The board as a context; `registry` maps the fingerprint of a bitstream to the simulator of its design.

    `serial_port` is the path of the pseudo-terminal, `jtag` the address of the Xilinx Virtual Cable server, `cable`
    what `designs.boards.program` needs to reach it, `programmed` the fingerprint of the running design or None, `runs`
    what ended runs did. A good bitstream that is not in the registry leaves the board silent.
    """

    def __init__(self, board: Board, registry: Mapping[str, Path], *, awake_s: float = AWAKE_S) -> None:
        part = by_idcode(board.idcode)
        if part is None:
            raise BoardError(
                f"{board.name}: only boards with an ECP5 can be simulated, not IDCODE {board.idcode:#010x}"
            )
        self.board = board
        self.registry = dict(registry)
        self.runs: list[Run] = []
        self.programmed: str | None = None
        self.chip = Chip(part, start=self._start, stop=self._stop)
        self._awake_ms = round(1000 * awake_s)
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.RLock()
        self._host_side = self._device_side = self._lifeline = -1

    def _open_line(self) -> None:
        self._host_side, self._device_side = os.openpty()
        tty.setraw(self._device_side)
        self.serial_port = os.ttyname(self._device_side)

    def _line(self) -> tuple[list[str], tuple[int, ...]]:
        """Options of the simulator that tell it of the line, and the files that it needs for that."""
        return ["--terminal", str(self._host_side)], (self._host_side,)

    def _close_line(self) -> None:
        for end in (self._host_side, self._device_side):
            with contextlib.suppress(OSError):
                os.close(end)
        self._host_side = self._device_side = -1

    def __enter__(self) -> Self:
        self._open_line()
        self._leave = threading.Event()
        self._drain = threading.Thread(target=self._lose_bytes, name="serial", daemon=True)
        self._drain.start()
        self._server = XvcServer(Tap(self.chip))
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unplug()

    @property
    def jtag(self) -> tuple[str, int]:
        """Host and port of the Xilinx Virtual Cable server."""
        return self._server.host, self._server.port

    @property
    def cable(self) -> Cable:
        """How `designs.boards.program` reaches the JTAG port."""
        return Cable.xvc(*self.jtag)

    def unplug(self) -> None:
        """Pull the cable: JTAG and the serial port are gone at once, and the part loses its supply."""
        self._server.close()
        self._stop()
        self._leave.set()
        self._drain.join()
        self._close_line()

    def stop_clock(self, stopped: bool = True) -> None:
        """Let the oscillator fail, or run again: the design hangs in the middle of whatever it does."""
        with self._lock:
            if self._process is not None:
                self._process.send_signal(signal.SIGUSR1 if stopped else signal.SIGUSR2)

    def _start(self, fingerprint: str) -> None:
        """The part has woken up with a design."""
        program = self.registry.get(fingerprint)
        with self._lock:
            self.programmed = fingerprint
            if program is None:
                return
            self._lose()  # what the host sent before; what an old design sent still waits for the host
            line, files = self._line()
            lifeline, end = os.pipe()
            self._lifeline = end
            command = [str(program), *line, "--lifeline", str(lifeline)]
            self._process = subprocess.Popen(
                [*command, "--awake-ms", str(self._awake_ms)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                pass_fds=(*files, lifeline),
                start_new_session=True,
            )
            os.close(lifeline)
            assert self._process.stdout is not None
            self._process.stdout.readline()

    def _stop(self) -> None:
        """The design ceases to run."""
        with self._lock:
            self.programmed = None
            process, self._process = self._process, None
            if process is None:
                return
            process.terminate()
            try:
                output, _ = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
            os.close(self._lifeline)
            with contextlib.suppress(ValueError):
                self._ended(json.loads(output))

    def _ended(self, report: dict[str, Any]) -> None:
        self.runs.append(Run(**report))

    def _lose_bytes(self) -> None:
        """Take what the host sends while no design runs: the bridge sends it on, and nobody listens."""
        while not self._leave.wait(0.02):
            with self._lock:
                if self._process is None:
                    self._lose()

    def _lose(self) -> None:
        for _ in range(64):  # more than the terminal holds; a host that goes on sending must not keep us here
            if not select.select([self._host_side], [], [], 0)[0]:
                return
            os.read(self._host_side, 65536)
