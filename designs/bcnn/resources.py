"""What a layer takes of a part, modelled: a quick guide for the solver, never a figure of a comparison.

Memories, registers and multiplexers follow from the structure of the modules in designs/lib; what their logic takes is
three coefficients a family, fitted to Yosys' counts (see FAMILIES). What a synthesis says goes before what this says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from designs.bcnn.folding import Fold, Folding, choices, cycles, mask_group, vector_folds
from designs.bcnn.weights import acc_bits
from designs.flow.parts import DoesNotFit as DoesNotFit
from designs.flow.parts import Part as Part
from designs.flow.parts import part as part
from workloads.bcnn.network import Layer


@dataclass(frozen=True)
class Resources:
    """LUTs and flip-flops, and block RAMs of the part."""

    luts: float
    ffs: float
    brams: int

    def __add__(self, other: Resources) -> Resources:
        return Resources(self.luts + other.luts, self.ffs + other.ffs, self.brams + other.brams)


@dataclass(frozen=True)
class Family:
    """Costs of logic in one family of parts.

    LUTs of a product of two bits with its share of the adders (`product`), of each bit of a number times a sign
    (`wide`), of a layer's control (`control`); `*_ffs` their flip-flops. A LUT holds `depth` words of a bit of ROM, and
    `ram_depth` of RAM (0: there is none in LUTs); `mux` is the inputs of a multiplexer of one LUT. Of the flip-flops
    `alone` take the place of a LUT each, where both come in pairs. `shapes` are the (words, bits) of a block RAM.
    """

    product: float
    wide: float
    control: float
    product_ffs: float
    wide_ffs: float
    control_ffs: float
    depth: int
    ram_depth: int
    mux: int
    alone: float
    shapes: tuple[tuple[int, int], ...]


#: MODELLED. Least squares over layers of 1 to 64 channels with Yosys 0.70. ecp5: 16 layers after synth_ecp5, LUTs
#: within 17 % of each and flip-flops within 30 %. xc7: 5 of them after synth_xilinx, LUTs within 4 %, flip-flops
#: within 28 %. ice40 has the LUT4 of ecp5; of two foldings of digits_small nextpnr-ice40 0.11.1 put 63 % of the
#: flip-flops into cells of their own, and the model is 17 and 24 % above its count of cells.
FAMILIES: Mapping[str, Family] = {
    "ecp5": Family(
        product=2.7, wide=3.0, control=333, product_ffs=0.93, wide_ffs=0.5, control_ffs=161, depth=16, ram_depth=16,
        mux=2, alone=0, shapes=((16384, 1), (8192, 2), (4096, 4), (2048, 9), (1024, 18), (512, 36)),
    ),
    "ice40": Family(
        product=2.7, wide=3.0, control=333, product_ffs=0.93, wide_ffs=0.5, control_ffs=161, depth=16, ram_depth=0,
        mux=2, alone=0.63, shapes=((2048, 2), (1024, 4), (512, 8), (256, 16)),
    ),
    "xc7": Family(
        product=1.8, wide=2.1, control=180, product_ffs=1.07, wide_ffs=0.8, control_ffs=125, depth=64, ram_depth=32,
        mux=4, alone=0, shapes=((16384, 1), (8192, 2), (4096, 4), (2048, 9), (1024, 18), (512, 36)),
    ),
}  # fmt: skip

#: A memory of more words and of at least so many bits is block RAM: `rom` asks for it, and tools do likewise.
BLOCK_WORDS, BLOCK_BITS = 64, 2048


def estimate(layer: Layer, fold: Fold, family: Family) -> Resources:
    """Modelled resources of one layer: window, unit, pooling, and the collection of its input words."""
    bits, group = layer.input_bits, mask_group(layer, fold)
    products = fold.simd * fold.pe
    each, registers = (
        (family.product, family.product_ffs) if bits == 1 else (family.wide * bits, family.wide_ffs * bits)
    )
    total = Resources(family.control + products * each, family.control_ffs + products * registers, 0)
    total += _window(layer, fold, family) if layer.kind == "conv" else Resources(0, 2 * fold.simd, 0)
    total += _unit(layer, fold, fold.simd * bits + (fold.simd // group if group else 0), family)
    if layer.pool:
        total += ram(layer.side_sums // 2 * (layer.channels_out // fold.pe), fold.pe, family)
        total += Resources(2 * fold.pe, 3 * fold.pe, 0)
    return total + Resources(family.alone * total.ffs, 0, 0)


def _window(layer: Layer, fold: Fold, family: Family) -> Resources:
    """Row memories, the choice among them for each row of the kernel, and the words cut to `simd`."""
    pixel, group = layer.channels_in * layer.input_bits, mask_group(layer, fold)
    column = layer.kernel * (pixel + (layer.channels_in // group if group else 0))
    edge = (layer.kernel - 1 - layer.padding) * layer.side + layer.kernel - layer.padding
    rows = max(layer.kernel, (2 * edge + 7) // layer.side) + 1  # as sliding_window has it
    total = Resources(layer.kernel * pixel * rows / family.mux, column + 2 * layer.channels_in, 0)
    for _ in range(rows):
        total += ram(layer.side, pixel, family)
    ratio = fold.simd / (layer.kernel * layer.channels_in)
    if ratio < 1:
        return total + Resources(2 * column, 2 * column, 0)
    return total + Resources(0, 2 * column * ratio if ratio > 1 else 0, 0)


def _unit(layer: Layer, fold: Fold, word: int, family: Family) -> Resources:
    """The vector's buffer of words of `word` bits, weights, thresholds, accumulators and the results' FIFO."""
    synapse_folds, neuron_folds = layer.synapses // fold.simd, layer.channels_out // fold.pe
    sums = fold.pe * acc_bits(layer)
    total = Resources(2 * fold.pe, 2 * sums, 0)
    if neuron_folds == 1 or synapse_folds == 1:
        total += Resources(0, word * min(neuron_folds, 2), 0)
    else:
        total += ram(2 * synapse_folds, word, family)
    total += rom(vector_folds(layer, fold), fold.simd * fold.pe, family)
    total += rom(neuron_folds, 0 if layer.last else sums, family)
    # Beside a memory that is read in two cycles.
    return total + Resources(0, word if vector_folds(layer, fold) > BLOCK_WORDS else 0, 0)


def rom(words: int, bits: int, family: Family) -> Resources:
    """A memory that is only read, with its registers: block RAM, or LUTs where it is shallow or small."""
    if words > BLOCK_WORDS and words * bits >= BLOCK_BITS:
        return Resources(0, bits, blocks(words, bits, family))
    return Resources(bits * -(-words // family.depth) if words > 1 else 0, bits if words > 1 else 0, 0)


def ram(words: int, bits: int, family: Family) -> Resources:
    """A memory that is read and written, with its register: block RAM, RAM in LUTs, or flip-flops for want of that."""
    if words >= BLOCK_WORDS and words * bits >= (2 * BLOCK_BITS if family.ram_depth else BLOCK_BITS / 4):
        return Resources(0, bits, blocks(words, bits, family))
    if family.ram_depth:
        return Resources(bits * -(-words // family.ram_depth), bits, 0)
    return Resources(words * bits / family.mux, (words + 1) * bits, 0)


def blocks(words: int, bits: int, family: Family) -> int:
    """Block RAMs of a memory, in the best of the shapes a block has."""
    return min(-(-words // depth) * -(-bits // width) for depth, width in family.shapes)


def estimates(folding: Folding, family: Family) -> tuple[Resources, ...]:
    """Modelled resources of each layer."""
    return tuple(estimate(layer, fold, family) for layer, fold in zip(folding.layers, folding.folds, strict=True))


def shares(used: Resources, part: Part) -> dict[str, float]:
    """Fraction of the part (1.0: all of it) that is used of LUTs, FFs and block RAMs."""
    return {"LUTs": used.luts / part.luts, "FFs": used.ffs / part.ffs, "block RAMs": used.brams / part.brams}


def check_fits(folding: Folding, part: Part, share: float = 1.0) -> Resources:
    """The modelled total. Errors: DoesNotFit when it is above `share` of what the part has of anything."""
    each = estimates(folding, FAMILIES[part.family])
    total = sum(each, Resources(0, 0, 0))
    used = shares(total, part)
    scarce = max(used, key=lambda name: used[name])
    if used[scarce] > share:
        index = max(range(len(each)), key=lambda i: shares(each[i], part)[scarce])
        layer, fold = folding.layers[index], folding.folds[index]
        raise DoesNotFit(
            f"{part.name} has too few {scarce} for this network: about {used[scarce]:.0%} of them (modelled), "
            f"{share:.0%} allowed; {layer.name} ({fold}) takes {shares(each[index], part)[scarce]:.0%}: "
            f"{_advice(folding, index, part, share)}"
        )
    return total


def _advice(folding: Folding, index: int, part: Part, share: float) -> str:
    """What would make the network fit: another fold of its largest layer, folding others as well, or another part."""
    layer, family = folding.layers[index], FAMILIES[part.family]
    weights = layer.synapses * layer.channels_out
    capacity = max(depth * width for depth, width in FAMILIES[part.family].shapes) * part.brams
    if weights > capacity:
        return f"its {weights:,} weights alone are more than the {capacity:,} bits there: choose a larger part"
    others = [estimate(*other, family) for other in zip(folding.layers, folding.folds, strict=True)]
    rest = sum((*others[:index], *others[index + 1 :]), Resources(0, 0, 0))
    fitting = [f for f in choices(layer) if max(shares(rest + estimate(layer, f, family), part).values()) <= share]
    if fitting:
        best = min(fitting, key=lambda fold: cycles(layer, fold))
        return f"with {layer.name} at {best}, {cycles(layer, best):,} cycles an image, the network fits (modelled)"
    return (
        f"no fold of {layer.name} alone makes the network fit; designs.bcnn.solver.for_part looks for a folding of all "
        "layers, or choose a larger part"
    )
