"""Find the fastest tiles on a device and write `mma_tuned.json`: `python -m gpu.deconv.mma_tune OUT.json`.

Each choice is first proved against the first choice of the table on a few items, then timed alone at each batch. What
does not finish in time, or is wrong, is left out; a layer and batch that were not reached keep what the table has.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.deconv import mma, mma_gather, mma_tuned
from gpu.deconv.bench import Bench, Placed
from gpu.deconv.launch import Launch
from gpu.deconv.layout import NUMBERS, Network
from gpu.deconv.mma_gather import Gather
from gpu.deconv.mma_rows import Rows
from gpu.runtime.device import DeviceError, open_device
from workloads.deconv.cases import LAYERS
from workloads.deconv.layer import Layer

ARITHMETIC = "fp16"
BATCHES = (1, 4, 16, 32, 64, 128, 256, 512)
#: The memory of a GPU does not hold more, or a run takes long.
LARGEST = {"vnet": 32, "gan3d": 256}
#: Items on which a choice is proved, and how much it may differ: sums in another order, rounded to binary16.
_FEW, _DIFFERENCE = 3, 4e-3
_COMPILERS = 16


def candidates(layer: Layer, n: int) -> list[mma.Choice]:
    """Choices of the table, and those of `mma.every` of kinds that the table may lack."""
    return list(dict.fromkeys([*mma_tuned.of(layer, ARITHMETIC, n), *_more(layer, n)]))


def _more(layer: Layer, n: int) -> Iterator[mma.Choice]:
    wide = 1
    for choice in mma.every(layer, ARITHMETIC, n):
        if isinstance(choice, Gather):
            wide = max(wide, choice.bn)
    for choice in mma.every(layer, ARITHMETIC, n):
        if isinstance(choice, Rows):
            yield choice
        if isinstance(choice, Gather) and choice.bn == wide:
            long = mma_gather.most_taps(layer) > 1 and choice.wgs == 2 and choice.stages == 4
            if (long and (choice.persistent or choice.split > 1)) or choice.balanced:
                yield choice


class Tuner:
    """One case on an open device."""

    def __init__(self, device: Any, case: str) -> None:
        self.device, self.bench = device, Bench(device, Network(case))
        self._proved: dict[tuple[int, mma.Choice], bool] = {}

    def placed(self, index: int, n: int) -> list[Placed]:
        """All candidates of a layer at a batch as stages."""
        layer = self.bench.network.layers[index]
        return [self.bench.placed(index, choice, ARITHMETIC, n) for choice in candidates(layer, n)]

    def compile(self, found: list[Placed]) -> None:
        """Compile what is not compiled yet, several at once."""
        launches = list(dict.fromkeys(launch for placed in found for launch in placed.stage.launches))
        with ThreadPoolExecutor(_COMPILERS) as pool:
            list(pool.map(self._compiled, launches))

    def _compiled(self, launch: Launch) -> None:
        with suppress(DeviceError):  # told when the choice is to be proved
            self.bench._program(launch)

    def best(self, index: int, n: int, top: int) -> list[mma.Choice]:
        """The fastest choices of a layer at batch `n`."""
        layer = self.bench.network.layers[index]
        found = [p for p in self.placed(index, n) if self._right(index, p)]
        source = self.bench._random(np.random.default_rng(1), ARITHMETIC, n * layer.inputs)
        times = {p.choice: self.bench._time(p, ARITHMETIC, source, n) for p in found}
        order: list[Any] = sorted(times, key=lambda c: times[c])
        print(
            f"{layer.name} {n}: {times[order[0]] / 1000:.1f} us {order[0]}; last {times[order[-1]] / 1000:.1f}",
            flush=True,
        )
        return order[:top]

    def _right(self, index: int, placed: Placed) -> bool:
        key: Any = (index, placed.choice)
        if key not in self._proved:
            self._proved[key] = False
            try:
                first = self._outputs(index, mma_tuned.of(self.bench.network.layers[index], ARITHMETIC, _FEW)[0])
                worst = np.abs(self._outputs(index, placed.choice) - first).max()
                self._proved[key] = bool(worst <= _DIFFERENCE)
                if not self._proved[key]:
                    print(f"WRONG by {worst}: {placed.choice} of layer {index}", flush=True)
            except DeviceError as error:
                print(f"REFUSED: {placed.choice} of layer {index}: {error}", flush=True)
        return self._proved[key]

    def _outputs(self, index: int, choice: Any) -> NDArray[np.float32]:
        layer = self.bench.network.layers[index]
        source = self.bench._random(np.random.default_rng(2), ARITHMETIC, _FEW * layer.inputs)
        out = np.full(_FEW * layer.outputs, np.nan, NUMBERS[ARITHMETIC])
        target = self.device.allocate(out.nbytes)
        self.device.upload(target, out)
        for launch in self.bench.bind(self.bench.placed(index, choice, ARITHMETIC, _FEW), ARITHMETIC, source, target):
            launch()
        self.device.finish()
        self.device.download(target, out)
        return out.astype(np.float32)


def main() -> None:
    """Tune all cases, or those named, within so many seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cases", nargs="*", default=list(LAYERS))
    parser.add_argument("--batches", nargs="*", type=int, default=list(BATCHES), help="the table keeps its others")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--top", type=int, default=1)
    told = parser.parse_args()
    device, end = open_device(told.device), time.monotonic() + told.seconds
    table: dict[str, dict[str, list[mma.Choice]]] = mma_tuned.known()
    for case in told.cases:
        tuner = Tuner(device, case)
        batches = [n for n in told.batches if n <= LARGEST.get(case, n)]
        layers = range(len(LAYERS[case]))
        tuner.compile([p for index in layers for n in (*batches, _FEW) for p in tuner.placed(index, n)])
        for index in layers:
            own = table.setdefault(mma_tuned.key(LAYERS[case][index], ARITHMETIC), {})
            for n in batches:
                if time.monotonic() < end:
                    own[str(n)] = tuner.best(index, n, told.top)
        mma_tuned.write(
            told.out, table, {"device": device.info.name, "what": f"fastest median device times, {ARITHMETIC}"}
        )
    device.close()


if __name__ == "__main__":
    main()
