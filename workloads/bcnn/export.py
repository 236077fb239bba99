"""From a trained Keras model to integers: batch normalisation and sign become one comparison of each channel's sum.

For a positive gamma, sign(gamma (s - mean) / sigma + beta) rises with the sum s, and is `s >= T`. For a negative one
it falls: it is the negation of `s >= T` for another T. That channel then carries the negated bit, and the next
layer's weights of the channel are negated, which changes no sum, nor does a zero of the padding. A gamma of 0 makes a
constant, which is a T at or beyond the bound of the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from workloads.bcnn.network import Bits, Integers, Layer, Network

#: Batch normalisation in inference: sums (n, channels) to numbers of the same shape.
Normalise = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def threshold_of(normalise: Normalise, layer: Layer) -> tuple[Integers, NDArray[np.bool_]]:
    """Thresholds (channels_out,) of a layer, and which channels carry the negated bit.

    Takes `normalise` at its word: it is evaluated at every sum that can occur, so rounding in it is kept, and nothing
    is solved for. Errors: ValueError where the result is not monotone (or not a number), naming layer and channel.
    """
    sums = np.arange(-layer.bound, layer.bound + 1, dtype=np.float32)
    values = normalise(np.repeat(sums[:, np.newaxis], layer.channels_out, axis=1))
    if not np.isfinite(values).all():
        raise ValueError(f"{layer.name}: normalised sums that are not finite")
    bits = values >= 0
    negated = bits[0] & ~bits[-1]
    bits ^= negated
    falls = (bits[:-1] & ~bits[1:]).any(axis=0)
    if falls.any():
        raise ValueError(f"{layer.name}: channel {int(falls.argmax())} is not monotone in its sum")
    return (layer.bound + 1 - bits.sum(axis=0)).astype(np.int32), negated


def fold(layers: Sequence[Layer], kernels: Sequence[NDArray[np.floating]], normalise: Sequence[Normalise]) -> Network:
    """The integer network of latent `kernels` (of `weight_shape`; +1 where >= 0) and the hidden layers' `normalise`."""
    weights: list[Bits] = []
    thresholds: list[Integers | None] = []
    negated = np.zeros(layers[0].channels_in, np.bool_)
    for index, (layer, kernel) in enumerate(zip(layers, kernels, strict=True)):
        bits = kernel >= 0
        # A dense layer after a convolution sees each channel at several pixels, the channels of a pixel together.
        inputs = np.tile(negated, layer.channels_in // len(negated))
        weights.append((bits ^ inputs).astype(np.uint8))
        if layer.last:
            thresholds.append(None)
        else:
            threshold, negated = threshold_of(normalise[index], layer)
            thresholds.append(threshold)
    return Network(tuple(layers), tuple(weights), tuple(thresholds))
