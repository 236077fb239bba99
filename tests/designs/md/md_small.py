"""A small integer model of the engine with the stand-in workers (md_worker_model.sv), and the beats of its streams."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

LOAD, RUN, DUMP, STATUS, CLEAR = range(1, 6)
OVERFLOW, CLOSE, FAST, INVALID = 1, 2, 4, 8


@dataclass(frozen=True)
class Box:
    """Parameters of the engine under test; `rc2`, `rmin2` and `shift` are the stand-in's."""

    workers: int = 2
    filters: int = 4
    cells: tuple[int, int, int] = (3, 3, 3)
    capacity: int = 8
    kinds: int = 1
    ratio: int = 1 << 17
    p: int = 16
    v: int = 6
    velocity: int = 22
    sums: int = 36
    id_bits: int = 24
    rc2: int = 1 << 32
    rmin2: int = 0x100
    shift: int = 12

    @property
    def beat(self) -> int:
        """Bits of a beat."""
        return max(3 * self.p + 3 * self.velocity + 48 + 7, 216) // 8 * 8

    @property
    def parameters(self) -> dict[str, int | str]:
        """Of md_engine_dut."""
        names = ("WORKERS", "FILTERS", "CAPACITY", "KINDS", "P", "V", "VELOCITY", "SUM", "ID", "SHIFT")
        values = (
            self.workers, self.filters, self.capacity, self.kinds, self.p, self.v, self.velocity, self.sums,
            self.id_bits, self.shift,
        )  # fmt: skip
        found: dict[str, int | str] = dict(zip(names, values, strict=True))
        found |= dict(zip(("CELLS_X", "CELLS_Y", "CELLS_Z"), self.cells, strict=True))
        return found | {"RATIO": f"18'd{self.ratio}", "RC2": f"64'd{self.rc2}", "RMIN2": f"64'd{self.rmin2}"}


@dataclass
class Particle:
    """Global position (3,), velocity (3,), kind and number."""

    x: list[int]
    v: list[int]
    kind: int
    id: int


@dataclass
class Model:
    """The state with all that STATUS tells; particles of a cell have no order here."""

    box: Box
    particles: list[Particle] = field(default_factory=list)
    flags: int = 0
    steps: int = 0
    pairs: int = 0
    lost: int = 0

    def run(self, steps: int, first_half: bool, last_half: bool) -> None:
        for number in range(steps):
            self._pass(half=first_half and number == 0, drift=True)
            self.steps += 1
        if last_half:
            self._pass(half=True, drift=False)

    def _pass(self, half: bool, drift: bool) -> None:
        box = self.box
        sums = self._forces()
        limit = 1 << (box.velocity - 1)
        for particle, total in zip(self.particles, sums, strict=True):
            for d in range(3):
                force = (total[d] * box.ratio >> 17) if particle.kind else total[d]
                v = particle.v[d] + ((force + 1) >> 1 if half else force)
                if not -limit <= v < limit:
                    self.flags |= FAST
                    v = (v + limit) % (2 * limit) - limit
                particle.v[d] = v
                if drift:
                    moved = particle.x[d] + (v + (1 << (box.v - 1)) >> box.v)
                    particle.x[d] = moved % (box.cells[d] << box.p)

    def _forces(self) -> list[list[int]]:
        box = self.box
        x = np.array([p.x for p in self.particles], np.int64).reshape(-1, 3)
        sums = np.zeros_like(x)
        period = np.array(box.cells, np.int64) << box.p
        for i in range(len(x)):
            d = (x - x[i] + period // 2) % period - period // 2
            r2 = (d * d).sum(1)
            near = r2 < box.rc2
            near[: i + 1] = False
            self.pairs += int(near.sum())
            if (r2[near] < box.rmin2).any():
                self.flags |= CLOSE
            product_ = ((box.rc2 - r2[near]) >> box.shift)[:, None] * d[near]
            f = (product_ + (1 << (box.p - 1)) - (product_ < 0)) >> box.p
            sums[near] += f
            sums[i] -= f.sum(0)
        half = 1 << (box.sums - 1)
        return ((sums + half) % (2 * half) - half).tolist()

    def cell(self, particle: Particle) -> int:
        x, y, z = (c >> self.box.p for c in particle.x)
        nx, ny, _ = self.box.cells
        return (z * ny + y) * nx + x


def random_particles(box: Box, rng: np.random.Generator, count: int, speed: float = 0.5) -> list[Particle]:
    """Particles on a jittered grid, so that few are close; velocities up to `speed` of the largest."""
    side = [max(1, round(count ** (1 / 3) * 1.3))] * 3
    sites = rng.permutation(list(product(*(range(s) for s in side))))[:count]
    assert len(sites) == count
    found = []
    top = int(speed * ((1 << (box.velocity - 1)) - 1))
    for number, site in enumerate(sites):
        x = []
        for d in range(3):
            period = box.cells[d] << box.p
            x.append(int((site[d] + 0.5 * rng.random()) / side[d] * period))
        v = rng.integers(-top, top + 1, 3).tolist()
        found.append(Particle(x, v, int(rng.integers(box.kinds)), number + 1))
    return found


def command(kind: int, argument: int = 0, flags: int = 0) -> int:
    return kind | flags << 8 | argument << 16


def particle_beat(box: Box, particle: Particle, cell: int) -> int:
    low, mask = (1 << box.p) - 1, (1 << box.velocity) - 1
    beat = shift = 0
    for value, bits in (
        *((x & low, box.p) for x in particle.x), *((v & mask, box.velocity) for v in particle.v),
        (particle.kind, 8), (particle.id, 24), (cell, 16),
    ):  # fmt: skip
        beat |= value << shift
        shift += bits
    return beat


def read_particle(box: Box, beat: int) -> tuple[int, Particle]:
    """(cell, particle with its global position) of a beat."""
    values = []
    for bits in (*[box.p] * 3, *[box.velocity] * 3, 8, 24, 16):
        values.append(beat & ((1 << bits) - 1))
        beat >>= bits
    assert beat == 0
    cell = values[8]
    nx, ny, _ = box.cells
    at = (cell % nx, cell // nx % ny, cell // nx // ny)
    x = [c << box.p | f for c, f in zip(at, values[:3], strict=True)]
    v = [u - (u >> (box.velocity - 1) << box.velocity) for u in values[3:6]]
    return cell, Particle(x, v, values[6], values[7])


def read_status(box: Box, beats: list[int]) -> dict[str, int | list[int]]:
    """The fields of STATUS by name; those of workers as lists."""
    head = beats[0]
    found: dict[str, int | list[int]] = {}
    for name, bits in (
        ("flags", 8), ("workers", 8), ("steps", 32), ("force_cycles", 48), ("run_cycles", 48), ("particles", 32),
        ("lost", 32),
    ):  # fmt: skip
        found[name] = head & ((1 << bits) - 1)
        head >>= bits
    for number, name in enumerate(("pairs", "candidates", "stalled")):
        found[name] = [beat >> 48 * number & ((1 << 48) - 1) for beat in beats[1:]]
    return found


def copies(particles: list[Particle]) -> list[Particle]:
    return [replace(p, x=list(p.x), v=list(p.v)) for p in particles]
