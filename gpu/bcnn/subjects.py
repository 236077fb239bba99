"""What of `bcnn` is measured: our kernels of a device API, and PyTorch; see `gpu.api.Offer`."""

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
from gpu.bcnn.bench import Bench
from gpu.bcnn.kernels import SOURCES, Kernel, Network, supported
from gpu.runtime.device import Device
from workloads.bcnn.parameters import load

#: Small and large batches of arXiv 1702.06392 (16 and 512) among them.
BATCHES = (1, 4, 16, 64, 256, 512, 1024, 4096)
#: Memory does not hold the buffers of larger batches.
MAX_BATCH = 2**18
DISTINCT = 256
CHECKED = 4096
BASELINES = ("gpu/bcnn/torch",)
#: Buffer sets: an image is small beside what is computed of it, so they need not exceed the cache; on a CPU fewer.
MAX_SETS, CPU_SETS = 16, 4
#: In PyTorch each set has intermediate values of its own, gigabytes at the largest batch.
TORCH_SETS = 4


def kernels(case: str, device: Device) -> Subject:
    """Our kernels of a case on an open device."""
    return _Kernels(case, device)


def baseline(name: str, case: str, device: Device) -> Subject:
    """PyTorch on the GPU of `device`; see `gpu.bcnn.torch`."""
    return _Baseline(importlib.import_module(IMPLEMENTATIONS[name]), case, device)


@lru_cache(maxsize=32)
def _sums(case: str, shape: tuple[int, ...], images: bytes) -> NDArray[np.int32]:
    """The oracle is the same for every implementation and takes long: each image is computed once."""
    return load(case).network(np.frombuffer(images, np.int8).reshape(shape))


class _Case:
    """What our kernels and the baseline have in common: the oracle, and that nothing but equality will do."""

    def __init__(self, case: str, device: Device) -> None:
        self.case, self.device, self._parameters = case, device, load(case)

    def reference(self, arithmetic: str, inputs: NDArray[np.int8]) -> NDArray[np.int32]:
        return _sums(self.case, inputs.shape, inputs.tobytes())

    def tolerance(self, arithmetic: str, inputs: NDArray[np.int8]) -> float:
        return 0.0

    def _files(self) -> tuple[str, ...]:
        own = f"workloads/bcnn/parameters/{self.case}.npz"
        return ("workloads/bcnn/cases.py", "workloads/bcnn/parameters.py", *((own,) if _exists(own) else ()))


class _Kernels(_Case):
    """The kernels that the device supports, tuned once for each batch."""

    tier = "product"
    chooses = False

    def __init__(self, case: str, device: Device) -> None:
        super().__init__(case, device)
        self.max_sets = CPU_SETS if device.info.warp == 1 else MAX_SETS
        network = Network.of(self._parameters)
        self.name = f"gpu/bcnn/{device.info.api}"
        self.arithmetics: Sequence[str] = supported(network, device.info)
        self.modes: Sequence[str] = device.modes
        self._bench = Bench(device, network)
        self._tuned: dict[tuple[str, int], Kernel] = {}

    def item_bytes(self, arithmetic: str) -> int:
        return next(self._bench.kernels(arithmetic)).item_bytes

    def prepare(self, arithmetic: str, modes: Sequence[str], inputs: NDArray[np.int8], sets: int) -> Prepared:
        key = (arithmetic, len(inputs))
        if key not in self._tuned:
            self._tuned[key], _ = self._bench.tune(arithmetic, inputs, sets)
        kernel, info = self._tuned[key], self.device.info
        conditions: dict[str, Scalar] = {
            **kernel.conditions(len(inputs), info),
            "bare_launch": f"{len(kernel.steps)} empty kernels, one for each of the network's, in the same mode",
        }
        own = (p for p in (f"gpu/bcnn/{info.api}.py", f"gpu/runtime/{info.api}.py") if _exists(p))
        files = (*SOURCES, *kernel.files, *own, *self._files())
        return Prepared(self._bench.runner(kernel, inputs, sets, modes[0]), conditions, files, info.tools)


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
        network = self._parameters.network
        self._settings = {a: module.Settings(network, a) for a in self.arithmetics}
        self._in, self._out = int(np.prod(network.input_shape)), network.layers[-1].channels_out

    def item_bytes(self, arithmetic: str) -> int:
        number_in, number_out = {"fp16": (2, 2), "int8": (1, 4)}[arithmetic]
        return self._in * number_in + self._out * number_out

    def prepare(self, arithmetic: str, modes: Sequence[str], inputs: NDArray[np.int8], sets: int) -> Prepared:
        few = inputs[:DISTINCT]
        runner, way, mode, said = self._settings[arithmetic].best(inputs, self.reference("binary", few), sets, modes)
        types = {"fp16": ("float16", "float16"), "int8": ("int8", "int32")}[arithmetic]
        return Prepared(
            runner,
            {
                "setting": f"{way.name}, {mode}",
                "settings_tried": "; ".join(f"{name}: {what}" for name, what in said.items()),
                "tuned": "fastest median time from launch to completion at this batch",
                "reference": "binary",
                "bare_launch": "1 empty kernel, op by op",
                "io": f"{types[0]} x {self._in} in, {types[1]} x {self._out} out",
            },
            (*self._module.SOURCES, *self._files()),
            {**self._module.tools(), "driver": self.device.info.tools.get("driver", "")},
        )


def _exists(path: str) -> bool:
    return (Path(__file__).resolve().parents[2] / path).exists()
