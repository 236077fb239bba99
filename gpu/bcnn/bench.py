"""Bind the kernels of `bcnn` to a device: compile once, several buffer sets, tune layer by layer, verify.

`Bench` has the same methods as that of `track`: `kernels`, `tune`, `runner`, `compare`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.bcnn.kernels import Kernel, Network
from gpu.runtime.device import Device
from gpu.runtime.loop import DeviceRunner


class Bench:
    """Kernels of one network on one device; programs and weights are kept, so that a sweep compiles each once."""

    def __init__(self, device: Device, network: Network) -> None:
        self.device = device
        self.network = network

    def kernels(self, arithmetic: str, n: int = 1) -> Iterator[Kernel]:
        """Kernels that together hold every code that tuning may choose at batch `n`: each is to be proved."""
        raise NotImplementedError

    def tune(self, arithmetic: str, inputs: NDArray[np.int8], sets: int = 1) -> tuple[Kernel, dict[Any, int]]:
        """Return the fastest kernel for this batch, chosen layer by layer, and the median times in ns by choice."""
        raise NotImplementedError

    def runner(self, kernel: Kernel, inputs: NDArray[np.int8], sets: int = 1, mode: str = "queue") -> DeviceRunner:
        """Bind `kernel` to `sets` pairs of buffers; set i holds the images rotated by i. Outputs are poisoned.

        `runner.empty` enqueues as many empty kernels as the network has launches, in the same mode.
        """
        raise NotImplementedError

    def compare(
        self, kernel: Kernel, inputs: NDArray[np.int8], outputs: NDArray[Any]
    ) -> tuple[bool, float, float | None]:
        """Compare outputs with the oracle: passed, worst absolute difference, tolerance (None: exact)."""
        raise NotImplementedError
