"""The shell at its byte stream: every kind of frame, every rule of sequence, full memories, noise, resets, counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from designs.boards.shell import constants
from designs.boards.shell.top import Buffers, Items, shell_sources, shelled
from designs.flow.evidence import Core
from designs.flow.verilator import SimulationResult, simulate
from designs.lib import source

HERE = Path(__file__).parent
BENCH = HERE / "bench_shell.py"


def core(kind: str) -> tuple[Core, Items]:
    """A core of the tests, and how many words an item of it has."""
    digest = "0123456789abcdef" * 4
    if kind == "loopback":
        files = (HERE / "loopback_core.sv", *source("credit_stream"))
        return Core("test", "loopback", "", "fixed", "loopback_core", files, 21, 21, digest, {}), Items(1, 1)
    top = {"pacing": "pacing_core", "frozen": "pacing_core #(.FROZEN(1))"}[kind]
    return Core("test", kind, "", "fixed", top, (HERE / "pacing_core.sv",), 16, 16, digest, {}), Items(3, 2)


def run(folder: Path, kind: str, testcase: str, *, seed: int) -> SimulationResult:
    chosen, items = core(kind)
    top = folder / "shelled.sv"
    small = Buffers(received=4096, words=1024, results=512)
    top.write_text(shelled(chosen, clock_hz=100e6, idle=50, items=items, buffers=small))
    return simulate(
        "shelled",
        list(dict.fromkeys([*shell_sources(), *chosen.sources, top])),
        BENCH,
        results=folder,
        vectors={"items": [items.in_words, items.out_words]},
        env={"GATEWARP_CORE": kind, "PYTHONPATH": str(HERE)},
        seed=seed,
        testcase=f"{testcase}$",
    )


def test_the_constants_are_those_of_the_frames() -> None:
    assert constants.FILE.read_text() == constants.text(), "python -m designs.boards.shell.constants"


@pytest.mark.parametrize("name", ["registers", "frames", "resend", "exchange", "noise", "full"])
def test_shell(tmp_path: Path, name: str) -> None:
    result = run(tmp_path, "loopback", name, seed=1)
    assert result.passed, result.message


@pytest.mark.parametrize("kind", ["loopback", "pacing"])
@pytest.mark.parametrize("name", ["counted", "restart"])
def test_shell_of_cores(tmp_path: Path, name: str, kind: str) -> None:
    result = run(tmp_path, kind, name, seed=2)
    assert result.passed, result.message
