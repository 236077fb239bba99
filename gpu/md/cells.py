"""Neighbour lists from sorted cells in OpenCL, on any device: what is built, and when.

A step is one kernel: forces from the list, a whole kick, the drift into the other buffer of positions. A launch of B
steps begins with a half kick and a drift and ends with a half kick, so B + 1 kernels and the looks. A *look* decides on
the device whether lists are built anew, from particles sorted into cells again (six kernels that return at once where
they are not). Looking after every step, a list is built as soon as a particle has moved half the skin. Looking less
often saves launches: then it is built when a particle would have moved half the skin before the next look at 1.25 times
its speed, and every step in between proves that none has; one that has spoils the run (`Status.problem`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from compare.record import Scalar
from gpu.bcnn.launch import Chain
from gpu.md.bench import DeviceSimulation
from gpu.md.launch import Array, Snapshot, Status, Unsupported
from gpu.md.layout import Problem, cells, decode, encode
from gpu.runtime.device import Device, Info
from workloads.md.potential import erfc

VARIANT = "neighbour lists from sorted cells"
FILES = ("gpu/md/cells.py", "gpu/md/cells.cl")
_TEXT = Path(__file__).with_name("cells.cl")
#: Cells that a group sums.
BLOCK = 256
_WANT, _OVERFLOW, _LATE, _FAST, _BUILDS, _STATUS = 0, 2, 3, 4, 5, 8


@dataclass(frozen=True)
class Lists:
    """The skin as a part of the cutoff, steps between looks, work-items a particle, those of a group, cells a reach.

    `rows`: the list of a particle is contiguous, as a CPU reads it; else the lists of many lie side by side.
    """

    skin: float
    look: int
    lanes: int
    local: int
    divide: int = 1
    rows: bool = False

    def __str__(self) -> str:
        items = f"{self.lanes} work-item{'s' * (self.lanes > 1)} a particle, groups of {self.local}"
        looks = "looks after every step" if self.look == 1 else f"looks every {self.look} steps"
        lists = ", lists in rows" * self.rows
        return f"skin {self.skin:g} of the cutoff, {looks}, {items}, {self.divide} cells a reach{lists}"


def supported(problem: Problem, info: Info) -> tuple[str, ...]:
    """Forces in binary32, positions in units of 2^-32 of the box."""
    return ("fp32",)


def choices(problem: Problem, arithmetic: str, batch: int, info: Info) -> Sequence[Lists]:
    """On a GPU some skins, looks and work-items a particle; on a CPU, where launches cost little, only skins.

    Many particles fill a GPU with one work-item each and take so long that looks cost nothing; few do neither.
    """
    if info.warp == 1:
        return [Lists(skin, 1, 1, 64, 2, rows=True) for skin in (0.12, 0.2)]
    if problem.n >= 200_000:
        return [Lists(skin, 1, 1, local, 2) for skin in (0.16, 0.12, 0.2) for local in (128, 256)]
    looks = [look for look in (1, 2, 4) if look <= batch]
    if problem.n >= 8000:
        return [Lists(skin, look, lanes, 128, 2) for lanes in (8, 4, 2, 1) for skin in (0.16, 0.12) for look in looks]
    return [Lists(skin, look, lanes, 64, 1) for lanes in (8, 4, 16) for skin in (0.16, 0.24) for look in looks]


def simulation(
    device: Device, problem: Problem, arithmetic: str, choice: Lists, batch: int, mode: str
) -> ListSimulation:
    """The choice bound to the device. Errors: Unsupported for numbers beyond 32 bits and lists beyond its memory."""
    return ListSimulation(device, problem, choice, batch, mode)


def _hex(x: float) -> str:
    """A float literal of OpenCL C, exactly the nearest binary32."""
    return f"{float(np.float32(x)).hex()}f"


def _scaled_erfc(end: float) -> Array:
    """Coefficients, lowest first, of exp(x^2) erfc(x) for x = (t + 1) end / 2; within 2e-7 of it for ends below 4."""
    at = chebyshev.chebpts1(15)
    x = (at + 1) * end / 2
    values = np.exp(x * x) * erfc(x)
    return np.asarray(chebyshev.cheb2poly(chebyshev.chebfit(at, values, 14)), dtype=np.float64)


def _horner(terms: Array) -> str:
    """The polynomial of these coefficients, lowest first, in `t`, in OpenCL C."""
    text = _hex(terms[-1])
    for term in terms[-2::-1]:
        text = f"fma({text}, (t), {_hex(term)})"
    return text


class ListSimulation(DeviceSimulation):
    """A system in neighbour lists; see `gpu.md.launch.Simulation`."""

    def __init__(self, device: Device, problem: Problem, choice: Lists, batch: int, mode: str) -> None:
        system = problem.system
        self.problem, self.choice = problem, choice
        self.resolution = max(system.box) * 2.0**-33 / 3**0.5
        self.skin = problem.skin(choice.skin)
        reach = system.cutoff + self.skin
        self._cells = cells(system.box, reach, choice.divide)
        self._room = problem.room(reach)
        self._rows = -(-self._room // choice.lanes)
        self._blocks = self._cells.total // BLOCK + 1
        if problem.n * choice.lanes + choice.local >= 2**31:
            raise Unsupported(
                f"{system.name}: {problem.n} particles of {choice.lanes} work-items, but a launch has 2^31 at most"
            )
        sizes = {
            "x0": 16 * problem.n, "x1": 16 * problem.n, "start": 16 * problem.n,
            "v": 16 * problem.n, "v_new": 16 * problem.n, "forces": 16 * problem.n,
            "ids": 4 * problem.n, "ids_new": 4 * problem.n, "slots": 4 * problem.n, "order": 4 * problem.n,
            "lengths": 4 * problem.n, "counts": 4 * self._cells.total, "within": 4 * (self._cells.total + 1),
            "before": 4 * self._blocks, "neighbours": 4 * self._rows * choice.lanes * problem.n,
            "status": 4 * _STATUS, "kicks": 4 * len(system.species), "pairs": 16 * len(system.species) ** 2,
        }  # fmt: skip
        self._program = device.compile(self._macros() + _TEXT.read_text(), ())
        self._buffers = _allocated(device, system.name, sizes)
        self._anew: list[Any] = []
        super().__init__(device, batch, *self._launches(device, batch, mode))
        device.upload(self._buffers["kicks"], problem.kicks())
        device.upload(self._buffers["pairs"], problem.pairs())

    def _macros(self) -> str:
        system, choice = self.problem.system, self.choice
        scales = [side / 2**32 for side in system.box]
        integers = {
            "N": self.problem.n,
            "KINDS": len(system.species),
            "LANES": choice.lanes,
            "LOCAL": choice.local,
            "CAPACITY": self._room,
            "STRIDE": choice.lanes if choice.rows else self.problem.n * choice.lanes,
            "PITCH": self._rows * choice.lanes if choice.rows else choice.lanes,
            "BLOCK": BLOCK,
            "BLOCKS": self._blocks,
            "BLOCKS_EACH": -(-self._blocks // BLOCK),
            "CELLS": self._cells.total,
            "SWITCHED": int(system.switch is not None),
            "COULOMB": int(system.ewald is not None),
        }
        for axis, count, span in zip("XYZ", self._cells.counts, self._cells.spans, strict=True):
            integers |= {f"CELLS_{axis}": count, f"SPAN_{axis}": span, f"REACH_{axis}": self._cells.reach}
        reals = {
            "CUT2": system.cutoff**2,
            "LIST2": (system.cutoff + self.skin) ** 2 * (1 + 1e-6),
            "HALF_SKIN": self.skin / 2 * (1 - 1e-6),
            "FAR2": self.problem.far**2,
            "AHEAD": choice.look - 1,
            "AHEAD_REST": (choice.look - 1) * self.problem.thermal,
            "STEP": system.step,
            "SWITCH": system.switch or 0.0,
            "SWITCH_RATE": 1 / (system.cutoff - (system.switch or 0.0)),
            "EWALD2": (system.ewald or 0.0) ** 2,
            "EWALD_SLOPE": 2 / np.pi**0.5 * (system.ewald or 0.0),
            "EWALD_SCALE": 2 / system.cutoff,
        }
        reals |= {f"SCALE_{axis}": scale for axis, scale in zip("XYZ", scales, strict=True)}
        reals |= {f"UNITS_{axis}": 1 / scale for axis, scale in zip("XYZ", scales, strict=True)}
        lines = [f"#define {name} {value}" for name, value in integers.items()]
        lines += [f"#define {name} {_hex(value)}" for name, value in reals.items()]
        return "\n".join(
            [*lines, f"#define EWALD_TERMS(t) {_horner(_scaled_erfc((system.ewald or 0.0) * system.cutoff))}", ""]
        )

    def _launches(self, device: Device, batch: int, mode: str) -> tuple[Any, Any]:
        """What a launch runs, and as many empty kernels."""
        held, n, choice = self._buffers, self.problem.n, self.choice

        def bound(entry: str, items: int, local: int, *arguments: str | int) -> Any:
            values = [held[a] if isinstance(a, str) else np.int32(a) for a in arguments]
            return device.bind(self._program, entry, values, -(-items // local), local, 0)

        def look(x: str) -> list[Any]:
            places = ("within", "before")
            moved = ("start", "v_new", "ids_new")
            return [
                bound("count", n, 64, "status", x, "counts", "slots"),
                bound("sums", self._cells.total + 1, BLOCK, "status", "counts", *places),
                bound("blocks", BLOCK, BLOCK, "status", "before"),
                bound("place", n, 64, "status", x, *places, "slots", "order"),
                bound("gather", n, 64, "status", x, "v", "ids", *places, "order", "counts", *moved),
                bound("list", n, 64, "status", *moved, *places, x, "v", "ids", "neighbours", "lengths"),
            ]

        def step(x: str, to: str, part: int, looks: int) -> Any:
            own = ("status", x, to, "v", "forces", "start", "ids", "kicks", "pairs", "neighbours", "lengths")
            return bound("advance", n * choice.lanes, choice.local, *own, part, looks)

        names = ("x0", "x1")
        self._anew = [*look("x0"), step("x0", "x1", 2, 0)]
        looks: dict[str, list[Any]] = {}
        steps: dict[tuple[str, int, int], Any] = {}
        # The last step must find its positions in x0, where the next launch begins.
        first = (batch - 1) % 2
        begin = ("status", "x0", names[first], "v", "forces", "start", "ids", "kicks", 1)
        chain: list[Any] = [bound("begin", n, 64, *begin)]
        for index in range(batch):
            x, to = names[(first + index) % 2], names[(first + index + 1) % 2]
            if index % choice.look == 0:
                if x not in looks:
                    looks[x] = look(x)
                chain += looks[x]
            key = (x, int(index == batch - 1), int((index + 1) % choice.look == 0))
            if key not in steps:
                steps[key] = step(x, to, *key[1:])
            chain.append(steps[key])
        self._kernels = len(chain)
        empty = bound("nothing", 1, 1, "status")
        launches = [Chain(chain, held), Chain([empty] * len(chain), held)]
        whole, nothing = launches if mode == "queue" else [device.capture(x) for x in launches]
        return whole, nothing

    def _set(self, positions: Array, velocities: Array) -> None:
        device, held, n = self.device, self._buffers, self.problem.n
        speeds = np.zeros((n, 4), np.float32)
        speeds[:, :3] = velocities
        status = np.zeros(_STATUS, np.int32)
        status[_WANT] = 1
        device.finish()
        for name, array in (
            ("x0", encode(self.problem, positions)),
            ("v", speeds),
            ("ids", np.arange(n, dtype=np.int32)),
            ("counts", np.zeros(self._cells.total, np.int32)),
            ("status", status),
        ):
            device.upload(held[name], array)
        for launch in self._anew:
            launch()
        device.finish()

    def snapshot(self) -> Snapshot:
        """The state after all launches so far."""
        n = self.problem.n
        at, speeds, forces = np.empty((n, 4), np.uint32), np.empty((n, 4), np.float32), np.empty((n, 4), np.float32)
        ids = np.empty(n, np.int32)
        self.device.finish()
        for name, array in (("x0", at), ("v", speeds), ("forces", forces), ("ids", ids)):
            self.device.download(self._buffers[name], array)
        order = np.empty(n, np.int64)
        order[ids] = np.arange(n)
        reals = (array[order, :3].astype(np.float64) for array in (speeds, forces))
        return Snapshot(decode(self.problem, at[order]), *reals)

    def status(self) -> Status:
        """Steps and list builds since the state was set, and what went wrong."""
        found = np.empty(_STATUS, np.int32)
        self.device.finish()
        self.device.download(self._buffers["status"], found)
        problem = ""
        if found[_OVERFLOW]:
            problem = f"a particle has {found[_OVERFLOW]} neighbours, but its list has room for {self._room}"
        elif found[_FAST]:
            problem = self.too_far(int(found[_FAST]) - 1)
        elif found[_LATE]:
            problem = (
                f"particle {found[_LATE] - 1} moved more than half the skin, {self.skin / 2:g}, between looks "
                f"{self.choice.look} steps apart: a pair may have been missed"
            )
        return Status(self.steps, int(found[_BUILDS]), problem)

    def conditions(self) -> Mapping[str, Scalar]:
        """List parameters, and how a missed pair would show."""
        look = self.choice.look
        safe = "rebuilt on the device once a particle has moved half the skin, looked at after every step"
        ahead = f"before the next look, {look} steps on, as every step proves"
        return {
            "skin": round(self.skin, 6),
            "look_interval": look,
            "list_criterion": safe
            if look == 1
            else f"rebuilt on the device where a particle might move half the skin {ahead}",
            "list_room": self._room,
            "cells": "x".join(map(str, self._cells.counts)),
            "launches": self._kernels,
            "positions": "32-bit fractions of the box",
            "io": "float32 x 6 a particle in and out, positions as 32-bit integers",
        }

    def close(self) -> None:
        """Free the buffers."""
        self.device.finish()
        self._buffers, self._anew, self.launches, self.empty = {}, [], [], None


def _allocated(device: Device, name: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Buffers by name, touched so that memory that is not there shows now. Errors: Unsupported."""
    held: dict[str, Any] = {}
    try:
        for key, nbytes in sizes.items():
            held[key] = device.allocate(nbytes)
            device.upload(held[key], np.zeros(1, np.int32))
        device.finish()
    except Exception as error:  # each API has its own
        total = sum(sizes.values())
        first = (str(error) or type(error).__name__).splitlines()[0]
        raise Unsupported(
            f"{name}: {total:,} bytes, of which {sizes['neighbours']:,} for the neighbour list, do not fit into "
            f"the memory of {device.info.name}: {first}"
        ) from error
    return held
