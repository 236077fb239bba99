"""A transposed convolution written in PyTorch operations, in the ways that its users know; none is the fastest always.

* `transposed`: `conv_transpose2d` or `3d`, which cuDNN runs as the gradient of a convolution.
* `sub-pixel`: an ordinary convolution that gives all stride^dimensions phases as channels, and a shuffle of them into
  place (Shi et al., arXiv 1609.07009). With K' = ceil(K / S) its kernel has K' elements a side, and the output of
  side S (I + K' - 1) is cut by the padding; only where S does not divide K are there products with zeros.
* `product`: one matrix product and, where several elements reach an output, `fold`, which adds them up (2D only). Where
  the input is a single position, or kernel and stride are equal, the product is the answer and is only put in order.

Each in PyTorch's own memory order or with the channels last. Tensors are (n, channels, sides...).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.runtime.torch import Function, torch_module
from workloads.deconv.layer import Layer

#: (way, channels last) of a layer.
Way = tuple[str, bool]
WAYS: tuple[Way, ...] = tuple((way, last) for last in (True, False) for way in ("transposed", "sub-pixel", "product"))


def applies(layer: Layer, way: Way) -> bool:
    """Whether a way can do a layer."""
    name, last = way
    if name == "product":
        return _single(layer) or (layer.dimensions == 2 and not last)
    return name == "transposed" or max(layer.shape) > 1


def layer_function(
    layer: Layer, weight: NDArray[np.float32], bias: NDArray[np.float32], way: Way, dtype: Any, device: str
) -> Function:
    """A layer with its bias and activation as a function of a tensor (n, in, sides...)."""
    torch = torch_module()
    kind, last = way
    put = {"device": device, "dtype": dtype}
    axes = range(2, 2 + layer.dimensions)
    plain = torch.tensor(weight, **put).permute(0, layer.dimensions + 1, *(a - 1 for a in axes))  # (in, out, kernel...)
    added = torch.tensor(bias, **put)
    build = {"transposed": _transposed, "sub-pixel": _sub_pixel, "product": _product}[kind]
    sums = build(torch, layer, plain, added, _format(torch, layer, last))
    activations: dict[str, Function] = {
        "clip": lambda x: x.clamp_(0, 1),
        "tanh": lambda x: x.tanh_(),
        "sigmoid": lambda x: x.sigmoid_(),
        "linear": lambda x: x,
    }
    act = activations[layer.activation]
    return lambda x: act(sums(x))


def prepared(layer: Layer, x: Any, way: Way) -> Any:
    """A tensor in the memory order of a way."""
    return x.contiguous(memory_format=_format(torch_module(), layer, way[1]))


def _format(torch: Any, layer: Layer, last: bool) -> Any:
    if not last:
        return torch.contiguous_format
    return torch.channels_last if layer.dimensions == 2 else torch.channels_last_3d


def _transposed(torch: Any, layer: Layer, weight: Any, bias: Any, order: Any) -> Function:
    call = {2: torch.nn.functional.conv_transpose2d, 3: torch.nn.functional.conv_transpose3d}[layer.dimensions]
    kernel = weight.contiguous(memory_format=order)
    stride, padding, extra = layer.stride, layer.padding, layer.extra

    def sums(x: Any) -> Any:
        return call(x, kernel, bias, stride, padding, extra)

    return sums


def _sub_pixel(torch: Any, layer: Layer, weight: Any, bias: Any, order: Any) -> Function:
    """Element k = S a + f of the kernel is element K' - 1 - a of phase f's convolution."""
    dims, stride = layer.dimensions, layer.stride
    small = math.ceil(layer.kernel / stride)
    fill = small * stride - layer.kernel
    filled = torch.nn.functional.pad(weight, (0, fill) * dims)
    # (in, out, K', S, K', S, ...) to (out, S, S, ..., in, K', K', ...): the phases of a channel stand together.
    split = filled.reshape(*weight.shape[:2], *(n for _ in range(dims) for n in (small, stride)))
    elements, offsets = [2 + 2 * d for d in range(dims)], [3 + 2 * d for d in range(dims)]
    ordered = split.flip(elements).permute(1, *offsets, 0, *elements)
    channels = layer.channels_out
    kernel = ordered.reshape(channels * stride**dims, layer.channels_in, *[small] * dims)
    kernel = kernel.contiguous(memory_format=order)
    biases = bias.repeat_interleave(stride**dims)
    call = {2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}[dims]
    cut = [slice(layer.padding, layer.padding + side) for side in layer.shape_out]
    # An output beyond what the convolution gives has no input: only `extra` positions can be there.
    missing = [max(0, c.stop - stride * (s + small - 1)) for c, s in zip(cut, layer.shape, strict=True)]
    if any(missing):
        raise NotImplementedError(f"{layer.name}: {max(missing)} outputs beyond every input")

    def sums(x: Any) -> Any:
        y = _shuffle(call(x, kernel, biases, padding=small - 1), channels, stride, dims)
        return y[(slice(None), slice(None), *cut)]

    return sums


def _shuffle(y: Any, channels: int, stride: int, dims: int) -> Any:
    """Phases from channels into place: (n, channels S^dims, sides...) to (n, channels, S sides...)."""
    if stride == 1:
        return y
    sides = y.shape[2:]
    split = y.reshape(len(y), channels, *[stride] * dims, *sides)
    pairs = [axis for d in range(dims) for axis in (2 + dims + d, 2 + d)]
    return split.permute(0, 1, *pairs).reshape(len(y), channels, *(stride * side for side in sides))


def _single(layer: Layer) -> bool:
    """Whether every output has one product a channel."""
    return not layer.padding and not layer.extra and (max(layer.shape) == 1 or layer.kernel == layer.stride)


def _product(torch: Any, layer: Layer, weight: Any, bias: Any, order: Any) -> Function:
    dims, kernel, channels = layer.dimensions, layer.kernel, layer.channels_out
    if not _single(layer):
        matrix = weight.reshape(layer.channels_in, -1).t().contiguous()
        added = bias.reshape(1, -1, 1, 1)
        fold = torch.nn.functional.fold

        def folded(x: Any) -> Any:
            columns = torch.matmul(matrix, x.flatten(2))
            return fold(columns, layer.shape_out, kernel, padding=layer.padding, stride=layer.stride).add_(added)

        return folded
    # (in, kernel..., out): a row of the product is the kernel's elements of a position, channels last.
    elements = list(range(2, 2 + dims))
    matrix = weight.permute(0, *elements, 1).reshape(layer.channels_in, -1).contiguous()
    repeated = bias.repeat(kernel**dims)
    pairs = [axis for d in range(dims) for axis in (1 + d, 1 + dims + d)]

    def sums(x: Any) -> Any:
        rows = x.permute(0, *elements, 1).reshape(-1, layer.channels_in)
        y = torch.addmm(repeated, rows, matrix).reshape(len(x), *layer.shape, *[kernel] * dims, channels)
        y = y.permute(0, *pairs, 1 + 2 * dims).reshape(len(x), *layer.shape_out, channels)
        return y.permute(0, 1 + dims, *(1 + d for d in range(dims)))

    return sums
