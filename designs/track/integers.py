"""The network as the folded design computes it: integers only, one set of widths a layer.

Every layer's inputs lie on one grid and are two's complement numbers of `a_bits`; its weights have `w_bits`. A sum is
shifted onto a fine grid where the bias and half a step of the neuron's format are added to it; cutting bits off then
rounds half up, and two masks a neuron do the rest of its format (see designs/lib/requantise.sv).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workloads.track.network import FixedLayer, FixedNetwork, Format, Ints
from workloads.track.quantise import TableLayer, TableNetwork


@dataclass(frozen=True)
class Dense:
    """One layer. `weight` (n_in, n_out); `offset`, `keep`, `upper`, `signed` (n_out,) as in requantise.sv.

    A sum has `acc_bits`, it is shifted `left` to `sum_bits`, cut by `right` to `out_bits`. With a `table` (in order of
    the unsigned address) the result is looked up there. What leaves has `value_bits`.
    """

    name: str
    weight: Ints
    a_bits: int
    w_bits: int
    acc_bits: int
    left: int
    right: int
    sum_bits: int
    out_bits: int
    offset: Ints
    keep: Ints
    upper: Ints
    signed: Ints
    relu: bool
    saturate: bool
    table: Ints | None
    value_bits: int

    @property
    def n_in(self) -> int:
        """Synapses of a neuron."""
        return int(self.weight.shape[0])

    @property
    def n_out(self) -> int:
        """Neurons."""
        return int(self.weight.shape[1])

    @property
    def one_format(self) -> bool:
        """Whether all neurons have the same output format."""
        return all(len(np.unique(v)) == 1 for v in (self.keep, self.upper, self.signed))

    def evaluate(self, x: Ints) -> Ints:
        """What the hardware does to integers (m, n_in), step by step; (m, n_out)."""
        z = (((x @ self.weight) << self.left) + self.offset) >> self.right
        negative = z < 0
        if self.saturate:
            beyond = self.upper | (-1 << self.out_bits)
            over = ~negative & ((z & beyond) != 0)
            under = negative & ((self.signed == 0) | ((~z & beyond) != 0))
            q = np.where(over, self.keep, z & (self.keep | -1 << self.out_bits | self.upper))
            q = np.where(under, np.where(self.signed, self.upper, 0), q)
        else:
            top = self.upper & ~(self.upper << 1)
            q = (z & self.keep) | np.where((self.signed == 1) & ((z & top) != 0), self.upper, 0)
        q = np.where(negative & self.relu, 0, q) & ((1 << self.out_bits) - 1)
        if self.table is not None:
            result: Ints = self.table[q]
            return result
        result = q - ((q >> (self.out_bits - 1)) << self.out_bits)
        return result


def layers_of(network: FixedNetwork | TableNetwork, *, multiple: int = 1) -> tuple[Dense, ...]:
    """The layers of a network, named layer1 on, without its dead neurons (see `trimmed`)."""
    tables = network if isinstance(network, TableNetwork) else with_tables(network)
    tables = trimmed(tables, multiple)
    result: list[Dense] = []
    form, low, high = tables.input, *_range(tables.input)
    for number, layer in enumerate(tables.layers, 1):
        dense = _dense(f"layer{number}", layer, form, low, high)
        result.append(dense)
        form = layer.values
        low, high = _range(form)
        if layer.table is not None:
            low, high = np.full_like(low, layer.table.min()), np.full_like(high, layer.table.max())
    return tuple(result)


def with_tables(network: FixedNetwork) -> TableNetwork:
    """A trained network in the more general form: no layer has a table."""
    return TableNetwork(network.input, tuple(TableLayer(layer, None, layer.output) for layer in network.layers))


def trimmed(network: TableNetwork, multiple: int = 1) -> TableNetwork:
    """Without the hidden neurons that cannot reach an output: always zero, or with no weight leaving them.

    The outputs stay exactly the same. As many of the dead ones are kept as fill a layer to a whole `multiple`, so that
    it has divisors to fold by.
    """
    layers = list(network.layers)
    for index in range(len(layers) - 2, -1, -1):
        here, after = layers[index], layers[index + 1]
        live = (here.dense.output.width > 0) & (after.dense.weight != 0).any(axis=1)
        wanted = max(-(-int(live.sum()) // multiple) * multiple, 1)
        # Live ones first, in order; then the dead, in order.
        kept = np.sort(np.argsort(~live, kind="stable")[:wanted])
        layers[index] = TableLayer(_columns(here.dense, kept), here.table, _elements(here.values, kept))
        old = after.dense
        rows = FixedLayer(old.weight[kept], old.weight_fraction, old.bias, old.bias_fraction, old.relu, old.output)
        layers[index + 1] = TableLayer(rows, after.table, after.values)
    return TableNetwork(network.input, tuple(layers))


def _elements(form: Format, kept: Ints) -> Format:
    return Format(form.signed[kept], form.integer[kept], form.fraction[kept], form.overflow)


def _columns(layer: FixedLayer, kept: Ints) -> FixedLayer:
    output = _elements(layer.output, kept)
    return FixedLayer(
        layer.weight[:, kept], layer.weight_fraction, layer.bias[kept], layer.bias_fraction, layer.relu, output
    )


def _dense(name: str, layer: TableLayer, form: Format, low: Ints, high: Ints) -> Dense:
    dense, output = layer.dense, layer.dense.output
    live, grid = output.width > 0, output.grid
    fraction = form.grid + dense.weight_fraction
    fine = max(fraction, dense.bias_fraction, grid)
    left = fine - fraction
    # Positions, on the output grid, of a format's lowest bit and of the first bit above its values.
    first, top = np.where(live, grid - output.fraction, 0), np.where(live, output.integer + grid, 0)
    out_bits = max(int(top.max(initial=0)) + 1, 2)
    half = np.where(live & (fine > output.fraction), 1 << np.maximum(fine - output.fraction - 1, 0), 0)
    offset = (dense.bias << (fine - dense.bias_fraction)) + half
    positive, negative = np.maximum(dense.weight, 0), np.minimum(dense.weight, 0)
    most, least = high @ positive + low @ negative, low @ positive + high @ negative
    acc_bits = _bits(least, most)
    everything = (1 << out_bits) - 1
    upper = np.where(live, everything & (-1 << top), 0)
    table = layer.table if layer.table is None else np.roll(layer.table, -len(layer.table) // 2)
    if table is not None and (len(table) != 1 << out_bits or not layer.dense.output.signed.all()):
        raise ValueError(f"{name}: a table of {len(table)} entries does not suit addresses of {out_bits} signed bits")
    return Dense(
        name=name,
        weight=dense.weight,
        a_bits=_bits(low, high),
        w_bits=_bits(dense.weight),
        acc_bits=acc_bits,
        left=left,
        right=fine - grid,
        sum_bits=max(_bits((least << left) + offset, (most << left) + offset), acc_bits + left, fine - grid + 1),
        out_bits=out_bits,
        offset=offset,
        keep=np.where(live, (1 << top) - (1 << first), 0),
        upper=upper,
        signed=np.where(live, output.signed, 0),
        relu=dense.relu,
        saturate=output.overflow == "SAT",
        table=table,
        value_bits=out_bits if table is None else _bits(table),
    )


def _range(form: Format) -> tuple[Ints, Ints]:
    """Lowest and highest integer of each element on the format's grid."""
    live = form.width > 0
    step = np.maximum(form.grid - form.fraction, 0)
    top = np.where(live, np.left_shift(1, np.maximum(form.integer + form.grid, 0)), 0)
    return np.where(live, -form.signed * top, 0), np.where(live, top - (1 << np.where(live, step, 0)), 0)


def _bits(*values: Ints) -> int:
    """Bits of a two's complement number that holds all values, at least two."""
    low = min(int(v.min(initial=0)) for v in values)
    high = max(int(v.max(initial=0)) for v in values)
    return max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0, 1) + 1
