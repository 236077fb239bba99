"""A whole top at the RGMII pins of the ECPIX-5: how long an item takes on the cable, and how much goes over it."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from designs import boards
from designs.boards import clocking
from designs.boards.ethernet import pins
from designs.boards.ethernet.address import Address
from designs.boards.ethernet.top import ethernet_sources, ethernet_top
from designs.boards.shell.top import Items, shell_sources
from designs.flow.evidence import Core
from designs.flow.verilator import SimulationResult, lint, simulate
from designs.lib import source

HERE = Path(__file__).parent
MHZ = 48.0
#: Bytes each way in the test of payload.
PAYLOAD = int(os.environ.get("GATEWARP_LINE_BYTES", "3600")) // 720 * 720


def core() -> Core:
    """Words of 21 bits that come back as they are."""
    files = (HERE.parent / "loopback_core.sv", *source("credit_stream"))
    return Core("test", "loopback", "", "fixed", "loopback_core", files, 21, 21, "0123456789abcdef" * 4, {})


def sources(folder: Path, name: str, address: str | None = None) -> list[Path]:
    board = boards.load(name)
    clock = clocking.of(board, MHZ)
    text = ethernet_top(core(), board, clock, pins.load(board), Address.of(address), items=Items(1, 1))
    at = text.index("// Written by designs.boards.ethernet")
    shelled, top = folder / "shelled.sv", folder / "board_top.sv"
    shelled.write_text(text[:at])
    top.write_text(text[at:])
    every = [*shell_sources(), *ethernet_sources(simulated=True), *clock.simulated_sources, *core().sources]
    return [*dict.fromkeys(every), shelled, top]


def run(folder: Path, testcase: str) -> SimulationResult:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    result = simulate(
        "board_top",
        sources(folder, "ecpix5-45f"),
        HERE / "bench_ethernet_top.py",
        results=folder,
        env={
            "PYTHONPATH": str(HERE),
            "GATEWARP_CLOCK_PS": str(2 * round(1e6 / MHZ / 2)),
            "GATEWARP_LINE_BYTES": str(PAYLOAD),
        },
        testcase=f"{testcase}$",
        seed=seed,
    )
    assert result.passed, f"seed {seed}\n{result.message}"
    return result


@pytest.mark.parametrize("name", pins.names())
def test_lint(tmp_path: Path, name: str) -> None:
    lint("board_top", sources(tmp_path, name, "10.1.2.3:999"))


def test_pins(tmp_path: Path) -> None:
    run(tmp_path, "pins")


def test_latency_of_one_item(tmp_path: Path) -> None:
    cycles = sorted(run(tmp_path, "latency").payload["cycles"].tolist())
    print(f"one item over the cable: {cycles} cycles of 8 ns")
    assert cycles[-1] < 800


def test_payload(tmp_path: Path) -> None:
    """The shell sends a byte in five cycles of its clock and takes one a cycle; Ethernet is faster than both."""
    found = run(tmp_path, "payload").payload
    both, into = (float(rate) for rate in found["bytes"] / (found["cycles"] * 8e-9))
    print(f"payload at {MHZ:g} MHz: {both / 1e6:.1f} MB/s both ways at once, {into / 1e6:.1f} MB/s in alone")
    assert both > 5e6
    assert into > 12e6
