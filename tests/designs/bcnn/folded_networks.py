"""Small random networks and foldings, and a network in numpy that knows nothing but the memory images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from designs.bcnn import folding as foldings
from designs.bcnn.folding import Folding
from workloads.bcnn.network import Layer


def random_layers(rng: np.random.Generator) -> tuple[Layer, ...]:
    """One to three convolutions of any kernel, padding and pooling that fit, then one or two dense layers."""
    side, channels, bits = int(rng.integers(4, 9)), int(rng.integers(1, 4)), int(rng.integers(2, 7))
    layers: list[Layer] = []
    for number in range(1, int(rng.integers(1, 4)) + 1):
        kernel = int(rng.choice([k for k in (1, 2, 3, 3, 4) if k <= side]))
        padding = int(rng.integers(0, (kernel + 1) // 2))
        out = int(rng.choice([2, 3, 4, 6, 8]))
        sums = side + 2 * padding - kernel + 1
        pool = sums % 2 == 0 and bool(rng.integers(2))
        layers.append(Layer(f"conv{number}", "conv", channels, out, side, kernel, padding, pool, bits))
        side, channels, bits = layers[-1].side_out, out, 1
    channels *= side**2
    for number in range(1, int(rng.integers(1, 3)) + 1):
        out = int(rng.choice([2, 3, 4, 6, 10]))
        layers.append(Layer(f"fc{number}", "dense", channels, out))
        channels = out
    layers[-1] = Layer(layers[-1].name, "dense", layers[-1].channels_in, layers[-1].channels_out, last=True)
    return tuple(layers)


def random_folding(layers: Sequence[Layer], rng: np.random.Generator) -> Folding:
    """Any legal fold of each layer."""
    options = [foldings.choices(layer) for layer in layers]
    return Folding(tuple(layers), tuple(each[int(rng.integers(len(each)))] for each in options))


def words(path: Path, width: int) -> np.ndarray:
    """Bits (words, width) of a memory image, lowest first."""
    numbers = [int(line, 16) for line in path.read_text().split()]
    return np.array([[number >> bit & 1 for bit in range(width)] for number in numbers])


def signed(bits: np.ndarray) -> np.ndarray:
    """Numbers of bits (..., width), lowest first, two's complement."""
    scale = 1 << np.arange(bits.shape[-1])
    scale[-1] *= -1
    return (bits * scale).sum(-1)


def run(folding: Folding, images: np.ndarray, folder: Path, acc_bits: Sequence[int]) -> np.ndarray:
    """Sums (n, classes) of images, out of the memory images in `folder`, beat by beat as the units read them."""
    values = images.astype(np.int64)
    for layer, fold, width in zip(folding.layers, folding.folds, acc_bits, strict=True):
        vectors = values.reshape(len(values), 1, 1, -1) if layer.kind == "dense" else columns(layer, values)
        weights = words(folder / f"{layer.name}.weights.hex", fold.simd * fold.pe)
        beats = vectors.reshape(*vectors.shape[:3], -1, fold.simd)
        sums = np.zeros((*vectors.shape[:3], layer.channels_out), np.int64)
        address = 0
        for first in range(0, layer.channels_out, fold.pe):
            for beat in range(beats.shape[3]):
                signs = 2 * weights[address].reshape(fold.pe, fold.simd) - 1
                sums[..., first : first + fold.pe] += beats[..., beat, :] @ signs.T
                address += 1
        assert address == len(weights)
        if layer.pool:
            n, side = len(sums), layer.side_out
            sums = sums.reshape(n, side, 2, side, 2, -1).max((2, 4))
        if layer.last:
            return sums.reshape(len(sums), -1)
        bits = words(folder / f"{layer.name}.thresholds.hex", fold.pe * width)
        values = np.where(sums >= signed(bits.reshape(-1, width)), 1, -1)
    raise AssertionError("no last layer")


def columns(layer: Layer, values: np.ndarray) -> np.ndarray:
    """Vectors (n, rows, columns, synapses) as the window unit sends them: column, row, channel; padding is 0."""
    p, k, side = layer.padding, layer.kernel, layer.side_sums
    padded = np.pad(values, ((0, 0), (p, p), (p, p), (0, 0)))
    taps = [padded[:, y : y + side, x : x + side] for x in range(k) for y in range(k)]
    return np.concatenate(taps, -1)
