"""The functions of a pair against numerical derivatives, scipy and their limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from md_oracles import LIQUID, MIXTURE, SALT
from scipy import special

from workloads.md import potential
from workloads.md.system import System


@pytest.mark.parametrize("system", [LIQUID, SALT, MIXTURE], ids=["liquid", "salt", "mixture"])
def test_g_is_the_derivative_of_u(system: System) -> None:
    r = np.linspace(0.8 * system.species[0].sigma, 0.999 * system.cutoff, 200)
    i, j = np.zeros(200, np.uint8), np.full(200, len(system.species) - 1, np.uint8)
    h = 1e-6
    g = potential.pair(system, r**2, i, j)[1]
    up, down = (potential.pair(system, (r + s) ** 2, i, j)[0] for s in (h, -h))
    assert np.allclose(g, -(up - down) / (2 * h) / r, rtol=1e-6, atol=1e-7 * np.abs(g).max())


def test_the_switch_goes_from_one_to_nothing_smoothly() -> None:
    r = np.array([1.0, 1.5, 1.7, 1.9 - 1e-9, 1.9, 2.5])
    s, slope = potential.switching(LIQUID, r)
    assert s[:2].tolist() == [1, 1]
    assert slope[:2].tolist() == [0, 0]
    assert s[2] == pytest.approx(0.5)  # half way, by symmetry
    assert np.abs(s[3:]).max() < 1e-15
    assert np.abs(slope[3:]).max() < 1e-7
    bend = np.diff(potential.switching(LIQUID, np.array([1.5, 1.5 + 1e-6, 1.9 - 1e-6, 1.9]))[1]) / 1e-6
    assert abs(bend[0]) < 1e-2  # the second derivative is 0 at both ends
    assert abs(bend[2]) < 1e-2


def test_erfc_is_that_of_scipy() -> None:
    x = np.linspace(0, 6, 500)
    assert np.allclose(potential.erfc(x), special.erfc(x), rtol=1e-14)


def test_ewald_without_screening_is_coulomb() -> None:
    bare = replace(SALT, ewald=1e-9)
    u, g = potential.ewald(bare, np.array([4.0]))
    assert u[0] == pytest.approx(0.5, rel=1e-8)
    assert g[0] == pytest.approx(1 / 8, rel=1e-8)


def test_float32_stays_float32() -> None:
    r2 = np.array([1.2, 5.0], np.float32)
    kinds = np.array([0, 1], np.uint8)
    for found in potential.pair(SALT, r2, kinds, kinds):
        assert found.dtype == np.float32
