"""`bcnn` in OpenCL: binary convolutions by xor and popcount, on any OpenCL device.

The strongest kernel without tensor cores that we know how to write: the opponent of `gpu/bcnn/cuda`.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu.bcnn import bench
from gpu.bcnn.bench import LARGEST as LARGEST
from gpu.bcnn.kernels import ARITHMETICS as ARITHMETICS
from workloads.api import Check, Progress
from workloads.bcnn import WORKLOAD
from workloads.bcnn.parameters import load

NAME = "gpu/bcnn/opencl"
API = "opencl"
CASES: tuple[str, ...] = ("binarynet", "cnv", "digits", "digits_small")
TIER = "product"


def verify(
    case: str, *, samples: int, seed: int, progress: Progress | None = None, device: str | None = None
) -> Iterator[Check]:
    """Prove the kernels of `case` on `device` (default: the best OpenCL device) against the oracle: exact equality."""
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
