"""Place and route, seeds and bitstreams, on a design of a few cells."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from designs.flow import ecppack, harness, nextpnr, seeds, yosys
from designs.flow.tools import FlowError
from designs.lib import source

REPOSITORY = Path(__file__).resolve().parents[3]

TWO_CLOCKS = """\
module two (input fast, input slow, output reg [7:0] a, output reg [3:0] b);
  always @(posedge fast) a <= a + 1;
  always @(posedge slow) b <= (b << 1) ^ {3'b0, !b[3]};
endmodule
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> yosys.Synthesis:
    path = tmp_path_factory.mktemp("two") / "two.v"
    path.write_text(TWO_CLOCKS)
    return yosys.synth_ecp5("two", [path])


def test_seeds_give_median_range_and_a_named_clock(two: yosys.Synthesis, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[str, int, int]] = []
    spread = seeds.route_seeds(
        two.json, seeds=3, target_mhz=900, clock="fast", device="25k", progress=lambda *step: steps.append(step)
    )
    assert spread.clock == "fast"
    assert len(spread.values_hz) == 3
    assert [routing.seed for routing in spread.routings] == [1, 2, 3]
    assert spread.median_hz == statistics.median(spread.values_hz)
    assert (spread.low_hz, spread.high_hz) == (min(spread.values_hz), max(spread.values_hz))
    assert spread.best.fmax_hz == spread.high_hz
    assert spread.middle.fmax_hz == spread.median_hz
    assert steps == [("place and route", done, 3) for done in range(4)]
    assert "register to register in fast, target 900 MHz" in str(spread)
    assert not any(routing.met for routing in spread.routings), "a missed target is told, not raised"
    first = spread.routings[0]
    assert first.ffs == 12
    assert 0 < first.utilisation < 0.01
    assert first.critical is not None
    assert first.critical.delay_ns == pytest.approx(1e9 / first.fmax_hz, rel=0.35), "the path explains the frequency"
    assert {path.source for path in first.paths} >= {"posedge fast", "posedge slow"}
    assert set(first.clocks) == {"fast", "slow"}
    # Routed before: no tool runs, whichever clock is reported.
    monkeypatch.setattr(nextpnr, "run_wasm", lambda *_: pytest.fail("routed again"))
    again = seeds.route_seeds(two.json, seeds=[3, 1], target_mhz=900, clock="slow", device="25k")
    assert [routing.seed for routing in again.routings] == [1, 3]
    assert again.clock == "slow"


def test_median_and_middle_of_a_spread(two: yosys.Synthesis) -> None:
    routing = nextpnr.place_and_route(two.json, device="25k", target_mhz=900, clock="fast")

    def spread(*values: float) -> seeds.Spread:
        return seeds.Spread(tuple(replace(routing, fmax_hz=value) for value in values))

    odd, even = spread(5.0, 1.0, 3.0), spread(5.0, 1.0, 3.0, 2.0)
    assert (odd.median_hz, odd.low_hz, odd.high_hz, odd.middle.fmax_hz) == (3.0, 1.0, 5.0, 3.0)
    assert (even.median_hz, even.middle.fmax_hz, even.best.fmax_hz) == (2.5, 2.0, 5.0)
    assert even.values_hz == (5.0, 1.0, 3.0, 2.0)


def test_an_ambiguous_or_unknown_clock_lists_the_clocks(two: yosys.Synthesis) -> None:
    with pytest.raises(FlowError, match="must be named; domains of this design: fast, slow"):
        nextpnr.place_and_route(two.json, device="25k", target_mhz=900)
    with pytest.raises(FlowError, match="no clock domain 'clk'; domains of this design: fast, slow"):
        nextpnr.place_and_route(two.json, device="25k", target_mhz=900, clock="clk")


def test_errors_of_nextpnr_surface(two: yosys.Synthesis, tmp_path: Path) -> None:
    with pytest.raises(FlowError, match="unknown ECP5 device '9k'; known: 12k"):
        nextpnr.place_and_route(two.json, device="9k")
    lpf = tmp_path / "pins.lpf"
    lpf.write_text('LOCATE COMP "fast" SITE "ZZ99";\n')
    with pytest.raises(FlowError, match=r"(?s)ERROR: .*ZZ99.*nextpnr\.log"):
        nextpnr.place_and_route(two.json, device="25k", lpf=lpf, options=["--lpf-allow-unconstrained"])


def test_bitstream(two: yosys.Synthesis) -> None:
    routing = nextpnr.place_and_route(two.json, device="25k", target_mhz=900, clock="fast")
    bitstream = ecppack.pack(routing.textcfg)
    assert b"LFE5U-25F-6CABGA381" in bitstream.read_bytes()[:200]
    with pytest.raises(FlowError, match="ecppack"):
        ecppack.pack(routing.report)


def test_no_seed_is_refused(two: yosys.Synthesis) -> None:
    with pytest.raises(ValueError, match="at least one seed"):
        seeds.route_seeds(two.json, seeds=0)


def test_interrupting_seeds_kills_the_tools_and_enters_nothing(two: yosys.Synthesis, tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from designs.flow import seeds
seeds.route_seeds(Path({str(two.json)!r}), seeds=4, clock="fast", progress=lambda *step: print(step, flush=True))
"""
    environment = {**os.environ, "GATEWARP_CACHE": str(tmp_path / "cache")}
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in errors
    left = [path for path in (tmp_path / "cache").iterdir() if not path.name.startswith(".") and path.name != "wasm"]
    assert not [path for path in left if path.suffix != ".part" and not (path / "log").exists()], "no routing entered"


def test_credit_stream_alone_is_faster_than_200_mhz(tmp_path: Path) -> None:
    top = tmp_path / "fmax_top.sv"
    top.write_text(harness.fmax_top("credit_dut", 32, 32, parameters={"LATENCY": 16}))
    dut = Path(__file__).parents[1] / "lib" / "credit_dut.sv"
    netlist = yosys.synth_ecp5("fmax_top", [top, dut, *source("credit_stream", "stream_fifo")])
    spread = seeds.route_seeds(netlist.json, seeds=3, target_mhz=250, device="25k")
    assert spread.median_hz > 200e6, str(spread)
