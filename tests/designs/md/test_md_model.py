"""The model of the workers' filters and queues: what it counts, and which engines it says are used well."""

from __future__ import annotations

import numpy as np
import pytest
from md_systems import SINGLE, start

from designs.md import config
from designs.md.model import HALF_SHELL, Shape, force_phase, units
from workloads.md import cases, fixed


def test_the_half_shell_has_each_pair_of_cells_once() -> None:
    assert len(HALF_SHELL) == 14
    assert HALF_SHELL[0] == (0, 0, 0)
    assert len({*HALF_SHELL, *(tuple(-x for x in each) for each in HALF_SHELL)}) == 27


@pytest.mark.parametrize("filters", [3, 16])
def test_it_counts_every_pair_once(filters: int) -> None:
    print("seed 4")
    table, state = start(SINGLE, 4)
    at = state.positions / 2.0**table.format.position
    shape = Shape(workers=2, filters=filters, queue=8)
    usage = force_phase(at, cells=SINGLE.cells, cutoff=SINGLE.cutoff / table.edge, shape=shape)
    assert usage.pairs == fixed.forces(table, state).pairs
    # With three cells a side all cells are neighbours, and every pair is tested.
    assert usage.candidates == SINGLE.n * (SINGLE.n - 1) // 2
    assert usage.pairs <= usage.passed <= 1.2 * usage.pairs
    assert usage.cycles >= usage.passed / 2


def test_batches_of_a_cell_are_about_equal() -> None:
    places = np.random.default_rng(1).uniform(0, 1, (13, 3))
    work = units(places, (3, 3, 3), 1.0, Shape(workers=1, filters=8, step=0, load=0))
    assert np.diff(work.start).tolist() == [13, 13]
    assert work.pairs <= work.candidates == 13 * 12 // 2


def test_a_short_queue_stalls_the_stream() -> None:
    table, state = start(SINGLE, 4)
    at, cutoff = state.positions / 2.0**table.format.position, SINGLE.cutoff / table.edge
    short, long = (
        force_phase(at, cells=SINGLE.cells, cutoff=cutoff, shape=Shape(workers=2, queue=queue)) for queue in (2, 512)
    )
    assert long.stalled == 0 < short.stalled
    assert long.useful > short.useful


@pytest.mark.parametrize("case", config.ENGINE_OF)
def test_engines_of_the_cases_are_busy(case: str) -> None:
    """85 % of the cycles of the force phase.

    A corner of four cells a side stands for the whole box, and is as full.
    """
    engine, system = config.engine_of(case), cases.system(case)
    at = cases.state(case, 1).positions / system.cell_edges[0]
    at = at[(at < 4).all(1)]
    cutoff = system.cutoff / system.cell_edges[0]
    shape = Shape(engine.workers, engine.filters, engine.queue, engine.filter_bits - 1)
    assert force_phase(at, cells=(4, 4, 4), cutoff=cutoff, shape=shape).useful >= 0.85


def test_with_few_filters_the_streams_are_what_limits() -> None:
    system = cases.system("lj864")
    at = cases.state("lj864", 1).positions / system.cell_edges[0]
    few = Shape(workers=5, filters=4)
    assert force_phase(at, cells=(4, 4, 4), cutoff=system.cutoff / system.cell_edges[0], shape=few).useful < 0.5
