"""SystemVerilog of a folded network: one module a layer, `bcnn_<layer>`, and `bcnn_core` that chains them.

A layer is a chain of library modules, each with one stream in and one out:

    convolution: sliding_window -> stream_width (column to simd) -> mvtu -> max_pool -> stream_width (pe to next word)
    dense:       mvtu -> stream_width (pe to next word)

Words between layers are what the next one takes: whole pixels before a convolution, `simd` bits before a dense layer.
The last layer gives all sums of an image in one word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm

from designs.bcnn.folding import Fold, Folding, mask_group
from designs.bcnn.weights import acc_bits
from workloads.bcnn.network import Layer

TOP = "bcnn_core"

#: Bits of a sum at the pins.
SUM_BITS = 16

#: Instance of the matrix-vector unit within a layer's module.
UNIT = "u_mvtu"


@dataclass(frozen=True)
class Stage:
    """One instance in a layer's chain; `out_bits` is the width of the word that leaves it."""

    module: str
    name: str
    out_bits: int
    parameters: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class LayerText:
    """A generated layer: its module's name and text, the widths of its words, the library modules it needs."""

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
    texts = []
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
    bits, group = layer.input_bits, mask_group(layer, fold)
    chain: list[Stage] = []
    if layer.kind == "conv":
        lanes = layer.channels_in // group if group else 0
        column = layer.kernel * (layer.channels_in * bits + lanes)
        chain.append(
            Stage(
                "sliding_window",
                "u_window",
                column,
                {
                    "BITS": bits,
                    "CHANNELS": layer.channels_in,
                    "SIDE": layer.side,
                    "KERNEL": layer.kernel,
                    "PADDING": layer.padding,
                    "MASK_LANES": lanes,
                },
            )
        )
        unit, units, wanted = (
            (group + 1, column // (group + 1), fold.simd // group)
            if group
            else (
                bits,
                column // bits,
                fold.simd,
            )
        )
        chain += _width("u_fold", unit, units, wanted)
    else:
        chain += _width("u_fold", bits, in_bits // bits, fold.simd)
    sums = acc_bits(layer)
    lane = sums if layer.last else 1
    chain.append(
        Stage(
            "mvtu",
            UNIT,
            fold.pe * lane,
            {
                "SIMD": fold.simd,
                "PE": fold.pe,
                "SYNAPSES": layer.synapses,
                "NEURONS": layer.channels_out,
                "A_BITS": bits,
                "W_BITS": 1,
                "MASK_GROUP": group,
                "ACC_BITS": sums,
                "THRESHOLD": 0 if layer.last else 1,
                "WEIGHTS": f'"{layer.name}.weights.hex"',
                "THRESHOLDS": '""' if layer.last else f'"{layer.name}.thresholds.hex"',
            },
        )
    )
    if layer.pool:
        folds = layer.channels_out // fold.pe
        shape = {"BITS": 1, "LANES": fold.pe, "FOLDS": folds, "SIDE": layer.side_sums}
        chain.append(Stage("max_pool", "u_pool", fold.pe, shape))
    chain += _width("u_pack", lane, fold.pe, out_bits // lane)
    return chain


def _width(name: str, unit: int, have: int, want: int) -> list[Stage]:
    """Converters from words of `have` units to words of `want`, none where they are equal.

    Where neither divides the other it goes through their least common multiple, which divides what both divide.
    """
    if have == want:
        return []
    if have % want and want % have:
        middle = lcm(have, want)
        return [*_width(f"{name}_up", unit, have, middle), *_width(f"{name}_down", unit, middle, want)]
    return [Stage("stream_width", name, want * unit, {"UNIT": unit, "IN": have, "OUT": want})]


def _layer(layer: Layer, fold: Fold, in_bits: int, out_bits: int) -> LayerText:
    chain = stages(layer, fold, in_bits, out_bits)
    width, body = in_bits, [_wires(0, in_bits)]
    body.append(
        "  assign w0_valid = s_axis_tvalid;\n  assign s_axis_tready = w0_ready;\n  assign w0_data = s_axis_tdata;\n"
    )
    for number, stage in enumerate(chain):
        width = stage.out_bits
        body.append(_wires(number + 1, width))
        body.append(_instance(stage.module, stage.name, stage.parameters, f"w{number}", f"w{number + 1}"))
    end = f"w{len(chain)}"
    data = f"{end}_data"
    if layer.last:
        data, width = _extended(data, layer.channels_out, acc_bits(layer)), layer.channels_out * SUM_BITS
    body.append(f"  assign m_axis_tvalid = {end}_valid;\n  assign {end}_ready = m_axis_tready;\n")
    body.append(f"  assign m_axis_tdata = {data};\n")
    shape = f"{layer.synapses} synapses, {layer.channels_out} neurons, {layer.pixels} positions"
    name = f"bcnn_{layer.name}"
    return LayerText(
        name,
        _module(name, f"{layer.kind}: {shape}, simd x pe = {fold}", in_bits, width, "".join(body), last=False),
        in_bits,
        width,
        tuple(dict.fromkeys(stage.module for stage in chain)),
    )


def core_text(layers: Sequence[LayerText]) -> str:
    """The chain of all layers. tlast of the input is not used: the design counts pixels."""
    in_bits, out_bits = layers[0].in_bits, layers[-1].out_bits
    body = [_wires(0, in_bits)]
    body.append(
        "  assign w0_valid = s_axis_tvalid;\n  assign s_axis_tready = w0_ready;\n  assign w0_data = s_axis_tdata;\n"
    )
    for number, layer in enumerate(layers):
        body.append(_wires(number + 1, layer.out_bits))
        name = layer.name.replace("bcnn_", "u_", 1)
        body.append(_instance(layer.name, name, {}, f"w{number}", f"w{number + 1}"))
    end = f"w{len(layers)}"
    body.append(f"  assign m_axis_tvalid = {end}_valid;\n  assign {end}_ready = m_axis_tready;\n")
    body.append(f"  assign m_axis_tdata = {end}_data;\n  assign m_axis_tlast = 1'b1;\n")
    body.append("  wire unused = &{1'b0, s_axis_tlast};\n")
    return _module(TOP, "all layers; one pixel a beat in, the sums of an image out", in_bits, out_bits, "".join(body))


def _module(name: str, what: str, in_bits: int, out_bits: int, body: str, *, last: bool = True) -> str:
    s_last = "    input wire s_axis_tlast,\n" if last else ""
    m_last = ",\n    output wire m_axis_tlast" if last else ""
    return f"""\
// Written by designs.bcnn.core. {what}
`default_nettype none

module {name} (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [{in_bits - 1}:0] s_axis_tdata,
{s_last}
    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [{out_bits - 1}:0] m_axis_tdata{m_last}
);
{body}endmodule

`default_nettype wire
"""


def _wires(number: int, bits: int) -> str:
    return f"\n  wire w{number}_valid, w{number}_ready;\n  wire [{bits - 1}:0] w{number}_data;\n"


def _instance(module: str, name: str, parameters: Mapping[str, int | str], source: str, sink: str) -> str:
    chosen = ",\n".join(f"      .{key}({value})" for key, value in parameters.items())
    head = f"  {module} #(\n{chosen}\n  ) {name} (\n" if chosen else f"  {module} {name} (\n"
    ports = ["      .clk(clk)", "      .rst(rst)"]
    for side, wire in (("s", source), ("m", sink)):
        ports += [f"      .{side}_axis_t{port}({wire}_{port})" for port in ("valid", "ready", "data")]
    return head + ",\n".join(ports) + "\n  );\n"


def _extended(data: str, count: int, bits: int) -> str:
    """`count` signed numbers of `bits` bits, each sign-extended to SUM_BITS."""
    pad = SUM_BITS - bits
    parts = []
    for n in reversed(range(count)):
        high, low = (n + 1) * bits - 1, n * bits
        sign = f"{{{pad}{{{data}[{high}]}}}}, " if pad else ""
        parts.append(f"{sign}{data}[{high}:{low}]")
    return "{" + ", ".join(parts) + "}"
