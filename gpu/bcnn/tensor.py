"""Kernels on NVIDIA's binary tensor cores: which tiles tuning may try for a layer and a batch.

`first.cu` does the first layer, `gather.cu` dense layers and convolutions of few pixels, `region.cu` and `conv.cu`
convolutions of many. What is listed here were the fastest few of many more on an H200.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu.bcnn import fragments, layout
from gpu.bcnn.kernels import Choice, Step, Unsupported
from gpu.bcnn.layout import Shape
from gpu.runtime.device import Info
from workloads.bcnn.network import Layer, Network

VARIANT = "bmma"
FILES = (
    "gpu/bcnn/tensor.py",
    "gpu/bcnn/fragments.py",
    "gpu/bcnn/layout.py",
    *(f"gpu/bcnn/{name}.cu" for name in ("bits", "stage", "first", "gather", "conv", "region")),
)
#: A pixel is a multiple of 128 bits.
MULTIPLE = 4
#: A sum must fit the 16 bits that two channels leave each other.
_MOST = 2**15 - 2
#: Sums of a layer up to which each of them matters less than that many multiprocessors work.
_FEW = 2**18


def check(network: Network) -> None:
    """Errors: Unsupported, naming the layer and the condition that fails."""
    first = network.layers[0]
    name = first.name
    if first.kind != "conv" or first.kernel != 3 or first.channels_in > 3 or first.last:
        raise Unsupported(f"{name}: the first layer must be a 3 x 3 convolution of at most 3 channels")
    if first.side % 4 or first.padding > 1 or first.bound > 2**12:
        raise Unsupported(f"{name}: side {first.side}, padding {first.padding}, sums up to {first.bound}")
    for layer in network.layers[1:]:
        if layer.bound > _MOST:
            raise Unsupported(f"{layer.name}: sums up to {layer.bound}, but 16 bits hold {_MOST}")
        if layer.pool and layer.last:
            raise Unsupported(f"{layer.name}: pooled sums at the end")


def choices(network: Network, index: int, n: int, info: Info) -> Iterator[Choice]:
    """Yield what tuning may try for layer `index` at batch `n`."""
    shape = layout.shapes(network, MULTIPLE)[index]
    layer = shape.layer
    if index == 0:
        yield from _first(layer, n)
        return
    planes = shape.words_in // 4
    staged = layer.kernel == 3 and layer.padding <= 1 and (planes == 1 or planes % 2 == 0) and not layer.last
    if not staged or n * layer.pixels <= 2**15:
        yield from _gather(shape, n)
    if staged and n * layer.pixels >= 2**10:
        for choice in _region(layer, n) if layer.side_sums % 8 == 0 else _conv(layer, n):
            if fragments.conv_size(shape, choice)["shared"] <= info.local_bytes:
                yield choice


def step(network: Network, index: int, choice: Choice) -> Step:
    """Build the launch of one layer."""
    shape = layout.shapes(network, MULTIPLE)[index]
    build = {
        "first": fragments.first_step,
        "gather": fragments.gather_step,
        "conv": fragments.conv_step,
        "region": fragments.conv_step,
    }[choice.family]
    return build(shape, network.weights[index], network.thresholds[index], choice)


def _first(layer: Layer, n: int) -> Iterator[Choice]:
    wide = 16 if layer.channels_out > 64 else 8 if layer.channels_out > 32 else 4
    least = mt = 2 if layer.pool else 1
    if n < 32:
        for nt in {wide, min(wide, 8)}:
            yield Choice("first", rows=least, mt=mt, nt=nt, warps=2)
        return
    for rows in {layer.side_sums, 8} if layer.side_sums % 8 == 0 else {layer.side_sums}:
        for nt in {wide, min(wide, 8)}:
            yield Choice("first", rows=rows, mt=mt, nt=nt, warps=4)


def _gather(shape: Shape, n: int) -> Iterator[Choice]:
    layer = shape.layer
    groups = -(-shape.taps * shape.words_in // 16)
    warps = sorted({-(-groups // turns) for turns in (1, 2, 4, 8) if groups <= 16 * turns}, reverse=True)
    warps = warps or [16]
    few = [(1, 4, w) for w in warps[:2]] + [(1, 8, warps[0]), (2, 4, warps[0])]
    many = [(2, 8, w) for w in warps[-3:]] + [(2, 4, w) for w in warps[:2]] + [(1, 8, warps[0]), (1, 4, warps[-1])]
    for mt, nt, w in few if n * layer.pixels * layer.channels_out <= _FEW else many:
        tiles = 2 if layer.last and layer.channels_out <= 16 else nt if layer.channels_out > 32 else 4
        if w * mt * tiles * (2 if layer.last else 1) * 256 <= 48 * 1024:
            yield Choice("gather", mt=mt, nt=tiles, warps=w)


def _together(n: int) -> tuple[int, ...]:
    """Groups of warps of a block that share its weights: few where the images do not fill all multiprocessors."""
    return (1, 2) if n <= 64 else (2, 4) if n <= 256 else (4,)


def _region(layer: Layer, n: int) -> Iterator[Choice]:
    for mt, nt, wm, wn in ((2, 8, 2, 2), (4, 4, 1, 4)):
        for groups in _together(n):
            for rows in (4, 8) if n <= 64 else (8, 16):
                if rows % (2 * mt) == 0 and layer.side_sums % rows == 0:
                    yield Choice("region", images=1, rows=rows, mt=mt, nt=nt, wm=wm, wn=wn, groups=groups)


def _conv(layer: Layer, n: int) -> Iterator[Choice]:
    side = layer.side_sums
    for mt, nt, wm, wn in ((2, 8, 2, 2), (4, 4, 1, 4)) if layer.channels_out > 64 else ((4, 4, 2, 2),):
        for groups in _together(n):
            half = side // 2
            if n <= 64 and side % 2 == 0 and not (layer.pool and half % 2):
                yield Choice("conv", images=1, rows=half, mt=mt, nt=nt, wm=wm, wn=wn, groups=groups)
            for images in {1, max(1, 16 * mt * wm // side**2)}:
                yield Choice("conv", images=images, rows=side, mt=mt, nt=nt, wm=wm, wn=wn, groups=groups)
