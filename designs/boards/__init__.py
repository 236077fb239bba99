"""Lab boards as data: one TOML file a board in this folder, its file name the board's name.

    board = load("ulx3s-85f")
    board.part, board.clock_hz, board.constraints
    load("ulx3s").name == "ulx3s-85f"           by an alias

Adding a board touches nothing else: a TOML file and its pin constraints. A file of the same name in `later/` adds facts
to a board whose own file is part of the content hash of shipped records and so stays as it is. Boards that the vendor's
tools build are in `vendor/`; their files have a table more, which `designs.boards.vendor.facts` reads.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent

#: Families of parts; `designs.boards.families` has a flow for each but `xilinx`, which the vendor's tools build.
FAMILIES = ("ecp5", "ice40", "gowin", "gatemate", "xilinx")

#: Flows: `open` is Yosys and nextpnr, `vivado` and `vitis` are the vendor's.
FLOWS = ("open", "vivado", "vitis")


class BoardError(ValueError):
    """An unknown board, or a board file that breaks its contract; the message names the way out."""


@dataclass(frozen=True)
class Board:
    """One board: the part and how nextpnr names it, the oscillator, the serial port, and other pins by port name.

    `uart_receive` and `uart_transmit` are seen from the FPGA; rates in baud, clock in Hz, `idcode` as read over JTAG
    (0: the part is not configured over JTAG). `high` are outputs that a design drives to one. `constraints` is the file
    with the pins: LPF, PCF, CST or CCF.

    `usb` are the vendor:product ids of the bridge by which the board is recognised, in lower case; `product` is in the
    name that the bridge gives itself, for a part without IDCODE whose bridge other boards have too. `cable` is
    openFPGALoader's name of the cable where `openfpgaloader`, its name of the board, does not imply it. `bridge` says
    what carries the serial port; `external` means pins for an adapter of the user's own. `serial_index` is which of the
    bridge's ports it is, in order of their names: of the two channels of an FTDI the last, the first is JTAG. `sram` is
    false where openFPGALoader cannot load the part without writing flash. `reset_pressed` is what the button reads when
    pressed, `led_on` the level that lights an LED.
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
    family: str = "ecp5"
    flow: str = "open"
    aliases: tuple[str, ...] = ()
    usb: tuple[str, ...] = ()
    product: str = ""
    cable: str = ""
    bridge: str = ""
    serial_index: int = -1
    sram: bool = True
    reset_pressed: int = 1
    led_on: int = 1


def names() -> list[str]:
    """Names of all boards, sorted, without aliases."""
    return sorted(path.stem for folder in (FOLDER, FOLDER / "vendor") for path in folder.glob("*.toml"))


def load(name: str) -> Board:
    """Read a board by name or alias; BoardError lists the boards there are, or names what is wrong in the file."""
    if name not in names():
        name = _by_alias(name)
    path = _file(name)
    try:
        data = _data(name)
        device, clock, uart, pins = data["device"], data["clock"], data["uart"], data["pins"]
        usb = data.get("usb", {})
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
            family=device.get("family", "ecp5"),
            flow=device.get("flow", "open"),
            aliases=tuple(data.get("aliases", ())),
            usb=tuple(usb.get("ids", ())),
            product=usb.get("product", ""),
            cable=usb.get("cable", ""),
            bridge=uart.get("bridge", ""),
            serial_index=uart.get("index", -1),
            sram=device.get("sram", True),
            reset_pressed=pins.get("reset_pressed", 1),
            led_on=pins.get("led_on", 1),
        )
    except KeyError as error:
        raise BoardError(f"{path}: missing {error}") from None
    if board.name != name:
        raise BoardError(f"{path}: its name {board.name!r} is not its file name")
    if board.family not in FAMILIES or board.flow not in FLOWS:
        known = f"families: {', '.join(FAMILIES)}; flows: {', '.join(FLOWS)}"
        raise BoardError(f"{path}: no family {board.family!r} or no flow {board.flow!r}; {known}")
    if board.flow != "vitis" and not board.constraints.is_file():  # a platform of Vitis owns the pins
        raise BoardError(f"{path}: no constraints file {board.constraints}")
    return board


def _file(name: str) -> Path:
    path = FOLDER / f"{name}.toml"
    return path if path.is_file() else FOLDER / "vendor" / f"{name}.toml"


def _data(name: str) -> dict[str, Any]:
    """A board's file with the tables of `later/` added."""
    data: dict[str, Any] = {}
    for path in (_file(name), FOLDER / "later" / f"{name}.toml"):
        if path.is_file():
            try:
                content = tomllib.loads(path.read_text())
            except tomllib.TOMLDecodeError as error:
                raise BoardError(f"{path}: {error}") from None
            for key, value in content.items():
                data[key] = {**data[key], **value} if isinstance(data.get(key), dict) else value
    return data


def _by_alias(alias: str) -> str:
    others = {name: tuple(_data(name).get("aliases", ())) for name in names()}
    found = [name for name, aliases in others.items() if alias in aliases]
    if len(found) != 1:
        problem = f"{alias!r} is an alias of {' and '.join(found)}" if found else f"unknown board {alias!r}"
        listed = ", ".join(f"{name} (or {', '.join(aliases)})" if aliases else name for name, aliases in others.items())
        known = [*others, *(each for aliases in others.values() for each in aliases)]
        close = difflib.get_close_matches(alias.lower(), known, n=1)
        meant = f"; did you mean {close[0]}?" if close and not found else ""
        raise BoardError(f"{problem}; boards: {listed}{meant}")
    return found[0]
