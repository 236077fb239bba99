"""Run the checks of implementations against the oracle."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass

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
