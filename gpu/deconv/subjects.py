"""What of `deconv` is measured: our kernels of a device API, and PyTorch; see `gpu.api.Offer`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compare.record import Scalar
from gpu import IMPLEMENTATIONS
from gpu.api import Prepared, Subject
from gpu.deconv.bench import SOURCES, Bench, conditions
from gpu.deconv.layout import NUMBERS, Network
from gpu.deconv.tolerance import tolerance
from gpu.runtime.device import Device
from workloads.deconv import WORKLOAD

BATCHES = tuple(2**i for i in range(10))
MAX_BATCH = 512
#: Items of a case at most: its largest arrays, of all buffer sets and of PyTorch, stay in the memory of host and GPU.
#: An item of `vnet` is 33 million numbers and already fills a GPU; everything else may have MAX_BATCH.
LARGEST_BATCH = {"vnet": 64}
#: A prime, so that an item in the place of another shows; the oracle of the large cases takes seconds an item.
DISTINCT = 5
CHECKED = 64
#: Windows of equal work, for the run-to-run variation; see `gpu.variation`.
RUNS = 32
BASELINES = ("gpu/deconv/torch",)
#: Buffer sets: inputs and outputs are small beside what is computed of them, so they need not exceed the cache; the
#: large cases exceed it with two. On a CPU fewer.
MAX_SETS, CPU_SETS = 8, 2
#: In PyTorch each set has intermediate values of its own.
TORCH_SETS = 4


def kernels(case: str, device: Device) -> Subject:
    """Our kernels of a case on an open device."""
    return _Kernels(case, device)


def baseline(name: str, case: str, device: Device) -> Subject:
    """PyTorch on the GPU of `device`; see `gpu.deconv.torch`."""
    return _Baseline(importlib.import_module(IMPLEMENTATIONS[name]), case, device)


@lru_cache(maxsize=64)
def _outputs(case: str, arithmetic: str, shape: tuple[int, ...], items: bytes) -> NDArray[np.float64]:
    """The oracle is the same for every implementation and takes long: each item is computed once a process."""
    return WORKLOAD.reference(case, np.frombuffer(items, np.float32).reshape(shape), arithmetic)


class _Case:
    """What our kernels and the baseline have in common: the oracle and the tolerance."""

    def __init__(self, case: str, device: Device) -> None:
        self.case, self.device, self.network = case, device, Network(case)

    def item_bytes(self, arithmetic: str) -> int:
        operations = WORKLOAD.operations(self.case)
        return (operations.bytes_in + operations.bytes_out) // 2 * np.dtype(NUMBERS[arithmetic]).itemsize

    def reference(self, arithmetic: str, inputs: NDArray[np.float32]) -> NDArray[np.float64]:
        # The float64 evaluation serves both floating arithmetics.
        key = arithmetic if arithmetic.startswith("fixed") else "fp32"
        return np.concatenate([_outputs(self.case, key, x.shape, x.tobytes()) for x in inputs[:, None]])

    def tolerance(self, arithmetic: str, inputs: NDArray[np.float32]) -> float:
        return tolerance(self.case, arithmetic)

    def _files(self) -> tuple[str, ...]:
        own = f"workloads/deconv/parameters/{self.case}.npz"
        return (own,) if _exists(own) else ()


class _Kernels(_Case):
    """The kernels that the device supports, tuned once for each arithmetic and batch."""

    tier = "product"
    chooses = False

    def __init__(self, case: str, device: Device) -> None:
        super().__init__(case, device)
        self.max_sets = CPU_SETS if device.info.warp == 1 else MAX_SETS
        self.name = f"gpu/deconv/{device.info.api}"
        self._bench = Bench(device, self.network)
        self.arithmetics: Sequence[str] = self._bench.arithmetics
        self.modes: Sequence[str] = device.modes

    def prepare(self, arithmetic: str, modes: Sequence[str], inputs: NDArray[np.float32], sets: int) -> Prepared:
        kernel, info = self._bench.tune(arithmetic, len(inputs)), self.device.info
        told: dict[str, Scalar] = {
            **conditions(kernel, self._bench.back.VARIANT, info),
            "bare_launch": f"{kernel.launches} empty kernels, one for each of the network's, in the same mode",
        }
        own = (p for p in (f"gpu/deconv/{info.api}.py", f"gpu/runtime/{info.api}.py") if _exists(p))
        files = (*SOURCES, *self._bench.back.FILES, *own, *self._files())
        return Prepared(self._bench.runner(kernel, inputs, sets, modes[0]), told, files, info.tools)


class _Baseline(_Case):
    """PyTorch in the setting that is the fastest at the batch."""

    chooses = True
    max_sets = TORCH_SETS

    def __init__(self, module: Any, case: str, device: Device) -> None:
        super().__init__(case, device)
        self._module = module
        self.name, self.tier = module.NAME, module.TIER
        self.arithmetics: Sequence[str] = module.ARITHMETICS
        self.modes: Sequence[str] = module.MODES
        self._settings = {a: module.Settings(self.network, a) for a in self.arithmetics}

    def prepare(self, arithmetic: str, modes: Sequence[str], inputs: NDArray[np.float32], sets: int) -> Prepared:
        few = self.reference(arithmetic, inputs[:DISTINCT])
        allowed = tolerance(self.case, arithmetic)
        runner, setting, said = self._settings[arithmetic].best(inputs, few, allowed, sets, modes)
        operations, number = WORKLOAD.operations(self.case), np.dtype(NUMBERS[arithmetic]).name
        warm = said.get(self._module.WARM)
        return Prepared(
            runner,
            {
                "setting": setting,
                # What the operator itself reaches, in whatever memory order and launch, beside what users make of it.
                "conv_transpose_us": float(warm.removesuffix(" us")) if warm else None,
                "settings_tried": "; ".join(f"{name}: {what}" for name, what in said.items()),
                "tuned": "fastest median time from launch to completion at this batch",
                "bare_launch": "1 empty kernel, op by op",
                "io": f"{number} x {operations.bytes_in // 2} in, {number} x {operations.bytes_out // 2} out",
            },
            (*self._module.SOURCES, *self._files()),
            {**self._module.tools(), "driver": self.device.info.tools.get("driver", "")},
        )


def _exists(path: str) -> bool:
    return (Path(__file__).resolve().parents[2] / path).exists()
