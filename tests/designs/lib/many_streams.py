"""Several stream modules in one simulator: one build and one run for many sets of parameters.

    duts = [Dut("max_pool", {"SIDE": 4}, in_bits=8, out_bits=8), ...]
    seen = run_many(duts, sent, expected, results=tmp_path, seed=1)     # sent, expected: words of each, integers
    seen[0][0].words, seen[0][0].out_cycles                             # of the first dut, at full rate

Each module gets its words once for every rhythm of `bench_many`, without a reset in between, all modules at the same
time. Words are checked here; the benches check the rules of the stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from designs.flow.verilator import BuildOptions, simulate, simulate_netlist
from designs.flow.yosys import synth_ecp5
from designs.lib import closure

BENCH = Path(__file__).parent / "bench_many.py"

#: (idle, stall) probabilities: full rate, a slow source, a slow sink, both slow, a sink that nearly never takes.
RHYTHMS = ((0.0, 0.0), (0.6, 0.0), (0.0, 0.6), (0.3, 0.3), (0.05, 0.9))


@dataclass(frozen=True)
class Dut:
    """An instance of a library module: its parameters, numbers or quoted strings, and the widths of its words."""

    module: str
    parameters: Mapping[str, int | str]
    in_bits: int
    out_bits: int


@dataclass(frozen=True)
class Seen:
    """Words that came out, and the cycles in which words went in and came out."""

    words: list[int]
    in_cycles: np.ndarray
    out_cycles: np.ndarray


def instance(dut: Dut, prefix: str, indent: str = "  ") -> str:
    """SystemVerilog of an instance whose streams are signals of the top that begin with `prefix`."""
    parameters = ", ".join(f".{name}({value})" for name, value in dut.parameters.items())
    streams = ", ".join(f".{s}_axis_{x}({prefix}{s}_axis_{x})" for s in "sm" for x in ("tvalid", "tready", "tdata"))
    return f"{indent}{dut.module} #({parameters}) u_{prefix}dut (.clk(clk), .rst(rst), {streams});"


def wrapper(duts: Sequence[Dut], name: str = "many") -> str:
    """SystemVerilog of a top module with all of `duts`, the signals of number i named d<i>_*."""
    ports, body = ["input wire clk", "input wire rst"], []
    for i, dut in enumerate(duts):
        ports += [f"input wire d{i}_s_axis_tvalid", f"output wire d{i}_s_axis_tready"]
        ports += [f"input wire [{dut.in_bits - 1}:0] d{i}_s_axis_tdata"]
        ports += [f"output wire d{i}_m_axis_tvalid", f"input wire d{i}_m_axis_tready"]
        ports += [f"output wire [{dut.out_bits - 1}:0] d{i}_m_axis_tdata"]
        body.append(instance(dut, f"d{i}_"))
    head = "`default_nettype none\nmodule {} (\n    {}\n);".format(name, ",\n    ".join(ports))
    return "\n".join([head, *body, "endmodule\n`default_nettype wire\n"])


def sources(duts: Sequence[Dut], folder: Path) -> list[Path]:
    """Files of the wrapper, written into `folder`, and of the library modules that it uses."""
    path = folder / "many.sv"
    path.write_text(wrapper(duts))
    return [*closure(*dict.fromkeys(dut.module for dut in duts)), path]


def packed(words: Sequence[int], bits: int) -> np.ndarray:
    """Integers as bytes (n, bytes), lowest first."""
    size = (bits + 7) // 8
    data = b"".join(word.to_bytes(size, "little") for word in words)
    return np.frombuffer(data, np.uint8).reshape(len(words), size)


def unpacked(data: np.ndarray) -> list[int]:
    """Integers of bytes (n, bytes)."""
    return [int.from_bytes(row.tobytes(), "little") for row in data]


def run_many(
    duts: Sequence[Dut],
    sent: Sequence[Sequence[int]],
    expected: Sequence[Sequence[int]],
    *,
    results: Path,
    seed: int = 1,
    data: Sequence[Path] = (),
    form: str = "",
) -> list[list[Seen]]:
    """Run all `duts`; what each gave, by dut and rhythm. AssertionError naming the first word that is not expected.

    `form` is "" for the forms that simulators take, "synthesis" for the others in the same simulator, "netlist" for
    what Yosys makes of them for ECP5. `data` are files that the modules read by name.
    """
    results.mkdir(parents=True, exist_ok=True)
    vectors: dict[str, np.ndarray] = {"rhythms": np.array(RHYTHMS)}
    for i, dut in enumerate(duts):
        vectors[f"sent{i}"] = packed(sent[i], dut.in_bits)
        vectors[f"expect{i}"] = np.array([len(expected[i]), dut.out_bits])
    files = sources(duts, results)
    if form == "netlist":
        synthesis = synth_ecp5("many", files, data=data)
        result = simulate_netlist(synthesis, BENCH, results=results, vectors=vectors, seed=seed)
    else:
        options = BuildOptions(defines=(("SYNTHESIS_FORMS", "1"),) if form == "synthesis" else ())
        result = simulate("many", files, BENCH, results=results, vectors=vectors, seed=seed, data=data, options=options)
    assert result.passed, result.message
    print(f"seed {seed}")
    seen: list[list[Seen]] = []
    for i, dut in enumerate(duts):
        seen.append([])
        for r, rhythm in enumerate(RHYTHMS):
            words = unpacked(result.payload[f"words{i}_{r}"])
            seen[i].append(Seen(words, result.payload[f"in{i}_{r}"], result.payload[f"out{i}_{r}"]))
            for n, (word, wanted) in enumerate(zip(words, expected[i], strict=True)):
                assert word == wanted, (
                    f"{dut.module} {dict(dut.parameters)}, idle and stall {rhythm}, seed {seed}: "
                    f"word {n} is {word:#x}, expected {wanted:#x}"
                )
    return seen
