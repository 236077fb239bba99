"""The whole core, generated and in the bench, against the integer model: states, counters, flags, pauses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from md_systems import CHARGED, ENGINE, SINGLE, start

from designs.flow.verilator import BuildOptions
from designs.md import evidence, simulation
from designs.md.config import Engine
from designs.md.flags import provoked
from designs.md.generate import Design, generate_system
from designs.md.protocol import INVALID, Script, dumped, reported
from designs.md.simulation import Run, SimulationFailed
from workloads.md import fixed
from workloads.md.fixed import Flags
from workloads.md.system import System

STEPS = 5

#: Quick to compile.
QUICK = BuildOptions(optimise="-O0")


@pytest.mark.parametrize(("system", "engine"), [(SINGLE, ENGINE), (CHARGED, replace(ENGINE, ecp5=True, rings=True))])
def test_a_generated_core_equals_the_model(system: System, engine: Engine) -> None:
    seed = 5
    print("seed", seed)
    design = generate_system(system, engine)
    _, state = start(system, seed)
    made = evidence.plan(design, state, STEPS, seed)
    flags = provoked(design)
    runs = [*made.runs, *(Run(each.script, idle=20, stall=20) for each in flags)]
    traces = simulation.run(design, runs, seed=seed, options=QUICK)
    worst, strange, status = evidence.compared(design, made, traces[:2])
    assert worst == 0
    assert not strange
    assert status.steps == len(traces[0].steps) == STEPS
    assert status.pairs.min() > 0
    # A queue that is full now and then costs next to nothing.
    assert status.stalled.sum() < 0.01 * status.force_cycles
    for each, trace in zip(flags, traces[2:], strict=True):
        assert list(each.problems(trace.packets)) == []
    # A difference, a pair too many and a flag that should not be there are seen.
    moved = replace(made.states[1], positions=made.states[1].positions + np.eye(system.n, 3, dtype=np.int64))
    states = (made.states[0], moved, made.states[2])
    other = replace(made, states=states, pairs=(made.pairs[0] + 1, made.pairs[1]))
    worst, strange, _ = evidence.compared(design, other, traces[:2])
    assert worst == 1
    assert strange == [f"{ENGINE}: {made.pairs[0]:,} pairs counted, {made.pairs[0] + 1:,} due"]
    wrong = replace(flags[0], flags=0)
    assert len(list(wrong.problems(traces[2].packets))) == 1


def test_every_flag_is_provoked(single: Design) -> None:
    flags = provoked(single)
    raised = {each.name: each.flags for each in flags}
    assert raised["two particles too close"] == Flags.CLOSE
    assert raised["a push at the highest velocity"] & Flags.FAST
    assert raised["a particle that moves into a full cell"] & Flags.OVERFLOW
    assert raised["a particle too many for a cell"] == Flags.OVERFLOW
    assert raised["a command that there is not"] == INVALID
    assert raised["two particles far apart"] == 0
    assert [each.lost for each in flags] == [0, 0, 1, 1, 0, 0]


def test_a_run_that_stands_still_is_named(single: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "patience", lambda _: 3000)
    script = Script(single)
    script.status()
    script.answers = 2
    with pytest.raises(
        SimulationFailed, match=r"(?s)single .*run 0: nothing moved for 3000 cycles;.*1 packets to come"
    ):
        simulation.run(single, [Run(script)], options=QUICK)


def test_half_shell_candidates(single: Design) -> None:
    _, state = start(SINGLE, 3)
    # With three cells a side all cells are neighbours.
    assert evidence.half_shell(single, state) == SINGLE.n * (SINGLE.n - 1) // 2


def test_a_dump_and_counters_of_an_empty_engine(single: Design) -> None:
    script = Script(single)
    script.dump()
    script.run(2)
    script.status()
    (trace,) = simulation.run(single, [Run(script, idle=100, stall=100)], options=QUICK)
    assert len(dumped(single, trace.packets[0]).positions) == 0
    status = reported(trace.packets[1])
    assert (status.flags, status.steps, status.pairs.sum(), status.particles) == (0, 2, 0, 0)


def test_sources_of_a_record_are_files_of_the_repository(single: Design) -> None:
    root = Path(__file__).parents[3]
    named = evidence.sources_of("designs/md/range_limited", single_named(single))
    assert all((root / each).is_file() for each in named)
    assert {"designs/md/md_core.sv", "designs/md/generate.py", "workloads/md/fixed.py"} <= set(named)


def single_named(design: Design) -> Design:
    return replace(design, case="lj864")


def test_a_step_is_what_lies_between_two_dumps(single: Design) -> None:
    """The model's own halves: a first step with half a kick, others whole, the last half without a drift."""
    table, state = start(SINGLE, 6)
    whole = fixed.run(table, state, 3)
    parts = fixed.run(table, fixed.run(table, state, 1, last_half=False), 2, first_half=False)
    np.testing.assert_array_equal(whole.positions, parts.positions)
    np.testing.assert_array_equal(whole.velocities, parts.velocities)
    assert evidence.difference(whole, parts) == 0


@pytest.fixture(scope="module")
def single() -> Design:
    return generate_system(SINGLE, ENGINE)
