"""What of `md` is measured: our kernels of a device API, and outside baselines; see `gpu.api.Offer`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compare.record import Scalar
from gpu import IMPLEMENTATIONS
from gpu.api import Prepared, Subject
from gpu.md.bench import SOURCES, Bench, step_seconds
from gpu.md.checks import judge, rounding_of
from gpu.md.launch import Array, BadState, Simulation
from gpu.md.layout import Problem
from gpu.md.oracle import Truth, truth
from gpu.md.session import StepSession
from gpu.runtime.device import Device
from workloads.md import WORKLOAD
from workloads.md.cases import system

#: Steps that are launched before the host looks.
BATCHES = (1, 10, 100, 1000)
MAX_BATCH = 1000
#: A launch of more steps takes seconds.
LARGEST_BATCH = {"melt1m": 100, "melt4m": 10}
#: One state, and both ends of its trajectory checked.
DISTINCT = CHECKED = 1
BASELINES = tuple(name for name in ("gpu/md/jax_md", "gpu/md/openmm") if name in IMPLEMENTATIONS)
SESSION = StepSession


def kernels(case: str, device: Device) -> Subject:
    """Our kernels of a case on an open device."""
    return _Kernels(case, device)


def baseline(name: str, case: str, device: Device) -> Subject:
    """An outside baseline on the GPU of `device`."""
    return _Baseline(importlib.import_module(IMPLEMENTATIONS[name]), case, device)


class _Case:
    """What our kernels and the baselines have in common."""

    max_sets = 1

    def __init__(self, case: str, device: Device) -> None:
        self.case, self.device, self.problem = case, device, Problem(case, system(case))

    def item_bytes(self, arithmetic: str) -> int:
        """Positions and velocities in and out."""
        operations = WORKLOAD.operations(self.case)
        return operations.bytes_in + operations.bytes_out

    def reference(self, arithmetic: str, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        return WORKLOAD.reference(self.case, inputs, "fp64")

    def tolerance(self, arithmetic: str, inputs: NDArray[np.float64]) -> float:
        raise NotImplementedError("each state has a tolerance of its own: gpu.md.oracle")


class _Kernels(_Case):
    """The kernels that the device supports, tuned once for each arithmetic, batch and mode."""

    tier = "product"
    chooses = False

    def __init__(self, case: str, device: Device) -> None:
        super().__init__(case, device)
        self.name = f"gpu/md/{device.info.api}"
        self._bench = Bench(device, self.problem)
        self.arithmetics: Sequence[str] = self._bench.arithmetics
        self.modes: Sequence[str] = device.modes

    def prepare(self, arithmetic: str, modes: Sequence[str], inputs: NDArray[np.float64], sets: int) -> Prepared:
        batch, state, info = len(inputs), _state(inputs), self.device.info
        choice = self._bench.tune(arithmetic, batch, modes[0], *state)
        simulation = self._bench.simulation(arithmetic, choice, batch, modes[0])
        simulation.set(*state)
        told: dict[str, Scalar] = {
            "kernel": self._bench.back.VARIANT,
            "kernel_detail": str(choice),
            "tuned": "least mean time of a step at this batch, list builds included",
            **simulation.conditions(),
        }
        own = (p for p in (f"gpu/md/{info.api}.py", f"gpu/runtime/{info.api}.py") if _exists(p))
        return Prepared(simulation, told, (*SOURCES, *self._bench.back.FILES, *own), info.tools)


class _Baseline(_Case):
    """A framework in the setting that is the fastest at the batch."""

    chooses = True

    def __init__(self, module: Any, case: str, device: Device) -> None:
        super().__init__(case, device)
        self._module = module
        self.name, self.tier = module.NAME, module.TIER
        self.arithmetics: Sequence[str] = module.ARITHMETICS
        self.modes: Sequence[str] = module.MODES

    def prepare(self, arithmetic: str, modes: Sequence[str], inputs: NDArray[np.float64], sets: int) -> Prepared:
        settings = self._module.simulations(self.problem, arithmetic, len(inputs), modes)
        simulation, setting, said = fastest(self.problem, settings, *_state(inputs))
        told: dict[str, Scalar] = {
            "setting": setting,
            "settings_tried": "; ".join(f"{name}: {what}" for name, what in said.items()),
            "tuned": "least mean time of a step at this batch, list builds included",
            **simulation.conditions(),
        }
        tools = {**self._module.tools(), "driver": self.device.info.tools.get("driver", "")}
        return Prepared(simulation, told, (*SOURCES, *self._module.SOURCES), tools)  # type: ignore[arg-type]


def fastest(
    problem: Problem, settings: Iterator[tuple[str, Any]], positions: Array, velocities: Array
) -> tuple[Simulation, str, dict[str, str]]:
    """The simulation whose steps take the least time from this state, its setting, and what became of each setting.

    A setting that fails, or whose forces are wrong, is told and left out. Errors: BadState with all of that where none
    is left.
    """
    best: tuple[float, Simulation, str] | None = None
    known: dict[float | None, Truth] = {}
    said: dict[str, str] = {}
    for setting, make in settings:
        simulation = None
        try:
            simulation = make()
            simulation.set(positions, velocities)
            rounding = rounding_of(simulation)
            if rounding not in known:
                known[rounding] = truth(problem, positions, rounding)
            if wrong := judge(problem, simulation.snapshot(), rounding, known[rounding]).complaint:
                raise BadState(wrong)
            seconds = step_seconds(simulation)
        except Exception as error:  # a framework has errors of its own
            said[setting] = f"{type(error).__name__}: {(str(error) or '?').splitlines()[0][:200]}"
            if simulation is not None:
                simulation.close()
            continue
        said[setting] = f"{seconds * 1e6:.1f} us"
        if best is not None and best[0] <= seconds:
            simulation.close()
            continue
        if best is not None:
            best[1].close()
        best = seconds, simulation, setting
    if best is None:
        raise BadState("; ".join(f"{name}: {what}" for name, what in said.items()) or "no settings")
    simulation = best[1]
    simulation.set(positions, velocities)
    return simulation, best[2], said


def _state(inputs: NDArray[np.float64]) -> tuple[Array, Array]:
    """Positions and velocities (n, 3) of the start."""
    return np.ascontiguousarray(inputs[0, :, :3]), np.ascontiguousarray(inputs[0, :, 3:])


def _exists(path: str) -> bool:
    return (Path(__file__).resolve().parents[2] / path).exists()
