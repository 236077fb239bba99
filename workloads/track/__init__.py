"""`track`: embed the hits of a vertex detector so that hits of one particle lie close.

The first step of GNN-based track finding at LHCb (arXiv 2502.02304): a small MLP maps each hit (r, phi, z) to four
numbers; edges are then drawn between hits of neighbouring planes that lie within a radius.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from workloads.api import Case, Operations, UnknownNameError
from workloads.track import parameters, quantise
from workloads.track.events import Event, features, generate
from workloads.track.network import FixedNetwork, macs, uniform_format
from workloads.track.quality import Embedding, edge_quality, radius_for_efficiency

#: The format in which every implementation receives a hit: three signed 12-bit numbers with 11 fractional bits.
INPUT_FORMAT = uniform_format(3, signed=1, integer=0, fraction=11)
#: Events on which training chooses the radius.
TUNE_SEED, TUNE_EVENTS = 10_000, 50
#: Events with seeds from here on are for quality figures only; training and tuning use lower ones.
TEST_SEED, TEST_EVENTS = 20_000, 50
#: Efficiency at which the purities of two arithmetics may be set side by side.
OWN_EFFICIENCY = 0.98


class Track:
    """The workload; see `workloads.api.Workload`."""

    name = "track"
    item = "hit"
    arithmetics = ("fixed", "fp32", "fp16")
    quality_samples = TEST_EVENTS
    cases: Mapping[str, Case] = {
        "embed": Case("embed", "3-32-32-32-32-4, ReLU; widths are our choice", True),
        "compact": Case("compact", "3-16-16-4, ReLU, for small boards", True),
        "exatrkx": Case("exatrkx", "12-512x6-8, tanh, the Exa.TrkX shape; untrained", False),
    }

    def inputs(self, case: str, n: int, seed: int) -> NDArray[np.float32]:
        """Inputs (n, widths[0]), float32 in [-1, 1) on the 12-bit input grid, the same for the same seed.

        Trained cases get the hits of as many events as it takes; `exatrkx`, which has no detector of ours, gets
        uniform numbers.
        """
        width = self._widths(case)[0]
        if case not in parameters.TRAINED:
            rng = np.random.default_rng(seed)
            return (rng.integers(-2048, 2048, (n, width)) / 2048).astype(np.float32)
        parts: list[NDArray[np.float32]] = []
        for child in _children(seed):
            if sum(map(len, parts)) >= n:
                break
            parts.append(features(generate(child)))
        hits = np.concatenate(parts)[:n] if parts else np.empty((0, width), np.float32)
        grid = FixedNetwork(INPUT_FORMAT, ()).encode(hits)
        return (grid / 2048).astype(np.float32)

    def extremes(self, case: str) -> NDArray[np.float32]:
        """Inputs at and beyond the ends of the range, every combination of them for three inputs."""
        width = self._widths(case)[0]
        lsb = 1 / 2048
        values = np.array([-1.0, -1.0 + lsb, -0.5, -lsb, 0.0, lsb, 0.5, 1.0 - lsb], np.float32)
        if width == 3:
            return np.array(list(itertools.product(values, repeat=3)), np.float32)
        return np.stack([np.full(width, v) for v in values]).astype(np.float32)

    def reference(self, case: str, inputs: NDArray[np.float32], arithmetic: str) -> NDArray[np.float64]:
        """Oracle outputs (n, widths[-1]): exact in integers, and for `fp32` and `fp16` the float64 evaluation.

        Trained cases have the integers they were trained in, `fixed`; the others `fixed8`, see
        `workloads.track.quantise`.
        """
        loaded = parameters.load(case)
        if arithmetic in ("fp32", "fp16", "float"):
            return loaded.float_network(inputs)
        own = quantise.ARITHMETIC if loaded.fixed is None else "fixed"
        if arithmetic != own:
            raise UnknownNameError("arithmetic", arithmetic, (own, "fp32", "fp16"))
        return (loaded.fixed or quantise.load(case))(inputs)

    def operations(self, case: str) -> Operations:
        """Multiply-accumulates of one hit, and its bytes at 16 bits a number."""
        widths = self._widths(case)
        return Operations(macs(widths), 2 * widths[0], 2 * widths[-1])

    def quality(self, case: str, arithmetic: str) -> Mapping[str, float]:
        """Edge `efficiency` and `purity` over the test events, computed now; empty for untrained parameters.

        Both at the case's radius, which suits the float network; `purity_at_98` is the purity at the arithmetic's own
        radius, where it finds 98 % of the true edges of the tuning events. `fixed` in exact integers; `fp32` in
        binary32; `fp16` with binary16 operands and binary32 sums.
        """
        loaded = parameters.load(case)
        if loaded.radius is None:
            return {}
        embeddings: dict[str, Embedding] = {
            "fp32": lambda x: loaded.float_network.evaluate(x, np.float32, np.float32),
            "fp16": lambda x: loaded.float_network.evaluate(x, np.float16, np.float32),
        }
        if loaded.fixed is not None:
            embeddings["fixed"] = loaded.fixed
        if arithmetic not in embeddings:
            raise UnknownNameError("arithmetic", arithmetic, tuple(embeddings))
        embed = embeddings[arithmetic]
        result = edge_quality(embed, test_events(), loaded.radius)
        own = edge_quality(embed, test_events(), radius_for_efficiency(embed, tuning_events(), OWN_EFFICIENCY))
        return {"efficiency": result.efficiency, "purity": result.purity, "purity_at_98": own.purity}

    def sources(self, case: str) -> tuple[str, ...]:
        """Files that determine the oracle and the quality of a case."""
        trained = (f"workloads/track/parameters/{case}.json",) if case in parameters.TRAINED else ()
        code = ("__init__", "events", "network", "parameters", "quality", *(() if trained else ("quantise",)))
        return (*trained, *(f"workloads/track/{name}.py" for name in code))

    def _widths(self, case: str) -> tuple[int, ...]:
        if case not in self.cases:
            raise UnknownNameError("case", case, tuple(self.cases))
        return parameters.WIDTHS[case]


def _children(seed: int) -> Iterator[np.random.SeedSequence]:
    """Independent event seeds of one input seed."""
    root = np.random.SeedSequence(seed)
    while True:
        yield from root.spawn(1)


@cache
def test_events() -> tuple[Event, ...]:
    """The events behind every quality figure."""
    return tuple(generate(TEST_SEED + i) for i in range(TEST_EVENTS))


@cache
def tuning_events() -> tuple[Event, ...]:
    """The events on which a radius is chosen."""
    return tuple(generate(TUNE_SEED + i) for i in range(TUNE_EVENTS))


WORKLOAD = Track()
