"""What is plugged in: the USB bridges that boards have, the boards that each may be, their serial ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from designs import boards
from designs.boards import Board
from designs.boards.program import probes
from designs.boards.program_errors import udev_rule
from gatewarp.ports import usb_ports

#: Families of which a board can be simulated.
SIMULATED = ("ecp5",)


@dataclass(frozen=True)
class Plugged:
    """A USB bridge: its ids, serial number, boards that have such a one, its serial ports, and what is in the way."""

    usb: str
    serial: str
    boards: tuple[str, ...]
    ports: tuple[str, ...]
    note: str = ""


def plugged() -> Iterator[Plugged]:
    """All bridges that a board of ours may have. Errors: MissingTool."""
    known = [boards.load(name) for name in boards.names()]
    found, closed = probes()
    seen: set[tuple[str, str]] = set()
    for probe in found:
        if names := _boards_with(known, probe.usb):
            seen.add((probe.usb, probe.serial))
            yield Plugged(probe.usb, probe.serial, names, _ports(probe.usb, probe.serial))
    for usb in dict.fromkeys(closed):
        if names := _boards_with(known, usb):
            rule = f"permission denied; add to /etc/udev/rules.d/70-gatewarp.rules: {udev_rule(usb)}"
            yield Plugged(usb, "", names, _ports(usb, ""), rule)
    for usb, port in usb_ports():  # adapters that only carry a serial port
        names = _boards_with(known, usb)
        if names and usb not in {each for each, _ in seen} and usb not in closed:
            yield Plugged(usb, port.serial_number or "", names, (port.device,))


def simulated() -> list[str]:
    """Boards that `gatewarp deploy --simulated` has."""
    return [name for name in boards.names() if boards.load(name).family in SIMULATED]


def _boards_with(known: Sequence[Board], usb: str) -> tuple[str, ...]:
    return tuple(board.name for board in known if usb in board.usb)


def _ports(usb: str, serial: str) -> tuple[str, ...]:
    here = [port for each, port in usb_ports() if each == usb]
    return tuple(sorted(p.device for p in here if not serial or p.serial_number in (serial, None)))
