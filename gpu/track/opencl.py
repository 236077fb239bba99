"""`track` in OpenCL: one fused kernel for the whole network, on any OpenCL device.

On NVIDIA GPUs fp16 and fixed point run on the tensor cores (`mma.cl`, inline PTX), elsewhere and in fp32 the portable
kernel (`portable.cl`) runs. A device without fp16 arithmetic has no fp16 row.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu.track import bench
from gpu.track.kernels import ARITHMETICS as ARITHMETICS
from workloads.api import Check
from workloads.track import WORKLOAD
from workloads.track.parameters import load

NAME = "gpu/track/opencl"
API = "opencl"
CASES: tuple[str, ...] = ("embed", "compact", "exatrkx")
TIER = "product"


def verify(
    case: str, *, samples: int, seed: int, progress: bench.Progress | None = None, device: str | None = None
) -> Iterator[Check]:
    """Prove every kernel of `case` on `device` (default: the best OpenCL device) against the oracle."""
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
