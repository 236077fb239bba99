"""From a network and an engine to files: a top module, memory images, and what a flow has to know about them.

    design = generate("digits", preset("reverse_loop", "ulx3s_digits"))

With resident weights the top is a core that goes on a board: program, weights and biases are in memories, activations
come and go by two streams. With streamed weights the top has streams of commands and weights besides.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from designs import lib
from designs.deconv.compiler import Program, compile_network
from designs.deconv.compiler_images import hexadecimal, lines_of, packed, table_words
from designs.deconv.config import DATAFLOWS, Dataflow, Engine
from designs.flow import cache
from workloads.deconv import parameters
from workloads.deconv.fixed import Integers
from workloads.deconv.network import FixedNetwork

_FOLDER = Path(__file__).parent

#: The Python that the texts and images come from.
GENERATORS = tuple(
    _FOLDER / f"{name}.py"
    for name in ("commands", "compiler", "compiler_images", "compiler_plan", "compiler_tiles", "config", "generate")
)

#: Modules of designs/lib that the engine instantiates.
LIBRARY = ("rom", "delay", "stream_fifo", "adder_tree")

#: Modules that only the other dataflow has, by the dataflow that does without.
_OTHER: Mapping[Dataflow, tuple[str, ...]] = {
    "reverse_loop": ("deconv_path_oriented",),
    "input_oriented": ("deconv_path_reverse",),
}

#: Bits of a step between entries of the table in the engine with 16 bits.
STEP_BITS = 10


@dataclass(frozen=True)
class Design:
    """A generated design: `top` is its module, `sources` its files, `memories` the files that they read by name.

    `in_bits` and `out_bits` are the widths of the streams of activations. `digest` is the hash of all contents.
    """

    case: str
    program: Program
    top: str
    sources: tuple[Path, ...]
    memories: tuple[Path, ...]
    in_bits: int
    out_bits: int
    digest: str

    @property
    def engine(self) -> Engine:
        """Its engine."""
        return self.program.engine


def generate(case: str, engine: Engine) -> Design:
    """A case on an engine. Errors: UnknownNameError; EngineError naming the layer, the value and the limit."""
    return generate_network(parameters.fixed(case, engine.bits), engine, case)


def generate_network(network: FixedNetwork, engine: Engine, case: str) -> Design:
    """Any network; `case` only names the design. Errors: EngineError naming the layer, the value and the limit."""
    program = compile_network(network, engine)
    # An engine with streamed weights is the same for all networks, but for what its table holds.
    top = f"deconv_{case}_{engine.name}" if engine.resident else f"deconv_{engine.name}"
    images = memory_images(program)

    def produce(folder: Path) -> None:
        for name, text in images.items():
            (folder / f"{name}.hex").write_text(text)
        (folder / f"{top}.sv").write_text(top_text(program, top))

    digest = hashlib.sha256("\0".join(f"{name}\0{text}" for name, text in images.items()).encode()).hexdigest()
    parts = {"step": "designs/deconv", "top": top, "engine": repr(engine), "images": digest}
    folder = cache.build(parts, GENERATORS, produce)
    sources = (*rtl(engine), folder / f"{top}.sv")
    memories = tuple(folder / f"{name}.hex" for name in images)
    bits = engine.beat * engine.bits
    return Design(case, program, top, sources, memories, bits, bits, _digest((*sources, *memories)))


def rtl(engine: Engine) -> tuple[Path, ...]:
    """Modules of an engine, with the core around it where weights are resident; none of the other dataflow."""
    waiting, found = ["deconv_core" if engine.resident else "deconv_engine"], dict[str, None]()
    while waiting:
        name = waiting.pop()
        found[name] = None
        text = (_FOLDER / f"{name}.sv").read_text()
        used = [each for each in re.findall(r"^ *(deconv_\w+) #\(", text, re.MULTILINE) if each != name]
        waiting += [each for each in used if each not in found and each not in _OTHER[engine.dataflow]]
    library = [*lib.closure(*LIBRARY), *(lib.source("lattice/ecp5_multiplier") if engine.ecp5 else [])]
    return (*library, *(_FOLDER / f"{name}.sv" for name in sorted(found)))


def memory_images(program: Program) -> dict[str, str]:
    """Texts for $readmemh by name: `table` where it can be used; resident also `program`, `weights` and `biases`."""
    engine, images = program.engine, {}
    if program.table.size or not engine.resident:
        images["table"] = table_text(program.table if program.table.size else table_words("tanh", engine.bits), engine)
    if engine.resident:
        lanes = engine.tm * engine.tn * engine.tz
        flat = [words.reshape(-1, words.shape[-1]) for words in program.weights]
        words = np.concatenate([np.pad(part, ((0, 0), (0, lanes - part.shape[1]))) for part in flat])
        words = np.pad(words, ((0, engine.w_words - len(words)), (0, 0)))
        biases = np.concatenate(program.biases)
        biases = np.pad(biases, ((0, engine.bias_words - len(biases)), (0, 0)))
        images["program"] = "".join(f"{command:08x}\n" for command in program.commands)
        lines = lines_of(packed(words, engine.bits))
        images["weights"] = hexadecimal(lines, 8 * lines.shape[1])
        images["biases"] = hexadecimal(packed(biases, engine.acc), engine.tm * engine.acc)
    return images


def table_text(table: Integers, engine: Engine) -> str:
    """Entries of the activation table: 8 bits of value, or 16 with the step to the next entry above them."""
    value = table[:, 0] & ((1 << engine.bits) - 1)
    if engine.bits == 8:
        return "".join(f"{int(each):02x}\n" for each in value)
    entries = value | (table[:, 1] & ((1 << STEP_BITS) - 1)) << 16
    return "".join(f"{int(each):07x}\n" for each in entries)


def weight_stream(program: Program) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Beats (n, bytes), lowest byte first, that the weight stream carries for an item, and where tlast is.

    Of each group of output channels of each RUN: its biases, then its words, the last one marked.
    """
    engine = program.engine
    size = -(-weight_beat(engine) // 8)
    rows, lasts = [], []
    ready = {}
    for run in program.runs:
        if run.layer not in ready:
            weights, biases = program.weights[run.layer], program.biases[run.layer]
            groups, taps, folds, numbers = weights.shape
            words = packed(weights.reshape(-1, numbers), engine.bits).reshape(groups, taps * folds, -1)
            heads = packed(biases, engine.acc)[:, None]
            both = [np.pad(part, ((0, 0), (0, 0), (0, size - part.shape[2]))) for part in (heads, words)]
            ends = np.zeros((groups, 1 + taps * folds), bool)
            ends[:, -1] = True
            ready[run.layer] = (np.concatenate(both, axis=1).reshape(-1, size), ends.reshape(-1))
        rows.append(ready[run.layer][0])
        lasts.append(ready[run.layer][1])
    return np.concatenate(rows), np.concatenate(lasts)


def weight_beat(engine: Engine) -> int:
    """Bits of a beat of the weight stream."""
    return max(engine.tm * engine.tn * engine.tz * engine.bits, engine.tm * engine.acc)


def engine_parameters(program: Program) -> dict[str, int | str]:
    """Parameters of `deconv_engine` by name; texts with their quotes."""
    engine = program.engine
    numbers: dict[str, int | str] = {
        "DATAFLOW": DATAFLOWS.index(engine.dataflow), "BITS": engine.bits, "ACC": engine.acc, "TM": engine.tm,
        "TN": engine.tn, "TZ": engine.tz, "TR": engine.tr, "TC": engine.tc, "A_WORDS": engine.a_words,
        "B_WORDS": engine.b_words, "W_WORDS": engine.w_words, "BIAS_WORDS": engine.bias_words, "DRAIN": engine.drain,
        "PSUM_WORDS": engine.psum_words, "IO": engine.io, "ECP5": int(engine.ecp5),
    }  # fmt: skip
    if program.table.size or not engine.resident:
        numbers["TABLE"] = '"table.hex"'
    if engine.resident:
        numbers |= {"WEIGHTS": '"weights.hex"', "BIASES": '"biases.hex"'}
    return numbers


def top_text(program: Program, top: str) -> str:
    """SystemVerilog of the top: the core or engine with its parameters."""
    engine = program.engine
    chosen = engine_parameters(program)
    if engine.resident:
        chosen |= {"PROGRAM": '"program.hex"', "PROGRAM_WORDS": len(program.commands)}
    setting = ",\n      ".join(f".{name}({value})" for name, value in {**chosen, "COUNTERS": "COUNTERS"}.items())
    bits, beat = engine.beat * engine.bits, weight_beat(engine)
    streams = [("s_axis", False, bits, True), ("m_axis", True, bits, True)]
    if not engine.resident:
        streams += [("s_cmd", False, 32, False), ("s_weight", False, beat, True)]
    ports, pins = [], []
    for name, out, width, last in streams:
        forward, backward = ("output", "input") if out else ("input", "output")
        lines = [f"{forward} wire {name}_tvalid", f"{backward} wire {name}_tready"]
        lines += [f"{forward} wire [{width - 1}:0] {name}_tdata"] + ([f"{forward} wire {name}_tlast"] if last else [])
        ports += lines
        wanted = ["tvalid", "tready", "tdata"]
        wanted += ["tlast"] if last and (engine.resident or name != "s_axis") else []
        pins += [f".{name}_{pin}({name}_{pin})" for pin in wanted]
    if not engine.resident:
        pins += [".ended(ended)", ".busy(busy)"]
        counts = ("busy", "issues", "stalled_weights", "stalled_drain", "useful", "kept", "loaded", "stored", "weighed")
        pins += [f".count_{name}(counts[{number}])" for number, name in enumerate(counts)]
    inside = "" if engine.resident else (
        "  wire ended;\n  wire [2:0] busy;\n  wire [63:0] counts[9];\n"
        "  wire unused = &{1'b0, s_axis_tlast, ended, busy, "
        + ", ".join(f"counts[{n}]" for n in range(9)) + "};\n\n"
    )  # fmt: skip
    module, name = ("deconv_core", "u_core") if engine.resident else ("deconv_engine", "u_engine")
    joined_ports = ",\n    ".join(["input wire clk", "input wire rst", *ports])
    joined_pins = ",\n      ".join([".clk(clk)", ".rst(rst)", *pins])
    return f"""\
// Written by designs.deconv.generate: {engine}.
`default_nettype none

module {top} #(
    // 1: count, for a simulation.
    parameter bit COUNTERS = 0
) (
    {joined_ports}
);
{inside}  {module} #(
      {setting}
  ) {name} (
      {joined_pins}
  );
endmodule

`default_nettype wire
"""


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
