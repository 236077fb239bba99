"""`md` in JAX-MD, an outside baseline: its lists, pair functions and integrator, in the better of two settings.

As its guides write it: a `fori_loop` of `batch` steps under `jit`, each `simulate.nve` and then an update of the list,
which is built again on the device once a particle has moved half of `dr_threshold`. The energy is the case's own pair
function mapped by `smap.pair_neighbor_list`; forces are its gradient. Settings: formats of the list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from compare.record import Scalar
from gpu.md import outside
from gpu.md.launch import Array, BadState, Snapshot
from gpu.md.layout import Problem
from gpu.md.outside import TIMES, OutsideSimulation
from gpu.md.prove import LARGEST as LARGEST
from gpu.runtime.device import DeviceError, slug
from workloads.api import Check, Progress
from workloads.md.cases import SYSTEMS
from workloads.md.system import System

NAME = "gpu/md/jax_md"
API = "jax_md"
CASES: tuple[str, ...] = tuple(SYSTEMS)
#: What a CPU does in seconds.
QUICK = ("nist", "lj864")
TIER = "outside baseline"
ARITHMETICS: tuple[str, ...] = ("fp32",)
MODES = ("jit",)
SOURCES = ("gpu/md/jax_md.py", "gpu/md/outside.py")
#: Formats of the list, the expected best first. Half lists add up forces in memory, pair by pair: on an H200 they made
#: 11 steps/s of a million particles.
FORMATS = ("Dense", "OrderedSparse")
#: `dr_threshold` as parts of the cutoff: a smaller one makes shorter lists, but more of them. Which is best differs:
#: the first for `lj864` and `dhfr`, the second for melts, the last for `argon20k`, whose particles move slowly. In a
#: melt the last was the slowest, but would be chosen at its start, when it is a crystal.
THRESHOLDS, MELTING_THRESHOLDS = (0.2, 0.12, 0.08), (0.2, 0.12)
#: Places in a list for each neighbour at the start: JAX-MD's usual number; and of a melt, which starts as a crystal,
#: where all particles have equally many neighbours: with the usual number its lists were full after some hundred steps.
ROOM, MELTING_ROOM = 1.25, 1.5
#: Of more particles, only the first format is tried; launches of more particles times steps would take seconds each.
MANY, LONGEST = 10_000, 20_000_000


def missing() -> str:
    """Why it cannot be used here, or ""."""
    there = all(find_spec(name) for name in ("jax", "jax_md"))
    return "" if there else "JAX-MD is not installed (pip install jax_md, and a jax for the GPU)"


def _modules() -> Any:
    if why := missing():
        raise DeviceError(why)
    import jax
    from jax_md import partition, simulate, smap, space

    return jax, partition, simulate, smap, space


def device_slug() -> str:
    """The name in records of the device that JAX uses."""
    jax, *_ = _modules()
    device = jax.devices()[0]
    return slug("nvidia", device.device_kind) if device.platform == "gpu" else "cpu"


def tools() -> dict[str, str]:
    """Versions of JAX-MD, JAX and NumPy."""
    return {name: version(name) for name in ("jax_md", "jax", "jaxlib", "numpy")}


def verify(
    case: str, *, samples: int, seed: int, progress: Progress | None = None, device: str | None = None
) -> Iterator[Check]:
    """Prove each setting against float64, on the device that JAX uses."""
    yield from outside.verify(NAME, simulations, case, device_slug(), samples=samples, seed=seed, progress=progress)


def simulations(
    problem: Problem, arithmetic: str, batch: int, modes: Sequence[str]
) -> Iterator[tuple[str, Callable[[], JaxSimulation]]]:
    """Settings by name, each with what makes its simulation; none for launches that take too long."""
    if problem.n * batch > LONGEST:
        return
    tried = [(FORMATS[0], part) for part in (MELTING_THRESHOLDS if _melts(problem) else THRESHOLDS)]
    tried += [] if problem.n > MANY else [(kind, THRESHOLDS[0]) for kind in FORMATS[1:]]
    for kind, part in tried:
        yield f"{kind}, threshold {part:g} of the cutoff", partial(JaxSimulation, problem, batch, kind, part)


def _melts(problem: Problem) -> bool:
    return problem.case.startswith("melt")


def energy(system: System, jax: Any) -> Callable[..., Any]:
    """The energy of a pair at distance dr in binary32, 0 beyond the cutoff."""
    import jax.scipy.special as special

    jnp = jax.numpy

    def of_pair(dr: Any, sigma: Any, epsilon: Any, charges: Any = 0.0, **unused: Any) -> Any:
        # Padding of a list has distance 0, masked later: nothing here may become infinite.
        safe = jnp.where(dr > 0, dr, 1.0)
        sixth = (sigma / safe) ** 6
        found = 4 * epsilon * (sixth * sixth - sixth)
        if system.switch is not None:
            t = jnp.clip((safe - system.switch) / (system.cutoff - system.switch), 0, 1)
            found = found * (1 - t * t * t * (10 - 15 * t + 6 * t * t))
        if system.ewald is not None:
            found = found + charges * special.erfc(system.ewald * safe) / safe
        return jnp.where((dr > 0) & (dr < system.cutoff), found, 0.0)

    return of_pair


class JaxSimulation(OutsideSimulation):
    """A system in JAX-MD; see `gpu.md.launch.Simulation`."""

    def __init__(self, problem: Problem, batch: int, kind: str, part: float) -> None:
        super().__init__(problem, batch)
        jax, partition, simulate, smap, space = _modules()
        jnp, system = jax.numpy, problem.system
        self._jax, self.skin = jax, problem.skin(part)
        self.room = MELTING_ROOM if _melts(problem) else ROOM
        box = jnp.asarray(system.box, jnp.float32)
        displacement, shift = space.periodic(box)
        several = len(system.species) > 1
        parameters = {"sigma": system.sigma(), "epsilon": system.epsilon(), "charges": system.charges()}
        given = {
            name: jnp.asarray(value, jnp.float32) if several else float(value[0, 0])
            for name, value in parameters.items()
        }
        of_list = smap.pair_neighbor_list(
            energy(system, jax),
            space.canonicalize_displacement_or_metric(displacement),
            species=jnp.asarray(problem.kinds, jnp.int32) if several else None,
            **given,
        )
        self._lists = partition.neighbor_list(
            displacement, box, system.cutoff, self.skin, self.room, format=getattr(partition.NeighborListFormat, kind)
        )
        self._begin, step = simulate.nve(of_list, shift, dt=system.step)
        self._masses = jnp.asarray(system.masses() / system.acceleration, jnp.float32)[:, None]

        def run(state: Any, near: Any) -> Any:
            def one(_: Any, both: Any) -> Any:
                state = step(both[0], neighbor=both[1])
                return state, both[1].update(state.position)

            return jax.lax.fori_loop(0, batch, one, (state, near))

        self._steps = jax.jit(run)
        self._nothing = jax.jit(lambda x: x + 1)
        self._zero = jnp.zeros(())
        self._state: Any = None
        self._near: Any = None

    def _set(self, positions: Array, velocities: Array) -> None:
        jnp = self._jax.numpy
        at = jnp.asarray(positions, jnp.float32)
        near = self._lists.allocate(at)
        if near.did_buffer_overflow:
            raise BadState(f"{self.problem.case}: a list of JAX-MD is full at once")
        momenta = jnp.asarray(velocities, jnp.float32) * self._masses
        key = self._jax.random.PRNGKey(0)
        self._state = self._begin(key, at, 0.0, mass=self._masses, momenta=momenta, neighbor=near)
        self._near = near
        self.finish()

    def _run(self) -> None:
        self._state, self._near = self._steps(self._state, self._near)

    def finish(self) -> None:
        """Wait until all that was begun is done."""
        self._jax.block_until_ready((self._state, self._zero))

    def empty(self) -> None:
        """A sum of one number."""
        self._zero = self._nothing(self._zero)

    def snapshot(self) -> Snapshot:
        """The state after all launches so far."""
        state = self._state
        at, momenta, forces = (np.asarray(x, np.float64) for x in (state.position, state.momentum, state.force))
        return Snapshot(np.mod(at, self.problem.system.box), momenta / np.asarray(self._masses, np.float64), forces)

    def _trouble(self) -> str:
        return "a list of JAX-MD is full" if bool(self._near.did_buffer_overflow) else ""

    def conditions(self) -> Mapping[str, Scalar]:
        """List parameters, and how a missed pair would show."""
        return {
            "skin": round(self.skin, 6),
            "look_interval": 1,
            "list_criterion": "rebuilt once a particle has moved half of dr_threshold, looked at after every step",
            "list_spare": self.room,
            "list_room": math.prod(self._near.idx.shape) if self._near is not None else None,
            "device_times": TIMES,
            "io": "float32 x 6 a particle in and out",
        }

    def close(self) -> None:
        """Free the arrays."""
        self._state = self._near = None
