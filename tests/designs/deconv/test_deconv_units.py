"""The engine's modules one by one in Verilator; lint; illegal parameters; opcodes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from engine_bench import FOLDER, SOURCES

from designs.deconv.commands import BITS, Action, Register
from designs.flow.tools import FlowError
from designs.flow.verilator import build, lint, simulate
from designs.lib import closure

BENCH = Path(__file__).parent / "bench_deconv_units.py"


def sources(*names: str) -> list[Path]:
    return [FOLDER / f"{name}.sv" for name in names]


UNITS = {
    "commands": ("deconv_commands", ("deconv_register",), {"ADDRESS": 24, "WEIGHT": 24, "BIAS": 24}, {}),
    "range": ("deconv_range", (), {"ADDRESS": 9, "WEIGHT": 9}, {}),
    "reverse": ("deconv_reverse", ("deconv_range",), {"ADDRESS": 9, "SOURCES": 1, "PARTS": 8}, {"parts": [1, 8]}),
    "reverse of wide words": (
        "deconv_reverse", ("deconv_range",), {"ADDRESS": 9, "SOURCES": 4, "PARTS": 1}, {"parts": [4, 1]}
    ),
    "walk": ("deconv_walk", (), {"TZ": 1, "TR": 1, "TC": 1, "COLUMNS": 1}, {"lanes": [1, 1, 1, 1]}),
    "walk of many banks": ("deconv_walk", (), {"TZ": 4, "TR": 2, "TC": 4, "COLUMNS": 2}, {"lanes": [4, 2, 4, 2]}),
    "weights": ("deconv_weights", (), {"WORD": 32, "WORDS": 16, "BIAS_WORD": 24}, {"half": [8]}),
    "memory": (
        "deconv_memory", ("deconv_bank",),
        {"LANES": 4, "WORDS": 16, "PARTS": 2, "BITS": 8, "COLUMNS": 2, "ADDRESS": 4}, {"shape": [4, 16, 2, 8, 2]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNITS)
def test_unit(tmp_path: Path, name: str) -> None:
    top, parts, parameters, given = UNITS[name]
    result = simulate(
        top,
        [*closure("rom", "stream_fifo"), *sources(*parts, top)],
        BENCH,
        results=tmp_path,
        parameters=parameters,
        vectors={key: np.array(value) for key, value in given.items()},
        testcase=top,
        seed=11,
    )
    assert result.passed, result.message


def test_opcodes_are_those_of_the_python() -> None:
    text = (FOLDER / "deconv_commands.sv").read_text()
    found = {name: int(value, 16) for name, value in re.findall(r"logic \[7:0\] (\w+) = 8'h(\w\w);", text)}
    assert found == {item.name: item.value for item in (Register.TAP_INDEX, *Action)}
    registers = re.findall(r"deconv_register #\(\.CODE\((\d+)\), \.BITS\((\w+)\)\) u_(\w+) ", text)
    for code, bits, name in registers:
        wanted = Register[re.sub(r"^(load|store)_", "io_", name).upper()]
        assert int(code) == wanted, name
        assert not bits.isdigit() or int(bits) == BITS.get(wanted, 24), name
        assert bits.isdigit() or wanted not in BITS, name
    names = {name for _, _, name in registers}
    wanted_names = {r.name.lower() for r in Register if 0 < r < 0x40}
    wanted_names |= {f"{unit}_{r.name.lower()[3:]}" for unit in ("load", "store") for r in Register if 0x40 <= r < 0x50}
    assert names == wanted_names - {"load_last"}


ZERO = Path(__file__).parents[1] / "lib" / "zero.hex"
IMAGES = {"WEIGHTS": f'"{ZERO}"', "BIASES": f'"{ZERO}"', "TABLE": f'"{ZERO}"'}
LINTED: dict[str, tuple[str, dict[str, int | str]]] = {
    "resident": ("deconv_engine", {**IMAGES, "TM": 2, "TN": 4, "W_WORDS": 16, "BIAS_WORDS": 4}),
    "streamed": ("deconv_engine", {"BITS": 16, "ACC": 42, "TM": 2, "TN": 4, "W_WORDS": 16, "COUNTERS": 0}),
    "wide": ("deconv_engine", {"TM": 8, "TN": 2, "W_WORDS": 16, "TABLE": f'"{ZERO}"'}),
    "square": ("deconv_engine", {"TM": 2, "TN": 2, "W_WORDS": 16, "A_WORDS": 4, "B_WORDS": 16}),
    "oriented": ("deconv_engine", {**IMAGES, "DATAFLOW": 1, "TM": 2, "TN": 4, "TR": 2, "TC": 2, "W_WORDS": 16}),
    "merged": (
        "deconv_engine",
        {"DATAFLOW": 1, "BITS": 16, "ACC": 42, "TM": 2, "TN": 2, "TZ": 2, "TC": 2, "IO": 2, "DRAIN": 2, "W_WORDS": 16},
    ),
    "core": ("deconv_core", {**IMAGES, "PROGRAM": f'"{ZERO}"', "TM": 1, "TN": 2, "W_WORDS": 16, "BIAS_WORDS": 4}),
}


@pytest.mark.parametrize("name", LINTED)
def test_lint(tmp_path: Path, name: str) -> None:
    module, parameters = LINTED[name]
    chosen = ", ".join(f".{key}({value})" for key, value in parameters.items())
    ports = re.findall(
        r"^    (input|output) (?:wire|logic) (?:\[.*\] )?(\w+)", (FOLDER / f"{module}.sv").read_text(), re.M
    )
    connections = ", ".join(f".{port}()" for direction, port in ports if direction == "output")
    inputs = ", ".join(
        f".{port}('0)" for direction, port in ports if direction == "input" and port not in ("clk", "rst")
    )
    top = tmp_path / "linted.sv"
    top.write_text(
        "/* verilator lint_off PINCONNECTEMPTY */\n"
        f"module linted (input wire clk, input wire rst);\n  {module} #({chosen}) u (.clk(clk), .rst(rst), "
        f"{connections}, {inputs});\nendmodule\n"
    )
    lint("linted", [*SOURCES, FOLDER / "deconv_core.sv", top])


@pytest.mark.parametrize(
    ("module", "parameters", "message"),
    [
        ("deconv_engine", {"BITS": 12}, "BITS must be 8 or 16"),
        ("deconv_engine", {"TM": 3}, "TM and TN must be powers of two"),
        ("deconv_engine", {"TC": 3}, "TZ, TR and TC must be powers of two"),
        ("deconv_engine", {"DATAFLOW": 2}, "DATAFLOW must be 0 or 1"),
        ("deconv_engine", {"TC": 2}, "reverse_loop needs TZ, TR and TC of 1"),
        ("deconv_engine", {"DATAFLOW": 1, "TM": 64}, "input_oriented needs TM of at most TN"),
        ("deconv_engine", {"IO": 2}, "IO must be a power of two of at most TC"),
        ("deconv_engine", {"A_WORDS": 0}, "A_WORDS, B_WORDS and BIAS_WORDS must be at least 1"),
        ("deconv_core", {}, "PROGRAM, WEIGHTS and BIASES must name files"),
        ("deconv_core", {**IMAGES, "PROGRAM": f'"{ZERO}"', "PROGRAM_WORDS": 1}, "PROGRAM_WORDS must be at least 2"),
        ("deconv_register", {"BITS": 25}, "BITS must be 1 to 24"),
        ("deconv_bank", {"PARTS": 0}, "WORDS, PARTS and BITS must be at least 1"),
        ("deconv_memory", {"WORDS": 2048}, "ADDRESS is too narrow"),
        ("deconv_memory", {"COLUMNS": 2}, "COLUMNS must divide LANES"),
        ("deconv_reverse", {"PARTS": 3}, "SOURCES and PARTS must be powers of two"),
        ("deconv_weights", {"BEAT": 8}, "BEAT must hold a word of weights and the biases"),
        ("deconv_weights", {"WORDS": 12}, "WORDS that are a power of two"),
        ("deconv_weights", {"WEIGHTS": f'"{ZERO}"'}, "WEIGHTS needs BIASES"),
    ],
)
def test_illegal_parameters_stop_elaboration(module: str, parameters: dict[str, int | str], message: str) -> None:
    with pytest.raises(FlowError, match=f"{module}: .*{message}"):
        build(module, [*SOURCES, FOLDER / "deconv_core.sv"], parameters=parameters)
