"""`bcnn` in PyTorch, the outside baseline: the same network in fp16 (cuDNN) and in int8, exact against the oracle.

What PyTorch does best depends on the batch, so several settings (a way to write the network, and how it is launched)
are tried at each batch on the inputs to be measured; the fastest is the opponent and its record says which it was, what
the others took and which failed. Ways to write: `torch_networks.py`. Ways to launch: op by op (`eager`), captured as a
CUDA graph (`graph`), through `torch.compile` (`compile`; from the second batch of a run on for any batch), and that
captured (`compile-graph`).
cuDNN searches its algorithms (`torch.backends.cudnn.benchmark`) before anything is timed. A setting whose sums differ
from the oracle's is said with its time, but is no opponent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.bcnn import torch_networks as networks
from gpu.bcnn.torch_networks import Function, torch_module
from gpu.runtime.device import DeviceError, slug
from workloads.api import Check, Progress
from workloads.bcnn import WORKLOAD
from workloads.bcnn.cases import LAYERS
from workloads.bcnn.network import Network
from workloads.bcnn.parameters import load

NAME = "gpu/bcnn/torch"
API = "torch"
CASES: tuple[str, ...] = tuple(LAYERS)
TIER = "outside baseline"
ARITHMETICS = ("fp16", "int8")
MODES = ("eager", "graph", "compile", "compile-graph")
SOURCES = (
    "gpu/bcnn/torch.py",
    "gpu/bcnn/torch_networks.py",
    "gpu/runtime/loop.py",
    "gpu/runtime/stats.py",
    "workloads/bcnn/network.py",
    "workloads/bcnn/cases.py",
)
#: A setting is tried for this long, s, and at least this often.
TRIAL_SECONDS, TRIAL_LAUNCHES = 0.1, 5
#: Batches that `verify` proves besides the full sample.
ODD = (1, 3, 17)


@dataclass(frozen=True)
class Way:
    """A way to write the network: `function(network, device)`, `channels` of an input pixel, modes worth trying."""

    name: str
    function: Callable[[Network, str], Function]
    channels: Callable[[Network], int]
    modes: tuple[str, ...]


def _fp16(name: str, multiple: int, modes: tuple[str, ...]) -> Way:
    channels = partial(networks.input_channels, multiple=multiple)
    return Way(name, lambda n, device: networks.fp16(n, device, channels=channels(n)), channels, modes)


def _int8(name: str, cudnn: bool, modes: tuple[str, ...]) -> Way:
    return Way(name, partial(networks.int8, cudnn=cudnn), partial(networks.input_channels, multiple=1), modes)


WAYS: Mapping[str, tuple[Way, ...]] = {
    "fp16": (
        _fp16("conv2d", 1, MODES),
        _fp16("conv2d, input filled up to 8 channels", 8, ("graph", "compile-graph")),
    ),
    "int8": (
        _int8("patches and _int_mm", False, MODES),
        _int8("quantized.conv2d of cuDNN", True, ("eager", "graph")),
    ),
}


def device_slug() -> str:
    """The name in records of the device that PyTorch uses: its CUDA GPU."""
    return slug("nvidia", torch_module().cuda.get_device_name(0))


def tools() -> dict[str, str]:
    """Versions of PyTorch, its CUDA and its cuDNN."""
    torch = torch_module()
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
    return {**{k: str(v) for k, v in versions.items()}, "numpy": np.__version__}


def encode(arithmetic: str, images: NDArray[np.int8], channels: int) -> Any:
    """Images (n, rows, columns, channels) as the network's input tensor, in host memory.

    fp16: (n, `channels`, rows, columns) in memory with the channels last; int8: the images as they are.
    """
    torch = torch_module()
    host = torch.tensor(np.pad(images, ((0, 0), (0, 0), (0, 0), (0, channels - images.shape[3]))))
    return host.half().permute(0, 3, 1, 2) if arithmetic == "fp16" else host


def configure() -> None:
    """cuDNN searches its algorithms, and split sums of matrix products are not rounded in between."""
    backends = torch_module().backends
    backends.cudnn.benchmark = True
    backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


class TorchRunner:
    """A batch of images through PyTorch on CUDA, in as many buffer sets as there are input tensors in host memory."""

    def __init__(self, function: Function, inputs: Sequence[Any], mode: str) -> None:
        self.torch = torch = torch_module()
        self.batch, self.sets = len(inputs[0]), len(inputs)
        self._host_ins = inputs
        self._ins = [x.cuda() for x in inputs]
        self._outs: list[Any] = [None] * self.sets
        self._graphs: list[Any] = []
        self._function = function
        self._stream = torch.cuda.Stream()
        self._inference = torch.inference_mode()
        self._inference.__enter__()
        try:
            torch.cuda.set_stream(self._stream)
            for _ in range(3):  # compiles, and searches cuDNN's algorithms
                self._outs[0] = function(self._ins[0])
            self.finish()
            if mode in ("graph", "compile-graph"):
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
                self._outs[i] = self._function(self._ins[i])
            finally:
                graph.capture_end()
            self._graphs.append(graph)

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
        """Sums of buffer set `index`, (n, classes)."""
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
        self._ins, self._outs, self._graphs, self._host_ins = [], [], [], ()
        self.torch.cuda.empty_cache()


class WrongError(RuntimeError):
    """A setting gives other sums than the oracle."""


class Settings:
    """The ways of one arithmetic and network on the GPU, each built and compiled once a run."""

    def __init__(self, network: Network, arithmetic: str) -> None:
        self._network, self._arithmetic = network, arithmetic
        self._functions: dict[tuple[str, bool], Function] = {}

    def runner(self, way: Way, mode: str, images: NDArray[np.int8], sets: int) -> TorchRunner:
        """Bind one setting; set i holds the images rotated by i. Errors: whatever PyTorch raises."""
        channels = way.channels(self._network)
        inputs = [encode(self._arithmetic, np.roll(images, -i, axis=0), channels) for i in range(sets)]
        return TorchRunner(self._function(way, mode.startswith("compile")), inputs, mode)

    def _function(self, way: Way, compiled: bool) -> Function:
        key = way.name, compiled
        if key not in self._functions:
            function = way.function(self._network, "cuda")
            self._functions[key] = torch_module().compile(function) if compiled else function
        return self._functions[key]

    def best(
        self, images: NDArray[np.int8], sums: NDArray[np.int32], sets: int, modes: Sequence[str] = MODES
    ) -> tuple[TorchRunner, Way, str, dict[str, str]]:
        """Return the fastest right setting bound to `sets` buffer sets, and what each took, or why it failed.

        `sums` are the oracle's of the first images. The measure is the median time from a launch until its completion
        is seen. Errors: DeviceError when all failed.
        """
        configure()
        took: dict[tuple[Way, str], float] = {}
        said: dict[str, str] = {}
        for way in WAYS[self._arithmetic]:
            for mode in (m for m in way.modes if m in modes):
                try:
                    took[way, mode] = self._trial(way, mode, images, sums)
                    said[f"{way.name}, {mode}"] = f"{took[way, mode] * 1e6:.1f} us"
                except Exception as error:  # whatever a setting cannot do here is said in the record
                    said[f"{way.name}, {mode}"] = f"{type(error).__name__}: {_first_line(error)}"
        for way, mode in sorted(took, key=lambda key: took[key]):
            try:
                return self.runner(way, mode, images, sets), way, mode, said
            except Exception as error:
                said[f"{way.name}, {mode}"] += f", then {type(error).__name__}: {_first_line(error)}"
        raise DeviceError(f"{NAME} {self._arithmetic}: no setting works here: {said}")

    def _trial(self, way: Way, mode: str, images: NDArray[np.int8], sums: NDArray[np.int32]) -> float:
        runner = self.runner(way, mode, images, 1)
        try:
            times: list[float] = []
            end = time.perf_counter() + TRIAL_SECONDS
            while len(times) < TRIAL_LAUNCHES or time.perf_counter() < end:
                begin = time.perf_counter()
                runner.launch(0)
                runner.finish()
                times.append(time.perf_counter() - begin)
            took = float(np.median(times))
            worst = np.abs(runner.output(0)[: len(sums)].astype(np.float64) - sums).max()
            if worst > 0:
                raise WrongError(f"sums differ from the oracle's by {worst:g}, in {took * 1e6:.1f} us")
            return took
        finally:
            runner.close()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else ""


def verify(
    case: str, *, samples: int, seed: int, progress: Progress | None = None, device: str | None = None
) -> Iterator[Check]:
    """Prove every way to write the network against the oracle, exactly: on the GPU where PyTorch has one, else the CPU.

    A way that PyTorch cannot do here is left out, as measuring leaves it out; one that works must be right.
    """
    torch = torch_module()
    network = load(case).network
    on_gpu = torch.cuda.is_available()
    where, name = ("cuda", device_slug()) if on_gpu else ("cpu", "cpu")
    configure()
    images = WORKLOAD.inputs(case, samples, seed)
    wanted = network(images)
    todo = [(arithmetic, way) for arithmetic in ARITHMETICS for way in WAYS[arithmetic]]
    for index, (arithmetic, way) in enumerate(todo):
        if progress is not None:
            progress(f"{NAME} {case} {arithmetic} {way.name}", index, len(todo))
        begin = time.perf_counter()
        inputs = encode(arithmetic, images, way.channels(network))
        sizes, outputs = [*(odd for odd in ODD if odd < samples), samples], []
        try:
            with torch.inference_mode():
                function = way.function(network, where)
                outputs = [function(inputs[:n].to(where)).cpu().numpy() for n in sizes]
        except (RuntimeError, DeviceError, AttributeError):
            if way is WAYS[arithmetic][0]:  # the first way works everywhere
                raise
        worst = max((float(np.abs(y.astype(np.float64) - wanted[: len(y)]).max()) for y in outputs), default=0.0)
        if outputs:
            yield Check(
                implementation=NAME,
                case=case,
                arithmetic=arithmetic,
                device=name,
                samples=samples,
                seed=seed,
                passed=worst == 0.0,
                worst=worst,
                tolerance=None,
                detail=f"{way.name}, outside baseline",
                seconds=time.perf_counter() - begin,
            )
