"""How a system is cut into bricks for `bricks.cu`, and how much room each thing gets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from gpu.md.launch import Unsupported
from gpu.md.layout import Problem
from gpu.runtime.device import Info

#: Bits of a slot in `places.cuh`, and the largest number of locals: a byte offset of 16 bits finds each.
SLOT_BITS, MOST_LOCALS = 23, 4095
#: A barrier counts blocks in 10 bits, a brick is at most so many bricks away.
MOST_BLOCKS, MOST_REACH = 1023, 2
MOST_KINDS = 2
MOST_IN_CLUSTER = 16
#: Shared memory that the runtime keeps of each block.
RESERVED = 1024
#: Registers of a thread, at most, that the kernel does well with.
REGISTERS = 64
#: Rounding of places is far below this part of the skin.
MARGIN = 1e-3


@dataclass(frozen=True)
class Plan:
    """A choice: bricks a side, particles of a thread, threads of a group, groups and blocks, the skin.

    `slots`, `room` (locals) and `chunks` (of a thread's list) are limits that the kernel watches.
    """

    bricks: tuple[int, int, int]
    members: int
    lanes: int
    threads: int
    resident: int
    grid: int
    skin: float
    own_bins: tuple[int, int, int]
    slots: int
    room: int
    chunks: int
    cluster: bool = False

    def __str__(self) -> str:
        return (
            f"{'x'.join(map(str, self.bricks))} bricks, {self.members} particles to {self.lanes} threads, "
            f"{self.grid} blocks of {self.threads}{' in a cluster' * self.cluster}, skin {self.skin:.4g}"
        )

    def edges(self, problem: Problem) -> tuple[float, float, float]:
        """Edges of a brick."""
        x, y, z = (side / n for side, n in zip(problem.system.box, self.bricks, strict=True))
        return x, y, z

    @property
    def total(self) -> int:
        """Number of bricks."""
        return math.prod(self.bricks)

    @property
    def passes(self) -> int:
        """How often a block goes through its groups for all its slots."""
        return -(-self.slots // (self.threads // self.lanes * self.members))

    @property
    def entries(self) -> int:
        """Entries of a chunk, as in `list.cuh`."""
        return 8 if self.lanes == 1 else 4

    @property
    def list_room(self) -> int:
        """Entries of a group's list."""
        return self.chunks * self.entries * self.lanes

    def reach_bricks(self, problem: Problem) -> tuple[int, int, int]:
        """Bricks away, in x, y, z, that a local may be."""
        x, y, z = (math.ceil((problem.system.cutoff + self.skin) / edge) for edge in self.edges(problem))
        return x, y, z

    def reach_bins(self, problem: Problem) -> tuple[int, int, int]:
        """Bins that the reach covers on each side."""
        reach = (problem.system.cutoff + self.skin) * 1.0001
        found = (math.ceil(reach * n / edge) for n, edge in zip(self.own_bins, self.edges(problem), strict=True))
        x, y, z = found
        return x, y, z

    def way(self, problem: Problem) -> tuple[int, int, int]:
        """Bins of a brick, of about one particle each, in whose order its particles are kept."""
        x, y, z = (max(1, round(edge * problem.density ** (1 / 3))) for edge in self.edges(problem))
        return x, y, z

    def shared(self, problem: Problem) -> int:
        """Bytes of shared memory of a block."""
        bins = math.prod(n + 2 * r for n, r in zip(self.own_bins, self.reach_bins(problem), strict=True))
        bins = max(bins, math.prod(self.way(problem)))
        kept = self.room if self.grid == self.total else 0
        return (self.room + 1) * 16 + (kept + bins) * 4 + 160 + 4 * (32 + (2 * MOST_REACH + 1) ** 3)


def plan(
    problem: Problem,
    info: Info,
    bricks: tuple[int, int, int],
    *,
    members: int,
    lanes: int,
    skin: float,
    cluster: bool = False,
) -> Plan:
    """The plan with these bricks; `cluster`: all of them in one cluster, a brick to a block.

    Errors: Unsupported naming what does not fit.
    """
    name, system = problem.case, problem.system
    reach = system.cutoff + skin
    edges = [side / n for side, n in zip(system.box, bricks, strict=True)]
    if max(math.ceil(reach / edge) for edge in edges) > MOST_REACH:
        raise Unsupported(f"{name}: a brick of {min(edges):.3g} is less than half of the reach {reach:.3g}")
    mean = problem.n / math.prod(bricks)
    # Planes of a crystal fall into one brick or the next: half a plane more on each side of it.
    plane = problem.density ** (-1 / 3)
    slots = _even(mean * math.prod(1 + plane / edge for edge in edges) + 8 * math.sqrt(mean) ** 0.5 + 8, members)
    room = math.ceil(1.12 * problem.density * _rounded(edges, reach) + 32)
    if room > MOST_LOCALS:
        raise Unsupported(f"{name}: {room} particles within reach of a brick, {MOST_LOCALS} at most")
    if math.prod(bricks) * slots >= 1 << SLOT_BITS:
        raise Unsupported(f"{name}: {math.prod(bricks) * slots} slots, below {1 << SLOT_BITS}")
    threads = min(1024, -(-math.ceil(mean * 1.05 / members) * lanes // 32) * 32)
    own_bins = [max(1, round(edge / (reach / 2))) for edge in edges]
    # Two particles that are near each other have a third more neighbours together than one, but not all are that near.
    each = problem.density * 4 / 3 * math.pi * reach**3 * {1: 1.4, 2: 2.0, 4: 3.2}[members]
    chunks = math.ceil((each / lanes + 10) / (8 if lanes == 1 else 4))
    total = math.prod(bricks)
    if cluster and total > min(MOST_IN_CLUSTER, info.units):
        raise Unsupported(f"{name}: {total} bricks, but a cluster has {MOST_IN_CLUSTER} blocks at most")

    def made(resident: int) -> Plan:
        grid = total if cluster else min(total, resident * info.units, MOST_BLOCKS)
        own = _three(own_bins)
        return Plan(bricks, members, lanes, threads, resident, grid, skin, own, slots, room, chunks, cluster)

    # As many blocks of a multiprocessor as there are bricks for, and as its memory and its registers hold.
    most = 1 if cluster else min(max(1, 65536 // (REGISTERS * threads)), 2048 // threads, -(-total // info.units))
    for resident in range(most, 0, -1):
        found = made(resident)
        if (found.shared(problem) + RESERVED) * resident <= info.local_bytes + RESERVED:
            return found
    raise Unsupported(
        f"{name}: a block needs {found.shared(problem)} bytes of shared memory, {info.local_bytes} are there"
    )


def candidates(problem: Problem, info: Info) -> list[Plan]:
    """Plans that tuning may try, the expected best first."""
    found: dict[Plan, float] = {}
    for part in SKINS:
        skin = problem.skin(part)
        for bricks in _cuts(problem, info):
            for members, lanes in SHAPES:
                try:
                    made = plan(problem, info, bricks, members=members, lanes=lanes, skin=skin)
                except Unsupported:
                    continue
                found[made] = _cost(problem, info, made)
    return sorted(found, key=lambda each: found[each])


#: Skins as parts of the cutoff, and how many particles share how many threads.
SKINS = (0.1, 0.14, 0.2)
SHAPES = ((2, 1), (2, 2), (2, 4), (2, 8), (2, 16), (1, 1), (1, 4), (1, 8), (1, 16), (1, 32), (4, 8), (4, 16))


def _cuts(problem: Problem, info: Info) -> Iterator[tuple[int, int, int]]:
    """Bricks a side, near to cubes, from one block on each multiprocessor to as many as are small enough."""
    box = problem.system.box
    for size in (8, 16, 32, 64, 96, 128, 160, 192, 256, 320, 400, 512, 640, 800, 1024):
        edge = (size / problem.density) ** (1 / 3)
        if problem.n / size < min(info.units / 4, problem.n / 16):
            continue
        sides = [sorted({max(1, math.floor(side / edge)), max(1, math.ceil(side / edge))}) for side in box]
        yield from {_three(list(cut)) for cut in itertools.product(*sides)}


def _cost(problem: Problem, info: Info, made: Plan) -> float:
    """Rough time of a step in cycles of a multiprocessor: to order the candidates, not to predict."""
    reach = problem.system.cutoff + made.skin
    turns = -(-made.total // made.grid) * -(-made.grid // info.units)
    mean = problem.n / made.total
    near = problem.density * 4 / 3 * math.pi * reach**3
    pairs = mean * near * {1: 1.0, 2: 1.32, 4: 1.8}[made.members]
    gathers = pairs / made.members
    local = problem.density * _rounded(list(made.edges(problem)), reach)
    busy = min(1.0, made.resident * made.threads / 640)
    work = pairs * 19 / 128 + gathers * 6 / 32 + local * 40 / 128 + mean / made.members * made.lanes * 40 / 128
    lists = work * 1.3 * _renewals(problem, made.skin)
    waits = 3000 if made.grid == made.total else 1500 * turns
    return turns * (work + lists) / busy + waits


def _renewals(problem: Problem, skin: float) -> float:
    """New lists in a step: the fastest particle goes half the skin."""
    system = problem.system
    speed = math.sqrt(system.boltzmann * system.temperature * system.acceleration / system.species[0].mass)
    return 4.5 * speed * system.step / (skin / 2)


def _rounded(edges: list[float], reach: float) -> float:
    """Volume within reach of a brick."""
    a, b, c = edges
    return (
        a * b * c + 2 * (a * b + b * c + c * a) * reach + math.pi * (a + b + c) * reach**2 + 4 / 3 * math.pi * reach**3
    )


def _even(count: float, by: int) -> int:
    return -(-math.ceil(count) // by) * by


def _three(values: list[int]) -> tuple[int, int, int]:
    x, y, z = values
    return x, y, z
