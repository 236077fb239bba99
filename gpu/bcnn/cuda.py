"""`bcnn` in CUDA, compiled by NVRTC: binary convolutions on the tensor cores, `mma.sync.m16n8k256` of single bits."""

from __future__ import annotations

from collections.abc import Iterator

from gpu.bcnn import bench
from gpu.bcnn.bench import LARGEST as LARGEST
from gpu.bcnn.kernels import ARITHMETICS as ARITHMETICS
from workloads.api import Check, Progress
from workloads.bcnn import WORKLOAD
from workloads.bcnn.parameters import load

NAME = "gpu/bcnn/cuda"
API = "cuda"
CASES: tuple[str, ...] = ("binarynet", "cnv", "digits", "digits_small")
TIER = "product"


def verify(
    case: str, *, samples: int, seed: int, progress: Progress | None = None, device: str | None = None
) -> Iterator[Check]:
    """Prove the kernels of `case` on `device` (default: the first CUDA device) against the oracle: exact equality."""
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
