"""`fixed8`: post-training quantisation of a float network with tanh to integers, and its exact oracle.

For a case without quantisation-aware training. No parameter is trained here and no input looked at; the rules are:

* Weights: WEIGHT_BITS signed, a whole layer in units of 2^-f with the largest f at which its largest weight still fits,
  each rounded half up.
* Biases: on the grid of the layer's sums (fraction of its inputs + fraction of its weights), rounded half up.
* Hidden layers: the exact sum is rounded half up to the `INDEX` format, multiples of 1/128 in [-4, 4), and saturates
  there; its integer addresses a table of 1,024 activations. Beyond +-4 tanh differs from its limit by under 1/1000.
* The table: tanh(i / 128) in units of 1/128, rounded half up, saturated to 8 signed bits. tanh of a rational number is
  irrational except at 0, so no entry is a tie, and `tests/workloads/track/test_quantise.py` keeps the margin.
* Outputs: 16 bits in units of 2^-12, rounded half up, saturated.

Weights and hidden activations are thus bytes (what an int8 tensor core or a DSP block takes); inputs have the 12 bits
of the pins. On `exatrkx` the outputs lie 24 dB (signal over quantisation noise, `signal_to_noise`) from float64, nearly
all of it from the 8-bit activations: with these seeded weights they fill a sixth of their range.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from workloads.track import parameters
from workloads.track.network import FixedLayer, FixedNetwork, FloatNetwork, Format, Ints, uniform_format

#: Name of the arithmetic.
ARITHMETIC = "fixed8"
WEIGHT_BITS = 8
#: Sign, integer and fractional bits of the table's address, of its entries, and of the network's outputs.
INDEX, ACTIVATION, OUTPUT = (1, 2, 7), (1, 0, 7), (1, 3, 12)


@dataclass(frozen=True)
class TableLayer:
    """A dense layer, and what its outputs become: `table[q - low]` for the quantised sum q, or q itself without one.

    `dense.output` is the format of the table's address, the same for all neurons; `low` its lowest integer. `values` is
    the format of what leaves the layer.
    """

    dense: FixedLayer
    table: Ints | None
    values: Format

    @property
    def low(self) -> int:
        """The quantised sum that reads the table's first entry."""
        return -int(self.dense.output.signed[0]) << int(self.dense.output.width[0] - 1)


@dataclass(frozen=True)
class TableNetwork:
    """An input format and the layers behind it; all integers, like `FixedNetwork`."""

    input: Format
    layers: tuple[TableLayer, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """Neurons of each stage, input first."""
        return FixedNetwork(self.input, tuple(layer.dense for layer in self.layers)).widths

    def encode(self, inputs: NDArray[np.floating]) -> Ints:
        """Real inputs (m, n_in) to integers on the input grid: round half up, then saturate."""
        return FixedNetwork(self.input, ()).encode(inputs)

    def evaluate(self, x: Ints) -> Ints:
        """Evaluate integers (m, n_in) on the input grid; return integers (m, n_out) on the output grid. Exact."""
        form = self.input
        for layer in self.layers:
            x = FixedNetwork(form, (layer.dense,)).evaluate(x)
            x = x if layer.table is None else layer.table[x - layer.low]
            form = layer.values
        return x

    def decode(self, outputs: Ints) -> NDArray[np.float64]:
        """Integers on the output grid to real numbers."""
        return outputs.astype(np.float64) * 2.0 ** -self.layers[-1].values.grid

    def __call__(self, inputs: NDArray[np.floating]) -> NDArray[np.float64]:
        """Real inputs (m, n_in) to real outputs (m, n_out), exactly what the integers say."""
        return self.decode(self.evaluate(self.encode(inputs)))


def tanh_table() -> Ints:
    """The 1,024 activations, lowest address first; see the module's text."""
    k, i, f = INDEX
    address = np.arange(-k << (i + f), 1 << (i + f), dtype=np.int64)
    high = (1 << (ACTIVATION[1] + ACTIVATION[2])) - 1
    rounded = np.floor(np.tanh(address * 2.0**-f) * 2.0 ** ACTIVATION[2] + 0.5)
    table: Ints = np.minimum(rounded.astype(np.int64), high)
    return table


def quantise(network: FloatNetwork, pins: Format) -> TableNetwork:
    """Quantise a network of tanh layers and a linear last one, whose inputs come in the format `pins`.

    Errors: ValueError for another activation.
    """
    layers: list[TableLayer] = []
    fraction, table = pins.grid, tanh_table()
    for number, layer in enumerate(network.layers):
        last = number == len(network.layers) - 1
        if layer.activation != ("linear" if last else "tanh"):
            raise ValueError(f"layer {number}: {ARITHMETIC} has no activation {layer.activation!r} there")
        weight = layer.weight.astype(np.float64)
        weight_fraction = _fraction(weight)
        grid = fraction + weight_fraction
        n_out = weight.shape[1]
        dense = FixedLayer(
            _rounded(weight, weight_fraction),
            weight_fraction,
            _rounded(layer.bias.astype(np.float64), grid),
            grid,
            False,
            uniform_format(n_out, *(OUTPUT if last else INDEX)),
        )
        values = dense.output if last else uniform_format(n_out, *ACTIVATION)
        layers.append(TableLayer(dense, None if last else table, values))
        fraction = values.grid
    return TableNetwork(pins, tuple(layers))


def _rounded(values: NDArray[np.float64], fraction: int) -> Ints:
    result: Ints = np.floor(values * 2.0**fraction + 0.5).astype(np.int64)
    return result


def _fraction(weight: NDArray[np.float64]) -> int:
    """The most fractional bits with which every weight fits WEIGHT_BITS."""
    high = (1 << (WEIGHT_BITS - 1)) - 1
    return max(f for f in range(-WEIGHT_BITS, 32) if np.abs(_rounded(np.abs(weight), f)).max() <= high)


@cache
def load(case: str) -> TableNetwork:
    """The quantised network of an untrained case. Errors: ValueError for a trained one, UnknownNameError."""
    loaded = parameters.load(case)
    if loaded.fixed is not None:
        raise ValueError(f"case {case!r} is trained in fixed point; {ARITHMETIC} is for those that are not")
    return quantise(loaded.float_network, uniform_format(loaded.float_network.widths[0], 1, 0, 11))


def signal_to_noise(case: str, inputs: NDArray[np.float32]) -> float:
    """Signal over quantisation noise of the outputs in dB: variance of the float64 outputs over mean square error."""
    exact = parameters.load(case).float_network(inputs)
    noise = ((load(case)(inputs) - exact) ** 2).mean()
    return float(10 * np.log10(exact.var(0).mean() / noise))
