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
