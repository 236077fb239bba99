"""What the oracle of a workload says of its cases, as records: operations, quality, generated pictures."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec

from compare.motion import STEP_FS
from compare.provenance import make_provenance
from compare.record import Boundary, Measurement, Record, Scalar, Stage, unit_of
from compare.samples import REAL, pack
from compare.traces import pack as pack_trace
from gatewarp import registry

#: Pictures of each arithmetic, and the seed of their inputs.
PICTURES = 24
SEED = 1


def records(workload: str, case: str | None) -> list[Record]:
    """All of it, of each case or the one named. Errors: UnknownNameError; whatever the workload raises."""
    made: list[Record] = []
    for name in registry.workload(workload).cases:
        if case in (None, name):
            made += [*operations(workload, name), *systems(workload, name), *traces(workload, name)]
            made += [*quality(workload, name), *pictures(workload, name)]
    return made


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


def traces(workload: str, case: str) -> Iterator[Record]:
    """Energy against steps in each arithmetic, of the cases of a workload whose module `traces` has any."""
    if find_spec(f"workloads.{workload}.traces") is None:
        return
    told = importlib.import_module(f"workloads.{workload}.traces")
    if case not in told.CASES:
        return
    module = registry.workload(workload)
    for arithmetic in module.arithmetics:
        trace = told.trace(case, arithmetic)
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


def quality(workload: str, case: str) -> Iterator[Record]:
    """The quality of a case in each arithmetic, computed now.

    Of untrained parameters a workload tells nothing, or only what an arithmetic does to them; their records say so.
    """
    module = registry.workload(workload)
    entry = module.cases[case]
    count = entry.quality_samples or module.quality_samples
    for arithmetic in module.arithmetics:
        measured = [
            Measurement(f"quality.{k}", v, unit_of(f"quality.{k}"), "mean", count, Stage.MEASURED, Boundary.NONE)
            for k, v in module.quality(case, arithmetic).items()
        ]
        if measured:
            conditions: dict[str, Scalar] = {"arithmetic": arithmetic}
            if not entry.trained:
                conditions["parameters"] = "untrained"
            yield _record(workload, case, conditions, measured, module.sources(case))


def pictures(workload: str, case: str) -> Iterator[Record]:
    """What a trained network generates in each arithmetic, and what it was to resemble.

    A workload that generates anything has a module `samples` with `pictures` and `real`; see `workloads.deconv`.
    """
    module = registry.workload(workload)
    if not module.cases[case].trained or find_spec(f"workloads.{workload}.samples") is None:
        return
    samples = importlib.import_module(f"workloads.{workload}.samples")
    sources = [*module.sources(case), f"workloads/{workload}/samples.py"]
    for arithmetic in (REAL, *module.arithmetics):
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
