"""Foldings: what is legal, and that the solver finds the best there is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from track_networks import table_network

from designs.flow.folding import Fold, FoldingError, divisors
from designs.track import folded, folding
from designs.track.folding import Folding
from designs.track.integers import Dense, layers_of

LAYERS = layers_of(table_network(np.random.default_rng(1), (3, 12, 8, 4)))


def every_folding(layers: tuple[Dense, ...]) -> list[Folding]:
    choices = [[(s, p) for s in divisors(la.n_in) for p in divisors(la.n_out)] for la in layers]
    names = [layer.name for layer in layers]
    return [folding.of(layers, dict(zip(names, folds, strict=True))) for folds in itertools.product(*choices)]


def test_cycles_and_multipliers_by_hand() -> None:
    found = folding.of(LAYERS, {"layer1": (3, 2), "layer2": (4, 4), "layer3": (1, 1)})
    assert found.cycles == (6, 6, 32)
    assert (found.interval, found.multipliers) == (32, 23)
    assert str(found) == "layer1 3x2, layer2 4x4, layer3 1x1"


def test_the_solver_is_exhaustive_search() -> None:
    everything = every_folding(LAYERS)
    for interval in (1, 5, 12, 13, 40, 96, 1000):
        best = min(f.multipliers for f in everything if f.interval <= interval)
        found = folding.for_interval(LAYERS, interval)
        assert found.interval <= interval
        assert found.multipliers == best
    for multipliers in (3, 4, 7, 20, 64, 164):
        best = min(f.interval for f in everything if f.multipliers <= multipliers)
        found = folding.for_multipliers(LAYERS, multipliers)
        assert found.multipliers <= multipliers
        assert found.interval == best


def test_reuse_factors_are_those_of_hls4ml() -> None:
    assert folding.for_reuse(LAYERS, 1).multipliers == 3 * 12 + 12 * 8 + 8 * 4
    assert folding.for_reuse(LAYERS, 4).cycles == (4, 4, 4)
    assert folding.for_reuse(LAYERS, {"layer1": 36, "layer2": 8, "layer3": 4}).cycles == (36, 8, 4)
    # A layer with fewer products than the factor has one multiplier.
    assert folding.for_reuse(LAYERS, 96).folds[0] == Fold(1, 1)


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ({"layer2": (5, 2)}, "layer2: simd 5 does not divide 12 synapses; nearest legal: 4 and 6"),
        ({"layer2": (4, 3)}, "layer2: pe 3 does not divide 8 neurons; nearest legal: 2 and 4"),
        ({"layer1": (4, 1)}, "layer1: simd 4 does not divide 3 synapses; nearest legal: 3"),
        ({"layer3": (0, 1)}, "layer3: simd 0 does not divide 8 synapses; nearest legal: 1"),
        ({"layer3": (-2, 1)}, "layer3: simd -2 does not divide 8 synapses; nearest legal: 1"),
        ({"layer4": (1, 1)}, "no layer 'layer4' to fold; layers: layer1, layer2, layer3"),
    ],
)
def test_an_illegal_folding_is_refused(folds: dict[str, tuple[int, int]], message: str) -> None:
    legal = {"layer1": (1, 1), "layer2": (1, 1), "layer3": (1, 1)}
    with pytest.raises(FoldingError, match=message):
        folding.of(LAYERS, legal | folds)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(FoldingError, match="layer3: no fold given"):
        folding.of(LAYERS, {"layer1": (1, 1), "layer2": (1, 1)})
    with pytest.raises(FoldingError, match="2 multipliers are too few for 3 layers"):
        folding.for_multipliers(LAYERS, 2)
    with pytest.raises(FoldingError, match="an interval of 0 cycles"):
        folding.for_interval(LAYERS, 0)
    with pytest.raises(FoldingError, match=r"layer1: a reuse factor of 5 does not divide .* nearest legal: 4 and 6"):
        folding.for_reuse(LAYERS, 5)
    with pytest.raises(FoldingError, match="layer2: no reuse factor given"):
        folding.for_reuse(LAYERS, {"layer1": 1})
    with pytest.raises(FoldingError, match="1 folds for 3 layers"):
        Folding(("a", "b", "c"), ((1, 1), (1, 1), (1, 1)), (Fold(1, 1),))


@pytest.mark.parametrize(("case", "interval"), [("embed", 336), ("compact", 64), ("exatrkx", 512)])
def test_default_foldings_fit_the_multipliers_of_their_part(case: str, interval: int) -> None:
    found = folded.default_folding(case)
    assert found.interval == interval
    assert found.multipliers <= folded.SIZED_FOR[case][1]
