"""What a simulation of a case becomes: checks of states, counters, use of the pipelines and flags, and the record.

yield from evidence.verify(NAME, "lj864", samples=100, seed=1, progress=None, largest=100)
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from compare.provenance import repo_root
from compare.record import Boundary, Measurement, Record, Scalar, Stage
from designs import lib
from designs.flow.evidence import Core, simulated
from designs.md import simulation
from designs.md.flags import provoked
from designs.md.generate import GENERATORS, MULTIPLIER, Design, generate
from designs.md.model import HALF_SHELL
from designs.md.protocol import Script, Status, dumped, reported
from designs.md.simulation import Run, SimulationFailed, Trace
from workloads.api import Check, Progress
from workloads.md import WORKLOAD, cases, fixed
from workloads.md.fixed import State

#: Share of the cycles of the force phases in which a pipeline must take a pair within the cutoff.
BUSY = 0.85

#: Steps of the run with pauses; a pause does nothing to a step, but to what comes before and after.
PAUSED = 2

#: Chance of 256 that a stream pauses in that run.
PAUSE = 128

ARITHMETIC = "fixed"

#: Margin of the model's list of pairs, as a share of the cutoff; it changes nothing but the time that the model takes.
SKIN = 0.05


@dataclass(frozen=True)
class Plan:
    """Runs of a check and what is due: states in the order of the dumps, pairs and candidates of the statuses."""

    runs: tuple[Run, ...]
    states: tuple[State, ...]
    pairs: tuple[int, ...]
    candidates: tuple[int, ...]


def verify(
    name: str, case: str, *, samples: int, seed: int, progress: Progress | None, largest: int
) -> Iterator[Check]:
    """Four checks of a case on its engine.

    Every position and velocity equals the integer model's, after one step, at the end, and with pauses of the streams;
    the counters say what they must; the pipelines are used; each flag is raised by what it is for and by nothing else.
    The record comes with the first check, and only when all pass. A sample is a step.
    """
    began = time.monotonic()
    if progress:
        progress("generate RTL", 0, 3)
    design = generate(case)
    steps = max(2, min(samples, largest))
    if progress:
        progress("integer model", 1, 3)
    made = plan(design, start(design, seed), steps, seed)
    flags = provoked(design)
    if progress:
        progress("simulate", 2, 3)
    common = Check(name, case, ARITHMETIC, "simulation", steps, seed, False, float("nan"), None)
    try:
        traces = simulation.run(design, [*made.runs, *(Run(each.script, seed=seed) for each in flags)], seed=seed)
    except SimulationFailed as error:
        failed = replace(common, detail=str(error), seconds=time.monotonic() - began)
        yield failed
        yield from (replace(failed, tolerance=tolerance) for tolerance in (0.0, 1 - BUSY, 0.0))
        return
    worst, strange, status = compared(design, made, traces[: len(made.runs)])
    idle = max(0.0, BUSY - status.useful)
    answers = zip(flags, traces[len(made.runs) :], strict=True)
    missed = [problem for each, trace in answers for problem in each.problems(trace.packets)]
    right = worst == 0 and not strange and not missed and idle == 0
    if progress:
        progress("simulate", 3, 3)
    how = f"{design.engine}: {steps} steps, and {PAUSED} with pauses of the streams"
    yield replace(
        common,
        passed=worst == 0,
        worst=float(worst),
        detail=how if worst == 0 else f"{design.engine}: numbers differ from the integer model",
        seconds=time.monotonic() - began,
        records=(record(name, design, traces[0], status, seed),) if right else (),
    )
    told = f"{design.engine}: pairs within the cutoff and candidates are exactly those of the model, flags are down"
    yield replace(
        common, passed=not strange, worst=float(len(strange)), tolerance=0.0, detail=strange[0] if strange else told
    )
    used = f"{design.engine}: a pipeline takes a pair within the cutoff in {status.useful:.1%} of the force phase"
    yield replace(common, passed=idle == 0, worst=idle, tolerance=0.0, detail=used)
    causes = ", ".join(each.name for each in flags if each.flags)
    raised = f"{design.engine}: raised by {causes}; not without"
    yield replace(
        common, passed=not missed, worst=float(len(missed)), tolerance=0.0, detail=missed[0] if missed else raised
    )


def start(design: Design, seed: int) -> State:
    """The start state of a case in integers."""
    found = cases.state(design.case, seed)
    return fixed.quantise(design.table, found.positions, found.velocities, found.kinds)


def plan(design: Design, state: State, steps: int, seed: int) -> Plan:
    """The runs: a first step alone and then the others, without pauses; then a few steps from the start with pauses."""
    table = design.table
    near = fixed.by_list(table, SKIN * design.system.cutoff)
    passed = [state, *fixed.trajectory(table, state, steps, near)]
    pairs = [fixed.forces(table, each, near).pairs for each in passed]
    ends = (passed[1], *(fixed.kick(table, passed[last], True, near) for last in (steps, PAUSED)))
    script, again = Script(design), Script(design)
    script.clear()
    script.load(state)
    script.run(1, last_half=False)
    script.dump()
    script.run(steps - 1, first_half=False)
    script.dump()
    script.status()
    again.clear()
    again.load(state)
    again.run(PAUSED)
    again.dump()
    again.status()
    tested = [half_shell(design, each) for each in passed]
    return Plan(
        (Run(script, seed=2 * seed + 1), Run(again, idle=PAUSE, stall=PAUSE, seed=2 * seed + 3)),
        ends,
        (sum(pairs), sum(pairs[: PAUSED + 1])),
        (sum(tested), sum(tested[: PAUSED + 1])),
    )


def half_shell(design: Design, state: State) -> int:
    """Pairs of a state that a cell and its 13 neighbours of the half shell hold, each once."""
    x, y, z = design.system.cells
    counts = np.bincount(state.cell_index(design.table), minlength=x * y * z).reshape(z, y, x)
    within = counts * (counts - 1) // 2
    around = sum(np.roll(counts, (-dz, -dy, -dx), (0, 1, 2)) for dx, dy, dz in HALF_SHELL[1:])
    return int((within + counts * around).sum())


def compared(design: Design, made: Plan, traces: Sequence[Trace]) -> tuple[int, list[str], Status]:
    """Largest difference of an integer from the model's, what the counters say that cannot be, and the full run's."""
    full, paused = traces
    dumps = [dumped(design, packet) for packet in (full.packets[0], full.packets[1], paused.packets[0])]
    worst = max(difference(got, want) for got, want in zip(dumps, made.states, strict=True))
    statuses = [reported(full.packets[2]), reported(paused.packets[1])]
    strange = []
    steps = (len(full.steps), PAUSED)
    for status, pairs, tested, done in zip(statuses, made.pairs, made.candidates, steps, strict=True):
        for what, seen, due in (
            ("flags", status.flags, 0),
            ("particles", status.particles, design.system.n),
            ("particles lost", status.lost, 0),
            ("steps", status.steps, done),
            ("pairs", int(status.pairs.sum()), pairs),
            ("candidates", int(status.candidates.sum()), tested),
        ):
            if seen != due:
                strange.append(f"{design.engine}: {seen:,} {what} counted, {due:,} due")
    return worst, strange, statuses[0]


def difference(got: State, want: State) -> int:
    """Largest difference of any number of two states; a particle too many or too few is the largest there is."""
    if got.positions.shape != want.positions.shape:
        return int(np.iinfo(np.int64).max)
    parts = ((got.positions, want.positions), (got.velocities, want.velocities), (got.kinds, want.kinds))
    return max(int(np.abs(a.astype(np.int64) - b.astype(np.int64)).max()) for a, b in parts)


def core_of(name: str, design: Design) -> Core:
    """The design as the flow takes it."""
    return Core(
        workload="md",
        case=design.case,
        implementation=name,
        arithmetic=ARITHMETIC,
        top=design.top,
        sources=design.sources,
        in_bits=design.bits,
        out_bits=design.bits,
        digest=design.digest,
        facts=facts(design),
        memories=design.memories,
    )


def facts(design: Design) -> dict[str, Scalar]:
    """What every record of a design says."""
    engine, form = design.engine, design.table.format
    x, y, z = design.system.cells
    return {
        "engine": engine.name,
        "pipelines": engine.workers,
        "filters": engine.filters,
        "cells": f"{x} x {y} x {z}",
        "capacity": engine.capacity,
        "table_bins": form.entries,
        "position_bits": form.position,
        "force_bits": form.sums,
    }


def sources_of(name: str, design: Design) -> list[str]:
    """Repository-relative files that determine the RTL, its memories and how it is checked and built."""
    root, folder = repo_root(), Path(__file__).parent
    own = [*GENERATORS, *(folder / f"{each}.py" for each in ("evidence", name.split("/")[-1]))]
    own += [path for path in design.sources if path.is_relative_to(lib.FOLDER) or path.is_relative_to(folder)]
    return [*WORKLOAD.sources(design.case), *(path.relative_to(root).as_posix() for path in own)]


def record(name: str, design: Design, trace: Trace, status: Status, seed: int) -> Record:
    """The record of the run without pauses: cycles from the end of a step to the end of the next, and what they held.

    The first step is left out of the cycles, since a dump follows it.
    """
    ends = trace.steps[1:]
    models = [f"designs/lib/sim/{MULTIPLIER}.sv"] if design.engine.ecp5 else []
    begun = np.concatenate([[ends[0] - round(float(np.mean(np.diff(ends))))], ends[:-1]])
    checker = [f"designs/md/{each}.py" for each in ("bench", "bench_md", "flags", "protocol", "simulation")]
    each = status.pairs / status.force_cycles
    phases = status.steps + 1
    useful = Measurement(
        "utilisation", status.useful, "1", "mean", phases, Stage.SIMULATED, Boundary.KERNEL,
        float(each.min()), float(each.max()), "min-max of pipelines", tuple(float(x) for x in each),
    )  # fmt: skip
    made = simulated(
        core_of(name, design),
        begun,
        ends,
        sources=[*sources_of(name, design), *models, *checker],
        seed=seed,
        more=(useful,),
    )
    told: dict[str, Scalar] = {
        "force_phase_cycles": round(status.force_cycles / phases),
        "pairs_a_step": round(float(status.pairs.sum()) / phases, 1),
        "candidates_a_step": round(float(status.candidates.sum()) / phases, 1),
        "filter_pass_rate": round(float(status.pairs.sum() / status.candidates.sum()), 4),
        "stalled_cycles": int(status.stalled.sum()),
        "interval_of": "end of a step to the end of the next, nothing outside taking part",
    }
    return replace(made, conditions={**made.conditions, **told})
