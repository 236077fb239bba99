"""Synthesis for the 7 series and UltraScale+ of Xilinx with Yosys: counts of cells, to see whether a part holds them.

    synthesis = synth_xilinx("bcnn_conv3", sources, data=memories)
    synthesis.cells["luts"], synthesis.modules["bcnn_conv3"]["ffs"]

There is no place and route behind it, so the stage of its figures is post-synthesis, and there is no clock. Two things
differ from what Yosys' `synth_xilinx` does by itself, both for speed and neither for the counts:

* Block RAM loses its contents before it is mapped: Yosys takes about a second for each block of another content.
  The netlist is therefore for counting only, and none is written.
* Modules named in `keep` stay modules, so that many equal rows are mapped once.

Yosys counts a LUT of up to five inputs as a whole one, of which Vivado puts two into one place where it can; so the
LUTs are an upper bound of what Vivado would report for the same netlist.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from designs.flow import cache
from designs.flow.tools import FlowError, version
from designs.flow.yosys import run_yosys

FAMILIES = ("xc7", "xcup")

#: What each figure of `Synthesis.cells` counts, by cell type and the weight of that cell.
CELL_WEIGHTS: Mapping[str, Mapping[str, int]] = {
    "logic_luts": {**{f"LUT{n}": 1 for n in range(1, 7)}, "INV": 1},
    "memory_luts": {
        "SRL16E": 1, "SRLC16E": 1, "SRLC32E": 1, "RAM32X1S": 1, "RAM64X1S": 1, "RAM32X1D": 2, "RAM64X1D": 2,
        "RAM128X1S": 2, "RAM128X1D": 4, "RAM256X1S": 4, "RAM256X1D": 8, "RAM512X1S": 8, "RAM32M": 4, "RAM64M": 4,
        "RAM32M16": 8, "RAM64M8": 8, "RAM32X16DR8": 8, "RAM64X8SW": 8,
    },
    "ffs": {"FDRE": 1, "FDSE": 1, "FDCE": 1, "FDPE": 1, "FDRE_1": 1, "FDSE_1": 1, "FDCE_1": 1, "FDPE_1": 1},
    "carry": {"CARRY4": 1, "CARRY8": 1},
    "brams": {"RAMB18E1": 1, "RAMB36E1": 2, "RAMB18E2": 1, "RAMB36E2": 2},  # in halves of 18 kbit
    "dsps": {"DSP48E1": 1, "DSP48E2": 1},
}  # fmt: skip

#: Cells that take no place of their own, or none that is counted.
_UNCOUNTED = ("MUXF7", "MUXF8", "MUXF9", "BUFG", "IBUF", "OBUF", "$scopeinfo")

#: How `synth_xilinx` of the version that is pinned calls `memory_libmap`. A test compares with `synth_xilinx` itself.
_LIBMAP: Mapping[str, str] = {
    "xc7": "-logic-cost-rom 0.015625 -lib +/xilinx/lutrams_xc5v.txt -lib +/xilinx/brams_xc4v.txt -D HAS_SIZE_36 "
    "-D HAS_CASCADE -D HAS_CONFLICT_BUG -D HAS_MIXWIDTH_SDP -no-auto-huge",
    "xcup": "-logic-cost-rom 0.015625 -lib +/xilinx/lutrams_xcu.txt -lib +/xilinx/brams_xc4v.txt -D HAS_SIZE_36 "
    "-D HAS_MIXWIDTH_SDP -D HAS_ADDRCE -lib +/xilinx/urams.txt -no-auto-huge",
}


@dataclass(frozen=True)
class Synthesis:
    """Counts of a design: `cells` of all of it, `modules` of each kept module, all instances and without those inside.

    Keys: `luts` = `logic_luts` + `memory_luts` (RAM and shift registers in LUTs), `ffs`, `carry`, `brams` in blocks of
    18 kbit, `dsps`. See CELL_WEIGHTS. `types` are Yosys' own counts by cell type.
    """

    top: str
    family: str
    log: Path
    cells: Mapping[str, int]
    modules: Mapping[str, Mapping[str, int]]
    types: Mapping[str, int]


def synth_xilinx(
    top: str,
    sources: Sequence[Path],
    *,
    family: str = "xc7",
    parameters: Mapping[str, int | str] | None = None,
    data: Sequence[Path] = (),
    keep: Sequence[str] = (),
    contents: bool = False,
) -> Synthesis:
    """Synthesise `top` out of context (no pins, no clock buffers), flat but for the modules in `keep`.

    `parameters` are the top's, `data` files that the sources read by name. `contents` keeps what is in block RAM.
    Errors: FlowError with Yosys' ERROR line, for an unknown family, or for a cell that nobody counts; MissingTool.
    """
    if family not in FAMILIES:
        raise FlowError(f"unknown family {family!r}; known: {', '.join(FAMILIES)}")
    chosen = "".join(f" -chparam {name} {value}" for name, value in (parameters or {}).items())
    synth = f"synth_xilinx -top {top} -family {family} -flatten -noiopad -noclkbuf"
    commands = [f"hierarchy -top {top}{chosen}"]
    commands += [f"setattr -mod -set keep_hierarchy 1 *{module}" for module in keep]
    if contents:
        commands += [f"{synth} -run :check"]
    else:
        commands += [f"{synth} -run :map_memory", f"memory_libmap {_LIBMAP[family]}"]
        commands += ["setparam -set INIT 0 t:$__XILINX_BLOCKRAM_*", f"{synth} -run map_memory:check"]
    commands += ["tee -q -o cells.json stat -json"]

    def produce(folder: Path) -> None:
        for path in data:
            (folder / path.name).symlink_to(path.resolve())
        run_yosys([*(f'read_verilog -sv -defer "{source.resolve()}"' for source in sources), *commands], folder)
        for path in data:
            (folder / path.name).unlink()

    parts = {"step": "synth_xilinx", "commands": commands, "pyosys": version("pyosys")}
    folder = cache.build(parts, [*sources, *data], produce)
    own = {
        _name(name): _cells(entry) for name, entry in json.loads((folder / "cells.json").read_text())["modules"].items()
    }
    modules: dict[str, Counter[str]] = {}
    _add(top, own, 1, modules)
    types = sum(modules.values(), Counter[str]())
    return Synthesis(
        top=top,
        family=family,
        log=folder / "yosys.log",
        cells=_counts(types),
        modules={name: _counts(cells) for name, cells in modules.items()},
        types=types,
    )


def _cells(entry: Mapping[str, Any]) -> dict[str, int]:
    return {_name(name): int(count) for name, count in entry["num_cells_by_type"].items()}


def _name(escaped: str) -> str:
    return escaped.removeprefix("\\")


def _add(module: str, own: Mapping[str, Mapping[str, int]], times: int, modules: dict[str, Counter[str]]) -> None:
    """Add the cells of `times` instances of a module, and of those in it, to the sums by name in the source.

    Yosys puts a hash of the parameters before that name. Its own total leaves cells out where modules are kept.
    """
    sums = modules.setdefault(module.rsplit("\\", 1)[-1], Counter())
    for cell, count in own[module].items():
        if cell in own:
            _add(cell, own, times * count, modules)
        else:
            sums[cell] += times * count


def _counts(types: Mapping[str, int]) -> dict[str, int]:
    known = {cell for weights in CELL_WEIGHTS.values() for cell in weights}
    strange = sorted(set(types) - known - set(_UNCOUNTED))
    if strange:
        raise FlowError(f"cells that nobody counts: {', '.join(strange)}")
    counts = {
        name: sum(weight * types.get(cell, 0) for cell, weight in weights.items())
        for name, weights in CELL_WEIGHTS.items()
    }
    return {"luts": counts["logic_luts"] + counts["memory_luts"], **counts}
