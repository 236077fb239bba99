"""Tables: their error, their ends, their numbers of bits; and what the mapping refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from md_oracles import LIQUID, MIXTURE, SALT

from workloads.md import cases, fixed, potential
from workloads.md.system import Species, System
from workloads.md.tables import Format, check_mapping, format_of, tables


def errors(system: System, form: Format, term: int) -> tuple[np.ndarray, np.ndarray]:
    """Relative errors of a term, less two units, at distances from closest on; and r^2 in edges^2."""
    table = tables(system, form)
    r2 = np.linspace(table.close2, 0.8 * table.cutoff2, 20_000).astype(np.int64)
    address, place = fixed.lookup(form, r2)
    found = table.base[term, address] + (table.slope[term, address] * place >> form.delta)
    scale = r2 / 4.0**form.position
    edge = system.cell_edges[0]
    power = potential.power(system, scale * edge**2, 12 if term == 0 else 6)[1]
    factor = (4.0, -4.0)[term] * system.step**2 * 2.0 ** (form.position + form.velocity_fraction)
    exact = factor * power
    # Units that roundings may take: half a unit in each of two entries, and what the shift drops.
    beyond = np.maximum(np.abs(found - exact) - 2, 0) * np.sign(found - exact)
    return beyond / exact, scale


@pytest.mark.parametrize("term", [0, 1])
def test_interpolation_error(term: int) -> None:
    """A line over a bin of relative width 1/256 errs by h^2 f''/8 at most, and not at all in the mean."""
    plain = replace(LIQUID, switch=None)
    error, r2 = errors(plain, format_of(plain), term)
    n = (7, 4)[term]
    bound = n * (n + 1) / 8 / 256**2
    assert np.abs(error).max() < 0.7 * bound  # the lowered line: two thirds of it
    assert np.abs(error).max() > 0.2 * bound
    whole = error[(r2 > 0.25) & (r2 < 0.5)]
    assert abs(whole.mean()) < 0.03 * bound


def test_more_bins_err_less_by_their_square() -> None:
    plain = replace(LIQUID, switch=None)
    worst = [np.abs(errors(plain, replace(format_of(plain), bins=b), 0)[0]).max() for b in (6, 7, 8)]
    assert worst[0] / worst[1] == pytest.approx(4, rel=0.1)
    assert worst[1] / worst[2] == pytest.approx(4, rel=0.1)


def test_the_table_is_flat_below_closest() -> None:
    table = tables(LIQUID, format_of(LIQUID))
    address, _ = fixed.lookup(table.format, np.array([table.close2 // 2, 1 << (48 - table.format.segments), 5, 0]))
    # Below the last segment: its first entry.
    assert address[2:].tolist() == [(table.format.segments - 1) << 8] * 2
    assert (table.slope[:, address] == 0).all()
    assert np.unique(table.base[0, address]).size == 1
    top = potential.power(LIQUID, np.array([0.75**2]), 12)[1][0] * 4 * 0.004**2 * 2.0**34
    assert top < table.base[0].max() < top * (1 + 7 / 256)  # flat from the knot at or below it


def test_slopes_lead_to_the_next_bin() -> None:
    table = tables(SALT, format_of(SALT))
    n = 1 << table.format.bins
    for base, slope in zip(table.base, table.slope, strict=True):
        for s in range(table.format.segments):
            own = slice(s * n, (s + 1) * n)
            assert (base[own][:-1] + slope[own][:-1] == base[own][1:]).all()
            if s:  # the last bin of a segment leads to the first of the one above
                assert base[own][-1] + slope[own][-1] == base[(s - 1) * n]


def test_bits() -> None:
    table = tables(LIQUID, format_of(LIQUID))
    for bits, values in ((table.value_bits, table.base), (table.slope_bits, table.slope)):
        assert -(1 << (bits - 1)) <= values.min()
        assert values.max() < 1 << (bits - 1)
        assert values.max() >= 1 << (bits - 2) or values.min() < -(1 << (bits - 2))
    assert table.cutoff2 == int((1.9 / (5.7 / 3)) ** 2 * 2**48)
    assert table.coefficients is None
    assert table.ratios is None


def test_coefficients_and_ratios() -> None:
    table = tables(SALT, format_of(SALT))
    assert table.coefficients is not None
    assert table.ratios is not None
    top = (1 << 17) - 1
    assert table.ratios.tolist() == [1 << 17, 1 << 16]
    assert np.abs(table.coefficients).max(axis=(1, 2)).tolist() == [top] * 3
    # Like charges repel, unlike attract.
    assert table.coefficients[2].tolist() == [[top, -top], [-top, top]]
    wanted = np.sqrt(0.5 * 0.6) * 2.1**12 / (0.6 * 2.2**12)
    assert table.coefficients[0, 0, 1] == pytest.approx(wanted * top, abs=1)
    assert (table.coefficients[1] < 0).all()
    mixed = tables(MIXTURE, format_of(MIXTURE))
    assert mixed.ratios is None
    assert mixed.coefficients is not None


@pytest.mark.parametrize("case", [c for c in cases.SYSTEMS if c != "nist"])
def test_every_case_fits_the_engine(case: str) -> None:
    """K, the sum of the terms, has 35 bits at most: two multipliers of 18 bits wide."""
    table = tables(cases.system(case), format_of(cases.system(case)))
    terms = len(table.base)
    assert table.value_bits + (terms - 1).bit_length() <= 35
    assert table.slope_bits <= 35
    assert table.format.segments <= 6


def test_the_mapping_is_checked() -> None:
    with pytest.raises(ValueError, match="nist: 2 cells a side, but the mapping needs at least 3"):
        format_of(cases.system("nist"))
    with pytest.raises(ValueError, match="liquid: 3 cells a side, but the mapping needs at least 4"):
        check_mapping(LIQUID, 4)
    with pytest.raises(ValueError, match=r"liquid: cells of 1\.9 x 1\.9 x 2\.3, but only cubes are mapped"):
        tables(replace(LIQUID, box=(5.7, 5.7, 6.9)), Format())
    with pytest.raises(ValueError, match=r"liquid: 1 segments end at r = 1\.34.*, but particles come within 0\.75"):
        tables(LIQUID, Format(segments=1))
    with pytest.raises(ValueError, match="liquid: 50 bits of table address, but r\\^2 has 48"):
        tables(LIQUID, Format(segments=22, delta=20))
    with pytest.raises(ValueError, match=r"liquid: table values of up to 2\^39\.5, must be below 2\^36: take fewer"):
        tables(LIQUID, Format(velocity_fraction=20))
    heavy = replace(SALT, species=(Species(40.0, charge=0.1), Species(16.0, charge=-0.1)))
    with pytest.raises(ValueError, match=r"salt: kind 0 is 2\.5 times as heavy as another, at most 2"):
        tables(heavy, format_of(heavy))


def test_systems_are_checked() -> None:
    with pytest.raises(ValueError, match=r"liquid: a cell edge of 1\.425, but the cutoff is 1\.9"):
        replace(LIQUID, cells=(4, 4, 4))
    with pytest.raises(ValueError, match=r"liquid: a cutoff of 3, but half the shortest side of the box is 2\.85"):
        replace(LIQUID, cutoff=3.0)
    with pytest.raises(ValueError, match=r"liquid: switching from 2, but the cutoff is 1\.9"):
        replace(LIQUID, switch=2.0)
    with pytest.raises(ValueError, match="liquid: 1 species with counts"):
        replace(LIQUID, counts=(1, 2))
    with pytest.raises(ValueError, match="salt: charges need an Ewald coefficient"):
        replace(SALT, ewald=None)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"step": np.nan}, "liquid: step is nan, but must be finite and above 0"),
        ({"cutoff": -1.0}, r"liquid: cutoff is -1\.0, but must be finite and above 0"),
        ({"closest": 0.0}, r"liquid: closest is 0\.0, but"),
        ({"temperature": np.inf}, "liquid: temperature is inf, but"),
        ({"switch": 0.0}, r"liquid: switch is 0\.0, but must be finite and above 0"),
        ({"switch": np.nan}, "liquid: switch is nan, but"),
        ({"ewald": np.nan}, "liquid: ewald is nan, but must be finite and at least 0"),
        ({"ewald": -0.5}, r"liquid: ewald is -0\.5, but must be finite and at least 0"),
        ({"box": (5.7, 0.0, 5.7)}, r"liquid: side y of the box is 0\.0, but must be finite and above 0"),
        ({"box": (5.7, 5.7)}, r"liquid: a box of \(5\.7, 5\.7\) with cells \(3, 3, 3\), but each has three sides"),
        ({"cells": (0, 4, 4)}, r"liquid: cells \(0, 4, 4\), but each side takes a whole number from 1 on"),
        ({"cells": (2.5, 3, 3)}, r"liquid: cells \(2\.5, 3, 3\), but each side takes a whole number"),
        ({"counts": (2.5,)}, r"liquid: 1 species with counts \(2\.5,\)"),
        ({"species": (Species(mass=0.0),)}, r"liquid: mass of species 0 is 0\.0, but must be finite and above 0"),
        ({"species": (Species(sigma=np.nan),)}, "liquid: sigma of species 0 is nan, but must be finite and at least 0"),
        ({"species": (Species(epsilon=-1.0),)}, r"liquid: epsilon of species 0 is -1\.0, but"),
        (
            {"species": (Species(charge=np.nan),), "ewald": 1.0},
            "liquid: charge of species 0 is nan, but must be finite",
        ),
    ],
)
def test_numbers_of_systems_are_checked(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(LIQUID, **changed)
