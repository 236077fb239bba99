"""Boards with a gigabit PHY as data: pins, delays, constraints."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from test_ethernet_top import core

from designs import boards
from designs.boards import BoardError
from designs.boards.ethernet import bitstream, pins
from designs.boards.ethernet.address import Address
from designs.boards.ethernet.pins import PORTS
from designs.boards.shell.top import Items


def test_who_has_one() -> None:
    assert pins.names() == ["colorlight-i5", "ecpix5-45f", "ecpix5-85f"]
    with pytest.raises(
        BoardError, match=r"ulx3s-85f: no Ethernet here; boards that have it: colorlight-i5, ecpix5-45f"
    ):
        pins.load(boards.load("ulx3s"))


@pytest.mark.parametrize("name", pins.names())
def test_every_port_is_placed_once_and_no_site_is_used_twice(name: str) -> None:
    board = boards.load(name)
    phy = pins.load(board)
    text = board.constraints.read_text() + phy.constraints()
    sites = re.findall(r'LOCATE COMP "(.*)" SITE "(.*)";', text)
    assert max(Counter(port for port, _ in sites).values()) == 1
    assert max(Counter(site for _, site in sites).values()) == 1
    every = {f"{port}[{i}]" if width > 1 else port for port, width in PORTS.items() for i in range(width)}
    assert every <= {port for port, _ in sites}
    assert every <= set(re.findall(r'IOBUF PORT "(\S*)"', phy.constraints()))
    assert 'FREQUENCY PORT "rgmii_rx_clk" 125.0 MHz;' in text
    # Either the PHY or the FPGA delays in each direction, by about a quarter of the clock.
    assert (phy.transmit_taps, phy.receive_taps) in ((80, 0), (0, 80))
    assert phy.socket
    assert phy.phy


def test_the_ports_of_the_top_are_those_of_the_constraints() -> None:
    board = boards.load("colorlight-i5")
    planned = bitstream.plan(core(), board, mhz=48, items=Items(1, 1), address=Address.of("10.0.0.9:77"))
    declared = planned.text[planned.text.index("module board_top") :].split(");")[0]
    ports = set(re.findall(r"(?:input|output) wire (?:\[\d+:0\] )?(\w+)", declared))
    located = re.findall(r'LOCATE COMP "(.*)" SITE', planned.board.constraints.read_text())
    placed = {re.sub(r"\[\d+\]", "", port) for port in located}
    assert ports == placed
    assert "32'h0a000009" in planned.text
    assert "48'h02470a000009" in planned.text
    assert ".PORT(16'd77)" in planned.text
    assert planned.board.constraints.name == "colorlight-i5.lpf"
    assert bitstream.plan(core(), board, mhz=48, items=Items(1, 1)).text != planned.text
    own = bitstream.sources_of(board)
    assert {"designs/boards/ethernet/colorlight-i5.toml", "designs/boards/colorlight-i5.lpf",
            "designs/boards/ethernet/eth_receive.sv", "designs/lib/async_fifo.sv"} <= set(own)  # fmt: skip
    with pytest.raises(BoardError, match=r"a clock of 0 MHz cannot be"):
        bitstream.plan(core(), board, mhz=0, items=Items(1, 1))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("receive = 0", "receive = 4000", r"a delay of 4000 ps; an ECP5 delays by 0 to 3175 ps"),
        ('rgmii_rxd = ["B11", ', "rgmii_rxd = [", r"rgmii_rxd needs 4 sites, has 3"),
        ('rgmii_tx_clk = "A12"\n', "", r"missing 'rgmii_tx_clk'"),
    ],
)
def test_a_broken_file_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str
) -> None:
    text = (pins.FOLDER / "ecpix5.toml").read_text()
    assert old in text
    (tmp_path / "ecpix5.toml").write_text(text.replace(old, new))
    monkeypatch.setattr(pins, "FOLDER", tmp_path)
    with pytest.raises(BoardError, match=said):
        pins.names()
