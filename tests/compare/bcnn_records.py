"""Fixture: plausible records of `bcnn` for every implementation. All figures are invented; they are no results.

Shapes, conditions and stages are those of real records, and sizes of the order that the parts allow, so that tables,
figures, ratios and claims can be tested before and apart from any measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from synthetic_records import DESIGN, measurement, record

from compare.record import Boundary, Record, Scalar, Stage
from compare.store import REFERENCE, parse

BATCHES = (1, 4, 16, 64, 256, 512, 1024, 4096)
#: In conditions of every record: what these are.
FIXTURE: dict[str, Scalar] = {"fixture": "invented for tests", "parameters": "untrained"}
#: What a record says that equalled the oracle in every bit.
EXACT: dict[str, Scalar] = {"worst_difference": 0.0, "tolerance": 0.0, "reference": "binary"}

FPGA = "designs/bcnn/stream"


@dataclass(frozen=True)
class Gpu:
    """An invented kernel: ns of one image by each way to launch, at most `peak` images/s, `watts` under full load."""

    implementation: str
    arithmetic: str
    first: dict[str, int]
    peak: float
    watts: float
    tier: str = "product"


#: By case: images/s at most and ns of one image scale with the network.
GPUS = {
    "binarynet": (
        Gpu("gpu/bcnn/cuda", "binary", {"graph": 62_000, "queue": 110_000}, 2.4e6, 520),
        Gpu("gpu/bcnn/opencl", "binary", {"queue": 310_000}, 1.5e5, 450),
        Gpu("gpu/bcnn/torch", "fp16", {"eager": 420_000, "graph": 150_000}, 3.9e5, 680, "outside baseline"),
        Gpu("gpu/bcnn/torch", "int8", {"eager": 600_000, "graph": 190_000}, 4.6e5, 600, "outside baseline"),
    ),
    "digits": (
        Gpu("gpu/bcnn/cuda", "binary", {"graph": 14_000, "queue": 36_000}, 1.4e8, 400),
        Gpu("gpu/bcnn/opencl", "binary", {"queue": 42_000}, 4e7, 380),
        Gpu("gpu/bcnn/torch", "fp16", {"eager": 190_000, "graph": 55_000}, 6e6, 350, "outside baseline"),
        Gpu("gpu/bcnn/torch", "int8", {"eager": 260_000, "graph": 70_000}, 5e6, 330, "outside baseline"),
    ),
}
IDLE = 118.0


def gpu_records(case: str, batches: Iterable[int] = BATCHES) -> Iterator[Record]:
    """A run on the H200: every kernel, way to launch and batch, with energy."""
    for gpu in GPUS[case]:
        for launch, first in gpu.first.items():
            for batch in batches:
                time = round(first + (batch - 1) / gpu.peak * 1e9)
                load = min(1.0, batch * 1e9 / time / gpu.peak)
                yield gpu_record(case, gpu, launch, batch, time, IDLE + load * (gpu.watts - IDLE))


def gpu_record(case: str, gpu: Gpu, launch: str, batch: int, time: int, watts: float) -> Record:
    """One measured point: `time` ns for the batch, `watts` of the board."""
    made = []
    for boundary, more in ((Boundary.KERNEL, 0), (Boundary.HOST, 9000), (Boundary.DEVICE, 21_000 + batch * 300)):
        spent = time + more
        for p, stretch in (("p50", 1.0), ("p99", 1.2)):
            at = round(spent * stretch)
            made.append(
                measurement("latency", at, statistic=p, samples=9000, boundary=boundary, spread="ci99",
                            band=(round(at * 0.99), round(at * 1.01)))
            )  # fmt: skip
        if boundary != Boundary.DEVICE:
            rate = batch * 1e9 / spent
            made.append(
                measurement("throughput", rate, statistic="median", samples=9, boundary=boundary,
                            band=(rate * 0.98, rate * 1.02))
            )  # fmt: skip
            floor = 2300 if launch == "graph" else 4800
            made.append(measurement("launch_floor", floor, statistic="p50", samples=9000, boundary=boundary,
                                    spread="ci99", band=(floor * 0.99, floor * 1.01)))  # fmt: skip
    joule = watts * time * 1e-9 / batch
    board = {"statistic": "mean", "boundary": Boundary.BOARD, "spread": "windows"}
    made += [
        measurement("energy", joule, samples=4, band=(joule * 0.99, joule * 1.01), **board),  # type: ignore[arg-type]
        measurement("power", watts, samples=4, band=(watts * 0.99, watts * 1.01), **board),  # type: ignore[arg-type]
        measurement("idle_power", IDLE, statistic="mean", boundary=Boundary.BOARD),
    ]
    return record(
        *made,
        workload="bcnn",
        case=case,
        implementation=gpu.implementation,
        conditions={
            **FIXTURE, **EXACT, "run": "fixture", "batch": batch, "arithmetic": gpu.arithmetic, "launch_mode": launch,
            "checked_items": min(batch, 512),
        },
        tier=gpu.tier,
        command=f"gatewarp measure bcnn --device cuda:0 --case {case} --baseline",
        source="fixture",
    )  # fmt: skip


def fpga_record(case: str, device: str, *figures: object, command: str, **conditions: Scalar) -> Record:
    return record(
        *figures,  # type: ignore[arg-type]
        workload="bcnn",
        case=case,
        implementation=FPGA,
        device=device,
        conditions={**FIXTURE, "arithmetic": "binary", "batch": "any", "design": f"{case}-{DESIGN}"[:16], **conditions},
        command=command,
        source="fixture",
    )


def simulated(case: str, interval: float, cycles: float, *, jitter: float = 0.0, images: int = 12) -> Record:
    """Cycles between images and through the design, over `images` at the pins."""
    return fpga_record(
        case,
        "simulation",
        measurement("interval", interval, statistic="mean", samples=images - 1, stage=Stage.SIMULATED,
                    band=(interval - jitter, interval + jitter)),
        measurement("cycles", cycles, samples=images, stage=Stage.SIMULATED, band=(cycles, cycles)),
        command=f"gatewarp verify bcnn --case {case}",
        **EXACT,
        interval_full_batch=interval,
        interval_gaps=interval + jitter,
        interval_slow_source=interval + jitter / 2,
    )  # fmt: skip


def synthesised(case: str, device: str, **counts: float) -> Record:
    """Resources after synthesis: no clock, no time."""
    made = [
        measurement(name, count, statistic="count", stage=Stage.POST_SYNTHESIS, boundary=Boundary.NONE)
        for name, count in counts.items()
    ]
    return fpga_record(case, device, *made, command=f"gatewarp build bcnn --case {case} --device {device}")


def routed(case: str, device: str, board: str, mhz: float, **counts: float) -> Record:
    """A routing over ten seeds."""
    band = (mhz * 0.93e6, mhz * 1.06e6)
    made = [
        measurement(name, count, statistic="count", stage=Stage.POST_ROUTE, boundary=Boundary.NONE)
        for name, count in counts.items()
    ]
    fmax = measurement("fmax", mhz * 1e6, statistic="median", samples=10, stage=Stage.POST_ROUTE,
                       boundary=Boundary.NONE, band=band, spread="seeds")  # fmt: skip
    command = f"gatewarp build bcnn --case {case} --board {board}"
    return fpga_record(case, device, fmax, *made, command=command, board=board, seeds=10, target_clock_hz=mhz * 1e6)


def accuracy(case: str, value: float) -> Record:
    """The oracle's accuracy on images that no training saw."""
    return record(
        measurement("quality.accuracy", value, statistic="mean", samples=360, boundary=Boundary.NONE),
        workload="bcnn",
        case=case,
        implementation="workloads/bcnn",
        device="oracle",
        conditions={**FIXTURE, "arithmetic": "binary"},
        command=f"gatewarp verify bcnn --case {case}",
    )


def published() -> list[Record]:
    """The product's own records of what papers say, and of clocks that are assumed: not invented."""
    path = Path(__file__).parents[2] / REFERENCE / "published-bcnn.jsonl"
    return [parse(line) for line in path.read_text(encoding="utf-8").splitlines()]


def whole_story() -> list[Record]:
    """Three cases: the paper's network modelled on its part, CNV on a small part, digits routed on ECP5 and trained."""
    trained = [
        simulated("digits", 194, 1420, images=360),
        routed("digits", "lfe5u-85f", "ulx3s-85f", 78.0, luts=21_400, ffs=9_900, brams=34, dsps=0),
        *gpu_records("digits"),
        accuracy("digits", 0.975),
    ]
    return [
        simulated("binarynet", 12_300, 41_800, jitter=4),
        synthesised("binarynet", "xc7vx690t", luts=398_000, ffs=120_000, brams=930, dsps=0),
        *gpu_records("binarynet"),
        simulated("cnv", 36_870, 96_000, images=16),
        synthesised("cnv", "xc7z020", luts=61_300, ffs=30_000, brams=118, dsps=0),
        *(replace(made, conditions={**made.conditions, "parameters": "trained"}) for made in trained),
        *published(),
    ]
