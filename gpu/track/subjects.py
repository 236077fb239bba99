"""What of `track` is measured: our kernels of a device API, and PyTorch; see `gpu.api.Offer`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compare.record import Scalar
from gpu import IMPLEMENTATIONS
from gpu.api import Prepared, Subject
from gpu.runtime.device import Device
from gpu.track.bench import Bench
from gpu.track.kernels import SOURCES, Kernel, Network, supported
from workloads.track.parameters import load

BATCHES = tuple(4**i for i in range(11))
#: Memory does not hold the buffers of larger batches.
MAX_BATCH = 2**28
DISTINCT = 2**15
CHECKED = 16_384
BASELINES = ("gpu/track/torch",)
#: Launch modes of the baseline that are measured; it may have more.
BASELINE_MODES = ("eager", "graph")


def kernels(case: str, device: Device) -> Subject:
    """Our kernels of a case on an open device."""
    return _Kernels(case, device)


def baseline(name: str, case: str, device: Device) -> Subject:
    """PyTorch on the GPU of `device`; see `gpu.track.torch`."""
    return _Baseline(importlib.import_module(IMPLEMENTATIONS[name]), case, device)


class _Case:
    """What our kernels and the baseline have in common: the network, its oracle, each launch mode for itself."""

    chooses = False

    def __init__(self, case: str, device: Device) -> None:
        self.case, self.device, self.network = case, device, Network.of(load(case))

    def reference(self, arithmetic: str, inputs: NDArray[np.float32]) -> NDArray[Any]:
        return self.network.reference(arithmetic, inputs)

    def tolerance(self, arithmetic: str, inputs: NDArray[np.float32]) -> float:
        return self.network.tolerance(arithmetic, inputs) or 0.0

    def _parameters(self) -> str:
        own = f"workloads/track/parameters/{self.case}.json"
        return own if _exists(own) else "workloads/track/parameters.py"


class _Kernels(_Case):
    """The kernels that the device supports, tuned once for each arithmetic and batch."""

    tier = "product"
    max_sets = 256

    def __init__(self, case: str, device: Device) -> None:
        super().__init__(case, device)
        self.name = f"gpu/track/{device.info.api}"
        self.arithmetics: Sequence[str] = supported(self.network, device.info)
        self.modes: Sequence[str] = device.modes
        self._bench = Bench(device, self.network)
        self._tuned: dict[tuple[str, int], Kernel] = {}

    def item_bytes(self, arithmetic: str) -> int:
        return next(self._bench.kernels(arithmetic)).item_bytes

    def prepare(self, arithmetic: str, modes: Sequence[str], inputs: NDArray[np.float32], sets: int) -> Prepared:
        key = (arithmetic, len(inputs))
        if key not in self._tuned:
            self._tuned[key], _ = self._bench.tune(arithmetic, inputs, min(sets, 16))
        kernel, info = self._tuned[key], self.device.info
        per = kernel.choice.per
        conditions: dict[str, Scalar] = {
            "kernel": kernel.choice.variant,
            "kernel_detail": kernel.detail,
            "local_size": kernel.choice.local,
            **({"hits_per_item": per} if kernel.choice.variant == "portable" else {"hits_per_warp": 16 * per}),
            "groups": kernel.groups(len(inputs), info),
            "tuned": "fastest median device time at this batch",
            "io": f"{np.dtype(kernel.in_type).name} x {kernel.n_in} in, {np.dtype(kernel.out_type).name} x "
            f"{kernel.n_out} out",
        }
        own = (p for p in (f"gpu/track/{info.api}.py", f"gpu/runtime/{info.api}.py") if _exists(p))
        files = (*SOURCES, *kernel.files, *own, "gpu/track/bench.py", self._parameters())
        return Prepared(self._bench.runner(kernel, inputs, sets, modes[0]), conditions, files, info.tools)


class _Baseline(_Case):
    """PyTorch, in each of its launch modes."""

    max_sets = 32

    def __init__(self, module: Any, case: str, device: Device) -> None:
        super().__init__(case, device)
        self._module = module
        self.name, self.tier = module.NAME, module.TIER
        self.arithmetics: Sequence[str] = module.ARITHMETICS
        self.modes: Sequence[str] = tuple(m for m in module.MODES if m in BASELINE_MODES)

    def item_bytes(self, arithmetic: str) -> int:
        widths = self.network.floats.widths
        return (widths[0] + widths[-1]) * {"fp32": 4, "fp16": 2}[arithmetic]

    def prepare(self, arithmetic: str, modes: Sequence[str], inputs: NDArray[np.float32], sets: int) -> Prepared:
        widths = self.network.floats.widths
        return Prepared(
            self._module.TorchRunner(self.network, arithmetic, inputs, sets, modes[0]),
            {"io": f"{arithmetic} x {widths[0]} in, {arithmetic} x {widths[-1]} out"},
            (*self._module.SOURCES, self._parameters()),
            {**self._module.tools(), "driver": self.device.info.tools.get("driver", "")},
        )

    def tolerance(self, arithmetic: str, inputs: NDArray[np.float32]) -> float:
        return float(self._module.tolerance(self.network, arithmetic, inputs))


def _exists(path: str) -> bool:
    return (Path(__file__).resolve().parents[2] / path).exists()
