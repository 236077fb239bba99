"""OpenCL through pyopencl: NVIDIA, AMD and Intel GPUs, and any CPU through PoCL."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compare.provenance import cpu_slug
from gpu.runtime.device import DeviceError, Info, Launch, slug

_CAPABILITY = 0x4000  # CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV; the minor number follows


def missing() -> str:
    """Say what to install when there is no OpenCL device."""
    return "no OpenCL device (pip install 'gatewarp[gpu]' brings PoCL; a GPU needs its vendor's driver)"


@functools.cache
def _found() -> tuple[Any, ...]:
    try:
        import pyopencl as cl
    except ImportError:
        return ()
    try:
        found = [d for platform in cl.get_platforms() for d in platform.get_devices()]
    except cl.Error:
        return ()
    # GPU before CPU: `opencl` alone means the best device.
    return tuple(sorted(found, key=lambda d: 0 if d.type & cl.device_type.GPU else 1))


def devices() -> list[str]:
    """Describe the OpenCL devices of this machine, best first."""
    return [f"{d.name.strip()}, {d.platform.name.strip()}" for d in _found()]


def open_index(index: int) -> OpenCL:
    """Open the device with this place in `devices()`."""
    return OpenCL(_found()[index])


def _nvidia(cl: Any, handle: Any) -> bool:
    return "nvidia" in handle.vendor.lower() and bool(handle.type & cl.device_type.GPU)


class OpenCL:
    """One OpenCL device with two in-order queues: a plain one for host times, a profiling one for device times."""

    modes = ("queue",)

    def __init__(self, handle: Any) -> None:
        import pyopencl as cl

        self._cl = cl
        self._context = cl.Context([handle])
        self._handle = handle
        self._plain = cl.CommandQueue(self._context)
        self._profiling = cl.CommandQueue(self._context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self._queue = self._plain
        nvidia = _nvidia(cl, handle)
        gpu = bool(handle.type & cl.device_type.GPU)
        vendor = next((v for v in ("nvidia", "amd", "intel") if v in handle.vendor.lower()), "")
        capability = handle.get_info(_CAPABILITY) if nvidia else 0
        self.info = Info(
            slug=slug(vendor, handle.name) if gpu else cpu_slug(),
            name=handle.name.strip(),
            api="opencl",
            units=int(handle.max_compute_units),
            cache=int(handle.global_mem_cache_size),
            warp=32 if nvidia else 1,
            tensor=capability >= 8,
            local_bytes=int(handle.local_mem_size),
            tools={
                "opencl": f"{handle.platform.name.strip()}, {handle.platform.version.strip()}",
                "driver": handle.driver_version.strip(),
                "pyopencl": cl.VERSION_TEXT,
                "numpy": np.__version__,
            },
            nvml_index=_nvml_index(handle) if nvidia else None,
        )

    def compile(self, source: str, options: Sequence[str]) -> Any:
        """Build OpenCL C. Errors: DeviceError with the build log."""
        try:
            return self._cl.Program(self._context, source).build(options=list(options))
        except self._cl.Error as error:
            raise DeviceError(f"{self.info.name}: the OpenCL build failed: {error}") from None

    def allocate(self, nbytes: int) -> Any:
        """Return a device buffer."""
        return self._cl.Buffer(self._context, self._cl.mem_flags.READ_WRITE, size=max(nbytes, 4))

    def upload(self, buffer: Any, array: NDArray[Any]) -> None:
        """Copy to the device; returns when done."""
        self._cl.enqueue_copy(self._queue, buffer, array, is_blocking=True)

    def download(self, buffer: Any, array: NDArray[Any]) -> None:
        """Copy from the device; returns when done."""
        self._cl.enqueue_copy(self._queue, array, buffer, is_blocking=True)

    def bind(self, program: Any, entry: str, args: Sequence[Any], groups: int, local: int, shared: int = 0) -> Launch:
        """Return a launch with its arguments set once, so that repeating it costs one enqueue. `shared` is unused."""
        kernel = self._cl.Kernel(program, entry)
        kernel.set_args(*args)
        enqueue, size, group = self._cl.enqueue_nd_range_kernel, (groups * local,), (local,)

        def launch() -> Any:
            return enqueue(self._queue, kernel, size, group)

        return launch

    def capture(self, launch: Launch) -> Launch:
        """OpenCL has no graphs here. Errors: DeviceError."""
        raise DeviceError("opencl has no graph mode; valid modes: queue")

    def finish(self) -> None:
        """Wait until all that was launched is complete."""
        self._queue.finish()

    def kernel_times(self, launches: Sequence[Any], count: int) -> NDArray[np.int64]:
        """Return the device times, ns, of `count` launches taken in turn: start to end by the device's own clock."""
        events = self._profiled(launches, count)
        return np.array([e.profile.end - e.profile.start for e in events], np.int64)

    def _profiled(self, launches: Sequence[Any], count: int) -> list[Any]:
        self._plain.finish()
        self._queue = self._profiling
        try:
            turn = len(launches)
            events = [launches[i % turn]() for i in range(count)]
            self._queue.finish()
        finally:
            self._queue = self._plain
        return events

    def close(self) -> None:
        """Wait for the queues; the objects are freed with this one."""
        self._plain.finish()
        self._profiling.finish()


def _nvml_index(handle: Any) -> int | None:
    """Index of the same GPU in NVML, by its place among NVIDIA's OpenCL devices, which follows the PCI order."""
    same = [d for d in handle.platform.get_devices() if d.type == handle.type]
    return same.index(handle) if handle in same else None
