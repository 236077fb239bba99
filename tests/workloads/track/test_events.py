"""The event generator: reproducible, of the stated size, and physically what it says."""

from __future__ import annotations

import numpy as np

from workloads.track import events


def test_the_same_seed_gives_the_same_event() -> None:
    a, b, c = events.generate(7), events.generate(7), events.generate(8)
    assert np.array_equal(a.position, b.position)
    assert np.array_equal(a.particle, b.particle)
    assert a.position.shape != c.position.shape or not np.array_equal(a.position, c.position)


def test_an_event_has_a_few_thousand_hits_on_52_planes() -> None:
    sizes, planes = [], set()
    for seed in range(30):
        event = events.generate(seed)
        sizes.append(len(event.plane))
        planes |= set(event.plane.tolist())
        radius = np.hypot(event.position[:, 0], event.position[:, 1])
        slack = events.PIXEL_MM
        assert radius.min() > events.R_MIN_MM - slack
        assert radius.max() < events.R_MAX_MM + slack
        assert np.array_equal(event.position[:, 2], events.plane_z()[event.plane])
    assert planes == set(range(52))
    assert 1500 < np.mean(sizes) < 4000


def test_fast_particles_go_straight_and_slow_ones_scatter(monkeypatch: object) -> None:
    def residual(event: events.Event) -> float:
        """Median distance, mm, of a middle hit from the line through its neighbours on the same particle."""
        found = []
        for particle in np.unique(event.particle[event.particle >= 0]):
            hits = event.position[event.particle == particle]
            if len(hits) >= 3:
                a, b, c = hits[:3]
                share = (b[2] - a[2]) / (c[2] - a[2])
                found.append(np.hypot(*(b - a - share * (c - a))[:2]))
        return float(np.median(found))

    monkeypatch.setattr(events, "PT_MIN_GEV", 1000.0)  # type: ignore[attr-defined]
    straight = residual(events.generate(3))
    monkeypatch.setattr(events, "PT_MIN_GEV", 0.05)  # type: ignore[attr-defined]
    monkeypatch.setattr(events, "PT_MEAN_GEV", 0.05)  # type: ignore[attr-defined]
    slow = residual(events.generate(3))
    assert straight < events.PIXEL_MM, "only the pixel is left"
    assert slow > 1.4 * straight


def test_scattering_is_highlands_formula() -> None:
    # 1 GeV/c through 1 % of a radiation length at right angles, worked out by hand: 13.6e-3 * 0.1 * (1 - 0.17500).
    angle = events.scattering_angle(np.array([1.0]), np.array([1.0]))
    assert np.isclose(angle[0], 1.1220e-3, rtol=1e-4)


def test_true_pairs_are_pairs_of_one_particle() -> None:
    event = events.generate(5)
    pairs = events.candidate_pairs(event)
    truth = events.is_true(event, pairs)
    a, b = pairs.T
    assert (event.plane[b] > event.plane[a]).all()
    assert (event.plane[b] // 2 - event.plane[a] // 2 <= 1).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert (event.particle[a[truth]] == event.particle[b[truth]]).all()
    assert (event.particle[a[truth]] >= 0).all()
    # Against a count that never builds a pair list.
    expected = 0
    for particle in np.unique(event.particle[event.particle >= 0]):
        plane = event.plane[event.particle == particle]
        if len(plane) >= events.MIN_HITS:
            expected += sum(1 for i in plane for j in plane if j > i and j // 2 - i // 2 <= 1)
    assert truth.sum() == expected


def test_features_fill_the_unit_box() -> None:
    x = np.concatenate([events.features(events.generate(s)) for s in range(10)])
    assert x.dtype == np.float32
    assert x.min() >= -1
    assert x.max() < 1
    assert (x.max(0) - x.min(0) > 0.8).all()
