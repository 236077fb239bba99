"""What a device API must offer, and how one is found by name.

One file per API in this folder (`opencl.py`, `cuda.py`, `null.py`) with `devices()` and `open_index(index)`; adding an
API touches nothing else.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

#: An enqueued unit of work with its arguments already set: calling it launches it and does not wait.
Launch = Callable[[], None]


class DeviceError(ValueError):
    """A device that is not there, or that refused; the message says what to do."""


@dataclass(frozen=True)
class Info:
    """What a device is: `slug` names it in records, `api` is the file that drives it, `tools` are versions.

    `units` are compute units, `cache` the last-level cache in bytes (0 unknown), `warp` the SIMT width or 1,
    `tensor` whether 16-bit `mma.sync` instructions exist, `local_bytes` the shared memory a group may take.
    """

    slug: str
    name: str
    api: str
    units: int
    cache: int
    warp: int
    tensor: bool
    local_bytes: int
    tools: Mapping[str, str]
    nvml_index: int | None = None


class Device(Protocol):
    """A device in nine verbs. Buffers and programs are opaque; arrays are numpy, C-ordered."""

    info: Info
    modes: tuple[str, ...]  # launch modes: "queue", and "graph" where there are graphs

    def compile(self, source: str, options: Sequence[str]) -> Any:
        """Build a program. Errors: DeviceError with the build log."""
        ...

    def allocate(self, nbytes: int) -> Any:
        """Return a buffer of `nbytes`."""
        ...

    def upload(self, buffer: Any, array: NDArray[Any]) -> None:
        """Copy an array to the device; complete when it returns."""
        ...

    def download(self, buffer: Any, array: NDArray[Any]) -> None:
        """Copy a buffer into an array; complete when it returns."""
        ...

    def bind(self, program: Any, entry: str, args: Sequence[Any], groups: int, local: int, shared: int) -> Launch:
        """Return the launch of `entry` with its arguments set; `shared` is dynamic shared memory in bytes."""
        ...

    def capture(self, launch: Launch) -> Launch:
        """Return the launch as a graph, where `modes` has `graph`. Errors: DeviceError."""
        ...

    def finish(self) -> None:
        """Wait until all that was launched is complete."""
        ...

    def kernel_times(self, launches: Sequence[Launch], count: int) -> NDArray[np.int64]:
        """Return the device times, ns, of `count` launches taken in turn."""
        ...

    def close(self) -> None:
        """Wait, and free what is not freed with the object."""
        ...


def apis() -> dict[str, Any]:
    """Return the API modules of this folder by name; a module is one when it has `open_index`."""
    found = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        loaded = importlib.import_module(f"gpu.runtime.{module.name}")
        if hasattr(loaded, "open_index"):
            found[module.name] = loaded
    return found


def list_devices() -> dict[str, str]:
    """Return every device that can be opened here: name such as `opencl:0` to its description."""
    names: dict[str, str] = {}
    for api, module in apis().items():
        for index, text in enumerate(module.devices()):
            names[f"{api}:{index}"] = text
    return names


def open_device(name: str) -> Device:
    """Open `api` (its best device, GPU before CPU) or `api:index`. Errors: DeviceError that lists the valid names."""
    match = re.fullmatch(r"([a-z0-9_]+)(?::(\d+))?", name)
    modules = apis()
    if match and match[1] in modules:
        module = modules[match[1]]
        count = len(module.devices())
        index = int(match[2]) if match[2] else 0
        if index < count:
            device: Device = module.open_index(index)
            return device
        if not count:
            raise DeviceError(f"device {name!r}: {module.missing()}; valid: {_valid()}")
    raise DeviceError(f"unknown device {name!r}; valid: {_valid()}")


def slug(vendor: str, name: str) -> str:
    """Return the name a device has in records, such as `nvidia-h200` or `cpu-amd-epyc`: lower case, hyphens."""
    words = re.sub(r"\((r|tm|c)\)|@.*|\bgeforce\b|\b(cpu|processor)\b|\b\d+-core\b|^pthread-", " ", name.lower())
    return "-".join(p for p in (vendor, re.sub(r"[^a-z0-9]+", "-", words.replace(vendor, "")).strip("-")) if p)


def _valid() -> str:
    return ", ".join(f"{key} ({text})" for key, text in list_devices().items())
