"""The networks of the cases, layer by layer. Sources of the shapes: see `SUMMARIES` and docs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from workloads.deconv.layer import Activation, Layer


def generator(channels: Sequence[int], dimensions: int, last: Activation, **up: int) -> tuple[Layer, ...]:
    """A generator: from 1 to 4 positions a side, then each layer doubles the side. `channels` are those between layers.

    `up`: kernel, stride, padding and extra of the doubling layers; the first has kernel 4.
    """
    shape = (1,) * dimensions
    layers: list[Layer] = []
    for number, (into, out) in enumerate(itertools.pairwise(channels), 1):
        activation: Activation = last if number == len(channels) - 1 else "clip"
        if number == 1:
            layer = Layer(f"deconv{number}", shape, into, out, 4, activation=activation)
        else:
            layer = Layer(f"deconv{number}", shape, into, out, activation=activation, **up)
        layers.append(layer)
        shape = layer.shape_out
    return tuple(layers)


DOUBLE = {"kernel": 4, "stride": 2, "padding": 1}

LAYERS: Mapping[str, tuple[Layer, ...]] = {
    # Our own, for the handwritten digits of scikit-learn (8 x 8 pixels).
    "digits": (
        *generator((32, 64, 32), 2, "clip", **DOUBLE),
        Layer("deconv3", (8, 8), 32, 1, 3, padding=1, activation="tanh"),
    ),
    # The generators of QDCGAN (arXiv 2201.06878).
    "mnist": generator((32, 128, 64, 32, 1), 2, "tanh", **DOUBLE),
    "celeba": generator((64, 256, 128, 64, 32, 3), 2, "tanh", **DOUBLE),
    # The generator of DCGAN (arXiv 1511.06434).
    "dcgan": generator((100, 1024, 512, 256, 128, 3), 2, "tanh", kernel=5, stride=2, padding=2, extra=1),
    # The generator of 3D-GAN (arXiv 1610.07584).
    "gan3d": generator((200, 512, 256, 128, 64, 1), 3, "sigmoid", **DOUBLE),
    # The up-convolutions of the decoder of V-Net (arXiv 1606.04797) for volumes of 64 x 128 x 128.
    "vnet": tuple(
        Layer(f"up{number}", (side // 2, side, side), into, out, 2, 2)
        for number, (side, into, out) in enumerate(((8, 256, 128), (16, 256, 64), (32, 128, 32), (64, 64, 16)), 1)
    ),
}

#: Cases whose layers each have an input of their own: what stands between them is not a transposed convolution.
UNCHAINED = ("vnet",)

SUMMARIES: Mapping[str, str] = {
    "digits": "8 x 8 handwritten digits out of 32 numbers, WGAN generator; our own network",
    "mnist": "QDCGAN's MNIST generator, 32 x 32, 4.39 MMAC",
    "celeba": "QDCGAN's CelebA generator, 64 x 64 x 3, 27.0 MMAC",
    "dcgan": "DCGAN's generator with 5 x 5 kernels, 64 x 64 x 3",
    "gan3d": "3D-GAN's generator, 64 x 64 x 64, 3.90 GMAC",
    "vnet": "the four up-convolutions of V-Net's decoder, each on an input of its own, 64 x 128 x 128",
}
