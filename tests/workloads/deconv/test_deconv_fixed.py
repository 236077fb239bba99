"""`fixed8` and `fixed16` against Python integers and exact fractions, and tables worked out to more digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from deconv_oracles import by_loops, half_up

from workloads.deconv import fixed, parameters
from workloads.deconv.algorithms import ALGORITHMS
from workloads.deconv.cases import LAYERS
from workloads.deconv.layer import ACTIVATIONS, Activation, Layer
from workloads.deconv.network import FixedNetwork, Network, split

BITS = (8, 16)


def exact(activation: Activation, x: Fraction) -> Decimal:
    """tanh or sigmoid to fifty digits."""
    with localcontext() as context:
        context.prec = 50
        number = Decimal(x.numerator) / Decimal(x.denominator)
        e = (2 * number).exp() if activation == "tanh" else number.exp()
        return (e - 1) / (e + 1) if activation == "tanh" else e / (e + 1)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_tables_are_the_functions_to_fifty_digits(activation: Activation, bits: int) -> None:
    table = fixed.table(activation, bits)
    high = 2 ** (bits - 1) - 1
    assert len(table) == 1025
    with localcontext() as context:
        context.prec = 50
        for place, entry in enumerate(table.tolist()):
            x = Fraction(place - 512, 128)
            scaled = exact(activation, x) * 2 ** (bits - 1) + Decimal("0.5")
            assert entry == min(int(scaled.to_integral_value("ROUND_FLOOR")), high), x
            # No entry but those that are whole by nature is so near a tie that binary64 could get it wrong.
            assert x == 0 or abs(scaled - scaled.to_integral_value()) > Decimal("1e-6")


def table_of(activation: Activation, bits: int) -> list[int]:
    """Entries out of fifty digits; shares nothing with the product's."""
    high = 2 ** (bits - 1) - 1
    return [
        min(
            int(
                (exact(activation, Fraction(i, 128)) * 2 ** (bits - 1) + Decimal("0.5")).to_integral_value(
                    "ROUND_FLOOR"
                )
            ),
            high,
        )
        for i in range(-512, 513)
    ]


def clamp(value: int, bits: int) -> int:
    return min(max(value, -(2 ** (bits - 1))), 2 ** (bits - 1) - 1)


def activated(total: Fraction, activation: Activation, bits: int, tables: dict[Activation, list[int]]) -> int:
    """What the text of `workloads.deconv.fixed` says, in fractions: a sum to an integer in units of 2^-(bits-1)."""
    rounded = half_up(total * 2 ** (bits - 1))
    if activation == "linear":
        return clamp(rounded, bits)
    if activation == "clip":
        return max(0, clamp(rounded, bits))
    rounded = clamp(rounded, bits + 2)  # to [-4, 4)
    table = tables[activation]
    if bits == 8:
        return table[rounded + 512]
    index, part = divmod(rounded + 4 * 32768, 256)
    low, next_ = table[index], table[index + 1]
    return clamp(low + half_up(Fraction((next_ - low) * part, 256)), bits)


def integers_of(weight: Any, bits: int) -> tuple[int, list[int]]:
    """Fraction bits and integers of weights: the finest unit in which the largest fits, by trying."""
    values = [Fraction(float(w)) for w in np.ravel(weight)]
    largest = max(abs(v) for v in values)
    f = next(f for f in range(bits + 8, -1, -1) if half_up(largest * 2**f) <= 2 ** (bits - 1) - 1)
    return f, [half_up(v * 2**f) for v in values]


def nested(values: dict[tuple[int, ...], list[int]], shape: tuple[int, ...]) -> Any:
    """A dictionary from positions to channels as nested lists."""
    array = np.empty((*shape, len(next(iter(values.values())))), object)
    for place, channels in values.items():
        array[place] = channels
    return array.tolist()


def by_integers(network: Network, item: Any, bits: int, tables: dict[Activation, list[int]]) -> Any:
    """A chained network on one item of integers, nested (sides..., channels): Python integers and fractions alone."""
    values = item
    for layer, weight, bias in zip(network.layers, network.weights, network.biases, strict=True):
        f, whole = integers_of(weight, bits)
        sums = by_loops(layer, values, np.array(whole, object).reshape(weight.shape))
        unit = Fraction(1, 2 ** (f + bits - 1))
        offsets = [half_up(Fraction(float(b)) / unit) for b in bias]
        done = {
            place: [
                activated((s + b) * unit, layer.activation, bits, tables) for s, b in zip(row, offsets, strict=True)
            ]
            for place, row in sums.items()
        }
        values = nested(done, layer.shape_out)
    return values


NETWORKS = {
    "1d": (
        Layer("a", (3,), 4, 3, 4, 2, 1),
        Layer("b", (6,), 3, 2, 3, 3, 0, 2, "linear"),
        Layer("c", (20,), 2, 2, 1, activation="tanh"),
    ),
    "2d": (
        Layer("a", (1, 2), 5, 4, 3),
        Layer("b", (3, 4), 4, 3, 4, 2, 1),
        Layer("c", (6, 8), 3, 1, 5, 2, 2, 1, "tanh"),
    ),
    "3d": (
        Layer("a", (1, 2, 1), 5, 3, 2, 2, activation="linear"),
        Layer("b", (2, 4, 2), 3, 2, 3, 2, 1, activation="sigmoid"),
    ),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_python_integers(name: str, bits: int, seed: int) -> None:
    print("seed", seed)
    rng = np.random.default_rng(seed)
    layers = NETWORKS[name]
    weights = []
    for layer in layers:
        # Multiples of half a unit: many ties. The largest, 127/64 of the unit, just fits.
        weight = np.clip(np.round(rng.normal(0, 0.7, layer.weight_shape) * 128), -250, 250) / 128
        weight.flat[0] = 127 / 64
        weights.append(weight.astype(np.float32))
    biases = tuple(rng.normal(0, 0.5, layer.channels_out).astype(np.float32) for layer in layers)
    network = Network(layers, tuple(weights), biases)
    tables: dict[Activation, list[int]] = {
        activation: table_of(activation, bits)
        for activation in ("tanh", "sigmoid")
        if activation in activations(layers)
    }
    high = 2 ** (bits - 1)
    x = rng.integers(-high, high, (3, *network.input_shape))
    x[0] = -high
    x[1] = high - 1
    found = network.fixed(bits)(x)
    for item, out in zip(x.tolist(), found.tolist(), strict=True):
        assert out == by_integers(network, item, bits, tables)
    # The ends of the range are met, or the test would say nothing of saturation.
    first = network.fixed(bits).layers[0](x)
    assert first.max() == high - 1
    assert first.min() == (0 if layers[0].activation == "clip" else -high)


def activations(layers: tuple[Layer, ...]) -> set[Activation]:
    return {layer.activation for layer in layers}


@pytest.mark.parametrize("bits", BITS)
def test_activations_at_their_edges(bits: int) -> None:
    high = 2 ** (bits - 1)
    edges = np.array(
        [-(10**9), -4 * high - 1, -4 * high, -high - 1, -high, -1, 0, 1, high - 1, high, 4 * high - 1, 10**9]
    )
    clip = fixed.activate(edges, "clip", bits).tolist()
    assert clip == [0] * 7 + [1] + [high - 1] * 4
    linear = fixed.activate(edges, "linear", bits).tolist()
    assert linear == [*[-high] * 5, -1, 0, 1, *[high - 1] * 4]
    tanh = fixed.activate(edges, "tanh", bits).tolist()
    low = round(-0.999329299739067 * high)
    assert tanh[:3] == [low] * 3
    assert tanh[6] == 0
    assert tanh[-2:] == [tanh[-2]] * 2
    assert abs(tanh[-2] + low) <= 1
    sigmoid = fixed.activate(edges, "sigmoid", bits).tolist()
    assert sigmoid[6] == high // 2
    assert sigmoid[0] == round(0.0179862099620916 * high)
    every = np.arange(-5 * high, 5 * high, 1 if bits == 8 else 7)
    for name in ACTIVATIONS:
        values = fixed.activate(every, name, bits)
        assert (np.diff(values) >= 0).all(), f"{name} falls"


def test_sixteen_bits_interpolate_to_a_unit() -> None:
    """Between table entries 1/128 apart the chord of tanh is off by at most 1/128^2/8 max|tanh''|: 0.2 units."""
    x = np.arange(-4 * 32768, 4 * 32768, 3)
    for name, function in (("tanh", np.tanh), ("sigmoid", lambda v: 1 / (1 + np.exp(-v)))):
        error = fixed.activate(x, name, 16) - np.minimum(function(x / 32768) * 32768, 32767)
        assert np.abs(error).max() < 0.5 + 0.5 + 0.2 + 1e-9


@pytest.mark.parametrize("bits", BITS)
def test_the_largest_weight_fills_the_bits(bits: int) -> None:
    layer = Layer("l", (2,), 2, 2, 2)
    high = 2 ** (bits - 1) - 1
    for largest in (0.3, 1.0, 0.99, 1.9999, 100.0, 1 / 2**7):
        weight = np.full(layer.weight_shape, largest / 3, np.float32)
        weight[0, 0, 0] = -largest
        quantised = fixed.quantise(layer, weight, np.zeros(2, np.float32), bits)
        assert high / 2 < np.abs(quantised.weight).max() <= high
        assert np.abs(quantised.weight * 2.0**-quantised.fraction - weight).max() <= 2.0 ** -(quantised.fraction + 1)
    tiny = fixed.quantise(layer, weight * np.float32(1e-9), np.zeros(2, np.float32), bits)
    assert tiny.fraction == bits + 8, "no finer unit"
    assert not tiny.weight.any()


@pytest.mark.parametrize("bits", BITS)
def test_weights_too_large_are_refused_by_name(bits: int) -> None:
    layer = Layer("deconv7", (2,), 2, 2, 2)
    weight = np.zeros(layer.weight_shape, np.float32)
    high = 2 ** (bits - 1) - 1
    weight[1, 1, 1] = high + 0.4
    assert fixed.quantise(layer, weight, np.zeros(2, np.float32), bits).fraction == 0
    weight[1, 1, 1] = -(high + 0.6)
    with pytest.raises(ValueError, match=f"deconv7: a weight of {high + 0.6:g}, but {bits} bits hold at most {high}"):
        fixed.quantise(layer, weight, np.zeros(2, np.float32), bits)


def test_sums_that_float64_cannot_hold_are_refused_by_name() -> None:
    layer = Layer("deconv7", (1,), 1, 1, 1)
    for largest, fine in ((2**53 - 1, True), (2**53, False)):
        one = fixed.FixedLayer(layer, 16, np.zeros((1, 1, 1), np.int64), np.array([largest]), 0)
        assert one.largest_sum == largest
        if fine:
            assert one.sums(np.zeros((1, 1, 1), np.int64)).item() == largest
        else:
            with pytest.raises(ValueError, match="deconv7: sums of up to 9007199254740992 are not exact in float64"):
                one.sums(np.zeros((1, 1, 1), np.int64))


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("case", LAYERS)
def test_no_sum_exceeds_the_bound(case: str, bits: int) -> None:
    """32 bits hold every sum with 8 bits, 48 every sum with 16: what accumulators in hardware are built for."""
    for layer in parameters.fixed(case, bits).layers:
        assert layer.largest_sum < 2 ** (31 if bits == 8 else 47)
        assert np.abs(layer.weight).max() < 2 ** (bits - 1)
    if case == "digits":
        rng = np.random.default_rng(5)
        layer = parameters.fixed(case, bits).layers[1]
        high = 2 ** (bits - 1)
        x = np.where(rng.integers(0, 2, (20, *layer.layer.shape, layer.layer.channels_in)), -high, high - 1)
        assert np.abs(layer.sums(x)).max() <= layer.largest_sum


@pytest.mark.parametrize("bits", BITS)
def test_all_algorithms_give_the_same_integers(bits: int) -> None:
    layer = parameters.fixed("digits", bits).layers[1]
    x = np.random.default_rng(3).integers(0, 2 ** (bits - 1), (2, *layer.layer.shape, layer.layer.channels_in))
    found = [layer.sums(x, algorithm) for algorithm in ALGORITHMS.values()]
    assert all(np.array_equal(found[0], other) for other in found[1:])


@pytest.mark.parametrize("bits", BITS)
def test_encode_and_decode(bits: int) -> None:
    unit = 2.0 ** (1 - bits)
    values = np.array([-2, -1, -1.5 * unit, -0.5 * unit, 0, 0.49 * unit, 0.5 * unit, 1 - unit, 1 - 0.5 * unit, 7.0])
    high = 2 ** (bits - 1)
    assert fixed.encode(values, bits).tolist() == [-high, -high, -1, 0, 0, 0, 1, high - 1, high - 1, high - 1]
    every = np.arange(-high, high)
    assert np.array_equal(fixed.encode(fixed.decode(every, bits), bits), every)


def test_what_no_integer_stands_for_is_not_encoded() -> None:
    values = np.zeros((2, 3), np.float32)
    for strange in (np.nan, np.inf, -np.inf):
        values[1, 2] = strange
        with pytest.raises(ValueError, match=r"encode: numbers must be finite, but 1 are not, the first at \(1, 2\)"):
            fixed.encode(values, 8)
    with pytest.raises(ValueError, match="encode: numbers of list, but it needs an array"):
        fixed.encode([0.5], 8)  # type: ignore[arg-type]
    assert fixed.encode(np.array([3e38, -3e38, 1e19], np.float32), 16).tolist() == [32767, -32768, 32767]
    for function in (fixed.encode, fixed.decode):
        with pytest.raises(ValueError, match=r"^bits of 12; it must be 8 or 16"):
            function(np.zeros(3), 12)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^bits of 12; it must be 8 or 16"):
        fixed.activate(np.zeros(3, np.int64), "tanh", 12)


@pytest.mark.parametrize(
    ("weight", "bias", "message"),
    [
        (
            np.zeros((1, 2, 1), np.float32),
            np.zeros(1),
            r"weights of shape \(1, 2, 1\), but the layer needs \(1, 2, 2, 1\)",
        ),
        (
            np.zeros((1, 2, 2, 2), np.float32),
            np.zeros(1),
            r"weights of shape \(1, 2, 2, 2\), but the layer needs \(1, 2",
        ),
        (np.zeros((1, 2, 2, 1), np.float32), np.zeros(2), r"biases of shape \(2,\), but the layer needs \(1,\)"),
        (None, np.zeros(1), r"weights of NoneType, but the layer needs an array of shape \(1, 2, 2, 1\)"),
        (
            np.zeros((1, 2, 2, 1), complex),
            np.zeros(1),
            "weights of complex128, but the layer needs whole or real numbers",
        ),
    ],
)
def test_parameters_of_another_shape_or_type_are_not_quantised(weight: Any, bias: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^up: {message}"):
        fixed.quantise(Layer("up", (2, 2), 1, 1, 2, 2), weight, bias, 8)


def test_round_shift_is_half_up() -> None:
    values = np.arange(-40, 41)
    for shift in range(5):
        assert fixed.round_shift(values, shift).tolist() == [half_up(Fraction(v, 2**shift)) for v in values.tolist()]


def test_layers_that_are_not_chained_each_take_their_part() -> None:
    layers = (Layer("up1", (1, 2), 3, 2, 2, 2), Layer("up2", (2, 2), 2, 1, 2, 2, activation="tanh"))
    rng = np.random.default_rng(9)
    weights = tuple(rng.normal(0, 0.5, layer.weight_shape).astype(np.float32) for layer in layers)
    biases = tuple(np.zeros(layer.channels_out, np.float32) for layer in layers)
    network = Network(layers, weights, biases, chained=False)
    assert network.input_shape == (6 + 8,)
    whole: FixedNetwork = network.fixed(8)
    x = rng.integers(-128, 128, (3, 14))
    found = whole(x)
    assert found.shape == (3, 16 + 16)
    first = whole.layers[0](x[:, :6].reshape(3, 1, 2, 3)).reshape(3, -1)
    second = whole.layers[1](x[:, 6:].reshape(3, 2, 2, 2)).reshape(3, -1)
    assert np.array_equal(found, np.concatenate([first, second], 1))
    parts = list(split(layers, x[0]))
    assert [part.shape for part in parts] == [(1, 2, 3), (2, 2, 2)]
    assert np.concatenate([part.reshape(-1) for part in parts]).tolist() == x[0].tolist()
    assert whole.bits == 8


def test_an_activation_without_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no table of activation 'clip'"):
        fixed.table("clip", 8)


@pytest.mark.parametrize(
    ("weight", "bias", "message"),
    [
        (0.5, 1e30, r"up: a bias of 1e\+30, but sums are exact only below"),
        (0.5, -1e30, r"up: a bias of 1e\+30, but sums are exact only below"),
        (1e30, 0.0, r"up: a weight of 1e\+30, but 8 bits hold at most 127"),
        (-3e38, 0.0, r"up: a weight of 3e\+38, but 8 bits hold at most 127"),
        (127.5, 0.0, r"up: a weight of 127\.5, but 8 bits hold at most 127"),
        (np.nan, 0.0, r"up: weights must be finite, but 4 are not, the first at \(0, 0, 0, 0\)"),
        (0.5, np.inf, r"up: biases must be finite, but 1 are not, the first at \(0,\)"),
    ],
)
def test_numbers_that_no_integer_holds_are_refused(weight: float, bias: float, message: str) -> None:
    layer = Layer("up", (2, 2), 1, 1, 2, 2)
    with pytest.raises(ValueError, match=message):
        fixed.quantise(layer, np.full(layer.weight_shape, weight, np.float32), np.full(1, bias, np.float32), 8)
