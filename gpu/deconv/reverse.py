"""Reverse loops in OpenCL C, for any device: which there are for a layer, and what the host prepares for them.

Two kernels: `tile.cl` for layers of many channels out, `few.cl` for the last layer of a generator, which has 1 to 4.
Images are volumes of depth 1, so one source serves 2D and 3D. On NVIDIA `fixed8` takes four products at once (dp4a).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.deconv.launch import Launch, Stage, Unsupported
from gpu.deconv.layout import NUMBERS, Network, Phase, phases
from gpu.runtime.device import Info
from workloads.deconv.fixed import BITS
from workloads.deconv.layer import Layer

VARIANT = "reverse loop"
FILES = ("gpu/deconv/reverse.py", "gpu/deconv/finish.cl", "gpu/deconv/few.cl", "gpu/deconv/tile.cl")
_FOLDER = Path(__file__).parent
#: A position's coordinates share one integer, ten bits each.
LARGEST_SIDE = 1023
#: Channels out up to which one work-item computes all of them, and the sums that it may then have.
FEW, FEW_SUMS = 4, 96
#: Bytes of weights of such a layer, which are all in local memory; OpenCL on NVIDIA gives a group 48 kB.
FEW_BYTES = 40 * 1024
_ACTIVATIONS = ("linear", "clip", "tanh", "sigmoid")


@dataclass(frozen=True)
class Tile:
    """`positions` times `items` rows by `columns` channels out a group, `tm` by `tn` a work-item, `bk` channels in."""

    positions: int
    items: int
    columns: int
    tm: int
    tn: int
    bk: int

    def __str__(self) -> str:
        return (
            f"tile {self.positions}x{self.items} by {self.columns}, {self.tm} by {self.tn} a work-item, "
            f"{self.bk} channels"
        )


@dataclass(frozen=True)
class Few:
    """All channels and phases of `positions` neighbours a work-item, `local` work-items a group."""

    positions: int
    local: int

    def __str__(self) -> str:
        return f"few {self.positions} positions, {self.local} work-items"


Choice = Tile | Few


def supported(network: Network, info: Info) -> tuple[str, ...]:
    """All arithmetics: numbers of 16 bits are converted when they are read and written."""
    return tuple(NUMBERS)


def choices(network: Network, index: int, arithmetic: str, n: int, info: Info) -> list[Choice]:
    """What tuning may try for layer `index` at batch `n`."""
    layer, gpu = network.layers[index], info.warp > 1
    if _few_fits(layer, arithmetic):
        most = FEW_SUMS // (layer.stride**layer.dimensions * layer.channels_out)
        wide = [p for p in ((4, 2, 1) if gpu else (2,)) if p <= max(most, 1)] or [1]
        return [Few(p, local) for p in wide for local in ((128, 64) if gpu else (8,))]
    return list(dict.fromkeys(_tiles(layer, arithmetic, n, info)))


def stage(network: Network, index: int, choice: Choice, arithmetic: str, n: int, info: Info) -> Stage:
    """A layer as one launch. Errors: Unsupported, naming the layer and the condition."""
    layer = network.layers[index]
    if (side := max(*layer.shape, *layer.shape_out)) > LARGEST_SIDE:
        raise Unsupported(f"{layer.name}: a side of {side} is too large for the kernel; at most {LARGEST_SIDE}")
    build = _tile if isinstance(choice, Tile) else _few
    source, groups, local = build(network, index, choice, arithmetic, n, info)  # type: ignore[arg-type]
    launch = Launch(source, "layer", ("in", "out", "weights", "biases", "table", n), groups, local)
    return Stage((launch,), _constants(network, index, choice, arithmetic, _pack(layer, arithmetic, info)))


def _tiles(layer: Layer, arithmetic: str, n: int, info: Info) -> Iterator[Tile]:
    where = math.prod(-(-side // layer.stride) for side in layer.shape_out)
    bk = _depth(layer.channels_in, _pack(layer, arithmetic, info))
    alone = max(layer.shape) == 1  # each output has one tap: a tile of one position wastes nothing
    if info.warp == 1:
        columns = 16 if layer.channels_out > 8 else 8
        yield Tile(*((1, min(4, n)) if alone else (4, 1)), columns, min(4, n) if alone else 4, columns, bk)
        return
    rows = n if alone else n * where
    shapes = [s for s in ((128, 128, 8, 8), (128, 64, 8, 8), (64, 64, 4, 4), (32, 32, 4, 2)) if s[0] <= 2 * rows]
    for height, columns, tm, tn in (shapes or [(16, 32, 4, 2)])[:3]:
        columns = min(columns, max(32, 1 << (layer.channels_out - 1).bit_length()))
        if alone:
            yield Tile(1, height, columns, tm, tn if columns >= 64 else 2, bk)
            continue
        flat = min(height, 1 << (where - 1).bit_length())
        yield Tile(flat, height // flat, columns, tm, tn, bk)
        if n >= height and where <= 512:
            yield Tile(1, height, columns, tm, tn, bk)


def _depth(channels: int, pack: int) -> int:
    """Channels in local memory at once: a divisor of all of them near 16, in whole units."""
    units = channels // pack
    best = [d for d in range(1, units + 1) if units % d == 0 and d * pack <= 32 and (d % 4 == 0 or units % 4)]
    return pack * max((d for d in best if d <= 16), default=units)


def _pack(layer: Layer, arithmetic: str, info: Info) -> int:
    """Channels of a unit: four bytes on a chip with dp4a."""
    ptx = info.warp == 32 and info.tensor and info.api == "opencl"
    return 4 if arithmetic == "fixed8" and ptx and layer.channels_in % 4 == 0 else 1


def _few_fits(layer: Layer, arithmetic: str) -> bool:
    size = layer.weights * (1 if arithmetic == "fixed8" else 4)
    sums = layer.channels_out * layer.stride**layer.dimensions
    small = layer.channels_out <= FEW and sums <= FEW_SUMS and layer.weights * 4 <= FEW_BYTES and size <= FEW_BYTES
    used = any(phase.taps for phase in phases(layer))
    return small and used and layer.channels_in % 4 == 0 and max(layer.shape) > 1


def _volume(values: tuple[int, ...], fill: int) -> tuple[int, ...]:
    """Three dimensions out of two or three."""
    return (*[fill] * (3 - len(values)), *values)


def _macros(network: Network, index: int, arithmetic: str, info: Info) -> dict[str, object]:
    layer = network.layers[index]
    pack, bits = _pack(layer, arithmetic, info), BITS.get(arithmetic, 0)
    number = {"fixed8": "char", "fixed16": "short", "fp16": "half", "fp32": "float"}[arithmetic]
    shape, out = _volume(layer.shape, 1), _volume(layer.shape_out, 1)
    positions = _volume(tuple(-(-side // layer.stride) for side in layer.shape_out), 1)
    return {
        "FIXED": bits,
        "HALF": int(arithmetic == "fp16"),
        "NUM": number,
        "UNIT": "int" if pack == 4 else number,
        "T": "int" if bits else "float",
        "ACC": "float" if not bits else "long" if _long(network, index, arithmetic) else "int",
        "FRACTION": network.fraction(index, arithmetic) if bits else 0,
        "ACTIVATION": _ACTIVATIONS.index(layer.activation),
        **dict(zip(("IZ", "IY", "IX"), shape, strict=True)),
        **dict(zip(("OZ", "OY", "OX"), out, strict=True)),
        **dict(zip(("PZ", "PY", "PX"), positions, strict=True)),
        "STRIDE": layer.stride,
        "CIN": layer.channels_in,
        "COUT": layer.channels_out,
        "PACK": pack,
        "WIDE": int(info.warp > 1 and (pack == 4 or arithmetic != "fixed8")),
        "UNROLL": '_Pragma("unroll")' if info.warp > 1 else "",
    }


def _long(network: Network, index: int, arithmetic: str) -> bool:
    """Whether sums need 64 bits, half a unit of rounding included."""
    return network.largest_sum(index, arithmetic) + (1 << network.fraction(index, arithmetic)) >= 2**31


def _tile(network: Network, index: int, c: Tile, arithmetic: str, n: int, info: Info) -> tuple[str, int, int]:
    layer = network.layers[index]
    found = [_as_volume(phase) for phase in phases(layer)]
    rows, pack = c.positions * c.items, _pack(layer, arithmetic, info)
    tx, ty = c.columns // c.tn, rows // c.tm
    loads = 4 if layer.channels_in // pack % 4 == 0 and c.bk // pack % 4 == 0 else 1
    filled = -(-layer.channels_out // c.columns) * c.columns
    firsts = np.cumsum([0, *(len(phase.taps) for phase in found)])
    macros = _macros(network, index, arithmetic, info) | {
        "PHASES": len(found),
        "BP": c.positions,
        "BI": c.items,
        "BN": c.columns,
        "BK": c.bk,
        "TM": c.tm,
        "TN": c.tn,
        "TX": tx,
        "TY": ty,
        "COUT_FILLED": filled,
        "LOADS": loads,
        "AS_T(v)": "as_float(v)" if arithmetic == "fp32" else "(v)",
        "ROW_OF(i)": _spread("i", "ty", "TY", c.tm),
        "COLUMN_OF(j)": _spread("j", "tx", "TX", c.tn),
        "OFFSETS": _list(value for phase in found for value in phase.offset),
        "FIRST": _list(firsts),
        "REACH": _list(value for phase in found for tap in phase.taps for value in tap.reach),
    }
    where = math.prod(-(-side // layer.stride) for side in layer.shape_out)
    groups = filled // c.columns * len(found) * -(-where // c.positions) * -(-n // c.items)
    return _source(macros, "tile.cl"), groups, tx * ty


def _few(network: Network, index: int, c: Few, arithmetic: str, n: int, info: Info) -> tuple[str, int, int]:
    layer = network.layers[index]
    found = [_as_volume(phase) for phase in phases(layer)]
    reaches = [tap.reach for phase in found for tap in phase.taps]
    low, high = -max(r[2] for r in reaches), -min(r[2] for r in reaches)
    macros = _macros(network, index, arithmetic, info) | {
        "TQ": c.positions,
        "LOCAL": c.local,
        "TAPS": len(reaches),
        "PHASES": len(found),
        "LINES": _lines(found, layer.channels_out, c.positions, low, high - low + 1),
        "PUTS": _puts(found, layer.channels_out, c.positions),
    }
    across = _volume(tuple(-(-side // layer.stride) for side in layer.shape_out), 1)
    units = n * across[0] * across[1] * -(-across[2] // c.positions)
    return _source(macros, "few.cl"), -(-units // c.local), c.local


def _lines(found: list[Phase], channels: int, positions: int, low: int, span: int) -> str:
    """Statements: for each line of inputs that a position sees, its products with four channels of all taps in it."""
    taps = [(number, tap) for number, phase in enumerate(found) for tap in phase.taps]
    text: list[str] = []
    for rz, ry in sorted({tap.reach[:2] for _, tap in taps}):
        text.append(
            f"{{ const int z = qz - ({rz}), y = qy - ({ry}); if (z >= 0 && z < IZ && y >= 0 && y < IY) {{ "
            "const long line = ((item * IZ + z) * IY + y) * IX; "
            f"Four x[{positions + span - 1}]; UNROLL for (int i = 0; i < {positions + span - 1}; ++i) {{ "
            f"const int at = qx + i + ({low}); if (at >= 0 && at < IX) "
            "x[i] = four(in, (line + at) * (CIN / PACK) + group * LOADED); "
            "else for (int k = 0; k < LOADED; ++k) x[i].s[k] = 0; } "
        )
        for place, (number, tap) in enumerate(taps):
            if tap.reach[:2] != (rz, ry):
                continue
            for channel in range(channels):
                for t in range(positions):
                    total = f"sums[{(number * channels + channel) * positions + t}]"
                    weight = f"w + {place * channels + channel} * LOADED"
                    text.append(f"{total} = dot4(x[{t - tap.reach[2] - low}], {weight}, {total}); ")
        text.append("} } ")
    return "".join(text)


def _puts(found: list[Phase], channels: int, positions: int) -> str:
    """Statements that finish and write the sums whose outputs exist."""
    text: list[str] = []
    for number, phase in enumerate(found):
        fz, fy, fx = phase.offset
        for t in range(positions):
            text.append(
                f"if (qx + {t} < PX && STRIDE * qz + {fz} < OZ && STRIDE * qy + {fy} < OY && "
                f"STRIDE * (qx + {t}) + {fx} < OX) {{ const long to = (((item * OZ + STRIDE * qz + {fz}) * OY + "
                f"STRIDE * qy + {fy}) * OX + STRIDE * (qx + {t}) + {fx}) * COUT; "
            )
            for channel in range(channels):
                total = f"sums[{(number * channels + channel) * positions + t}]"
                text.append(f"put(out, to + {channel}, {total} + biases[{channel}], table); ")
            text.append("} ")
    return "".join(text)


@lru_cache(maxsize=64)
def _constants(
    network: Network, index: int, choice: Choice, arithmetic: str, pack: int
) -> dict[str, NDArray[np.generic]]:
    """Weights in the order of the kernel, biases in the type of the sums, and the table (one zero where there is none).

    Tile: [tap][channels in / pack][channels out, filled up][pack]; few: [channels in / 4][tap][channels out][4].
    """
    layer = network.layers[index]
    weight = network.weight(index, arithmetic)
    elements = [tap.element for phase in phases(layer) for tap in phase.taps]
    flat = weight.reshape(layer.channels_in, -1, layer.channels_out)
    places = [int(np.ravel_multi_index(element, layer.kernel_shape)) for element in elements]
    taps = flat[:, places or [0]].transpose(1, 0, 2)  # (taps, in, out); without taps one that is not used
    if isinstance(choice, Tile):
        taps = np.pad(taps, ((0, 0), (0, 0), (0, -layer.channels_out % choice.columns)))
        ordered = taps.reshape(len(taps), layer.channels_in // pack, pack, -1).transpose(0, 1, 3, 2)
    else:
        ordered = taps.reshape(len(taps), layer.channels_in // 4, 4, -1).transpose(1, 0, 3, 2)
    kind: type[Any] = np.float32
    if arithmetic in BITS:
        kind = np.int64 if _long(network, index, arithmetic) else np.int32
    table = network.table(index, arithmetic)
    return {
        "weights": np.ascontiguousarray(ordered),
        "biases": network.bias(index, arithmetic).astype(kind),
        "table": np.zeros(1, np.int16) if table is None else table,
    }


def _as_volume(phase: Phase) -> Phase:
    taps = tuple(type(tap)(tap.element, _volume(tap.reach, 0)) for tap in phase.taps)
    return Phase(_volume(phase.offset, 0), _volume(phase.counts, 1), taps)


def _spread(index: str, lane: str, lanes: str, each: int) -> str:
    """Rows or columns of a work-item: fours together where there are fours, so that they are one read."""
    if each % 4 == 0:
        return f"((({index}) / 4 * {lanes} + {lane}) * 4 + ({index}) % 4)"
    return f"(({index}) * {lanes} + {lane})"


def _list(values: Iterable[int]) -> str:
    return "{" + (", ".join(str(int(v)) for v in values) or "0") + "}"


def _source(macros: dict[str, object], name: str) -> str:
    head = "".join(f"#define {key} {value}\n" for key, value in macros.items())
    return head + (_FOLDER / "finish.cl").read_text() + (_FOLDER / name).read_text()
