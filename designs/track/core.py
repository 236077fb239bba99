"""SystemVerilog and memory images of a folded network: a module a layer, `track_<layer>`, and `track_core`.

    stream_width (to simd) -> mvtu -> requantise [-> activation_table] -> stream_width (to the next layer's simd)

A hit comes in one word and leaves in one, elements of equal width, element 0 lowest: the pins of `hls/track/da4ml`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from designs.flow.chain import Stage, module, width_stages
from designs.flow.folding import Fold, bits_of, hexadecimal
from designs.track.folding import Folding
from designs.track.integers import Dense
from workloads.track.network import Ints

TOP = "track_core"


@dataclass(frozen=True)
class LayerText:
    """A generated layer: its module's name and text, and the widths of its words."""

    name: str
    text: str
    in_bits: int
    out_bits: int


def layer_texts(layers: Sequence[Dense], folding: Folding) -> tuple[LayerText, ...]:
    """The module of every layer; its last converter makes the words that the next one takes."""
    texts = []
    take = layers[0].n_in
    for index, (layer, fold) in enumerate(zip(layers, folding.folds, strict=True)):
        give = layer.n_out if index == len(layers) - 1 else folding.folds[index + 1].simd
        chain = stages(layer, fold, take, give)
        name, in_bits = f"track_{layer.name}", take * layer.a_bits
        what = f"{layer.n_in} synapses, {layer.n_out} neurons, simd x pe = {fold}"
        text = module(name, what, in_bits, chain, writer="designs.track.core")
        texts.append(LayerText(name, text, in_bits, give * layer.value_bits))
        take = give
    return tuple(texts)


def stages(layer: Dense, fold: Fold, take: int, give: int) -> list[Stage]:
    """The chain of a layer that takes words of `take` inputs and gives words of `give` results."""
    mvtu: dict[str, int | str] = {
        "SIMD": fold.simd,
        "PE": fold.pe,
        "SYNAPSES": layer.n_in,
        "NEURONS": layer.n_out,
        "A_BITS": layer.a_bits,
        "W_BITS": layer.w_bits,
        "ACC_BITS": layer.acc_bits,
        "THRESHOLD": 0,
        "WEIGHTS": f'"{layer.name}.weights.hex"',
    }
    folds = layer.n_out // fold.pe
    requantise: dict[str, int | str] = {
        "LANES": fold.pe,
        "FOLDS": folds,
        "IN": layer.acc_bits,
        "LEFT": layer.left,
        "SUM": layer.sum_bits,
        "RIGHT": layer.right,
        "OUT": layer.out_bits,
        "RELU": int(layer.relu),
        "SATURATE": int(layer.saturate),
        "FORMAT_WORDS": 1 if layer.one_format else folds,
        "OFFSETS": f'"{layer.name}.offsets.hex"',
        "FORMATS": f'"{layer.name}.formats.hex"',
    }
    chain = width_stages("u_fold", layer.a_bits, take, fold.simd)
    chain.append(Stage("mvtu", "u_mvtu", fold.pe * layer.acc_bits, mvtu))
    chain.append(Stage("requantise", "u_requantise", fold.pe * layer.out_bits, requantise))
    if layer.table is not None:
        table: dict[str, int | str] = {
            "LANES": fold.pe,
            "IN": layer.out_bits,
            "OUT": layer.value_bits,
            "TABLE": f'"{layer.name}.table.hex"',
        }
        chain.append(Stage("activation_table", "u_table", fold.pe * layer.value_bits, table))
    chain += width_stages("u_pack", layer.value_bits, fold.pe, give)
    # A register at least, so that no ready signal runs through more than one layer.
    if chain[-1].module != "stream_width":
        one: dict[str, int | str] = {"UNIT": layer.value_bits, "IN": give, "OUT": give}
        chain.append(Stage("stream_width", "u_pack", give * layer.value_bits, one))
    return chain


def core_text(layers: Sequence[LayerText], folding: Folding) -> str:
    """The chain of all layers; tlast of each hit waits in a FIFO of its own, with room for all that are on their way.

    A hit is on its way for the cycles of all layers and less than 20 registers a layer.
    """
    on_their_way = (sum(folding.cycles) + 20 * len(layers)) // folding.interval + 2
    places = 1 << (on_their_way - 1).bit_length()
    chain = [Stage(layer.name, layer.name.replace("track_", "u_", 1), layer.out_bits) for layer in layers]
    head = f"""\
  wire place, unused_valid, unused_data;

  stream_fifo #(
      .WIDTH(1),
      .DEPTH({places})
  ) u_last (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(s_axis_tvalid && s_axis_tready),
      .s_axis_tready(place),
      .s_axis_tdata(1'b0),
      .s_axis_tlast(s_axis_tlast),
      .m_axis_tvalid(unused_valid),
      .m_axis_tready(m_axis_tvalid && m_axis_tready),
      .m_axis_tdata(unused_data),
      .m_axis_tlast(m_axis_tlast)
  );

  wire unused = &{{1'b0, unused_valid, unused_data}};
"""
    what = "all layers; a hit a word in, its embedding a word out"
    return module(TOP, what, layers[0].in_bits, chain, writer="designs.track.core", last=True, head=head, gate="place")


def write_memories(layers: Sequence[Dense], folding: Folding, folder: Path) -> tuple[Path, ...]:
    """Write the images of all layers to `<layer>.<what>.hex` in `folder`; return their paths."""
    paths = []
    for layer, fold in zip(layers, folding.folds, strict=True):
        for what, words in images(layer, fold).items():
            paths.append(folder / f"{layer.name}.{what}.hex")
            paths[-1].write_text(hexadecimal(words))
    return tuple(paths)


def images(layer: Dense, fold: Fold) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    """Bits (words, width), lowest first, of each memory of a layer, in the order in which its modules read them."""
    folds, synapse_folds = layer.n_out // fold.pe, layer.n_in // fold.simd
    # Neuron fold, synapse fold, row, synapse.
    order = layer.weight.T.reshape(folds, fold.pe, synapse_folds, fold.simd).transpose(0, 2, 1, 3)
    found = {
        "weights": bits_of(order, layer.w_bits).reshape(folds * synapse_folds, -1),
        "offsets": bits_of(layer.offset, layer.sum_bits).reshape(folds, -1),
        "formats": _formats(layer).reshape(folds, -1)[: 1 if layer.one_format else folds],
    }
    if layer.table is not None:
        found["table"] = bits_of(layer.table, layer.value_bits)
    return found


def _formats(layer: Dense) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Bits (n_out, 2 * out_bits + 1) of each neuron's field: keep lowest, then upper, then signed."""
    fields: list[tuple[Ints, int]] = [(layer.keep, layer.out_bits), (layer.upper, layer.out_bits), (layer.signed, 1)]
    return np.concatenate([bits_of(values, width) for values, width in fields], axis=1)
