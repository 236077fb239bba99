"""Synthesis: cell counts, parameters, options, and errors that name their cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from designs.flow import yosys
from designs.flow.tools import FlowError
from designs.flow.verilator import simulate_netlist

COUNTER = """\
`default_nettype none
module counter #(parameter int WIDTH = 8) (input wire clk, output logic [WIDTH-1:0] count);
  if (WIDTH < 2) begin : g_width
    $error("counter: WIDTH must be at least 2");
  end
  always_ff @(posedge clk) count <= count + 1'b1;
endmodule
`default_nettype wire
"""

# Two levels of LUTs in front of two registers: moving the first register back or forth evens them out.
DEEP = """\
module deep (input clk, input [63:0] d, output reg q);
  reg [63:0] a;
  reg b;
  always @(posedge clk) begin
    a <= d;
    b <= ^a;
    q <= b;
  end
endmodule
"""


def write(folder: Path, text: str, name: str = "counter.sv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("width", [2, 12])
def test_counter(tmp_path: Path, width: int) -> None:
    result = yosys.synth_ecp5("counter", [write(tmp_path, COUNTER)], parameters={"WIDTH": width})
    assert result.cells["ffs"] == width
    assert (result.cells["brams"], result.cells["dsps"], result.cells["lutrams"]) == (0, 0, 0)
    if width == 12:
        assert result.cells["carry"] == 6, "two bits in a carry cell"
        assert result.cells["luts"] in (12, 13), "a carry cell takes two LUTs, and an inverter may be left"
    assert result.json.is_file()


def test_block_ram_and_dsp_are_inferred(tmp_path: Path) -> None:
    text = """\
module mac (input clk, input [9:0] a, b, address, output reg [19:0] p, output reg [9:0] r);
  reg [9:0] memory [0:1023];
  always @(posedge clk) begin
    p <= a * b;
    memory[address] <= a;
    r <= memory[b];
  end
endmodule
"""
    cells = yosys.synth_ecp5("mac", [write(tmp_path, text)]).cells
    assert cells["dsps"] == 1
    assert cells["brams"] == 1
    options = yosys.SynthesisOptions(extra=("-nodsp",))
    assert yosys.synth_ecp5("mac", [write(tmp_path, text)], options=options).cells["dsps"] == 0


def test_retiming_moves_registers(tmp_path: Path) -> None:
    source = write(tmp_path, DEEP)
    plain = yosys.synth_ecp5("deep", [source])
    retimed = yosys.synth_ecp5("deep", [source], options=yosys.SynthesisOptions(retime=True))
    assert plain.cells["ffs"] == 66
    assert retimed.cells["ffs"] != 66
    for synthesis in (plain, retimed):
        result = simulate_netlist(synthesis, Path(__file__).parent / "bench_deep.py", results=tmp_path / "out")
        assert result.passed, result.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (COUNTER.replace("count + 1", "count + + ;"), r"counter\.sv:6: ERROR: syntax error"),
        (COUNTER.replace("int WIDTH = 8", "int WIDTH = 1"), r"\\counter'(.|\n)*WIDTH must be at least 2"),
        (COUNTER.replace("module counter", "module other"), "ERROR: Module `counter' not found"),
    ],
)
def test_errors_surface(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FlowError, match=message) as caught:
        yosys.synth_ecp5("counter", [write(tmp_path, text)])
    assert "yosys.log" in str(caught.value)


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("wire a;\n  logic b;\n  always_ff @(posedge clk) b <= a;", r"a is used but has no driver"),
        ("logic a;\n  always_comb if (clk) a = 1'b1;", "Latch inferred"),
        ("logic [7:0] m [2];\n  always_comb for (int i = 0; i < 2; i++) m[i] = 8'(i);", "Replacing memory"),
    ],
)
def test_lint_refuses(tmp_path: Path, added: str, message: str) -> None:
    yosys.lint("counter", [write(tmp_path, COUNTER)])
    with pytest.raises(FlowError, match=message):
        yosys.lint("counter", [write(tmp_path, COUNTER.replace("  always_ff", f"  {added}\n  always_ff"))])


def test_data_files_are_found(tmp_path: Path) -> None:
    text = """\
module rom (input clk, input [3:0] address, output reg [7:0] q);
  reg [7:0] memory [0:15];
  initial $readmemh("rom.hex", memory);
  always @(posedge clk) q <= memory[address];
endmodule
"""
    source = write(tmp_path, text, "rom.sv")
    data = tmp_path / "rom.hex"
    data.write_text("\n".join(["00"] * 16))
    zero = yosys.synth_ecp5("rom", [source], data=[data])
    data.write_text("\n".join(f"{value * 37 % 256:02x}" for value in range(16)))
    other = yosys.synth_ecp5("rom", [source], data=[data])
    assert zero.cells["ffs"] < other.cells["ffs"], "the contents count, in the netlist and in the key"
