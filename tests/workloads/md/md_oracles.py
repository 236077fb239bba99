"""Slow second opinions: loops over numbers, written from the formulas and from the specification of the engine."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from workloads.md import cases
from workloads.md.fixed import Flags, State, Tables
from workloads.md.system import Reals, Species, System

LIQUID = System("liquid", (Species(),), (140,), (5.7, 5.7, 5.7), 1.9, 0.004, (3, 3, 3), switch=1.5, temperature=0.9)
#: Two masses, two sigmas, charges.
SALT = System(
    "salt", (Species(8.0, 2.0, 0.5, 0.2), Species(16.0, 2.2, 0.6, -0.2)), (40, 40), (9.6, 9.6, 9.6), 3.2, 0.002,
    (3, 3, 3), switch=2.6, ewald=0.6, units="molar", closest=1.3, temperature=300.0,
)  # fmt: skip
#: Two kinds without charge and with one mass, cut without a switch, a box of unequal sides.
MIXTURE = System(
    "mixture", (Species(1.0, 1.0, 1.0), Species(1.0, 0.9, 0.5)), (60, 80), (5.7, 7.6, 5.7), 1.9, 0.004, (3, 4, 3),
    closest=0.6,
)  # fmt: skip


def start(system: System, seed: int) -> cases.State:
    """Particles on a simple cubic lattice, kinds at random, shaken, so that none are near each other."""
    rng = np.random.default_rng(seed)
    side = math.ceil(system.n ** (1 / 3))
    sites = np.array(list(itertools.product(range(side), repeat=3)))[rng.permutation(side**3)[: system.n]]
    gap = np.array(system.box) / side
    at = (sites + 0.5 + rng.uniform(-0.1, 0.1, sites.shape)) * gap
    spread = np.sqrt(system.boltzmann * system.temperature * system.acceleration / system.masses())
    moving = rng.standard_normal(at.shape) * spread[:, None]
    return cases.State(at % np.array(system.box), moving, system.kinds())


def scaled(system: System, factor: float) -> System:
    """The same particles in a box of sides times a factor, with the same cutoff and without cells."""
    x, y, z = (factor * side for side in system.box)
    return replace(system, box=(x, y, z), cells=(1, 1, 1))


def energy(system: System, positions: Reals) -> tuple[float, int]:
    """Potential energy and pairs within the cutoff, number by number, over all images that could be near."""
    total, count = 0.0, 0
    kinds, positions = system.kinds(), positions.tolist()
    for a in range(system.n):
        for b in range(a + 1, system.n):
            one, two = system.species[kinds[a]], system.species[kinds[b]]
            apart = [positions[b][k] - positions[a][k] for k in range(3)]
            images = [
                [d + n * side for n in (-1, 0, 1) if abs(d + n * side) < system.cutoff]
                for d, side in zip(apart, system.box, strict=True)
            ]
            for d in itertools.product(*images):
                r = math.sqrt(sum(x * x for x in d))
                if r >= system.cutoff:
                    continue
                count += 1
                s = (one.sigma + two.sigma) / 2 / r
                u = 4 * math.sqrt(one.epsilon * two.epsilon) * (s**12 - s**6)
                if system.switch is not None and r > system.switch:
                    t = (r - system.switch) / (system.cutoff - system.switch)
                    u *= 1 - 10 * t**3 + 15 * t**4 - 6 * t**5
                if system.ewald is not None:
                    u += 1389.35458 * one.charge * two.charge * math.erfc(system.ewald * r) / r
                total += u
    return total, count


def engine_step(table: Tables, state: State, half: bool) -> tuple[State, int]:
    """One step as the engine makes it, in Python's integers: cells, slots, half shell. Also the pairs counted."""
    form, cells = table.format, table.system.cells
    bits = form.position
    held: dict[tuple[int, ...], list[int]] = {}
    for number, x in enumerate(state.positions.tolist()):
        held.setdefault(tuple(v >> bits for v in x), []).append(number)
    place = [[v % (1 << bits) for v in x] for x in state.positions.tolist()]
    kinds = state.kinds.tolist()
    total = [[0, 0, 0] for _ in kinds]
    count, flags = 0, state.flags
    shell = [(0, 0, 0)] + [o for o in itertools.product((-1, 0, 1), repeat=3) if o > (0, 0, 0)]
    for home, own in held.items():
        for dz, dy, dx in shell:
            off = (dx, dy, dz)
            other = held.get(tuple((home[k] + off[k]) % cells[k] for k in range(3)), [])
            for slot, i in enumerate(own):
                for j in other[slot + 1 :] if off == (0, 0, 0) else other:
                    d = [place[j][k] + (off[k] << bits) - place[i][k] for k in range(3)]
                    r2 = sum(x * x for x in d)
                    if r2 >= table.cutoff2:
                        continue
                    count += 1
                    if r2 < table.close2:
                        flags |= Flags.CLOSE
                    k_all = strength(table, r2, kinds[i], kinds[j])
                    for k in range(3):
                        product = k_all * d[k]
                        f = (product + (1 << (bits - 1)) - (1 if product < 0 else 0)) >> bits
                        total[j][k] += f
                        total[i][k] -= f
    positions, velocities = [], []
    for number, f in enumerate(total):
        x_new, v_new = [], []
        for k in range(3):
            force = f[k]
            if table.ratios is not None:
                force = (force * int(table.ratios[kinds[number]])) >> 17
            v = int(state.velocities[number][k]) + ((force + 1) >> 1 if half else force)
            if not -(1 << (form.velocity - 1)) <= v < 1 << (form.velocity - 1):
                flags |= Flags.FAST
            x = place[number][k] + ((v + (1 << (form.velocity_fraction - 1))) >> form.velocity_fraction)
            move = x >> bits
            if abs(move) > 1:
                flags |= Flags.FAST
            cell = (int(state.positions[number][k] >> bits) + move) % cells[k]
            x_new.append((cell << bits) + x % (1 << bits))
            v_new.append(v)
        positions.append(x_new)
        velocities.append(v_new)
    return State(np.array(positions), np.array(velocities), state.kinds, flags), count


def strength(table: Tables, r2: int, kind_i: int, kind_j: int) -> int:
    """K of a pair, bit by bit."""
    form = table.format
    width = form.segments + form.bins + form.delta
    text = format(r2 >> (2 * form.position - width), f"0{width}b")
    segment = min(len(text) - len(text.lstrip("0")), form.segments - 1)
    below = (text[segment + 1 :] + "0" * segment)[: form.bins + form.delta] if text[segment] == "1" else "0" * 99
    index, delta = int(below[: form.bins], 2), int(below[form.bins : form.bins + form.delta], 2)
    address = (segment << form.bins) + index
    total = 0
    for term in range(len(table.base)):
        value = int(table.base[term][address]) + ((int(table.slope[term][address]) * delta) >> form.delta)
        if table.coefficients is not None:
            value = (value * int(table.coefficients[term][kind_i][kind_j])) >> 17
        total += value
    return total
