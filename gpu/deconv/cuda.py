"""`deconv` in CUDA, compiled by NVRTC for Hopper: implicit matrix products on its tensor cores, fp16 and fixed8."""

from __future__ import annotations

from collections.abc import Iterator

from gpu.deconv import prove
from gpu.deconv.mma_numbers import ARITHMETICS as ARITHMETICS
from gpu.deconv.prove import LARGEST as LARGEST
from workloads.api import Check, Progress
from workloads.deconv.cases import LAYERS

NAME = "gpu/deconv/cuda"
API = "cuda"
CASES: tuple[str, ...] = tuple(LAYERS)
TIER = "product"


def verify(
    case: str, *, samples: int, seed: int, progress: Progress | None = None, device: str | None = None
) -> Iterator[Check]:
    """Prove the kernels of `case` on `device` (default: the first CUDA device) against the oracle."""
    return prove.verify(NAME, API, case, samples=samples, seed=seed, progress=progress, device=device)
