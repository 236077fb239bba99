"""The simulated board with a network cable: SimulatedBoard whose design is reached over UDP on 127.0.0.1.

with EthernetBoard(board, {fingerprint(bitstream): program}) as here:
    here.address, here.jtag

Whole Ethernet frames go through the RGMII pins; main.cpp says how. `cable` are faults of it: `damage` is the chance a
frame that one of its bits flips, `foreign` that a frame of someone else comes before it.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from designs.boards import Board
from designs.boards.ethernet.address import Address
from designs.boards.simulated.board import AWAKE_S, Run, SimulatedBoard

_TRIES = 100


@dataclass(frozen=True)
class EthernetRun(Run):
    """One run of a design; of its frames besides.

    `bytes_in` and `bytes_out` are of datagrams, `malformed` what a PHY or a network card would find wrong with what the
    board sent. Frames into the pins and out of them, those damaged on the way, those of others, and answers to ARP.
    """

    frames_in: int
    frames_out: int
    damaged_in: int
    damaged_out: int
    foreign_in: int
    answers: int


@dataclass(frozen=True)
class CableFaults:
    """Faults of the cable, each a chance a frame."""

    damage: float = 0.0
    foreign: float = 0.0
    seed: int = 1


class EthernetBoard(SimulatedBoard):
    """As SimulatedBoard, with `address` in place of a serial port; it stays when the part is configured anew."""

    def __init__(
        self,
        board: Board,
        registry: Mapping[str, Path],
        *,
        cable: CableFaults | None = None,
        awake_s: float = AWAKE_S,
    ) -> None:
        super().__init__(board, registry, awake_s=awake_s)
        self._faults = cable or CableFaults()
        self.ended: list[EthernetRun] = []

    def _open_line(self) -> None:
        for _ in range(_TRIES):
            line, counters = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
            line.bind(("127.0.0.1", 0))
            port = line.getsockname()[1]
            try:
                counters.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                line.close()
                counters.close()
                continue
            self._sockets = (line, counters)
            self.address = Address(IPv4Address("127.0.0.1"), port)
            return
        raise OSError(f"no two neighbouring UDP ports are free on 127.0.0.1 in {_TRIES} tries")

    def _line(self) -> tuple[list[str], tuple[int, ...]]:
        line, counters = (each.fileno() for each in self._sockets)
        faults = self._faults
        told = ["--damage", str(faults.damage), "--foreign", str(faults.foreign), "--seed", str(faults.seed)]
        return ["--line", str(line), "--counters", str(counters), *told], (line, counters)

    def _close_line(self) -> None:
        for each in self._sockets:
            each.close()

    def _lose(self) -> None:
        for each in self._sockets:
            each.setblocking(False)
            for _ in range(4096):
                try:
                    each.recv(2048)
                except OSError:
                    break

    def _ended(self, report: dict[str, Any]) -> None:
        run = EthernetRun(**report)
        self.runs.append(run)
        self.ended.append(run)
