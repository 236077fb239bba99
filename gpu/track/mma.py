"""What the tensor-core kernel `mma.cl` needs from the host: the registers of every lane, and the proof of exactness.

The fragment layouts are those of `mma.m16n8k16` and `mma.m16n8k8` in the PTX ISA; a lane is 4 g + t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu.track.lower import Lowered
from workloads.track.network import FloatNetwork

#: Every value of the fixed-point kernel is an integer in this unit, the smallest half-precision number.
UNIT = 2.0**-24
_LANE = np.arange(32)
_G, _T = _LANE // 4, _LANE % 4


class Unsupported(ValueError):
    """A network or arithmetic that a kernel cannot do exactly or at all; the message says which condition fails."""


@dataclass(frozen=True)
class Fragments:
    """`words` (registers, 32) uint32 for each lane, a multiple of 4 registers, and the generated calls of the layers."""

    words: NDArray[np.uint32]
    layers: str
    kt: int
    nt: int
    last: int
    last_wrap: bool
    last_relu: bool
    small_input: bool


@dataclass
class _Layer:
    weight: NDArray[np.float64]  # (n_in, n_out) as the tensor cores see it
    bias: NDArray[np.float64]
    pair: str  # which conversion to the next operand
    ranges: NDArray[np.uint32]  # (n_out,) its range, one half an output


def float_fragments(network: FloatNetwork) -> Fragments:
    """Lay out a float network in fp16 weights and fp32 biases. Errors: Unsupported."""
    layers = []
    for layer in network.layers:
        if layer.activation not in ("relu", "linear"):
            raise Unsupported(f"mma: activation {layer.activation!r}; it does relu and linear")
        zero = np.zeros(layer.weight.shape[1], np.uint32)
        layers.append(
            _Layer(layer.weight.astype(np.float64), layer.bias.astype(np.float64), f"pair_{layer.activation}", zero)
        )
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
        reach = int(step.top.max())
        pair = "pair_wrap" if step.wrap else "pair_saturate"
        if (step.top <= step.high).all():
            pair = "pair_floor"
        elif step.wrap and reach < 2048:
            pair = "pair_mask"
        layers.append(_Layer(weight, step.bias * scale * UNIT, pair, step.high.astype(np.uint32)))
    final = network.steps[-1]
    if int((final.bound >> final.shift).max()) >= 2**22:
        raise Unsupported("mma: an output may reach 2^22 before its range")
    return _fragments(layers, network)


def _fragments(layers: list[_Layer], fixed: Lowered | None) -> Fragments:
    rows: list[NDArray[np.uint32]] = []
    calls: list[str] = []
    n_in, n_out = layers[0].weight.shape[0], layers[-1].weight.shape[1]
    if n_in > 8 or n_out > 8 or n_out % 2 or len(layers) < 2:
        raise Unsupported(f"mma: {n_in} inputs and {n_out} outputs; it does up to 8, outputs even, two layers or more")
    kt = nt = 1
    for index, layer in enumerate(layers):
        first, final = index == 0, index + 1 == len(layers)
        weight = _pad(layer.weight, 8 if first else 16, 8 if final else 16)
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
            # A float kernel reads no ranges: point it at any register.
            if fixed is None:
                q_at = 0
            else:
                ranges = np.zeros(n, np.uint32)
                ranges[: len(layer.ranges)] = layer.ranges
                rows += [ranges[8 * j + 2 * _T] | (ranges[8 * j + 2 * _T + 1] << 16) for j in range(n // 8)]
            calls.append(f"PACK({n // 8}, {layer.pair}, {q_at})")
            nt, kt = max(nt, n // 8), max(kt, n // 16)
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
        fixed is not None and int(fixed.input_peak.max()) <= 2048,
    )


def by_quarter(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Reorder (registers, 32) so that a lane reads four registers with one 16-byte load: (registers/4, 32, 4)."""
    return np.ascontiguousarray(words.reshape(-1, 4, 32).transpose(0, 2, 1))


def _pairs(half: NDArray[np.uint32], row: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.uint32]:
    packed: NDArray[np.uint32] = half[row, column] | (half[row + 1, column] << 16)
    return packed


def _pad(matrix: NDArray[np.float64], rows: int, columns: int) -> NDArray[np.float64]:
    r, c = (-(-s // m) * m for s, m in zip(matrix.shape, (rows, columns), strict=True))
    return np.pad(matrix, ((0, r - matrix.shape[0]), (0, c - matrix.shape[1])))
