"""Neighbour lists in bricks in CUDA: all steps of a launch, and new lists where they are needed, by one kernel.

A block holds the particles of a brick and all within reach of it in shared memory and walks 16-bit lists there; blocks
meet at a barrier of their own after each step (see `places.cuh`, `list.cuh`, `lists.cuh`, `bricks.cu`). Lists are
renewed as soon as any particle has moved half the skin since they were made, which every step looks at. So all blocks
must be resident at once; the grid is never larger than that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compare.record import Scalar
from gpu.md.bench import DeviceSimulation
from gpu.md.launch import Array, BadState, Snapshot, Status, Unsupported
from gpu.md.layout import Problem
from gpu.md.plan import MARGIN, MOST_KINDS, Plan, candidates
from gpu.md.tuned import tuned
from gpu.runtime.device import Device, DeviceError, Info

VARIANT = "neighbour lists in bricks, one launch for all steps"
TEXTS = ("pair.cuh", "grid.cuh", "places.cuh", "list.cuh", "lists.cuh", "bricks.cu")
FILES = ("gpu/md/bricks.py", "gpu/md/plan.py", "gpu/md/tuned.py", *(f"gpu/md/{name}" for name in TEXTS))
#: Units of a coordinate along an edge of a brick, as in `places.cuh`.
EDGE = 2**28
#: Words of `state`: those of `bricks.cu`, the barrier's, and the queue's of bricks.
STATE_WORDS = 64 + 8 * 32
#: Pairs closer than this part of the closest of a healthy run are refused when lists are made.
CLOSE = 0.25
_NON_PORTABLE_CLUSTER = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
TROUBLES = {
    1: "a brick has more particles than its {slots} slots",
    2: "more particles are within reach of a brick than the {room} that it has room for",
    4: "a group of particles has more neighbours than the {list} that its list has room for",
    8: "a particle moves by more than {far:g} in a step: particles overlap, or the step is too long",
    16: "two particles overlap",
}


def supported(problem: Problem, info: Info) -> tuple[str, ...]:
    """Forces in binary32, positions in units of 2^-28 of a brick; one kind of particles or two."""
    return ("fp32",) if len(problem.system.species) <= MOST_KINDS else ()


def choices(problem: Problem, arithmetic: str, batch: int, info: Info) -> Sequence[Plan]:
    """What was the fastest on this kind of device, or the most promising plans."""
    return tuned(problem, info) or candidates(problem, info)[:8]


def simulation(device: Device, problem: Problem, arithmetic: str, choice: Plan, batch: int, mode: str) -> Bricks:
    """The choice bound to the device. Errors: Unsupported where the memory does not hold it."""
    return Bricks(device, problem, choice, batch, mode)


def text(problem: Problem, choice: Plan) -> str:
    """The CUDA C++ of a plan: macros and files."""
    folder = Path(__file__).parent
    lines = [f"#define {name} {value}" for name, value in macros(problem, choice).items()]
    return "\n".join([*lines, *((folder / name).read_text() for name in TEXTS)])


def literal(x: float) -> str:
    """A float literal of C++, exactly the nearest binary32."""
    return f"{float(np.float32(x)).hex()}f"


def units(problem: Problem, choice: Plan) -> NDArray[np.float64]:
    """Length of a unit of each coordinate, exact in binary32 as the kernel has it."""
    return np.array(choice.edges(problem)) / EDGE


def macros(problem: Problem, choice: Plan) -> Mapping[str, int | str]:
    """What the files take from the problem and the plan."""
    system = problem.system
    skin = choice.skin
    found: dict[str, int | str] = {
        "KINDS": len(system.species),
        "SWITCHED": int(system.switch is not None),
        "COULOMB": int(system.ewald is not None),
        "THREADS": choice.threads,
        "LANES": choice.lanes,
        "MEMBERS": choice.members,
        "RESIDENT": choice.resident,
        "CLUSTER": int(choice.cluster),
        "GRID": choice.grid,
        "BRICKS": choice.total,
        "SLOTS": choice.slots,
        "LOCALS": choice.room,
        "LIST_CHUNKS": choice.chunks,
    }
    reach, bins, way = choice.reach_bricks(problem), choice.reach_bins(problem), choice.way(problem)
    for i, axis in enumerate("XYZ"):
        found |= {f"BRICKS_{axis}": choice.bricks[i], f"OWN_BINS_{axis}": choice.own_bins[i], f"WAY_{axis}": way[i]}
        found |= {f"REACH_BRICKS_{axis}": reach[i], f"REACH_BINS_{axis}": bins[i]}
    kicks = problem.kicks().astype(np.float64) * system.step
    slope = 1 / (system.cutoff - system.switch) if system.switch is not None else 0.0
    ewald = system.ewald or 0.0
    reals = {
        "CUTOFF2": system.cutoff**2,
        "REACH": system.cutoff + skin,
        "LEASH": skin / 2 * (1 - MARGIN),
        "FAR": problem.far,
        "CLOSE2": (CLOSE * system.closest) ** 2,
        "KICK_0": kicks[0],
        "KICK_1": kicks[-1],
        "SWITCH_SLOPE": slope,
        "SWITCH_START": (system.switch or 0.0) * slope,
        "EWALD": ewald,
        "EWALD_EXPONENT": -(ewald**2) / np.log(2),
        "EWALD_SLOPE": 2 * ewald / np.pi**0.5,
    }
    reals |= {f"UNIT_{axis}": unit for axis, unit in zip("XYZ", units(problem, choice), strict=True)}
    pairs = problem.pairs()
    for i in range(len(pairs)):
        for j in range(i, len(pairs)):
            repel, attract, charges, _ = pairs[i, j]
            reals |= {f"REPEL_{i}{j}": repel, f"ATTRACT_{i}{j}": attract, f"CHARGES_{i}{j}": charges}
    return found | {name: literal(value) for name, value in reals.items()}


class Bricks(DeviceSimulation):
    """A system in bricks; see `gpu.md.launch.Simulation`."""

    def __init__(self, device: Device, problem: Problem, choice: Plan, batch: int, mode: str) -> None:
        self.problem, self.choice = problem, choice
        # A place is rounded to binary32, as far from the middle of its brick as the reach.
        farthest = max(choice.edges(problem)) / 2 + problem.system.cutoff + choice.skin
        self.resolution = float(np.spacing(np.float32(farthest))) / 12**0.5
        slots, total = choice.total * choice.slots, choice.total
        rows = total * choice.passes * choice.threads
        sizes = {
            "at_0": 16 * slots, "at_1": 16 * slots, "velocity_0": 16 * slots, "velocity_1": 16 * slots,
            "force": 16 * slots, "reference": 16 * slots, "own": 4 * total, "incoming": 4 * total,
            "words": 4 * total * choice.room, "locals": 4 * total,
            "lists": 2 * rows * choice.entries * (choice.chunks + 1), "chunks": 4 * rows, "state": 4 * STATE_WORDS,
        }  # fmt: skip
        self.bytes = sum(sizes.values())
        try:
            self._buffers = {name: device.allocate(nbytes) for name, nbytes in sizes.items()}
        except Exception as error:
            raise Unsupported(
                f"{problem.case}: {self.bytes} bytes of lists and particles do not fit: {error}"
            ) from error
        program = device.compile(text(problem, choice), ("-arch=sm_90",))
        shared = choice.shared(problem)
        if choice.cluster:
            _allow_cluster(program)

        def bound(steps: int) -> Any:
            arguments = [*self._buffers.values(), np.int32(steps)]
            return device.bind(program, "advance", arguments, choice.grid, choice.threads, shared)

        self._evaluate, whole = bound(0), bound(batch)
        empty = device.bind(program, "nothing", [self._buffers["state"]], 1, 32, 0)
        if mode == "graph":
            whole, empty = device.capture(whole), device.capture(empty)
        super().__init__(device, batch, whole, empty)

    def _set(self, positions: Array, velocities: Array) -> None:
        for name, array in pack(self.problem, self.choice, positions, velocities).items():
            self.device.upload(self._buffers[name], array)
        try:
            self._evaluate()
        except DeviceError as error:
            raise Unsupported(f"{self.problem.case}: {self.choice}: {error}") from error
        self.device.finish()

    def _read(self, name: str, kind: Any, width: int) -> NDArray[Any]:
        found = np.empty((self.choice.total, self.choice.slots, width), kind)
        self.device.download(self._buffers[name], found)
        return found

    def _state(self) -> NDArray[np.int32]:
        found = np.empty(STATE_WORDS, np.int32)
        self.device.download(self._buffers["state"], found)
        return found

    def snapshot(self) -> Snapshot:
        """The state after all launches so far. Errors: BadState where particles were lost."""
        self.device.finish()
        own = np.empty(self.choice.total, np.int32)
        self.device.download(self._buffers["own"], own)
        arrays = {"own": own, "at": self._read(f"at_{self._state()[0]}", np.int32, 4)}
        arrays |= {name: self._read(name, np.float32, 4) for name in ("velocity_0", "force")}
        return unpack(self.problem, self.choice, arrays)

    def status(self) -> Status:
        """Steps and lists made since the state was set, and what went wrong."""
        self.device.finish()
        found = self._state()
        size = {"slots": self.choice.slots, "room": self.choice.room, "far": self.problem.far}
        size["list"] = self.choice.list_room
        trouble = "; ".join(what.format(**size) for bit, what in TROUBLES.items() if found[3] & bit)
        if not trouble and found[5] != self.steps:
            trouble = f"{found[5]} steps were done of {self.steps}"
        return Status(int(found[5]), int(found[4]), trouble)

    def conditions(self) -> Mapping[str, Scalar]:
        """List parameters, and how a missed pair would show."""
        choice = self.choice
        return {
            "skin": round(choice.skin, 6),
            "look_interval": 1,
            "list_criterion": "rebuilt on the device once a particle has moved half the skin, looked at every step",
            "list_room": choice.list_room,
            "bricks": "x".join(map(str, choice.bricks)),
            "launches": 1,
            "memory_bytes": self.bytes,
            "positions": "32-bit integers in units of 2^-28 of a brick",
            "io": "float32 x 6 a particle in and out, positions as 32-bit integers",
        }

    def close(self) -> None:
        """Free the buffers."""
        self.device.finish()
        self._buffers, self.launches, self.empty, self._evaluate = {}, [], None, None


def _allow_cluster(program: Any) -> None:
    """Let a kernel be a cluster of more than eight blocks, which not every chip of its kind can hold."""
    if hasattr(program, "get_function"):
        kernel = program.get_function("advance").kernel
        ctypes.CDLL("libcuda.so.1").cuFuncSetAttribute(ctypes.c_void_p(kernel.ptr), _NON_PORTABLE_CLUSTER, 1)


def pack(problem: Problem, choice: Plan, positions: Array, velocities: Array) -> dict[str, NDArray[Any]]:
    """The buffers that a state starts from: particles in the slots of their bricks, no lists.

    Errors: Unsupported where a brick has too few slots.
    """
    system = problem.system
    count, edge = np.array(choice.bricks), np.array(choice.edges(problem))
    wrapped = np.mod(positions / edge, count)
    brick = np.minimum(wrapped.astype(np.int64), count - 1)
    at = np.rint((wrapped - brick - 0.5) * EDGE).astype(np.int32)
    number = (brick[:, 2] * count[1] + brick[:, 1]) * count[0] + brick[:, 0]
    order = np.argsort(number, kind="stable")
    own = np.bincount(number, minlength=choice.total).astype(np.int32)
    if own.max() > choice.slots:
        raise Unsupported(f"{problem.case}: {own.max()} particles in a brick, but it has {choice.slots} slots")
    slot = number[order] * choice.slots + np.arange(problem.n) - (np.cumsum(own) - own)[number[order]]
    slots = choice.total * choice.slots
    places, speeds = np.zeros((slots, 4), np.int32), np.zeros((slots, 4), np.float32)
    places[slot, :3] = at[order]
    places[slot, 3] = problem.kinds[order]
    speeds[slot, :3] = (velocities * system.step / units(problem, choice))[order]
    speeds.view(np.uint32)[slot, 3] = order
    return {
        "at_0": places,
        "reference": places,
        "velocity_0": speeds,
        "own": own,
        "incoming": np.zeros(choice.total, np.int32),
        "state": np.zeros(STATE_WORDS, np.int32),
    }


def unpack(problem: Problem, choice: Plan, arrays: Mapping[str, NDArray[Any]]) -> Snapshot:
    """The state in these buffers. Errors: BadState where particles are missing."""
    own, box = arrays["own"], np.array(problem.system.box)
    held = np.arange(choice.slots) < own[:, None]
    number = arrays["velocity_0"].view(np.uint32)[held, 3].astype(np.int64)
    if not np.array_equal(np.sort(number), np.arange(problem.n)):
        raise BadState(f"{problem.case}: {len(number)} particles came back of {problem.n}")
    order = np.argsort(number)
    count = np.array(choice.bricks)
    brick = np.nonzero(held)[0]
    corner = np.stack([brick % count[0], brick // count[0] % count[1], brick // (count[0] * count[1])], axis=1)
    unit = units(problem, choice)
    at = np.mod((corner + 0.5) * (unit * EDGE) + arrays["at"][held, :3] * unit, box)
    velocity = arrays["velocity_0"][held, :3] * (unit / problem.system.step)
    return Snapshot(at[order], velocity[order], arrays["force"][held, :3].astype(np.float64)[order])
