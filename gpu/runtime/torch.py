"""Time a PyTorch function on its CUDA GPU like a kernel of ours: several buffer sets, launches, events, graphs.

What PyTorch computes is the caller's: a function of tensors on the device. PyTorch is imported when it is needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.runtime.device import DeviceError, slug

#: A network as a function of its input tensors, to a tensor or to a tuple of them.
Function = Callable[..., Any]
#: A setting is tried for this long, s, and at least this often.
TRIAL_SECONDS, TRIAL_LAUNCHES = 0.1, 5


def torch_module() -> Any:
    """Return PyTorch. Errors: DeviceError naming the install command."""
    try:
        import torch
    except ImportError:
        raise DeviceError("PyTorch is not installed (pip install 'gatewarp[torch]')") from None
    return torch


def device_slug() -> str:
    """The name in records of the device that PyTorch uses: its CUDA GPU."""
    return slug("nvidia", torch_module().cuda.get_device_name(0))


def tools() -> dict[str, str]:
    """Versions of PyTorch, its CUDA and its cuDNN."""
    torch = torch_module()
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
    return {**{k: str(v) for k, v in versions.items()}, "numpy": np.__version__}


class TorchRunner:
    """A function on CUDA in as many buffer sets as `inputs` has entries: each is the tensors, in host memory, of a set.

    With `graph` each set is captured as a CUDA graph. `decode` makes the output of a set, as tensors in host memory,
    an array. Errors: whatever PyTorch raises.
    """

    def __init__(
        self,
        function: Function,
        inputs: Sequence[tuple[Any, ...]],
        decode: Callable[[tuple[Any, ...]], NDArray[Any]],
        *,
        graph: bool,
    ) -> None:
        self.torch = torch = torch_module()
        self.batch, self.sets = len(inputs[0][0]), len(inputs)
        self._host_ins = inputs
        self._ins = [tuple(x.cuda() for x in some) for some in inputs]
        self._outs: list[Any] = [None] * self.sets
        self._graphs: list[Any] = []
        self._function, self._decode = function, decode
        self._stream = torch.cuda.Stream()
        self._inference = torch.inference_mode()
        self._inference.__enter__()
        try:
            torch.cuda.set_stream(self._stream)
            for _ in range(3):  # compiles, and searches cuDNN's algorithms
                self._outs[0] = function(*self._ins[0])
            self.finish()
            if graph:
                self._capture()
            self.finish()
        except BaseException:
            self.close()
            raise

    def _capture(self) -> None:
        """One graph for each buffer set, each with memory of its own: in shared memory the intermediate values of one
        would overwrite the outputs of another that was captured later.
        """
        for i in range(self.sets):
            graph = self.torch.cuda.CUDAGraph()
            # As torch.cuda.graph does, without its collection of garbage, which takes longer than all the rest.
            graph.capture_begin()
            try:
                self._outs[i] = self._function(*self._ins[i])
            finally:
                graph.capture_end()
            self._graphs.append(graph)

    def launch(self, index: int) -> None:
        """Enqueue the function on buffer set `index`."""
        if self._graphs:
            self._graphs[index].replay()
        else:
            self._outs[index] = self._function(*self._ins[index])

    def empty(self) -> None:
        """Enqueue a kernel that ends at once, through PyTorch."""
        self.torch.cuda._sleep(0)

    def finish(self) -> None:
        """Wait for the stream."""
        self._stream.synchronize()

    def round_trip(self, index: int) -> None:
        """Copy the inputs in, run, copy the outputs out; complete when it returns."""
        for there, here in zip(self._ins[index], self._host_ins[index], strict=True):
            there.copy_(here)
        self.launch(index)
        self._tensors(index)

    def output(self, index: int) -> NDArray[Any]:
        """What buffer set `index` holds, decoded."""
        return self._decode(self._tensors(index))

    def _tensors(self, index: int) -> tuple[Any, ...]:
        outs = self._outs[index]
        return tuple(y.cpu() for y in (outs if isinstance(outs, tuple) else (outs,)))

    def kernel_times(self, count: int) -> NDArray[np.int64]:
        """Device times of `count` runs, ns, between an event before and one after each."""
        return self._times(self.launch, count)

    def empty_times(self, count: int) -> NDArray[np.int64]:
        """The same for the empty kernel."""
        return self._times(lambda index: self.empty(), count)

    def _times(self, act: Callable[[int], None], count: int) -> NDArray[np.int64]:
        event = self.torch.cuda.Event
        pairs = [(event(enable_timing=True), event(enable_timing=True)) for _ in range(count)]
        for i, (start, stop) in enumerate(pairs):
            start.record(self._stream)
            act(i % self.sets)
            stop.record(self._stream)
        self.finish()
        return np.array([round(a.elapsed_time(b) * 1e6) for a, b in pairs], np.int64)

    def close(self) -> None:
        """Leave inference mode and free the buffers."""
        self._inference.__exit__(None, None, None)
        self._ins, self._outs, self._graphs, self._host_ins = [], [], [], ()
        self.torch.cuda.empty_cache()


def trial(runner: TorchRunner, seconds: float = TRIAL_SECONDS) -> float:
    """Median time, s, from a launch until its completion is seen."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < TRIAL_LAUNCHES or time.perf_counter() < end:
        begin = time.perf_counter()
        runner.launch(0)
        runner.finish()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def first_line(error: Exception) -> str:
    """The first line of what an error says, for a record."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else ""
