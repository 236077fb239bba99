"""`deconv` in OpenCL: reverse loops in 2D and 3D on any OpenCL device, exact in fixed point."""

from __future__ import annotations

from collections.abc import Iterator

from gpu.deconv import prove
from gpu.deconv.layout import NUMBERS
from gpu.deconv.prove import LARGEST as LARGEST
from workloads.api import Check, Progress
from workloads.deconv.cases import LAYERS

NAME = "gpu/deconv/opencl"
API = "opencl"
CASES: tuple[str, ...] = tuple(LAYERS)
TIER = "product"
ARITHMETICS: tuple[str, ...] = tuple(NUMBERS)


def verify(
    case: str, *, samples: int, seed: int, progress: Progress | None = None, device: str | None = None
) -> Iterator[Check]:
    """Prove the kernels of `case` on `device` (default: the best OpenCL device) against the oracle."""
    return prove.verify(NAME, API, case, samples=samples, seed=seed, progress=progress, device=device)
