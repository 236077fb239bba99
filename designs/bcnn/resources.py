"""What a layer takes of a part, modelled: a quick guide for the solver, never a figure of a comparison.

The coefficients are per product, per bit and per word, fitted to Yosys' counts of single layers (see FAMILIES). What a
synthesis says goes before what is said here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from designs.bcnn.folding import Fold, Folding, mask_group, vector_folds
from designs.bcnn.weights import acc_bits
from workloads.api import UnknownNameError
from workloads.bcnn.network import Layer


class DoesNotFit(ValueError):
    """A network that is too large for a part; the message names the layer that takes most and what to change."""


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

    `product` LUTs multiply and add one bit by one weight, `wide` is that for each bit of a number of several bits;
    `masked` LUTs a product where the padding is masked. `compare` LUTs a bit of a threshold or of an accumulator.
    `control` LUTs a layer. `flops` registers a product, `wide_flops` a bit of a product of several bits. A block RAM
    has the shapes `shapes` (words, bits). A ROM of fewer bits than `smallest` is made of LUTs of `rom` bits each; a
    buffer that is read and written takes a LUT for `ram` bits (0: there is no RAM in LUTs).
    """

    product: float
    wide: float
    masked: float
    compare: float
    control: float
    flops: float
    wide_flops: float
    shapes: tuple[tuple[int, int], ...]
    smallest: int
    rom: int
    ram: int


@dataclass(frozen=True)
class Part:
    """One device. Totals are the vendor's."""

    name: str
    family: str
    luts: int
    ffs: int
    brams: int


#: MODELLED. Placeholders before fitting.
FAMILIES: Mapping[str, Family] = {
    "ecp5": Family(
        product=1.7, wide=1.6, masked=0.1, compare=2.5, control=150, flops=0.6, wide_flops=1.0,
        shapes=((16384, 1), (8192, 2), (4096, 4), (2048, 9), (1024, 18), (512, 36)), smallest=2048, rom=16, ram=8,
    ),
    "ice40": Family(
        product=1.7, wide=1.6, masked=0.1, compare=2.5, control=150, flops=0.6, wide_flops=1.0,
        shapes=((2048, 2), (1024, 4), (512, 8), (256, 16)), smallest=512, rom=16, ram=0,
    ),
    "xc7": Family(
        product=1.1, wide=1.2, masked=0.1, compare=1.5, control=120, flops=0.6, wide_flops=1.0,
        shapes=((16384, 1), (8192, 2), (4096, 4), (2048, 9), (1024, 18), (512, 36)), smallest=2048, rom=64, ram=32,
    ),
}  # fmt: skip

#: A block RAM is the 18 kbit half on XC7 and 4 kbit on iCE40. Totals: see compare/facts and the vendors' tables.
PARTS: Mapping[str, Part] = {
    part.name: part
    for part in (
        Part("lfe5u-85f", "ecp5", 83_640, 83_640, 208),
        Part("ice40up5k", "ice40", 5_280, 5_280, 30),
        Part("xc7z020", "xc7", 53_200, 106_400, 280),
        Part("xc7vx690t", "xc7", 433_200, 866_400, 2_940),
    )
}


def part(name: str) -> Part:
    """A part by name. Errors: UnknownNameError."""
    if name not in PARTS:
        raise UnknownNameError("part", name, tuple(PARTS))
    return PARTS[name]


def estimate(layer: Layer, fold: Fold, family: Family) -> Resources:
    """Modelled resources of one layer: its products, its weights, its buffers."""
    products, bits = fold.simd * fold.pe, layer.input_bits
    width = acc_bits(layer)
    luts = family.control + products * (family.product if bits == 1 else family.wide * bits)
    luts += products * family.masked if mask_group(layer, fold) else 0.0
    luts += fold.pe * width * family.compare
    flops = products * (family.flops if bits == 1 else family.wide_flops * bits) + 3 * fold.pe * width
    total = Resources(luts, flops, 0)
    memories = [(vector_folds(layer, fold), products)]  # weights
    if not layer.last:
        memories.append((layer.channels_out // fold.pe, fold.pe * width))
    total = sum((rom(words, bits, family) for words, bits in memories), total)
    buffers = [(2 * layer.synapses // fold.simd, fold.simd * bits)]
    if layer.kind == "conv":
        buffers.append(((layer.kernel + 1) * layer.side, layer.channels_in * bits))
    if layer.pool:
        buffers.append((layer.side_sums // 2 * (layer.channels_out // fold.pe), fold.pe))
    return sum((ram(words, bits, family) for words, bits in buffers), total)


def rom(words: int, bits: int, family: Family) -> Resources:
    """A memory that is only read: block RAM, or LUTs where it is small."""
    if words * bits < family.smallest or words <= 2:
        return Resources(-(-words // family.rom) * bits if words > 1 else 0, bits, 0)
    return Resources(0, 0, blocks(words, bits, family))


def ram(words: int, bits: int, family: Family) -> Resources:
    """A memory that is read and written: block RAM, RAM in LUTs, or registers where there is neither."""
    if words * bits >= family.smallest * 2:
        return Resources(0, 0, blocks(words, bits, family))
    if family.ram:
        return Resources(words * bits / family.ram, bits, 0)
    return Resources(words * bits / 2, words * bits, 0)


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
            f"{_advice(layer, fold, scarce, part)}"
        )
    return total


def _advice(layer: Layer, fold: Fold, scarce: str, part: Part) -> str:
    """What would make a layer smaller."""
    weights = layer.synapses * layer.channels_out
    capacity = max(depth * width for depth, width in FAMILIES[part.family].shapes) * part.brams
    if weights > capacity:
        return f"its {weights:,} weights alone are more than the {capacity:,} bits there: choose a larger part"
    if fold == Fold(1, 1):
        return "it is folded as far as can be: choose a larger part"
    return f"choose a smaller simd or pe than {fold}" + (", for wide words fill block RAMs badly" * (scarce[0] == "b"))
