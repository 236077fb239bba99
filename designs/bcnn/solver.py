"""Chooses a folding: the smallest that keeps a rate, or the fastest that fits a part.

Layers share nothing but the part, so the smallest folding for an interval takes the smallest fold of each layer that is
fast enough. The fastest that fits is found by bisection over the intervals that layers can have: a longer interval
never needs more. Whether one fits is decided exactly, over all sums of layers that none beats in every resource.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from math import inf

from designs.bcnn.folding import Fold, Folding, FoldingError, choices, cycles, window_cycles
from designs.bcnn.resources import FAMILIES, DoesNotFit, Part, Resources, check_fits, estimate, shares
from workloads.bcnn.network import Layer

#: A choice of folds for the first layers, and what it takes.
_Partial = tuple[Resources, tuple[Fold, ...]]


def area(used: Resources, part: Part) -> float:
    """The one number that is made small: the fractions of the part's LUTs, FFs and block RAMs, added."""
    return sum(shares(used, part).values())


def for_interval(layers: Sequence[Layer], interval: int, part: Part) -> Folding:
    """The folding of least modelled area whose every layer takes at most `interval` cycles an image.

    Among equals the quicker one. Whether the part has as much is not asked. Errors: FoldingError naming the layer that
    cannot be so quick, and how quick it can be.
    """
    folds = []
    for layer in layers:
        enough = [item for item in _options(layer, part) if item[1] <= interval]
        if not enough:
            least = min(item[1] for item in _options(layer, part))
            why = "its window unit gives one column a cycle" if least == window_cycles(layer) else "wholly unrolled"
            raise FoldingError(f"{layer.name}: {interval} cycles are too few; it takes at least {least} ({why})")
        folds.append(min(enough, key=lambda item: (area(item[2], part), item[1]))[0])
    return Folding(tuple(layers), tuple(folds))


def for_rate(layers: Sequence[Layer], images_per_second: float, clock_hz: float, part: Part) -> Folding:
    """The folding of least modelled area that does `images_per_second` at a clock. Errors: FoldingError."""
    if not (0 < images_per_second < inf and 0 < clock_hz < inf):
        raise FoldingError(f"{images_per_second:g} images/s at {clock_hz:g} Hz: both must be positive and finite")
    return for_interval(layers, int(clock_hz / images_per_second), part)


def for_part(layers: Sequence[Layer], part: Part, share: float = 1.0) -> Folding:
    """The folding of least interval whose modelled resources are at most `share` of the part.

    Of those with this interval the one of least area. Errors: DoesNotFit when even the slowest does not fit.
    """
    possible = sorted({item[1] for layer in layers for item in _options(layer, part)})
    slowest = _smallest(layers, possible[-1], part, share)
    if slowest is None:
        least = Folding(tuple(layers), tuple(Fold(1, 1) for _ in layers))
        check_fits(least, part, share)
        raise DoesNotFit(f"{part.name}: no folding of this network fits {share:.0%} of it")
    low, high, best = 0, len(possible) - 1, slowest
    while low < high:
        middle = (low + high) // 2
        found = _smallest(layers, possible[middle], part, share)
        if found is None:
            low = middle + 1
        else:
            high, best = middle, found
    return best


@cache
def _options(layer: Layer, part: Part) -> tuple[tuple[Fold, int, Resources], ...]:
    """Every legal fold with its cycles and its resources."""
    family = FAMILIES[part.family]
    return tuple((fold, cycles(layer, fold), estimate(layer, fold, family)) for fold in choices(layer))


def _smallest(layers: Sequence[Layer], interval: int, part: Part, share: float) -> Folding | None:
    """The folding of least area that keeps the interval and fits, or None."""
    front: list[_Partial] = [(Resources(0, 0, 0), ())]
    for layer in layers:
        steps = _best([(used, (fold,)) for fold, taken, used in _options(layer, part) if taken <= interval])
        front = [(a + b, (*before, *fold)) for a, before in front for b, fold in steps]
        front = _best([item for item in front if max(shares(item[0], part).values()) <= share])
    if not front:
        return None
    return Folding(tuple(layers), min(front, key=lambda item: area(item[0], part))[1])


def _best(items: Sequence[_Partial]) -> list[_Partial]:
    """Those that no other beats in every resource."""
    kept: list[_Partial] = []
    # Of those kept so far, which all have no more LUTs: block RAMs ascending, and with them flip-flops descending.
    brams: list[int] = []
    ffs: list[float] = []
    for item in sorted(items, key=lambda item: (item[0].luts, item[0].ffs, item[0].brams)):
        used = item[0]
        place = bisect_right(brams, used.brams)
        if place and ffs[place - 1] <= used.ffs:
            continue
        kept.append(item)
        end = place
        while end < len(ffs) and ffs[end] >= used.ffs:
            end += 1
        brams[place:end], ffs[place:end] = [used.brams], [used.ffs]
    return kept
