"""The measuring loop: what is timed, how often, and between which points.

* `kernel`: one launch by the device's clock, operands already in device memory.
* `host`: from before the launch to when the calling program has seen its completion.
* `device`: the same with the inputs copied in and the outputs copied out.

Warm-up is left out and counted. The launches take turns over several sets of buffers, so that large batches do not
live in the cache. The launch floor is an empty kernel timed by the same method, block by block between the blocks of
the real one (A B A B), in the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
#: Launches of the kernel between two blocks of a fifth as many empty ones.
BLOCK = 100


class Runner(Protocol):
    """Something that can be launched: `sets` buffer sets in turn, each of `batch` items."""

    batch: int
    sets: int

    def launch(self, index: int) -> Any:
        """Enqueue on buffer set `index`."""
        ...

    def empty(self) -> Any:
        """Enqueue a kernel that does nothing."""
        ...

    def finish(self) -> None:
        """Wait until all that was launched is complete."""
        ...

    def round_trip(self, index: int) -> None:
        """Copy in, run, copy out; complete when it returns."""
        ...

    def kernel_times(self, count: int) -> Times:
        """Device times of `count` launches, ns."""
        ...

    def empty_times(self, count: int) -> Times:
        """Device times of `count` empty launches, ns."""
        ...


@dataclass(frozen=True)
class Budget:
    """How long to measure: `seconds` of device times, four times as long of host times, half as long of transfers.

    At most `launches` launches each (a tenth with transfers), and `rounds` repeats of a rate.
    """

    launches: int = 100_000
    seconds: float = 0.5
    rounds: int = 9
    round_seconds: float = 0.05
    warmup: int = 50
    warmup_seconds: float = 0.2


@dataclass(frozen=True)
class Timing:
    """What the loop saw: times in ns, rates in items/s (one a round), and what was left out.

    `rates` are the batch over the median device time of a round; `host_rates` are launches back to back with one wait.
    """

    host: Times
    kernel: Times
    transfer: Times
    host_floor: Times
    kernel_floor: Times
    rates: tuple[float, ...]
    host_rates: tuple[float, ...]
    warmup: int
    per_round: int


def measure(runner: Runner, budget: Budget, clock: Callable[[], int] = time.perf_counter_ns) -> Timing:
    """Time `runner` at every boundary. Errors: whatever the device raises; nothing is retried."""
    warmup = warm_up(runner, budget, clock)
    host, host_floor = _host_times(runner, budget, clock)
    kernel, kernel_floor = _kernel_times(runner, budget, clock)
    transfer = _repeat(lambda i: runner.round_trip(i), runner.sets, budget.launches // 10, budget.seconds / 2, clock)
    per_round = launches_for(runner, budget.round_seconds, clock)
    rates, host_rates = [], []
    begun = clock()
    for done in range(budget.rounds):
        if done >= 3 and clock() - begun > budget.rounds * budget.round_seconds * 4e9:
            break  # a slow kernel: three rounds must do
        rates.append(_rate(runner.batch, int(np.median(runner.kernel_times(min(per_round, 200))))))
        begin = clock()
        for i in range(per_round):
            runner.launch(i % runner.sets)
        runner.finish()
        host_rates.append(_rate(runner.batch * per_round, clock() - begin))
    return Timing(host, kernel, transfer, host_floor, kernel_floor, tuple(rates), tuple(host_rates), warmup, per_round)


def warm_up(runner: Runner, budget: Budget, clock: Callable[[], int] = time.perf_counter_ns) -> int:
    """Launch every buffer set, and until the count and the time of the warm-up are reached; return the count."""
    begin, count = clock(), 0
    while count < runner.sets or (
        # A slow kernel is warm when its time is up; a fast one also wants its number of launches.
        (clock() - begin) < budget.warmup_seconds * 1e9 or (count < budget.warmup and clock() - begin < 1e9)
    ):
        start = clock()
        runner.launch(count % runner.sets)
        runner.empty()
        runner.finish()
        count += 1
        if clock() - start < 1e6:  # a fast kernel: nine more before the next wait
            for _ in range(9):
                runner.launch(count % runner.sets)
                count += 1
            runner.finish()
    return count


def launches_for(runner: Runner, seconds: float, clock: Callable[[], int] = time.perf_counter_ns) -> int:
    """Return how many back-to-back launches fill `seconds`, at least 2, by a short trial."""
    count = 2
    while True:
        begin = clock()
        for i in range(count):
            runner.launch(i % runner.sets)
        runner.finish()
        spent = (clock() - begin) / 1e9
        if spent > seconds / 4 or count >= 4096:
            return int(min(max(2, count * seconds / max(spent, 1e-9)), 20_000))
        count *= 4


def _host_times(runner: Runner, budget: Budget, clock: Callable[[], int]) -> tuple[Times, Times]:
    """Alternate blocks of the kernel and of the empty kernel, one launch and one wait at a time."""
    real: list[int] = []
    floor: list[int] = []
    launch, empty, finish, sets = runner.launch, runner.empty, runner.finish, runner.sets
    begin, limit, index = clock(), budget.seconds * 4e9, 0
    block = BLOCK
    while len(real) < budget.launches and (clock() - begin < limit or not real):
        for _ in range(block):
            start = clock()
            launch(index)
            finish()
            real.append(clock() - start)
            index = (index + 1) % sets
            if clock() - begin > limit:
                break  # a slow kernel does not fill its block
        for _ in range(block // 5):
            start = clock()
            empty()
            finish()
            floor.append(clock() - start)
    return np.array(real, np.int64), np.array(floor, np.int64)


def _kernel_times(runner: Runner, budget: Budget, clock: Callable[[], int]) -> tuple[Times, Times]:
    real: list[Times] = []
    floor: list[Times] = []
    start = clock()
    real.append(runner.kernel_times(1))
    # A slow kernel gets as small a block as fits the time.
    block = int(min(BLOCK, max(5, budget.seconds * 1e9 / 4 // max(clock() - start, 1))))
    begin, total = clock(), 1
    while total < budget.launches and (clock() - begin < budget.seconds * 1e9 or total == 1):
        real.append(runner.kernel_times(block))
        floor.append(runner.empty_times(BLOCK // 5))
        total += block
    return np.concatenate(real), np.concatenate(floor)


def _repeat(act: Callable[[int], None], sets: int, count: int, seconds: float, clock: Callable[[], int]) -> Times:
    times: list[int] = []
    act(0)  # the first copy pins pages
    begin = clock()
    while len(times) < max(count, 1) and (clock() - begin < seconds * 1e9 or not times):
        start = clock()
        act(len(times) % sets)
        times.append(clock() - start)
    return np.array(times, np.int64)


def _rate(items: int, nanoseconds: int) -> float:
    return items * 1e9 / max(nanoseconds, 1)


class DeviceRunner:
    """A kernel bound to several buffer sets of one device.

    `launches[i]` works on `ins[i]` and `outs[i]`; a round trip copies `host_ins[i]` in and the outputs to `host_out`;
    `empty` is a bound kernel that does nothing.
    """

    def __init__(
        self,
        device: Any,
        batch: int,
        launches: Sequence[Any],
        ins: Sequence[Any],
        outs: Sequence[Any],
        host_ins: Sequence[NDArray[Any]],
        host_out: NDArray[Any],
        empty: Any,
    ) -> None:
        self.device = device
        self.batch = batch
        self.sets = len(launches)
        self.launches = launches
        self.empty = empty
        self._ins, self._outs = ins, outs
        self._host_ins, self._host_out = host_ins, host_out
        self.finish = device.finish

    def launch(self, index: int) -> Any:
        """Enqueue on buffer set `index`."""
        return self.launches[index]()

    def round_trip(self, index: int) -> None:
        """Copy the inputs in, run, copy the outputs out; complete when it returns."""
        self.device.upload(self._ins[index], self._host_ins[index])
        self.launches[index]()
        self.device.download(self._outs[index], self._host_out)

    def output(self, index: int) -> NDArray[Any]:
        """Return what buffer set `index` holds now."""
        array = np.empty_like(self._host_out)
        self.device.download(self._outs[index], array)
        return array

    def kernel_times(self, count: int) -> Times:
        """Device times of `count` launches over the sets in turn, ns."""
        times: Times = self.device.kernel_times(self.launches, count)
        return times

    def empty_times(self, count: int) -> Times:
        """Device times of `count` empty launches, ns."""
        times: Times = self.device.kernel_times([self.empty], count)
        return times
