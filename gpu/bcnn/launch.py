"""A chain of launches as one: in order on one queue, its device time from the first start to the last end.

On CUDA the launches after the first are programmatic dependent launches: the next kernel may load its weights while the
one before it ends, and waits with `griddepcontrol.wait` before it reads what that one wrote.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from gpu.runtime.cuda import _Bound

_PROGRAMMATIC_STREAM_SERIALIZATION = 6  # CUlaunchAttributeID


@dataclass(frozen=True)
class Chain:
    """Launches in order; `keep` is what they use: OpenCL does not hold the buffers that are arguments of a kernel."""

    launches: Sequence[Any]
    keep: Any = None

    def __call__(self) -> Any:
        """Enqueue them all; return an event of the whole where there are events."""
        events = [launch() for launch in self.launches]
        if events[0] is None:
            return None
        return SimpleNamespace(profile=_Span(events[0], events[-1]))


@dataclass(frozen=True)
class _Span:
    """Profile of a chain: from the first start to the last end."""

    first: Any
    last: Any

    @property
    def start(self) -> int:
        return int(self.first.profile.start)

    @property
    def end(self) -> int:
        return int(self.last.profile.end)


class _Attribute(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_int * 16))


class _Config(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


def chain(device: Any, launches: Sequence[Any], keep: Any = None) -> Chain:
    """Join bound launches; on CUDA all but the first start while the one before them ends."""
    return Chain([launches[0], *(_programmatic(device, launch) for launch in launches[1:])], keep)


def _programmatic(device: Any, launch: Any) -> Any:
    if device.info.api != "cuda":
        return launch
    # What `Cuda.bind` packed: function, grid, block, shared memory, stream, arguments.
    function, *sizes, stream, pointers, _ = launch._arguments
    attribute = _Attribute(_PROGRAMMATIC_STREAM_SERIALIZATION, b"", (1,))
    config = _Config(*(size.value for size in sizes), stream, ctypes.pointer(attribute), 1)
    call = ctypes.CDLL("libcuda.so.1").cuLaunchKernelEx
    return _Bound(call, (ctypes.byref(config), function, pointers, None), (launch, config, attribute))
