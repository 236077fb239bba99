"""UltraScale+ parts: UltraRAM is found and counted, equal modules once, what does not fit is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare.record import Stage
from designs.flow import ultrascale
from designs.flow.evidence import Core
from workloads.api import UnknownNameError

TWICE = """\
module twice (input wire clk, write, input wire [11:0] at, input wire [71:0] in, output wire [71:0] a, b);
  deep u_a (.clk(clk), .write(write), .at(at), .in(in), .out(a));
  deep u_b (.clk(clk), .write(write), .at(at), .in(~in), .out(b));
endmodule
"""
DEEP = """\
module deep (input wire clk, write, input wire [11:0] at, input wire [71:0] in, output logic [71:0] out);
  (* ram_style = "ultra" *) logic [71:0] memory[4096];
  always_ff @(posedge clk) begin
    if (write) memory[at] <= in;
    else out <= memory[at];
  end
endmodule
"""


@pytest.fixture
def core(tmp_path: Path) -> Core:
    files = {"twice.sv": TWICE, "deep.sv": DEEP}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    sources = tuple(tmp_path / name for name in files)
    return Core("md", "lj864", "designs/md/range_limited", "fixed", "twice", sources, 72, 72, "abc", {})


def test_ultraram_is_counted_through_kept_modules(core: Core) -> None:
    made = ultrascale.synth(core.top, core.sources, keep=("deep",))
    assert made.cells["urams"] == 2
    assert made.cells["brams"] == 0
    assert made.modules["deep"]["urams"] == 2
    flat = ultrascale.synth(core.top, core.sources)
    assert (flat.cells["urams"], flat.cells["ffs"]) == (2, made.cells["ffs"])


def test_a_record_says_what_is_scarce(core: Core) -> None:
    chosen = ultrascale.part("xcvu9p")
    assert isinstance(chosen, ultrascale.UltraPart)
    record = ultrascale.synthesised(core, chosen, keep=("deep",), sources=["designs/flow/ultrascale.py"])
    used = record.get("utilisation")
    assert used is not None
    assert (used.value, used.stage) == (2 / 960, Stage.POST_SYNTHESIS)
    assert (record.conditions["scarce"], record.conditions["urams"], record.conditions["fits"]) == ("urams", 2, True)
    assert record.conditions["hierarchy"] == "flat, but for deep"
    assert record.device == "xcvu9p"


def test_parts_are_found_by_name() -> None:
    assert ultrascale.part("xc7z020").family == "xc7"
    with pytest.raises(UnknownNameError, match=r"unknown part 'xcvu13p'; valid: lfe5u-85f, .*, xcvu9p"):
        ultrascale.part("xcvu13p")
