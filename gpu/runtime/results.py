"""From times to the measurements of a record, and from records to a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from compare.provenance import utc_now
from compare.record import Boundary, Measurement, Record, Stage
from gpu.runtime import loop
from gpu.runtime.stats import percentile


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


def write(folder: Path, stem: str, records: Iterator[Record]) -> Path:
    """Write records as they come to a temporary name, then rename; an interrupt leaves no half-written file."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = utc_now().replace("+00:00", "Z").replace("-", "").replace(":", "")
    final = folder / f"{stem}-{stamp}.jsonl"
    temporary = folder / f".{stem}-{stamp}-{os.getpid()}.part"
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as stream:
            for record in records:
                stream.write(record.to_json() + "\n")
                stream.flush()
        os.rename(temporary, final)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    return final
