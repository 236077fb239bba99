"""What the tensor-core kernel `mma.cl` needs from the host: the registers of every lane, and the proof of exactness.

The fragment layouts are those of `mma.m16n8k16` and `mma.m16n8k8` in the PTX ISA; a lane is 4 g + t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpu.track.lower import Lowered, Step
from workloads.track.network import FloatNetwork

#: Every value of the fixed-point kernel is an integer in this unit, the smallest half-precision number.
UNIT = 2.0**-24
_LANE = np.arange(32)
_G, _T = _LANE // 4, _LANE % 4


class Unsupported(ValueError):
    """A network or arithmetic that a kernel cannot do exactly or at all; the message says which condition fails."""


@dataclass(frozen=True)
class Fragments:
    """`words` (registers, 32) uint32 for each lane, registers a multiple of 4, and the generated calls of layers."""

    words: NDArray[np.uint32]
    layers: str
    kt: int
    nt: int
    last: int
    last_wrap: bool
    last_relu: bool
    last_up: bool
    small_input: bool


@dataclass
class _Layer:
    weight: NDArray[np.float64]  # (n_in, n_out) as the tensor cores see it
    bias: NDArray[np.float64]
    pairs: list[str]  # which conversion to the next operand, one an n8 tile
    ranges: NDArray[np.uint32]  # (n_out,) its range, one half an output


def float_fragments(network: FloatNetwork) -> Fragments:
    """Lay out a float network in fp16 weights and fp32 biases. Errors: Unsupported."""
    layers = []
    for layer in network.layers:
        if layer.activation not in ("relu", "linear"):
            raise Unsupported(f"mma: activation {layer.activation!r}; it does relu and linear")
        n_out = layer.weight.shape[1]
        pairs = [f"pair_{layer.activation}"] * -(-n_out // 8)
        weight, bias = layer.weight.astype(np.float64), layer.bias.astype(np.float64)
        layers.append(_Layer(weight, bias, pairs, np.zeros(n_out, np.uint32)))
    if network.layers[-1].activation != "linear":
        raise Unsupported("mma: the last layer must be linear")
    return _fragments(layers, None)


def fixed_fragments(network: Lowered) -> Fragments:
    """Lay out a fixed-point network and prove that fp16 operands and fp32 sums hold it exactly. Errors: Unsupported."""
    if int(network.input_bits.max()) > 11 or int(network.input_peak.max()) > 32768:
        raise Unsupported("mma: an input has more than 11 bits and a sign")
    if network.output_peak > 32768:
        raise Unsupported("mma: an output needs more than 16 bits")
    layers = []
    for index, step in enumerate(network.steps):
        hidden = index + 1 < len(network.steps)
        if hidden and (not step.relu or int(step.low.min()) < 0 or int(step.high.max()) > 2047):
            raise Unsupported(f"mma: layer {index} is not an unsigned ReLU output of at most 11 bits")
        bound = int(step.bound.max())
        if bound >= 2**24:
            raise Unsupported(f"mma: a sum of layer {index} may reach {bound}, float32 counts to {2**24}")
        scale = 2.0 ** -step.shift.astype(np.float64)
        weight = step.weight * scale
        with np.errstate(over="ignore"):
            if not np.array_equal(weight.astype(np.float16).astype(np.float64), weight):
                raise Unsupported(f"mma: a weight of layer {index} is no half-precision number")
        # The half q x 2^-24 has the bits of the integer q, so a range is its own operand.
        pairs = [_pair(step, slice(j, j + 8)) for j in range(0, len(step.bias), 8)]
        layers.append(_Layer(weight, step.bias * scale * UNIT, pairs, step.high.astype(np.uint32)))
    final = network.steps[-1]
    if int((final.bound >> final.shift).max()) >= 2**22:
        raise Unsupported("mma: an output may reach 2^22 before its range")
    return _fragments(layers, network)


def _pair(step: Step, part: slice) -> str:
    """The cheapest conversion that is exact for these outputs."""
    top, high = step.top[part], step.high[part]
    if (top <= high).all():
        return "pair_floor"
    if not step.wrap:
        return "pair_saturate"
    return "pair_mask" if int(top.max()) < 2048 else "pair_wrap"


def _fragments(layers: list[_Layer], fixed: Lowered | None) -> Fragments:
    rows: list[NDArray[np.uint32]] = []
    calls: list[str] = []
    n_in, n_out = layers[0].weight.shape[0], layers[-1].weight.shape[1]
    if n_in not in (1, 2, 3, 4, 6, 8) or n_out not in (2, 4, 6, 8) or len(layers) < 2:
        raise Unsupported(f"mma: {n_in} inputs and {n_out} outputs; it does up to 8, even but for 1 and 3 inputs")
    if n_in % 2:
        # An odd row begins in the middle of a word: its inputs come half a word later, in the slots of lanes 2 and 3.
        twice = np.zeros((8, layers[0].weight.shape[1]))
        twice[:n_in], twice[5 : 5 + n_in] = layers[0].weight, layers[0].weight
        layers[0] = replace(layers[0], weight=twice)
    kt = nt = 1
    for index, layer in enumerate(layers):
        first, final = index == 0, index + 1 == len(layers)
        weight = _pad(layer.weight, 8 if first else 16, 8)
        k, n = weight.shape
        half = weight.astype(np.float16).view(np.uint16).astype(np.uint32)
        w_at = len(rows)
        if first:
            rows += [_pairs(half, 2 * _T, 8 * j + _G) for j in range(n // 8)]
        else:
            for i in range(k // 16):
                for j in range(n // 8):
                    rows += [_pairs(half, 16 * i + 2 * _T + 8 * b, 8 * j + _G) for b in (0, 1)]
        b_at = len(rows)
        bias = _pad(layer.bias[None], 1, n)[0].astype(np.float32).view(np.uint32)
        for j in range(n // 8):
            rows += [bias[8 * j + 2 * _T], bias[8 * j + 2 * _T + 1]]
        calls.append(f"FIRST({n // 8}, {w_at}, {b_at})" if first else f"DENSE({k // 16}, {n // 8}, {w_at}, {b_at})")
        if not final:
            q_at = len(rows)
            if fixed is not None:
                ranges = np.zeros(n, np.uint32)
                ranges[: len(layer.ranges)] = layer.ranges
                rows += [_two(ranges, 8 * j + 2 * _T) for j in range(n // 8)]
            # A float kernel reads no ranges: register 0 stands in.
            calls += [
                f"PACK({j}, {pair}, {q_at + j if fixed is not None else 0})" for j, pair in enumerate(layer.pairs)
            ]
            if n // 8 % 2:
                calls.append(f"PAD({n // 8 - 1})")
            nt, kt = max(nt, n // 8), max(kt, -(-n // 16))
    last_at = len(rows)
    if fixed is not None:
        step = fixed.steps[-1]
        for odd in (0, 1):
            column = np.minimum(2 * _T + odd, n_out - 1)
            rows += [v[column].astype(np.int32).view(np.uint32) for v in (step.low, step.high, fixed.up)]
    while len(rows) % 4:
        rows.append(np.zeros(32, np.uint32))
    last = fixed.steps[-1] if fixed is not None else None
    return Fragments(
        np.stack(rows).astype(np.uint32),
        "\n        ".join(calls),
        kt,
        nt,
        last_at,
        bool(last and last.wrap),
        bool(last and last.relu),
        fixed is not None and bool(fixed.up.any()),
        fixed is not None and int(fixed.input_peak.max()) <= 2048,
    )


def by_quarter(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Reorder (registers, 32) so that a lane reads four registers with one 16-byte load: (registers/4, 32, 4)."""
    return np.ascontiguousarray(words.reshape(-1, 4, 32).transpose(0, 2, 1))


def _pairs(half: NDArray[np.uint32], row: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.uint32]:
    return (half[row, column] | (half[row + 1, column] << 16)).astype(np.uint32)


def _two(values: NDArray[np.uint32], at: NDArray[np.int64]) -> NDArray[np.uint32]:
    return (values[at] | (values[at + 1] << 16)).astype(np.uint32)


def _pad(matrix: NDArray[np.float64], rows: int, columns: int) -> NDArray[np.float64]:
    r, c = (-(-s // m) * m for s, m in zip(matrix.shape, (rows, columns), strict=True))
    return np.pad(matrix, ((0, r - matrix.shape[0]), (0, c - matrix.shape[1])))
