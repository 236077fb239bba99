"""Simulation: outcomes, vectors and results, seeds, waves, the shared runtime, and lint."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from designs.flow import verilator
from designs.flow.tools import FlowError
from designs.flow.verilator import BuildOptions, SimulationResult

BENCH = Path(__file__).parent / "bench_counter.py"
COUNTER = """\
`default_nettype none
module counter #(parameter int STEP = 1) (
    input wire clk, input wire rst, input wire trip, output logic [15:0] count, output logic [31:0] unset
);
  always_ff @(posedge clk) begin
    count <= rst ? '0 : count + 16'(STEP);
    if (trip && count == 16'hffff) unset <= '0;
  end
`ifndef SYNTHESIS
  logic started;
  initial started = 1'b0;
  always_ff @(posedge clk) begin
    if (rst) started <= 1'b1;
    if (started && !rst) assert (!trip) else $error("tripped");
  end
`endif
endmodule
`default_nettype wire
"""


def run(folder: Path, testcase: str, *, text: str = COUNTER, **arguments: Any) -> SimulationResult:
    path = folder / "counter.sv"
    path.write_text(text)
    vectors = {"cycles": 10}
    return verilator.simulate(
        "counter", [path], BENCH, results=folder / "out", vectors=vectors, testcase=testcase, **arguments
    )


def test_good(tmp_path: Path) -> None:
    result = run(tmp_path, "good", parameters={"STEP": 3}, seed=7)
    assert result.passed, result.message
    assert [test.name for test in result.tests] == ["good"]
    assert result.payload["counted"] == 33
    assert result.tests[0].simulated_ns == 150, "15 cycles of 10 ns"
    assert "seed 7" in result.log.read_text()


def test_seed_decides_random_numbers_and_start_values(tmp_path: Path) -> None:
    seen = []
    for seed in (1, 2, 1):
        result = run(tmp_path, "good", seed=seed)
        assert result.passed, result.message
        seen.append((int(result.payload["undefined"]), int(result.payload["draw"])))
    assert seen[0] == seen[2]
    assert seen[0][0] != seen[1][0]
    assert seen[0][1] != seen[1][1]


def test_failed_assertion(tmp_path: Path) -> None:
    result = run(tmp_path, "bad", seed=5)
    assert not result.passed
    assert "bad: wrong question" in result.message
    assert "seed 5" in result.message
    assert str(result.log) in result.message
    assert not result.payload


def test_failed_assertion_in_rtl(tmp_path: Path) -> None:
    result = run(tmp_path, "rtl_assertion")
    assert not result.passed
    assert "tripped" in result.log.read_text()


def test_no_test_is_no_pass(tmp_path: Path) -> None:
    assert not run(tmp_path, "no_such_test").passed


def test_simulator_that_dies(tmp_path: Path) -> None:
    with pytest.raises(FlowError, match=r"(?s)counter died \(exit status 7\).*simulation\.log"):
        run(tmp_path, "dies")


def test_simulator_that_dies_after_its_tests_passed(tmp_path: Path) -> None:
    result = run(tmp_path, "late")
    assert not result.passed
    assert "simulator: exit status 3" in result.message


def test_a_second_design_builds_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, "good")
    text = COUNTER.replace("count + ", f"16'd{time.time_ns() % 65536} ^ count - ")
    result = run(tmp_path, "no_such_test", text=text)
    assert result.build_s < 8, "the runtime comes from the cache: about 1 s on an idle machine, 15 s without it"
    monkeypatch.setattr(verilator, "run_verilator", lambda *_: pytest.fail("an unchanged simulator is built again"))
    run(tmp_path, "no_such_test", text=text)


def test_waves(tmp_path: Path) -> None:
    result = run(tmp_path, "good", options=BuildOptions(trace="vcd"))
    assert result.passed, result.message
    assert result.wave is not None
    assert "$enddefinitions" in result.wave.read_text()
    with pytest.raises(ValueError, match="trace must be one of"):
        BuildOptions(trace="fst")


def test_large_models_are_compiled_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verilator, "_ONE_PIECE", 0)
    monkeypatch.setenv("GATEWARP_CACHE", str(verilator.cache.root()))
    options = BuildOptions(optimise="-O3", visible_levels=2)
    result = run(tmp_path, "good", options=options, parameters={"STEP": 2})
    assert result.passed, result.message
    assert result.payload["counted"] == 22


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("count + 16", "count + + ;", r"(?s)%Error.*counter\.sv:6.*syntax error"),
        ("16'(STEP)", "missing", r"(?s)%Error.*counter\.sv:6.*missing"),
    ],
)
def test_build_errors_surface(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(FlowError, match=message) as caught:
        run(tmp_path, "good", text=COUNTER.replace(old, new))
    assert "verilator.log" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("16'(STEP)", "STEP", "WIDTH"),
        ("  logic started;", "  logic started, spare;", "UNUSEDSIGNAL|UNDRIVEN"),
        ("module counter ", "module county ", "counter"),
    ],
)
def test_lint_refuses(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "counter.sv"
    path.write_text(COUNTER)
    verilator.lint("counter", [path])
    path.write_text(COUNTER.replace(old, new))
    with pytest.raises(FlowError, match=message):
        verilator.lint("counter", [path])
