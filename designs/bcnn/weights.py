"""Memory images of a layer's weights and thresholds, in the order in which its unit reads them.

Weights: one word for each (neuron fold, synapse fold), neuron folds slowest. In a word, neuron `nf * pe + p` has the
bits from `p * simd`, its synapses of this fold lowest first; bit 1 is +1. Thresholds: one word a neuron fold, neuron
`p` in the bits from `p * acc_bits`, two's complement. Synapses of a convolution follow the window unit: column, row,
channel.

The files are for $readmemh: one word a line, most significant digit first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from designs.bcnn.folding import Fold, Folding
from designs.flow.folding import bits_of, hexadecimal
from workloads.bcnn.network import Bits, Integers, Layer, Network


def acc_bits(layer: Layer) -> int:
    """Bits of a signed number that holds every sum of a layer and every threshold that is not always the same as it.

    Sums lie in [-bound, bound]; bound + 1 is the threshold that none reaches.
    """
    return (layer.bound + 1).bit_length() + 1


def weight_words(layer: Layer, fold: Fold, weight: Bits) -> Bits:
    """Bits (words, pe * simd) of the weight memory, lowest first, from weights of `layer.weight_shape`."""
    if layer.kind == "conv":
        weight = weight.transpose(0, 2, 1, 3)  # out, column, row, channel
    neuron_folds, synapse_folds = layer.channels_out // fold.pe, layer.synapses // fold.simd
    folded = weight.reshape(neuron_folds, fold.pe, synapse_folds, fold.simd).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(folded).reshape(neuron_folds * synapse_folds, fold.pe * fold.simd)


def threshold_words(layer: Layer, fold: Fold, threshold: Integers) -> Bits:
    """Bits (words, pe * acc_bits) of the threshold memory, lowest first, from thresholds (channels_out,).

    A threshold beyond the sums is moved to the nearest with the same effect, which fits.
    """
    width = acc_bits(layer)
    fitted = np.clip(threshold.astype(np.int64), -layer.bound, layer.bound + 1)
    return bits_of(fitted, width).reshape(layer.channels_out // fold.pe, fold.pe * width)


def write(network: Network, folding: Folding, folder: Path) -> tuple[Path, ...]:
    """Write the images of all layers to `<layer>.weights.hex` and `<layer>.thresholds.hex`; return their paths."""
    paths = []
    for layer, fold, weight, threshold in zip(
        network.layers, folding.folds, network.weights, network.thresholds, strict=True
    ):
        images = {"weights": weight_words(layer, fold, weight)}
        if threshold is not None:
            images["thresholds"] = threshold_words(layer, fold, threshold)
        for name, words in images.items():
            paths.append(folder / f"{layer.name}.{name}.hex")
            paths[-1].write_text(hexadecimal(words))
    return tuple(paths)
