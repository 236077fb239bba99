"""What the project of a vendor board needs beyond `Board`: the part's full name, the platform, the way to its bytes.

load("vc709").part == "xc7vx690tffg1761-2"
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from designs import boards
from designs.boards import Board, BoardError
from designs.boards.vendor.clocks import fclk, mmcm

FOLDER = Path(__file__).resolve().parent

#: How the host reaches the design: over the board's serial port, or over a bridge program beside the design.
TRANSPORTS = ("serial", "bridge")


@dataclass(frozen=True)
class VendorBoard:
    """A board that the vendor's tools build.

    `part` is Vivado's full name, `board_part` the board's in Vivado's board store ("" without), `platform` that of
    Vitis ("" for Vivado), `transport` one of TRANSPORTS.
    """

    board: Board
    part: str
    board_part: str
    platform: str
    transport: str

    @property
    def name(self) -> str:
        """The board's name."""
        return self.board.name


def names() -> list[str]:
    """Names of the vendor boards, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str) -> VendorBoard:
    """A vendor board by name or alias. Errors: BoardError, also for a board that the open flow builds."""
    board = boards.load(name)
    path = FOLDER / f"{board.name}.toml"
    if board.family != "xilinx" or not path.is_file():
        raise BoardError(f"{board.name} is not built by the vendor's tools; those are: {', '.join(names())}")
    table = tomllib.loads(path.read_text()).get("vendor", {})
    try:
        found = VendorBoard(board, *(table[key] for key in ("part", "board_part", "platform", "transport")))
    except KeyError as error:
        raise BoardError(f"{path}: [vendor] misses {error}") from None
    if found.transport not in TRANSPORTS:
        raise BoardError(f"{path}: no transport {found.transport!r}; known: {', '.join(TRANSPORTS)}")
    return found


def clock_hz(vendor: VendorBoard, mhz: float) -> float:
    """The exact clock (Hz) that a design gets on the board when `mhz` is asked for. Errors: PllError, BoardError."""
    board = vendor.board
    if vendor.platform:
        if mhz < 1 or mhz != int(mhz):
            raise BoardError(f"{board.name}: v++ takes kernel clocks of whole MHz, not {mhz:g}")
        return mhz * 1e6
    if vendor.transport == "serial":
        return mmcm(board.clock_hz, mhz * 1e6).frequency_hz
    return fclk(board.clock_hz, mhz * 1e6).frequency_hz


def plain(vendor: VendorBoard, clock: float) -> Board:
    """The board as a design sees it whose clock (Hz) is made outside: a single-ended `clk` at that rate, and `reset`.

    `reset` is the button or a clock that is not locked.
    """
    return replace(vendor.board, clock_port="clk", clock_hz=round(clock), reset_button="reset", reset_pressed=1)
