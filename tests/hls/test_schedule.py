"""Cutting a da4ml netlist by delay: the same function, no stage beyond the budget."""

from __future__ import annotations

import numpy as np
import pytest
from da4ml.trace import FixedVariableArrayInput, comb_trace
from da4ml.types import Op, QInterval, minimal_kif

from hls.flow.schedule import ECP5_6, delay_of, pipeline


def netlist(seed: int):
    """A small layer of two matrix products and a ReLU, as da4ml operations."""
    rng = np.random.default_rng(seed)
    x = FixedVariableArrayInput((4,)).quantize(1, 0, 6)
    y = x @ rng.integers(-9, 9, (4, 5)).astype(float)
    y = y.relu(i=np.full(5, 3), f=np.full(5, 2)) if hasattr(y, "relu") else y
    return comb_trace(x, y @ rng.integers(-9, 9, (5, 3)).astype(float))


@pytest.mark.parametrize("budget", [0.5, 4.5, 9.0, 100.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_stages_compute_the_same_and_keep_the_budget(budget: float, seed: int) -> None:
    print("seed", seed)
    comb = netlist(seed)
    stages = pipeline(comb, budget, ECP5_6)
    x = np.random.default_rng(seed).integers(-64, 64, (200, 4)) / 64
    y = x
    for solution in stages.solutions:
        y = solution.predict(y)
    assert np.array_equal(y, comb.predict(x))
    for solution in stages.solutions:
        arrival: list[float] = []
        for op in solution.ops:
            before = max((arrival[i] for i in (op.id0, op.id1) if i >= 0 and op.opcode not in (-1, 5)), default=0.0)
            delay = delay_of(op, sum(minimal_kif(op.qint)), ECP5_6)
            arrival.append(before + delay)
            assert arrival[-1] <= budget or before == 0.0


def test_a_tighter_budget_takes_more_stages() -> None:
    comb = netlist(1)
    count = [len(pipeline(comb, budget, ECP5_6).solutions) for budget in (0.5, 4.5, 9.0, 100.0)]
    assert count == sorted(count, reverse=True)
    assert count[0] > count[-1] == 1


def test_an_operation_without_a_delay_is_refused() -> None:
    with pytest.raises(ValueError, match="opcode 7 has no delay"):
        delay_of(Op(0, 1, 7, 0, QInterval(0, 1, 1), 0.0, 0.0), 1, ECP5_6)
