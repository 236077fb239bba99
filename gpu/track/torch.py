"""`track` in PyTorch, the outside baseline: what a physicist gets without writing a kernel, eager and as a CUDA graph.

`torch.nn.functional.linear` and in-place activations in inference mode, weights and activations in the arithmetic's
own type. TF32 stays off (PyTorch's default), so fp32 means fp32. Tiers other than the product's are not tuned further.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.runtime.device import DeviceError, slug
from gpu.track.bench import ODD, Progress, extremes
from gpu.track.kernels import Network
from workloads.api import Check
from workloads.track import WORKLOAD
from workloads.track.network import FloatNetwork
from workloads.track.parameters import load

NAME = "gpu/track/torch"
API = "torch"
CASES: tuple[str, ...] = ("embed", "compact", "exatrkx")
TIER = "outside baseline"
ARITHMETICS = ("fp32", "fp16")
MODES = ("eager", "graph", "compile")
SOURCES = ("gpu/track/torch.py", "gpu/runtime/loop.py", "gpu/runtime/stats.py", "workloads/track/network.py")


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
    """Versions of PyTorch and its CUDA."""
    torch = torch_module()
    return {"torch": str(torch.__version__), "cuda": str(torch.version.cuda), "numpy": np.__version__}


def network_function(network: FloatNetwork, dtype: Any, device: str) -> Callable[[Any], Any]:
    """Return the network as a function of a tensor (n, n_in) of `dtype` on `device`."""
    torch = torch_module()
    layers = [
        (
            torch.tensor(layer.weight.T.copy()).to(device, dtype),
            torch.tensor(layer.bias.copy()).to(device, dtype),
            layer.activation,
        )
        for layer in network.layers
    ]
    activations = {"relu": torch.relu_, "tanh": torch.tanh_, "linear": lambda x: x}
    linear = torch.nn.functional.linear

    def run(x: Any) -> Any:
        for weight, bias, activation in layers:
            x = activations[activation](linear(x, weight, bias))
        return x

    return run


class TorchRunner:
    """A batch of hits through PyTorch on CUDA, in several buffer sets; `mode` is eager, graph or compile."""

    def __init__(self, network: Network, arithmetic: str, inputs: NDArray[np.float32], sets: int, mode: str) -> None:
        self.torch = torch = torch_module()
        dtype = {"fp32": torch.float32, "fp16": torch.float16}[arithmetic]
        self.batch, self.sets = len(inputs), sets
        host_in = torch.tensor(inputs).to(dtype)
        self._host_ins = [torch.roll(host_in, -i, 0) for i in range(sets)]
        self._ins = [x.cuda() for x in self._host_ins]
        self._outs: list[Any] = [None] * sets
        function = network_function(network.floats, dtype, "cuda")
        if mode == "compile":
            function = torch.compile(function, dynamic=False)
        self._function = function
        self._graphs: list[Any] = []
        self._stream = torch.cuda.Stream()
        self._inference = torch.inference_mode()
        self._inference.__enter__()
        torch.cuda.set_stream(self._stream)
        for i in range(3):
            self._outs[i % sets] = function(self._ins[i % sets])
        self.finish()
        if mode == "graph":
            for i in range(sets):
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, stream=self._stream):
                    self._outs[i] = function(self._ins[i])
                self._graphs.append(graph)
        self.finish()

    def launch(self, index: int) -> None:
        """Enqueue the network on buffer set `index`."""
        if self._graphs:
            self._graphs[index].replay()
        else:
            self._outs[index] = self._function(self._ins[index])

    def empty(self) -> None:
        """Enqueue a kernel that ends at once, through PyTorch."""
        self.torch.cuda._sleep(0)

    def finish(self) -> None:
        """Wait for the stream."""
        self._stream.synchronize()

    def round_trip(self, index: int) -> None:
        """Copy the inputs in, run, copy the outputs out; complete when it returns."""
        self._ins[index].copy_(self._host_ins[index])
        self.launch(index)
        self._outs[index].cpu()

    def output(self, index: int) -> NDArray[Any]:
        """Outputs of buffer set `index`."""
        array: NDArray[Any] = self._outs[index].cpu().numpy()
        return array

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
        self._ins, self._outs, self._graphs = [], [], []


def tolerance(network: Network, arithmetic: str, inputs: NDArray[np.float32]) -> float:
    """Absolute tolerance: that of our kernels, tripled in fp16, because biases and sums are rounded to fp16 as well."""
    allowed = network.tolerance(arithmetic, inputs)
    assert allowed is not None
    return allowed * (3.0 if arithmetic == "fp16" else 1.0)


def verify(
    case: str, *, samples: int, seed: int, progress: Progress | None = None, device: str | None = None
) -> Iterator[Check]:
    """Prove the baseline against the float64 oracle, on the GPU where PyTorch has one, else fp32 on the CPU."""
    torch = torch_module()
    network = Network.of(load(case))
    on_gpu = torch.cuda.is_available()
    where, name = ("cuda", device_slug()) if on_gpu else ("cpu", "cpu")
    x = np.concatenate([extremes(network, max(samples // 8, 1)), WORKLOAD.inputs(case, samples, seed)])[:samples]
    for index, arithmetic in enumerate(ARITHMETICS if on_gpu else ARITHMETICS[:1]):
        if progress is not None:
            progress(f"{NAME} {case} {arithmetic}", index, len(ARITHMETICS))
        begin = time.perf_counter()
        dtype = {"fp32": torch.float32, "fp16": torch.float16}[arithmetic]
        function = network_function(network.floats, dtype, where)
        allowed, worst = tolerance(network, arithmetic, x), 0.0
        for n in (*(odd for odd in ODD if odd < samples), samples):
            with torch.inference_mode():
                got = function(torch.tensor(x[:n]).to(where, dtype)).cpu().numpy().astype(np.float64)
            worst = max(worst, float(np.abs(got - network.floats(x[:n])).max()))
        yield Check(
            implementation=NAME,
            case=case,
            arithmetic=arithmetic,
            device=name,
            samples=samples,
            seed=seed,
            passed=worst <= allowed,
            worst=worst,
            tolerance=allowed,
            detail="eager, outside baseline",
            seconds=time.perf_counter() - begin,
        )
