"""The fixed-point network rewritten for kernels: one multiply-add, one shift and one clamp or wrap an output.

Exact by construction, and it proves the width of the arithmetic that a kernel needs: `bound` holds for every partial
sum in every order, so a kernel may use float32 when it is below 2^24, int32 when below 2^31.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workloads.track.network import FixedNetwork, Format

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Step:
    """One layer in integers: q = range((x @ weight + bias) >> shift), elementwise, each output on its own grid.

    `weight` (n_in, n_out) takes inputs on their own grids; `bias` (n_out,) holds the rounding half; `range` clamps to
    [low, high], or after the ReLU wraps into it where `wrap`. `bound` (n_out,) is the largest possible |partial sum|,
    `top` (n_out,) the largest possible q before the range.
    """

    weight: Ints
    bias: Ints
    shift: Ints
    low: Ints
    high: Ints
    relu: bool
    wrap: bool
    bound: Ints
    top: Ints


@dataclass(frozen=True)
class Lowered:
    """The steps without the neurons that never matter, and what surrounds them.

    `input_peak` and `input_bits` (n_in,) bound the inputs on their common grid; `up` (n_out,) is the left shift of each
    output to the output grid.
    """

    steps: tuple[Step, ...]
    input_peak: Ints
    input_bits: Ints
    up: Ints

    @property
    def widths(self) -> tuple[int, ...]:
        """Neurons of each stage, input first."""
        return (self.steps[0].weight.shape[0], *(s.weight.shape[1] for s in self.steps))

    @property
    def bound(self) -> int:
        """The largest magnitude that any intermediate or output takes."""
        last = self.steps[-1]
        out = np.maximum(-last.low, last.high) << self.up
        return int(max(max(int(s.bound.max()) for s in self.steps), int(out.max()), int(self.input_peak.max())))

    @property
    def output_peak(self) -> int:
        """The largest |output| on the output grid."""
        last = self.steps[-1]
        return int((np.maximum(-last.low, last.high) << self.up).max())

    def evaluate(self, x: Ints) -> Ints:
        """Evaluate integers (m, n_in) on the input grid: what every kernel computes, in int64."""
        for s in self.steps:
            q = (x @ s.weight + s.bias) >> s.shift
            if s.relu:
                q = np.maximum(q, 0)
            x = ((q - s.low) & (s.high - s.low)) + s.low if s.wrap else np.clip(q, s.low, s.high)
        result: Ints = x << self.up
        return result


def lower(network: FixedNetwork) -> Lowered:
    """Rewrite a fixed-point network and drop its dead neurons. Errors: ValueError when a value may pass 2^62."""
    low, high = _range(network.input)
    up = _up(network.input)
    peak = np.maximum(-low, high) << up
    lowered_peak, bits = peak, np.where(network.input.width > 0, network.input.width - network.input.signed, 0)
    up = np.zeros_like(up)  # the inputs arrive on the common grid already
    fraction = network.input.grid
    steps: list[Step] = []
    for layer in network.layers:
        out = layer.output
        live = out.width > 0
        grid = max(fraction + layer.weight_fraction, layer.bias_fraction)
        shift = np.where(live, grid - out.fraction, 0)
        left = np.maximum(-shift, 0)  # an output finer than the sum: scale the sum, shift nothing
        shift = np.maximum(shift, 0)
        _check(layer.weight, grid - fraction - layer.weight_fraction + int(up.max(initial=0)) + int(left.max()))
        _check(layer.bias, grid - layer.bias_fraction + int(left.max()))
        weight = (layer.weight << (grid - fraction - layer.weight_fraction)) << up[:, None] << left
        bias = (layer.bias << (grid - layer.bias_fraction)) << left
        bias = bias + np.where(shift > 0, np.left_shift(np.int64(1), np.maximum(shift - 1, 0)), 0)
        weight, bias = np.where(live, weight, 0), np.where(live, bias, 0)
        low, high = _range(out)
        wrap = out.overflow == "WRAP"
        if layer.relu and not wrap:
            low = np.maximum(low, 0)
        bound = peak @ np.abs(weight) + np.abs(bias)
        # Behind a ReLU only positive products raise the sum; the inputs of the network have both signs.
        gain = np.abs(weight) if not steps or not steps[-1].relu or int(steps[-1].low.min()) < 0 else weight.clip(min=0)
        top = (peak @ gain + bias) >> shift
        steps.append(Step(weight, bias, shift, low, high, layer.relu, wrap, bound, top))
        peak, up, fraction = np.maximum(-low, high), _up(out), out.grid
    return Lowered(tuple(_prune(steps)), lowered_peak, bits, up)


def _prune(steps: list[Step]) -> list[Step]:
    """Drop hidden neurons that are the constant zero or that nothing reads: exact, and synthesis does the same."""
    kept = list(steps)
    for i in range(len(steps) - 2, -1, -1):
        step, after = kept[i], kept[i + 1]
        live = ((step.low != 0) | (step.high != 0)) & (after.weight != 0).any(axis=1)
        live[0] |= not live.any()
        kept[i] = replace(
            step,
            weight=step.weight[:, live],
            **{k: getattr(step, k)[live] for k in ("bias", "shift", "low", "high", "bound", "top")},
        )
        kept[i + 1] = replace(after, weight=after.weight[live])
    return kept


def _range(form: Format) -> tuple[Ints, Ints]:
    width = form.width
    low = np.where(width > 0, -form.signed * np.left_shift(np.int64(1), np.maximum(width - 1, 0)), 0)
    high = np.where(width > 0, np.left_shift(np.int64(1), np.maximum(width - form.signed, 0)) - 1, 0)
    return low, high


def _up(form: Format) -> Ints:
    return np.where(form.width > 0, form.grid - form.fraction, 0)


def _check(values: Ints, shift: int) -> None:
    if int(np.abs(values).max(initial=0)).bit_length() + shift > 62:
        raise ValueError(f"a value of the network needs more than 62 bits (shift {shift})")


def probable_error(
    network: Sequence[tuple[NDArray[np.floating], NDArray[np.floating], str]],
    inputs: NDArray[np.floating],
    unit: float,
    storage: float,
) -> float:
    """Return six standard deviations of the rounding error at the outputs, absolute, for these inputs (m, n_in).

    Roundings count as independent and uniform: the products and sums with unit roundoff `unit`, weights and stored
    activations with `storage` (Higham and Mary 2019, a probabilistic approach to rounding error analysis). Both are
    half a unit in the last place relative to the value: 2^-24 for float32, 2^-11 for float16.
    """
    x = np.asarray(inputs, np.float64)
    variance = (storage * x) ** 2 / 3.0
    for weight, bias, activation in network:
        w, b = np.asarray(weight, np.float64), np.asarray(bias, np.float64)
        product = (x**2) @ (w**2)
        z = x @ w + b
        terms = len(w) + 1
        size = np.abs(x) @ np.abs(w) + np.abs(b)
        variance = variance @ (w**2) + (storage**2 / 3.0) * product + terms * (unit * size) ** 2 / 3.0
        x = np.maximum(z, 0.0) if activation == "relu" else np.tanh(z) if activation == "tanh" else z
        # tanh.approx.f32 errs by up to 2^-11 (PTX ISA, tanh); no slope above 1 amplifies what came in.
        variance = variance + (storage * x) ** 2 / 3.0 + (2.0**-22 if activation == "tanh" else 0.0) * (storage > unit)
    return float(6.0 * np.sqrt(variance.max()))
