"""What an engine can be, which systems it can do, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from md_systems import CHARGED, ENGINE, SINGLE, start

from designs.md import config
from designs.md.config import ENGINE_OF, PRESETS, Engine, EngineError
from workloads.api import UnknownNameError
from workloads.md import cases
from workloads.md.system import Species
from workloads.md.tables import Format, format_of, tables


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workers": 0}, "workers of 0; it must be a whole number from 1 to 255"),
        ({"workers": 2.0}, "workers of 2.0; it must be"),
        ({"filters": 33}, "filters of 33; it must be a whole number from 1 to 32"),
        ({"capacity": 1}, "capacity of 1; it must be a whole number from 2"),
        ({"queue": 48}, "queue of 48; it must be a power of two"),
        ({"filter_bits": 1}, "filter_bits of 1; it must be a whole number from 2 to 16"),
    ],
)
def test_impossible_engines_are_refused(changes: dict[str, int], message: str) -> None:
    with pytest.raises(EngineError, match=f"engine small: {message}"):
        replace(ENGINE, **changes)


def test_systems_that_cannot_be_mapped_are_refused() -> None:
    nist = cases.system("nist")
    with pytest.raises(EngineError, match="engine small: nist: 2 cells a side, but the mapping needs at least 3"):
        config.check(nist, ENGINE)
    oblong = replace(SINGLE, box=(7.6, 7.6, 8.0))
    with pytest.raises(
        EngineError, match=r"engine small: single: cells of 2.53333 x 2.53333 x 2.66667, but only cubes"
    ):
        config.check(oblong, ENGINE)
    with pytest.raises(EngineError, match=r"engine small: argon20k has 79.4 particles a cell; its memory holds 20"):
        config.check(cases.system("argon20k"), ENGINE)
    three = replace(SINGLE, species=(Species(),) * 3, counts=(80, 80, 80))
    with pytest.raises(EngineError, match="engine small: single has 3 kinds of particles; at most 2"):
        config.check(three, ENGINE)
    config.check(SINGLE, ENGINE)
    config.check(CHARGED, ENGINE)


def test_tables_too_wide_for_the_multipliers_are_refused() -> None:
    wide = tables(replace(SINGLE, closest=0.6), Format(segments=5, velocity_fraction=12))
    with pytest.raises(EngineError, match=r"engine small: single has pair strengths of \d+ bits; at most 35"):
        config.check_tables(wide, ENGINE)
    fast = tables(SINGLE, replace(format_of(SINGLE), velocity=40))
    with pytest.raises(EngineError, match="engine small: velocities of 40 bits; at most 35, one cell a step"):
        config.check_tables(fast, ENGINE)
    config.check_tables(tables(SINGLE, format_of(SINGLE)), ENGINE)


def test_a_state_that_overflows_a_cell_is_refused() -> None:
    table, state = start(SINGLE, 1)
    config.check_state(table, ENGINE, state)
    most = int(np.bincount(state.cell_index(table)).max())
    cell = int(np.bincount(state.cell_index(table)).argmax())
    with pytest.raises(EngineError, match=f"single has {most} particles in cell {cell}; its memory holds {most - 1}"):
        config.check_state(table, replace(ENGINE, capacity=most - 1), state)


def test_every_case_has_an_engine_that_holds_its_start_states() -> None:
    for case in ENGINE_OF:
        engine, system = config.engine_of(case), cases.system(case)
        config.check(system, engine)
        table = tables(system, format_of(system))
        config.check_tables(table, engine)
    with pytest.raises(UnknownNameError, match="unknown engine 'large'; valid: ulx3s_lj864, argon_40"):
        config.preset("large")
    with pytest.raises(UnknownNameError, match="unknown case 'melt4m'; valid: lj864, argon20k"):
        config.engine_of("melt4m")
    assert PRESETS["argon_40"].workers == 40
    assert isinstance(config.preset("argon_40"), Engine)
