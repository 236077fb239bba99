"""What a part without a board makes of a core: records of resources after synthesis, or of a routing over seeds."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from compare.provenance import make_provenance
from compare.record import Boundary, Measurement, Record, Stage
from designs.flow import ice40
from designs.flow.evidence import Core, routed_figures
from designs.flow.harness import fmax_top
from designs.flow.parts import Part
from designs.flow.seeds import BASIS
from designs.flow.tools import versions
from designs.flow.xilinx import synth_xilinx
from workloads.api import Progress

_HARNESS = "fmax_top"


@dataclass(frozen=True)
class Piece:
    """A part of a core that is synthesised by itself: its name, its top module, its files, the modules kept in it."""

    name: str
    top: str
    sources: tuple[Path, ...]
    memories: tuple[Path, ...]
    keep: tuple[str, ...] = ()


def synthesised(
    core: Core, part: Part, pieces: Sequence[Piece], *, sources: Iterable[str], progress: Progress | None = None
) -> Record:
    """Resources of a core on a part of Xilinx, piece by piece, and whether the part holds their sum.

    `sources` are the repository's files that determine the core. Each measurement has the pieces' own counts as
    `values`. Errors: FlowError, MissingTool.
    """
    counts, kept = [], set()
    for number, piece in enumerate(pieces):
        if progress:
            progress(f"synthesise {piece.name}", number, len(pieces))
        made = synth_xilinx(piece.top, piece.sources, family=part.family, data=piece.memories, keep=piece.keep)
        counts.append(made.cells)
        kept |= set(made.modules) - {piece.top}
    if progress:
        progress("synthesise", len(pieces), len(pieces))
    total = {name: sum(count[name] for count in counts) for name in counts[0]}
    share = part.share(total)
    scarce = max(share, key=lambda name: share[name])

    def measurement(quantity: str) -> Measurement:
        each = tuple(float(count[quantity]) for count in counts)
        return Measurement(quantity, total[quantity], "1", "count", 1, Stage.POST_SYNTHESIS, Boundary.NONE, values=each)

    return Record(
        workload=core.workload,
        case=core.case,
        implementation=core.implementation,
        device=part.name,
        conditions={
            **core.conditions,
            "resources_of": "sum of layers synthesised out of context",
            "layers": ", ".join(piece.name for piece in pieces),
            "bram_kind": "18 Kb",
            "luts_of": "cells of one to six inputs, none of them packed in pairs, and those used as memory",
            "memory_luts": total["memory_luts"],
            "carry": total["carry"],
            "fits": share[scarce] <= 1,
            "scarce": scarce,
            "hierarchy": f"flat, but for {', '.join(sorted(kept))}" if kept else "flat",
        },
        provenance=make_provenance(
            f"gatewarp build {core.workload} --case {core.case} --part {part.name}",
            [*sources, *(f"designs/flow/{name}.py" for name in ("on_part", "parts", "xilinx"))],
            versions("pyosys"),
            source="cell counts of Yosys after synth_xilinx",
        ),
        measurements=(
            *(measurement(quantity) for quantity in ("luts", "ffs", "brams", "dsps")),
            Measurement("utilisation", share[scarce], "1", "exact", 1, Stage.POST_SYNTHESIS, Boundary.NONE),
        ),
    )


def routed(
    core: Core,
    part: Part,
    *,
    mhz: float,
    sources: Iterable[str],
    seeds: int = 10,
    extra: Sequence[str] = (),
    progress: Progress | None = None,
) -> Record:
    """Clock and resources of a core on an iCE40, in a wrapper with registers at its pins, over `seeds`.

    `extra` are options of Yosys' `synth_ice40`, such as `-dsp` for multipliers.
    Errors: FlowError with nextpnr's line when no legal placement is found; MissingTool.
    """
    if progress:
        progress("synthesise", 0, seeds + 1)
    with tempfile.TemporaryDirectory(prefix="gatewarp-") as folder:
        top = Path(folder) / f"{_HARNESS}.sv"
        top.write_text(fmax_top(core.top, core.in_bits, core.out_bits, name=_HARNESS))
        synthesis = ice40.synth_ice40(_HARNESS, [*core.sources, top], data=core.memories, extra=extra)
    spread = ice40.route_seeds(
        synthesis.json, seeds=seeds, progress=progress, device=part.device, package=part.package, target_mhz=mhz
    )
    bit = ice40.pack(spread.best.textcfg).read_bytes()
    routing = spread.middle
    return Record(
        workload=core.workload,
        case=core.case,
        implementation=core.implementation,
        device=part.name,
        conditions={
            **core.conditions,
            "package": part.package,
            "seeds": seeds,
            "target_clock_hz": spread.target_hz,
            "fmax_basis": BASIS,
            "resources_of": f"core, and {core.in_bits + 2 * core.out_bits} flip-flops at its pins; at the median seed",
            "bram_kind": "4 Kb",
            "bitstream_bytes": len(bit),
            "bitstream_sha256": hashlib.sha256(bit).hexdigest(),
            "bitstream_seed": spread.best.seed,
            "bitstream_fmax_hz": spread.best.fmax_hz,
            "critical_path": str(routing.critical),
        },
        provenance=make_provenance(
            f"gatewarp build {core.workload} --case {core.case} --part {part.name} --seeds {seeds}",
            [*sources, *(f"designs/flow/{name}.py" for name in ("harness", "ice40", "on_part", "parts"))],
            versions("pyosys", ice40.PACKAGE),
            source="timing analysis of nextpnr-ice40 after routing",
        ),
        measurements=routed_figures(spread),
    )
