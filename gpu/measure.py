"""Measure the kernels of a workload on a device and yield records.

    python -m gpu.measure track --device opencl:0 --case embed --batch 1 4096 1048576 --out results

Runs on a bare machine: numpy, the standard library and the device's own package. The measured outputs themselves are
checked against the oracle, and a kernel that is wrong gives an error, not a record. What a workload offers to be
measured is in `gpu/<workload>/subjects.py` (see `gpu.api`), how a point is timed in `gpu/session.py`.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from compare.record import Record
from compare.store import write_records
from gpu import IMPLEMENTATIONS, unavailable
from gpu.api import Offer, Subject
from gpu.points import Point, check_numbers, points
from gpu.runtime import loop, nvml
from gpu.runtime.device import Device, DeviceError, Info, open_device
from gpu.session import Session, WrongResultError
from gpu.variation import VariationSession
from workloads.api import Progress, UnknownNameError, Workload

#: Takes a point that failed and why; then the next one is measured.
Failed = Callable[[Point, Exception], None]


class NothingMeasuredError(RuntimeError):
    """Every point of a run that goes on after failures failed."""


def measure(
    workload: str,
    case: str,
    device: str,
    batches: Sequence[int] | None = None,
    arithmetics: Sequence[str] | None = None,
    *,
    modes: Sequence[str] | None = None,
    baseline: bool = False,
    energy_batches: Sequence[int] = (),
    windows: int = nvml.WINDOWS,
    budget: loop.Budget | None = None,
    seed: int = 1,
    command: str = "",
    progress: Progress | None = None,
    failed: Failed | None = None,
) -> Iterator[Record]:
    """Yield one record for each batch, arithmetic and launch mode on `device`, as soon as it is taken.

    `batches` None are the workload's own. `baseline` measures the outside baselines on the same GPU in the same run,
    batch by batch. `energy_batches` get `windows` windows of 5 s each by NVML, at the
    launch configuration that gave the throughput. All records of one call have the same condition `run`. Whatever can
    be refused is refused before the first measurement. With `failed`, a point that fails is told to it and the run
    goes on; NothingMeasuredError when all do. Errors: UnknownNameError, DeviceError, WrongResultError, and
    nvml.EnergyError where energy was asked for and cannot be had; whatever a baseline raises.
    """
    work, offer = _workload(workload)
    if case not in work.cases:
        raise UnknownNameError("case", case, tuple(work.cases))
    largest = getattr(offer, "LARGEST_BATCH", {}).get(case, offer.MAX_BATCH)  # of a case whose items are large or slow
    batches = [n for n in offer.BATCHES if n <= largest] if batches is None else batches
    check_numbers(case, batches, energy_batches, seed, largest)
    opened = open_device(device)
    try:
        subjects = [offer.kernels(case, opened)]
        if baseline:
            subjects += [_baseline(offer, name, case, opened) for name in offer.BASELINES]
        todo = points(device, subjects, batches, arithmetics, modes)
        meter = _meter(opened.info, needed=bool(energy_batches))
        common = (work, case, offer, opened.info, budget or loop.Budget(), seed, command)
        runs = getattr(offer, "RUNS", 0)  # a workload that is about run-to-run variation says how many
        usual = partial(VariationSession, runs=runs) if runs else Session
        make = getattr(offer, "SESSION", usual)  # of items that follow from each other
        session = make(*common, meter=meter, windows=windows)
        taken = 0
        for index, point in enumerate(todo):
            if progress is not None:
                progress(f"{case} {point}", index, len(todo))
            try:
                record = session.record(point, energy=point.batch in energy_batches)
            except Exception as error:
                if failed is None:
                    raise
                failed(point, error)
                continue
            taken += 1
            yield record
        if not taken:
            raise NothingMeasuredError(f"all {len(todo)} points failed")
    finally:
        opened.close()


def first_case(workload: str) -> str:
    """The case that is measured when none is named. Errors: UnknownNameError listing the workloads."""
    return next(iter(_workload(workload)[0].cases))


def _workload(name: str) -> tuple[Workload, Offer]:
    """The workload and how it is measured. Errors: UnknownNameError listing those that have GPU kernels."""
    valid = sorted(p.parent.name for p in Path(__file__).parent.glob("*/subjects.py"))
    if name not in valid:
        raise UnknownNameError("workload", name, valid)
    offer: Any = importlib.import_module(f"gpu.{name}.subjects")
    work: Workload = importlib.import_module(f"workloads.{name}").WORKLOAD
    return work, offer


def _baseline(offer: Offer, name: str, case: str, device: Device) -> Subject:
    """An outside baseline. Errors: DeviceError where it is not installed or uses another device."""
    if reason := unavailable(name):
        raise DeviceError(reason)
    module = importlib.import_module(IMPLEMENTATIONS[name])
    try:
        seen = module.device_slug()
    except (RuntimeError, AssertionError) as error:  # PyTorch without CUDA, or CUDA without a GPU
        raise DeviceError(f"PyTorch has no GPU here: {error}") from None
    if seen != device.info.slug:
        raise DeviceError(f"PyTorch sees {seen}, not {device.info.slug}")
    return offer.baseline(name, case, device)


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


class Failures(list[str]):
    """Points that failed, as `measure(failed=...)` tells them."""

    def __call__(self, point: Point, error: Exception) -> None:
        """Note it in one line."""
        first = (str(error) or type(error).__name__).splitlines()[0]
        self.append(f"{point}: {type(error).__name__}: {first}")


def revised(record: Record, revision: str) -> Record:
    """Name the revision where git cannot; the hash of the sources stays what it is."""
    if not revision or record.provenance.revision != "unknown":
        return record
    return replace(record, provenance=replace(record.provenance, revision=revision))


def product_command(options: argparse.Namespace) -> str:
    """The `gatewarp measure` command that renews these records: options once for each value, no output folder."""
    words = ["gatewarp", "measure", options.workload, "--device", options.device, "--case", options.case]
    for flag in ("batch", "arithmetic", "mode", "energy"):
        words += [word for value in getattr(options, flag) or () for word in (f"--{flag}", str(value))]
    words += ["--baseline"] if options.baseline else []
    defaults = {
        "windows": nvml.WINDOWS,
        "seconds": loop.Budget.seconds,
        "launches": loop.Budget.launches,
        "seed": 1,
    }
    for flag, usual in defaults.items():
        if getattr(options, flag) != usual:
            words += [f"--{flag}", str(getattr(options, flag))]
    return " ".join(words)


def parser() -> argparse.ArgumentParser:
    """The options of `python -m gpu.measure`."""
    made = argparse.ArgumentParser("python -m gpu.measure", description="Measure kernels and write records.")
    made.add_argument("workload")
    made.add_argument("--device", required=True, help="opencl:0, cuda:0, null")
    made.add_argument("--case", help="default: the workload's first")
    made.add_argument("--batch", type=int, nargs="+", action="extend", help="default: the workload's own")
    made.add_argument("--arithmetic", nargs="+", action="extend")
    made.add_argument("--mode", nargs="+", action="extend", help="queue, graph; of baselines eager, jit, ...")
    made.add_argument("--baseline", action="store_true", help="also the outside baselines on the same GPU")
    made.add_argument("--energy", type=int, nargs="+", action="extend", metavar="BATCH", help="with NVML")
    made.add_argument("--windows", type=int, default=nvml.WINDOWS, help="windows of 5 s for each energy")
    made.add_argument("--seconds", type=float, default=loop.Budget.seconds, help="time for each boundary")
    made.add_argument("--launches", type=int, default=loop.Budget.launches, help="launches at most")
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--keep-going", action="store_true", help="go on after a failure, keep records when interrupted")
    made.add_argument("--out", type=Path, default=Path("results"))
    made.add_argument("--revision", default="", help="git revision of a folder copied without git")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of `python -m gpu.measure`; exit code 0, 1 (failed) or 2 (misuse)."""
    options = parser().parse_args(arguments)
    failures = Failures()
    try:
        options.case = options.case or first_case(options.workload)
        records = measure(
            options.workload,
            options.case,
            options.device,
            options.batch,
            options.arithmetic,
            modes=options.mode,
            baseline=options.baseline,
            energy_batches=options.energy or (),
            windows=options.windows,
            budget=loop.Budget(launches=options.launches, seconds=options.seconds),
            seed=options.seed,
            command=product_command(options),
            progress=lambda what, done, total: print(f"[{done + 1}/{total}] {what}", file=sys.stderr, flush=True),
            failed=failures if options.keep_going else None,
        )
        words = ("measure", options.workload, options.device, options.case)
        stem = "-".join(re.sub(r"[^A-Za-z0-9._-]", "-", word) for word in words)
        made = (revised(record, options.revision) for record in records)
        print(write_records(options.out, stem, made, keep=options.keep_going))
    except (UnknownNameError, DeviceError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (WrongResultError, NothingMeasuredError, nvml.EnergyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        for failure in failures:
            print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
