"""What there is: workloads, cases, implementations. Found by folder and by name, imported when used."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compare.provenance import repo_root
from workloads.api import UnknownNameError, Workload

TECHNOLOGIES = ("designs", "hls", "gpu")


def workload_names() -> list[str]:
    """Names of all workloads: the folders of `workloads/`."""
    return sorted(p.parent.name for p in (repo_root() / "workloads").glob("*/__init__.py"))


def workload(name: str) -> Workload:
    """A workload by name. Errors: UnknownNameError listing all."""
    if name not in workload_names():
        raise UnknownNameError("workload", name, workload_names())
    found: Workload = importlib.import_module(f"workloads.{name}").WORKLOAD
    return found


def check_case(name: str, case: str | None) -> None:
    """Errors: UnknownNameError for a case that the workload does not have; None is any case."""
    cases = workload(name).cases
    if case is not None and case not in cases:
        raise UnknownNameError("case", case, tuple(cases))


def implementations(workload_name: str | None = None) -> dict[str, str]:
    """Public name to import path of all implementations, or of those of one workload."""
    found: dict[str, str] = {}
    for technology in TECHNOLOGIES:
        entries: Mapping[str, str] = getattr(importlib.import_module(technology), "IMPLEMENTATIONS", {})
        found.update(entries)
    return {k: v for k, v in found.items() if workload_name is None or k.split("/")[1] == workload_name}


def implementation(name: str, workload_name: str | None = None) -> Any:
    """The module of an implementation. Errors: UnknownNameError listing those of the workload."""
    known = implementations(workload_name)
    if name not in known:
        raise UnknownNameError("implementation", name, tuple(known))
    return importlib.import_module(known[name])


def cases_of(module: Any, case: str | None) -> list[str]:
    """The cases of an implementation: all for None, else the one named if it has it."""
    return [each for each in module.CASES if case in (None, each)]


def results_folder() -> Path:
    """Where the user's own records go: $GATEWARP_RESULTS, or `results/` of the checkout or of the working folder."""
    if chosen := os.environ.get("GATEWARP_RESULTS"):
        return Path(chosen)
    root: Path = repo_root()
    return (root if (root / "pyproject.toml").exists() else Path.cwd()) / "results"
