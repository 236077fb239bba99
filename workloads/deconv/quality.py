"""How good the outputs are: noise of the arithmetic, and the distance between generated and real digits.

* `sqnr`, of every case: variance of the float64 outputs from item to item over the mean squared difference to them,
  in dB. It says what an arithmetic does to these parameters, trained or not; whether samples look right it can't say.
* `mmd`, of trained cases: the squared maximum mean discrepancy (Gretton et al., JMLR 13, 2012, equation 3, unbiased)
  between samples and the test images. The kernel is a mean of Gaussians exp(-d^2 / (2 s)), with s one fourth, half,
  once, twice and four times the median of d^2, the squared distance of two different test images. 0 is what another
  sample of the real distribution gives on average; `between_real_digits` says how far chance takes it from there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.api import UnknownNameError
from workloads.bcnn import digits
from workloads.bcnn.images import Images
from workloads.deconv import parameters
from workloads.deconv.fixed import BITS, decode, encode

#: Bandwidths s of the kernel over the median squared distance.
BANDWIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
#: Types of operands and of sums of the arithmetics that are not fixed-point.
FLOATS = {"fp32": (np.float32, np.float32), "fp16": (np.float16, np.float32)}
ARITHMETICS = (*BITS, *FLOATS)

Reals = NDArray[np.float64]


def outputs(case: str, inputs: NDArray[np.floating], arithmetic: str) -> Reals:
    """What a case makes of inputs (n, *input_shape) in an arithmetic itself: integers, or floats that round.

    For `fp16` and `fp32` this is one order of summation; devices have others. Errors: UnknownNameError.
    """
    if arithmetic not in ARITHMETICS:
        raise UnknownNameError("arithmetic", arithmetic, ARITHMETICS)
    if arithmetic in BITS:
        bits = BITS[arithmetic]
        return decode(parameters.fixed(case, bits)(encode(inputs, bits)), bits)
    found: NDArray[Any] = parameters.load(case).network.evaluate(inputs, *FLOATS[arithmetic])
    return found.astype(np.float64)


def sqnr(found: Reals, exact: Reals) -> float:
    """Signal over noise of outputs (n, ...) in dB, n at least 2: the signal is what varies from item to item."""
    return float(10 * np.log10(exact.var(0, ddof=1).mean() / ((found - exact) ** 2).mean()))


def mmd(a: Reals, b: Reals, median: float) -> float:
    """Squared maximum mean discrepancy between samples (n, ...) and (m, ...), unbiased, so at times below 0.

    `median` is the squared distance that the bandwidths of the kernel are multiples of.
    """
    x, y = a.reshape(len(a), -1), b.reshape(len(b), -1)
    within = [
        (kernel.sum() - kernel.trace()) / (len(kernel) * (len(kernel) - 1))
        for kernel in (_kernel(x, x, median), _kernel(y, y, median))
    ]
    return float(sum(within) - 2 * _kernel(x, y, median).mean())


def to_digits(samples: Reals) -> float:
    """`mmd` between samples (n, 8, 8, 1) in [-1, 1] and the test images. Errors: as of `digits.load`."""
    real, median = _real()
    return mmd(samples, real, median)


def between_real_digits(n: int, splits: int, seed: int) -> Reals:
    """`mmd` between the test images' number of real digits and `n` others, (splits,): what chance makes of 0."""
    rng = np.random.default_rng(seed)
    parts = digits.load()
    every = np.concatenate([_pixels(part) for part in (parts.train, parts.validation, parts.test)])
    m, median = len(parts.test), _real()[1]
    orders = (rng.permutation(len(every)) for _ in range(splits))
    return np.array([mmd(every[order[:n]], every[order[n : n + m]], median) for order in orders])


@cache
def _real() -> tuple[Reals, float]:
    """The test images in [-1, 1], and the median squared distance of two different ones."""
    real = _pixels(digits.load().test)
    flat = real.reshape(len(real), -1)
    return real, float(np.median(_distances(flat, flat)[np.triu_indices(len(flat), 1)]))


def _pixels(images: Images) -> Reals:
    pixels: Reals = images.pixels / digits.MIDDLE
    return pixels


def _kernel(x: Reals, y: Reals, median: float) -> Reals:
    distances = _distances(x, y)
    kernels = [np.exp(-distances / (2 * factor * median)) for factor in BANDWIDTHS]
    return np.asarray(np.mean(kernels, axis=0))


def _distances(x: Reals, y: Reals) -> Reals:
    """Squared distances of rows, (n, m)."""
    distances: Reals = (x**2).sum(1)[:, None] + (y**2).sum(1) - 2 * x @ y.T
    return np.maximum(distances, 0)
