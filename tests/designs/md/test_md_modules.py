"""The worker's modules that wait, one by one; all of them clean under lint; illegal parameters."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from worker_dut import SOURCES

from designs.flow.tools import FlowError
from designs.flow.verilator import build, lint, simulate

BENCH = Path(__file__).parent / "bench_worker_units.py"
SEED = 29

#: Modules that wait: parameters, and what their benches are told.
WAITING: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "md_cells": (
        {"CELLS_X": 3, "CELLS_Y": 5, "CELLS_Z": 4, "CAPACITY": 11, "FILTERS": 5},
        {"x": 3, "y": 5, "z": 4, "capacity": 11, "filters": 5},
    ),
    "md_stream": ({"FILTERS": 3, "ADDRESS": 8, "COUNT": 4}, {"filters": 3}),
    "md_queue": (
        {"FILTERS": 5, "DATA": 20, "WORDS": 32, "MARGIN": 12},
        {"filters": 5, "data": 20, "words": 32, "late": 8},
    ),
    "md_home_sums": ({"FILTERS": 5, "SUM": 34, "ADDRESS": 8}, {"filters": 5, "sum": 34}),
}


@pytest.mark.parametrize("module", WAITING)
def test_unit_that_waits(tmp_path: Path, module: str) -> None:
    parameters, told = WAITING[module]
    vectors = {name: np.array(value) for name, value in told.items()}
    result = simulate(
        module, SOURCES, BENCH, results=tmp_path, parameters=parameters, vectors=vectors, testcase=module,
        seed=SEED,
    )  # fmt: skip
    assert result.passed, result.message


ZERO = f'"{Path(__file__).parents[1] / "lib" / "zero.hex"}"'
QUIET = "'0"
LINTED: dict[str, dict[str, int | str]] = {
    "one kind": {"TABLE_0": ZERO, "TABLE_1": ZERO, "FILTERS": 16, "CAPACITY": 24},
    "two kinds and charges": {
        "TABLE_0": ZERO, "TABLE_1": ZERO, "TABLE_2": ZERO, "COEFS": ZERO, "TERMS": 3, "KINDS": 2, "CAPACITY": 20,
        "CELLS_X": 3, "P": 20, "S": 5, "VALUE": 33, "RC2": "64'd1 << 40", "RMIN2": "64'd1 << 34",
    },
    "few bits and one filter": {
        "TABLE_0": ZERO, "TERMS": 1, "FILTERS": 1, "P": 18, "SUM": 35, "D": 12, "VALUE": 30, "SLOPE": 18,
        "RC2": "64'd1 << 36", "RMIN2": "64'd1 << 30", "FILTER_BITS": 10, "QUEUE": 32,
    },
    "as an ECP5 has them": {"TABLE_0": ZERO, "TABLE_1": ZERO, "FILTERS": 16, "CAPACITY": 24, "ECP5": 1, "RINGS": 1},
    "large memories": {"TABLE_0": ZERO, "TABLE_1": ZERO, "HUGE": 1, "CELLS_X": 7, "CAPACITY": 104},
}  # fmt: skip


@pytest.mark.parametrize("name", LINTED)
def test_lint(tmp_path: Path, name: str) -> None:
    """Clean under Verilator and Yosys; strings are parameters of an instance."""
    text = (SOURCES[-1]).read_text()
    ports = re.findall(r"^    (input|output) (?:wire|logic) (?:\[.*\] )?(\w+)", text, re.M)
    given = {"clk": "clk", "rst": "rst"}
    connections = [f".{port}({'' if way == 'output' else given.get(port, QUIET)})" for way, port in ports]
    chosen = ", ".join(f".{key}({value})" for key, value in LINTED[name].items())
    top = tmp_path / "linted.sv"
    top.write_text(
        "/* verilator lint_off PINCONNECTEMPTY */\n"
        f"module linted (input wire clk, input wire rst);\n  md_worker #({chosen}) u ({', '.join(connections)});\n"
        "endmodule\n"
    )
    lint("linted", [*SOURCES, top])


@pytest.mark.parametrize(
    ("module", "parameters", "message"),
    [
        ("md_product", {"A": 36}, "A and B must be 1 to 35"),
        ("md_square", {"BITS": 35}, "BITS must be 1 to 34"),
        ("md_multiply", {"B": 19}, "A and B must be 1 to 18"),
        ("md_filter_square", {"BITS": 9}, "BITS must be 2 to 8"),
        ("md_filters", {"BITS": 3}, "BITS must be 4 to 10"),
        ("md_filters", {"RC2": "64'd281474976710657"}, "RC2 must be at most 2"),
        ("md_normalise", {"D": 40}, "S, B and D must be at least 1"),
        ("md_terms", {"TERMS": 4}, "TERMS must be 1 to 3"),
        ("md_terms", {"KINDS": 2}, "two kinds need COEFS"),
        ("md_terms", {"VALUE": 35}, "at most 35 together"),
        ("md_force", {"SUM": 33}, "SUM must be more than K"),
        ("md_sums", {"SETS": 3}, "SETS must be 1 or 2"),
        ("md_queue", {"WORDS": 16}, "WORDS must be a power of two of at least twice MARGIN"),
        ("md_cells", {"CELLS_Y": 2}, "must be at least 3"),
        ("md_cells", {"CAPACITY": 1}, "CAPACITY must be at least 2"),
    ],
)
def test_illegal_parameters_stop_elaboration(module: str, parameters: dict[str, int | str], message: str) -> None:
    with pytest.raises(FlowError, match=f"{module}: .*{message}"):
        build(module, SOURCES, parameters=parameters)
