"""The integer oracle against exact rational arithmetic, which shares no code with it."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from workloads.track.network import FixedLayer, FixedNetwork, FloatLayer, FloatNetwork, Format, macs, uniform_format


def rational(value: Fraction, k: int, i: int, f: int, overflow: str) -> Fraction:
    """Quantise one number by the definition."""
    if k + i + f <= 0:
        return Fraction(0)
    step = Fraction(1, 2**f) if f >= 0 else Fraction(2**-f)
    q = floor(value / step + Fraction(1, 2))
    low, high = -k * 2 ** (i + f), 2 ** (i + f) - 1
    q = min(max(q, low), high) if overflow == "SAT" else (q - low) % (high - low + 1) + low
    return q * step


def random_format(rng: np.random.Generator, n: int, overflow: str) -> Format:
    f = rng.integers(-2, 7, n)
    i = rng.integers(-1, 4, n)
    return Format(rng.integers(0, 2, n), i, f, overflow)


@pytest.mark.parametrize("overflow", ["SAT", "WRAP"])
@pytest.mark.parametrize("seed", range(5))
def test_quantise_is_the_definition(overflow: str, seed: int) -> None:
    print("seed", seed)
    rng = np.random.default_rng(seed)
    form = random_format(rng, 16, overflow)
    values = rng.integers(-5000, 5000, (50, 16))
    got = form.quantise(values, 6)
    for row, out in zip(values, got, strict=True):
        for n in range(16):
            k, i, f = int(form.signed[n]), int(form.integer[n]), int(form.fraction[n])
            expected = rational(Fraction(int(row[n]), 64), k, i, f, overflow)
            assert Fraction(int(out[n]), 1) / Fraction(2) ** form.grid == expected, (n, row[n], k, i, f)


@pytest.mark.parametrize("seed", range(3))
def test_the_network_is_rational_arithmetic(seed: int) -> None:
    print("seed", seed)
    rng = np.random.default_rng(seed)
    layers, n_in = [], 3
    for n_out, relu in ((6, True), (5, True), (2, False)):
        overflow = "WRAP" if n_out % 2 else "SAT"
        form = random_format(rng, n_out, overflow)
        weight, bias = rng.integers(-20, 20, (n_in, n_out)), rng.integers(-50, 50, n_out)
        layers.append(FixedLayer(weight, int(rng.integers(0, 6)), bias, int(rng.integers(0, 9)), relu, form))
        n_in = n_out
    network = FixedNetwork(uniform_format(3, 1, 0, 11), tuple(layers))
    x = rng.integers(-2048, 2048, (20, 3))
    got = network.decode(network.evaluate(x))
    for row, out in zip(x, got, strict=True):
        values = [Fraction(int(v), 2048) for v in row]
        for layer in layers:
            f = layer.output
            nxt = []
            for o in range(layer.weight.shape[1]):
                total = sum(
                    (
                        v * Fraction(int(w), 2**layer.weight_fraction)
                        for v, w in zip(values, layer.weight[:, o], strict=True)
                    ),
                    Fraction(int(layer.bias[o]), 2**layer.bias_fraction),
                )
                total = max(total, Fraction(0)) if layer.relu else total
                k, i, frac = int(f.signed[o]), int(f.integer[o]), int(f.fraction[o])
                nxt.append(rational(total, k, i, frac, f.overflow))
            values = nxt
        assert [Fraction(float(v)) for v in out] == values


def test_inputs_saturate_at_the_pins() -> None:
    network = FixedNetwork(uniform_format(3, 1, 0, 11), ())
    x = network.encode(np.array([[-5.0, 5.0, 0.5 / 2048], [-1.0, 1.0, -0.5 / 2048], [np.inf, -np.inf, 0.0]]))
    assert x.tolist() == [[-2048, 2047, 1], [-2048, 2047, 0], [2047, -2048, 0]]


def test_an_unknown_overflow_is_refused() -> None:
    with pytest.raises(ValueError, match="SAT or WRAP, got 'CLIP'"):
        uniform_format(1, 1, 0, 3, "CLIP")


def test_float_network_by_hand() -> None:
    layer = FloatLayer(np.array([[1.0, -1.0]], np.float32), np.array([0.5, 0.0], np.float32), "relu")
    last = FloatLayer(np.array([[2.0], [3.0]], np.float32), np.array([1.0], np.float32), "linear")
    network = FloatNetwork((layer, last))
    assert network(np.array([[2.0], [-4.0]])).ravel().tolist() == [6.0, 13.0]
    assert network.widths == (1, 2, 1)
    # 1/3 in binary16 is 0.33325, so the rounding of operands shows.
    assert network.evaluate(np.array([[1 / 3]]), np.float16, np.float32)[0, 0] != network(np.array([[1 / 3]]))[0, 0]


def test_macs_of_the_cases() -> None:
    assert macs((3, 32, 32, 32, 32, 4)) == 3 * 32 + 3 * 32 * 32 + 32 * 4 == 3296
