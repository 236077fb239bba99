"""Fixture: plausible records of `md`. All figures are invented; they are no results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from synthetic_records import measurement, record

from compare.record import Boundary, Record, Scalar, Stage
from compare.traces import pack

#: Atoms, pairs within the cutoff and candidates of a step, fs of a step or None.
SYSTEMS: dict[str, tuple[int, int, int, float | None]] = {
    "lj864": (864, 23_800, 153_000, None),
    "argon20k": (20_000, 3_320_000, 21_400_000, 2.0),
    "melt1k": (1_372, 37_800, 243_000, None),
    "melt108k": (108_000, 2_980_000, 19_100_000, None),
}
ENGINE = "designs/md/range_limited"
#: Steps/s of kernels by case.
RATES = {
    "gpu/md/cuda": {"lj864": 90_000, "argon20k": 15_000, "melt1k": 85_000, "melt108k": 9_000},
    "gpu/md/jax_md": {"lj864": 7_000, "argon20k": 1_300, "melt1k": 6_800, "melt108k": 260},
}
NONE = Boundary.NONE


def of_oracle(case: str, *figures: object, **conditions: Scalar) -> Record:
    return record(
        *figures,  # type: ignore[arg-type]
        workload="md", case=case, implementation="workloads/md", device="oracle",
        conditions={"batch": "any", **conditions}, command=f"gatewarp verify md --case {case}", source="oracle",
    )  # fmt: skip


def system(case: str) -> Record:
    atoms, pairs, candidates, step = SYSTEMS[case]
    counts = {"atoms": atoms, "pairs": pairs, "candidates": candidates, "flops": 23}
    made = [measurement(n, v, stage=Stage.MODELLED, boundary=NONE) for n, v in counts.items()]
    return of_oracle(case, *made, **({} if step is None else {"step_fs": step}))


def quality(case: str, arithmetic: str, force: float, drift: float) -> Record:
    made = [measurement("quality.force_error", force, statistic="mean", samples=8, boundary=NONE)]
    if drift:
        made.append(measurement("quality.energy_drift", drift, statistic="mean", samples=8, boundary=NONE))
    return of_oracle(case, *made, arithmetic=arithmetic)


def trace(case: str, arithmetic: str, slope: float) -> Record:
    rng = np.random.default_rng(1)
    energy = -5.0 + slope * np.arange(101) + 1e-5 * rng.standard_normal(101)
    points = measurement("points", 101, statistic="count", boundary=NONE)
    return of_oracle(case, points, arithmetic=arithmetic, **pack(energy, 100, "epsilon"))


def kernel(implementation: str, case: str, batch: int, rate: float) -> Record:
    boundary = Boundary.KERNEL
    made = [
        measurement("throughput", rate, statistic="median", samples=9, band=(rate * 0.99, rate * 1.01)),
        measurement("latency", round(batch * 1e9 / rate), statistic="p50", samples=9000, boundary=boundary,
                    band=(round(batch * 0.99e9 / rate), round(batch * 1.01e9 / rate)), spread="ci99"),
        measurement("quality.force_error", 3e-7, statistic="mean", samples=1, boundary=NONE),
    ]  # fmt: skip
    return record(
        *made, workload="md", case=case, implementation=implementation, device="nvidia-h200",
        conditions={"run": "fixture", "batch": batch, "arithmetic": "fp32", "launch_mode": "graph",
                    "energy_change": -1.25e-4, "steps_run": 411_000},
        tier="product" if implementation == "gpu/md/cuda" else "outside baseline",
        command=f"gatewarp measure md --device cuda:0 --case {case} --baseline",
    )  # fmt: skip


def engine(case: str, device: str, pipelines: int, *figures: object, **conditions: Scalar) -> Record:
    return record(
        *figures,  # type: ignore[arg-type]
        workload="md", case=case, implementation=ENGINE, device=device,
        conditions={"arithmetic": "fixed", "batch": "any", "pipelines": pipelines, "design": f"{case}-{pipelines}",
                    **conditions},
        command=f"gatewarp verify md --case {case}",
    )  # fmt: skip


def simulated(case: str, pipelines: int, interval: int) -> Record:
    cycles = measurement("interval", interval, stage=Stage.SIMULATED, samples=99)
    busy = measurement("utilisation", 0.9, statistic="mean", stage=Stage.SIMULATED, samples=pipelines,
                       band=(0.88, 0.92), spread="pipelines")  # fmt: skip
    return engine(case, "simulation", pipelines, cycles, busy)


def whole_story() -> Iterator[Record]:
    for case in SYSTEMS:
        yield system(case)
        drift = 1e-4 if case == "lj864" else 0.0
        yield quality(case, "fp32", 2e-7, drift)
        yield quality(case, "fixed", 4e-5, drift * 1.5)
        for implementation, rates in RATES.items():
            for batch, share in ((1, 0.4), (1000, 1.0)):
                yield kernel(implementation, case, batch, rates[case] * share)
    for arithmetic, slope in (("fp64", 0.0), ("fp32", 1e-6), ("fixed", 2e-6)):
        yield trace("lj864", arithmetic, slope)
    yield simulated("lj864", 5, 6_200)
    fmax = measurement("fmax", 90e6, statistic="median", samples=10, stage=Stage.POST_ROUTE, boundary=NONE,
                       band=(85e6, 95e6), spread="seeds")  # fmt: skip
    yield engine("lj864", "lfe5u-85f", 5, fmax, board="ulx3s-85f")
    yield simulated("argon20k", 40, 112_000)
    clock = measurement("clock", 340e6, stage=Stage.MODELLED, boundary=NONE)
    yield engine("argon20k", "xcvu9p", 40, clock)
