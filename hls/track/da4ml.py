"""`hls/track/da4ml`: the HGQ2 model through da4ml's distributed arithmetic to pipelined Verilog, one hit a clock."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compare.provenance import repo_root
from compare.record import Record
from designs import lib
from designs.flow import cache
from designs.flow.evidence import Core, board_sources, build_on_board, simulated
from designs.flow.verilator import simulate
from hls.flow.schedule import ADDERS, ECP5_6, pipeline
from hls.track import model
from hls.track.core import PIPELINE, TOP, core
from workloads.api import Check, Progress
from workloads.track import INPUT_FORMAT

NAME = "hls/track/da4ml"
CASES = model.CASES
TIER = "product"
ARITHMETICS = ("fixed",)

#: Longest logic between two registers: one carry chain and, where it follows at once, a ReLU.
STAGE_NS = 4.5
#: Clock of the board top. Place and route works towards it, and the PLL gives the nearest it can.
BOARD_MHZ = 180.0


@dataclass(frozen=True)
class Design:
    """Generated RTL: `sources` in order, widths of the stream's words, pipeline registers, content hash `digest`."""

    case: str
    sources: tuple[Path, ...]
    in_bits: int
    out_bits: int
    latency: int
    adders: int
    digest: str


def sources_of(case: str) -> list[str]:
    """Repository-relative files that determine the RTL of a case."""
    own = ("hls/track/da4ml.py", "hls/track/core.py", "hls/flow/schedule.py")
    library = ("designs/lib/credit_stream.sv", "designs/lib/stream_fifo.sv")
    return [*model.sources_of(case), *own, *library]


def simulated_sources_of(case: str) -> list[str]:
    """`sources_of`, and what counts the cycles."""
    return [*sources_of(case), "hls/track/bench_track.py", "designs/flow/bench.py"]


def routed_sources_of(case: str, board: str) -> list[str]:
    """`sources_of`, and what else determines a routing."""
    return [*sources_of(case), *board_sources(board)]


def _core(design: Design) -> Core:
    """The design as the flow takes it."""
    return Core(
        workload="track",
        case=design.case,
        implementation=NAME,
        arithmetic="fixed",
        top=TOP,
        sources=design.sources,
        in_bits=design.in_bits,
        out_bits=design.out_bits,
        digest=design.digest,
        facts={"adders": design.adders},
    )


def generate(case: str) -> Design:
    """Generate the RTL of a case, or take it from the cache. Errors: model.MissingPackage."""
    tools = model.versions("da4ml", "HGQ2", "keras", "tensorflow-cpu")
    inputs = [repo_root() / name for name in sources_of(case) if not name.endswith(".sv")]
    folder = cache.build({"step": NAME, "case": case, "tools": tools}, inputs, lambda f: _produce(case, f))
    facts = json.loads((folder / "design.json").read_text())
    sources = (*lib.source("stream_fifo", "credit_stream"), *sorted((folder / "rtl").glob("*.*v")))
    digest = hashlib.sha256()
    for path in sources:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return Design(case, sources, digest=digest.hexdigest()[:16], **facts)


def _produce(case: str, folder: Path) -> None:
    """Write rtl/*.v, rtl/track_core.sv and design.json."""
    network = model.load(case)
    from da4ml.codegen import RTLModel
    from da4ml.converter import trace_model
    from da4ml.trace import comb_trace
    from da4ml.types import minimal_kif

    k, i, f = int(INPUT_FORMAT.signed[0]), int(INPUT_FORMAT.integer[0]), int(INPUT_FORMAT.fraction[0])
    comb = comb_trace(*trace_model(network, inputs_kif=(k, i, f)))
    stages = pipeline(comb, STAGE_NS, ECP5_6)
    RTLModel(stages, PIPELINE, folder / "da4ml").write()
    formats = [(int(k), int(i), int(f)) for k, i, f in map(minimal_kif, stages.out_qint)]
    fixed = model.oracle(case)
    width, grid = model.out_width(fixed), fixed.layers[-1].output.grid
    in_bits, latency = len(stages.inp_qint) * model.IN_WIDTH, len(stages.solutions) + 1

    rtl = folder / "rtl"
    rtl.mkdir()
    wanted = [*(folder / "da4ml/src").glob(f"{PIPELINE}.v"), *(folder / "da4ml/src").glob(f"{PIPELINE}_stage*.v")]
    text = "".join(path.read_text() for path in wanted)
    static = [p for p in (folder / "da4ml/src/static").glob("*.v") if re.search(rf"\b{p.stem}\b", text)]
    for path in [*wanted, *static]:
        # Ours have no `timescale, and a design has it everywhere or nowhere.
        (rtl / path.name).write_text(re.sub(r"^`timescale.*\n", "", path.read_text(), flags=re.MULTILINE))
    (rtl / f"{TOP}.sv").write_text(core(in_bits, latency, width, grid, formats))
    facts = {
        "in_bits": in_bits,
        "out_bits": len(formats) * width,
        "latency": latency,
        "adders": sum(op.opcode in ADDERS for op in comb.ops),
    }
    (folder / "design.json").write_text(json.dumps(facts))


def verify(case: str, *, samples: int = 10_000, seed: int = 1, progress: Progress | None = None) -> Iterator[Check]:
    """Simulate the core on extremes and generated hits, freely and with random stalls; equal to the oracle or not."""
    began = time.monotonic()
    if progress:
        progress("generate RTL", 0, 2)
    design = generate(case)
    if progress:
        progress("simulate", 1, 2)
    fixed = model.oracle(case)
    x = fixed.encode(model.vectors(case, samples, seed))
    expected = fixed.evaluate(x)
    words = np.array(model.pack(x, model.IN_WIDTH), np.uint64)
    bench = Path(__file__).parent / "bench_track.py"
    with tempfile.TemporaryDirectory(prefix="gatewarp-") as results:
        outcome = simulate(TOP, design.sources, bench, vectors={"words": words}, results=Path(results), seed=seed)
        message = "" if outcome.passed else outcome.message
    worst = float("nan")
    records: tuple[Record, ...] = ()
    if outcome.passed:
        got = {run: _unpack(outcome.payload[f"{run}_words"], fixed) for run in ("free", "paused")}
        worst = max(float(np.abs(g - expected).max()) for g in got.values()) * 2.0 ** -fixed.layers[-1].output.grid
        message = "free and stalled" if worst == 0 else "outputs differ from the oracle"
        if worst == 0:
            entered, left = outcome.payload["free_in"], outcome.payload["free_out"]
            records = (simulated(_core(design), entered, left, sources=simulated_sources_of(case), seed=seed),)
    if progress:
        progress("simulate", 2, 2)
    yield Check(
        implementation=NAME,
        case=case,
        arithmetic="fixed",
        device="simulation",
        samples=len(x),
        seed=seed,
        passed=outcome.passed and worst == 0,
        worst=worst,
        tolerance=None,
        detail=message,
        seconds=time.monotonic() - began,
        records=records,
    )


def _unpack(words: Any, fixed: Any) -> Any:
    return model.unpack([int(w) for w in words], model.out_width(fixed), fixed.widths[-1])


def build(
    case: str, *, board: str, seeds: int = 10, out: Path | None = None, progress: Progress | None = None
) -> Iterator[Record]:
    """Place, route and pack the core behind the board's serial port; see `designs.flow.evidence.build_on_board`."""
    yield build_on_board(
        _core(generate(case)),
        board=board,
        mhz=BOARD_MHZ,
        sources=sources_of(case),
        seeds=seeds,
        out=out,
        progress=progress,
    )
