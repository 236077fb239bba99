"""How good the physics of an arithmetic is.

* `force_error`: relative RMS, sqrt(sum |f - f64|^2 / sum |f64|^2) over all particles of two start states; f64 is the
  float64 oracle's. Start states are exact in float32, so this is what the arithmetic adds; in `fixed` that includes the
  rounding of positions.
* `energy_drift`, of cases with traces (`workloads.md.traces`): RMS of the slopes of several runs from different
  states, in k T per particle and 10,000 steps. A mean of slopes of both signs would flatter. `energy_drift_error` is
  its standard error from run to run.
* `energy_deviation`: standard deviation of the energy around the lines, in k T per particle, RMS over the runs.
* `momentum`: see `traces.Trace`; the worst of the runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from workloads.api import Progress
from workloads.md import cases, fixed, traces
from workloads.md.forces import evaluate
from workloads.md.motion import VerletList, energy_and_forces
from workloads.md.system import Reals, System
from workloads.md.traces import Trace

ARITHMETICS = ("fp64", "fp32", "fixed")
#: States behind a force error, and the seed of the first; runs behind a drift.
STATES, SEED, RUNS = 2, traces.SEED, 4
#: Larger systems have no figures here: they are `melt20k` many times over.
LARGEST = 25_000


def samples(case: str) -> int:
    """States or runs behind the figures of a case."""
    return RUNS if case in traces.CASES else STATES


def figures(case: str, arithmetic: str, progress: Progress | None = None) -> Mapping[str, float]:
    """All figures of a case in an arithmetic; empty where there are none. Of a case with traces it takes minutes."""
    system = cases.system(case)
    if system.n > LARGEST or (arithmetic == "fixed" and not system.cells_hold_the_cutoff):
        return {}
    found = {} if arithmetic == "fp64" else {"force_error": force_error(case, arithmetic, samples(case))}
    if case in traces.CASES:
        runs = [traces.trace(case, arithmetic, progress)]
        runs += [traces.run(case, arithmetic, SEED + k, progress=progress) for k in range(1, RUNS)]
        found |= summary(runs)
    return found


def summary(runs: Sequence[Trace]) -> dict[str, float]:
    """Drift with its error, deviation and momentum of two runs or more."""
    squares = np.array([r.drift for r in runs]) ** 2
    drift = math.sqrt(squares.mean())
    return {
        "energy_drift": drift,
        # The standard error of a root: that of what is under it, over twice the root.
        "energy_drift_error": float(squares.std(ddof=1)) / math.sqrt(len(runs)) / (2 * drift),
        "energy_deviation": math.sqrt(np.mean([r.deviation**2 for r in runs])),
        "momentum": max(r.momentum for r in runs),
    }


def force_error(case: str, arithmetic: str, states: int = STATES) -> float:
    """Relative RMS error of the forces of an arithmetic over start states."""
    system = cases.system(case)
    wrong = right = 0.0
    for k in range(states):
        state = cases.state(case, SEED + k)
        exact = evaluate(system, state.positions, state.kinds).forces
        wrong += float(((forces(system, state, arithmetic) - exact) ** 2).sum())
        right += float((exact**2).sum())
    return math.sqrt(wrong / right)


def forces(system: System, state: cases.State, arithmetic: str) -> Reals:
    """Forces (N, 3) as an arithmetic itself gives them: integers, or floats that round."""
    if arithmetic == "fixed":
        table = fixed.tables(system, fixed.format_of(system))
        start = fixed.quantise(table, state.positions, state.velocities, state.kinds)
        return fixed.decode_forces(table, fixed.forces(table, start))
    at = state.positions.astype(traces.TYPES[arithmetic])
    # A little more than the cutoff: with that list the test is left to the type itself.
    near = VerletList(system, 0.01 * system.cutoff if system.cells_hold_the_cutoff else 0.0)(at)
    return energy_and_forces(system, at, state.kinds, near)[1].astype(np.float64)
