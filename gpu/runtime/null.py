"""A device that does nothing: launches return at once and buffers read as zeros or as what was uploaded.

It measures what the measuring itself costs, and lets every test of the loop run without hardware.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.runtime.device import DeviceError, Info, Launch


def missing() -> str:
    """Never needed: the null device is always there."""
    return "the null device is always there"


def devices() -> list[str]:
    """Describe the one null device."""
    return ["does nothing, measures the harness"]


def open_index(index: int) -> Null:
    """Open the null device."""
    return Null()


class Null:
    """Counts launches; `clock` gives the time, ns, that the n-th launch pretends to take."""

    modes = ("queue",)

    def __init__(self, clock: Callable[[int], int] = lambda n: 1000) -> None:
        self.info = Info("null", "null", "null", 1, 0, 1, False, 1 << 16, {"numpy": np.__version__})
        self.launched = 0
        self.log: list[Any] = []
        self._clock = clock

    def compile(self, source: str, options: Sequence[str]) -> Any:
        """Return the source."""
        return source

    def allocate(self, nbytes: int) -> Any:
        """Return zeroed bytes."""
        return np.zeros(nbytes, np.uint8)

    def upload(self, buffer: Any, array: NDArray[Any]) -> None:
        """Copy into the buffer."""
        buffer[: array.nbytes] = np.ascontiguousarray(array).view(np.uint8).reshape(-1)

    def download(self, buffer: Any, array: NDArray[Any]) -> None:
        """Copy out of the buffer."""
        array.view(np.uint8).reshape(-1)[:] = buffer[: array.nbytes]

    def bind(self, program: Any, entry: str, args: Sequence[Any], groups: int, local: int, shared: int = 0) -> Launch:
        """Return a launch that counts itself and notes its first argument."""
        tag = id(args[0]) if args else None

        def launch() -> None:
            self.launched += 1
            self.log.append(tag)

        return launch

    def capture(self, launch: Launch) -> Launch:
        """There are no graphs. Errors: DeviceError."""
        raise DeviceError("null has no graph mode; valid modes: queue")

    def finish(self) -> None:
        """Nothing is ever outstanding."""

    def kernel_times(self, launches: Sequence[Launch], count: int) -> NDArray[np.int64]:
        """Launch in turn and return the pretended times."""
        times = []
        for i in range(count):
            launches[i % len(launches)]()
            times.append(self._clock(self.launched))
        return np.array(times, np.int64)

    def close(self) -> None:
        """Nothing to free."""
