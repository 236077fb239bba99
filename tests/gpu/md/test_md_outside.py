"""Outside baselines of `md`: what they have in common by a stand-in, and each framework where it is installed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from gpu import IMPLEMENTATIONS, unavailable
from gpu.md import jax_md, openmm
from gpu.md.launch import BadState, Snapshot
from gpu.md.layout import Problem
from gpu.md.outside import OutsideSimulation, verify
from gpu.runtime.device import DeviceError
from workloads.md import WORKLOAD
from workloads.md.cases import system
from workloads.md.forces import evaluate
from workloads.md.motion import Moment, run

CASE = "nist"


class Float64(OutsideSimulation):
    """A framework that computes in float64; `error` is added to a force."""

    error = 0.0

    def _set(self, positions: Any, velocities: Any) -> None:
        self._now = Moment(positions, velocities)

    def _run(self) -> None:
        *_, self._now = run(self.problem.system, self._now, self.batch, self.batch)

    def finish(self) -> None:
        pass

    def empty(self) -> None:
        pass

    def snapshot(self) -> Snapshot:
        about, now = self.problem.system, self._now
        at = np.mod(now.positions, about.box)
        forces = evaluate(about, at, self.problem.kinds).forces
        forces[0, 0] += self.error
        return Snapshot(at, now.velocities, forces)

    def close(self) -> None:
        self.closed = True


def start(case: str = CASE) -> tuple[Any, Any]:
    state = WORKLOAD.inputs(case, 1, 3)[0]
    return state[:, :3].copy(), state[:, 3:].copy()


def proved(kind: type[Float64]) -> Any:
    problem = Problem(CASE, system(CASE))
    made: list[Float64] = []

    def settings(problem: Problem, arithmetic: str, batch: int, modes: Any) -> Any:
        made.append(kind(problem, batch))
        yield "exact", lambda: made[0]

    (check,) = verify("gpu/md/stand-in", settings, problem.case, "cpu", samples=1, seed=3, progress=None)
    assert made[0].closed
    return check


def test_a_right_framework_passes_and_a_wrong_one_does_not() -> None:
    assert proved(Float64).passed

    class Wrong(Float64):
        error = 0.01

    check = proved(Wrong)
    assert not check.passed
    assert "forces are off" in check.detail or "standard deviations" in check.detail


def test_steps_are_counted_from_the_start() -> None:
    simulation = Float64(Problem(CASE, system(CASE)), 4)
    with pytest.raises(AssertionError, match="set comes first"):
        simulation.round_trip(0)
    simulation.set(*start())
    simulation.launch(0)
    assert len(simulation.kernel_times(3)) == 3
    assert simulation.status().steps == 16
    simulation.round_trip(0)
    assert simulation.status().steps == 4
    assert simulation.status().builds is None


def test_bad_starts_are_refused() -> None:
    simulation = Float64(Problem(CASE, system(CASE)), 1)
    positions, velocities = start()
    positions[7, 2] = np.inf
    with pytest.raises(BadState, match="particle 7"):
        simulation.set(positions, velocities)
    positions, velocities = start()
    positions[3] = positions[4] + [0.3, 0, 0]
    with pytest.raises(BadState, match="overlap"):
        simulation.set(positions, velocities)


def test_launches_that_would_measure_something_else_are_left_out() -> None:
    large, small = (Problem(case, system(case)) for case in ("melt1m", "lj864"))
    tried = [[name for name, _ in jax_md.simulations(p, "fp32", 10, ("jit",))] for p in (large, small)]
    assert not list(jax_md.simulations(large, "fp32", 100, ("jit",)))
    assert not list(openmm.simulations(large, "fp32", 10, ("queue",)))
    # A melt is a crystal when the choice is made, and the shortest lists would win there only.
    dense = [f"Dense, threshold {part} of the cutoff" for part in ("0.2", "0.12", "0.08")]
    assert tried == [dense[:2], [*dense, "OrderedSparse, threshold 0.2 of the cutoff"]]


@pytest.mark.parametrize("name", ["gpu/md/jax_md", "gpu/md/openmm"])
def test_frameworks(name: str) -> None:
    module = importlib.import_module(IMPLEMENTATIONS[name])
    if reason := unavailable(name):
        with pytest.raises(DeviceError, match="pip install"):
            module.device_slug()
        pytest.skip(reason)
    assert module.tools()
    checks = list(module.verify(CASE, samples=1, seed=3))
    assert checks
    for check in checks:
        assert check.passed, check
