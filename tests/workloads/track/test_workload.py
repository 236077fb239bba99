"""Inputs, parameters and names of the workload; the oracle against Keras."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from workloads.api import UnknownNameError
from workloads.track import WORKLOAD, parameters

HITS = 12_000


@pytest.mark.parametrize("case", WORKLOAD.cases)
def test_inputs_are_on_the_grid_and_reproducible(case: str) -> None:
    x = WORKLOAD.inputs(case, 5001, seed=4)
    assert x.shape == (5001, parameters.WIDTHS[case][0])
    assert x.dtype == np.float32
    assert np.array_equal(x * 2048, np.round(x * 2048))
    assert x.min() >= -1
    assert x.max() < 1
    assert np.array_equal(x, WORKLOAD.inputs(case, 5001, seed=4))
    assert np.array_equal(x[:100], WORKLOAD.inputs(case, 100, seed=4))
    assert not np.array_equal(x[:100], WORKLOAD.inputs(case, 100, seed=5))
    assert WORKLOAD.inputs(case, 0, seed=1).shape == (0, parameters.WIDTHS[case][0])


@pytest.mark.parametrize("case", parameters.TRAINED)
def test_the_oracle_equals_keras(case: str) -> None:
    """Exactly, on generated hits, extremes, and numbers off the grid and out of the box."""
    import hgq.layers  # noqa: F401
    import keras

    seed = 11
    print("seed", seed)
    model = keras.models.load_model(parameters.keras_path_of(case), compile=False)
    rng = np.random.default_rng(seed)
    loose = rng.uniform(-1, 1, (3000, 3)).astype(np.float32)
    x = np.concatenate([WORKLOAD.inputs(case, HITS, seed), WORKLOAD.extremes(case), loose])
    # HGQ2 wraps beyond the pins' range and our pins saturate, so both see what the pins carry.
    fixed = parameters.load(case).fixed
    assert fixed is not None
    pins = (fixed.encode(x) * 2.0**-fixed.input.grid).astype(np.float32)
    assert np.array_equal(model.predict(pins, batch_size=4096, verbose=0), WORKLOAD.reference(case, x, "fixed"))


@pytest.mark.parametrize("case", WORKLOAD.cases)
def test_parameters_have_the_case_s_widths(case: str) -> None:
    loaded = parameters.load(case)
    assert loaded.float_network.widths == parameters.WIDTHS[case]
    assert loaded.trained == WORKLOAD.cases[case].trained
    if loaded.fixed is not None:
        assert loaded.fixed.widths == parameters.WIDTHS[case]


def test_saving_and_loading_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = parameters.load("compact")
    assert before.fixed is not None
    monkeypatch.setattr(parameters, "FOLDER", tmp_path)
    parameters.load.cache_clear()
    parameters.save("compact", before.float_network, before.fixed, float(before.radius or 0), dict(before.training))
    after = parameters.load("compact")
    parameters.load.cache_clear()
    x = WORKLOAD.inputs("compact", 500, 1)
    assert after.fixed is not None
    assert np.array_equal(before.fixed(x), after.fixed(x))
    assert np.array_equal(before.float_network(x), after.float_network(x))
    assert [p.name for p in tmp_path.iterdir()] == ["compact.json"]


def test_unknown_names_list_the_valid_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown case 'big'; valid: embed, compact, exatrkx"):
        WORKLOAD.inputs("big", 1, 1)
    with pytest.raises(UnknownNameError, match="unknown case 'big'; valid"):
        parameters.load("big")
    with pytest.raises(UnknownNameError, match="unknown arithmetic 'int4'; valid: fixed, fp32, fp16"):
        WORKLOAD.reference("embed", np.zeros((1, 3), np.float32), "int4")
    with pytest.raises(UnknownNameError, match="unknown arithmetic 'fixed'; valid: fixed8, fp32, fp16"):
        WORKLOAD.reference("exatrkx", np.zeros((1, 12), np.float32), "fixed")
