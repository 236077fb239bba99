"""Boards: the loader, PLL dividers, and a board top simulated at its serial pins and built to a bitstream."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from designs import boards
from designs.boards import BoardError, pll, top
from designs.flow import ecppack, nextpnr, yosys
from designs.flow.verilator import lint, simulate
from designs.lib import source

HERE = Path(__file__).parent
CORE = [HERE / "loopback_core.sv", *source("credit_stream")]
BITS = 21


def board() -> boards.Board:
    return boards.load("ulx3s-85f")


def write_top(folder: Path, clock_mhz: float, baud: int) -> Path:
    path = folder / "board_top.sv"
    path.write_text(top.uart_top("loopback_core", BITS, BITS, board(), clock_mhz, baud))
    return path


def core(word: int) -> int:
    return (word & 1 << 20) | (word + 1 & (1 << 20) - 1)


def test_load_all() -> None:
    assert "ulx3s-85f" in boards.names()
    loaded = board()
    assert (loaded.part, loaded.nextpnr, loaded.package, loaded.speed) == ("lfe5u-85f", "85k", "CABGA381", 6)
    assert (loaded.clock_hz, loaded.idcode) == (25_000_000, 0x41113043)


def test_every_port_of_the_top_has_a_pin() -> None:
    loaded = board()
    ports = [loaded.clock_port, loaded.uart_receive, loaded.uart_transmit, loaded.reset_button, *loaded.high]
    ports += [f"{loaded.leds}[{i}]" for i in range(loaded.led_count)]
    constraints = loaded.constraints.read_text()
    for port in ports:
        assert f'LOCATE COMP "{port}" SITE' in constraints
        assert f'IOBUF PORT "{port}"' in constraints


def test_unknown_board_lists_the_boards() -> None:
    with pytest.raises(BoardError, match=r"unknown board 'ulx4'; boards: .*ulx3s-85f"):
        boards.load("ulx4")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("speed = 6", "", "missing 'speed'"),
        ('name = "ulx3s-85f"', 'name = "other"', "is not its file name"),
        ("ulx3s.lpf", "none.lpf", "no constraints file"),
        ("[clock]", "[clock", "Expected ']'"),
    ],
)
def test_broken_board_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str) -> None:
    text = (boards.FOLDER / "ulx3s-85f.toml").read_text()
    assert old in text
    (tmp_path / "ulx3s-85f.toml").write_text(text.replace(old, new))
    (tmp_path / "ulx3s.lpf").write_text("")
    monkeypatch.setattr(boards, "FOLDER", tmp_path)
    with pytest.raises(BoardError, match=message):
        boards.load("ulx3s-85f")


@pytest.mark.parametrize(
    ("wanted", "exact"),
    [(120.0, 120.0), (125.0, 125.0), (25.0, 25.0), (133.0, 133.333), (7.3, 7.2917), (400.0, 400.0)],
)
def test_pll(wanted: float, exact: float) -> None:
    found = pll.solve(25e6, wanted * 1e6)
    assert found.frequency_hz / 1e6 == pytest.approx(exact, abs=0.05)
    assert found.frequency_hz == pytest.approx(25e6 / found.clki_div * found.clkop_div / found.clkos_div)
    assert 400e6 <= found.vco_hz <= 800e6
    assert 25e6 / found.clki_div >= 10e6
    assert all(1 <= divider <= 128 for divider in found.parameters.values())


@pytest.mark.parametrize(
    ("source_hz", "wanted_hz", "message"),
    [(25e6, 401e6, "outside what the PLL gives"), (25e6, 3e6, "outside what"), (1e6, 1e8, "input of 1 MHz")],
)
def test_pll_refuses(source_hz: float, wanted_hz: float, message: str) -> None:
    with pytest.raises(pll.PllError, match=message):
        pll.solve(source_hz, wanted_hz)


def test_pll_tolerance_names_the_next_frequency() -> None:
    with pytest.raises(pll.PllError, match=r"next: 368\.75"):
        pll.solve(25e6, 371e6, tolerance=0.001)


def test_baud() -> None:
    assert top.clocks_per_bit(120e6, 1_000_000) == 120
    with pytest.raises(BoardError, match="needs a clock of at least 12 MHz"):
        top.clocks_per_bit(10e6, 3_000_000)
    with pytest.raises(BoardError, match="only within"):
        top.clocks_per_bit(13.3e6, 3_000_000)
    with pytest.raises(BoardError, match="above the 3000000"):
        top.uart_top("x", 8, 8, board(), 120, 4_000_000)
    with pytest.raises(BoardError, match="at least one bit"):
        top.uart_top("x", 0, 8, board(), 120)


def test_top_at_the_serial_pins(tmp_path: Path) -> None:
    written = write_top(tmp_path, clock_mhz=24, baud=3_000_000)
    sources = [written, *CORE, *top.uart_top_sources(simulated=True)]
    lint("board_top", sources)
    words = np.random.default_rng(5).integers(0, 1 << BITS, size=40)
    words[:2] = 0, (1 << BITS) - 1
    result = simulate(
        "board_top",
        sources,
        HERE / "bench_board_top.py",
        results=tmp_path / "results",
        vectors={"words": words},
        env={"GATEWARP_CLOCKS": "8", "GATEWARP_IN_BYTES": "3", "GATEWARP_OUT_BYTES": "3"},
    )
    assert result.passed, result.message
    answers = result.payload["answers"].astype(int).reshape(-1, 3) @ [1, 1 << 8, 1 << 16]
    assert answers.tolist() == [core(int(word)) for word in words]
    for name, word in (("after_break", words[0]), ("after_button", words[1])):
        assert bytes(result.payload[name].tolist()) == core(int(word)).to_bytes(3, "little")


def test_top_to_a_bitstream(tmp_path: Path) -> None:
    loaded = board()
    written = write_top(tmp_path, clock_mhz=120, baud=1_000_000)
    synthesis = yosys.synth_ecp5("board_top", [written, *CORE, *top.uart_top_sources()])
    routing = nextpnr.place_and_route(
        synthesis.json,
        device=loaded.nextpnr,
        package=loaded.package,
        speed=loaded.speed,
        lpf=loaded.constraints,
        clock=top.CLOCK,
    )
    assert routing.target_hz == pytest.approx(120e6, rel=1e-3), "the clock comes from the PLL's dividers"
    assert routing.met
    assert routing.fmax_hz > 150e6
    bitstream = ecppack.pack(routing.textcfg, idcode=loaded.idcode).read_bytes()
    assert b"LFE5U-85F-6CABGA381" in bitstream[:200]
    assert loaded.idcode.to_bytes(4, "big") in bitstream[:600]
