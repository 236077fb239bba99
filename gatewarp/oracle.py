"""What the oracle of a workload says of its cases, as records: operations, quality, generated pictures, traces.

What takes long is not computed again while a record of today's sources has it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

from compare.motion import STEP_FS
from compare.provenance import make_provenance, repo_root
from compare.record import Boundary, Measurement, Record, Scalar, Stage, unit_of
from compare.rows import ORACLE, text
from compare.samples import REAL, pack
from compare.stale import StaleCheck
from compare.store import scan
from compare.traces import pack as pack_trace
from gatewarp import registry
from workloads.api import Progress

#: Pictures of each arithmetic, and the seed of their inputs.
PICTURES = 24
SEED = 1


#: What a record of the oracle tells, by a quantity in it: case, kind and arithmetic.
Known = frozenset[tuple[str, str, str]]
NOTHING: Known = frozenset()


def records(workload: str, case: str | None, known: Known = NOTHING, progress: Progress | None = None) -> list[Record]:
    """All of it, of each case or the one named, but for what is `known`.

    Errors: UnknownNameError; whatever the workload raises.
    """
    made: list[Record] = []
    for name in registry.workload(workload).cases:
        if case in (None, name):
            made += [*operations(workload, name), *systems(workload, name)]
            made += traces(workload, name, known, progress)
            made += quality(workload, name, known, progress)
            made += pictures(workload, name, known)
    return made


def known(workload: str, folders: Sequence[Path]) -> Known:
    """What records of today's sources in these folders have, of what takes long: quality, pictures, traces."""
    stale = StaleCheck(repo_root())
    found = set()
    for item in scan(*folders)[0]:
        r = item.record
        if r.device == ORACLE and r.workload == workload and not stale(r):
            found |= {(r.case, m.quantity.split(".")[0], text(r.conditions.get("arithmetic"))) for m in r.measurements}
    return frozenset(found)


def systems(workload: str, case: str) -> Iterator[Record]:
    """What a step of molecular dynamics holds, counted at the start of a case: see `workloads.md`."""
    module = registry.workload(workload)
    if not hasattr(module, "counts"):
        return
    counts = dict(module.counts(case))
    step = counts.pop("step_fs", None)
    measured = [
        Measurement(name, count, unit_of(name), "exact", 1, Stage.MODELLED, Boundary.NONE)
        for name, count in counts.items()
    ]
    conditions: dict[str, Scalar] = {} if step is None else {STEP_FS: step}
    yield _record(workload, case, conditions, measured, module.sources(case))


def traces(workload: str, case: str, known: Known = NOTHING, progress: Progress | None = None) -> Iterator[Record]:
    """Energy against steps in each arithmetic, of the cases of a workload whose module `traces` has any."""
    if find_spec(f"workloads.{workload}.traces") is None:
        return
    told = importlib.import_module(f"workloads.{workload}.traces")
    if case not in told.CASES:
        return
    module = registry.workload(workload)
    for arithmetic in module.arithmetics:
        if (case, "points", arithmetic) in known:
            continue
        trace = told.trace(case, arithmetic, progress)
        measured = [Measurement("points", len(trace.energy), "1", "count", 1, Stage.MEASURED, Boundary.NONE)]
        conditions = {"arithmetic": arithmetic, **pack_trace(trace.energy, trace.steps, trace.unit)}
        yield _record(workload, case, conditions, measured, module.sources(case))


def operations(workload: str, case: str) -> Iterator[Record]:
    """The operations of an item of a case, two for each multiply-accumulate.

    Nothing where no publication counts them in another way: items a second say it all there.
    """
    module = registry.workload(workload)
    work = module.operations(case)
    if not work.equivalent_macs:
        return
    counts = {"useful": work.macs, "kept": work.kept_macs, "equivalent": work.equivalent_macs}
    measured = [
        Measurement(f"operations.{kind}", 2 * count, "op/item", "exact", 1, Stage.MODELLED, Boundary.NONE)
        for kind, count in counts.items()
    ]
    yield _record(workload, case, {}, measured, module.sources(case))


def quality(workload: str, case: str, known: Known = NOTHING, progress: Progress | None = None) -> Iterator[Record]:
    """The quality of a case in each arithmetic, computed now unless it is `known`.

    Of untrained parameters a workload tells nothing, or only what an arithmetic does to them; their records say so.
    """
    module = registry.workload(workload)
    entry = module.cases[case]
    count = entry.quality_samples or module.quality_samples
    # Of molecular dynamics it takes minutes, which that workload tells of.
    more: dict[str, Any] = {"progress": progress} if "progress" in signature(module.quality).parameters else {}
    for arithmetic in module.arithmetics:
        if (case, "quality", arithmetic) in known:
            continue
        measured = [
            Measurement(f"quality.{k}", v, unit_of(f"quality.{k}"), "mean", count, Stage.MEASURED, Boundary.NONE)
            for k, v in module.quality(case, arithmetic, **more).items()
        ]
        if measured:
            conditions: dict[str, Scalar] = {"arithmetic": arithmetic}
            if not entry.trained:
                conditions["parameters"] = "untrained"
            yield _record(workload, case, conditions, measured, module.sources(case))


def pictures(workload: str, case: str, known: Known = NOTHING) -> Iterator[Record]:
    """What a trained network generates in each arithmetic, and what it was to resemble.

    A workload that generates anything has a module `samples` with `pictures` and `real`; see `workloads.deconv`.
    """
    module = registry.workload(workload)
    if not module.cases[case].trained or find_spec(f"workloads.{workload}.samples") is None:
        return
    samples = importlib.import_module(f"workloads.{workload}.samples")
    sources = [*module.sources(case), f"workloads/{workload}/samples.py"]
    for arithmetic in (REAL, *module.arithmetics):
        if (case, "samples", arithmetic) in known:
            continue
        if arithmetic == REAL:
            shown = samples.real(case, PICTURES, SEED)
        else:
            shown = samples.pictures(case, PICTURES, arithmetic, SEED)
        measured = [Measurement("samples", len(shown), "1", "count", 1, Stage.MEASURED, Boundary.NONE)]
        conditions = {"arithmetic": arithmetic, "seed": SEED, **pack(shown)}
        yield _record(workload, case, conditions, measured, sources)


def _record(
    workload: str,
    case: str,
    conditions: Mapping[str, Scalar],
    measured: Sequence[Measurement],
    sources: Sequence[str],
) -> Record:
    command = f"gatewarp verify {workload} --case {case}"
    return Record(
        workload=workload,
        case=case,
        implementation=f"workloads/{workload}",
        device="oracle",
        conditions={"batch": "any", **conditions},
        provenance=make_provenance(command, sources, source="oracle"),
        measurements=tuple(measured),
    )
