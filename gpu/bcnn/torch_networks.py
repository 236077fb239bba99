"""`bcnn` written in PyTorch operations, in several ways of which none is the fastest everywhere.

Activations are the numbers +1 and -1, channels last. A convolution gives sums, 2 x 2 maxima of sums are taken where the
layer pools, and a comparison with the channel's threshold gives the next activations. All of it is exact:

* fp16: products of +-1 (and of inputs of up to 8 bits) and their sums are exact in the float32 in which the hardware
  accumulates, unless cuDNN takes an algorithm that transforms its operands; the sum is then rounded to fp16, which
  holds the integers up to 2,048. Rounding is monotone: for a threshold t with |t| < 2,048 a sum is at least t exactly
  when the rounded one is: below 2,048 nothing was rounded, and what was rounded stays at 2,048 or beyond. A threshold
  outside the range of the sums becomes an infinity. Split sums of dense layers are kept from being rounded to fp16 on
  the way (`allow_fp16_reduced_precision_reduction` off).
* int8 as a matrix product over copied patches (`torch._int_mm`): int32 sums.
* int8 in cuDNN (`torch.ops.quantized.conv2d`): the sum is clamped to the range of int8, so thresholds must lie inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.runtime.device import DeviceError
from workloads.bcnn.network import Layer, Network

#: A network as a function of an input tensor.
Function = Callable[[Any], Any]
#: Integers are exact in fp16 up to here.
FP16_EXACT = 2048
INT8_MOST = 127


def torch_module() -> Any:
    """Return PyTorch. Errors: DeviceError naming the install command."""
    try:
        import torch
    except ImportError:
        raise DeviceError("PyTorch is not installed (pip install 'gatewarp[torch]')") from None
    return torch


def signs(layer: Layer, weight: NDArray[np.uint8], channels: int) -> NDArray[np.int8]:
    """Weights +1 and -1 as (out, row, column, in), input channels filled up with zeros to `channels`."""
    shaped = weight.reshape(layer.channels_out, layer.kernel, layer.kernel, layer.channels_in)
    values: NDArray[np.int8] = shaped.astype(np.int8) * 2 - 1
    return np.pad(values, ((0, 0), (0, 0), (0, 0), (0, channels - layer.channels_in)))


def fp16_thresholds(layer: Layer, threshold: NDArray[np.int32]) -> NDArray[np.float64]:
    """Thresholds that decide in fp16 as in integers. Errors: DeviceError naming the layer where there are none."""
    values = threshold.astype(np.float64)
    values[threshold > layer.bound] = math.inf
    values[threshold <= -layer.bound] = -math.inf
    finite = np.abs(values[np.isfinite(values)])
    if finite.size and finite.max() >= FP16_EXACT:
        raise DeviceError(f"{layer.name}: a threshold of {finite.max():g}; fp16 counts exactly to {FP16_EXACT} only")
    return values


def input_channels(network: Network, multiple: int) -> int:
    """Channels of an input pixel, filled up to a multiple."""
    return -(-network.input_shape[2] // multiple) * multiple


def fp16(network: Network, device: str, *, channels: int) -> Function:
    """cuDNN convolutions in fp16 of (n, `channels`, rows, columns), channels last; sums (n, classes) in fp16."""
    torch = torch_module()
    functional = torch.nn.functional
    put = {"device": device, "dtype": torch.float16}
    one, minus = torch.tensor(1.0, **put), torch.tensor(-1.0, **put)
    layers = []
    for index, (layer, weight, threshold) in enumerate(_layers(network)):
        shaped = torch.tensor(signs(layer, weight, layer.channels_in if index else channels), **put)
        if layer.kind == "conv":
            shaped = shaped.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
        else:
            shaped = shaped.reshape(layer.channels_out, layer.channels_in)
        limit = None
        if threshold is not None:
            limit = torch.tensor(fp16_thresholds(layer, threshold), **put)
            limit = limit.reshape(-1, 1, 1) if layer.kind == "conv" else limit
        layers.append((layer, shaped, limit))
    if layers[-1][0].bound > FP16_EXACT:
        raise DeviceError(f"{layers[-1][0].name}: sums of up to {layers[-1][0].bound} are not exact in fp16")

    def run(x: Any) -> Any:
        for layer, weight, limit in layers:
            if layer.kind == "conv":
                x = functional.conv2d(x, weight, padding=layer.padding)
                if layer.pool:
                    x = functional.max_pool2d(x, 2)
            else:
                if x.dim() == 4:  # pixels in raster order, the channels of each together: no copy
                    x = x.permute(0, 2, 3, 1).reshape(len(x), -1)
                x = functional.linear(x, weight)
            if limit is not None:
                x = torch.where(x >= limit, one, minus)
        return x

    return run


def int8(network: Network, device: str, *, cudnn: bool) -> Function:
    """int8 of (n, rows, columns, channels); int32 sums (n, classes).

    Each layer is a matrix product over copied patches; with `cudnn` a convolution is one of cuDNN's where the layer's
    thresholds fit into its int8 output. Errors: DeviceError where `cudnn` fits no layer.
    """
    torch = torch_module()
    put = {"device": device, "dtype": torch.int8}
    one, minus = torch.tensor(1, **put), torch.tensor(-1, **put)
    channels = input_channels(network, 8)
    layers, fitting = [], 0
    for index, (layer, weight, threshold) in enumerate(_layers(network)):
        wide = layer.channels_in if index else channels
        values = signs(layer, weight, wide)
        fits = cudnn and layer.kind == "conv" and threshold is not None and np.abs(threshold).max() <= INT8_MOST
        fitting += fits
        made = _cudnn(torch, layer, values, put) if fits else _product(torch, layer, values, put)
        limit = None
        if threshold is not None:
            limit = torch.tensor(threshold, device=device, dtype=torch.int8 if fits else torch.int32)
        layers.append((layer, made, limit))
    if cudnn and not fitting:
        raise DeviceError(f"no layer has thresholds within {INT8_MOST}, the range of cuDNN's int8 output")
    fill = channels - network.input_shape[2]

    def run(x: Any) -> Any:
        x = torch.nn.functional.pad(x, (0, fill)) if fill else x
        for layer, sums, limit in layers:
            if layer.kind == "dense" and x.dim() == 4:
                x = x.reshape(len(x), 1, 1, -1)
            x = sums(x)
            if layer.pool:
                x = torch.maximum(x[:, ::2], x[:, 1::2])
                x = torch.maximum(x[:, :, ::2], x[:, :, 1::2])
            if limit is not None:
                x = torch.where(x >= limit, one, minus)
        return x.reshape(len(x), -1)[:, : network.layers[-1].channels_out]

    return run


def _layers(network: Network) -> Any:
    return zip(network.layers, network.weights, network.thresholds, strict=True)


def _product(torch: Any, layer: Layer, values: NDArray[np.int8], put: dict[str, Any]) -> Function:
    """Sums of a layer of (n, rows, columns, in) as one product of int8 matrices: int32 (n, rows, columns, out).

    Patches are copied in words of 8 channels. `_int_mm` wants more than 16 rows, and columns in eights; few rows are
    filled up to eights as well.
    """
    out = layer.channels_out
    matrix = np.pad(values.reshape(out, -1), ((0, -out % 8), (0, 0)))
    columns = len(matrix)
    weight = torch.tensor(matrix, **put).t()
    pad, kernel, side = layer.padding, layer.kernel, layer.side_sums
    functional = torch.nn.functional

    channels, many = values.shape[3], side * side
    words = kernel * kernel * channels // 8

    def sums(x: Any) -> Any:
        n = x.shape[0]
        if kernel > 1:
            x = x.contiguous().view(torch.int64)
            x = functional.pad(x, (0, 0, pad, pad, pad, pad)) if pad else x
            x = x.unfold(1, kernel, 1).unfold(2, kernel, 1).permute(0, 1, 2, 4, 5, 3)
            x = x.reshape(n * many, words).view(torch.int8)
        else:
            x = x.reshape(n, channels)
        if many <= 16 and (n * many <= 16 or n * many % 8):
            filled = functional.pad(x, (0, 0, 0, 32 - n * many % 8))
            return torch._int_mm(filled, weight)[: n * many].view(n, side, side, columns)
        return torch._int_mm(x, weight).view(n, side, side, columns)

    return sums


def _cudnn(torch: Any, layer: Layer, values: NDArray[np.int8], put: dict[str, Any]) -> Function:
    """Clamped sums of a convolution of (n, rows, columns, in) in int8, by the quantised operators at scale 1."""
    quantised = torch.ops.quantized
    shaped = torch.tensor(values, **put).permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
    store, seen = _quantised(torch, shaped.shape, put["device"])
    seen.copy_(shaped)
    pads = [layer.padding, layer.padding]
    packed = quantised.conv2d_prepack(store, None, [1, 1], pads, [1, 1], 1)

    def sums(x: Any) -> Any:
        n, rows, columns, channels = x.shape
        store, seen = _quantised(torch, (n, channels, rows, columns), put["device"])
        seen.copy_(x.permute(0, 3, 1, 2))
        return _plain(torch, quantised.conv2d(store, packed, 1.0, 0)).permute(0, 2, 3, 1)

    return sums


def _quantised(torch: Any, shape: Any, device: str) -> tuple[Any, Any]:
    """An empty quantised tensor of scale 1, channels last, and the int8 tensor that shares its memory."""
    store = torch._empty_affine_quantized(
        tuple(shape), scale=1.0, zero_point=0, dtype=torch.qint8, device=device, memory_format=torch.channels_last
    )
    return store, _plain(torch, store)


def _plain(torch: Any, store: Any) -> Any:
    """The integers of a quantised tensor, in the same memory."""
    plain = torch.empty(0, dtype=torch.int8, device=store.device)
    return plain.set_(store.untyped_storage(), store.storage_offset(), store.shape, store.stride())
