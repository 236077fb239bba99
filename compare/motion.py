"""Molecular dynamics: what a step of a system is, and what that makes of steps a second.

An item is one time step of one system. A record of the oracle counts what a step holds: atoms, pairs within the cutoff,
candidates (pairs of the half shell of cells, of which a mapping tests the distance) and useful flops of a pair. A count
is of the start state of the case, so it adds neither a band nor a stage to the throughput that it multiplies.

A record of a kernel says how the total energy changed over all steps that were run to time it (`energy_change`, a
particle, in the energy unit of the case; `steps_run`). That is no drift: one trajectory from its start to its end, with
the swing of velocity Verlet and, where forces are cut off, what pairs take along over the cutoff.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from compare.record import Boundary
from compare.rows import Figure, Row

#: Condition of a count: femtoseconds of a time step, for systems in units of matter; reduced ones have none.
STEP_FS = "step_fs"
#: Figures that `with_motion` adds: pairs/s, atom-steps/s, ns/day.
PAIRS, ATOMS, TIME = "rate.pairs", "rate.atoms", "simulated_time"
#: Figures of what was timed: change of the total energy a particle, and steps from the start to there.
CHANGE, STEPS = "energy_change", "steps_run"
#: ns a day of one step a second of one femtosecond: 86,400 s of 1e-6 ns.
_NS_A_DAY = 86_400e-6

Systems = Mapping[tuple[str, str], Row]


def is_system(row: Row) -> bool:
    """Whether a row of the oracle counts what a step holds."""
    return "pairs" in row.figures


def systems_of(rows: Iterable[Row]) -> Systems:
    """Return the counts by workload and case."""
    return {(row.workload, row.case): row for row in rows if is_system(row)}


def with_motion(row: Row, systems: Systems) -> Row:
    """Return a row with the pairs and atom-steps a second, and with ns/day where the step has a length in time.

    Each is the throughput times a count, with the band, stages, boundary and samples of the throughput.
    """
    system = systems.get((row.workload, row.case))
    rate = row.figures.get("throughput")
    if system is None or rate is None:
        return row
    figures = dict(row.figures)
    for name, count in ((PAIRS, "pairs"), (ATOMS, "atoms")):
        if count in system.figures:
            figures[name] = rate.times(system.figures[count].value, name, f"{count[:-1]}/s")
    step = system.conditions.get(STEP_FS)
    if isinstance(step, (int, float)):
        figures[TIME] = rate.times(step * _NS_A_DAY, TIME, "ns/day")
    if row.boundary == Boundary.KERNEL:  # of the whole run, so it stands once
        figures |= _energy(row, "ε" if step is None else "kJ/mol")
    return replace(row, figures=figures)


def _energy(row: Row, unit: str) -> dict[str, Figure]:
    """Return the change of energy and the steps that a record states, or nothing."""
    stages = row.figures["throughput"].stages
    change, steps = row.conditions.get(CHANGE), row.conditions.get(STEPS)
    if not isinstance(change, (int, float)) or not isinstance(steps, int):
        return {}
    pairs = ((CHANGE, float(change), unit), (STEPS, float(steps), "1"))
    return {name: Figure(name, value, said, "exact", 1, Boundary.NONE, stages) for name, value, said in pairs}
