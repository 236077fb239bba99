"""Quality of an embedding: efficiency and purity of the edges within a radius."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workloads.track.events import Event, candidate_pairs, features, is_true

Embedding = Callable[[NDArray[np.float32]], NDArray[np.floating]]


@dataclass(frozen=True)
class Quality:
    """`efficiency` = true edges found / true edges; `purity` = true edges found / edges found; `events`, `edges` seen.

    A candidate edge joins hits on different planes of the same or neighbouring stations, and is found when the
    Euclidean distance of its hits in the embedding is below the radius. It is true when one particle made both hits.
    """

    efficiency: float
    purity: float
    events: int
    edges: int


def pair_distances(embedding: NDArray[np.floating], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Euclidean distance of each pair (m, 2) in the embedding (n, d), shape (m,)."""
    points = np.asarray(embedding, np.float64)
    distance: NDArray[np.float64] = np.sqrt(((points[pairs[:, 0]] - points[pairs[:, 1]]) ** 2).sum(1))
    return distance


def edge_quality(embed: Embedding, events: Iterable[Event], radius: float) -> Quality:
    """Efficiency and purity of `embed` over `events` at `radius`, in embedding units."""
    found = correct = true = n = 0
    for event in events:
        pairs = candidate_pairs(event)
        truth = is_true(event, pairs)
        close = pair_distances(embed(features(event)), pairs) < radius
        found += int(close.sum())
        correct += int((close & truth).sum())
        true += int(truth.sum())
        n += 1
    if not true or not found:
        raise ValueError(f"no {'true' if not true else 'found'} edges in {n} events at radius {radius}")
    return Quality(correct / true, correct / found, n, true)


def radius_for_efficiency(embed: Embedding, events: Iterable[Event], efficiency: float) -> float:
    """The smallest radius at which `efficiency` of the true edges are found."""
    distances = []
    for event in events:
        pairs = candidate_pairs(event)
        pairs = pairs[is_true(event, pairs)]
        distances.append(pair_distances(embed(features(event)), pairs))
    return float(np.quantile(np.concatenate(distances), efficiency))
