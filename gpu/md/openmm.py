"""`md` in OpenMM, an outside baseline: `NonbondedForce` and `VerletIntegrator` on its CUDA platform, single precision.

The potential is the case's own: cutoff without a correction, OpenMM's switching function (the same polynomial), and of
Ewald's sum the direct space alone: the reciprocal part is in a force group that is not integrated. Reduced units are
taken as nm, amu, ps and kJ/mol, which belong together. OpenMM keeps velocities half a step behind; they are moved to
the time of the positions when they are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

from compare.record import Scalar
from gpu.md import outside
from gpu.md.launch import Array, Snapshot
from gpu.md.layout import Problem
from gpu.md.outside import TIMES, OutsideSimulation
from gpu.md.prove import LARGEST as LARGEST
from gpu.runtime.device import DeviceError, slug
from workloads.api import Check, Progress
from workloads.md.cases import SYSTEMS

NAME = "gpu/md/openmm"
API = "openmm"
CASES: tuple[str, ...] = tuple(SYSTEMS)
#: What a CPU does in seconds.
QUICK = ("nist", "lj864")
TIER = "outside baseline"
ARITHMETICS: tuple[str, ...] = ("fp32",)
MODES = ("queue",)
SOURCES = ("gpu/md/openmm.py", "gpu/md/outside.py")
#: A unit of length in nm.
LENGTH = {"reduced": 1.0, "molar": 0.1}
#: More particles than this are measured in launches of so many steps at least.
MANY, FEWEST = 200_000, 100
#: OpenMM's platforms by preference; where there is no GPU, the last is for checks.
PLATFORMS = ("CUDA", "Reference")


def missing() -> str:
    """Why it cannot be used here, or ""."""
    return "" if find_spec("openmm") else "OpenMM is not installed (pip install openmm OpenMM-CUDA-13)"


def _module() -> Any:
    if why := missing():
        raise DeviceError(why)
    import openmm

    return openmm


def _platform() -> tuple[Any, str]:
    mm = _module()
    there = [mm.Platform.getPlatform(i).getName() for i in range(mm.Platform.getNumPlatforms())]
    forced = os.environ.get("OPENMM_DEFAULT_PLATFORM")
    name = next(p for p in ((forced,) if forced else PLATFORMS) if p in there)
    return mm.Platform.getPlatformByName(name), name


def device_slug() -> str:
    """The name in records of the device that OpenMM uses."""
    mm = _module()
    platform, name = _platform()
    if name != "CUDA":
        return "cpu"
    system = mm.System()
    system.addParticle(1.0)
    context = mm.Context(system, mm.VerletIntegrator(0.001), platform)
    return slug("nvidia", platform.getPropertyValue(context, "DeviceName"))


def tools() -> dict[str, str]:
    """Versions of OpenMM, its CUDA platform and NumPy."""
    found = {"openmm": version("openmm"), "numpy": np.__version__}
    for name in ("OpenMM-CUDA-12", "OpenMM-CUDA-13"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def verify(
    case: str, *, samples: int, seed: int, progress: Progress | None = None, device: str | None = None
) -> Iterator[Check]:
    """Prove it against float64, on the platform that OpenMM has here."""
    yield from outside.verify(NAME, simulations, case, device_slug(), samples=samples, seed=seed, progress=progress)


def simulations(
    problem: Problem, arithmetic: str, batch: int, modes: Sequence[str]
) -> Iterator[tuple[str, Callable[[], OpenmmSimulation]]]:
    """The setting, with what makes its simulation; none where the end of a launch costs as much as its steps.

    OpenMM has a context of its own and no way to wait for it but to read something.
    """
    if problem.n > MANY and batch < FEWEST:
        return
    yield "NonbondedForce, single precision", partial(OpenmmSimulation, problem, batch)


def built(problem: Problem) -> Any:
    """The `openmm.System` of a problem; group 1 holds what is not integrated."""
    mm, about = _module(), problem.system
    length = LENGTH[about.units]
    system = mm.System()
    a, b, c = (side * length for side in about.box)
    system.setDefaultPeriodicBoxVectors(mm.Vec3(a, 0, 0), mm.Vec3(0, b, 0), mm.Vec3(0, 0, c))
    force = mm.NonbondedForce()
    for kind in problem.kinds:
        species = about.species[kind]
        system.addParticle(species.mass)
        force.addParticle(species.charge if about.ewald is not None else 0.0, species.sigma * length, species.epsilon)
    force.setCutoffDistance(about.cutoff * length)
    force.setUseDispersionCorrection(False)
    if about.switch is not None:
        force.setUseSwitchingFunction(True)
        force.setSwitchingDistance(about.switch * length)
    force.setNonbondedMethod(mm.NonbondedForce.CutoffPeriodic)
    if about.ewald is not None:
        force.setNonbondedMethod(mm.NonbondedForce.PME)
        force.setPMEParameters(about.ewald / length, 6, 6, 6)
        force.setReciprocalSpaceForceGroup(1)
    system.addForce(force)
    return system


class OpenmmSimulation(OutsideSimulation):
    """A system in OpenMM; see `gpu.md.launch.Simulation`."""

    def __init__(self, problem: Problem, batch: int) -> None:
        super().__init__(problem, batch)
        mm = _module()
        self._length = LENGTH[problem.system.units]
        self._integrator = mm.VerletIntegrator(problem.system.step)
        self._integrator.setIntegrationForceGroups({0})
        platform, self._name = _platform()
        properties = {"Precision": "single"} if self._name == "CUDA" else {}
        self._context: Any = mm.Context(built(problem), self._integrator, platform, properties)
        #: Half a step's change of velocity by a force, in nm/ps.
        self._half = (problem.system.step / 2 / problem.system.masses())[:, None]

    def _forces(self, **also: bool) -> tuple[Any, Array]:
        state = self._context.getState(getForces=True, groups={0}, **also)
        return state, np.asarray(state.getForces(asNumpy=True)._value, np.float64)

    def _set(self, positions: Array, velocities: Array) -> None:
        self._context.setPositions(positions * self._length)
        _, forces = self._forces()
        self._context.setVelocities(velocities * self._length - forces * self._half)

    def _run(self) -> None:
        self._integrator.step(self.batch)

    def finish(self) -> None:
        """Wait until all that was begun is done: positions are read, which OpenMM does not do before."""
        self._context.getState(getPositions=True)

    def empty(self) -> None:
        """Nothing: OpenMM has no empty launch."""

    def snapshot(self) -> Snapshot:
        """The state after all launches so far."""
        state, forces = self._forces(getPositions=True, getVelocities=True)
        at = np.asarray(state.getPositions(asNumpy=True)._value, np.float64) / self._length
        velocities = np.asarray(state.getVelocities(asNumpy=True)._value, np.float64) + forces * self._half
        return Snapshot(np.mod(at, self.problem.system.box), velocities / self._length, forces * self._length)

    def conditions(self) -> Mapping[str, Scalar]:
        """What a record says of it."""
        return {
            "list_criterion": "OpenMM's own",
            "platform": self._name,
            "device_times": TIMES,
            "io": "float32 x 6 a particle in and out",
        }

    def close(self) -> None:
        """Free the context."""
        self._context = None
