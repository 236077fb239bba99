"""`fixed8` and `fixed16`: the network in integers, exact, with B = 8 or 16 bits for activations and weights.

* Activations: B signed bits in units of 2^-(B-1), so from -1 to just below 1.
* Weights: B signed bits, a whole layer in units of 2^-F with the largest F at which each of its weights fits; rounded
  half up.
* Biases: on the grid of the sums, 2^-(F+B-1), rounded half up.
* A sum of products and its bias is exact, and then rounded half up to units of 2^-(B-1): r = (sum + 2^(F-1)) >> F.
* linear: r saturates to B bits. clip: the same, and negative numbers become 0; one itself is not representable, so it
  stops one step below.
* tanh and sigmoid: r saturates to [-4, 4). With 8 bits its integer addresses a table of 1,024 entries in units of
  1/128. With 16 bits the upper 10 of its 18 bits address a table in units of 2^-15, and the lower 8 interpolate to the
  next entry: t[i] + ((t[i+1] - t[i]) low + 128 >> 8), saturated.

No parameter is tuned and no input looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workloads.deconv.algorithms import Algorithm, check_numbers, scatter
from workloads.deconv.layer import Activation, Layer

Integers = NDArray[np.int64]

#: Bits of the arithmetics.
BITS = {"fixed8": 8, "fixed16": 16}
#: A table covers [-4, 4) in steps of 2^-TABLE_FRACTION.
TABLE_FRACTION, TABLE_RANGE = 7, 4
TABLE_ENTRIES = 2 * TABLE_RANGE << TABLE_FRACTION


@dataclass(frozen=True)
class FixedLayer:
    """A layer's integers: weights (in, kernel..., out) in units of 2^-fraction, bias (out,) on the grid of the sums."""

    layer: Layer
    bits: int
    weight: Integers
    bias: Integers
    fraction: int

    @cached_property
    def largest_sum(self) -> int:
        """No sum, in whatever order it is added up, has a larger magnitude."""
        per_output = np.abs(self.weight).reshape(-1, self.layer.channels_out).sum(0) << (self.bits - 1)
        return int((per_output + np.abs(self.bias)).max())

    def sums(self, x: Integers, algorithm: Algorithm = scatter) -> Integers:
        """Exact sums with bias of integers (n, sides..., in). Products are added by BLAS in float64.

        That is exact while no partial sum reaches 2^53. Errors: ValueError naming the layer when one could, and for
        inputs that are no integers of `bits` bits.
        """
        self._check(x)
        if self.largest_sum >= 2**53:
            raise ValueError(f"{self.layer.name}: sums of up to {self.largest_sum} are not exact in float64")
        products = algorithm(self.layer, x.astype(np.float64), self.weight.astype(np.float64))
        sums: Integers = products.astype(np.int64) + self.bias
        return sums

    def __call__(self, x: Integers) -> Integers:
        """Integers (n, sides..., in) to integers (n, output sides..., out), both in units of 2^-(bits-1)."""
        return activate(round_shift(self.sums(x), self.fraction), self.layer.activation, self.bits)

    def _check(self, x: Integers) -> None:
        name, high = self.layer.name, 1 << (self.bits - 1)
        if getattr(getattr(x, "dtype", None), "kind", "") not in "iu":
            kind = getattr(x, "dtype", type(x).__name__)
            raise ValueError(f"{name}: inputs of {kind}, but the layer needs integers; `encode` makes them of numbers")
        if x.size and not -high <= (low := int(x.min())) <= (top := int(x.max())) < high:
            value = low if low < -high else top
            raise ValueError(f"{name}: an input of {value}, but {self.bits} bits hold {-high} to {high - 1}")


def quantise(layer: Layer, weight: NDArray[np.floating], bias: NDArray[np.floating], bits: int) -> FixedLayer:
    """The integers of a layer.

    Errors: ValueError naming it for bits other than 8 and 16, for weights and biases of another shape or not finite,
    for weights that round to 2^(bits-1) or more, and for biases of 2^53 or more on the grid of the sums.
    """
    check_bits(f"{layer.name}: ", bits)
    high = (1 << (bits - 1)) - 1
    check_numbers(layer.name, "weights", weight, layer.weight_shape)
    check_numbers(layer.name, "biases", bias, (layer.channels_out,))
    largest = float(np.abs(weight).max())
    # Compared as a float: a huge one has no integer.
    fits = (f for f in range(bits + 8, -1, -1) if np.floor(largest * 2.0**f + 0.5) <= high)
    fraction = next(fits, None)
    if fraction is None:
        raise ValueError(f"{layer.name}: a weight of {largest:g}, but {bits} bits hold at most {high}")
    highest_bias = float(np.abs(bias).max())
    if highest_bias >= 2.0 ** (53 - fraction - bits + 1):
        limit = 2.0 ** (53 - fraction - bits + 1)
        raise ValueError(f"{layer.name}: a bias of {highest_bias:g}, but sums are exact only below {limit:g}")
    return FixedLayer(
        layer,
        bits,
        round_half_up(weight.astype(np.float64) * 2.0**fraction),
        round_half_up(bias.astype(np.float64) * 2.0 ** (fraction + bits - 1)),
        fraction,
    )


def encode(values: NDArray[np.floating], bits: int) -> Integers:
    """Real numbers to integers in units of 2^-(bits-1), rounded half up and saturated.

    Errors: ValueError for bits other than 8 and 16, for what is no array of numbers, and numbers that are not finite.
    """
    check_bits("", bits)
    check_numbers("encode", "numbers", values, getattr(values, "shape", ()), who="it")
    high = 1 << (bits - 1)
    # Saturated while real: a huge one has no integer.
    return round_half_up(np.clip(values.astype(np.float64) * high, -high, high - 1))


def decode(integers: Integers, bits: int) -> NDArray[np.float64]:
    """Integers in units of 2^-(bits-1) to real numbers. Errors: ValueError for bits other than 8 and 16."""
    check_bits("", bits)
    return integers.astype(np.float64) * 2.0 ** (1 - bits)


def activate(rounded: Integers, activation: Activation, bits: int) -> Integers:
    """Apply an activation to rounded sums in units of 2^-(bits-1); see the module's text.

    Errors: ValueError for bits other than 8 and 16.
    """
    check_bits("", bits)
    if activation == "linear":
        return saturate(rounded, bits)
    if activation == "clip":
        return np.maximum(saturate(rounded, bits), 0)
    values = table(activation, bits)
    if bits - 1 == TABLE_FRACTION:
        return values[saturate(rounded, TABLE_FRACTION + 3) + TABLE_ENTRIES // 2]
    low_bits = bits - 1 - TABLE_FRACTION
    address = saturate(rounded, bits + 2) + (TABLE_ENTRIES // 2 << low_bits)
    index, low = address >> low_bits, address & ((1 << low_bits) - 1)
    step = values[index + 1] - values[index]
    return saturate(values[index] + round_shift(step * low, low_bits), bits)


def table(activation: Activation, bits: int) -> Integers:
    """Entries of tanh or sigmoid in units of 2^-(bits-1), lowest address first; with one more, at 4, for the last step.

    Errors: ValueError for an activation without a table.
    """
    if activation not in ("tanh", "sigmoid"):
        raise ValueError(f"no table of activation {activation!r}")
    x = np.arange(-(TABLE_ENTRIES // 2), TABLE_ENTRIES // 2 + 1) * 2.0**-TABLE_FRACTION
    values = np.tanh(x) if activation == "tanh" else 1 / (1 + np.exp(-x))
    return saturate(round_half_up(values * 2.0 ** (bits - 1)), bits)


def check_bits(before: str, bits: object) -> None:
    """Errors: ValueError, beginning with `before`, for bits that no arithmetic has."""
    if type(bits) is not int or bits not in BITS.values():
        raise ValueError(f"{before}bits of {bits!r}; it must be {' or '.join(map(str, BITS.values()))}")


def round_half_up(values: NDArray[np.float64] | np.float64) -> Integers:
    """Real numbers to the nearest integers, halves up."""
    result: Integers = np.floor(values + 0.5).astype(np.int64)
    return result


def round_shift(values: Integers, shift: int) -> Integers:
    """values / 2^shift, rounded half up."""
    result: Integers = values if shift == 0 else (values + (1 << (shift - 1))) >> shift
    return result


def saturate(values: Integers, bits: int) -> Integers:
    """Into the range of `bits` signed bits."""
    result: Integers = np.clip(values, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return result
