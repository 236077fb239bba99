"""`md` in CUDA: neighbour lists in bricks, all steps of a launch by one kernel."""

from __future__ import annotations

from collections.abc import Iterator

from gpu.md import prove
from gpu.md.prove import LARGEST as LARGEST
from workloads.api import Check, Progress
from workloads.md.cases import SYSTEMS

NAME = "gpu/md/cuda"
API = "cuda"
CASES: tuple[str, ...] = tuple(SYSTEMS)
#: What a CPU does in seconds.
QUICK = ("nist", "lj864", "melt1k")
TIER = "product"
ARITHMETICS: tuple[str, ...] = ("fp32",)


def verify(
    case: str, *, samples: int, seed: int, progress: Progress | None = None, device: str | None = None
) -> Iterator[Check]:
    """Prove the kernels of `case` on `device` (default: the first CUDA device) against the oracle."""
    return prove.verify(NAME, API, case, samples=samples, seed=seed, progress=progress, device=device)
