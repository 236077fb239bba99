"""Bind the kernels of `track` to a device: compile once, several buffer sets, verify, tune."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.runtime.device import Device, open_device
from gpu.runtime.loop import DeviceRunner
from gpu.track.kernels import Choice, Kernel, Network, choices, make, supported
from workloads.api import Check
from workloads.api import Progress as Progress

#: Batch sizes that every kernel must get right besides the full sample: around and inside a tile.
ODD = (1, 3, 257)
_POISON = 0x5A
#: Candidates that tuning times again over rotated buffers.
_FINALISTS = 6


class Bench:
    """Kernels of one network on one device; programs and weights are kept, so that a sweep compiles each once."""

    def __init__(self, device: Device, network: Network) -> None:
        self.device = device
        self.network = network
        self._programs: dict[str, tuple[Any, Any]] = {}

    def _program(self, kernel: Kernel) -> tuple[Any, Any]:
        if kernel.source not in self._programs:
            program = self.device.compile(kernel.source, kernel.options)
            weights = self.device.allocate(kernel.weights.nbytes)
            self.device.upload(weights, kernel.weights)
            self._programs[kernel.source] = (program, weights)
        return self._programs[kernel.source]

    def runner(self, kernel: Kernel, inputs: NDArray[np.float32], sets: int = 1, mode: str = "queue") -> DeviceRunner:
        """Bind `kernel` to `sets` pairs of buffers; set i holds the inputs rotated by i hits. Outputs are poisoned."""
        device, n = self.device, len(inputs)
        program, weights = self._program(kernel)
        host_in = self.network.encode(kernel.arithmetic, inputs, kernel.in_type)
        host_out = np.empty((n, kernel.n_out), kernel.out_type)
        poison = np.full(host_out.nbytes, _POISON, np.uint8)
        host_ins = [np.ascontiguousarray(np.roll(host_in, -i, axis=0)) for i in range(sets)]
        launches, ins, outs = [], [], []
        for i in range(sets):
            # Kernels may read the word that holds the last half.
            ins.append(device.allocate(-(-host_in.nbytes // 4) * 4))
            outs.append(device.allocate(host_out.nbytes))
            device.upload(ins[-1], host_ins[i])
            device.upload(outs[-1], poison)
            args = (ins[-1], outs[-1], weights, np.int32(n))
            groups = kernel.groups(n, device.info)
            launches.append(device.bind(program, "mlp", args, groups, kernel.choice.local, kernel.shared))
        empty = device.bind(program, "nothing", (ins[0],), 1, kernel.choice.local, 0)
        if mode == "graph":
            launches, empty = [device.capture(launch) for launch in launches], device.capture(empty)
        return DeviceRunner(device, n, launches, ins, outs, host_ins, host_out, empty)

    def compare(
        self, kernel: Kernel, inputs: NDArray[np.float32], outputs: NDArray[Any]
    ) -> tuple[bool, float, float | None]:
        """Compare outputs with the oracle: passed, worst absolute difference, tolerance (None exact)."""
        wanted = self.network.reference(kernel.arithmetic, inputs)
        tolerance = self.network.tolerance(kernel.arithmetic, inputs)
        difference = np.abs(outputs.astype(np.float64) - wanted.astype(np.float64))
        worst = float(difference.max()) if np.isfinite(difference).all() else float("inf")
        return worst <= (0.0 if tolerance is None else tolerance), worst, tolerance

    def kernels(self, arithmetic: str) -> Iterator[Kernel]:
        """One kernel for each variant and hits a work-item that tuning may choose: each is other code to prove."""
        seen = set()
        for choice in choices(self.network, arithmetic, self.device.info):
            key = (choice.variant, choice.per)
            if key not in seen:
                seen.add(key)
                yield make(self.network, arithmetic, choice, self.device.info)

    def tune(self, arithmetic: str, inputs: NDArray[np.float32], sets: int = 1) -> tuple[Kernel, dict[Choice, int]]:
        """Return the fastest kernel for this batch by the median device time, and the times in ns of all candidates.

        Candidates run on one buffer set first; the best few then run again over `sets` sets, as they will be measured.
        """
        info = self.device.info
        kernels: dict[tuple[Any, ...], Kernel] = {}
        for choice in choices(self.network, arithmetic, info):
            kernel = make(self.network, arithmetic, choice, info)
            # A cap on the grid that does not bind is no other kernel.
            kernels.setdefault((choice.variant, choice.local, choice.per, kernel.groups(len(inputs), info)), kernel)
        times = {k.choice: self._median(k, inputs, 1) for k in kernels.values()}
        found = {k.choice: k for k in kernels.values()}
        ranking = sorted(times, key=lambda c: times[c])
        if sets > 1 and info.warp > 1 and len(ranking) > 1:
            times |= {c: self._median(found[c], inputs, sets) for c in ranking[:_FINALISTS]}
            ranking = sorted(ranking[:_FINALISTS], key=lambda c: times[c])
        return found[ranking[0]], times

    def _median(self, kernel: Kernel, inputs: NDArray[np.float32], sets: int) -> int:
        runner = self.runner(kernel, inputs, sets)
        few = self.device.info.warp == 1
        runner.kernel_times(1 if few else 3)
        return int(np.median(runner.kernel_times(1 if few else max(21, 3 * sets))))


def verify(
    name: str,
    api: str,
    case: str,
    parameters: Any,
    inputs: Callable[[int, int], NDArray[np.float32]],
    *,
    samples: int,
    seed: int,
    progress: Progress | None = None,
    device: str | None = None,
) -> Iterator[Check]:
    """Prove every kernel of a case on one device against the oracle, on `samples` hits with extremes and odd batches.

    `inputs(n, seed)` gives hits. Every output is poisoned first, so that one left unwritten fails. Exact equality for
    `fixed`, the tolerance of `Network.tolerance` for real numbers.
    """
    network = Network.of(parameters)
    opened = open_device(device or api)
    try:
        bench = Bench(opened, network)
        x = np.concatenate([extremes(network, max(samples // 8, 1)), inputs(samples, seed)])[:samples]
        todo = [(a, k) for a in supported(network, opened.info) for k in bench.kernels(a)]
        for index, (arithmetic, kernel) in enumerate(todo):
            if progress is not None:
                progress(f"{name} {case} {arithmetic} {kernel.choice.variant} x{kernel.choice.per}", index, len(todo))
            begin = time.perf_counter()
            passed, worst, tolerance = True, 0.0, None
            for n in (*(odd for odd in ODD if odd < samples), samples):
                runner = bench.runner(kernel, x[:n])
                runner.launch(0)
                runner.finish()
                good, difference, tolerance = bench.compare(kernel, x[:n], runner.output(0))
                passed, worst = passed and good, max(worst, difference)
            yield Check(
                implementation=name,
                case=case,
                arithmetic=arithmetic,
                device=opened.info.slug,
                samples=samples,
                seed=seed,
                passed=passed,
                worst=worst,
                tolerance=tolerance,
                detail=f"{kernel.choice.variant} x{kernel.choice.per}, {kernel.detail}",
                seconds=time.perf_counter() - begin,
            )
    finally:
        opened.close()


def extremes(network: Network, n: int) -> NDArray[np.float32]:
    """Inputs (n, n_in) on and beyond the ends of the range and on rounding ties, in random combination."""
    rng = np.random.default_rng(n)
    step = 2.0 ** -(network.fixed.input.grid if network.fixed is not None else 11)
    corners = np.array([-4, -1, -1 + step / 2, -step, -step / 2, 0, step / 2, step, 1 - step, 1 - step / 2, 1, 4])
    return rng.choice(corners, (n, network.floats.widths[0])).astype(np.float32)
