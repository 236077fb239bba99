"""CUDA through CuPy (NVRTC, memory, events, graphs), with launches straight to the driver.

CuPy's own call of a raw kernel packs its arguments each time; a launch here has them packed once, because at small
batches the launch is what is measured.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.runtime.device import DeviceError, Info, Launch, slug


def missing() -> str:
    """Say what to install when there is no CUDA device."""
    return "no CUDA device (pip install 'gatewarp[cuda]' brings CuPy; it needs an NVIDIA GPU and driver)"


@functools.cache
def _cupy() -> Any:
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except Exception:
        return None
    return cupy


def devices() -> list[str]:
    """Describe the CUDA devices of this machine."""
    cupy = _cupy()
    if cupy is None:
        return []
    runtime = cupy.cuda.runtime
    return [_name(runtime.getDeviceProperties(i)) for i in range(runtime.getDeviceCount())]


def open_index(index: int) -> Cuda:
    """Open CUDA device `index`."""
    return Cuda(_cupy(), index)


def _name(properties: Any) -> str:
    name = properties["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


class _Bound:
    """A launch with packed arguments; calling it enqueues on the device's stream."""

    def __init__(self, call: Any, arguments: tuple[Any, ...], keep: Any) -> None:
        self._call, self._arguments, self._keep = call, arguments, keep

    def __call__(self) -> None:
        error = self._call(*self._arguments)
        if error:
            raise DeviceError(f"CUDA launch failed with driver error {error}")


class Cuda:
    """One CUDA device with one non-default stream."""

    modes = ("queue", "graph")

    def __init__(self, cupy: Any, index: int) -> None:
        self._cupy = cupy
        cupy.cuda.Device(index).use()
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._handle = ctypes.c_void_p(self._stream.ptr)
        properties = cupy.cuda.runtime.getDeviceProperties(index)
        nvrtc = ".".join(str(v) for v in cupy.cuda.nvrtc.getVersion())
        self.info = Info(
            slug=slug("nvidia", _name(properties)),
            name=_name(properties),
            api="cuda",
            units=int(properties["multiProcessorCount"]),
            cache=int(properties["l2CacheSize"]),
            warp=32,
            tensor=int(properties["major"]) >= 8,
            local_bytes=int(properties["sharedMemPerBlockOptin"]),
            tools={
                "cuda_driver_api": str(cupy.cuda.runtime.driverGetVersion()),
                "nvrtc": nvrtc,
                "cupy": str(cupy.__version__),
                "numpy": np.__version__,
            },
            nvml_index=index,
        )

    def compile(self, source: str, options: Sequence[str]) -> Any:
        """Build CUDA C++ with NVRTC for this chip. Errors: DeviceError with the build log."""
        module = self._cupy.RawModule(code=source, options=("--std=c++17", *options))
        try:
            module.compile()
        except Exception as error:
            raise DeviceError(f"{self.info.name}: the CUDA build failed: {error}") from None
        return module

    def allocate(self, nbytes: int) -> Any:
        """Return device memory."""
        return self._cupy.empty(max(nbytes, 4), self._cupy.uint8)

    def upload(self, buffer: Any, array: NDArray[Any]) -> None:
        """Copy to the device; returns when done."""
        buffer.data.copy_from_host_async(array.ctypes.data, array.nbytes, self._stream)
        self._stream.synchronize()

    def download(self, buffer: Any, array: NDArray[Any]) -> None:
        """Copy from the device; returns when done."""
        buffer.data.copy_to_host_async(array.ctypes.data, array.nbytes, self._stream)
        self._stream.synchronize()

    def bind(self, program: Any, entry: str, args: Sequence[Any], groups: int, local: int, shared: int = 0) -> Launch:
        """Return a launch with its arguments packed once. `shared` is dynamic shared memory in bytes."""
        kernel = program.get_function(entry)
        if shared > 48 * 1024:
            kernel.max_dynamic_shared_size_bytes = shared
        values = [
            ctypes.c_void_p(a.data.ptr) if isinstance(a, self._cupy.ndarray) else ctypes.c_int32(int(a)) for a in args
        ]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        sizes = [ctypes.c_uint(v) for v in (groups, 1, 1, local, 1, 1, shared)]
        function = ctypes.c_void_p(kernel.kernel.ptr)
        arguments = (function, *sizes, self._handle, pointers, None)
        return _Bound(self._driver.cuLaunchKernel, arguments, (values, args, kernel))

    def capture(self, launch: Launch) -> Launch:
        """Return the launch as a CUDA graph of one kernel."""
        with self._stream:
            self._stream.begin_capture()
            launch()
            graph = self._stream.end_capture()
        handle = getattr(graph, "graphExec", None)
        if handle is None:
            return lambda: graph.launch(self._stream)
        return _Bound(self._driver.cuGraphLaunch, (ctypes.c_void_p(int(handle)), self._handle), (graph, launch))

    def finish(self) -> None:
        """Wait until all that was launched is complete."""
        error = self._driver.cuStreamSynchronize(self._handle)
        if error:
            raise DeviceError(f"CUDA reports driver error {error}")

    def kernel_times(self, launches: Sequence[Launch], count: int) -> NDArray[np.int64]:
        """Return the device times, ns, of `count` launches in turn, between an event before and one after each."""
        cuda = self._cupy.cuda
        pairs = [(cuda.Event(), cuda.Event()) for _ in range(count)]
        for i, (start, stop) in enumerate(pairs):
            start.record(self._stream)
            launches[i % len(launches)]()
            stop.record(self._stream)
        self.finish()
        return np.array([round(cuda.get_elapsed_time(a, b) * 1e6) for a, b in pairs], np.int64)

    def close(self) -> None:
        """Wait for the stream; memory is freed with the objects."""
        self.finish()
