"""From a system and an engine to files: a top module, table images, and what a flow has to know about them.

design = generate("lj864")
design.top, design.sources, design.memories
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from designs import lib
from designs.flow import cache
from designs.md import config
from designs.md.config import Engine
from workloads.md import cases
from workloads.md.system import System
from workloads.md.tables import COEFFICIENT, Format, Tables, format_of, tables

_FOLDER = Path(__file__).parent

#: The Python that the texts and images come from.
GENERATORS = tuple(_FOLDER / f"{name}.py" for name in ("config", "generate"))

#: A multiplier of ECP5, in `designs/lib/lattice`; a model of it for simulation is in `designs/lib/sim`.
MULTIPLIER = "ecp5_multiplier"

#: Beats carry at least a status.
STATUS_BITS = 216


@dataclass(frozen=True)
class Design:
    """A generated design: `top` is its module, `sources` its files, `memories` the files that they read by name.

    `bits` is the width of both streams. `digest` is the hash of all contents.
    """

    case: str
    engine: Engine
    table: Tables
    top: str
    sources: tuple[Path, ...]
    memories: tuple[Path, ...]
    bits: int
    digest: str

    @property
    def system(self) -> System:
        """What it simulates."""
        return self.table.system


def generate(case: str) -> Design:
    """A case on its engine. Errors: UnknownNameError; EngineError with the value and the limit."""
    return generate_system(cases.system(case), config.engine_of(case))


def generate_system(system: System, engine: Engine, form: Format | None = None) -> Design:
    """Any system. Errors: EngineError naming the system, the value and the limit."""
    config.check(system, engine)
    table = tables(system, form or format_of(system))
    config.check_tables(table, engine)
    top = f"md_{system.name}_{engine.name}" if system.name not in engine.name else f"md_{engine.name}"
    images = memory_images(table)
    chosen = parameters(table, engine)
    text = top_text(top, str(engine), chosen, beat_bits(table.format))

    def produce(folder: Path) -> None:
        for name, image in images.items():
            (folder / f"{name}.hex").write_text(image)
        (folder / f"{top}.sv").write_text(text)

    digest = hashlib.sha256("\0".join(f"{name}\0{image}" for name, image in images.items()).encode()).hexdigest()
    folder = cache.build({"step": "designs/md", "top": text, "images": digest}, GENERATORS, produce)
    sources = (*rtl(engine), folder / f"{top}.sv")
    memories = tuple(folder / f"{name}.hex" for name in images)
    return Design(
        system.name, engine, table, top, sources, memories, beat_bits(table.format), _digest((*sources, *memories))
    )


def rtl(engine: Engine) -> tuple[Path, ...]:
    """Modules of the core, with those of the library that they instantiate, and a vendor's where the engine has it."""
    waiting, found, library = ["md_core"], dict[str, None](), dict[str, None]()
    while waiting:
        name = waiting.pop()
        found[name] = None
        for each in re.findall(r"^ *(\w+) (?:#\(|u_\w+ \()$", (_FOLDER / f"{name}.sv").read_text(), re.MULTILINE):
            if (_FOLDER / f"{each}.sv").is_file():
                waiting += [each] if each not in found else []
            elif each not in ("module", MULTIPLIER):
                library[each] = None
    own = lib.source(f"lattice/{MULTIPLIER}") if engine.ecp5 else []
    return (*lib.closure(*sorted(library)), *own, *(_FOLDER / f"{name}.sv" for name in sorted(found)))


def parameters(table: Tables, engine: Engine) -> dict[str, int | str]:
    """Parameters of `md_core`: integers, and literals of SystemVerilog."""
    form, system = table.format, table.system
    x, y, z = system.cells
    chosen: dict[str, int | str] = {
        "WORKERS": engine.workers,
        "FILTERS": engine.filters,
        "FILTER_BITS": engine.filter_bits,
        "QUEUE": engine.queue,
        "CAPACITY": engine.capacity,
        "CELLS_X": x,
        "CELLS_Y": y,
        "CELLS_Z": z,
        "KINDS": len(system.species),
        "ID": max(1, (system.n - 1).bit_length()),
        "P": form.position,
        "V": form.velocity_fraction,
        "VELOCITY": form.velocity,
        "S": form.segments,
        "B": form.bins,
        "D": form.delta,
        "SUM": form.sums,
        "VALUE": table.value_bits,
        "SLOPE": table.slope_bits,
        "TERMS": len(table.base),
        "RC2": f"64'd{table.cutoff2}",
        "RMIN2": f"64'd{table.close2}",
    }
    chosen |= {f"TABLE_{term}": f'"table_{term}.hex"' for term in range(len(table.base))}
    if table.coefficients is not None:
        chosen["COEFS"] = '"coefficients.hex"'
    if table.ratios is not None:
        chosen["RATIO"] = f"18'd{int(table.ratios[1])}"
    if engine.huge:
        chosen["HUGE"] = "1'b1"
    if engine.ecp5:
        chosen["ECP5"] = "1'b1"
    if engine.rings:
        chosen["RINGS"] = "1'b1"
    return chosen


def memory_images(table: Tables) -> dict[str, str]:
    """Texts for $readmemh by name: `table_<term>`, a word {slope, base} a bin, and `coefficients` where there are any.

    A word of coefficients is that of a pair of kinds (kind_i * kinds + kind_j), the first term lowest.
    """
    value, slope = table.value_bits, table.slope_bits
    digits = -(-(value + slope) // 4)
    images = {}
    for term, (bases, slopes) in enumerate(zip(table.base, table.slope, strict=True)):
        words = (_field(b, value) | _field(s, slope) << value for b, s in zip(bases, slopes, strict=True))
        images[f"table_{term}"] = "".join(f"{word:0{digits}x}\n" for word in words)
    if table.coefficients is not None:
        bits = COEFFICIENT + 1
        flat = table.coefficients.reshape(len(table.base), -1).T
        packed = (sum(_field(c, bits) << bits * term for term, c in enumerate(row)) for row in flat)
        images["coefficients"] = "".join(f"{word:0{-(-bits * len(table.base) // 4)}x}\n" for word in packed)
    return images


def beat_bits(form: Format) -> int:
    """Bits of a beat: a particle's or a status', whole bytes."""
    particle = 3 * form.position + 3 * form.velocity + 8 + config.ID_BITS + config.CELL_BITS
    return max(-(-particle // 8) * 8, STATUS_BITS)


def top_text(top: str, about: str, chosen: Mapping[str, int | str], bits: int) -> str:
    """SystemVerilog of the top: the core with its parameters."""
    setting = ",\n      ".join(f".{name}({value})" for name, value in chosen.items())
    names = ("tvalid", "tready", "tdata", "tlast")
    streams = [f".{side}_axis_{pin}({side}_axis_{pin})" for side in "sm" for pin in names]
    pins = ",\n      ".join([".clk(clk)", ".rst(rst)", *streams])
    return f"""\
// Written by designs.md.generate: {about}.
`default_nettype none

module {top} (
    input wire clk,
    input wire rst,
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [{bits - 1}:0] s_axis_tdata,
    input wire s_axis_tlast,
    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [{bits - 1}:0] m_axis_tdata,
    output wire m_axis_tlast
);
  md_core #(
      {setting}
  ) u_core (
      {pins}
  );
endmodule

`default_nettype wire
"""


def _field(value: np.int64, bits: int) -> int:
    return int(value) & ((1 << bits) - 1)


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
