"""Parts of UltraScale+ with UltraRAM, and counts of a design on them after synthesis.

    record = synthesised(core, part("xcvu9p"), keep=("md_worker",), sources=sources)

As `designs.flow.xilinx`, which it uses: no place and route is behind it and no clock, and block RAM loses its
contents before it is mapped. Memories that ask for it (`ram_style = "ultra"`) become UltraRAM, which is counted too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compare.provenance import make_provenance
from compare.record import Boundary, Measurement, Record, Stage
from designs.flow import cache, parts, xilinx
from designs.flow.evidence import Core
from designs.flow.parts import Part
from designs.flow.tools import version, versions
from designs.flow.xilinx import Synthesis
from designs.flow.yosys import run_yosys
from workloads.api import Progress, UnknownNameError

#: Cell type of an UltraRAM, 4,096 words of 72 bits.
URAM = "URAM288"


@dataclass(frozen=True)
class UltraPart(Part):
    """A part with UltraRAMs, of 288 kbit each."""

    urams: int = 0

    def share(self, counts: Mapping[str, int]) -> dict[str, float]:
        """As of `Part`, and of `urams`."""
        return {**super().share(counts), "urams": counts["urams"] / self.urams}


#: Totals are the vendor's; `compare/facts` has them with their source.
PARTS: Mapping[str, UltraPart] = {
    part.name: part for part in (UltraPart("xcvu9p", "xcup", 1_182_240, 2_364_480, 4_320, 6_840, urams=960),)
}


def part(name: str) -> Part:
    """A part by name, of those here or of `designs.flow.parts`. Errors: UnknownNameError listing all."""
    if name not in PARTS and name not in parts.PARTS:
        raise UnknownNameError("part", name, (*parts.PARTS, *PARTS))
    return PARTS.get(name) or parts.part(name)


def synth(top: str, sources: Sequence[Path], *, data: Sequence[Path] = (), keep: Sequence[str] = ()) -> Synthesis:
    """Synthesise as `designs.flow.xilinx.synth_xilinx` does, for xcup; `cells` has `urams` too.

    Errors: FlowError with Yosys' ERROR line, or for a cell that nobody counts; MissingTool.
    """
    made = f"synth_xilinx -top {top} -family xcup -flatten -noiopad -noclkbuf"
    commands = [
        f"hierarchy -top {top}",
        *(f"setattr -mod -set keep_hierarchy 1 *{module}" for module in keep),
        f"{made} -run :map_memory",
        f"memory_libmap {xilinx._LIBMAP['xcup']}",
        "setparam -set INIT 0 t:$__XILINX_BLOCKRAM_*",
        f"{made} -run map_memory:check",
        "tee -q -o cells.json stat -json",
    ]

    def produce(folder: Path) -> None:
        for path in data:
            (folder / path.name).symlink_to(path.resolve())
        run_yosys([*(f'read_verilog -sv -defer "{source.resolve()}"' for source in sources), *commands], folder)
        for path in data:
            (folder / path.name).unlink()

    key = {"step": "synth_ultrascale", "commands": commands, "pyosys": version("pyosys")}
    folder = cache.build(key, [*sources, *data], produce)
    found = json.loads((folder / "cells.json").read_text())["modules"]
    own = {xilinx._name(name): xilinx._cells(entry) for name, entry in found.items()}
    modules: dict[str, Counter[str]] = {}
    xilinx._add(top, own, 1, modules)
    types = sum(modules.values(), Counter[str]())
    each = {name: _counts(cells) for name, cells in modules.items()}
    return Synthesis(top, "xcup", folder / "yosys.log", _counts(types), each, types)


def _counts(types: Mapping[str, int]) -> dict[str, int]:
    others = {name: count for name, count in types.items() if name != URAM}
    return {**xilinx._counts(others), "urams": types.get(URAM, 0)}


def synthesised(
    core: Core, chosen: UltraPart, *, keep: Sequence[str], sources: Iterable[str], progress: Progress | None = None
) -> Record:
    """Resources of a core on a part, and whether the part holds it; modules in `keep` are mapped once and counted.

    `sources` are the repository's files that determine the core. Errors: FlowError, MissingTool.
    """
    if progress:
        progress("synthesise", 0, 1)
    made = synth(core.top, core.sources, data=core.memories, keep=keep)
    if progress:
        progress("synthesise", 1, 1)
    share = chosen.share(made.cells)
    scarce = max(share, key=lambda name: share[name])
    counts = tuple(
        Measurement(name, made.cells[name], "1", "count", 1, Stage.POST_SYNTHESIS, Boundary.NONE)
        for name in ("luts", "ffs", "brams", "dsps")
    )
    return Record(
        workload=core.workload,
        case=core.case,
        implementation=core.implementation,
        device=chosen.name,
        conditions={
            **core.conditions,
            "resources_of": "the core, synthesised out of context",
            "bram_kind": "18 Kb",
            "urams": made.cells["urams"],
            "luts_of": "cells of one to six inputs, none of them packed in pairs, and those used as memory",
            "memory_luts": made.cells["memory_luts"],
            "carry": made.cells["carry"],
            "fits": share[scarce] <= 1,
            "scarce": scarce,
            "hierarchy": f"flat, but for {', '.join(sorted(set(made.modules) - {core.top}))}",
        },
        provenance=make_provenance(
            f"gatewarp build {core.workload} --case {core.case} --part {chosen.name}",
            [*sources, *(f"designs/flow/{name}.py" for name in ("ultrascale", "parts", "xilinx"))],
            versions("pyosys"),
            source="cell counts of Yosys after synth_xilinx",
        ),
        measurements=(
            *counts,
            Measurement("utilisation", share[scarce], "1", "exact", 1, Stage.POST_SYNTHESIS, Boundary.NONE),
        ),
    )
