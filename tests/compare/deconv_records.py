"""Fixture: plausible records of `deconv` for every implementation. All figures are invented; they are no results.

Shapes, conditions and stages are those of real records, and sizes of the order that the parts allow, so that tables,
figures, ratios and claims can be tested before and apart from any measurement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from synthetic_records import measurement, record

from compare.record import Boundary, Record, Scalar, Stage
from compare.samples import pack
from compare.store import REFERENCE, parse

BATCHES = (1, 16, 512)
#: In conditions of every record: what these are.
FIXTURE: dict[str, Scalar] = {"fixture": "invented for tests"}
EXACT: dict[str, Scalar] = {"worst_difference": 0.0, "tolerance": 0.0}
NONE, KERNEL = Boundary.NONE, Boundary.KERNEL

ORIENTED, REVERSE = "designs/deconv/input_oriented", "designs/deconv/reverse_loop"
VC709: dict[str, Scalar] = {"multipliers": 2048, "Tm": 2, "Tn": 16, "Tz": 4, "Tr": 4, "Tc": 4}
Z7020: dict[str, Scalar] = {"multipliers": 16, "Tm": 4, "Tn": 4, "Tz": 1, "Tr": 1, "Tc": 1}
ULX3S: dict[str, Scalar] = {"multipliers": 128, "Tm": 4, "Tn": 32, "Tz": 1, "Tr": 1, "Tc": 1}
#: Items at the pins: of a large network a simulation affords two.
ITEMS = {"digits": 100, "mnist": 24}
ENGINES = {2048: "vc709", 16: "z7020", 128: "ulx3s_digits"}
#: Useful, kept and equivalent multiply-accumulates of an item, as the workload counts them.
MACS = {
    "digits": (575_488, 449_664, 2_639_872),
    "mnist": (4_390_912, 3_637_376, 18_350_080),
    "celeba": (27_000_832, 23_454_080, 111_149_056),
    "dcgan": (640_614_400, 536_341_888, 2_582_118_400),
    "gan3d": (3_898_867_712, 3_331_358_208, 31_557_943_296),
}
LAYERS = {"digits": 3, "mnist": 4, "celeba": 5, "dcgan": 5, "gan3d": 5}


@dataclass(frozen=True)
class Gpu:
    """An invented kernel: by case ns of one item and items/s at most; watts under full load; scatter of its runs."""

    implementation: str
    arithmetic: str
    launch: str
    first: dict[str, float]
    peak: dict[str, float]
    watts: float
    scatter: float
    tolerance: float = 0.0
    tier: str = "product"


def by_case(*values: float) -> dict[str, float]:
    return dict(zip(("digits", "mnist", "celeba", "dcgan", "gan3d"), values, strict=True))


GPUS = (
    Gpu("gpu/deconv/cuda", "fp16", "graph", by_case(6_000, 8_000, 14_000, 40_000, 150_000),
        by_case(9e7, 2e7, 4e6, 3e5, 4e4), 560, 0.0016, 2e-3),
    Gpu("gpu/deconv/cuda", "fixed8", "graph", by_case(5_500, 7_000, 12_000, 34_000, 120_000),
        by_case(1e8, 3e7, 6e6, 5e5, 6e4), 540, 0.0021),
    Gpu("gpu/deconv/opencl", "fixed16", "queue", by_case(20_000, 30_000, 60_000, 260_000, 900_000),
        by_case(2e7, 3e6, 5e5, 2e4, 3e3), 470, 0.004),
    Gpu("gpu/deconv/torch", "fp16", "best", by_case(60_000, 70_000, 90_000, 130_000, 500_000),
        by_case(9e6, 3e6, 9e5, 9e4, 1e4), 640, 0.011, 2e-3, "outside baseline"),
)  # fmt: skip
IDLE = 118.0


def gpu_records(case: str) -> Iterator[Record]:
    """A run on the H200: every kernel and batch, with energy and the rates of 30 windows of equal work."""
    for number, gpu in enumerate(GPUS):
        for batch in BATCHES:
            time = round(gpu.first[case] + (batch - 1) / gpu.peak[case] * 1e9)
            load = min(1.0, batch * 1e9 / time / gpu.peak[case])
            yield gpu_record(case, gpu, batch, time, IDLE + load * (gpu.watts - IDLE), number)


def gpu_record(case: str, gpu: Gpu, batch: int, time: int, watts: float, seed: int) -> Record:
    """One measured point: `time` ns for the batch, `watts` of the board."""
    made = []
    rate = batch * 1e9 / time
    for boundary, more in ((KERNEL, 0), (Boundary.HOST, 9000), (Boundary.DEVICE, 21_000 + batch * 300)):
        for p, stretch in (("p50", 1.0), ("p99", 1.2)):
            at = round((time + more) * stretch)
            made.append(measurement("latency", at, statistic=p, samples=9000, boundary=boundary, spread="ci99",
                                    band=(round(at * 0.99), round(at * 1.01))))  # fmt: skip
    rng = np.random.default_rng([seed, batch])
    kinds = ((KERNEL, 0.97, "min-max", 9), (Boundary.HOST, 0.98, "min-max", 9), (Boundary.HOST, 0.98, "std", 30))
    for boundary, scale, spread, count in kinds:
        values = tuple(float(v) for v in rate * scale * (1 + gpu.scatter * rng.standard_normal(count)))
        mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
        bounds = (mean - deviation, mean + deviation) if spread == "std" else (min(values), max(values))
        statistic = "mean" if spread == "std" else "median"
        made.append(replace(measurement("throughput", mean, statistic=statistic, samples=count, boundary=boundary,
                                        spread=spread, band=bounds), values=values))  # fmt: skip
    joule = watts / rate
    board = {"statistic": "mean", "boundary": Boundary.BOARD, "spread": "windows"}
    made += [
        measurement("energy", joule, samples=4, band=(joule * 0.99, joule * 1.01), **board),  # type: ignore[arg-type]
        measurement("power", watts, samples=4, band=(watts * 0.99, watts * 1.01), **board),  # type: ignore[arg-type]
        measurement("idle_power", IDLE, statistic="mean", boundary=Boundary.BOARD),
    ]
    return record(
        *made,
        workload="deconv",
        case=case,
        implementation=gpu.implementation,
        conditions={
            **FIXTURE, "run": "fixture", "batch": batch, "arithmetic": gpu.arithmetic, "launch_mode": gpu.launch,
            "parameters": "trained" if case == "digits" else "untrained", "worst_difference": gpu.tolerance / 3,
            "tolerance": gpu.tolerance, "runs": 30, "launches_per_run": 400,
        },
        tier=gpu.tier,
        command=f"gatewarp measure deconv --device cuda:0 --case {case} --baseline",
        source="fixture",
    )  # fmt: skip


def fpga_record(case: str, implementation: str, device: str, array: dict[str, Scalar], *figures: object,
                **conditions: Scalar) -> Record:  # fmt: skip
    bits = "fixed8" if array is ULX3S else "fixed16"
    return record(
        *figures,  # type: ignore[arg-type]
        workload="deconv",
        case=case,
        implementation=implementation,
        device=device,
        conditions={**FIXTURE, "arithmetic": bits, "batch": "any", **array, "design": f"{case}-{array['multipliers']}",
                    "engine": ENGINES.get(int(str(array["multipliers"])), "other"), **conditions},
        command=f"gatewarp verify deconv --case {case}",
        source="fixture",
    )  # fmt: skip


def in_cycles(quantity: str, value: float, samples: int = 9) -> object:
    return measurement(quantity, value, stage=Stage.SIMULATED, samples=samples)


def simulated(case: str, implementation: str, array: dict[str, Scalar], share: float, zeros: int = 0) -> list[Record]:
    """A network whose multipliers do useful products in a share of their time, and its layers."""
    useful, kept, _ = MACS[case]
    multipliers = array["multipliers"]
    assert isinstance(multipliers, int)
    interval = round(useful / multipliers / share)
    traffic = [in_cycles("bandwidth.weights", 61.25), in_cycles("bandwidth.inputs", 0.5)] if array is VC709 else []

    def busy(share: float) -> list[object]:
        return [in_cycles("utilisation", share), in_cycles("utilisation.kept", share * kept / useful), *traffic]

    cycles = measurement("cycles", interval + 900, samples=9, stage=Stage.SIMULATED,
                         band=(interval + 900, interval + 900))  # fmt: skip
    whole = fpga_record(
        case, implementation, "simulation", array, in_cycles("interval", interval, ITEMS.get(case, 2) - 1), cycles,
        *busy(share),
        measurement("zero_products", zeros, statistic="count", stage=Stage.SIMULATED), items=ITEMS.get(case, 2),
        **EXACT,
    )  # fmt: skip
    layers = [
        fpga_record(case, implementation, "simulation", array, in_cycles("cycles", interval // LAYERS[case]),
                    *busy(min(1.0, share * (0.9 + 0.05 * number))), layer=f"deconv{number}", layer_index=number,
                    items=ITEMS.get(case, 2))
        for number in range(1, LAYERS[case] + 1)
    ]  # fmt: skip
    return [whole, *layers]


def routed(case: str, implementation: str, mhz: float, **counts: float) -> Record:
    """A routing over ten seeds."""
    made = [measurement(n, c, statistic="count", stage=Stage.POST_ROUTE, boundary=NONE) for n, c in counts.items()]
    fmax = measurement("fmax", mhz * 1e6, statistic="median", samples=10, stage=Stage.POST_ROUTE, boundary=NONE,
                       band=(mhz * 0.93e6, mhz * 1.06e6), spread="seeds")  # fmt: skip
    return fpga_record(case, implementation, "lfe5u-85f", ULX3S, fmax, *made, board="ulx3s-85f", seeds=10,
                       target_clock_hz=mhz * 1e6)  # fmt: skip


def synthesised(case: str, implementation: str, device: str, array: dict[str, Scalar], **counts: float) -> Record:
    """Resources after synthesis: no clock, no time."""
    made = [measurement(n, c, statistic="count", stage=Stage.POST_SYNTHESIS, boundary=NONE) for n, c in counts.items()]
    return fpga_record(case, implementation, device, array, *made)


def of_oracle(case: str, *figures: object, **conditions: Scalar) -> Record:
    return record(
        *figures,  # type: ignore[arg-type]
        workload="deconv",
        case=case,
        implementation="workloads/deconv",
        device="oracle",
        conditions={**FIXTURE, "batch": "any", **conditions},
        command=f"gatewarp verify deconv --case {case}",
        source="oracle",
    )


def counted(case: str) -> Record:
    """Operations of an item; these are the workload's own numbers."""
    kinds = zip(("useful", "kept", "equivalent"), MACS[case], strict=True)
    return of_oracle(case, *(measurement(f"operations.{kind}", 2 * macs, stage=Stage.MODELLED, boundary=NONE)
                             for kind, macs in kinds))  # fmt: skip


def judged(case: str) -> Iterator[Record]:
    """Signal over noise of each arithmetic; of digits also the distance to real ones."""
    for arithmetic, decibels in (("fixed8", 24.1), ("fixed16", 71.9), ("fp16", 62.3), ("fp32", 138.0)):
        made = [measurement("quality.sqnr", decibels, statistic="mean", samples=64, boundary=NONE)]
        trained: dict[str, Scalar] = {"parameters": "untrained"}
        if case == "digits":
            made.append(measurement("quality.mmd", 0.0123, statistic="mean", samples=64, boundary=NONE))
            trained = {}
        yield of_oracle(case, *made, arithmetic=arithmetic, **trained)


def pictured(case: str, arithmetic: str, n: int = 24, **conditions: Scalar) -> Record:
    """Pictures: bars and rings of our own drawing, the same in each arithmetic but for some noise."""
    y, x = np.mgrid[-1:1:8j, -1:1:8j]
    rng = np.random.default_rng(n + len(arithmetic))
    tilt = np.linspace(0, np.pi, n)[:, None, None]
    drawn = np.exp(-8 * (np.cos(tilt) * x + np.sin(tilt) * y) ** 2) + 0.1 * rng.standard_normal((n, 8, 8))
    pixels = np.clip(drawn * 255, 0, 255).astype(np.uint8)[..., None]
    count = measurement("samples", n, statistic="count", boundary=NONE)
    return of_oracle(case, count, arithmetic=arithmetic, **{**pack(pixels), **conditions})


def published() -> list[Record]:
    """The product's own records of what papers say, and of clocks that are assumed: not invented."""
    path = Path(__file__).parents[2] / REFERENCE / "published-deconv.jsonl"
    return [parse(line) for line in path.read_text(encoding="utf-8").splitlines()]


def whole_story() -> list[Record]:
    """Digits routed and trained, mnist and celeba on the part of one paper, dcgan and gan3d on that of the other."""
    stories = [
        *simulated("digits", REVERSE, ULX3S, 0.86),
        routed("digits", REVERSE, 66.0, luts=31_000, ffs=17_000, brams=120, dsps=128),
        *simulated("mnist", REVERSE, Z7020, 0.93),
        *simulated("celeba", REVERSE, Z7020, 0.95),
        synthesised("celeba", REVERSE, "xc7z020", Z7020, luts=9_100, ffs=6_000, brams=210, dsps=20),
        *simulated("dcgan", ORIENTED, VC709, 0.955),
        *simulated("gan3d", ORIENTED, VC709, 0.93),
        synthesised("gan3d", ORIENTED, "xc7vx690t", VC709, luts=310_000, ffs=290_000, brams=1_200, dsps=2_300),
        *(pictured("digits", name) for name in ("fixed8", "fixed16", "fp16", "fp32", "real")),
    ]
    for case in MACS:
        stories += [*gpu_records(case), counted(case), *judged(case)]
    return [*stories, *(r for r in published() if r.case in MACS)]
