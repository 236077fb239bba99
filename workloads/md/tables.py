"""Numbers of the fixed-point arithmetic: the format, and the tables that give the force of a pair from r^2.

The unit of length is edge / 2^position, of velocity edge / 2^(position + velocity_fraction) a step; see
`workloads.md.fixed` for what is done with them.

Entries. With R = r^2 in units of edge^2 / 2^(segments + bins + delta), a segment s holds R of one power of two, and
has 2^bins bins. `base` is the value at the lower end of a bin, `slope` the difference to that of the next. A straight
line over a convex function lies above it, by h^2 f'' / 12 in the mean; every value is lowered by that, so that the mean
error over a bin is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workloads.md import potential
from workloads.md.system import EXACT, Reals, System

Integers = NDArray[np.int64]

#: Fraction bits of coefficients of a pair of kinds (signed, 18 bits), and of ratios of masses (unsigned, 18 bits).
COEFFICIENT = 17


@dataclass(frozen=True)
class Format:
    """Bits of the arithmetic.

    `position`: of the place in a cell. `velocity_fraction`: finer bits of velocities and forces. `velocity`: all bits
    of a velocity, with sign. `bins`: the binary logarithm of the bins of a segment. `segments` of the table. `delta`:
    of the place in a bin. `sums`: of a sum of forces, with sign.
    """

    position: int = 24
    velocity_fraction: int = 10
    velocity: int = 32
    bins: int = 8
    segments: int = 4
    delta: int = 14
    sums: int = 36

    @property
    def address_bits(self) -> int:
        """Bits of R."""
        return self.segments + self.bins + self.delta

    @property
    def entries(self) -> int:
        """Entries of a table."""
        return self.segments << self.bins


@dataclass(frozen=True)
class Tables:
    """The integers of a system in a format.

    `base` and `slope` (terms, entries): terms are r^-14, r^-8 and, with charges, Coulomb. `cutoff2`: a pair counts when
    r^2 < cutoff2; `close2`: it is too close when r^2 < close2. `coefficients` (terms, kinds, kinds), None for one kind
    without charge. `ratios` (kinds,) of the mass of kind 0 to that of a kind, None for one mass.
    """

    system: System
    format: Format
    base: Integers
    slope: Integers
    cutoff2: int
    close2: int
    coefficients: Integers | None
    ratios: Integers | None

    @property
    def edge(self) -> float:
        """Of a cell."""
        return self.system.cell_edges[0]

    @cached_property
    def value_bits(self) -> int:
        """Bits of an entry of `base`, with sign."""
        return _bits(self.base)

    @cached_property
    def slope_bits(self) -> int:
        """Bits of an entry of `slope`, with sign."""
        return _bits(self.slope)

    @property
    def force_unit(self) -> float:
        """One unit of force on a particle of kind 0, before `ratios`, in the units of the system."""
        scale = 2.0 ** (self.format.position + self.format.velocity_fraction)
        s = self.system
        return self.edge * s.species[0].mass / (scale * s.step**2 * s.acceleration)


def format_of(system: System) -> Format:
    """The format that the project uses for a system: as many segments as `closest` needs.

    Errors: as of `check_mapping`.
    """
    check_mapping(system)
    return Format(segments=max(1, math.ceil(-math.log2((system.closest / system.cell_edges[0]) ** 2))))


def check_mapping(system: System, least: int = 3) -> None:
    """Errors: ValueError unless the box is made of cubic cells that hold the cutoff, at least `least` a side."""
    edges = system.cell_edges
    if min(system.cells) < least:
        raise ValueError(f"{system.name}: {min(system.cells)} cells a side, but the mapping needs at least {least}")
    if min(edges) < system.cutoff * EXACT:
        raise ValueError(f"{system.name}: a cell edge of {min(edges):g}, but the cutoff is {system.cutoff:g}")
    if max(edges) - min(edges) > 1e-9 * max(edges):
        raise ValueError(
            f"{system.name}: cells of {edges[0]:g} x {edges[1]:g} x {edges[2]:g}, but only cubes are mapped"
        )


def tables(system: System, form: Format) -> Tables:
    """The tables of a system. Errors: ValueError for a mapping, a format or masses that cannot be."""
    check_mapping(system)
    edge = system.cell_edges[0]
    one = 1 << (2 * form.position)
    cutoff2 = min(one, math.floor((system.cutoff / edge) ** 2 * one))
    close2 = math.floor((system.closest / edge) ** 2 * one)
    if close2 < one >> form.segments:
        end = edge * 2 ** (-form.segments / 2)
        raise ValueError(
            f"{system.name}: {form.segments} segments end at r = {end:g}, but particles come within {system.closest:g}"
        )
    if form.address_bits > 2 * form.position:
        raise ValueError(f"{system.name}: {form.address_bits} bits of table address, but r^2 has {2 * form.position}")
    strengths, functions = _terms(system)
    scale = system.step**2 * system.acceleration / system.species[0].mass
    scale *= 2.0 ** (form.position + form.velocity_fraction)
    coefficients = None
    factors = [float(s[0, 0]) for s in strengths]
    if len(system.species) > 1 or len(strengths) > 2:
        top = (1 << COEFFICIENT) - 1
        largest = [max(float(np.abs(s).max()), 1e-300) for s in strengths]
        factors = [x * (1 << COEFFICIENT) / top for x in largest]
        parts = [np.round(s / x * top) for s, x in zip(strengths, largest, strict=True)]
        coefficients = np.stack(parts).astype(np.int64)
    made = [_table(system, form, f, x * scale) for f, x in zip(functions, factors, strict=True)]
    highest = max(float(np.abs(values).max()) for values, _ in made)
    if highest >= 2.0**36:
        raise ValueError(
            f"{system.name}: table values of up to 2^{math.log2(highest):.1f}, must be below 2^36: take fewer fraction "
            "bits of velocity, a larger closest or a shorter step"
        )
    base, slope = (np.stack([m[k] for m in made]).astype(np.int64) for k in (0, 1))
    return Tables(system, form, base, slope, cutoff2, close2, coefficients, _ratios(system))


def _terms(system: System) -> tuple[list[Reals], list[Callable[[Reals], Reals]]]:
    """Strength (kinds, kinds) and g(r^2) of each term."""
    eps, sigma = system.epsilon(), system.sigma()
    strengths = [4 * eps * sigma**12, -4 * eps * sigma**6]
    functions: list[Callable[[Reals], Reals]] = [
        lambda r2: potential.power(system, r2, 12)[1],
        lambda r2: potential.power(system, r2, 6)[1],
    ]
    if system.ewald is not None:
        strengths.append(system.charges())
        functions.append(lambda r2: potential.ewald(system, r2)[1])
    return strengths, functions


def _table(system: System, form: Format, g: Callable[[Reals], Reals], factor: float) -> tuple[Reals, Reals]:
    """Values and differences of one term, rounded, largest r^2 first by segment; flat below `closest`."""
    edge2 = system.cell_edges[0] ** 2
    bins = 1 << form.bins
    # The knot at or below `closest`: from there down all entries are its.
    closest = system.closest**2 / edge2
    last = math.floor(-math.log2(closest))
    spacing = 2.0 ** -(last + 1) / bins
    lowest = math.floor(closest / spacing) * spacing
    base, slope = np.zeros((form.segments, bins)), np.zeros((form.segments, bins))
    above = None
    for s in range(form.segments):
        width = 2.0 ** -(s + 1) / bins
        knots = np.maximum(2.0 ** -(s + 1) + width * np.arange(bins + 1), lowest)
        below, here, beyond = (factor * g((knots + off) * edge2) for off in max(width, spacing) * np.array([-1, 0, 1]))
        values = np.round(here - (below - 2 * here + beyond) / 12)
        if above is not None:
            values[-1] = above  # the next bin is the first of the segment above
        base[s], slope[s] = values[:-1], np.diff(values)
        above = values[0]
    return base.ravel(), slope.ravel()


def _ratios(system: System) -> Integers | None:
    masses = np.array([s.mass for s in system.species])
    if (masses == masses[0]).all():
        return None
    ratios = np.round(masses[0] / masses * (1 << COEFFICIENT)).astype(np.int64)
    if ratios.max() >= 2 << COEFFICIENT:
        raise ValueError(f"{system.name}: kind 0 is {masses[0] / masses.min():g} times as heavy as another, at most 2")
    return np.asarray(ratios)


def _bits(values: Integers) -> int:
    """Bits of the widest of these, with sign."""
    return 1 + max(int(values.max()).bit_length(), int(-1 - values.min()).bit_length())
