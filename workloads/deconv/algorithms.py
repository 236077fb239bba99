"""Four ways to compute one transposed convolution, all equal; see `workloads.deconv.layer` for the operator.

Each takes `x` (n, sides..., in) and `weight` (in, kernel..., out) and returns sums (n, output sides..., out) in the
type that the matrix product of the two has; see `check_operands` for what they refuse. They differ in what they
multiply and in what they write:

* `scatter`: every input times the whole kernel, products added where they overlap. The definition.
* `zero_insertion`: zeros between the inputs, then an ordinary convolution with the mirrored kernel; all but one in
  stride^dimensions of its products are with an inserted zero.
* `reverse_loop`: from the outputs back to the inputs that reach them; each output is complete when it is written
  (Zhang et al., arXiv 1705.02583; Colbert et al., arXiv 2102.00294).
* `to_convolution`: one small ordinary convolution for each phase of the output, interleaved (also known as TDC).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.deconv.layer import Layer

Array = NDArray[Any]
Algorithm = Callable[[Layer, Array, Array], Array]


def scatter(layer: Layer, x: Array, weight: Array) -> Array:
    """Every input times the whole kernel, summed where products overlap, the padding cut off at the end."""
    check_operands(layer, x, weight)
    full = tuple((side - 1) * layer.stride + layer.kernel + layer.extra for side in layer.shape)
    sums = _zeros(layer, x, weight, full)
    for tap in _kernel(layer):
        where = (
            slice(k, k + (side - 1) * layer.stride + 1, layer.stride) for k, side in zip(tap, layer.shape, strict=True)
        )
        sums[(slice(None), *where)] += x @ _element(weight, tap)
    cut = (slice(layer.padding, layer.padding + side) for side in layer.shape_out)
    return sums[(slice(None), *cut)]


def zero_insertion(layer: Layer, x: Array, weight: Array) -> Array:
    """A convolution of stride 1 over the inputs with zeros between them."""
    check_operands(layer, x, weight)
    before = layer.kernel - 1 - layer.padding
    padded = tuple(side + layer.kernel - 1 for side in layer.shape_out)
    spread = np.zeros((len(x), *padded, layer.channels_in), x.dtype)
    # A padding of more than kernel - 1 cuts inputs off: the first of them that is left stands at a multiple of stride.
    first = max(0, -(before // layer.stride)) if before < 0 else 0
    places: list[slice] = []
    chosen: list[slice] = []
    for side, room in zip(layer.shape, padded, strict=True):
        start = before + first * layer.stride
        count = max(0, min(side - first, -(-(room - start) // layer.stride)))
        places.append(slice(start, start + count * layer.stride, layer.stride))
        chosen.append(slice(first, first + count))
    spread[(slice(None), *places)] = x[(slice(None), *chosen)]
    sums = _zeros(layer, x, weight, layer.shape_out)
    for tap in _kernel(layer):
        mirrored = (layer.kernel - 1 - k for k in tap)
        window = (slice(m, m + side) for m, side in zip(mirrored, layer.shape_out, strict=True))
        sums += spread[(slice(None), *window)] @ _element(weight, tap)
    return sums


def reverse_loop(layer: Layer, x: Array, weight: Array) -> Array:
    """From outputs o = f, f + stride, ... back to the input (o + padding - k) / stride, which is whole for this f.

    The offset of kernel element k is f = (stride - ((padding - k) mod stride)) mod stride.
    """
    check_operands(layer, x, weight)
    s, p = layer.stride, layer.padding
    sums = _zeros(layer, x, weight, layer.shape_out)
    for tap in _kernel(layer):
        outputs: list[Array] = []
        inputs: list[Array] = []
        for k, side, side_out in zip(tap, layer.shape, layer.shape_out, strict=True):
            o = np.arange((s - ((p - k) % s)) % s, side_out, s)
            i = (o + p - k) // s
            inside = (i >= 0) & (i < side)  # the bounds test that outputs which are no multiple of the stride need
            outputs.append(o[inside])
            inputs.append(i[inside])
        read: tuple[Any, ...] = (slice(None), *np.ix_(*inputs))
        written: tuple[Any, ...] = (slice(None), *np.ix_(*outputs))
        sums[written] += x[read] @ _element(weight, tap)
    return sums


def to_convolution(layer: Layer, x: Array, weight: Array) -> Array:
    """For each phase of the output an ordinary convolution of stride 1 with every stride-th kernel element."""
    check_operands(layer, x, weight)
    sums = _zeros(layer, x, weight, layer.shape_out)
    reach = layer.kernel + layer.padding  # no |d| is larger
    padded = np.pad(x, ((0, 0), *((reach, reach + side_out) for side_out in layer.shape_out), (0, 0)))
    for phase in itertools.product(range(layer.stride), repeat=layer.dimensions):
        counts = [len(range(f, side, layer.stride)) for f, side in zip(phase, layer.shape_out, strict=True)]
        total = np.zeros((len(x), *counts, layer.channels_out), sums.dtype)
        for tap in _kernel(layer):
            pairs = [layer.taps[k] for k in tap]
            if tuple(f for _, f in pairs) != phase:
                continue
            window = (slice(reach - d, reach - d + count) for (d, _), count in zip(pairs, counts, strict=True))
            total += padded[(slice(None), *window)] @ _element(weight, tap)
        written: tuple[Any, ...] = (slice(None), *(slice(f, None, layer.stride) for f in phase))
        sums[written] = total
    return sums


ALGORITHMS: Mapping[str, Algorithm] = {
    "scatter": scatter,
    "zero_insertion": zero_insertion,
    "reverse_loop": reverse_loop,
    "to_convolution": to_convolution,
}


def check_operands(layer: Layer, x: Array, weight: Array) -> None:
    """Errors: ValueError naming the layer for inputs or weights of another shape or no numbers, or weights not finite.

    Inputs may be infinite: those of a layer in binary16 are where the one before it left its range.
    """
    check_numbers(layer.name, "inputs", x, (None, *layer.shape, layer.channels_in), finite=False)
    check_numbers(layer.name, "weights", weight, layer.weight_shape)


def check_numbers(
    name: str, what: str, values: object, shape: tuple[int | None, ...], *, who: str = "the layer", finite: bool = True
) -> None:
    """Errors: ValueError, beginning with `name`, for what is no array of numbers of `shape`; None is any side."""
    needed = str(shape).replace("None", "n")
    if not isinstance(values, np.ndarray):
        raise ValueError(f"{name}: {what} of {type(values).__name__}, but {who} needs an array of shape {needed}")
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{name}: {what} of {values.dtype}, but {who} needs whole or real numbers")
    if values.ndim != len(shape) or any(due not in (None, side) for side, due in zip(values.shape, shape, strict=True)):
        raise ValueError(f"{name}: {what} of shape {values.shape}, but {who} needs {needed}")
    if finite and values.dtype.kind == "f" and not (fine := np.isfinite(values)).all():
        first = tuple(int(i) for i in np.argwhere(~fine)[0])
        raise ValueError(f"{name}: {what} must be finite, but {int((~fine).sum())} are not, the first at {first}")


def _kernel(layer: Layer) -> Iterator[tuple[int, ...]]:
    """Coordinates of the kernel's elements, the last dimension fastest."""
    return itertools.product(range(layer.kernel), repeat=layer.dimensions)


def _element(weight: Array, tap: tuple[int, ...]) -> Array:
    chosen: tuple[Any, ...] = (slice(None), *tap)
    element: Array = weight[chosen]
    return element


def _zeros(layer: Layer, x: Array, weight: Array, sides: tuple[int, ...]) -> Array:
    return np.zeros((len(x), *sides, layer.channels_out), np.result_type(x, weight))
