"""Small synthetic records: figures invented, shapes real."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compare.record import Boundary, Measurement, Provenance, Record, Scalar, Stage, unit_of

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
