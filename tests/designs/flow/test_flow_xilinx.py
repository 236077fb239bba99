"""Synthesis for Xilinx: counts that are known beforehand, with and without what makes them quick."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from designs.flow import parts, xilinx
from designs.flow.tools import FlowError, MissingTool

SEED = 2012

# Two block RAMs of other contents, a RAM of LUTs, a shift register of LUTs, a multiplier, and two equal rows.
MIXED = """\
module row (input wire clk, input wire [11:0] d, output logic [3:0] q);
  always_ff @(posedge clk) q <= 4'($countones(d));
endmodule

module mixed (
    input wire clk, input wire we, input wire [8:0] a, input wire [11:0] d, input wire signed [17:0] x, y,
    output logic [71:0] word, output logic [5:0] small, output wire late, output logic signed [35:0] product,
    output wire [3:0] r0, r1
);
  (* rom_style = "block" *) logic [71:0] memory[512];
  initial $readmemh("mixed.hex", memory);
  always_ff @(posedge clk) word <= memory[a];

  logic [5:0] little[32];
  always_ff @(posedge clk) begin
    if (we) little[a[4:0]] <= d[5:0];
    small <= little[d[10:6]];
  end

  logic [15:0] line;
  always_ff @(posedge clk) line <= {line[14:0], d[0]};
  assign late = line[15];

  always_ff @(posedge clk) product <= x * y;

  row u_0 (.clk(clk), .d(d), .q(r0));
  row u_1 (.clk(clk), .d(~d ^ {d[0], d[11:1]}), .q(r1));
endmodule
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[Path]]:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    folder = tmp_path_factory.mktemp("mixed")
    source, image = folder / "mixed.sv", folder / "mixed.hex"
    source.write_text(MIXED)
    image.write_text("".join(f"{rng.getrandbits(72):018x}\n" for _ in range(512)))
    return [source], [image]


@pytest.mark.parametrize("family", xilinx.FAMILIES)
def test_counts_are_those_of_yosys_itself(mixed: tuple[list[Path], list[Path]], family: str) -> None:
    sources, data = mixed
    quick = xilinx.synth_xilinx("mixed", sources, family=family, data=data)
    whole = xilinx.synth_xilinx("mixed", sources, family=family, data=data, contents=True)
    assert quick.types == whole.types
    assert quick.cells == whole.cells
    cells = quick.cells
    assert cells["brams"] == 2, "72 bits of 512 words: two blocks of 18 kbit, or one of twice that"
    assert cells["dsps"] == 1
    assert cells["memory_luts"] == 1 + (4 if family == "xc7" else 8), "a shift register, and a RAM of 32 words"
    assert cells["luts"] == cells["logic_luts"] + cells["memory_luts"]
    assert 16 <= cells["logic_luts"] <= 70
    rows_and_small = 2 * 4 + 6
    assert cells["ffs"] == rows_and_small + (0 if family == "xc7" else 36), (
        "xcup: Yosys leaves the product outside the DSP"
    )


def test_rows_that_are_kept_are_counted_as_often_as_there_are(mixed: tuple[list[Path], list[Path]]) -> None:
    sources, data = mixed
    flat = xilinx.synth_xilinx("mixed", sources, data=data)
    kept = xilinx.synth_xilinx("mixed", sources, data=data, keep=("row",))
    assert set(flat.modules) == {"mixed"}
    assert set(kept.modules) == {"mixed", "row"}
    assert kept.modules["row"]["ffs"] == 8
    assert kept.cells["ffs"] == flat.cells["ffs"]
    assert {name: kept.modules["row"][name] + kept.modules["mixed"][name] for name in kept.cells} == kept.cells
    assert abs(kept.cells["luts"] - flat.cells["luts"]) <= 12


def test_what_is_wrong_is_named(mixed: tuple[list[Path], list[Path]], monkeypatch: pytest.MonkeyPatch) -> None:
    sources, data = mixed
    with pytest.raises(FlowError, match="unknown family 'xc9'; known: xc7, xcup"):
        xilinx.synth_xilinx("mixed", sources, family="xc9", data=data)
    with pytest.raises(FlowError, match="nothing_like_it"):
        xilinx.synth_xilinx("nothing_like_it", sources, data=data)
    with pytest.raises(FlowError, match="cells that nobody counts: GTXE2_CHANNEL"):
        xilinx._counts({"LUT6": 3, "GTXE2_CHANNEL": 1})

    def missing(package: str) -> str:
        raise MissingTool(f"{package} is not installed; install it with: pip install 'gatewarp[sim]'")

    monkeypatch.setattr(xilinx, "version", missing)
    with pytest.raises(MissingTool, match=r"pyosys is not installed; install it with: pip install 'gatewarp\[sim\]'"):
        xilinx.synth_xilinx("mixed", sources, data=data)


def test_totals_of_parts_are_those_of_the_facts() -> None:
    from compare.devices import device

    for part in parts.PARTS.values():
        facts = device(part.name)
        for name in ("luts", "ffs", "brams", "dsps"):
            assert facts.number(name) == getattr(part, name), (part.name, name)
    share = parts.part("xc7z020").share({"luts": 26_600, "ffs": 0, "brams": 280, "dsps": 440})
    assert share == {"luts": 0.5, "ffs": 0.0, "brams": 1.0, "dsps": 2.0}
