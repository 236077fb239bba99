"""Bind the kernels of `bcnn` to a device: compile once, several buffer sets, tune layer by layer, verify."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.bcnn.kernels import ARITHMETICS, Choice, Kernel, Network, Step, choices, kernels, make, step_of, supported
from gpu.bcnn.launch import chain
from gpu.runtime.device import Device, open_device
from gpu.runtime.loop import DeviceRunner
from workloads.api import Check, Progress

#: Batch sizes that every kernel must get right besides the full sample.
ODD = (1, 3)
_POISON = 0x5A
#: Images at most that a check takes: the oracle and a CPU take long.
LARGEST = {"binarynet": 8, "cnv": 32, "digits": 1000, "digits_small": 1000}
#: Launches timed as one, so that a short kernel is not lost in the clock, on a GPU.
_REPEATS = 8


class Bench:
    """Kernels of one network on one device; programs and weights are kept, so that a sweep compiles each once."""

    def __init__(self, device: Device, network: Network) -> None:
        self.device = device
        self.network = network
        self._bound: dict[tuple[str, Choice], tuple[Any, list[Any]]] = {}

    def _program(self, step: Step) -> tuple[Any, list[Any]]:
        key = (step.layer, step.choice)
        if key not in self._bound:
            program = self.device.compile(step.source, ())
            buffers = [self.device.allocate(array.nbytes) for array in step.constants]
            for buffer, array in zip(buffers, step.constants, strict=True):
                self.device.upload(buffer, array)
            self._bound[key] = (program, buffers)
        return self._bound[key]

    def _launch(self, step: Step, source: Any, target: Any, n: int) -> Any:
        program, constants = self._program(step)
        groups = step.groups(n, self.device.info)
        return self.device.bind(
            program, "layer", (source, target, *constants, np.int32(n)), groups, step.local, step.shared
        )

    def _zeroed(self, nbytes: int) -> Any:
        buffer = self.device.allocate(nbytes)
        self.device.upload(buffer, np.zeros(nbytes, np.uint8))
        return buffer

    def runner(self, kernel: Kernel, inputs: NDArray[np.int8], sets: int = 1, mode: str = "queue") -> DeviceRunner:
        """Bind `kernel` to `sets` pairs of buffers; set i holds the images rotated by i. Outputs are poisoned.

        `runner.empty` enqueues as many empty kernels as the network has launches, in the same mode. The activations
        between layers have one set of buffers: launches follow each other in one queue.
        """
        device, n = self.device, len(inputs)
        host_in = self.network.encode(kernel.arithmetic, inputs, kernel.in_type)
        host_out = np.empty((n, kernel.n_out), kernel.out_type)
        poison = np.full(host_out.nbytes, _POISON, np.uint8)
        host_ins = [np.ascontiguousarray(np.roll(host_in, -i, axis=0)) for i in range(sets)]
        # Words of a pixel beyond its channels are never written, and stay zero.
        between = [self._zeroed(step.out_bytes * n) for step in kernel.steps[:-1]]
        launches, ins, outs = [], [], []
        for i in range(sets):
            ins.append(device.allocate(host_in.nbytes))
            outs.append(device.allocate(host_out.nbytes))
            device.upload(ins[-1], host_ins[i])
            device.upload(outs[-1], poison)
            ends = zip(kernel.steps, [ins[-1], *between], [*between, outs[-1]], strict=True)
            launches.append(chain(device, [self._launch(step, a, b, n) for step, a, b in ends], between))
        programs = [self._program(step)[0] for step in kernel.steps]
        empty: Any = chain(device, [device.bind(p, "nothing", (ins[0],), 1, 32, 0) for p in programs])
        bound: list[Any] = list(launches)
        if mode == "graph":
            bound, empty = [device.capture(launch) for launch in launches], device.capture(empty)
        return DeviceRunner(device, n, bound, ins, outs, host_ins, host_out, empty)

    def compare(
        self, kernel: Kernel, inputs: NDArray[np.int8], outputs: NDArray[Any]
    ) -> tuple[bool, float, float | None]:
        """Compare outputs with the oracle: passed, worst absolute difference, tolerance (None: exact)."""
        wanted = self.network.reference(kernel.arithmetic, inputs).astype(np.int64)
        worst = int(np.abs(outputs.astype(np.int64) - wanted).max())
        return worst == 0, float(worst), None

    def kernels(self, arithmetic: str = ARITHMETICS[0], n: int = 1) -> Iterator[Kernel]:
        """Kernels that together hold every code that tuning may choose at batch `n`: each is to be proved."""
        return kernels(self.network, n, self.device.info)

    def tune(
        self, arithmetic: str, inputs: NDArray[np.int8], sets: int = 1
    ) -> tuple[Kernel, dict[tuple[str, Choice], int]]:
        """Return the fastest kernel for this batch, and the times in ns of every choice of each layer.

        Layers are timed one by one, on random bits; `sets` is not needed, because activations have one set of buffers.
        """
        info, n = self.device.info, len(inputs)
        times: dict[tuple[str, Choice], int] = {}
        best: list[Choice] = []
        source = self.device.allocate(inputs.nbytes)
        self.device.upload(source, self.network.encode(arithmetic, inputs))
        for index, layer in enumerate(self.network.layers.layers):
            found = choices(self.network, index, n, info)
            for choice in found:
                step = self._step(index, choice)
                target = self._zeroed(step.out_bytes * n)
                times[layer.name, choice] = self._median(self._launch(step, source, target, n))
            best.append(min(found, key=lambda c: times[layer.name, c]))
            target = self._zeroed(step.out_bytes * n)
            self._launch(self._step(index, best[-1]), source, target, n)()
            self.device.finish()
            source = target
        return make(self.network, best, info), times

    def _step(self, index: int, choice: Choice) -> Step:
        return step_of(self.network, index, choice, self.device.info)

    def _median(self, launch: Any) -> int:
        few = self.device.info.warp == 1
        repeated: Any = chain(self.device, [launch] * (1 if few else _REPEATS))
        if "graph" in self.device.modes:  # else a short kernel takes as long as its launch
            repeated = self.device.capture(repeated)
        self.device.kernel_times([repeated], 1 if few else 2)
        return int(np.median(self.device.kernel_times([repeated], 1 if few else 7))) // (1 if few else _REPEATS)


def verify(
    name: str,
    api: str,
    case: str,
    parameters: Any,
    inputs: Callable[[int, int], NDArray[np.int8]],
    *,
    samples: int,
    seed: int,
    progress: Progress | None = None,
    device: str | None = None,
) -> Iterator[Check]:
    """Prove the kernels of a case on one device against the oracle: exact equality on images and odd batches.

    Up to `samples` images, at most LARGEST; `inputs(n, seed)` gives them. Every output is poisoned first, so that one
    left unwritten fails. On a GPU every kernel that tuning may choose at any batch is proved, on these images.
    """
    network = Network.of(parameters)
    opened = open_device(device or api)
    try:
        bench = Bench(opened, network)
        samples = min(samples, LARGEST[case])
        x = inputs(samples, seed)
        wanted = network.reference(ARITHMETICS[0], x)
        todo = _todo(bench, samples) if supported(network, opened.info) else []
        for index, kernel in enumerate(todo):
            if progress is not None:
                progress(f"{name} {case} {kernel.variant} {index + 1}", index, len(todo))
            begin = time.perf_counter()
            worst = 0
            for n in (*(odd for odd in ODD if odd < samples), samples):
                runner = bench.runner(kernel, x[:n])
                runner.launch(0)
                runner.finish()
                worst = max(worst, int(np.abs(runner.output(0).astype(np.int64) - wanted[:n]).max()))
            yield Check(
                implementation=name,
                case=case,
                arithmetic=kernel.arithmetic,
                device=opened.info.slug,
                samples=samples,
                seed=seed,
                passed=worst == 0,
                worst=float(worst),
                tolerance=None,
                detail=f"{kernel.variant}: {kernel.detail}",
                seconds=time.perf_counter() - begin,
            )
    finally:
        opened.close()


def _todo(bench: Bench, samples: int) -> list[Kernel]:
    """Kernels of small, middle and large batches, each layer's choices once."""
    batches = (samples,) if bench.device.info.warp == 1 else (1, 16, 64, 512, 4096)
    info, layers = bench.device.info, range(len(bench.network.layers.layers))
    every = [list(dict.fromkeys(c for n in batches for c in choices(bench.network, i, n, info))) for i in layers]
    count = max(len(found) for found in every)
    return [make(bench.network, [found[k % len(found)] for found in every], info) for k in range(count)]
