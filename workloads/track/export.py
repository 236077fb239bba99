"""Keras and HGQ2 models to our networks. Needs keras and HGQ2 only through the model objects it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.track.network import FixedLayer, FixedNetwork, FloatLayer, FloatNetwork, Format, Ints


def float_network(model: Any) -> FloatNetwork:
    """A Keras model of Dense layers."""
    layers = [layer for layer in model.layers if layer.weights]
    return FloatNetwork(
        tuple(
            FloatLayer(_numpy(la.kernel).astype(np.float32), _numpy(la.bias).astype(np.float32), la.activation.__name__)
            for la in layers
        )
    )


def fixed_network(model: Any, pins: Format) -> FixedNetwork:
    """An HGQ2 model of QDense layers, exactly; its input quantiser must be `pins`, into which we saturate.

    Errors: ValueError when the model's input is not quantised like the pins, or a layer is not what the oracle knows.
    """
    layers = [layer for layer in model.layers if layer.weights]
    seen = _format(layers[0].iq, len(pins.signed))
    if not all(np.array_equal(getattr(seen, a), getattr(pins, a)) for a in ("signed", "integer", "fraction")):
        raise ValueError(f"the model quantises its inputs to {seen}, the pins carry {pins}")
    result = []
    for i, layer in enumerate(layers):
        last = i == len(layers) - 1
        if layer.activation.__name__ != ("linear" if last else "relu"):
            raise ValueError(f"layer {layer.name}: activation {layer.activation.__name__} is not what the oracle does")
        weight, weight_fraction = _integers(_numpy(layer.qkernel))
        bias, bias_fraction = _integers(_numpy(layer.qbias))
        quantiser = layer.oq if last else layers[i + 1].iq
        output = _format(quantiser, weight.shape[1])
        result.append(FixedLayer(weight, weight_fraction, bias, bias_fraction, not last, output))
    return FixedNetwork(pins, tuple(result))


def _numpy(tensor: Any) -> NDArray[Any]:
    return np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)


def _format(quantiser: Any, n: int) -> Format:
    """The (k, i, f) of each of n elements. Rounding must be half up, which is what the oracle does."""
    inner = quantiser.quantizer
    if inner.round_mode != "RND":
        raise ValueError(f"rounding {inner.round_mode} is not what the oracle does")
    k, i, f = (np.broadcast_to(_numpy(v), (1, n)).reshape(n).astype(np.int64) for v in inner.kif)
    return Format(k, i, f, inner.overflow_mode)


def _integers(values: NDArray[Any]) -> tuple[Ints, int]:
    """Numbers to integers and the fewest fractional bits that hold them exactly."""
    exact = values.astype(np.float64)
    for fraction in range(64):
        scaled = exact * 2.0**fraction
        if np.array_equal(scaled, np.round(scaled)):
            return scaled.astype(np.int64), fraction
    raise ValueError("a parameter has more than 63 fractional bits")
