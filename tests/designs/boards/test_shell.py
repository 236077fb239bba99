"""The shell at its byte stream: every kind of frame, every rule of sequence, full memories, noise, resets, counters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import shell_reference as ref

from designs import boards
from designs.boards import BoardError, clocking, frames
from designs.boards.shell import constants
from designs.boards.shell.top import Buffers, Items, shell_sources, shell_top, shelled
from designs.flow.evidence import Core
from designs.flow.verilator import SimulationResult, lint, simulate
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


def run(folder: Path, kind: str, testcase: str, *, seed: int, board: str = "") -> SimulationResult:
    """A test of the bench with a core; with a board the memories are those that its synthesis gets."""
    chosen, items = core(kind)
    shell = [HERE / "DP16KD.sv", *shell_sources(boards.load(board))] if board else shell_sources()
    top = folder / "shelled.sv"
    small = Buffers(received=4096, words=1024, results=512)
    top.write_text(shelled(chosen, clock_hz=100e6, idle=10, items=items, buffers=small))
    return simulate(
        "shelled",
        list(dict.fromkeys([*shell, *chosen.sources, top])),
        BENCH,
        results=folder,
        vectors={"items": [items.in_words, items.out_words]},
        env={"GATEWARP_CORE": kind, "PYTHONPATH": str(HERE)},
        seed=seed,
        testcase=f"{testcase}$",
    )


def test_the_constants_are_those_of_the_frames() -> None:
    assert constants.FILE.read_text() == constants.text(), "python -m designs.boards.shell.constants"


@pytest.mark.parametrize("name", ["registers", "frames", "resend", "storm", "exchange", "noise", "full"])
def test_shell(tmp_path: Path, name: str) -> None:
    result = run(tmp_path, "loopback", name, seed=1)
    assert result.passed, result.message


@pytest.mark.parametrize("kind", ["loopback", "pacing"])
@pytest.mark.parametrize("name", ["counted", "restart"])
def test_shell_of_cores(tmp_path: Path, name: str, kind: str) -> None:
    result = run(tmp_path, kind, name, seed=2)
    assert result.passed, result.message


@pytest.mark.parametrize(
    ("name", "top", "parameters"),
    [("latency", "shell_latency", {"DEPTH": 16}), ("long_counters", "shell_registers", {})],
)
def test_units(tmp_path: Path, name: str, top: str, parameters: dict[str, int]) -> None:
    result = simulate(
        top,
        shell_sources(),
        HERE / "bench_shell_units.py",
        results=tmp_path,
        parameters=parameters,
        env={"PYTHONPATH": str(HERE)},
        testcase=f"{name}$",
        seed=6,
    )
    assert result.passed, result.message


@pytest.mark.parametrize("name", ["resend", "counted"])
def test_shell_in_the_memories_of_an_ecp5(tmp_path: Path, name: str) -> None:
    result = run(tmp_path, "loopback", name, seed=5, board="ulx3s-85f")
    assert result.passed, result.message


@pytest.mark.parametrize(("width", "depth"), [(8, 512), (36, 2048), (8, 4096), (64, 2048), (8, 16384), (21, 64)])
def test_lint_of_the_memories_of_an_ecp5(width: int, depth: int) -> None:
    sources = [*source("lattice/shell_memory"), HERE / "DP16KD.sv"]
    lint("shell_memory", sources, parameters={"WIDTH": width, "DEPTH": depth})


def test_reference_and_product_have_the_same_numbers() -> None:
    """The reference of these tests is written by itself; only here is it compared."""
    kinds = {kind.name: int(kind) for kind in frames.Kind}
    ours = {name: getattr(ref, name) for name in ("POLL", "WRITE", "READ", "RESEND", "STATE", "WRITTEN", "REGISTERS")}
    assert kinds == {**ours, "DATA_IN": ref.DATA, "DATA_OUT": ref.RESULT, "NAK": ref.NAK}
    for register in frames.Register:
        if register >= frames.Register.CONTROL:
            assert ref.COUNTERS[register - 18] == register.name.lower().removesuffix("_lo")
    assert [int(bit) for bit in frames.Control] == [ref.RESET, ref.HOLD, ref.CLEAR]


def test_identification(tmp_path: Path) -> None:
    result = run(tmp_path, "pacing", "registers", seed=3)
    assert result.passed, result.message
    words = [int(word) for word in result.payload["identification"]]
    assert words[:2] == [0x47415445, 1]
    assert words[2:6] == [0x01234567, 0x89ABCDEF] * 2
    assert b"".join(word.to_bytes(4, "little") for word in words[6:14]) == b"test/pacing".ljust(32, b"\0")
    assert words[14:] == [100_000_000, 2 | 3 << 16, 2 | 2 << 16, 1024 | 512 << 16]


def write_top(folder: Path, mhz: float, baud: int) -> list[Path]:
    """The top of the loopback core on a ULX3S with all it needs in a simulator."""
    chosen, items = core("loopback")
    board = boards.load("ulx3s-85f")
    clock = clocking.of(board, mhz)
    top = folder / "board_top.sv"
    top.write_text(shell_top(chosen, board, clock, baud, items=items))
    return list(dict.fromkeys([*shell_sources(), *chosen.sources, *clock.simulated_sources, top]))


def test_lint(tmp_path: Path) -> None:
    lint("board_top", write_top(tmp_path, 120, 3_000_000))


def test_lint_without_items(tmp_path: Path) -> None:
    chosen, _ = core("loopback")
    top = tmp_path / "shelled.sv"
    top.write_text(shelled(chosen, clock_hz=1e8, items=Items(0, 0), buffers=Buffers(512, 64, 64)))
    lint("shelled", list(dict.fromkeys([*shell_sources(), *chosen.sources, top])))


def test_payload_on_the_line(tmp_path: Path) -> None:
    """At the serial pins with 8 cycles a bit, 3 Mbaud at 24 MHz, where the shell's own cycles weigh most."""
    result = simulate(
        "board_top",
        write_top(tmp_path, 24, 3_000_000),
        HERE / "bench_shell_top.py",
        results=tmp_path,
        env={"GATEWARP_CLOCKS": "8", "GATEWARP_FRAMES": "40", "GATEWARP_CORE": "loopback", "PYTHONPATH": str(HERE)},
        seed=4,
        testcase="shell_top$",
    )
    assert result.passed, result.message
    shares = [float(result.payload[name]) for name in ("line_in", "line_out")]
    print(f"{shares[0]:.1%} of the line in payload in, {shares[1]:.1%} out")
    assert all(0.90 <= share <= 0.961 for share in shares)


def test_refusals() -> None:
    chosen, items = core("loopback")
    board = boards.load("ulx3s-85f")
    with pytest.raises(BoardError, match="above the 3000000 of its serial port"):
        shell_top(chosen, board, clocking.of(board, 120), 4_000_000, items=items)
    with pytest.raises(BoardError, match="a register holds 0 to 65535"):
        Items(70_000, 1)
    with pytest.raises(ValueError, match="the register holds 32"):
        shelled(replace(chosen, case="x" * 40), clock_hz=1e6)
