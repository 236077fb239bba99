"""CIFAR-10 as signed integers, through `keras.datasets`, which downloads it once (170 MB) and keeps it.

The last 5,000 of the 50,000 training images are for validation, as in BinaryNet (arXiv 1602.02830).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.bcnn.images import Images, ImagesError, Parts

#: Images of the test set, and of the validation set out of the others.
TEST, VALIDATION = 10_000, 5_000


@cache
def load(bits: int) -> Parts:
    """Load CIFAR-10 with the upper `bits` of each pixel, less the middle: -2^(bits-1) to 2^(bits-1) - 1.

    Errors: ImagesError naming the pip command, or on a machine that cannot download it.
    """
    try:
        from keras import datasets
    except ModuleNotFoundError as error:
        raise ImagesError(f"CIFAR-10 comes through Keras ({error}): pip install 'gatewarp[hls]'") from None
    try:
        (x, y), (x_test, y_test) = datasets.cifar10.load_data()
    except Exception as error:  # Keras raises a plain Exception where the download fails.
        raise ImagesError(
            f"CIFAR-10 is not on this machine and could not be downloaded ({error}); it needs a network once"
        ) from None
    train, test = Images(_signed(x, bits), _flat(y)), Images(_signed(x_test, bits), _flat(y_test))
    cut = len(train) - VALIDATION
    return Parts(Images(train.pixels[:cut], train.labels[:cut]), Images(train.pixels[cut:], train.labels[cut:]), test)


def _signed(pixels: NDArray[np.uint8], bits: int) -> NDArray[np.int8]:
    signed: NDArray[np.int16] = (pixels >> (8 - bits)).astype(np.int16) - 2 ** (bits - 1)
    return signed.astype(np.int8)


def _flat(labels: NDArray[Any]) -> NDArray[np.int64]:
    return labels.reshape(-1).astype(np.int64)
