"""Each family of parts from a small top to a bitstream: pins, clock, IDCODE. The shell is a command: docs/boards.md."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from designs import boards
from designs.boards import Board, BoardError, clocking, ecp5, families
from designs.boards.families import __main__ as command
from designs.boards.families import gowin, implement
from designs.flow.tools import FlowError
from designs.lib import source

#: A board of each family and a clock in MHz that its PLL makes.
BOARDS = [("ulx3s-12f", 50.0), ("icebreaker", 24.0), ("tangnano9k", 54.0), ("gatemate-a1-evb", 25.0)]


def blink(board: Board, mhz: float) -> str:
    """A counter on the LEDs, the serial line echoed, the button as reset."""
    leds = f"output wire [{board.led_count - 1}:0] {board.leds}"
    high = "".join(f",\n    output wire {port}" for port in board.high)
    return f"""`default_nettype none
module board_top (
    input wire {board.clock_port},
    input wire {board.reset_button},
    input wire {board.uart_receive},
    output wire {board.uart_transmit},
    {leds}{high}
);
{clocking.of(board, mhz).text}
  wire rst;
  reset_sync u_reset (.clk(clk), .ready(locked && {board.reset_button} != 1'b{board.reset_pressed}), .rst(rst));
  logic [23:0] count;
  logic heard;
  always_ff @(posedge clk) count <= rst ? '0 : count + 1'b1;
  always_ff @(posedge clk) heard <= {board.uart_receive};
  assign {board.uart_transmit} = heard;
  assign {board.leds} = {{{board.led_count}{{count[23]}}}};
  {"".join(f"assign {port} = 1'b1;" for port in board.high)}
endmodule
`default_nettype wire
"""


@pytest.mark.parametrize(("name", "mhz"), BOARDS)
def test_a_small_top_to_a_bitstream(name: str, mhz: float) -> None:
    board = boards.load(name)
    built = implement(blink(board, mhz), source("reset_sync"), board, mhz)
    print(built)
    assert built.met
    assert built.clock == "clk"
    assert built.target_hz == pytest.approx(mhz * 1e6, rel=1e-3), "the clock is the PLL's"
    assert built.fmax_hz > 1.5 * mhz * 1e6
    assert 24 < built.resources["ffs"] < 60
    assert set(built.resources) >= {"luts", "ffs", "brams"}
    assert all(built.resources[key] <= built.available[key] for key in built.resources)
    content = built.bitstream.read_bytes()
    assert len(content) > 4_000, "GateMate's holds only the tiles in use"
    if board.family == "ecp5":
        assert ecp5.bitstream_idcode(content) == board.idcode
    if board.family == "gowin":
        assert gowin.idcode(built.bitstream) == board.idcode
    assert str(built).startswith(f"{built.fmax_hz / 1e6:.1f} MHz, met at ")
    assert implement(blink(board, mhz), source("reset_sync"), board, mhz) == built, "from the cache"


def test_who_waits_for_a_synthesis_has_that_of_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWARP_CACHE", str(tmp_path))
    for (name, mhz), netlists in zip(BOARDS[:2], (1, 0), strict=True):
        board = boards.load(name)
        families.until_synthesised(blink(board, mhz), source("reset_sync"), board, mhz)
        assert len(list(tmp_path.glob("*/netlist.json"))) == netlists, name
        shutil.rmtree(tmp_path, ignore_errors=True)
    board, mhz = boards.load("ulx3s-12f"), 50.0
    families.until_synthesised(blink(board, mhz), source("reset_sync"), board, mhz)
    routed: list[Path] = []

    def route(netlist: Path, **_: object) -> None:
        routed.append(netlist)
        raise FlowError("stopped here")

    monkeypatch.setattr(families.ecp5.nextpnr, "place_and_route", route)
    with pytest.raises(FlowError, match="stopped here"):
        implement(blink(board, mhz), source("reset_sync"), board, mhz)
    assert routed == list(tmp_path.glob("*/netlist.json")), "it was made once"


def test_a_seed_is_a_placement_of_its_own() -> None:
    board = boards.load("icebreaker")
    one, two = (implement(blink(board, 24), source("reset_sync"), board, 24, seed) for seed in (1, 2))
    assert one.bitstream != two.bitstream
    assert (one.seed, two.seed) == (1, 2)


def test_options_reach_place_and_route() -> None:
    for name, mhz in BOARDS[:2]:
        board = boards.load(name)
        plain = implement(blink(board, mhz), source("reset_sync"), board, mhz)
        built = implement(blink(board, mhz), source("reset_sync"), board, mhz, options=["--placer", "static"])
        assert (plain.options, built.options) == ((), ("--placer", "static"))
        assert ("Static placer" in built.log.read_text(), "Static placer" in plain.log.read_text()) == (True, False)


def test_a_top_for_another_clock_is_refused() -> None:
    board = boards.load("icebreaker")
    with pytest.raises(FlowError, match=r"the top is for 30 MHz, but place and route found a clock of 24\.\d+ MHz"):
        implement(blink(board, 24), source("reset_sync"), board, 30)


@pytest.mark.parametrize("name", ["icebreaker", "tangnano9k", "gatemate-a1-evb"])
def test_errors_of_the_tools_come_through(name: str) -> None:
    board = boards.load(name)
    with pytest.raises(FlowError, match=r"(?s)Yosys failed.*ERROR.*log: "):
        implement(blink(board, 24).replace("reset_sync", "no_such_module"), [], board, 24)


def test_a_port_without_a_pin_is_refused() -> None:
    board = boards.load("gatemate-a1-evb")
    text = blink(board, 25).replace("input wire uart_rx,", "input wire uart_rx,\n    input wire stray,")
    text = text.replace("heard <= uart_rx", "heard <= uart_rx ^ stray")
    with pytest.raises(FlowError, match=r"(?s)stray.*unconstrained"):
        implement(text, source("reset_sync"), board, 25)


@pytest.mark.parametrize(("name", "mhz"), BOARDS[2:])
def test_a_module_that_is_kept_apart(tmp_path: Path, name: str, mhz: float) -> None:
    board = boards.load(name)
    apart = tmp_path / "apart.sv"
    apart.write_text("(* keep_hierarchy *)\nmodule apart (input wire a, output wire y);\n  assign y = !a;\nendmodule\n")
    text = blink(board, mhz).replace(
        "  logic heard;", "  logic heard, turned;\n  apart u_apart (.a(heard), .y(turned));"
    )
    text = text.replace(f"{board.uart_transmit} = heard", f"{board.uart_transmit} = turned")
    assert implement(text, [apart, *source("reset_sync")], board, mhz).met


def test_a_vendor_board_has_no_open_flow() -> None:
    with pytest.raises(BoardError, match="vendor project"):
        implement("", [], boards.load("pynq-z2"), 100)


def test_every_part_of_gowin_has_its_database() -> None:
    parts = {boards.load(name).part for name in boards.names() if boards.load(name).family == "gowin"}
    assert parts == set(gowin.DATABASES)


def test_packages_of_each_family() -> None:
    for name, _ in BOARDS:
        packages = families.packages(boards.load(name))
        assert packages[0] == "pyosys"
        assert any("nextpnr" in package for package in packages)


def test_the_command_names_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["ulx4", "pynq-z2", "icebreaker", "--mhz", "2"]) == 3
    said = capsys.readouterr().err.splitlines()
    assert re.match(r"ulx4: unknown board 'ulx4'; boards: ", said[0])
    assert said[1] == "pynq-z2: pynq-z2: no open flow for xilinx"
    assert said[2].startswith("icebreaker: a clock of 2 MHz is outside")
