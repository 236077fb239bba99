"""Records of cores on parts without a board: what is summed, what is said of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from compare.record import Stage
from designs.flow import on_part
from designs.flow.evidence import Core
from designs.flow.on_part import Piece
from designs.flow.parts import part
from designs.lib import source

LOOPBACK = Path(__file__).parents[1] / "boards" / "loopback_core.sv"

SHIFT = """\
module shift_{n} (input wire clk, input wire [{n}:0] d, output logic [{n}:0] q);
  always_ff @(posedge clk) q <= d ^ (q + 1'b1);
endmodule
"""


def core(top: str, sources: tuple[Path, ...], bits: int = 8) -> Core:
    return Core("track", "embed", "designs/track/folded", "fixed", top, sources, bits, bits, "0123456789abcdef", {})


def test_pieces_are_summed_and_the_part_judged(tmp_path: Path) -> None:
    pieces = []
    for n in (3, 11):
        path = tmp_path / f"shift_{n}.sv"
        path.write_text(SHIFT.format(n=n))
        pieces.append(Piece(f"layer{n}", f"shift_{n}", (path,), ()))
    steps: list[tuple[str, int, int]] = []
    small = replace(part("xc7z020"), ffs=20, luts=200)
    record = on_part.synthesised(
        core("none", ()), small, pieces, sources=["designs/lib/delay.sv"], progress=lambda *step: steps.append(step)
    )
    ffs, used = record.get("ffs"), record.get("utilisation")
    assert ffs is not None
    assert used is not None
    assert (ffs.value, ffs.values, ffs.stage) == (16, (4.0, 12.0), Stage.POST_SYNTHESIS)
    assert used.value == 16 / 20
    said = record.conditions
    assert (said["fits"], said["scarce"], said["layers"]) == (True, "ffs", "layer3, layer11")
    assert said["resources_of"] == "sum of layers synthesised out of context"
    assert said["bram_kind"] == "18 Kb"
    assert said["hierarchy"] == "flat"
    assert [name for name, _, _ in steps] == ["synthesise layer3", "synthesise layer11", "synthesise"]
    assert record.provenance.command == "gatewarp build track --case embed --part xc7z020"
    assert "designs/flow/xilinx.py" in record.provenance.sources
    crowded = on_part.synthesised(core("none", ()), replace(small, ffs=15), pieces, sources=["designs/lib/delay.sv"])
    assert crowded.conditions["fits"] is False


def test_an_ice40_gives_a_clock_over_seeds_and_a_bitstream() -> None:
    sources = (*source("stream_fifo", "credit_stream"), LOOPBACK)
    record = on_part.routed(
        core("loopback_core", sources, 21), part("ice40up5k"), mhz=24, sources=["designs/lib/stream_fifo.sv"], seeds=2
    )
    fmax, luts = record.get("fmax"), record.get("luts")
    assert fmax is not None
    assert luts is not None
    assert (fmax.stage, fmax.samples, len(fmax.values)) == (Stage.POST_ROUTE, 2, 2)
    assert fmax.low is not None
    assert 10e6 < fmax.low <= fmax.value
    assert 0 < luts.value < 400
    said = record.conditions
    assert said["bitstream_bytes"] == 104_090, "the whole configuration of a UP5K"
    assert said["resources_of"] == "core, and 63 flip-flops at its pins; at the median seed"
    assert said["package"] == "sg48"
    assert record.provenance.command == "gatewarp build track --case embed --part ice40up5k --seeds 2"
    assert {"designs/flow/ice40.py", "designs/flow/harness.py"} <= set(record.provenance.sources)
