"""Small synthetic records: figures invented, shapes real."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import settings

from compare.record import Boundary, Measurement, Provenance, Record, Scalar, Stage, unit_of
from compare.rows import Row, rows_of
from compare.stale import StaleCheck
from compare.store import Stored

#: A busy machine is no failed property.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

PROVENANCE = Provenance(
    time="2026-01-02T03:04:05+00:00",
    host="Test CPU, 2 cores, Linux x86_64",
    command="gatewarp measure track",
    revision="abc1234",
    sources=("src",),
    sources_hash="0" * 64,
    tools={"tool": "1.0"},
)


def measurement(
    quantity: str,
    value: float,
    *,
    statistic: str = "exact",
    samples: int = 1,
    stage: Stage = Stage.MEASURED,
    boundary: Boundary = Boundary.KERNEL,
    band: tuple[float, float] | None = None,
    spread: str = "min-max",
) -> Measurement:
    low, high = band if band else (None, None)
    return Measurement(
        quantity=quantity,
        value=value,
        unit=unit_of(quantity),
        statistic=statistic,
        samples=samples,
        stage=stage,
        boundary=boundary,
        low=low,
        high=high,
        spread=spread if band else "",
    )


def record(
    *measurements: Measurement,
    implementation: str = "gpu/track/opencl",
    device: str = "nvidia-h200",
    case: str = "embed",
    workload: str = "track",
    conditions: dict[str, Scalar] | None = None,
    **provenance: Any,
) -> Record:
    return Record(
        workload=workload,
        case=case,
        implementation=implementation,
        device=device,
        conditions=conditions or {},
        provenance=replace(PROVENANCE, **provenance),
        measurements=measurements,
    )


DESIGN = "d" * 64


def simulated(interval: float = 1, cycles: float = 20, design: str = DESIGN, items: int = 100, **kw: Any) -> Record:
    return record(
        measurement("interval", interval, samples=items, stage=Stage.SIMULATED),
        measurement("cycles", cycles, samples=items, stage=Stage.SIMULATED, band=(cycles, cycles)),
        **{
            "implementation": "hls/track/da4ml",
            "device": "simulation",
            "conditions": {"arithmetic": "fixed", "design": design},
            "command": "gatewarp verify track",
            **kw,
        },
    )


def routed(
    fmax: float = 125e6, band: tuple[float, float] = (120e6, 130e6), design: str = DESIGN, seeds: int = 10, **kw: Any
) -> Record:
    return record(
        measurement(
            "fmax",
            fmax,
            statistic="median",
            samples=seeds,
            stage=Stage.POST_ROUTE,
            boundary=Boundary.NONE,
            band=band,
            spread="seeds",
        ),
        measurement("luts", 20910, statistic="count", stage=Stage.POST_ROUTE, boundary=Boundary.NONE),
        measurement("ffs", 8364, statistic="count", stage=Stage.POST_ROUTE, boundary=Boundary.NONE),
        measurement("dsps", 0, statistic="count", stage=Stage.POST_ROUTE, boundary=Boundary.NONE),
        measurement("brams", 0, statistic="count", stage=Stage.POST_ROUTE, boundary=Boundary.NONE),
        **{
            "implementation": "hls/track/da4ml",
            "device": "lfe5u-85f",
            "conditions": {
                "arithmetic": "fixed",
                "board": "ulx3s-85f",
                "seeds": seeds,
                "target_clock_hz": 120e6,
                "design": design,
            },
            "command": "gatewarp build track --board ulx3s-85f",
            **kw,
        },
    )


def kernel(
    batch: int = 1,
    throughput: float = 2e5,
    p50: int = 5000,
    *,
    arithmetic: str = "fixed",
    samples: int = 300_000,
    energy: float | None = 2e-8,
    launch: str = "queue",
    boundary: Boundary = Boundary.KERNEL,
    **kw: Any,
) -> Record:
    made = [
        measurement("throughput", throughput, statistic="median", samples=20, boundary=boundary,
                    band=(throughput * 0.95, throughput * 1.05)),
        measurement("latency", p50, statistic="p50", samples=samples, boundary=boundary, band=(p50 - 50, p50 + 200),
                    spread="p5-p95"),
        measurement("latency", p50 * 2, statistic="p99", samples=samples, boundary=boundary),
        measurement("launch_floor", 4000, statistic="p50", samples=samples, boundary=boundary),
    ]  # fmt: skip
    if energy is not None:
        made.append(measurement("energy", energy, statistic="median", samples=4, boundary=Boundary.BOARD,
                                band=(energy * 0.95, energy * 1.05), spread="accuracy"))  # fmt: skip
    return record(
        *made,
        conditions={"arithmetic": arithmetic, "batch": batch, "launch_mode": launch, **kw.pop("conditions", {})},
        **kw,
    )


def oracle(arithmetic: str, efficiency: float, purity: float, **kw: Any) -> Record:
    return record(
        measurement("quality.efficiency", efficiency, samples=1000, statistic="mean", boundary=Boundary.NONE),
        measurement("quality.purity", purity, samples=1000, statistic="mean", boundary=Boundary.NONE),
        **{"implementation": "workloads/track", "device": "oracle", "conditions": {"arithmetic": arithmetic}, **kw},
    )


def rows(*records: Record, shipped: bool = False, root: Path = Path("/nonexistent")) -> list[Row]:
    check = StaleCheck(root)
    return [row for made in records for row in rows_of(Stored(made, Path("x.jsonl"), 1, shipped), check)]


def whole_story() -> list[Record]:
    """An FPGA design, a GPU kernel in three arithmetics over five batches, an outside baseline, the quality, a CPU."""
    found = [
        simulated(),
        routed(),
        oracle("fixed", 0.991, 0.62),
        oracle("fp32", 0.993, 0.63),
        oracle("fp16", 0.95, 0.6),
    ]
    for batch in (1, 64, 4096, 65536, 2**20):
        for arithmetic, gain in (("fixed", 1.0), ("fp32", 1.5), ("fp16", 2.5)):
            time = int(5000 + batch * 0.04 / gain)
            found.append(
                kernel(batch, batch / time * 1e9, time, arithmetic=arithmetic, energy=14e-9 * (1 + 1e4 / batch))
            )
            host = kernel(batch, batch / (time + 9000) * 1e9, time + 9000, arithmetic=arithmetic, energy=None,
                          boundary=Boundary.HOST, samples=50_000)  # fmt: skip
            found.append(host)
        slow = int(60000 + batch * 0.2)
        found.append(
            kernel(
                batch,
                batch / slow * 1e9,
                slow,
                arithmetic="fp16",
                implementation="gpu/track/torch",
                launch="eager",
                tier="outside baseline",
                energy=90e-9 * (1 + 1e4 / batch),
            )
        )
        found.append(
            kernel(batch, batch / (time * 300) * 1e9, time * 300, arithmetic="fp32", device="cpu-test", energy=None)
        )
    return found
