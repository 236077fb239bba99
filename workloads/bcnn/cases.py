"""The networks of the cases, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workloads.bcnn.network import Layer


def layers_of(
    side: int, channels: int, input_bits: int, padding: int, convs: tuple[tuple[int, bool], ...], dense: tuple[int, ...]
) -> tuple[Layer, ...]:
    """Layers of a plain network: 3 x 3 convolutions, each (channels, pooled), then dense layers."""
    layers: list[Layer] = []
    for number, (out, pool) in enumerate(convs, 1):
        bits = input_bits if number == 1 else 1
        layer = Layer(f"conv{number}", "conv", channels, out, side, 3, padding, pool, bits)
        layers.append(layer)
        side, channels = layer.side_out, out
    channels *= side * side
    for number, out in enumerate(dense, 1):
        layers.append(Layer(f"fc{number}", "dense", channels, out))
        channels = out
    layers[-1] = replace(layers[-1], last=True)
    return tuple(layers)


LAYERS: Mapping[str, tuple[Layer, ...]] = {
    # The CIFAR-10 network of BinaryNet (arXiv 1602.02830); 6 bits of input as in arXiv 1702.06392.
    "binarynet": layers_of(
        32, 3, 6, 1, ((128, False), (128, True), (256, False), (256, True), (512, False), (512, True)), (1024, 1024, 10)
    ),
    # CNV of FINN (arXiv 1612.07119), without the padding of its last layer to 64 outputs.
    "cnv": layers_of(
        32, 3, 8, 0, ((64, False), (64, True), (128, False), (128, True), (256, False), (256, False)), (512, 512, 10)
    ),
    # Our own, for the handwritten digits of scikit-learn (8 x 8 pixels of 17 levels).
    "digits": layers_of(8, 1, 5, 1, ((16, False), (32, True), (32, True)), (64, 10)),
    "digits_small": layers_of(8, 1, 5, 1, ((8, False), (16, True), (16, True)), (10,)),
}
