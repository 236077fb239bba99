"""Efficiency and purity by hand, and the figures that the training recorded."""

from __future__ import annotations

import numpy as np
import pytest

from workloads.track import WORKLOAD, parameters, tuning_events
from workloads.track import test_events as events_of_test
from workloads.track.events import Event
from workloads.track.quality import edge_quality, radius_for_efficiency

# Two particles of three hits on planes 0, 2, 4 and one noise hit on plane 2. True edges: 4.
EVENT = Event(
    np.column_stack([np.arange(7.0) + 6, np.zeros(7), np.zeros(7)]),
    np.array([0, 0, 2, 2, 2, 4, 4]),
    np.array([0, 1, 0, 1, -1, 0, 1]),
)


def test_counts_by_hand() -> None:
    # Particle 0 sits at 0, particle 1 at 10 with its last hit far away, the noise at 0.5.
    place = np.array([[0.0], [10.0], [0.0], [10.0], [0.5], [0.0], [99.0]])
    quality = edge_quality(lambda _: place, [EVENT], radius=1.0)
    # Found: 0-2, 2-5 and 1-3 true; 0-4 and 4-5 false.
    assert quality.efficiency == 3 / 4
    assert quality.purity == 3 / 5
    assert (quality.events, quality.edges) == (1, 4)


def test_a_hit_pair_at_the_radius_is_not_found() -> None:
    place = np.array([[0.0], [5.0], [1.0], [5.0], [50.0], [1.0], [5.0]])
    assert edge_quality(lambda _: place, [EVENT], radius=1.0).efficiency == 3 / 4


def test_nothing_found_is_an_error() -> None:
    with pytest.raises(ValueError, match="no found edges in 1 events at radius 0"):
        edge_quality(lambda x: np.zeros((len(x), 1)), [EVENT], radius=0.0)


@pytest.mark.parametrize("case", parameters.TRAINED)
def test_the_recorded_quality_is_reproduced(case: str) -> None:
    loaded = parameters.load(case)
    events = tuning_events()
    recorded = loaded.training["quality_on_tuning_events"]
    for name, network in (("float", loaded.float_network), ("fixed", loaded.fixed)):
        quality = edge_quality(network, events, loaded.radius)
        assert round(quality.efficiency, 5) == recorded[name]["efficiency"]
        assert round(quality.purity, 5) == recorded[name]["purity"]
    assert round(radius_for_efficiency(loaded.float_network, events, 0.98), 4) == loaded.radius


def test_embed_is_worth_using() -> None:
    for arithmetic in ("fixed", "fp32", "fp16"):
        quality = WORKLOAD.quality("embed", arithmetic)
        assert quality["efficiency"] > 0.95
        assert quality["purity"] > 0.85
        assert quality["purity_at_98"] > 0.75


def test_purity_at_98_is_at_the_network_s_own_radius() -> None:
    fixed = parameters.load("embed").fixed
    assert fixed is not None
    radius = radius_for_efficiency(fixed, tuning_events(), 0.98)
    expected = edge_quality(fixed, events_of_test(), radius)
    assert WORKLOAD.quality("embed", "fixed")["purity_at_98"] == expected.purity
    assert abs(expected.efficiency - 0.98) < 0.01


def test_untrained_parameters_show_no_quality() -> None:
    assert WORKLOAD.quality("exatrkx", "fp32") == {}
    assert not WORKLOAD.cases["exatrkx"].trained
