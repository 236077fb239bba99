"""Where a network's tensors lie: in the activation memories from one layer to the next, or outside, and in what tiles.

A layer is done whole where its input, output and sums fit, and its output stays for the next layer if that is whole
too. Otherwise it is cut into tiles, each of which is loaded, computed and stored; input and output are then outside.
The plan with the fewest tensors outside between layers is taken, then that with the fewest layers in tiles, then that
with the fewest cycles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from designs.deconv.commands import CHANNEL_BITS, SIDE_BITS, TAP_ENTRIES
from designs.deconv.compiler_images import acc_bits
from designs.deconv.compiler_tiles import Layout, Tile, cuts, dimensions, whole
from designs.deconv.config import Engine, EngineError
from workloads.deconv.fixed import FixedLayer
from workloads.deconv.layer import Layer

#: The memory of a tensor that lies in neither.
OUTSIDE = -1

#: Strides and shifts of a tap that fields of the commands hold.
LARGEST_STRIDE, LARGEST_SHIFT = 4, 31
#: Bits of the engine's rounding shift.
SHIFT_LIMIT = 63
#: Most tiles of a layer that are thought of, and how many times the fewest that fit.
MOST_TILES, TIMES_TILES = 4096, 4

#: Cost of a plan: tensors outside between layers, layers in tiles, cycles.
Cost = tuple[int, int, int]


@dataclass(frozen=True)
class Step:
    """A layer: its tiles in order, the memory it reads, where its input comes from and its output goes to.

    `source` and `target` are numbers of memories, or OUTSIDE. `regions`: two tiles have a place at a time.
    """

    layer: Layer
    tiles: tuple[Tile, ...]
    memory: int
    source: int
    target: int
    regions: int = 1

    @property
    def cycles(self) -> int:
        """Estimate of the cycles: streams count where nothing else goes on."""
        run = sum(tile.cycles for tile in self.tiles)
        loads = [stream_beats(tile.source, tile.engine) for tile in self.tiles] if self.source == OUTSIDE else [0]
        stores = [stream_beats(tile.result, tile.engine) for tile in self.tiles] if self.target == OUTSIDE else [0]
        if self.regions == 2:
            return max(run, sum(loads), sum(stores)) + loads[0] + stores[-1]
        return run + sum(loads) + sum(stores)


def stream_beats(layout: Layout, engine: Engine) -> int:
    """Beats of a tensor in the streams."""
    z, rows, columns = layout.sides
    return z * rows * -(-columns // engine.io) * layout.io_words


def plan(layers: Sequence[FixedLayer], chained: bool, engine: Engine) -> tuple[Step, ...]:
    """The steps of a network. Errors: EngineError naming the layer, the value and the limit."""
    for layer in layers:
        check(layer, engine)
    if not chained:
        return tuple(min(_outside(each.layer, engine), key=_cost) for each in layers)
    best: dict[int, tuple[Cost, tuple[Step, ...]]] = {OUTSIDE: ((0, 0, 0), ())}
    for layer in layers:
        reached: dict[int, tuple[Cost, tuple[Step, ...]]] = {}
        last = layer is layers[-1]
        for step in _steps(layer.layer, engine):
            if step.source not in best or (last and step.target != OUTSIDE):
                continue
            cost, before = best[step.source]
            spilt, tiled, cycles = _cost(step)
            total = (cost[0] + (spilt if not last else 0), cost[1] + tiled, cost[2] + cycles)
            if step.target not in reached or total < reached[step.target][0]:
                reached[step.target] = (total, (*before, step))
        if not reached:
            _refuse_size(layer.layer, engine)
        best = reached
    return best[OUTSIDE][1]


def _cost(step: Step) -> Cost:
    return int(step.target == OUTSIDE), int(len(step.tiles) > 1), step.cycles


def _outside(layer: Layer, engine: Engine) -> list[Step]:
    """The ways to do a layer by itself."""
    found = [step for step in _steps(layer, engine) if step.source == step.target == OUTSIDE]
    if not found:
        _refuse_size(layer, engine)
    return found


@cache
def _steps(layer: Layer, engine: Engine) -> tuple[Step, ...]:
    """All ways to do a layer that fit."""
    return tuple(itertools.chain(_whole_steps(layer, engine), _tiled_steps(layer, engine)))


def _whole_steps(layer: Layer, engine: Engine) -> Iterator[Step]:
    tile = whole(layer, engine)
    for memory in (0, 1):
        if _fits(tile, memory, engine, 1):
            for source, target in itertools.product((memory, OUTSIDE), (1 - memory, OUTSIDE)):
                yield Step(layer, (tile,), memory, source, target)


def _tiled_steps(layer: Layer, engine: Engine) -> Iterator[Step]:
    """The cheapest cut for each memory, with two regions and with one."""
    found: dict[tuple[int, int], Step] = {}
    fewest = MOST_TILES
    for tiles in cuts(layer, engine, MOST_TILES):
        if len(tiles) > TIMES_TILES * fewest and len(found) == 4:
            break
        for memory, regions in itertools.product((0, 1), (2, 1)):
            key = (memory, regions)
            if len(tiles) > 1 and all(_fits(tile, memory, engine, regions) for tile in tiles):
                step = Step(layer, tiles, memory, OUTSIDE, OUTSIDE, regions)
                fewest = min(fewest, len(tiles))
                if key not in found or step.cycles < found[key].cycles:
                    found[key] = step
    yield from found.values()


def _fits(tile: Tile, memory: int, engine: Engine, regions: int) -> bool:
    words = (engine.a_words, engine.b_words)
    return (
        regions * tile.source.words <= words[memory]
        and regions * tile.result.words <= words[1 - memory]
        and (engine.dataflow == "reverse_loop" or tile.psum_words <= engine.psum_words)
        and all(abs(span.shift) + LARGEST_STRIDE <= LARGEST_SHIFT for span in tile.spans)
    )


def check(layer: FixedLayer, engine: Engine) -> None:
    """Refuse what no tiling mends. Errors: EngineError naming the layer, the value and the limit."""
    shape = layer.layer

    def limit(value: int, most: int, what: str) -> None:
        if value > most:
            raise EngineError(f"{shape.name}: {what} of {value:,}; engine {engine.name} takes {most:,}")

    if layer.bits != engine.bits:
        raise EngineError(f"{shape.name}: numbers of {layer.bits} bits; engine {engine.name} has {engine.bits}")
    if shape.dimensions not in (2, 3):
        raise EngineError(f"{shape.name}: {shape.dimensions} dimensions; engine {engine.name} takes 2 and 3")
    tile = whole(shape, engine)
    parallel = [dimension.parallel for dimension in dimensions(shape, engine)]
    most = LARGEST_STRIDE
    if engine.dataflow == "input_oriented" and max(parallel[3 - shape.dimensions :]) > 1:
        most = 2
    limit(shape.stride, most, "a stride")
    limit(max(shape.shape + shape.shape_out), (1 << SIDE_BITS) - 1, "a side")
    limit(max(shape.channels_in, shape.channels_out), (1 << CHANNEL_BITS) - 1, "channels")
    limit(layer.fraction, SHIFT_LIMIT, "a rounding shift")
    limit(acc_bits(layer), engine.acc, "sums with bits")
    if engine.dataflow == "input_oriented":
        limit(tile.taps, TAP_ENTRIES, "a kernel with elements")
    if not engine.resident:
        limit(2 * tile.taps * tile.folds, engine.w_words, "weight words of two groups of output channels")


def check_resident(layers: Sequence[FixedLayer], engine: Engine) -> None:
    """Errors: EngineError naming the layer at which weights or biases pass what the engine holds."""
    weights = biases = 0
    for layer in layers:
        tile = whole(layer.layer, engine)
        weights += tile.groups * tile.taps * tile.folds
        biases += tile.groups
        for value, most, what in ((weights, engine.w_words, "weight words"), (biases, engine.bias_words, "bias words")):
            if value > most:
                raise EngineError(
                    f"{layer.layer.name}: {value:,} {what} up to this layer; engine {engine.name} holds {most:,}"
                )


def _refuse_size(layer: Layer, engine: Engine) -> None:
    *_, finest = cuts(layer, engine, MOST_TILES)
    tile = max(finest, key=lambda tile: tile.source.words + tile.result.words + tile.psum_words)
    held = f"memories of {engine.a_words:,} and {engine.b_words:,} words"
    sums = ""
    if engine.dataflow == "input_oriented":
        held += f" and {engine.psum_words:,} partial sums"
        sums = f" and {tile.psum_words:,} partial sums"
    raise EngineError(
        f"{layer.name}: even a tile of {math.prod(tile.result.sides)} positions needs {tile.source.words:,} words of "
        f"inputs, {tile.result.words:,} of outputs{sums} a bank; engine {engine.name} has {held}"
    )
