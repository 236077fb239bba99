"""`track` in CUDA: the tensor-core kernels of `mma.cl` and `wide.cl` compiled by NVRTC.

The same text as in OpenCL, with a shorter launch, graphs, and more shared memory a group. fp32 has no CUDA kernel:
the portable one is OpenCL C.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu.track import bench
from workloads.api import Check
from workloads.track import WORKLOAD
from workloads.track.parameters import load

ARITHMETICS = ("fp16", "fixed")
NAME = "gpu/track/cuda"
API = "cuda"
CASES: tuple[str, ...] = ("embed", "compact", "exatrkx")
TIER = "product"


def verify(
    case: str, *, samples: int, seed: int, progress: bench.Progress | None = None, device: str | None = None
) -> Iterator[Check]:
    """Prove every kernel of `case` on `device` (default: the first CUDA device) against the oracle."""
    return bench.verify(
        NAME,
        API,
        case,
        load(case),
        lambda n, s: WORKLOAD.inputs(case, n, s),
        samples=samples,
        seed=seed,
        progress=progress,
        device=device,
    )
