"""Prove the kernels of `deconv` on a device against the oracle."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from gpu.deconv.bench import Bench, Kernel, Placed
from gpu.deconv.launch import Unsupported
from gpu.deconv.layout import Network
from gpu.deconv.tolerance import tolerance
from gpu.runtime.device import open_device
from workloads.api import Check, Progress
from workloads.deconv import WORKLOAD

#: Batch sizes that every kernel must get right besides the full sample.
ODD = (1, 3)
#: Batches whose choices are proved on a GPU; on a CPU those of the sample itself.
PROVED = (1, 16, 64, 512)
#: Items at most that a check takes: the oracle and a CPU take long.
LARGEST = {"digits": 256, "mnist": 32, "celeba": 8, "dcgan": 2, "gan3d": 1, "vnet": 1}


def kernels(bench: Bench, arithmetic: str, n: int) -> Iterator[Kernel]:
    """Kernels that run at batch `n` and together hold every choice of every batch of PROVED (on a CPU: of `n`)."""
    for chosen in paths(bench, arithmetic, n, (n,) if bench.device.info.warp == 1 else PROVED):
        yield Kernel(bench.network, arithmetic, n, chosen)


def paths(bench: Bench, arithmetic: str, n: int, batches: Sequence[int]) -> list[tuple[Placed, ...]]:
    """Sequences of stages through the whole network that together hold each choice that can run at batch `n`."""
    count = len(bench.network.layers)
    options: list[list[Placed]] = []
    for index in range(count):
        offered = (bench.back.choices(bench.network, index, arithmetic, m, bench.device.info) for m in batches)
        found: list[Placed] = []
        for choice in dict.fromkeys(choice for some in offered for choice in some):
            try:
                found.append(bench.placed(index, choice, arithmetic, n))
            except Unsupported:
                continue
        options.append(found)
    left = {(p.index, p.choice) for found in options for p in found}
    made: list[tuple[Placed, ...]] = []
    while left:
        path: list[Placed] = []
        index = 0
        before = len(left)
        while index < count:
            found = options[index]
            if not found:
                raise Unsupported(f"{bench.network.layers[index].name}: no kernel for {arithmetic} at batch {n}")
            path.append(next((p for p in found if (p.index, p.choice) in left), found[0]))
            left.discard((path[-1].index, path[-1].choice))
            index += path[-1].stage.layers
        if len(left) == before:
            break  # what is left lies inside a choice that covers it
        made.append(tuple(path))
    return made


def verify(
    name: str,
    api: str,
    case: str,
    *,
    samples: int,
    seed: int,
    progress: Progress | None = None,
    device: str | None = None,
) -> Iterator[Check]:
    """Prove the kernels of a case on one device against the oracle: fixed point exactly, else within `tolerance`.

    Up to `samples` items, at most LARGEST; every output is poisoned first, so that one left unwritten fails. On a GPU
    every kernel that tuning may choose at the batches of PROVED is proved, on these items.
    """
    network = Network(case)
    opened = open_device(device or api)
    try:
        bench = Bench(opened, network)
        samples = min(samples, LARGEST[case])
        inputs = WORKLOAD.inputs(case, samples, seed)
        for arithmetic in bench.arithmetics:
            wanted = WORKLOAD.reference(case, inputs, arithmetic)
            allowed = tolerance(case, arithmetic)
            sizes = (samples, *(n for n in ODD if n < samples))
            for size in sizes:
                for number, kernel in enumerate(kernels(bench, arithmetic, size)):
                    if progress is not None:
                        progress(f"{name} {case} {arithmetic} batch {size}, kernel {number + 1}", number, number + 1)
                    begin = time.perf_counter()
                    runner = bench.runner(kernel, inputs[:size])
                    runner.launch(0)
                    runner.finish()
                    difference = np.abs(runner.output(0) - wanted[:size])
                    worst = float(difference.max()) if np.isfinite(difference).all() else float("inf")
                    runner.close()
                    yield Check(
                        implementation=name,
                        case=case,
                        arithmetic=arithmetic,
                        device=opened.info.slug,
                        samples=size,
                        seed=seed,
                        passed=worst <= allowed,
                        worst=worst,
                        tolerance=allowed or None,
                        detail=f"{bench.back.VARIANT}: {kernel.detail}",
                        seconds=time.perf_counter() - begin,
                    )
    finally:
        opened.close()
