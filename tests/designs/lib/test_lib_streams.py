"""Stream modules of designs/lib: every one in Verilator, under idle sources and stalling sinks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from designs.flow.tools import FlowError
from designs.flow.verilator import build, lint, simulate, simulate_netlist
from designs.flow.yosys import synth_ecp5
from designs.lib import source

HERE = Path(__file__).parent
BENCH = HERE / "bench_streams.py"
FIFO = source("stream_fifo")
CREDIT = [*source("credit_stream", "stream_fifo"), HERE / "credit_dut.sv"]


def run(top: str, sources: list[Path], results: Path, *, seed: int = 1, **parameters: int) -> dict[str, np.ndarray]:
    bench = {"GATEWARP_BYTES": str(parameters.get("BYTES", 1))}
    result = simulate(top, sources, BENCH, results=results, parameters=parameters, seed=seed, env=bench, testcase=top)
    assert result.passed, result.message
    return dict(result.payload)


@pytest.mark.parametrize(("width", "depth", "seed"), [(8, 2, 1), (33, 16, 2)])
def test_stream_fifo(tmp_path: Path, width: int, depth: int, seed: int) -> None:
    seen = run("stream_fifo", FIFO, tmp_path, seed=seed, WIDTH=width, DEPTH=depth)
    assert set(seen["latency"]) == {1}, "a word through an empty FIFO takes one cycle"
    assert set(seen["interval"]) == {1}, "one word a cycle"
    assert seen["capacity"] == depth + 1, "DEPTH words in RAM and one in the output register"


@pytest.mark.parametrize(("latency", "seed"), [(1, 1), (13, 3), (14, 4)])
def test_credit_stream(tmp_path: Path, latency: int, seed: int) -> None:
    seen = run("credit_dut", CREDIT, tmp_path, seed=seed, LATENCY=latency)
    assert set(seen["latency"]) == {latency + 1}, "one cycle more than the pipeline"
    assert set(seen["interval"]) == {1}, "one word a cycle"
    assert seen["capacity"] == 1 << (latency + 2).bit_length(), "as many words as there are credits"


def test_credit_stream_after_synthesis(tmp_path: Path) -> None:
    synthesis = synth_ecp5("credit_dut", CREDIT, parameters={"WIDTH": 12, "LATENCY": 5})
    result = simulate_netlist(synthesis, BENCH, results=tmp_path, env={"GATEWARP_BYTES": "1"}, testcase="credit_dut")
    assert result.passed, result.message
    assert set(result.payload["latency"]) == {6}
    assert result.payload["capacity"] == 8


@pytest.mark.parametrize("count", [1, 3])
def test_stream_pack(tmp_path: Path, count: int) -> None:
    seen = run("stream_pack", source("stream_pack"), tmp_path, seed=count, BYTES=count)
    assert set(seen["interval"]) == {count}, "one byte a cycle, without gaps between words"


@pytest.mark.parametrize("count", [1, 3])
def test_stream_unpack(tmp_path: Path, count: int) -> None:
    seen = run("stream_unpack", source("stream_unpack"), tmp_path, seed=count, BYTES=count)
    assert set(seen["interval"]) == {1}, "one byte a cycle, without gaps between words"


@pytest.mark.parametrize(
    ("module", "parameters", "message"),
    [
        ("stream_fifo", {"DEPTH": 12}, "DEPTH must be a power of two"),
        ("stream_fifo", {"WIDTH": 0}, "WIDTH must be at least 1"),
        ("credit_stream", {"LATENCY": 0}, "LATENCY must be at least 1"),
        ("credit_stream", {"LATENCY": 14, "DEPTH": 16}, "DEPTH must be a power of two of at least LATENCY"),
        ("credit_stream", {"OUT_WIDTH": 0}, "OUT_WIDTH must be at least 1"),
        ("stream_pack", {"BYTES": 0}, "BYTES must be at least 1"),
        ("stream_unpack", {"BYTES": 0}, "BYTES must be at least 1"),
        ("uart_rx", {"CLOCKS_PER_BIT": 3}, "CLOCKS_PER_BIT must be at least 4"),
        ("uart_tx", {"CLOCKS_PER_BIT": 3}, "CLOCKS_PER_BIT must be at least 4"),
        ("reset_sync", {"CYCLES": 1}, "CYCLES must be at least 2"),
    ],
)
def test_illegal_parameters_stop_elaboration(module: str, parameters: dict[str, int], message: str) -> None:
    sources = source(module, *(["stream_fifo"] if module == "credit_stream" else []))
    with pytest.raises(FlowError, match=f"{module}: .*{message}") as caught:
        build(module, sources, parameters=parameters)
    assert f"In instance '{module}" in str(caught.value)


@pytest.mark.parametrize(
    ("module", "parameters"),
    [
        ("stream_fifo", {"WIDTH": 1, "DEPTH": 2}),
        ("stream_fifo", {"WIDTH": 72, "DEPTH": 64}),
        ("credit_stream", {"LATENCY": 1}),
        ("credit_stream", {"LATENCY": 29, "IN_WIDTH": 36, "OUT_WIDTH": 64}),
        ("stream_pack", {"BYTES": 1}),
        ("stream_pack", {"BYTES": 9}),
        ("stream_unpack", {"BYTES": 1}),
        ("stream_unpack", {"BYTES": 9}),
        ("uart_rx", {"CLOCKS_PER_BIT": 40}),
        ("uart_tx", {"CLOCKS_PER_BIT": 1042}),
        ("reset_sync", {}),
        ("sim/ecp5_pll", {}),
    ],
)
def test_lint(module: str, parameters: dict[str, int]) -> None:
    sources = source(module, *(["stream_fifo"] if module == "credit_stream" else []))
    lint(module.split("/")[-1], sources, parameters=parameters)


def test_lint_of_the_pll(tmp_path: Path) -> None:
    lint("ecp5_pll", [*source("lattice/ecp5_pll"), HERE / "EHXPLLL.sv"])


def test_unknown_module_lists_those_there_are() -> None:
    with pytest.raises(FileNotFoundError, match=r"no library module 'fifo'.*lattice/ecp5_pll.*stream_fifo"):
        source("fifo")
