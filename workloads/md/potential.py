"""The potentials of a pair as functions of r^2: Lennard-Jones, cut or switched, and the real-space Ewald term.

u is the energy, g = -u'(r) / r, so that the force on j is g times d = x_j - x_i. The switch (LAMMPS, CHARMM and OpenMM
have the same polynomial) is S = 1 - 10 t^3 + 15 t^4 - 6 t^5 with t = (r - switch) / (cutoff - switch); the force is the
exact derivative of the switched energy.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workloads.md.system import System

Floats = NDArray[Any]


def switching(system: System, r: Floats) -> tuple[Floats, Floats]:
    """S and its derivative by r, of the type of r; 1 and 0 without a switch."""
    if system.switch is None:
        return np.ones_like(r), np.zeros_like(r)
    width = r.dtype.type(system.cutoff - system.switch)
    t = np.clip((r - r.dtype.type(system.switch)) / width, 0, 1).astype(r.dtype)
    t2 = t * t
    rest = 1 - t
    return 1 - t2 * t * (10 - 15 * t + 6 * t2), -30 * t2 * (rest * rest) / width


def power(system: System, r2: Floats, exponent: Literal[6, 12]) -> tuple[Floats, Floats]:
    """u and g of S(r) r^-exponent; type of r2."""
    six, twelve = powers(system, r2)
    return six if exponent == 6 else twelve


def powers(system: System, r2: Floats) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """u and g of S(r) r^-6, and of S(r) r^-12; type of r2."""
    inverse = 1 / r2
    six = inverse * inverse * inverse
    twelve = six * six
    if system.switch is None:
        return (six, 6 * six * inverse), (twelve, 12 * twelve * inverse)
    r = np.sqrt(r2)
    s, slope = switching(system, r)
    g_s, g_slope = s * inverse, slope / r
    return (six * s, six * (6 * g_s - g_slope)), (twelve * s, twelve * (12 * g_s - g_slope))


def ewald(system: System, r2: Floats) -> tuple[Floats, Floats]:
    """u and g of erfc(a r) / r; type of r2. It's never switched: a makes it small at the cutoff."""
    a = system.ewald or 0.0
    r = np.sqrt(r2)
    u = (erfc(a * r.astype(np.float64)) / r).astype(r2.dtype)
    gauss = np.exp(-r2 * r2.dtype.type(a * a)) * r2.dtype.type(2 * a / math.sqrt(math.pi))
    return u, (u + gauss) / r2


def erfc(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The complementary error function, that of the standard library on an array."""
    return np.asarray(np.frompyfunc(math.erfc, 1, 1)(x), dtype=np.float64)


def pair(system: System, r2: Floats, kinds_i: NDArray[np.uint8], kinds_j: NDArray[np.uint8]) -> tuple[Floats, Floats]:
    """u and g of pairs with these kinds (n,), in the type of r2 throughout."""
    kind = r2.dtype
    repel = (4 * system.epsilon() * system.sigma() ** 12).astype(kind)
    attract = (4 * system.epsilon() * system.sigma() ** 6).astype(kind)
    (u6, g6), (u12, g12) = powers(system, r2)
    if len(system.species) == 1:
        u, g = repel[0, 0] * u12 - attract[0, 0] * u6, repel[0, 0] * g12 - attract[0, 0] * g6
    else:
        a, b = repel[kinds_i, kinds_j], attract[kinds_i, kinds_j]
        u, g = a * u12 - b * u6, a * g12 - b * g6
    if system.ewald is not None:
        charges = system.charges().astype(kind)[kinds_i, kinds_j]
        ue, ge = ewald(system, r2)
        u, g = u + charges * ue, g + charges * ge
    return u, g
