"""Inputs, oracle, operations and sources of the workload."""

from __future__ import annotations

import numpy as np
import pytest

from compare.provenance import hash_sources, repo_root
from workloads.api import UnknownNameError
from workloads.deconv import WORKLOAD, parameters
from workloads.deconv.cases import LAYERS, UNCHAINED
from workloads.deconv.fixed import BITS, encode

CASES = ("digits", "mnist", "celeba", "dcgan", "gan3d", "vnet")


def test_the_cases_are_known_and_say_whether_they_are_trained() -> None:
    assert tuple(WORKLOAD.cases) == CASES
    for name, case in WORKLOAD.cases.items():
        assert case.trained == (name == "digits")
        assert ("untrained" in case.summary) != case.trained
        assert case.quality_samples >= 2
    assert WORKLOAD.cases["digits"].quality_samples == WORKLOAD.quality_samples >= 512


@pytest.mark.parametrize("case", CASES)
def test_inputs_are_multiples_of_1_128_and_reproducible(case: str) -> None:
    n = 1 if case in UNCHAINED else 21
    x = WORKLOAD.inputs(case, n, seed=4)
    assert x.dtype == np.float32
    assert x.shape == (n, *parameters.load(case).network.input_shape)
    assert np.array_equal(x * 128, np.round(x * 128))
    assert x.max() <= 127 / 128
    assert x.min() >= (0 if case in UNCHAINED else -1)
    assert np.abs(x.mean() - (0.5 if case in UNCHAINED else 0)) < 0.1
    assert np.array_equal(x, WORKLOAD.inputs(case, n, seed=4))
    assert np.array_equal(x[: n // 2], WORKLOAD.inputs(case, n // 2, seed=4))
    assert not np.array_equal(x, WORKLOAD.inputs(case, n, seed=5))
    assert WORKLOAD.inputs(case, 0, seed=1).shape == (0, *x.shape[1:])
    # Every arithmetic holds them: nothing is rounded before the first layer.
    for bits in BITS.values():
        assert np.array_equal(encode(x, bits), np.round(x * 2.0 ** (bits - 1)))
    assert np.array_equal(x.astype(np.float16), x)


@pytest.mark.parametrize("case", CASES)
def test_extremes_are_the_ends_of_the_range(case: str) -> None:
    x = WORKLOAD.extremes(case)
    low, high = (0.0 if case in UNCHAINED else -1.0), 127 / 128
    assert x.dtype == np.float32
    assert x.shape == (4, *parameters.load(case).network.input_shape)
    assert (x[0] == low).all()
    assert (x[1] == high).all()
    assert x[2].reshape(-1)[:4].tolist() == [high, low, high, low]
    assert not x[3].any()


@pytest.mark.parametrize("case", ["digits", "mnist", "celeba"])
@pytest.mark.parametrize("arithmetic", BITS)
def test_the_oracle_in_real_numbers_is_the_integers(case: str, arithmetic: str) -> None:
    bits = BITS[arithmetic]
    x = np.concatenate([WORKLOAD.inputs(case, 3, 7), WORKLOAD.extremes(case)])
    found = WORKLOAD.reference(case, x, arithmetic)
    assert found.dtype == np.float64
    integers = WORKLOAD.integers(case, x, bits)
    assert integers.dtype == np.int64
    assert np.array_equal(found * 2 ** (bits - 1), integers)
    last = LAYERS[case][-1]
    assert found.shape == (7, *last.shape_out, last.channels_out)
    exact = WORKLOAD.reference(case, x, "fp32")
    assert np.array_equal(exact, WORKLOAD.reference(case, x, "fp16"))
    assert np.array_equal(exact, parameters.load(case).network(x))
    assert 0 < np.sqrt(((found - exact) ** 2).mean()) < (0.05 if bits == 8 else 0.0003)


def test_operations_by_hand() -> None:
    """`mnist`: four layers; the first from one position, the others four times the side out, one padded away."""
    found = WORKLOAD.operations("mnist")
    pairs = [32 * 128, 128 * 64, 64 * 32, 32 * 1]
    sides = [1, 4, 8, 16]
    assert found.macs == sum(s * s * 16 * p for s, p in zip(sides, pairs, strict=True))
    assert found.equivalent_macs == sum((o * o) * 16 * p for o, p in zip([4, 8, 16, 32], pairs, strict=True))
    # With kernel 4, stride 2 and padding 1 the first input of a side loses one product and the last one another.
    kept = [16, *((4 * s - 2) ** 2 for s in sides[1:])]
    assert found.kept_macs == sum(k * p for k, p in zip(kept, pairs, strict=True))
    assert found.weight_bytes == 2 * 16 * sum(pairs)
    assert (found.bytes_in, found.bytes_out) == (2 * 32, 2 * 32 * 32)
    assert found.bit_operations == 0


def test_operations_of_layers_that_are_not_chained_count_all_inputs_and_outputs() -> None:
    found = WORKLOAD.operations("vnet")
    places = [4 * 8 * 8, 8 * 16 * 16, 16 * 32 * 32, 32 * 64 * 64]
    assert found.bytes_in == 2 * sum(p * c for p, c in zip(places, [256, 256, 128, 64], strict=True))
    assert found.bytes_out == 2 * sum(8 * p * c for p, c in zip(places, [128, 64, 32, 16], strict=True))
    assert found.equivalent_macs == 8 * found.macs
    assert found.kept_macs == found.macs


@pytest.mark.parametrize("case", CASES)
def test_useful_kept_and_equivalent_keep_their_order(case: str) -> None:
    found = WORKLOAD.operations(case)
    assert 0.7 * found.macs < found.kept_macs <= found.macs < found.equivalent_macs


@pytest.mark.parametrize("case", CASES)
def test_sources_exist(case: str) -> None:
    sources = WORKLOAD.sources(case)
    assert hash_sources(repo_root(), sources)
    assert (f"workloads/deconv/parameters/{case}.npz" in sources) == WORKLOAD.cases[case].trained
    assert ("workloads/bcnn/digits.py" in sources) == WORKLOAD.cases[case].trained
    code = {f"workloads/deconv/{file.name}" for file in (repo_root() / "workloads/deconv").glob("*.py")}
    assert code - set(sources) == {"workloads/deconv/samples.py", "workloads/deconv/train.py"}


def test_unknown_names_list_the_valid_ones() -> None:
    x = np.zeros((1, 1, 1, 32), np.float32)
    for call in (
        lambda: WORKLOAD.inputs("big", 1, 1),
        lambda: WORKLOAD.extremes("big"),
        lambda: WORKLOAD.operations("big"),
        lambda: WORKLOAD.sources("big"),
        lambda: WORKLOAD.quality("big", "fixed8"),
        lambda: WORKLOAD.integers("big", x, 8),
        lambda: WORKLOAD.reference("big", x, "fixed8"),
    ):
        with pytest.raises(UnknownNameError, match=f"unknown case 'big'; valid: {', '.join(CASES)}"):
            call()
    for method in (lambda: WORKLOAD.quality("digits", "fixed"), lambda: WORKLOAD.reference("digits", x, "fixed")):
        with pytest.raises(UnknownNameError, match="unknown arithmetic 'fixed'; valid: fixed8, fixed16, fp32, fp16"):
            method()
