"""Measure the kernels of a workload on a device and yield records.

    python -m gpu.measure track --device opencl:0 --case embed --batch 1 4096 1048576 --out results

Runs on a bare machine: numpy, the standard library and the device's own package. The measured outputs themselves are
checked against the oracle, and a kernel that is wrong gives an error, not a record.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from compare.provenance import make_provenance
from compare.record import Boundary, Measurement, Record, Scalar, Stage
from compare.store import write_records
from gpu import IMPLEMENTATIONS, unavailable
from gpu.runtime import loop, nvml
from gpu.runtime.device import Device, DeviceError, Info, open_device
from gpu.runtime.stats import percentile
from gpu.track.bench import Bench
from gpu.track.kernels import SOURCES, Kernel, Network, supported
from workloads.api import Progress, UnknownNameError

BATCHES = tuple(4**i for i in range(11))
#: Memory does not hold the buffers of larger batches.
MAX_BATCH = 2**28
#: Launch modes of the baseline that are measured; it may have more.
BASELINE_MODES = ("eager", "graph")
#: What decides what is timed, besides the sources of the kernel or of the baseline.
TIMED = ("gpu/measure.py", "gpu/track/bench.py")
#: Distinct hits of an input batch; larger batches repeat them.
DISTINCT = 2**15
#: The buffer sets together exceed the last-level cache of any device that we know twice over, as far as MAX_SETS goes.
ROTATE_BYTES = 192 * 2**20
MAX_SETS = 256
CHECKED_HITS = 16_384
#: The SM clock is read with about this much work, s, in the queue.
CLOCK_SECONDS = 0.05


class WrongResultError(RuntimeError):
    """A measured kernel gave outputs that the oracle refuses; nothing is recorded."""


@dataclass(frozen=True)
class Point:
    """One thing to measure: where, what and how."""

    implementation: str
    batch: int
    arithmetic: str
    mode: str


def measure(
    workload: str,
    case: str,
    device: str,
    batches: Sequence[int] = BATCHES,
    arithmetics: Sequence[str] | None = None,
    *,
    modes: Sequence[str] | None = None,
    baseline: bool = False,
    energy_batches: Sequence[int] = (),
    budget: loop.Budget | None = None,
    seed: int = 1,
    command: str = "",
    progress: Progress | None = None,
) -> Iterator[Record]:
    """Yield one record for each batch, arithmetic and launch mode on `device`.

    `baseline` measures PyTorch on the same GPU in the same run, batch by batch. `energy_batches` get four windows of
    5 s each by NVML, at the launch configuration that gave the throughput. All records of one call have the same
    condition `run`. Whatever can be refused is refused before the first measurement. Errors: UnknownNameError,
    DeviceError, WrongResultError, and nvml.EnergyError where energy was asked for and cannot be had.
    """
    work = _workload(workload)
    if case not in work.cases:
        raise UnknownNameError("case", case, tuple(work.cases))
    _check_numbers(batches, energy_batches, seed)
    opened = open_device(device)
    try:
        parameters = importlib.import_module(f"workloads.{workload}.parameters")
        network = Network.of(parameters.load(case))
        able = supported(network, opened.info)
        ways = [_Way(f"gpu/{workload}/{opened.info.api}", able, tuple(opened.modes))]
        module = None
        if baseline:
            module = _baseline_module(workload, opened.info)
            ways.append(_Way(module.NAME, module.ARITHMETICS, tuple(m for m in module.MODES if m in BASELINE_MODES)))
        points = _points(device, ways, batches, arithmetics, modes)
        meter = _meter(opened.info, needed=bool(energy_batches))
        session = _Session(
            workload, case, opened, network, work, budget or loop.Budget(), seed, command, meter=meter, baseline=module
        )
        for index, point in enumerate(points):
            if progress is not None:
                what = f"{point.implementation} {case} batch {point.batch} {point.arithmetic} {point.mode}"
                progress(what, index, len(points))
            yield session.record(point, energy=point.batch in energy_batches)
    finally:
        opened.close()


def _workload(name: str) -> Any:
    folder = Path(__file__).resolve().parents[1] / "workloads"
    valid = sorted(
        p.parent.name for p in folder.glob("*/__init__.py") if (Path(__file__).parent / p.parent.name).is_dir()
    )
    if name not in valid:
        raise UnknownNameError("workload", name, valid)
    return importlib.import_module(f"workloads.{name}").WORKLOAD


def _check_numbers(batches: Sequence[int], energy_batches: Sequence[int], seed: int) -> None:
    if not batches or min(batches) < 1:
        raise DeviceError(f"batch sizes must be positive, got {list(batches)}")
    if max(batches) > MAX_BATCH:
        raise DeviceError(f"batch {max(batches)} is too large for memory; at most {MAX_BATCH}")
    if other := sorted(set(energy_batches) - set(batches)):
        raise DeviceError(
            f"energy is asked for at batch {', '.join(map(str, other))}, which is not measured; "
            f"batches: {', '.join(map(str, batches))}"
        )
    if seed < 0:
        raise DeviceError(f"the seed must not be negative, got {seed}")


@dataclass(frozen=True)
class _Way:
    """An implementation with the arithmetics and launch modes that it has here."""

    implementation: str
    arithmetics: Sequence[str]
    modes: Sequence[str]


def _points(
    device: str,
    ways: Sequence[_Way],
    batches: Sequence[int],
    arithmetics: Sequence[str] | None,
    modes: Sequence[str] | None,
) -> list[Point]:
    """What is to be measured, batch by batch. A name that nothing has, or that leads to no point, is an error."""
    for kind, asked, valid in (
        ("arithmetic", arithmetics, [a for way in ways for a in way.arithmetics]),
        ("launch mode", modes, [m for way in ways for m in way.modes]),
    ):
        for name in asked or ():
            if name not in valid:
                raise UnknownNameError(f"{kind} on {device}", name, tuple(dict.fromkeys(valid)))
    points = [
        Point(way.implementation, batch, arithmetic, mode)
        for batch in batches
        for way in ways
        for arithmetic in way.arithmetics
        if arithmetics is None or arithmetic in arithmetics
        for mode in way.modes
        if modes is None or mode in modes
    ]
    idle = [a for a in arithmetics or () if not any(p.arithmetic == a for p in points)]
    idle += [m for m in modes or () if not any(p.mode == m for p in points)]
    if idle or not points:
        have = "; ".join(f"{w.implementation}: {', '.join(w.arithmetics)} by {', '.join(w.modes)}" for w in ways)
        raise DeviceError(f"nothing on {device} would be measured for {', '.join(idle) or 'these options'}; {have}")
    return points


def _baseline_module(workload: str, info: Info) -> Any:
    """The baseline's module. Errors: DeviceError where it is not installed or uses another device."""
    name = f"gpu/{workload}/torch"
    if reason := unavailable(name):
        raise DeviceError(reason)
    module = importlib.import_module(IMPLEMENTATIONS[name])
    try:
        seen = module.device_slug()
    except (RuntimeError, AssertionError) as error:  # PyTorch without CUDA, or CUDA without a GPU
        raise DeviceError(f"PyTorch has no GPU here: {error}") from None
    if seen != info.slug:
        raise DeviceError(f"PyTorch sees {seen}, not {info.slug}")
    return module


def _meter(info: Info, needed: bool) -> nvml.Nvml | None:
    """NVML of this device, None where there is none. Errors: EnergyError where it is `needed`, for energy."""
    try:
        if info.nvml_index is None:
            raise nvml.EnergyError(f"{info.slug}: no energy counter (NVML is for NVIDIA GPUs)")
        return nvml.Nvml(info.nvml_index, energy=needed)
    except nvml.EnergyError:
        if needed:
            raise
        return None


class _Session:
    """What the points of one run share: its id, compiled kernels, inputs, NVML, the baseline's module."""

    def __init__(
        self,
        workload: str,
        case: str,
        device: Device,
        network: Network,
        work: Any,
        budget: loop.Budget,
        seed: int,
        command: str,
        *,
        meter: nvml.Nvml | None = None,
        baseline: Any = None,
    ) -> None:
        self.workload, self.case, self.device, self.network = workload, case, device, network
        self.work, self.budget, self.seed, self.command = work, budget, seed, command
        self.bench = Bench(device, network)
        self._distinct: NDArray[np.float32] | None = None
        self._tuned: dict[tuple[str, int], Kernel] = {}
        self._meter, self._module = meter, baseline
        self._run = uuid4().hex[:12]
        self._idle: float | None = None

    def inputs(self, batch: int) -> NDArray[np.float32]:
        """`batch` inputs; up to DISTINCT of them differ."""
        if self._distinct is None:
            self._distinct = self.work.inputs(self.case, DISTINCT, self.seed)
        repeats = -(-batch // len(self._distinct))
        return np.tile(self._distinct, (repeats, 1))[:batch]

    def record(self, point: Point, energy: bool) -> Record:
        """Tune, measure, check, and make the record of one point."""
        x = self.inputs(point.batch)
        conditions: dict[str, Scalar] = {
            "run": self._run,
            "batch": point.batch,
            "arithmetic": point.arithmetic,
            "launch_mode": point.mode,
            "parameters": "trained" if self.work.cases[self.case].trained else "untrained",
            "clocks": "free-running",
            "transfers": "none at boundaries kernel and host; in and out, pageable host memory, at boundary device",
            "seed": self.seed,
            "distinct_inputs": min(point.batch, DISTINCT),
        }
        runner: Any
        if self._of_baseline(point):
            runner, files, tools, tier = self._baseline(point, x, conditions)
        else:
            runner, files, tools, tier = self._kernel(point, x, conditions)
        try:
            timing = loop.measure(runner, self.budget)
            measurements = from_timing(timing)
            conditions["warmup_launches"] = timing.warmup
            conditions["launches_per_round"] = timing.per_round
            if (clock := self._sm_clock(runner)) is not None:
                conditions["sm_clock_mhz"] = clock
            if energy:
                measurements += self._energy(runner, conditions)
                files = [*files, "gpu/runtime/nvml.py"]
            self._check(point, runner, x, conditions)
        finally:
            if hasattr(runner, "close"):
                runner.close()
        return Record(
            workload=self.workload,
            case=self.case,
            implementation=point.implementation,
            device=self.device.info.slug,
            conditions=conditions,
            provenance=make_provenance(self.command, [*TIMED, *files], tools, tier, _instruments(energy)),
            measurements=tuple(measurements),
        )

    def _of_baseline(self, point: Point) -> bool:
        return self._module is not None and point.implementation == self._module.NAME

    def _sets(self, item_bytes: int, batch: int) -> int:
        return int(min(MAX_SETS, max(2, -(-ROTATE_BYTES // (item_bytes * batch)))))

    def _common(self, conditions: dict[str, Scalar], sets: int, item_bytes: int, batch: int) -> None:
        conditions["buffer_sets"] = sets
        conditions["working_set_bytes"] = sets * item_bytes * batch
        conditions["exceeds_cache"] = sets * item_bytes * batch >= ROTATE_BYTES

    def _kernel(self, point: Point, x: NDArray[np.float32], conditions: dict[str, Scalar]) -> tuple[Any, ...]:
        key = (point.arithmetic, point.batch)
        if key not in self._tuned:
            first = next(self.bench.kernels(point.arithmetic))
            sets = self._sets(first.item_bytes, point.batch)
            self._tuned[key], _ = self.bench.tune(point.arithmetic, x, min(sets, 16))
        kernel = self._tuned[key]
        item, per = kernel.item_bytes, kernel.choice.per
        sets = self._sets(item, point.batch)
        self._common(conditions, sets, item, point.batch)
        conditions |= {
            "kernel": kernel.choice.variant,
            "kernel_detail": kernel.detail,
            "local_size": kernel.choice.local,
            **({"hits_per_item": per} if kernel.choice.variant == "portable" else {"hits_per_warp": 16 * per}),
            "groups": kernel.groups(point.batch, self.device.info),
            "tuned": "fastest median device time at this batch",
            "io": f"{np.dtype(kernel.in_type).name} x {kernel.n_in} in, {np.dtype(kernel.out_type).name} x "
            f"{kernel.n_out} out",
        }
        api = self.device.info.api
        own = [p for p in (f"gpu/track/{api}.py", f"gpu/runtime/{api}.py") if _exists(p)]
        files = [*SOURCES, *kernel.files, *own, *_parameter_files(self.workload, self.case)]
        return self.bench.runner(kernel, x, sets, point.mode), files, dict(self.device.info.tools), "product"

    def _baseline(self, point: Point, x: NDArray[np.float32], conditions: dict[str, Scalar]) -> tuple[Any, ...]:
        module = self._module
        widths, size = self.network.floats.widths, {"fp32": 4, "fp16": 2}[point.arithmetic]
        item = (widths[0] + widths[-1]) * size
        sets = min(self._sets(item, point.batch), 32)
        self._common(conditions, sets, item, point.batch)
        conditions["io"] = f"{point.arithmetic} x {widths[0]} in, {point.arithmetic} x {widths[-1]} out"
        files = [*module.SOURCES, *_parameter_files(self.workload, self.case)]
        tools = {**module.tools(), "driver": self.device.info.tools.get("driver", "")}
        runner = module.TorchRunner(self.network, point.arithmetic, x, sets, point.mode)
        return runner, files, tools, module.TIER

    def _check(self, point: Point, runner: Any, x: NDArray[np.float32], conditions: dict[str, Scalar]) -> None:
        """Outputs of the measured launches against the oracle: every buffer set, hits spread over the batch."""
        if self.device.info.api == "null":
            conditions["checked_hits"] = 0
            return
        # The rates and percentiles above come from exactly these buffers.
        each = max(CHECKED_HITS // runner.sets, 64)
        pick = np.unique(np.linspace(0, point.batch - 1, min(each, point.batch)).astype(np.int64))
        checked, worst = 0, 0.0
        for index in range(runner.sets):
            hits = x[(pick + index) % point.batch]  # set i holds the inputs rotated by i
            got = runner.output(index)[pick].astype(np.float64)
            difference = np.abs(got - self.network.reference(point.arithmetic, hits).astype(np.float64))
            worst = max(worst, float(difference.max()) if np.isfinite(difference).all() else float("inf"))
            checked += len(pick)
        allowed = self.network.tolerance(point.arithmetic, x[:CHECKED_HITS]) or 0.0
        if self._of_baseline(point):
            allowed = self._module.tolerance(self.network, point.arithmetic, x[:CHECKED_HITS])
        if worst > allowed:
            raise WrongResultError(f"{point}: outputs differ from the oracle by {worst:g}, allowed {allowed:g}")
        conditions |= {"checked_hits": checked, "worst_difference": worst, "tolerance": allowed}

    def _sm_clock(self, runner: Any) -> int | None:
        """The clock of the multiprocessors, MHz, with launches in the queue; None without NVML."""
        if self._meter is None:
            return None
        for i in range(loop.launches_for(runner, CLOCK_SECONDS)):
            runner.launch(i % runner.sets)
        clock = self._meter.sm_clock()
        runner.finish()
        return clock

    def _energy(self, runner: Any, conditions: dict[str, Scalar]) -> list[Measurement]:
        assert self._meter is not None
        if self._idle is None:
            self._idle = nvml.idle_power(self._meter)
        chunk = loop.launches_for(runner, 0.01)

        def work() -> int:
            for i in range(chunk):
                runner.launch(i % runner.sets)
            runner.finish()
            return chunk

        before = self._meter.celsius()
        work()
        windows = [nvml.measure_window(self._meter, work) for _ in range(nvml.WINDOWS)]
        gaps = [w.disagreement for w in windows if w.disagreement is not None]
        conditions |= {
            "energy_windows": len(windows),
            "energy_window_seconds": round(min(w.seconds for w in windows), 3),
            "energy_idle": "included",
            "temperature_before": before,
            "temperature_after": self._meter.celsius(),
            "power_check": round(max(gaps), 4) if gaps else None,
            "power_check_passed": max(gaps) <= nvml.AGREEMENT if gaps else None,
        }
        board = Boundary.BOARD
        return [
            band("energy", "J/item", [w.joules / (w.work * runner.batch) for w in windows], "mean", board, "windows"),
            band("power", "W", [w.joules / w.seconds for w in windows], "mean", board, "windows"),
            band(
                "throughput",
                "items/s",
                [w.work * runner.batch / w.seconds for w in windows],
                "mean",
                Boundary.HOST,
                "windows",
            ),
            Measurement("idle_power", self._idle, "W", "mean", 1, Stage.MEASURED, board),
        ]


def band(
    quantity: str, unit: str, values: Sequence[float], statistic: str, boundary: Boundary, spread: str
) -> Measurement:
    """A measured quantity of several values: their median or mean, and their smallest and largest."""
    value = float(np.median(values)) if statistic == "median" else float(np.mean(values))
    low, high = float(min(values)), float(max(values))
    value = min(max(value, low), high)
    return Measurement(
        quantity, value, unit, statistic, len(values), Stage.MEASURED, boundary, low, high, spread, tuple(values)
    )


def from_timing(timing: loop.Timing) -> list[Measurement]:
    """Percentiles, rates and floors; a percentile that its samples cannot bound is left out."""
    found = [
        band("throughput", "items/s", timing.rates, "median", Boundary.KERNEL, "min-max"),
        band("throughput", "items/s", timing.host_rates, "median", Boundary.HOST, "min-max"),
    ]
    series = [
        ("latency", Boundary.HOST, timing.host),
        ("latency", Boundary.KERNEL, timing.kernel),
        ("latency", Boundary.DEVICE, timing.transfer),
        ("launch_floor", Boundary.HOST, timing.host_floor),
        ("launch_floor", Boundary.KERNEL, timing.kernel_floor),
    ]
    for quantity, boundary, times in series:
        for p in (50, 99):
            q = percentile(times, p)
            if q is not None:
                found.append(
                    Measurement(
                        quantity, q.value, "ns", f"p{p}", q.samples, Stage.MEASURED, boundary, q.low, q.high, "ci99"
                    )
                )
    return found


def revised(record: Record, revision: str) -> Record:
    """Name the revision where git cannot; the hash of the sources stays what it is."""
    if not revision or record.provenance.revision != "unknown":
        return record
    return replace(record, provenance=replace(record.provenance, revision=revision))


def _instruments(energy: bool) -> str:
    return "device clock, host monotonic clock" + (", NVML total-energy counter" if energy else "")


def _exists(path: str) -> bool:
    return (Path(__file__).resolve().parents[1] / path).exists()


def _parameter_files(workload: str, case: str) -> list[str]:
    own = f"workloads/{workload}/parameters/{case}.json"
    return [own] if _exists(own) else [f"workloads/{workload}/parameters.py"]


def product_command(options: argparse.Namespace) -> str:
    """The `gatewarp measure` command that renews these records: options once for each value, no output folder."""
    words = ["gatewarp", "measure", options.workload, "--device", options.device, "--case", options.case]
    for flag in ("batch", "arithmetic", "mode", "energy"):
        words += [word for value in getattr(options, flag) or () for word in (f"--{flag}", str(value))]
    words += ["--baseline"] if options.baseline else []
    defaults = {"seconds": loop.Budget.seconds, "launches": loop.Budget.launches, "seed": 1}
    for flag, usual in defaults.items():
        if getattr(options, flag) != usual:
            words += [f"--{flag}", str(getattr(options, flag))]
    return " ".join(words)


def parser() -> argparse.ArgumentParser:
    """The options of `python -m gpu.measure`."""
    made = argparse.ArgumentParser("python -m gpu.measure", description="Measure kernels and write records.")
    made.add_argument("workload")
    made.add_argument("--device", required=True, help="opencl:0, cuda:0, null")
    made.add_argument("--case", default="embed")
    made.add_argument("--batch", type=int, nargs="+", action="extend", help="default: powers of four to 4^10")
    made.add_argument("--arithmetic", nargs="+", action="extend")
    made.add_argument("--mode", nargs="+", action="extend", help="queue, graph, eager")
    made.add_argument("--baseline", action="store_true", help="also PyTorch on the same GPU")
    made.add_argument("--energy", type=int, nargs="+", action="extend", metavar="BATCH", help="with NVML")
    made.add_argument("--seconds", type=float, default=loop.Budget.seconds, help="time for each boundary")
    made.add_argument("--launches", type=int, default=loop.Budget.launches, help="launches at most")
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--out", type=Path, default=Path("results"))
    made.add_argument("--revision", default="", help="git revision of a folder copied without git")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of `python -m gpu.measure`; exit code 0, 1 (failed) or 2 (misuse)."""
    options = parser().parse_args(arguments)
    records = measure(
        options.workload,
        options.case,
        options.device,
        options.batch or BATCHES,
        options.arithmetic,
        modes=options.mode,
        baseline=options.baseline,
        energy_batches=options.energy or (),
        budget=loop.Budget(launches=options.launches, seconds=options.seconds),
        seed=options.seed,
        command=product_command(options),
        progress=lambda what, done, total: print(f"[{done + 1}/{total}] {what}", file=sys.stderr, flush=True),
    )
    try:
        words = ("measure", options.workload, options.device, options.case)
        stem = "-".join(re.sub(r"[^A-Za-z0-9._-]", "-", word) for word in words)
        print(write_records(options.out, stem, (revised(record, options.revision) for record in records)))
    except (UnknownNameError, DeviceError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (WrongResultError, nvml.EnergyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
