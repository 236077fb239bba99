"""SystemVerilog of a folded network: one module a layer, `bcnn_<layer>`, and `bcnn_core` that chains them.

A layer is a chain of library modules, each with one stream in and one out:

    convolution: sliding_window -> stream_width (column to simd) -> mvtu -> max_pool -> stream_width (pe to next word)
    dense:       mvtu -> stream_width (pe to next word)

Words between layers are what the next one takes: whole pixels before a convolution, `simd` bits before a dense layer.
The last layer gives all sums of an image in one word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from designs.bcnn.folding import Fold, Folding, mask_group
from designs.bcnn.weights import acc_bits
from designs.flow.chain import Stage, module, width_stages
from workloads.bcnn.network import Layer

TOP = "bcnn_core"

#: Bits of a sum at the pins.
SUM_BITS = 16

#: Instance of the matrix-vector unit within a layer's module.
UNIT = "u_mvtu"

_WRITER = "designs.bcnn.core"


@dataclass(frozen=True)
class LayerText:
    """A generated layer: its module's name and text, the widths of its words, the library modules in it."""

    name: str
    text: str
    in_bits: int
    out_bits: int
    library: tuple[str, ...]


def layer_texts(folding: Folding) -> tuple[LayerText, ...]:
    """The module of every layer. Errors: ValueError for a network that has no form as a stream."""
    layers, folds = folding.layers, folding.folds
    last = layers[-1]
    if last.kind != "dense":
        raise ValueError(f"{last.name}: the last layer of a stream is dense, not a convolution")
    if acc_bits(last) > SUM_BITS:
        raise ValueError(f"{last.name}: sums of up to {last.bound} do not fit the {SUM_BITS} bits at the pins")
    texts: list[LayerText] = []
    in_bits = layers[0].channels_in * layers[0].input_bits
    for index, (layer, fold) in enumerate(zip(layers, folds, strict=True)):
        if layer.last:
            out_bits = layer.channels_out * acc_bits(layer)
        elif layers[index + 1].kind == "conv":
            out_bits = layer.channels_out
        else:
            out_bits = folds[index + 1].simd
        texts.append(_layer(layer, fold, in_bits, out_bits))
        in_bits = texts[-1].out_bits
    return tuple(texts)


def stages(layer: Layer, fold: Fold, in_bits: int, out_bits: int) -> list[Stage]:
    """The chain of a layer that takes words of `in_bits` and gives words of `out_bits`."""
    chain: list[Stage] = []
    if layer.kind == "conv":
        chain.append(_window(layer, fold))
        in_bits = chain[-1].out_bits
    # A group and its mask bit stay together.
    group = mask_group(layer, fold)
    unit = group + 1 if group else layer.input_bits
    chain += width_stages("u_fold", unit, in_bits // unit, fold.simd // group if group else fold.simd)
    chain.append(_mvtu(layer, fold))
    if layer.pool:
        folds = layer.channels_out // fold.pe
        shape: dict[str, int | str] = {"BITS": 1, "LANES": fold.pe, "FOLDS": folds, "SIDE": layer.side_sums}
        chain.append(Stage("max_pool", "u_pool", fold.pe, shape))
    lane = acc_bits(layer) if layer.last else 1
    return chain + width_stages("u_pack", lane, fold.pe, out_bits // lane)


def _window(layer: Layer, fold: Fold) -> Stage:
    group = mask_group(layer, fold)
    lanes = layer.channels_in // group if group else 0
    shape: dict[str, int | str] = {
        "BITS": layer.input_bits,
        "CHANNELS": layer.channels_in,
        "SIDE": layer.side,
        "KERNEL": layer.kernel,
        "PADDING": layer.padding,
        "MASK_LANES": lanes,
    }
    return Stage("sliding_window", "u_window", layer.kernel * (layer.channels_in * layer.input_bits + lanes), shape)


def _mvtu(layer: Layer, fold: Fold) -> Stage:
    sums = acc_bits(layer)
    shape: dict[str, int | str] = {
        "SIMD": fold.simd,
        "PE": fold.pe,
        "SYNAPSES": layer.synapses,
        "NEURONS": layer.channels_out,
        "A_BITS": layer.input_bits,
        "W_BITS": 1,
        "MASK_GROUP": mask_group(layer, fold),
        "ACC_BITS": sums,
        "THRESHOLD": 0 if layer.last else 1,
        "WEIGHTS": f'"{layer.name}.weights.hex"',
    }
    if not layer.last:
        shape["THRESHOLDS"] = f'"{layer.name}.thresholds.hex"'
    return Stage("mvtu", UNIT, fold.pe * (sums if layer.last else 1), shape)


def _layer(layer: Layer, fold: Fold, in_bits: int, out_bits: int) -> LayerText:
    chain = stages(layer, fold, in_bits, out_bits)
    name = f"bcnn_{layer.name}"
    what = f"{layer.kind}: {layer.synapses} synapses, {layer.channels_out} neurons, {layer.pixels} positions, simd x pe"
    data = ""
    if layer.last:
        data = _extended(f"w{len(chain)}_data", layer.channels_out, acc_bits(layer))
        out_bits = layer.channels_out * SUM_BITS
    text = module(name, f"{what} = {fold}", in_bits, chain, writer=_WRITER, data=data, out_bits=out_bits)
    return LayerText(name, text, in_bits, out_bits, tuple(dict.fromkeys(stage.module for stage in chain)))


def core_text(layers: Sequence[LayerText]) -> str:
    """The chain of all layers. tlast of the input is not used: the design counts pixels."""
    chain = [Stage(layer.name, layer.name.replace("bcnn_", "u_", 1), layer.out_bits) for layer in layers]
    head = "  assign m_axis_tlast = 1'b1;\n  wire unused = &{1'b0, s_axis_tlast};\n"
    what = "all layers; a pixel a word in, the sums of an image a word out"
    return module(TOP, what, layers[0].in_bits, chain, writer=_WRITER, last=True, head=head)


def _extended(data: str, count: int, bits: int) -> str:
    """`count` signed numbers of `bits` bits, each sign-extended to SUM_BITS."""
    pad = SUM_BITS - bits
    parts = []
    for n in reversed(range(count)):
        high, low = (n + 1) * bits - 1, n * bits
        sign = f"{{{pad}{{{data}[{high}]}}}}, " if pad else ""
        parts.append(f"{sign}{data}[{high}:{low}]")
    return "{" + ", ".join(parts) + "}"
