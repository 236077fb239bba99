"""Measure the kernels of a workload on a device and yield records.

    python -m gpu.measure track --device opencl:0 --case embed --batch 1 4096 1048576 --out results

Runs on a bare machine: numpy, the standard library and the device's own package. The measured outputs themselves are
checked against the oracle, and a kernel that is wrong gives an error, not a record.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compare.provenance import make_provenance
from compare.record import Boundary, Measurement, Record, Scalar, Stage
from gpu import IMPLEMENTATIONS
from gpu.runtime import loop, nvml
from gpu.runtime.device import Device, DeviceError, open_device
from gpu.runtime.results import band, from_timing, revised, write
from gpu.track.bench import Bench
from gpu.track.kernels import SOURCES, Kernel, Network, supported
from workloads.api import UnknownNameError

BATCHES = tuple(4**i for i in range(11))
#: Distinct hits of an input batch; larger batches repeat them.
DISTINCT = 2**15
#: The buffer sets together exceed the last-level cache of any device that we know twice over, as far as MAX_SETS goes.
ROTATE_BYTES = 192 * 2**20
MAX_SETS = 256
CHECKED_HITS = 16_384
Progress = Callable[[str, int, int], None]


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
    5 s each by NVML, at the launch configuration that gave the throughput. Errors: UnknownNameError, DeviceError,
    WrongResultError, and nvml.EnergyError where energy was asked for and cannot be had.
    """
    work = _workload(workload)
    if case not in work.cases:
        raise UnknownNameError("case", case, tuple(work.cases))
    if not batches or min(batches) < 1:
        raise DeviceError(f"batch sizes must be positive, got {list(batches)}")
    opened = open_device(device)
    try:
        parameters = importlib.import_module(f"workloads.{workload}.parameters")
        network = Network.of(parameters.load(case))
        able = supported(network, opened.info)
        for name in arithmetics or ():
            if name not in able and not (baseline and name in ("fp32", "fp16")):
                raise UnknownNameError(f"arithmetic on {opened.info.slug}", name, able)
        session = _Session(workload, case, opened, network, work, budget or loop.Budget(), seed, command)
        points = list(_points(workload, opened, able, batches, arithmetics, modes, baseline))
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


def _points(
    workload: str,
    device: Device,
    able: Sequence[str],
    batches: Sequence[int],
    arithmetics: Sequence[str] | None,
    modes: Sequence[str] | None,
    baseline: bool,
) -> Iterator[Point]:
    for batch in batches:
        for arithmetic in able:
            if arithmetics is None or arithmetic in arithmetics:
                for mode in device.modes:
                    if modes is None or mode in modes:
                        yield Point(f"gpu/{workload}/{device.info.api}", batch, arithmetic, mode)
        if baseline:
            for arithmetic in ("fp32", "fp16"):
                if arithmetics is None or arithmetic in arithmetics:
                    for mode in ("eager", "graph"):
                        if modes is None or mode in modes:
                            yield Point(f"gpu/{workload}/torch", batch, arithmetic, mode)


class _Session:
    """What the points of one run share: compiled kernels, inputs, the energy meter."""

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
    ) -> None:
        self.workload, self.case, self.device, self.network = workload, case, device, network
        self.work, self.budget, self.seed, self.command = work, budget, seed, command
        self.bench = Bench(device, network)
        self._distinct: NDArray[np.float32] | None = None
        self._tuned: dict[tuple[str, int], Kernel] = {}
        self._meter: nvml.Nvml | None = None
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
            "batch": point.batch,
            "arithmetic": point.arithmetic,
            "launch_mode": point.mode,
            "transfers": "none at boundaries kernel and host; in and out, pageable host memory, at boundary device",
            "seed": self.seed,
            "distinct_inputs": min(point.batch, DISTINCT),
        }
        runner: Any
        if point.implementation.endswith("/torch"):
            runner, files, tools, tier = self._baseline(point, x, conditions)
        else:
            runner, files, tools, tier = self._kernel(point, x, conditions)
        try:
            timing = loop.measure(runner, self.budget)
            measurements = from_timing(timing)
            conditions["warmup_launches"] = timing.warmup
            conditions["launches_per_round"] = timing.per_round
            if energy:
                measurements += self._energy(runner, conditions)
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
            provenance=make_provenance(self.command, files, tools, tier, _instruments(energy)),
            measurements=tuple(measurements),
        )

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
        module = importlib.import_module(IMPLEMENTATIONS[point.implementation])
        if module.device_slug() != self.device.info.slug:
            raise DeviceError(f"PyTorch sees {module.device_slug()}, not {self.device.info.slug}")
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
        if point.implementation.endswith("/torch"):
            module = importlib.import_module(IMPLEMENTATIONS[point.implementation])
            allowed = module.tolerance(self.network, point.arithmetic, x[:CHECKED_HITS])
        if worst > allowed:
            raise WrongResultError(f"{point}: outputs differ from the oracle by {worst:g}, allowed {allowed:g}")
        conditions |= {"checked_hits": checked, "worst_difference": worst, "tolerance": allowed}

    def _energy(self, runner: Any, conditions: dict[str, Scalar]) -> list[Measurement]:
        if self._meter is None:
            if self.device.info.nvml_index is None:
                raise nvml.EnergyError(f"{self.device.info.slug}: no energy counter (NVML is for NVIDIA GPUs)")
            self._meter = nvml.Nvml(self.device.info.nvml_index)
            self._idle = nvml.idle_power(self._meter)
        chunk = loop.launches_for(runner, 0.01)

        def work() -> int:
            for i in range(chunk):
                runner.launch(i % runner.sets)
            runner.finish()
            return chunk

        before = self._meter.celsius()
        work()
        clock = self._meter.sm_clock()
        windows = [nvml.measure_window(self._meter, work) for _ in range(nvml.WINDOWS)]
        gaps = [w.disagreement for w in windows if w.disagreement is not None]
        conditions |= {
            "energy_windows": len(windows),
            "energy_window_seconds": round(min(w.seconds for w in windows), 3),
            "energy_idle": "included",
            "temperature_before": before,
            "temperature_after": self._meter.celsius(),
            "sm_clock_mhz": clock,
            "power_check": round(max(gaps), 4) if gaps else None,
            "power_check_passed": max(gaps) <= nvml.AGREEMENT if gaps else None,
        }
        assert self._idle is not None
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
        stem = f"{options.workload}-{options.device.replace(':', '-')}-{options.case}"
        print(write(options.out, stem, (revised(record, options.revision) for record in records)))
    except (UnknownNameError, DeviceError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (WrongResultError, nvml.EnergyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
