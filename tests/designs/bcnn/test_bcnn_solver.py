"""The solver: meets what is asked, monotone, never beaten by brute force; and what does not fit is refused by name."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designs.bcnn import folding, presets, resources, solver
from designs.bcnn.folding import Folding, FoldingError
from designs.bcnn.resources import DoesNotFit, Resources, part
from workloads.bcnn.cases import LAYERS, layers_of

ECP5 = part("lfe5u-85f")
VIRTEX = part("xc7vx690t")
#: 1 to 2 to 4 channels of 6 x 6 pixels and two dense layers: 12,096 foldings or so.
SMALL = layers_of(6, 1, 4, 1, ((2, False), (4, True)), (4, 2))


def total(chosen: Folding, on: resources.Part) -> Resources:
    return sum(resources.estimates(chosen, resources.FAMILIES[on.family]), Resources(0, 0, 0))


def every_folding() -> list[Folding]:
    return [Folding(SMALL, folds) for folds in product(*(folding.choices(layer) for layer in SMALL))]


@settings(deadline=None)
@given(st.sampled_from(sorted(LAYERS)), st.integers(3072, 10**7))
def test_meets_the_interval_and_is_monotone(case: str, interval: int) -> None:
    layers = LAYERS[case]
    chosen = solver.for_interval(layers, interval, VIRTEX)
    assert chosen.interval <= interval
    slower = solver.for_interval(layers, 2 * interval, VIRTEX)
    assert solver.area(total(slower, VIRTEX), VIRTEX) <= solver.area(total(chosen, VIRTEX), VIRTEX)


def test_rate_is_interval_at_a_clock() -> None:
    layers = LAYERS["binarynet"]
    assert solver.for_rate(layers, 90e6 / 12288, 90e6, VIRTEX) == solver.for_interval(layers, 12288, VIRTEX)
    with pytest.raises(FoldingError, match="must be positive"):
        solver.for_rate(layers, 0, 90e6, VIRTEX)


def test_no_folding_of_a_small_network_beats_the_solver() -> None:
    every = every_folding()
    assert len(every) > 5000
    small = replace(ECP5, luts=4000, ffs=3000, brams=12)
    areas = {each: solver.area(total(each, small), small) for each in every}
    for interval in (108, 200, 500, 5000):
        best = min(a for each, a in areas.items() if each.interval <= interval)
        assert areas[solver.for_interval(SMALL, interval, small)] == pytest.approx(best)
    constrained = 0
    for share in (0.45, 0.5, 0.55, 0.6, 0.8, 1.0):
        fitting = [each for each in every if max(resources.shares(total(each, small), small).values()) <= share]
        if not fitting:
            with pytest.raises(DoesNotFit):
                solver.for_part(SMALL, small, share)
            continue
        constrained += len(fitting) < len(every)
        chosen = solver.for_part(SMALL, small, share)
        least = min(each.interval for each in fitting)
        assert chosen in fitting
        assert chosen.interval == least
        assert areas[chosen] == pytest.approx(min(areas[each] for each in fitting if each.interval == least))
    assert constrained > 1


def test_more_of_a_part_is_never_slower() -> None:
    layers = LAYERS["digits"]
    intervals = [solver.for_part(layers, ECP5, share).interval for share in (0.05, 0.06, 0.1, 0.3, 1.0)]
    assert intervals == sorted(intervals, reverse=True)
    assert intervals[-1] == 192, "as quick as its window units"


def test_too_quick_is_refused() -> None:
    with pytest.raises(FoldingError, match=r"conv1: 3071 cycles are too few; it takes at least 3072 \(its window"):
        solver.for_interval(LAYERS["binarynet"], 3071, VIRTEX)


def test_what_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(DoesNotFit, match=r"lfe5u-85f has too few block RAMs.*fc1 .*8,388,608 weights alone"):
        resources.check_fits(presets.folding("binarynet"), ECP5)
    with pytest.raises(DoesNotFit, match=r"ice40up5k has too few .*: no fold of \w+ alone makes the network fit"):
        resources.check_fits(presets.folding("digits"), part("ice40up5k"))
    wide = folding.of(LAYERS["digits_small"], presets.FOLDS["digits_small"] | {"conv2": (24, 16)})
    with pytest.raises(DoesNotFit, match=r"conv2 \(24x16\).*: with conv2 at .*, the network fits"):
        resources.check_fits(wide, part("ice40up5k"))
    with pytest.raises(DoesNotFit, match="fc1"):
        solver.for_part(LAYERS["binarynet"], ECP5)
    assert resources.check_fits(presets.folding("digits"), ECP5, 0.2).luts > 0
    assert resources.check_fits(presets.folding("digits_small"), part("ice40up5k")).luts > 0


def test_unknown_part_lists_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"unknown part 'xc7'; valid: lfe5u-85f, ice40up5k"):
        part("xc7")


def test_block_rams_take_their_best_shape() -> None:
    family = resources.FAMILIES["ecp5"]
    assert resources.blocks(512, 36, family) == 1
    assert resources.blocks(513, 36, family) == 2
    assert resources.blocks(1024, 18, family) == 1
    assert resources.blocks(16384, 3, family) == 3
    assert resources.rom(4, 8, family).brams == 0
