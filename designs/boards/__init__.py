"""Lab boards as data: one TOML file a board in this folder, its file name the board's name.

    board = load("ulx3s-85f")
    board.part, board.clock_hz, board.constraints

Adding a board touches nothing else: a TOML file and its pin constraints.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


class BoardError(ValueError):
    """An unknown board, or a board file that breaks its contract; the message names the way out."""


@dataclass(frozen=True)
class Board:
    """One board: the part and how nextpnr names it, the oscillator, the serial port, and other pins by port name.

    `uart_receive` and `uart_transmit` are seen from the FPGA; rates in baud, clock in Hz, `idcode` as read over JTAG.
    `high` are outputs that a design drives to one. `constraints` is the LPF file.
    """

    name: str
    title: str
    part: str
    nextpnr: str
    package: str
    speed: int
    idcode: int
    openfpgaloader: str
    clock_port: str
    clock_hz: int
    uart_receive: str
    uart_transmit: str
    default_baud: int
    highest_baud: int
    reset_button: str
    leds: str
    led_count: int
    high: tuple[str, ...]
    constraints: Path


def names() -> list[str]:
    """Names of all boards, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str) -> Board:
    """Read a board by name; BoardError lists the boards there are, or names what is wrong in the file."""
    if name not in names():
        raise BoardError(f"unknown board {name!r}; boards: {', '.join(names())}")
    path = FOLDER / f"{name}.toml"
    try:
        data = tomllib.loads(path.read_text())
        device, clock, uart, pins = data["device"], data["clock"], data["uart"], data["pins"]
        board = Board(
            name=data["name"],
            title=data["title"],
            part=data["part"],
            nextpnr=device["nextpnr"],
            package=device["package"],
            speed=device["speed"],
            idcode=device["idcode"],
            openfpgaloader=device["openfpgaloader"],
            clock_port=clock["port"],
            clock_hz=clock["hz"],
            uart_receive=uart["receive"],
            uart_transmit=uart["transmit"],
            default_baud=uart["default_baud"],
            highest_baud=uart["highest_baud"],
            reset_button=pins["reset_button"],
            leds=pins["leds"],
            led_count=pins["led_count"],
            high=tuple(pins["high"]),
            constraints=FOLDER / pins["constraints"],
        )
    except tomllib.TOMLDecodeError as error:
        raise BoardError(f"{path}: {error}") from None
    except KeyError as error:
        raise BoardError(f"{path}: missing {error}") from None
    if board.name != name:
        raise BoardError(f"{path}: its name {board.name!r} is not its file name")
    if not board.constraints.is_file():
        raise BoardError(f"{path}: no constraints file {board.constraints}")
    return board
