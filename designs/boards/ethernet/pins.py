"""Boards with a gigabit PHY as data: one TOML file a board family in this folder, with the pins and the delays.

pins = load(boards.load("ecpix5-85f"))
pins.phy, pins.transmit_taps, pins.constraints()
names() == ["colorlight-i5", "ecpix5-45f", "ecpix5-85f"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from designs.boards import Board, BoardError

FOLDER = Path(__file__).resolve().parent

#: Picoseconds of one tap of an ECP5's delay element, and the most taps.
TAP_PS, TAPS = 25, 127

#: Clock of a gigabit PHY, Hz.
ETHERNET_HZ = 125_000_000

#: Ports of the top, each with its width.
PORTS: Mapping[str, int] = {
    "phy_rst_n": 1, "rgmii_rx_clk": 1, "rgmii_rx_ctl": 1, "rgmii_rxd": 4, "rgmii_tx_clk": 1, "rgmii_tx_ctl": 1,
    "rgmii_txd": 4,
}  # fmt: skip


@dataclass(frozen=True)
class Pins:
    """A PHY on a board: the sites of each port, which ports are pulled up, and delays of the FPGA in taps of 25 ps."""

    file: Path
    boards: tuple[str, ...]
    phy: str
    socket: str
    standard: str
    transmit_taps: int
    receive_taps: int
    sites: Mapping[str, tuple[str, ...]]
    pulled_up: tuple[str, ...]

    def constraints(self) -> str:
        """Lines of an LPF file."""
        lines = [f"# {self.phy}; sources are named in {self.file.name}."]
        for port, sites in self.sites.items():
            for place, site in enumerate(sites):
                name = f"{port}[{place}]" if len(sites) > 1 else port
                pull = " PULLMODE=UP" if port in self.pulled_up else ""
                lines += [f'LOCATE COMP "{name}" SITE "{site}";']
                lines += [f'IOBUF PORT "{name}"{pull} IO_TYPE={self.standard};']
        lines += [f'FREQUENCY PORT "rgmii_rx_clk" {ETHERNET_HZ / 1e6} MHz;']
        return "\n".join(lines) + "\n"


def names() -> list[str]:
    """Boards that can be reached over Ethernet, sorted."""
    return sorted(name for pins in _every() for name in pins.boards)


def load(board: Board) -> Pins:
    """The PHY of a board. Errors: BoardError for a board without one, listing those that have one."""
    found = next((pins for pins in _every() if board.name in pins.boards), None)
    if found is None:
        raise BoardError(
            f"{board.name}: no Ethernet here; boards that have it: {', '.join(names())}; leave --transport out to use "
            "the serial line"
        )
    return found


def _every() -> list[Pins]:
    return [_read(path) for path in sorted(FOLDER.glob("*.toml"))]


def _read(path: Path) -> Pins:
    data = tomllib.loads(path.read_text())
    try:
        given, delays = data["pins"], data["delay_ps"]
        sites = {port: given[port] if isinstance(given[port], list) else [given[port]] for port in PORTS}
        found = Pins(
            file=path,
            boards=tuple(data["boards"]),
            phy=data["phy"],
            socket=data["socket"],
            standard=data["standard"],
            transmit_taps=_taps(path, delays["transmit"]),
            receive_taps=_taps(path, delays["receive"]),
            sites={port: tuple(each) for port, each in sites.items()},
            pulled_up=tuple(given["pulled_up"]),
        )
    except KeyError as error:
        raise BoardError(f"{path}: missing {error}") from None
    for port, width in PORTS.items():
        if len(found.sites[port]) != width:
            raise BoardError(f"{path}: {port} needs {width} sites, has {len(found.sites[port])}")
    return found


def _taps(path: Path, delay_ps: int) -> int:
    taps = round(delay_ps / TAP_PS)
    if not 0 <= taps <= TAPS:
        raise BoardError(f"{path}: a delay of {delay_ps} ps; an ECP5 delays by 0 to {TAPS * TAP_PS} ps")
    return taps
