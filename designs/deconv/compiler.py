"""From a network in integers and an engine to the command stream, the memories' contents, and what the streams carry.

    program = compile_network(parameters.fixed("digits", 8), preset("reverse_loop", "ulx3s_digits"))
    program.commands                 32-bit words, see designs.deconv.commands; the engine repeats them for every item
    program.pack(item)               beats of the input stream
    program.unpack(beats)            outputs

Commands are written in order of need; WAITs are put in where a command would read or write what another unit is still
at work on, also across the end of the program, which repeats.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from designs.deconv import commands
from designs.deconv.commands import Action, Register, Unit, word
from designs.deconv.compiler_images import beats, bias_words, table_words, tensor_of, weight_words
from designs.deconv.compiler_plan import OUTSIDE, Step, check_resident, plan, stream_beats
from designs.deconv.compiler_tiles import Layout, Span, Tile, merged, whole
from designs.deconv.config import Engine, EngineError
from workloads.deconv.fixed import FixedLayer, Integers
from workloads.deconv.layer import Activation, Layer
from workloads.deconv.network import FixedNetwork, split

#: What an operation does to memory: memory, first word, word after the last, whether it writes.
Access = tuple[int, int, int, bool]


@dataclass(frozen=True)
class Transfer:
    """A LOAD or STORE: a box of the input (`incoming`) or of the output of layer number `layer`."""

    layer: int
    incoming: bool
    tile: Tile
    memory: int
    base: int

    @property
    def box(self) -> tuple[slice, slice, slice]:
        """Its positions in the whole tensor."""
        if self.incoming:
            starts = [(span.first, span.inputs) for span in self.tile.spans]
        else:
            starts = [(span.first_out, span.outputs) for span in self.tile.spans]
        z, r, c = (slice(first, first + count) for first, count in starts)
        return z, r, c

    @property
    def layout(self) -> Layout:
        """How it lies in memory."""
        return self.tile.source if self.incoming else self.tile.result

    @property
    def beats(self) -> int:
        """Beats of the stream."""
        return stream_beats(self.layout, self.tile.engine)


@dataclass(frozen=True)
class Run:
    """A RUN of a tile of layer number `layer`."""

    layer: int
    tile: Tile
    memory: int
    source: int
    result: int


Operation = Transfer | Run


@dataclass(frozen=True)
class Program:
    """What the engine needs for a network.

    `weights` are the words (groups, taps, folds, numbers) and `biases` (groups, TM) of each layer. `table` are the
    activation table's entries, empty where none is used. `operations` are in the order of the program.
    """

    engine: Engine
    network: FixedNetwork
    steps: tuple[Step, ...]
    operations: tuple[Operation, ...]
    commands: NDArray[np.uint32]
    weights: tuple[Integers, ...]
    biases: tuple[Integers, ...]
    table: Integers

    @property
    def runs(self) -> tuple[Run, ...]:
        """RUNs in order."""
        return tuple(op for op in self.operations if isinstance(op, Run))

    @property
    def loads(self) -> tuple[Transfer, ...]:
        """LOADs in order."""
        return tuple(op for op in self.operations if isinstance(op, Transfer) and op.incoming)

    @property
    def stores(self) -> tuple[Transfer, ...]:
        """STOREs in order."""
        return tuple(op for op in self.operations if isinstance(op, Transfer) and not op.incoming)

    def pack(self, item: Integers) -> Integers:
        """Beats (n, io * wide) that the input stream carries for an item, in the shape of the network's input.

        What a layer between reads back is what the oracle says that was stored; the stores are compared with the same.
        """
        incoming, _ = self.tensors(item)
        return np.concatenate([beats(incoming[op.layer][op.box], self.engine) for op in self.loads])

    def expect(self, item: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """Beats of the output stream for an item by the oracle, and which numbers in them matter."""
        _, outgoing = self.tensors(item)
        parts = [outgoing[op.layer][op.box] for op in self.stores]
        values = np.concatenate([beats(part, self.engine) for part in parts])
        matters = np.concatenate([beats(np.ones_like(part), self.engine) for part in parts])
        return values, matters.astype(bool)

    def unpack(self, words: Integers) -> Integers:
        """The answer out of the beats of an item, in the shape of the network's output."""
        results: dict[int, Integers] = {}
        position = 0
        for op in self.stores:
            layer = self.network.layers[op.layer].layer
            if op.layer not in results:
                results[op.layer] = np.zeros((*_sides(layer.shape_out), layer.channels_out), np.int64)
            sides = op.layout.sides
            shape = (sides[0], sides[1], sides[2], layer.channels_out)
            results[op.layer][op.box] = tensor_of(words[position : position + op.beats], shape, self.engine)
            position += op.beats
        layers = [layer.layer for layer in self.network.layers]
        if self.network.chained:
            last = layers[-1]
            return results[len(layers) - 1].reshape(*last.shape_out, last.channels_out)
        return np.concatenate([results[number].reshape(-1) for number in range(len(layers))])

    def tensors(self, item: Integers) -> tuple[list[Integers], list[Integers]]:
        """Input and output (z, rows, columns, channels) of each layer by the oracle."""
        layers = self.network.layers
        incoming, outgoing = [], []
        parts = list(split(tuple(layer.layer for layer in layers), item)) if not self.network.chained else []
        x = item
        for number, layer in enumerate(layers):
            x = x if self.network.chained else parts[number]
            y = layer(x[None])[0]
            incoming.append(x.reshape(*_sides(layer.layer.shape), -1))
            outgoing.append(y.reshape(*_sides(layer.layer.shape_out), -1))
            x = y
        return incoming, outgoing


def compile_network(network: FixedNetwork, engine: Engine) -> Program:
    """Compile a network for an engine. Errors: EngineError naming the layer, the value and the limit."""
    activation = _table_of([layer.layer for layer in network.layers])
    steps = plan(network.layers, network.chained, engine)
    if engine.resident:
        check_resident(network.layers, engine)
    operations = tuple(_operations(steps, engine))
    emitter = _Emitter(network.layers, engine)
    # The program repeats: what is still at work at its end is so at its beginning.
    emitter.emit(operations)
    text = emitter.emit(operations)
    orders = [order_of(tile.spans, engine) for tile in (step.tiles[0] for step in steps)]
    weights = [
        weight_words(layer, step.tiles[0], order)
        for layer, step, order in zip(network.layers, steps, orders, strict=True)
    ]
    biases = [bias_words(layer, step.tiles[0]) for layer, step in zip(network.layers, steps, strict=True)]
    table = table_words(activation, engine.bits) if activation else np.zeros((0, 1), np.int64)
    return Program(engine, network, steps, operations, np.array(text, np.uint32), tuple(weights), tuple(biases), table)


def _table_of(layers: Sequence[Layer]) -> Activation | None:
    found = [layer for layer in layers if layer.activation in ("tanh", "sigmoid")]
    for layer in found:
        if layer.activation != found[0].activation:
            raise EngineError(
                f"{layer.name}: {layer.activation}, but {found[0].name} has {found[0].activation}; an engine has one"
            )
    return found[0].activation if found else None


def _sides(shape: Sequence[int]) -> tuple[int, int, int]:
    z, r, c = (1,) * (3 - len(shape)) + tuple(shape)
    return z, r, c


def order_of(spans: Sequence[Span], engine: Engine) -> list[int]:
    """The kernel's elements in raster order, as the weights of a layer follow each other.

    reverse_loop: as they are. input_oriented: phases vary fastest, so that sums at one address are far apart in time.
    """
    kernels = [span.dimension.taps for span in spans]
    taps = list(itertools.product(*kernels))
    if engine.dataflow == "reverse_loop":
        return list(range(len(taps)))
    rank: dict[tuple[int, ...], int] = {}
    keys = []
    for number, tap in enumerate(taps):
        phase = tuple(f for _, f in tap)
        keys.append((rank.get(phase, 0), phase, number))
        rank[phase] = rank.get(phase, 0) + 1
    return [number for _, _, number in sorted(keys)]


def tap_values(tile: Tile) -> list[int]:
    """Entries of the tap table of a tile, in the order of `order_of`."""
    taps = list(itertools.product(*(span.dimension.taps for span in tile.spans)))
    stride = tile.spans[2].dimension.stride
    values = []
    for number in order_of(tile.spans, tile.engine):
        (dz, fz), (dr, fr), (dc, fc) = taps[number]
        shifts = (d + span.shift for d, span in zip((dz, dr, dc), tile.spans, strict=True))
        values.append(commands.tap((fz * stride + fr) * stride + fc, *shifts))
    return values


def _operations(steps: Sequence[Step], engine: Engine) -> Iterator[Operation]:
    """All operations in order. The next tile is loaded before this one is stored, so that streams and array overlap.

    A tensor that comes from outside or goes there lies at the end of its memory, others at its beginning: so an output
    is still stored while the next item begins.
    """
    words = (engine.a_words, engine.b_words)
    # Where the next item's input will lie while the last output is stored.
    entry = (steps[0].memory, steps[0].tiles[0].source.words if len(steps[0].tiles) == 1 else 0)
    for number, step in enumerate(steps):
        load, store = step.source == OUTSIDE, step.target == OUTSIDE
        runs = []
        for index, tile in enumerate(step.tiles):
            bases = []
            for memory, layout, outside in (
                (step.memory, tile.source, load),
                (1 - step.memory, tile.result, store),
            ):
                region = index % 2 if step.regions == 2 else 0
                size = words[memory] // step.regions
                free = (region + 1) * size - layout.words
                if outside and number and step.regions == 1 and memory == entry[0]:
                    free = max(0, free - entry[1])
                bases.append(free if outside else 0)
            runs.append(Run(number, tile, step.memory, *bases))
        transfers = [Transfer(number, True, run.tile, run.memory, run.source) for run in runs]
        if load:
            yield transfers[0]
        for index, run in enumerate(runs):
            yield run
            ahead = load and step.regions == 2
            if ahead and index + 1 < len(runs):
                yield transfers[index + 1]
            if store:
                yield Transfer(number, False, run.tile, 1 - run.memory, run.result)
            if load and not ahead and index + 1 < len(runs):
                yield transfers[index + 1]


class _Emitter:
    """Writes commands, and knows what each unit may still be at work on."""

    def __init__(self, layers: Sequence[FixedLayer], engine: Engine) -> None:
        self.layers, self.engine = layers, engine
        self.busy: dict[Unit, list[Access]] = {}
        self.table: list[int] = []  # tap table as written in this pass
        self.taps_in_use = range(0)
        self.text: list[int] = []
        self.registers: dict[Register, int] = {}

    def emit(self, operations: Sequence[Operation]) -> list[int]:
        """The commands of one pass through the program."""
        self.text, self.registers, self.table = [], {}, []
        stored: set[int] = set()
        for op in operations:
            if isinstance(op, Run):
                self._run(op)
            elif op.incoming:
                # What was stored by the layer before has to be outside.
                if op.layer and op.layer - 1 in stored:
                    self._wait([Unit.STORE])
                    stored.discard(op.layer - 1)
                self._transfer(op)
            else:
                self._transfer(op)
                stored.add(op.layer)
        self.text.append(word(Action.END))
        return self.text

    def _set(self, **values: int) -> None:
        for name, value in values.items():
            register = Register[name.upper()]
            if self.registers.get(register) != value:
                self.registers[register] = value
                self.text.append(word(register, value))

    def _wait(self, units: Sequence[Unit]) -> None:
        mask = sum(unit for unit in units if unit in self.busy)
        if mask:
            self.text.append(word(Action.WAIT, mask))
        for unit in units:
            self.busy.pop(unit, None)

    def _start(self, unit: Unit, action: Action, accesses: list[Access]) -> None:
        others = [other for other, theirs in self.busy.items() if other != unit and _conflict(accesses, theirs)]
        self._wait(others)
        self.text.append(word(action))
        self.busy[unit] = accesses

    def _transfer(self, op: Transfer) -> None:
        layout = op.layout
        z, r, c = layout.sides
        self._set(
            io_mem=op.memory, io_base=op.base, io_z=z, io_r=r, io_c=c, io_words=layout.io_words,
            io_stride_z=layout.plane, io_stride_r=layout.row, io_stride_c=layout.position,
            io_merged=int(merged(op.tile.layer, self.engine)),
        )  # fmt: skip
        area = (op.memory, op.base, op.base + layout.words)
        if op.incoming:
            self._start(Unit.LOAD, Action.LOAD, [(*area, True)])
        else:
            last = op.layer == len(self.layers) - 1 and op.tile.spans == self._last_spans(op)
            self._set(io_last=int(last))
            self._start(Unit.STORE, Action.STORE, [(*area, False)])

    @staticmethod
    def _last_spans(op: Transfer) -> tuple[object, ...] | None:
        done = all(span.q_last == span.dimension.side_q for span in op.tile.spans)
        return op.tile.spans if done else None

    def _run(self, op: Run) -> None:
        tile, layer, engine = op.tile, self.layers[op.layer], self.engine
        source, result = tile.source, tile.result
        (in_z, in_r, in_c), (out_z, out_r, out_c) = source.sides, result.sides
        is_merged = merged(tile.layer, engine)
        activation = {"linear": commands.ACTIVATION_LINEAR, "clip": commands.ACTIVATION_CLIP}.get(
            tile.layer.activation, commands.ACTIVATION_TABLE
        )
        weight_base = bias_base = 0
        if engine.resident:
            before = [self._words(number) for number in range(op.layer)]
            weight_base, bias_base = sum(w for w, _ in before), sum(b for _, b in before)
        self._set(
            src=op.memory, src_base=op.source, in_z=in_z, in_r=in_r, in_c=in_c,
            in_blocks_z=source.blocks[0], in_blocks_r=source.blocks[1], in_blocks_c=source.blocks[2],
            in_folds=tile.folds, in_stride_z=source.plane, in_stride_r=source.row, in_stride_c=source.position,
            channels_in=tile.layer.channels_in, channels_out=tile.layer.channels_out, groups=tile.groups,
            dst_base=op.result, out_z=out_z, out_r=out_r, out_c=out_c, out_stride_z=result.plane,
            out_stride_r=result.row, out_stride_c=result.position,
            mode=commands.mode(merged_in=is_merged, merged_out=is_merged, activation=activation),
            stride=tile.spans[2].dimension.stride, stride_z=tile.spans[0].dimension.stride, shift=layer.fraction,
            weight_base=weight_base, weight_group=tile.taps * tile.folds, bias_base=bias_base,
        )  # fmt: skip
        if engine.dataflow == "reverse_loop":
            self._reverse(tile)
        else:
            self._oriented(tile)
        self._start(
            Unit.RUN,
            Action.RUN,
            [
                (op.memory, op.source, op.source + source.words, False),
                (1 - op.memory, op.result, op.result + result.words, True),
            ],
        )

    def _words(self, number: int) -> tuple[int, int]:
        tile = whole(self.layers[number].layer, self.engine)
        return tile.groups * tile.taps * tile.folds, tile.groups

    def _reverse(self, tile: Tile) -> None:
        kernel = [span.dimension.kernel for span in tile.spans]
        steps = [kernel[1] * kernel[2] * tile.folds, kernel[2] * tile.folds, tile.folds]
        for name, span, step in zip("zrc", tile.spans, steps, strict=True):
            d = span.dimension
            e = span.first_out + d.padding - d.stride * span.first
            high, low = commands.starts(e, d.stride, d.kernel, span.inputs)
            self._set(
                **{
                    f"k_stride_{name}": step,
                    f"k_step_{name}": d.stride * step,
                    f"start_high_{name}": high,
                    f"start_low_{name}": low,
                }
            )

    def _oriented(self, tile: Tile) -> None:
        values = tap_values(tile)
        base = self._find(values)
        if base is None:
            base = len(self.table) if len(self.table) + len(values) <= commands.TAP_ENTRIES else 0
            place = range(base, base + len(values))
            if Unit.RUN in self.busy and set(place) & set(self.taps_in_use):
                self._wait([Unit.RUN])
            self.table[base:] = values if base else [*values, *self.table[len(values) :]]
            self._set(tap_index=base)
            self.text += [word(Action.TAP, value) for value in values]
            del self.registers[Register.TAP_INDEX]  # it counts
        self.taps_in_use = range(base, base + len(values))
        z, r, c = (span.q_blocks for span in tile.spans)
        self._set(taps=len(values), tap_base=base, q_blocks_z=z, q_blocks_r=r, q_blocks_c=c)

    def _find(self, values: list[int]) -> int | None:
        found = (at for at in range(len(self.table) - len(values) + 1) if self.table[at : at + len(values)] == values)
        return next(found, None)


def _conflict(one: Sequence[Access], other: Sequence[Access]) -> bool:
    """Whether two units touch the same words, one of them writing. A port in use by a RUN is waited for by hardware."""
    return any(
        a[0] == b[0] and (a[3] or b[3]) and a[1] < b[2] and b[1] < a[2] for a, b in itertools.product(one, other)
    )
