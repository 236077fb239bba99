"""`hls/track/hls4ml`: the HGQ2 model as a Vitis HLS project of hls4ml, compiled with g++ and run.

Without Vitis this is as far as it goes: the C++ is proved equal to the oracle, and nothing is known of its clock,
latency or size on a part; the check and its record say so.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from compare.provenance import make_provenance
from compare.record import Boundary, Measurement, Record, Stage
from designs.flow import cache
from designs.flow.tools import compiler, compiler_version, run_tool
from hls.track import model
from workloads.api import Check, Progress
from workloads.track import parameters

NAME = "hls/track/hls4ml"
CASES = model.CASES
TIER = "product"
ARITHMETICS = ("fixed",)

BACKEND = "Vitis"
#: The part and clock that the project asks Vitis for; nothing here is run on them.
PART, CLOCK_NS = "xc7z020clg400-1", 8

#: How far this goes without the vendor's tool.
REACHED = "not synthesised: Vitis HLS is not here, so clock, latency and size are not known"


def project(case: str) -> Path:
    """The folder of the compiled HLS project, from the cache when nothing has changed. Errors: model.MissingPackage."""
    compiler()
    tools = {"compiler": compiler_version(), **model.versions("hls4ml", "HGQ2", "keras")}
    inputs = [parameters.keras_path_of(case), Path(__file__), Path(model.__file__)]
    return cache.build({"step": NAME, "case": case, "tools": tools}, inputs, lambda f: _produce(case, f)) / "project"


def _produce(case: str, folder: Path) -> None:
    """Write the project and compile it to a shared library; keep what numpy needs to call it in call.json."""
    network = model.load(case)
    import hls4ml

    config = hls4ml.utils.config_from_keras_model(network, granularity="name", backend=BACKEND)
    where = folder / "project"
    converted = hls4ml.converters.convert_from_keras_model(
        network,
        backend=BACKEND,
        hls_config=config,
        output_dir=str(where),
        project_name="track",
        part=PART,
        clock_period=CLOCK_NS,
        io_type="io_parallel",
    )
    converted.write()
    # The library reads its weights at the first call, by a path fixed when it is compiled; the cache moves folders, so
    # that path is made relative and `run` calls from the folder it is relative to.
    script = where / "build_lib.sh"
    script.write_text(script.read_text().replace("${BASEDIR}/firmware/weights", "weights"))
    run_tool(["bash", script.name], cwd=where, log=folder / "compile.log")
    next((where / "firmware").glob("*.so")).rename(where / "firmware" / "track.so")
    (folder / "call.json").write_text(json.dumps({"outputs": int(converted.get_output_variables()[0].size())}))


def run(case: str, inputs: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Run the compiled project on inputs (n, 3); outputs (n, 4)."""
    folder = project(case)
    outputs = json.loads((folder.parent / "call.json").read_text())["outputs"]
    function = ctypes.CDLL(str(folder / "firmware" / "track.so")).track_float
    pointer = ctypes.POINTER(ctypes.c_float)
    x = np.ascontiguousarray(inputs, np.float32)
    y = np.full((len(x), outputs), np.nan, np.float32)
    with contextlib.chdir(folder / "firmware"):
        for row_in, row_out in zip(x, y, strict=True):
            function(row_in.ctypes.data_as(pointer), row_out.ctypes.data_as(pointer))
    return y


def verify(case: str, *, samples: int = 10_000, seed: int = 1, progress: Progress | None = None) -> Iterator[Check]:
    """Compile the project with g++ and compare it with the oracle on extremes and generated hits."""
    began = time.monotonic()
    if progress:
        progress("write and compile the HLS project", 0, 2)
    project(case)
    if progress:
        progress("run the HLS project", 1, 2)
    fixed = model.oracle(case)
    x = fixed.encode(model.vectors(case, samples, seed))
    got = run(case, (x * 2.0**-fixed.input.grid).astype(np.float32))
    difference = np.abs(got - fixed.decode(fixed.evaluate(x)))
    worst, equal = float(difference.max()), float((difference == 0).all(axis=1).mean())
    if progress:
        progress("run the HLS project", 2, 2)
    yield Check(
        implementation=NAME,
        case=case,
        arithmetic="fixed",
        device="g++",
        samples=len(x),
        seed=seed,
        passed=worst == 0.0,
        worst=worst,
        tolerance=None,
        detail=f"C++ of the {BACKEND} back end run natively; {REACHED}",
        seconds=time.monotonic() - began,
        records=(_record(case, equal, len(x), seed),) if worst == 0.0 else (),
    )


def _record(case: str, equal: float, samples: int, seed: int) -> Record:
    """What is known without Vitis: the share of hits on which the C++ equals the oracle, and that this is all."""
    return Record(
        workload="track",
        case=case,
        implementation=NAME,
        device=PART.split("clg")[0],
        conditions={"arithmetic": "fixed", "batch": "any", "reached": REACHED, "seed": seed, "backend": BACKEND},
        provenance=make_provenance(
            f"gatewarp verify track --case {case} --implementation {NAME}",
            [*model.sources_of(case), "hls/track/hls4ml.py"],
            model.versions("hls4ml", "HGQ2"),
            source="C++ of the HLS project compiled with g++ and run natively",
        ),
        measurements=(
            Measurement("quality.equal_to_oracle", equal, "1", "mean", samples, Stage.MEASURED, Boundary.NONE),
        ),
    )
