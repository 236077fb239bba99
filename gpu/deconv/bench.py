"""Bind the kernels of `deconv` to a device: compile once, several buffer sets, tune layer by layer."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.bcnn.launch import Chain, _programmatic
from gpu.deconv.launch import Launch, Stage, Unsupported, back_end
from gpu.deconv.layout import NUMBERS, Network
from gpu.runtime.device import Device, Info
from gpu.runtime.loop import DeviceRunner

#: What decides a result besides the kernel's own files, relative to the repository.
SOURCES = (
    "gpu/deconv/bench.py",
    "gpu/deconv/launch.py",
    "gpu/deconv/layout.py",
    "gpu/deconv/tolerance.py",
    "gpu/bcnn/launch.py",
    "gpu/runtime/loop.py",
    "gpu/runtime/stats.py",
    *(f"workloads/deconv/{name}.py" for name in ("cases", "fixed", "layer", "network", "parameters")),
)
_POISON = 0x5A
#: Launches timed as one, so that a short kernel is not lost in the clock, on a GPU; fewer of those that take long, ns.
_REPEATS, _LONG = 8, 2_000_000


@dataclass(frozen=True)
class Placed:
    """A choice for layer `index`, as its stage."""

    index: int
    choice: Hashable
    stage: Stage


@dataclass(frozen=True)
class Kernel:
    """A whole network at one batch, ready to be bound."""

    network: Network
    arithmetic: str
    batch: int
    placed: tuple[Placed, ...]

    @cached_property
    def _shapes(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """Of each stage: shapes of what one item gives it and of what it gives."""
        layers = self.network.layers
        ends = [(layers[p.index], layers[p.index + p.stage.layers - 1]) for p in self.placed]
        return tuple(((*a.shape, a.channels_in), (*b.shape_out, b.channels_out)) for a, b in ends)

    @property
    def shapes_out(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of an item's outputs: one, or one a layer."""
        return tuple(out for _, out in self._shapes[-1 if self.network.chained else 0 :])

    @property
    def shapes_between(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of what an item's stages leave for the next ones."""
        return tuple(out for _, out in self._shapes[:-1]) if self.network.chained else ()

    @property
    def launches(self) -> int:
        """Kernels that a batch takes."""
        return sum(len(p.stage.launches) for p in self.placed)

    @property
    def detail(self) -> str:
        """What was chosen for each layer."""
        layers = self.network.layers
        return "; ".join(f"{layers[p.index].name}: {p.choice}" for p in self.placed)


class NetworkRunner(DeviceRunner):
    """A network in several buffer sets, each with one input and output or one of each a layer."""

    def __init__(self, kernel: Kernel, *bound: Any) -> None:
        super().__init__(*bound)
        self._kernel = kernel

    def round_trip(self, index: int) -> None:
        """Copy the inputs in, run, copy the outputs out; complete when it returns."""
        for buffer, array in zip(self._ins[index], self._host_ins[index], strict=True):
            self.device.upload(buffer, array)
        self.launches[index]()
        for buffer, array in zip(self._outs[index], self._host_out, strict=True):
            self.device.download(buffer, array)

    def output(self, index: int) -> NDArray[np.float32]:
        """Real numbers of buffer set `index`, in the shape of the oracle's."""
        for buffer, array in zip(self._outs[index], self._host_out, strict=True):
            self.device.download(buffer, array)
        return self._kernel.network.decode(self._kernel.arithmetic, self._host_out)  # type: ignore[arg-type]

    def close(self) -> None:
        """Free the buffers."""
        self.device.finish()
        self._ins, self._outs, self._host_ins, self.launches = [], [], [], []
        self.empty = None


class Bench:
    """Kernels of one network on one device; programs and weights are kept, so that a sweep compiles each once."""

    def __init__(self, device: Device, network: Network) -> None:
        self.device, self.network, self.back = device, network, back_end(device.info)
        self._programs: dict[tuple[str, tuple[str, ...]], Any] = {}
        self._constants: dict[tuple[int, Hashable, str, str], Any] = {}
        self._best: dict[tuple[str, int], Kernel] = {}

    @property
    def arithmetics(self) -> tuple[str, ...]:
        """What this device does on this network."""
        return self.back.supported(self.network, self.device.info)

    def _program(self, launch: Launch) -> Any:
        key = (launch.source, launch.options)
        if key not in self._programs:
            self._programs[key] = self.device.compile(launch.source, launch.options)
        return self._programs[key]

    def _constant(self, placed: Placed, arithmetic: str, name: str) -> Any:
        key = (placed.index, placed.choice, arithmetic, name)
        if key not in self._constants:
            array = placed.stage.constants[name]
            self._constants[key] = self.device.allocate(array.nbytes)
            self.device.upload(self._constants[key], array)
        return self._constants[key]

    def zeroed(self, nbytes: int) -> Any:
        """A buffer of zeros."""
        buffer = self.device.allocate(nbytes)
        self.device.upload(buffer, np.zeros(nbytes, np.uint8))
        return buffer

    def bind(self, placed: Placed, arithmetic: str, source: Any, target: Any, scratch: Any = None) -> list[Any]:
        """The launches of a stage from buffer `source` to buffer `target`; `scratch` are its buffers by name."""
        stage = placed.stage
        held = self.scratch(stage) if scratch is None else scratch
        buffers = {name: self._constant(placed, arithmetic, name) for name in stage.constants}
        buffers |= {"in": source, "out": target, **held}
        bound: list[Any] = []
        for launch in stage.launches:
            arguments = [buffers[a] if isinstance(a, str) else np.int32(a) for a in launch.args]
            made = self.device.bind(
                self._program(launch), launch.entry, arguments, launch.groups, launch.local, launch.shared
            )
            bound.append(_programmatic(self.device, made) if launch.dependent else made)
        return bound

    def scratch(self, stage: Stage) -> dict[str, Any]:
        """Its scratch buffers by name, zeroed."""
        return {name: self.zeroed(nbytes) for name, nbytes in stage.scratch.items()}

    def placed(self, index: int, choice: Hashable, arithmetic: str, n: int) -> Placed:
        """A choice as its stage. Errors: Unsupported."""
        return Placed(index, choice, self.back.stage(self.network, index, choice, arithmetic, n, self.device.info))

    def runner(self, kernel: Kernel, inputs: NDArray[np.float32], sets: int = 1, mode: str = "queue") -> NetworkRunner:
        """Bind `kernel` to `sets` sets of buffers; set i holds the inputs rotated by i. Outputs are poisoned.

        `runner.empty` enqueues as many empty kernels as the network has launches, in the same mode. What stages leave
        for the next ones has one set of buffers: launches follow each other in one queue.
        """
        device, n = self.device, len(inputs)
        size = np.dtype(NUMBERS[kernel.arithmetic]).itemsize
        first = self.network.encode(kernel.arithmetic, inputs)
        host_ins = [first, *(tuple(np.roll(x, -i, axis=0) for x in first) for i in range(1, sets))]
        host_out = [np.empty((n, *shape), NUMBERS[kernel.arithmetic]) for shape in kernel.shapes_out]
        between = [device.allocate(n * int(np.prod(shape)) * size) for shape in kernel.shapes_between]
        scratch = [self.scratch(p.stage) for p in kernel.placed]
        launches, ins, outs = [], [], []
        for i in range(sets):
            ins.append([device.allocate(array.nbytes) for array in host_ins[i]])
            outs.append([device.allocate(array.nbytes) for array in host_out])
            for buffer, array in zip(ins[-1], host_ins[i], strict=True):
                device.upload(buffer, np.ascontiguousarray(array))
            for buffer, array in zip(outs[-1], host_out, strict=True):
                array.view(np.uint8).fill(_POISON)
                device.upload(buffer, array)
            chained = self.network.chained
            sources, targets = ([ins[-1][0], *between], [*between, outs[-1][0]]) if chained else (ins[-1], outs[-1])
            bound: list[Any] = []
            for p, a, b, held in zip(kernel.placed, sources, targets, scratch, strict=True):
                bound += self.bind(p, kernel.arithmetic, a, b, held)
            launches.append(Chain(bound, (between, scratch, ins[-1], outs[-1])))
        programs = [self._program(launch) for p in kernel.placed for launch in p.stage.launches]
        empty: Any = Chain([device.bind(p, "nothing", (ins[0][0],), 1, 32, 0) for p in programs], ins[0])
        final: list[Any] = list(launches)
        if mode == "graph":
            final, empty = [device.capture(launch) for launch in launches], device.capture(empty)
        return NetworkRunner(kernel, device, n, final, ins, outs, host_ins, host_out, empty)

    def tune(self, arithmetic: str, n: int) -> Kernel:
        """The fastest kernel at batch `n`; each choice of each layer is timed alone, on random activations."""
        if (arithmetic, n) not in self._best:
            self._best[arithmetic, n] = self._tuned(arithmetic, n)
        return self._best[arithmetic, n]

    def _tuned(self, arithmetic: str, n: int) -> Kernel:
        layers, info = self.network.layers, self.device.info
        rng = np.random.default_rng(1)
        choices = [self.back.choices(self.network, i, arithmetic, n, info) for i in range(len(layers))]
        found = [[self.placed(i, choice, arithmetic, n) for choice in some] for i, some in enumerate(choices)]
        spanned = {
            i + k for i, some in enumerate(found) for p in some for k in range(p.stage.layers) if p.stage.layers > 1
        }
        best: list[tuple[float, tuple[Placed, ...]]] = [*((np.inf, ()) for _ in layers), (0.0, ())]
        for index in reversed(range(len(layers))):
            # The only way to do a layer needs no time, unless one launch could do that layer and its neighbour.
            alone = len(found[index]) == 1 and index not in spanned
            source = None if alone else self._random(rng, arithmetic, n * layers[index].inputs)
            for placed in found[index]:
                behind = best[index + placed.stage.layers]
                took = 0.0 if source is None else self._time(placed, arithmetic, source, n)
                if took + behind[0] < best[index][0]:
                    best[index] = (took + behind[0], (placed, *behind[1]))
        if not best[0][1]:
            raise Unsupported(f"{self.network.case}: no kernel for {arithmetic} at batch {n}")
        return Kernel(self.network, arithmetic, n, best[0][1])

    def _random(self, rng: np.random.Generator, arithmetic: str, count: int) -> Any:
        """A buffer of activations, about half of them zero; a block is repeated where there are many."""
        some = np.maximum(rng.integers(-128, 128, min(count, 2**20)), 0) / 128
        numbers = np.resize(self.network.numbers(arithmetic, some), count)
        buffer = self.device.allocate(numbers.nbytes)
        self.device.upload(buffer, numbers)
        return buffer

    def _time(self, placed: Placed, arithmetic: str, source: Any, n: int) -> float:
        """Median device time of a stage, ns."""
        last = self.network.layers[placed.index + placed.stage.layers - 1]
        target = self.device.allocate(n * last.outputs * np.dtype(NUMBERS[arithmetic]).itemsize)
        once = self.bind(placed, arithmetic, source, target)
        single = Chain(once, (source, target))
        self.device.kernel_times([single], 1)
        long = self.device.info.warp == 1 or self.device.kernel_times([single], 1)[0] > _LONG
        if long:
            return float(np.median(self.device.kernel_times([single], 1 if self.device.info.warp == 1 else 5)))
        repeated: Any = Chain(once * _REPEATS, (source, target))
        if "graph" in self.device.modes:  # else a short kernel takes as long as its launch
            repeated = self.device.capture(repeated)
            self.device.kernel_times([repeated], 1)
        return float(np.median(self.device.kernel_times([repeated], 7))) / _REPEATS


def conditions(kernel: Kernel, variant: str, info: Info) -> dict[str, str | int]:
    """What a record says of the kernel."""
    launches = [launch for p in kernel.placed for launch in p.stage.launches]
    number = np.dtype(NUMBERS[kernel.arithmetic]).name
    layers = kernel.network.layers
    ends = (layers[:1], layers[-1:]) if kernel.network.chained else (layers, layers)
    return {
        "kernel": variant,
        "kernel_detail": kernel.detail,
        "launches": len(launches),
        "groups": ", ".join(str(launch.groups) for launch in launches),
        "tuned": "fastest median device time of each stage at this batch",
        "io": f"{number} x {sum(x.inputs for x in ends[0])} in, {number} x {sum(x.outputs for x in ends[1])} out",
    }
