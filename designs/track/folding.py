"""How a network is folded: a (simd, pe) for every layer, and how to choose them.

    for_multipliers(layers, 8)     the shortest interval with at most 8 multipliers
    for_interval(layers, 64)       the fewest multipliers with at most 64 cycles between hits
    for_reuse(layers, 16)          hls4ml's reuse factor: every multiplier makes 16 products of a hit

A layer takes (synapses / simd) * (neurons / pe) cycles a hit and simd * pe multipliers; the slowest layer sets the
interval between hits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from designs.flow.folding import Fold, FoldingError, divisors, nearest
from designs.track.integers import Dense


@dataclass(frozen=True)
class Folding:
    """A fold for every layer, legal by construction. `names` and `shapes` (synapses, neurons). Errors: FoldingError."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, int], ...]
    folds: tuple[Fold, ...]

    def __post_init__(self) -> None:
        if len(self.folds) != len(self.names):
            raise FoldingError(f"{len(self.folds)} folds for {len(self.names)} layers: {', '.join(self.names)}")
        for name, shape, fold in zip(self.names, self.shapes, self.folds, strict=True):
            for what, value, of, number in (
                ("simd", fold.simd, "synapses", shape[0]),
                ("pe", fold.pe, "neurons", shape[1]),
            ):
                if value < 1 or number % value:
                    legal = nearest(value, divisors(number))
                    raise FoldingError(f"{name}: {what} {value} does not divide {number} {of}; {legal}")

    @property
    def cycles(self) -> tuple[int, ...]:
        """Cycles a hit of each layer: its reuse factor."""
        return tuple((i // f.simd) * (o // f.pe) for (i, o), f in zip(self.shapes, self.folds, strict=True))

    @property
    def interval(self) -> int:
        """Ideal cycles between hits: those of the slowest layer."""
        return max(self.cycles)

    @property
    def multipliers(self) -> int:
        """Products in a cycle."""
        return sum(fold.simd * fold.pe for fold in self.folds)

    def __str__(self) -> str:
        return ", ".join(f"{name} {fold}" for name, fold in zip(self.names, self.folds, strict=True))


def of(layers: Sequence[Dense], folds: Mapping[str, tuple[int, int]]) -> Folding:
    """The folding that gives each layer, by name, its (simd, pe). Errors: FoldingError, also for a name too many."""
    names = [layer.name for layer in layers]
    for name in folds:
        if name not in names:
            raise FoldingError(f"no layer {name!r} to fold; layers: {', '.join(names)}")
    for name in names:
        if name not in folds:
            raise FoldingError(f"{name}: no fold given")
    return _folding(layers, [Fold(*folds[name]) for name in names])


def for_interval(layers: Sequence[Dense], interval: int) -> Folding:
    """The folding of fewest multipliers with at most `interval` cycles between hits. Errors: FoldingError.

    Of equals the one whose words, `simd` activations and `pe` sums, have the fewest bits.
    """
    if interval < 1:
        raise FoldingError(f"an interval of {interval} cycles is none; the shortest is 1")
    folds = []
    for layer in layers:
        enough = [f for f in _choices(layer) if _cycles(layer, f) <= interval]
        folds.append(min(enough, key=lambda f: (f.simd * f.pe, _word_bits(layer, f))))
    return _folding(layers, folds)


def for_multipliers(layers: Sequence[Dense], multipliers: int) -> Folding:
    """The folding of shortest interval with at most `multipliers`. Errors: FoldingError below one a layer."""
    if multipliers < len(layers):
        raise FoldingError(f"{multipliers} multipliers are too few for {len(layers)} layers, which take one each")
    possible = sorted({_cycles(layer, fold) for layer in layers for fold in _choices(layer)})
    return next(found for each in possible if (found := for_interval(layers, each)).multipliers <= multipliers)


def for_reuse(layers: Sequence[Dense], reuse: int | Mapping[str, int]) -> Folding:
    """The folding in which every multiplier of a layer makes `reuse` products of a hit.

    One number for all layers or one a layer, by name; a layer smaller than that number in all takes one multiplier.
    Errors: FoldingError, with the nearest reuse factors that the layer can have.
    """
    folds = []
    for layer in layers:
        if isinstance(reuse, int):
            wanted = min(reuse, layer.n_in * layer.n_out)
        elif layer.name in reuse:
            wanted = reuse[layer.name]
        else:
            raise FoldingError(f"{layer.name}: no reuse factor given")
        found = [f for f in _choices(layer) if _cycles(layer, f) == wanted]
        if not found:
            legal = sorted({_cycles(layer, f) for f in _choices(layer)})
            raise FoldingError(
                f"{layer.name}: a reuse factor of {wanted} does not divide its {layer.n_in} synapses times "
                f"{layer.n_out} neurons into folds; {nearest(wanted, legal)}"
            )
        folds.append(min(found, key=lambda f: _word_bits(layer, f)))
    return _folding(layers, folds)


def _folding(layers: Sequence[Dense], folds: Sequence[Fold]) -> Folding:
    return Folding(
        tuple(layer.name for layer in layers), tuple((layer.n_in, layer.n_out) for layer in layers), tuple(folds)
    )


def _choices(layer: Dense) -> list[Fold]:
    return [Fold(simd, pe) for simd in divisors(layer.n_in) for pe in divisors(layer.n_out)]


def _word_bits(layer: Dense, fold: Fold) -> int:
    return fold.simd * layer.a_bits + fold.pe * layer.acc_bits


def _cycles(layer: Dense, fold: Fold) -> int:
    return (layer.n_in // fold.simd) * (layer.n_out // fold.pe)
