"""What the tests of the worker's modules share: sources, table images, and a worker in the simulator.

outcome = simulate_worker(table, state, capacity=8, filters=4, results=tmp_path, seed=1)
outcome.forces   # (N, 3), as `fixed.forces(table, state).forces`
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from designs.flow.verilator import simulate
from designs.lib import closure, source
from workloads.md import fixed
from workloads.md.tables import Tables

# The players of the tests of deconv's modules serve here too.
sys.path.append(str(Path(__file__).parents[1] / "deconv"))
from players import Player, pack, play  # noqa: F401

FOLDER = Path(__file__).parents[3] / "designs" / "md"
BENCH = Path(__file__).parent / "bench_worker.py"
MODULES = (
    "cells", "delay", "distance", "filter", "filter_square", "filters", "force", "home_sums", "homes", "memory",
    "multiply", "neighbour_sums", "normalise", "pairs", "product", "queue", "square", "stream", "sums", "table",
    "terms", "worker",
)  # fmt: skip
LIBRARY = [*closure("rom", "stream_fifo", "delay"), *source("sim/ecp5_multiplier")]
SOURCES = [*LIBRARY, *(FOLDER / f"md_{name}.sv" for name in MODULES)]


def write_tables(table: Tables, folder: Path) -> dict[str, str]:
    """Write the images of a table's terms (and coefficients); returns the parameters that name them, quoted."""
    value, slope = table.value_bits, table.slope_bits
    files = {}
    for term, (base, step) in enumerate(zip(table.base, table.slope, strict=True)):
        words = [(int(s) % (1 << slope) << value) | int(b) % (1 << value) for b, s in zip(base, step, strict=True)]
        files[f"TABLE_{term}"] = words
    if table.coefficients is not None:
        fields = table.coefficients.reshape(len(table.base), -1).T
        files["COEFS"] = [sum(int(c) % (1 << 18) << 18 * t for t, c in enumerate(row)) for row in fields]
    for name, words in files.items():
        (folder / f"{name}.hex").write_text("".join(f"{word:x}\n" for word in words))
    return {name: f'"{folder / name}.hex"' for name in files}


def parameters_of(table: Tables, capacity: int, filters: int) -> dict[str, int | str]:
    """Parameters of md_worker for a table, but for its images."""
    form = table.format
    nx, ny, nz = table.system.cells
    return {
        "P": form.position, "B": form.bins, "S": form.segments, "D": form.delta, "SUM": form.sums,
        "VALUE": table.value_bits, "SLOPE": table.slope_bits, "TERMS": len(table.base),
        "KINDS": len(table.system.species), "RC2": f"64'd{table.cutoff2}", "RMIN2": f"64'd{table.close2}",
        "CELLS_X": nx, "CELLS_Y": ny, "CELLS_Z": nz, "CAPACITY": capacity, "FILTERS": filters,
    }  # fmt: skip


def units_of(counts: NDArray[np.int64], filters: int) -> NDArray[np.int64]:
    """Units of all cells, (units, 3): cell, first slot, particles, spread evenly as the engine does."""
    units = []
    for cell, count in enumerate(counts):
        number = -(-int(count) // filters)
        first = 0
        size = -(-int(count) // number) if number else 0
        while first < count:
            units.append((cell, first, min(size, int(count) - first)))
            first += size
    return np.array(units, np.int64).reshape(-1, 3)


@dataclass(frozen=True)
class Outcome:
    """What a worker did: sums of forces (N, 3), its counters, pulses of `close`, cycles from first unit to idle."""

    forces: NDArray[np.int64]
    pairs: int
    candidates: int
    stalled: int
    close: int
    cycles: int


def simulate_worker(
    table: Tables,
    state: fixed.State,
    *,
    capacity: int,
    filters: int,
    results: Path,
    seed: int,
    parameters: Mapping[str, int | str] | None = None,
    home_stall: float = 0.0,
    unit_idle: float = 0.0,
    rounds: int = 1,
) -> Outcome:
    """One force phase by one worker, `rounds` times over with the same outcome. AssertionError where rounds differ."""
    form = table.format
    cells = state.cell_index(table)
    order = np.argsort(cells, kind="stable")
    counts = np.bincount(cells, minlength=int(np.prod(table.system.cells)))
    assert counts.max() <= capacity
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    slots = np.empty(len(cells), np.int64)
    slots[order] = np.arange(len(cells)) - np.repeat(starts, counts)
    addresses = cells * capacity + slots
    results.mkdir(parents=True, exist_ok=True)
    chosen = {**parameters_of(table, capacity, filters), **write_tables(table, results), **(parameters or {})}
    outcome = simulate(
        "md_worker", SOURCES, BENCH, results=results, parameters=chosen, seed=seed, testcase="force_phase",
        vectors={
            "places": state.places(form), "kinds": state.kinds, "addresses": addresses, "counts": counts,
            "units": units_of(counts, filters), "cells": np.array(table.system.cells), "position": form.position,
            "sums": form.sums, "home_stall": home_stall, "unit_idle": unit_idle, "rounds": rounds,
            "words": len(counts) * capacity,
        },
    )  # fmt: skip
    assert outcome.passed, outcome.message
    seen = outcome.payload
    numbers = (int(seen[name]) for name in ("pairs", "candidates", "stalled", "close", "cycles"))
    return Outcome(seen["forces"], *numbers)
