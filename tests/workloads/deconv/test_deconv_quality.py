"""Noise of the arithmetics and distance to real digits: by hand, on known distributions, and what the product shows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from workloads.api import UnknownNameError
from workloads.bcnn import digits
from workloads.deconv import QUALITY_SAMPLES, QUALITY_SEED, WORKLOAD, parameters, quality, samples

SMALL = ("digits", "mnist", "celeba")


@cache
def made(arithmetic: str) -> np.ndarray:
    """The samples behind the quality figures of `digits`."""
    x = WORKLOAD.inputs("digits", QUALITY_SAMPLES["digits"], QUALITY_SEED)
    return quality.outputs("digits", x, arithmetic)


@cache
def figures_of(case: str, arithmetic: str) -> Mapping[str, float]:
    return WORKLOAD.quality(case, arithmetic)


def test_noise_by_hand() -> None:
    exact = np.array([[1.0, 5.0], [3.0, 5.0]])  # variances 2 and 0: signal 1
    assert quality.sqnr(exact + 0.1, exact) == pytest.approx(20)
    assert quality.sqnr(exact + np.eye(2), exact) == pytest.approx(10 * math.log10(2))


def test_noise_falls_by_six_decibels_a_bit() -> None:
    rng = np.random.default_rng(3)
    exact = rng.uniform(-1, 1, (2000, 10))
    for bits in (6, 8, 12):
        rounded = np.round(exact * 2 ** (bits - 1)) / 2 ** (bits - 1)
        assert quality.sqnr(rounded, exact) == pytest.approx(6.02 * bits, abs=0.2)


def test_discrepancy_is_the_definition() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(5, 2, 2, 1)), rng.normal(size=(4, 2, 2, 1))

    def k(x: np.ndarray, y: np.ndarray) -> float:
        d = float(((x - y) ** 2).sum())
        return sum(math.exp(-d / (2 * f * 3.0)) for f in (0.25, 0.5, 1, 2, 4)) / 5

    within = [sum(k(s[i], s[j]) for i in range(len(s)) for j in range(len(s)) if i != j) for s in (a, b)]
    between = sum(k(x, y) for x in a for y in b)
    expected = within[0] / (5 * 4) + within[1] / (4 * 3) - 2 * between / (5 * 4)
    assert quality.mmd(a, b, 3.0) == pytest.approx(expected, abs=1e-14)
    assert quality.mmd(b, a, 3.0) == pytest.approx(expected, abs=1e-14)


def test_discrepancy_is_unbiased_and_finds_a_shift() -> None:
    seed = 6
    print("seed", seed)
    rng = np.random.default_rng(seed)
    same = [quality.mmd(rng.normal(size=(40, 3)), rng.normal(size=(30, 3)), 6.0) for _ in range(400)]
    error = np.std(same) / math.sqrt(len(same))
    assert abs(np.mean(same)) < 4 * error < 0.003
    assert min(same) < 0
    moved = [quality.mmd(rng.normal(size=(40, 3)), rng.normal(0.5, 1, (30, 3)), 6.0) for _ in range(50)]
    assert np.mean(moved) > 0.02


def test_discrepancy_of_a_gaussian_kernel_between_gaussians() -> None:
    """E k(x - y) = (1 + 2 / t)^(-1/2) exp(-m^2 / (2 (t + 2))) for unit normals at a distance m and bandwidth t."""
    seed = 7
    print("seed", seed)
    rng = np.random.default_rng(seed)
    m, median = 1.5, 2.0

    def mean(distance: float) -> float:
        widths = [f * median for f in quality.BANDWIDTHS]
        return sum((1 + 2 / t) ** -0.5 * math.exp(-(distance**2) / (2 * (t + 2))) for t in widths) / len(widths)

    found = quality.mmd(rng.normal(size=(1500, 1)), rng.normal(m, 1, (1500, 1)), median)
    assert found == pytest.approx(2 * mean(0) - 2 * mean(m), abs=0.03)


def test_the_bandwidth_is_the_median_of_real_digits() -> None:
    real = digits.load().test.pixels.reshape(450, -1) / 8
    assert quality._real()[1] == pytest.approx(np.median(pdist(real, "sqeuclidean")))


@pytest.mark.parametrize("case", SMALL)
def test_noise_of_each_arithmetic_is_what_one_expects(case: str) -> None:
    found = {arithmetic: figures_of(case, arithmetic)["sqnr"] for arithmetic in WORKLOAD.arithmetics}
    assert 20 < found["fixed8"] < 35
    # Eight bits more are worth 48 dB. Trained, many pixels are fully black, and there the table ends: tanh(4) for -1.
    assert 35 < found["fixed16"] - found["fixed8"] < 55
    assert 55 < found["fp16"] < 70, "eleven bits"
    assert found["fp32"] > 115, "twenty-four bits"


def test_outputs_in_fixed_point_are_the_oracle() -> None:
    x = WORKLOAD.inputs("digits", 5, 1)
    for arithmetic in ("fixed8", "fixed16"):
        assert np.array_equal(quality.outputs("digits", x, arithmetic), WORKLOAD.reference("digits", x, arithmetic))
    exact = WORKLOAD.reference("digits", x, "fp32")
    for arithmetic, size in (("fp32", 1e-5), ("fp16", 1e-2)):
        assert 0 < np.abs(quality.outputs("digits", x, arithmetic) - exact).max() < size
    with pytest.raises(UnknownNameError, match="unknown arithmetic 'int4'; valid: fixed8, fixed16, fp32, fp16"):
        quality.outputs("digits", x, "int4")


def test_untrained_parameters_show_no_distance() -> None:
    assert set(WORKLOAD.quality("mnist", "fixed8")) == {"sqnr"}


@pytest.mark.parametrize("arithmetic", WORKLOAD.arithmetics)
def test_generated_digits_are_near_real_ones(arithmetic: str) -> None:
    """Real ones of other people's drawing lie at 0 +- 0.0005, seeded parameters at 0.35 and more."""
    figures = figures_of("digits", arithmetic)
    assert 0 <= figures["mmd"] < 0.002
    assert figures["mmd"] == max(0.0, quality.to_digits(made(arithmetic)))


def test_the_scale_of_the_distance() -> None:
    chance = quality.between_real_digits(512, 25, 1)
    assert abs(chance.mean()) < 0.0004
    assert 0.0002 < chance.std() < 0.0008
    x = WORKLOAD.inputs("digits", 512, QUALITY_SEED)
    assert quality.to_digits(parameters.seeded("digits")(x)) > 0.3
    # A network that knows only one digit, or only the mean, is found out.
    test = digits.load().test
    zeros = test.pixels[test.labels == 0] / 8
    assert quality.to_digits(zeros) > 0.1
    assert quality.to_digits(np.repeat((test.pixels / 8).mean(0, keepdims=True), 100, 0)) > 0.1


def test_every_class_is_generated_in_every_arithmetic() -> None:
    """Nearest real training digit of each sample: no class is missing, none crowds the others out, few are copies."""
    train = digits.load().train
    real = train.pixels.reshape(len(train), -1) / 8
    for arithmetic in ("fixed8", "fp32"):
        found = made(arithmetic).reshape(512, -1)
        distances = cdist(found, real, "sqeuclidean")
        share = np.bincount(train.labels[distances.argmin(1)], minlength=10) / 512
        assert share.min() > 0.03
        assert share.max() < 0.25
        # A real test digit has its nearest at 4.5 in the median, and one in twenty at less than 2; a copy at 0.
        assert np.median(distances.min(1)) > 4
        assert np.quantile(distances.min(1), 0.05) > 1.5
        # Of two real digits 5 % are nearer than 17.
        assert np.quantile(pdist(found, "sqeuclidean"), 0.05) > 12, "samples repeat each other"


@pytest.mark.parametrize("case", SMALL)
def test_pictures(case: str) -> None:
    last = WORKLOAD.reference(case, WORKLOAD.inputs(case, 3, 8), "fixed8")
    found = samples.pictures(case, 3, "fixed8", seed=8)
    assert found.dtype == np.uint8
    assert found.shape == last.shape
    assert np.array_equal(found, np.floor((last + 1) * 127.5 + 0.5))
    assert np.array_equal(found[:2], samples.pictures(case, 2, "fixed8", seed=8))


def test_pictures_of_volumes_are_seen_from_the_front() -> None:
    volume = np.zeros((1, 64, 64, 64, 1))
    volume[0, 40, 3, 5, 0] = 1.0
    volume[0, 7, 9, 2, 0] = 0.5
    volume[0, 9, 9, 2, 0] = 0.2
    found = samples.as_pictures("gan3d", volume)
    assert found.shape == (1, 64, 64, 1)
    assert (found[0, 3, 5, 0], found[0, 9, 2, 0], int((found > 0).sum())) == (255, 128, 2)


def test_pictures_span_the_range() -> None:
    assert samples.as_pictures("digits", np.array([-1.0, 0, 127 / 128, 1]).reshape(1, 2, 2, 1)).ravel().tolist() == [
        0, 128, 254, 255,
    ]  # fmt: skip


def test_real_pictures_are_test_images() -> None:
    found = samples.real("digits", 450, seed=3)
    levels = digits.load().test.pixels.astype(int) + 8  # 0 to 16
    assert found.shape == (450, 8, 8, 1)
    as_levels = np.round(found / 255 * 16).astype(int)
    assert sorted(image.tobytes() for image in as_levels) == sorted(image.tobytes() for image in levels)
    assert np.array_equal(found[:9], samples.real("digits", 9, seed=3))
    assert not np.array_equal(found[:9], samples.real("digits", 9, seed=4))
    with pytest.raises(ValueError, match="'mnist' was not trained"):
        samples.real("mnist", 1)


def test_what_generates_nothing_has_no_pictures() -> None:
    with pytest.raises(ValueError, match="'vnet' generates nothing to look at"):
        samples.pictures("vnet", 1, "fixed8")
    with pytest.raises(UnknownNameError, match="unknown case 'big'"):
        samples.pictures("big", 1, "fixed8")
    with pytest.raises(UnknownNameError, match="unknown arithmetic 'int4'"):
        samples.pictures("digits", 1, "int4")
