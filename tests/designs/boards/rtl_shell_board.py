"""The shell's RTL in a board's whole top level, run by Verilator behind a pseudo-terminal; no programming first."""

from __future__ import annotations

import json
import os
import subprocess
import tty
from pathlib import Path
from typing import Any

from designs.boards import clocking, load
from designs.boards.shell.top import Buffers, Items, shell_sources, shell_top
from designs.boards.simulated import build_simulator
from designs.boards.top import clocks_per_bit
from designs.flow.evidence import Core

HERE = Path(__file__).parent
BAUD = 3_000_000
#: Slow on purpose: few cycles a bit, so that much goes over the line in little time.
MHZ = 12.0
#: Words of 4 bytes; an item is one.
WORD = 4


def simulator(core: Core | None = None, *, mhz: float = MHZ, items: Items | None = None) -> Path:
    """The program of a core, by default that with a memory."""
    core = core or Core(
        "test",
        "remembering",
        "",
        "fixed",
        "remembering_core",
        (HERE / "remembering_core.sv",),
        32,
        32,
        "0123456789abcdef" * 4,
        {},
    )
    board = load("ulx3s-85f")
    clock = clocking.of(board, mhz)
    text = shell_top(core, board, clock, BAUD, items=items or Items(1, 1), buffers=Buffers())
    sources = list(dict.fromkeys([*shell_sources(), *core.sources, *clock.simulated_sources]))
    return build_simulator(text, sources, board, clocks_per_bit=clocks_per_bit(clock.frequency_hz, BAUD))


def remembered(data: bytes) -> bytes:
    """What that core gives for a whole stream."""
    state, out = 0, []
    for i in range(0, len(data), WORD):
        word = int.from_bytes(data[i : i + WORD], "little") ^ 0x9E3779B9
        state = ((state << 7 | state >> 25) + word) & 0xFFFFFFFF
        out.append(state.to_bytes(WORD, "little"))
    return b"".join(out)


class RtlBoard:
    """A running simulator as a context: `path` is its serial port, `report` what it simulated, once it has ended."""

    def __init__(self, program: Path) -> None:
        self.program = program
        self.report: dict[str, Any] = {}

    def __enter__(self) -> RtlBoard:
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        self._slave = slave  # stays open, so that the port lives between two users
        reading, self._lifeline = os.pipe()
        command = [str(self.program), "--terminal", str(self._master), "--lifeline", str(reading), "--awake-ms", "3000"]
        self._process = subprocess.Popen(command, pass_fds=(self._master, reading), stdout=subprocess.PIPE, text=True)
        os.close(reading)
        return self

    def unplug(self) -> None:
        """End the design and take the port away."""
        self._process.terminate()
        output, _ = self._process.communicate(timeout=20)
        self.report = json.loads(output.splitlines()[-1])  # the lines before tell of the start
        for handle in (self._master, self._slave, self._lifeline):
            os.close(handle)

    def __exit__(self, *_: object) -> None:
        if not self.report:
            self.unplug()
