"""How a case is run on a device: the contract between a back end and what tunes, proves and measures it.

An item is a time step of one system, a batch the number of steps that the host enqueues before it looks. A launch runs
`batch` steps of velocity Verlet, on from where the last one ended; what it leaves is complete (positions, velocities
and forces of one time). So a measurement is one long trajectory, in which neighbour lists grow old and are rebuilt as
often as they need it.

A back end is a module with the names of `BackEnd`; `back_end(info)` says which module serves a device API: `cuda` has
`gpu.md.bricks`, every other has `gpu.md.cells`. An outside baseline is no back end: its module makes its `Simulation`
itself (see `gpu.md.subjects`).

* `supported(problem, info)`: the arithmetics it does; `fp32` means forces in binary32, however positions are kept.
* `choices(problem, arithmetic, batch, info)`: what tuning may try, the expected best first; hashable, and `str` says
  what it is (it becomes a condition of the record). Each must be right; it may be slow.
* `simulation(device, problem, arithmetic, choice, batch, mode)`: the choice bound to the device, without a state.
  `mode` is `queue` or `graph`. Errors: Unsupported.

No interaction may be missed and none may be cut off silently. Whoever keeps a neighbour list rebuilds it on the device
before a particle has moved more than half the skin, or proves in each step that none has; a list or cell that is too
small for what it must hold, and a particle that a step moves absurdly far (overlap, a step that is too long, a number
that is none), end up in `status().problem`, and the host makes nothing of such a run.
"""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from compare.record import Scalar
from gpu.md.layout import Problem
from gpu.runtime.device import Device, DeviceError, Info
from gpu.runtime.loop import Runner

Array = NDArray[np.float64]


class Unsupported(DeviceError):
    """A case that a kernel cannot do or memory that does not hold it; the message names the value and the limit."""


class BadState(ValueError):
    """A state that no simulation may start from, or that one ended in; the message names the particle or the limit."""


@dataclass(frozen=True)
class Snapshot:
    """What a device holds, in the caller's order and units, as float64 (N, 3).

    `positions` are exactly the numbers that the kernel has, wrapped into [0, box); `forces` those it found for them.
    """

    positions: Array
    velocities: Array
    forces: Array


@dataclass(frozen=True)
class Status:
    """What happened since the last `set`: steps, list builds (that of `set` included; None without lists), trouble.

    `problem` is "" or says what went wrong, for whoever must refuse the run.
    """

    steps: int
    builds: int | None
    problem: str


class Simulation(Runner, Protocol):
    """A system on a device: a `gpu.runtime.loop.Runner` of one buffer set whose state can be set and read.

    `launch(0)` runs `batch` steps. `round_trip(0)` sets the state that was set last, launches, and reads it back.
    `empty` enqueues as many empty kernels as a launch has kernels at least, in the same mode. `close()` frees buffers.
    """

    batch: int
    sets: int

    def set(self, positions: Array, velocities: Array) -> None:
        """Start from this state, (N, 3) float64 each: everything is renewed, forces are evaluated. Errors: BadState."""
        ...

    def snapshot(self) -> Snapshot:
        """The state after all launches so far; waits for them."""
        ...

    def status(self) -> Status:
        """What happened since `set`; waits for all launches."""
        ...

    def conditions(self) -> Mapping[str, Scalar]:
        """What a record says of it: list parameters (skin, criterion), kernels of a launch, how a miss is found."""
        ...

    def close(self) -> None:
        """Free the buffers."""
        ...


class BackEnd(Protocol):
    """The names that a module of kernels has; see the module's text."""

    VARIANT: str
    FILES: tuple[str, ...]

    def supported(self, problem: Problem, info: Info) -> tuple[str, ...]:
        """The arithmetics that it does on this case and device."""
        ...

    def choices(self, problem: Problem, arithmetic: str, batch: int, info: Info) -> Sequence[Hashable]:
        """What tuning may try, the expected best first."""
        ...

    def simulation(
        self, device: Device, problem: Problem, arithmetic: str, choice: Any, batch: int, mode: str
    ) -> Simulation:
        """A choice bound to the device. Errors: Unsupported, naming the condition."""
        ...


def back_end(info: Info) -> BackEnd:
    """The kernels that a device API runs."""
    module: Any = importlib.import_module("gpu.md.bricks" if info.api == "cuda" else "gpu.md.cells")
    back: BackEnd = module
    return back
