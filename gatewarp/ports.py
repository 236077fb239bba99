"""The serial port of a board that is plugged in, among all the machine has."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from designs.boards import Board
from designs.boards.line_errors import NoPort, PortBusy, PortForbidden
from designs.boards.program import Found
from designs.boards.serial_line import ports

#: Seconds that a port may be away. The bridge of a ULX3S is programmer and port in one: openFPGALoader takes the port's
#: driver off it and puts it back, udev then gives the rights, and a modem manager may look at the new port first.
AWAY_S = 5.0

T = TypeVar("T")


def when_back(act: Callable[[], T]) -> T:
    """Do something with a port that programming may have taken away: again until it works, for `AWAY_S` at most.

    Errors: those of `act`; NoPort, PortForbidden and PortBusy only once the time is over.
    """
    end = time.monotonic() + AWAY_S
    while True:
        try:
            return act()
        except (NoPort, PortForbidden, PortBusy):
            if time.monotonic() >= end:
                raise
        time.sleep(0.1)


def port_of(board: Board, found: Found, given: str | None) -> str:
    """The port that was given, or the one of the USB bridge that was found.

    Errors: NoPort naming the ports there are, where none or several could be meant.
    """
    if given:
        return given
    if board.bridge == "external":
        raise NoPort(
            f"{board.title} has no serial port of its own: wire an adapter to its pins (docs/boards.md) and name its "
            f"port with --port; ports here: {', '.join(ports()) or 'none'}"
        )
    mine = _of_bridge(board, found)
    if len(mine) == 1:
        return mine[0]
    if mine:
        raise NoPort(f"{len(mine)} serial ports may be of {board.title}: {', '.join(mine)}; choose one with --port")
    raise NoPort(
        f"no serial port of {board.title} (USB {' or '.join(board.usb) or 'id unknown'}); ports here: "
        f"{', '.join(ports()) or 'none'}; name one with --port"
    )


def usb_ports() -> list[tuple[str, ListPortInfo]]:
    """All serial ports behind USB, each with the ids (vendor:product) of its bridge."""
    return [(f"{p.vid:04x}:{p.pid:04x}", p) for p in list_ports.comports() if p.vid is not None]


def _of_bridge(board: Board, found: Found) -> list[str]:
    here = [port for usb, port in usb_ports() if usb in board.usb]
    wanted = found.probe.serial if found.probe else ""
    named = [port for port in here if wanted and port.serial_number == wanted]
    chosen = named or here
    devices = sorted((str(port.device) for port in chosen), key=lambda name: (len(name), name))
    return [devices[board.serial_index]] if named else devices
