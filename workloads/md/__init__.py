"""`md`: range-limited molecular dynamics, whole time steps.

Schaffner and Benini (arXiv 1808.04201) ask whether FPGAs make sense for molecular dynamics; Yang et al. (SC'19) put a
whole engine on one chip. Lennard-Jones particles, with charges (the real-space term of Ewald's sum) where a case has
them; velocity Verlet at constant energy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from workloads.api import Case, Operations, Progress, UnknownNameError
from workloads.md import cases, fixed, quality, work
from workloads.md.forces import evaluate


class MolecularDynamics:
    """The workload; see `workloads.api.Workload`. An item is one time step of the whole box."""

    name = "md"
    item = "step"
    arithmetics = quality.ARITHMETICS
    quality_samples = quality.STATES
    cases: Mapping[str, Case] = {
        name: Case(name, text, trained=True, quality_samples=quality.samples(name))
        for name, text in cases.SUMMARIES.items()
    }

    def inputs(self, case: str, n: int, seed: int) -> NDArray[np.float64]:
        """Independent states (n, N, 6): positions in the box and velocities, in the units of the system.

        All are exact in float32. Same seed, same numbers; fewer are the first of more. Kinds: `cases.system(case)`.
        Errors: ValueError for less than one state.
        """
        self._check(case)
        if n < 1:
            raise ValueError(f"{case}: {n} start states are asked for, at least 1")
        seeds = np.random.SeedSequence(seed).generate_state(n)
        states = (cases.state(case, int(s)) for s in seeds)
        return np.stack([np.concatenate((s.positions, s.velocities), axis=1) for s in states])

    def reference(self, case: str, inputs: NDArray[np.float64], arithmetic: str) -> NDArray[np.float64]:
        """Forces (n, N, 3) on states (n, N, 6), in the units of the system.

        `fixed`: what the exact integers say. `fp64` and `fp32`: the float64 evaluation. Errors: ValueError for a wrong
        shape, coordinates that are not finite and two particles at one place; for `fixed` also of a box that is not
        made of cubic cells, velocities that do not fit, and particles nearer than the table goes.
        """
        self._check(case, arithmetic)
        system = cases.system(case)
        if inputs.ndim != 3 or inputs.shape[1:] != (system.n, 6) or not len(inputs):
            raise ValueError(f"{case}: states of shape {inputs.shape}, expected (n, {system.n}, 6), n at least 1")
        kinds = system.kinds()
        if arithmetic != "fixed":
            return np.stack([evaluate(system, state[:, :3], kinds).forces for state in inputs])
        table = fixed.tables(system, fixed.format_of(system))
        states = (fixed.quantise(table, state[:, :3], state[:, 3:], kinds) for state in inputs)
        return np.stack([fixed.decode_forces(table, fixed.forces(table, state)) for state in states])

    def operations(self, case: str) -> Operations:
        """Bytes of one step: position and velocity of each particle in float32. The work is in `counts`."""
        self._check(case)
        moved = 6 * 4 * cases.system(case).n
        return Operations(macs=0, bytes_in=moved, bytes_out=moved)

    def counts(self, case: str) -> Mapping[str, float]:
        """`atoms`, `pairs` within the cutoff, `candidates` tested, `flops` of a pair, `step_fs` where units are molar.

        Pairs and candidates are those of a start state, each counted once; see `workloads.md.work`.
        """
        self._check(case)
        return work.counts(case)

    def quality(self, case: str, arithmetic: str, progress: Progress | None = None) -> Mapping[str, float]:
        """`force_error`; of `lj864` also `energy_drift`, its error, `energy_deviation` and `momentum`.

        See `workloads.md.quality`. Empty where an arithmetic or a size has none.
        """
        self._check(case, arithmetic)
        return quality.figures(case, arithmetic, progress)

    def sources(self, case: str) -> Sequence[str]:
        """Files that determine the oracle and the quality of a case."""
        self._check(case)
        state = (f"workloads/md/states/{case}.npz",) if cases.equilibrated(case).is_file() else ()
        return (*state, *(f"workloads/md/{name}.py" for name in SOURCES))

    def _check(self, case: str, arithmetic: str | None = None) -> None:
        if case not in self.cases:
            raise UnknownNameError("case", case, tuple(self.cases))
        if arithmetic is not None and arithmetic not in self.arithmetics:
            raise UnknownNameError("arithmetic", arithmetic, self.arithmetics)


#: Modules of this package that determine forces and quality.
SOURCES = (
    "__init__", "cases", "fixed", "forces", "motion", "pairs", "potential", "quality", "system", "tables", "traces",
    "work",
)  # fmt: skip

WORKLOAD = MolecularDynamics()
