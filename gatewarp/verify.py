"""Run the checks of implementations against the oracle, and record what they measured and the workload's quality."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass

from compare.provenance import make_provenance
from compare.record import Boundary, Measurement, Record, Stage
from gatewarp import registry
from workloads.api import Check, Progress, UnknownNameError


@dataclass(frozen=True)
class Skipped:
    """An implementation that this machine cannot run, and why."""

    implementation: str
    case: str
    reason: str


def run(
    workload: str, case: str | None, implementation: str | None, samples: int, seed: int, progress: Progress
) -> Iterator[Check | Skipped]:
    """Check every implementation of a workload, or the one named, on every case it has, or the one named.

    Errors: UnknownNameError; whatever a required tool raises when it is missing. Only an outside baseline that is not
    installed and hardware that is not there are skipped.
    """
    registry.check_case(workload, case)
    names = [implementation] if implementation else list(registry.implementations(workload))
    for name in names:
        module = registry.implementation(name, workload)
        if implementation and case is not None and case not in module.CASES:
            raise UnknownNameError(f"case of {implementation}", case, module.CASES)
        for each in registry.cases_of(module, case):
            reason = unavailable(name)
            if reason:
                yield Skipped(name, each, reason)
            else:
                yield from module.verify(each, samples=samples, seed=seed, progress=progress)


def unavailable(implementation: str) -> str:
    """Why this machine cannot run an implementation, or "". Its package says so with `unavailable(name)`."""
    package = importlib.import_module(implementation.split("/")[0])
    tell = getattr(package, "unavailable", None)
    return str(tell(implementation)) if tell else ""


def quality_records(workload: str, case: str | None) -> list[Record]:
    """The quality of each trained case in each arithmetic, computed now by the oracle."""
    module = registry.workload(workload)
    records = []
    for name, entry in module.cases.items():
        if not entry.trained or case not in (None, name):
            continue
        count = entry.quality_samples or module.quality_samples
        for arithmetic in module.arithmetics:
            figures = module.quality(name, arithmetic)
            records.append(
                Record(
                    workload=workload,
                    case=name,
                    implementation=f"workloads/{workload}",
                    device="oracle",
                    conditions={"arithmetic": arithmetic, "batch": "any"},
                    provenance=make_provenance(
                        f"gatewarp verify {workload} --case {name}", module.sources(name), source="oracle"
                    ),
                    measurements=tuple(
                        Measurement(f"quality.{k}", v, "1", "mean", count, Stage.MEASURED, Boundary.NONE)
                        for k, v in figures.items()
                    ),
                )
            )
    return records
