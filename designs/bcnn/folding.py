"""How many products a layer makes in a cycle, and the cycles that follow from it.

A layer's unit multiplies `simd` synapses of `pe` neurons in each cycle, so one vector of sums takes
(synapses / simd) * (neurons / pe) cycles: the folds. A layer takes as many vectors an image as it has positions before
pooling. Two floors lie below: its window unit gives one column of pixels a cycle, `kernel` a position, and takes one
pixel a cycle. The slowest layer sets the ideal interval between images (Li et al., arXiv 1702.06392; FINN,
arXiv 1612.07119).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from designs.flow.folding import Fold as Fold
from designs.flow.folding import FoldingError as FoldingError
from designs.flow.folding import divisors as divisors
from designs.flow.folding import nearest
from workloads.bcnn.network import Layer, check_layers


@dataclass(frozen=True)
class Folding:
    """A fold for every layer of a network, legal by construction. Errors: FoldingError."""

    layers: tuple[Layer, ...]
    folds: tuple[Fold, ...]

    def __post_init__(self) -> None:
        check_layers(self.layers)
        if len(self.folds) != len(self.layers):
            raise FoldingError(f"{len(self.folds)} folds for {len(self.layers)} layers")
        for layer, fold in zip(self.layers, self.folds, strict=True):
            check(layer, fold)

    @property
    def cycles(self) -> tuple[int, ...]:
        """Cycles an image of each layer, floors included."""
        return tuple(cycles(layer, fold) for layer, fold in zip(self.layers, self.folds, strict=True))

    @property
    def interval(self) -> int:
        """Ideal cycles between images: those of the slowest layer."""
        return max(self.cycles)

    @property
    def bottleneck(self) -> Layer:
        """The slowest layer, the first of equals."""
        return self.layers[self.cycles.index(self.interval)]

    def __str__(self) -> str:
        return ", ".join(f"{layer.name} {fold}" for layer, fold in zip(self.layers, self.folds, strict=True))


def of(layers: Sequence[Layer], folds: Mapping[str, tuple[int, int]]) -> Folding:
    """The folding that gives each layer, by name, its (simd, pe). Errors: FoldingError, also for a name too many."""
    names = [layer.name for layer in layers]
    for name in folds:
        if name not in names:
            raise FoldingError(f"no layer {name!r} to fold; layers: {', '.join(names)}")
    for name in names:
        if name not in folds:
            raise FoldingError(f"{name}: no fold given")
        fold = folds[name]
        if len(fold) != 2 or not all(isinstance(n, int) for n in fold):
            raise FoldingError(f"{name}: a fold is two whole numbers, (simd, pe), not {fold}")
    return Folding(tuple(layers), tuple(Fold(*folds[name]) for name in names))


def vector_folds(layer: Layer, fold: Fold) -> int:
    """Cycles of one vector of sums."""
    return (layer.synapses // fold.simd) * (layer.channels_out // fold.pe)


def window_cycles(layer: Layer) -> int:
    """Cycles an image of a layer's window unit: one column a cycle out, one pixel a cycle in. 0 of a dense layer."""
    return 0 if layer.kind == "dense" else max(layer.kernel * layer.pixels, layer.side**2)


def cycles(layer: Layer, fold: Fold) -> int:
    """Cycles an image of a layer: its folds, or its window unit's where that is slower."""
    return max(layer.pixels * vector_folds(layer, fold), window_cycles(layer))


def mask_group(layer: Layer, fold: Fold) -> int:
    """Bits that share one mask bit: the largest group that no beat and no pixel cuts; 0 where nothing is masked.

    Only a padded layer with inputs of one bit has masks: its padding is neither +1 nor -1. A number of several bits
    says 0 by itself.
    """
    masked = layer.kind == "conv" and layer.padding > 0 and layer.input_bits == 1
    return gcd(fold.simd, layer.channels_in) if masked else 0


def simd_choices(layer: Layer) -> tuple[int, ...]:
    """Legal `simd` of a layer, ascending.

    A dense layer takes a divisor of its synapses; a convolution a divisor of a column (the `kernel` pixels above each
    other, which the window unit gives at once) or a whole number of columns.
    """
    if layer.kind == "dense":
        return divisors(layer.synapses)
    column = layer.kernel * layer.channels_in
    return tuple(sorted({*divisors(column), *(column * n for n in divisors(layer.kernel))}))


def pe_choices(layer: Layer) -> tuple[int, ...]:
    """Legal `pe` of a layer, ascending: the divisors of its neurons."""
    return divisors(layer.channels_out)


def choices(layer: Layer) -> tuple[Fold, ...]:
    """All legal folds of a layer."""
    return tuple(Fold(simd, pe) for simd in simd_choices(layer) for pe in pe_choices(layer))


def check(layer: Layer, fold: Fold) -> None:
    """Errors: FoldingError naming the layer, the illegal value, what it has to divide, and the nearest legal values."""
    if fold.simd not in simd_choices(layer):
        column = layer.kernel * layer.channels_in
        what = f"{layer.synapses} synapses"
        if layer.kind == "conv":
            what = f"a column of {column} synapses, nor is it columns that divide the kernel's {layer.kernel}"
        raise FoldingError(
            f"{layer.name}: simd {fold.simd} does not divide {what}; {nearest(fold.simd, simd_choices(layer))}"
        )
    if fold.pe not in pe_choices(layer):
        raise FoldingError(
            f"{layer.name}: pe {fold.pe} does not divide {layer.channels_out} neurons; "
            f"{nearest(fold.pe, pe_choices(layer))}"
        )
