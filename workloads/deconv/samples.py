"""Generated samples as pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workloads.bcnn import digits
from workloads.deconv import WORKLOAD, quality
from workloads.deconv.cases import LAYERS, UNCHAINED


def pictures(case: str, n: int, arithmetic: str, seed: int = 1) -> NDArray[np.uint8]:
    """`n` samples (n, rows, columns, channels) of a case in an arithmetic, of `WORKLOAD.inputs(case, n, seed)`.

    0 is black and 255 is white: the range of the last activation, [-1, 1] of tanh and [0, 1] of sigmoid, spread over
    256 levels. Volumes are seen along their first side, each pixel the largest number behind it. Samples of an
    untrained case are noise of the right shape. Errors: UnknownNameError; ValueError for a case that generates none.
    """
    inputs = WORKLOAD.inputs(case, n, seed)
    if case in UNCHAINED:
        raise ValueError(f"{case!r} generates nothing to look at: its layers are parts of a larger network")
    return as_pictures(case, quality.outputs(case, inputs, arithmetic))


def as_pictures(case: str, outputs: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Outputs (n, sides..., channels) of a generator, from wherever they come, as the pictures of `pictures`."""
    last = LAYERS[case][-1]
    flat = outputs.max(axis=1) if last.dimensions == 3 else outputs
    low = -1.0 if last.activation == "tanh" else 0.0
    levels = np.floor((flat.astype(np.float64) - low) / (1 - low) * 255 + 0.5)
    return np.clip(levels, 0, 255).astype(np.uint8)


def real(case: str, n: int, seed: int = 1) -> NDArray[np.uint8]:
    """`n` of the test images that `case` is to resemble, as such pictures, in an order drawn from the seed.

    Errors: ValueError for a case that was not trained; as of `digits.load`.
    """
    if not WORKLOAD.cases[case].trained:
        raise ValueError(f"{case!r} was not trained: there is nothing that its samples are to resemble")
    images = digits.load().test
    order = np.random.default_rng(seed).permutation(len(images))[:n]
    return as_pictures(case, images.pixels[order] / digits.MIDDLE)
