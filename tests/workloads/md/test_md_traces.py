"""The measure of drift: a line, the conserved energy, and runs that do drift."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from md_oracles import LIQUID, SALT, start

from workloads.md import cases, motion, quality, traces
from workloads.md.forces import kinetic
from workloads.md.motion import Moment, VerletList, energy_and_forces
from workloads.md.system import System


def test_line_is_that_of_numpy() -> None:
    rng = np.random.default_rng(1)
    x = np.linspace(0, 2, 300)
    y = 3 * x - 1 + 0.1 * rng.standard_normal(300)
    slope, error, deviation = traces.line(x, y)
    (wanted, _), covariance = np.polyfit(x, y, 1, cov=True)
    assert slope == pytest.approx(wanted)
    assert error == pytest.approx(np.sqrt(covariance[0, 0]))
    assert deviation == pytest.approx(0.1, rel=0.1)


def test_the_error_of_a_slope_is_what_slopes_scatter_by() -> None:
    rng = np.random.default_rng(2)
    x = np.arange(50.0)
    found = np.array([traces.line(x, rng.standard_normal(50)) for _ in range(2_000)])
    assert found[:, 0].std() == pytest.approx(found[:, 1].mean(), rel=0.05)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fewer steps before the start of a trace."""
    monkeypatch.setattr(traces, "BEFORE", 20)
    traces.begin.cache_clear()
    yield
    traces.begin.cache_clear()


# Ewald's term is cut without a switch: here so that it has gone at the cutoff.
@pytest.mark.parametrize("system", [LIQUID, replace(SALT, ewald=1.2)], ids=["liquid", "salt"])
def test_the_conserved_energy_is_conserved(system: System) -> None:
    """Far better than the total energy of the same states is."""
    state = start(system, 1)
    listing = VerletList(system)
    moments = list(motion.run(system, Moment(state.positions, state.velocities), 60, 1))
    kept = np.array([traces.conserved_energy(system, m, listing) for m in moments])
    plain = np.array(
        [
            energy_and_forces(system, m.positions, system.kinds(), listing(m.positions))[0]
            + kinetic(system, m.velocities)
            for m in moments
        ]
    )
    assert np.ptp(kept) < np.ptp(plain) / 20
    assert abs(kept.mean() - plain.mean()) < 3 * np.ptp(plain)


@pytest.mark.parametrize("arithmetic", quality.ARITHMETICS)
def test_short_runs_of_lj864_hardly_drift(arithmetic: str) -> None:
    trace = traces.run("lj864", arithmetic, traces.SEED, steps=150)
    assert trace.energy.shape == (4,)
    assert trace.steps == 50
    assert trace.unit == "epsilon"
    assert np.ptp(trace.energy) < 1e-5
    assert -4.25 < trace.energy.mean() < -3.9
    assert trace.momentum < 1e-6


def test_a_run_that_gains_energy_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Velocities that grow by 1e-6 a step: 2e-6 of the kinetic energy, 3/2 k T, each; 3 % of k T in 10,000 steps."""

    def heating(*given: Any) -> Iterator[Moment]:
        for number, moment in enumerate(motion.run(*given)):
            yield Moment(moment.positions, moment.velocities * (1 + 1e-6) ** (50 * number))

    monkeypatch.setattr(traces, "trajectory", lambda system, start, *_: heating(system, start, 200, 50))
    trace = traces.run("lj864", "fp64", traces.SEED)
    kinetic_part = 1.5 * 0.0199  # (1 + 1e-6)^20000 - 1 in kT, at about the temperature of the case
    assert trace.drift == pytest.approx(kinetic_part, rel=0.15)
    assert trace.drift > 20 * trace.drift_error


def test_runs_of_all_arithmetics_start_alike() -> None:
    system = cases.system("lj864")
    begun = traces.begin("lj864", 5)
    for arithmetic, worst in (("fp64", 0.0), ("fp32", 1e-6), ("fixed", 1e-6)):
        first = next(traces.trajectory(system, begun, arithmetic, 1))
        assert np.abs(first.positions - begun.positions).max() <= worst
        assert np.abs(first.velocities - begun.velocities).max() <= worst


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int, int]] = []
    traces.run("lj864", "fp32", 7, steps=100, progress=lambda *given: told.append(given))
    assert [(done, of) for _, done, of in told] == [(0, 100), (50, 100), (100, 100)]
    assert told[0][0] == "lj864: energy in fp32, seed 7"


def test_momentum_relative_to_its_parts() -> None:
    moving = np.zeros((LIQUID.n, 3))
    moving[0, 0], moving[1, 1] = 3, 4
    assert traces.relative_momentum(LIQUID, moving) == pytest.approx(5 / 7)
