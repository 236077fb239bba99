"""`hls/track`: packing, the core's text, and that a wrong design or a wrong project is caught."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from designs.flow.verilator import lint
from hls.track import da4ml, hls4ml, model
from hls.track.core import TOP, core
from workloads.track.network import FixedNetwork


@pytest.mark.parametrize("width", [1, 5, 12])
def test_words_carry_rows(width: int) -> None:
    seed = 3
    print("seed", seed)
    rows = np.random.default_rng(seed).integers(-(1 << (width - 1)), 1 << (width - 1), (50, 4))
    assert np.array_equal(model.unpack(model.pack(rows, width), width, 4), rows)
    assert model.pack(np.array([[1, -1]]), 4) == [0xF1]


def test_the_core_shifts_and_extends_its_outputs() -> None:
    text = core(36, 5, 10, 6, [(1, 2, 6), (0, 2, 4), (0, 0, 0)])
    assert "aligned[0 +: 10] = {{1{pipe_out[8]}}, pipe_out[8:0]};" in text
    assert "aligned[10 +: 10] = {{2{1'b0}}, pipe_out[14:9], 2'b0};" in text
    assert "aligned[20 +: 10] = '0;" in text
    with pytest.raises(ValueError, match="output 0 with format"):
        core(36, 5, 4, 6, [(1, 2, 6)])


def test_the_rtl_is_clean_and_the_same_every_time() -> None:
    design = da4ml.generate("compact")
    # da4ml's own modules are generated; what we write around them is linted with them, unused bits apart.
    lint(TOP, list(design.sources))
    assert da4ml.generate("compact").digest == design.digest


def test_extremes_are_among_the_vectors() -> None:
    x = model.vectors("embed", 1000, 1)
    assert len(x) == 1000
    assert (x == -1).all(1).any()
    assert (x == np.float32(1 - 1 / 2048)).all(1).any()


def wrong(case: str) -> FixedNetwork:
    """The oracle with one weight off by one unit in the last place."""
    network = right(case)
    weight = network.layers[0].weight
    row, column = np.argwhere(weight)[0]
    weight[row, column] += 1
    return network


def right(case: str) -> FixedNetwork:
    from workloads.track import parameters

    parameters.load.cache_clear()
    fixed = parameters.load(case).fixed
    assert fixed is not None
    parameters.load.cache_clear()
    return fixed


@pytest.mark.parametrize("implementation", [da4ml, hls4ml])
def test_one_wrong_weight_fails_the_check(implementation, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = wrong("compact")
    monkeypatch.setattr(model, "oracle", lambda case: broken)
    (check,) = implementation.verify("compact", samples=2000, seed=2)
    assert not check.passed
    assert check.worst > 0
    assert check.records == ()


def test_cycles_are_measured_at_the_pins() -> None:
    (check,) = da4ml.verify("compact", samples=1000, seed=5)
    (record,) = check.records
    interval, latency = record.get("interval"), record.get("cycles")
    assert (interval.value, interval.low, interval.high, interval.samples) == (1.0, 1.0, 1.0, 999)
    design = da4ml.generate("compact")
    # The pipeline's registers and the stream's output register.
    assert latency.value == latency.low == latency.high == design.latency + 1
    assert record.conditions["design"] == design.digest


def test_the_hls_project_is_one_that_vitis_takes() -> None:
    folder = hls4ml.project("compact")
    text = (folder / "firmware" / "track.cpp").read_text()
    assert "#pragma HLS" in text
    assert (folder / "build_prj.tcl").is_file()
    assert Path(hls4ml.__file__).name == "hls4ml.py"
