"""Cell lists against all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from workloads.md import pairs

BOXES = [((6.0, 6.0, 6.0), 2.0), ((9.1, 6.3, 12.7), 2.05), ((30.0, 7.0, 7.0), 1.1), ((5.0, 9.0, 9.0), 2.4)]


def found(chunks: object) -> dict[tuple[int, int], float]:
    """Unordered pairs with their r2; fails for a pair that comes twice."""
    every: dict[tuple[int, int], float] = {}
    for chunk in chunks:  # type: ignore[attr-defined]
        for i, j, r2 in zip(chunk.i.tolist(), chunk.j.tolist(), chunk.r2.tolist(), strict=True):
            key = (min(i, j), max(i, j))
            assert key not in every, key
            every[key] = r2
    return every


@pytest.mark.parametrize(("box", "reach"), BOXES)
def test_cells_find_what_all_pairs_find(box: tuple[float, float, float], reach: float) -> None:
    rng = np.random.default_rng(5)
    at = rng.uniform(-1, 2, (300, 3)) * box  # outside the box too
    at[:20] = np.round(at[:20] / reach) * reach  # on the faces of cells
    by_cells = found(pairs.within(box, at, reach))
    every = found(pairs.all_pairs(box, at, reach))
    assert len(every) > 100
    assert by_cells.keys() == every.keys()
    assert np.allclose([by_cells[k] for k in every], list(every.values()), atol=1e-9)


def test_displacements_lead_from_i_to_j() -> None:
    box = (6.0, 7.0, 8.0)
    at = np.random.default_rng(2).uniform(0, 1, (100, 3)) * box
    for chunk in pairs.within(box, at, 2.0):
        off = (at[chunk.i] + chunk.d - at[chunk.j]) / box
        assert np.abs(off - np.round(off)).max(initial=0) < 1e-12
        assert np.allclose((chunk.d**2).sum(1), chunk.r2)


def test_small_chunks_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    box, reach = BOXES[1]
    at = np.random.default_rng(3).uniform(0, 1, (300, 3)) * box
    whole = found(pairs.within(box, at, reach))
    monkeypatch.setattr(pairs, "CHUNK", 37)
    chunks = list(pairs.within(box, at, reach))
    assert len(chunks) > 100
    assert found(chunks) == whole


@pytest.mark.parametrize(("box", "reach"), BOXES)
def test_pairs_of_some_particles(box: tuple[float, float, float], reach: float) -> None:
    at = np.random.default_rng(4).uniform(0, 1, (200, 3)) * box
    which = np.array([3, 0, 77, 199])
    got = sorted((i, j) for c in pairs.around(box, at, reach, which) for i, j in zip(c.i, c.j, strict=True))
    every = found(pairs.all_pairs(box, at, reach))
    wanted = sorted((a, b) for pair in every for a, b in (pair, pair[::-1]) if a in which)
    assert got == wanted


def test_a_reach_beyond_half_the_box_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a reach of 3\.1, but half the shortest side of the box is 3"):
        list(pairs.within((6.0, 9.0, 9.0), np.zeros((2, 3)), 3.1))
