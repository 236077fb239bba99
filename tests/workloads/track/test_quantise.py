"""`fixed8` against exact rational arithmetic, a table worked out to more digits, and its error against float."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction
from math import floor

import numpy as np
import pytest

from workloads.api import UnknownNameError
from workloads.track import WORKLOAD, parameters, quantise
from workloads.track.network import FloatLayer, FloatNetwork, uniform_format


def half_up(value: Fraction, fraction: int, low: int, high: int) -> int:
    return min(max(floor(value * 2**fraction + Fraction(1, 2)), low), high)


def test_the_table_is_tanh_to_fifty_digits() -> None:
    table = quantise.tanh_table()
    assert (len(table), table.min(), table.max()) == (1024, -128, 127)
    with localcontext() as context:
        context.prec = 50
        for address, entry in zip(range(-512, 512), table, strict=True):
            e = (Decimal(2 * address) / 128).exp()
            scaled = (e - 1) / (e + 1) * 128 + Decimal("0.5")
            assert entry == min(int(scaled.to_integral_value("ROUND_FLOOR")), 127)
            # No entry is so near a tie that binary64 could get it wrong.
            assert abs(scaled - scaled.to_integral_value()) > Decimal("1e-4")


@pytest.mark.parametrize("seed", range(3))
def test_the_network_is_rational_arithmetic(seed: int) -> None:
    print("seed", seed)
    rng = np.random.default_rng(seed)
    widths = (3, 7, 5, 2)
    layers = []
    for a, b in itertools.pairwise(widths):
        # Multiples of 1/64 of which the largest, 127/32, just fits eight bits in units of 1/32: many ties.
        weight = np.clip(np.round(rng.normal(0, 1.5, (a, b)) * 64), -250, 250) / 64
        weight[0, 0] = 127 / 32
        bias = rng.normal(0, 1, b).astype(np.float32)
        layers.append(FloatLayer(weight.astype(np.float32), bias, "linear" if b == widths[-1] else "tanh"))
    network = quantise.quantise(FloatNetwork(tuple(layers)), uniform_format(3, 1, 0, 11))
    assert network.widths == widths
    table = quantise.tanh_table()
    x = rng.integers(-2048, 2048, (40, 3))
    got = network.evaluate(x)
    for row, out in zip(x, got, strict=True):
        values = [Fraction(int(v), 2048) for v in row]
        fraction = 11
        for layer in layers:
            # The finest unit in which the largest weight fits eight bits, by trying.
            largest = max(abs(float(w)) for w in layer.weight.ravel())
            f = next(f for f in range(31, -9, -1) if half_up(Fraction(largest), f, -999, 999) <= 127)
            sums = []
            for o in range(layer.weight.shape[1]):
                bias = half_up(Fraction(float(layer.bias[o])), fraction + f, -(10**12), 10**12)
                total = Fraction(bias, 2 ** (fraction + f))
                for v, w in zip(values, layer.weight[:, o], strict=True):
                    total += v * Fraction(half_up(Fraction(float(w)), f, -128, 127)) / Fraction(2) ** f
                sums.append(total)
            if layer.activation == "tanh":
                values = [Fraction(int(table[half_up(s, 7, -512, 511) + 512]), 128) for s in sums]
                fraction = 7
            else:
                values = [Fraction(half_up(s, 12, -32768, 32767), 4096) for s in sums]
        assert [Fraction(int(v), 4096) for v in out] == values


def test_widths_are_as_documented() -> None:
    network = quantise.load("exatrkx")
    assert network.widths == parameters.WIDTHS["exatrkx"]
    for layer in network.layers:
        assert 64 <= np.abs(layer.dense.weight).max() <= 127, "the eight bits are used"
        assert layer.dense.output.overflow == "SAT"
    assert [int(la.values.width[0]) for la in network.layers] == [8] * 6 + [16]


def test_the_error_against_float_is_as_stated() -> None:
    seed = 8
    print("seed", seed)
    # An eighth bit lost or won anywhere moves it by decibels.
    assert abs(quantise.signal_to_noise("exatrkx", WORKLOAD.inputs("exatrkx", 200, seed)) - 24.1) < 0.7


def test_the_oracle_knows_it_for_untrained_cases_only() -> None:
    x = WORKLOAD.inputs("exatrkx", 10, 1)
    exact, real = WORKLOAD.reference("exatrkx", x, "fixed8"), WORKLOAD.reference("exatrkx", x, "fp32")
    assert 0 < np.abs(exact - real).max() < 0.1
    with pytest.raises(UnknownNameError, match="unknown arithmetic 'fixed8'; valid: fixed, fp32, fp16"):
        WORKLOAD.reference("embed", np.zeros((1, 3), np.float32), "fixed8")
    with pytest.raises(ValueError, match="'embed' is trained in fixed point"):
        quantise.load("embed")
    assert "workloads/track/quantise.py" in WORKLOAD.sources("exatrkx")
    assert "workloads/track/quantise.py" not in WORKLOAD.sources("embed")


def test_another_activation_is_refused() -> None:
    layer = FloatLayer(np.ones((1, 1), np.float32), np.zeros(1, np.float32), "relu")
    with pytest.raises(ValueError, match="layer 0: fixed8 has no activation 'relu' there"):
        quantise.quantise(FloatNetwork((layer,)), uniform_format(1, 1, 0, 11))
