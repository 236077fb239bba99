"""Layers cut into tiles: which outputs a RUN computes, which inputs it needs, and how many cycles that takes.

Every layer has three dimensions here; an image has a depth of 1, with a kernel of 1. Outputs are counted in *q*: output
o = stride q + phase, and input i reaches q = i + d with each tap (d, phase). A tile is a box in q, its inputs a box of
the input that starts at a position of 0 of its own; taps shift by the difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

from designs.deconv.config import Engine
from workloads.deconv.layer import Layer

#: Cycles that a RUN takes to begin and end, about.
START = 50


@dataclass(frozen=True)
class Dimension:
    """One dimension of a layer; `parallel` positions are in lanes of their own."""

    side: int
    side_out: int
    kernel: int
    stride: int
    padding: int
    parallel: int

    @property
    def taps(self) -> tuple[tuple[int, int], ...]:
        """(d, phase) of each kernel element."""
        return tuple(divmod(k - self.padding, self.stride) for k in range(self.kernel))

    @property
    def side_q(self) -> int:
        """Outputs of a phase, at most."""
        return -(-self.side_out // self.stride)

    @property
    def whole(self) -> Span:
        """All of it."""
        return Span(self, 0, self.side_q, 0, self.side)

    @lru_cache(maxsize=4096)  # noqa: B019 - few and small
    def span(self, q_first: int, q_last: int) -> Span:
        """The outputs from q_first on and before q_last, with the inputs that they need.

        Inputs start where fewest issues come out: with those that reach only a few of the outputs in a block of lanes
        of their own, if it pays.
        """
        low, high = self.stride * q_first, min(self.stride * q_last, self.side_out)
        reach = [
            i for i in range(self.side) for d, f in self.taps if low <= self.stride * (i + d) + f < high
        ] or [min(q_first, self.side - 1)]  # fmt: skip
        # reverse_loop wants the first input to be no later than the one that meets the first output's kernel element 0.
        first, last = min(*reach, (low + self.padding) // self.stride), max(reach) + 1
        starts = range(first, max(-1, first - self.parallel), -1)
        return min((Span(self, q_first, q_last, s, last - s) for s in starts), key=lambda span: span.issues)


@dataclass(frozen=True)
class Span:
    """A tile in one dimension: outputs in q from `q_first` to before `q_last`; `inputs` positions from `first` on."""

    dimension: Dimension
    q_first: int
    q_last: int
    first: int
    inputs: int

    @property
    def first_out(self) -> int:
        """First output position."""
        return self.dimension.stride * self.q_first

    @property
    def outputs(self) -> int:
        """Output positions."""
        return min(self.dimension.stride * self.q_last, self.dimension.side_out) - self.first_out

    @property
    def blocks(self) -> int:
        """Blocks of input positions in parallel."""
        return -(-self.inputs // self.dimension.parallel)

    @property
    def q_blocks(self) -> int:
        """Blocks of outputs of a phase."""
        return -(-(self.q_last - self.q_first) // self.dimension.parallel)

    @property
    def shift(self) -> int:
        """What is added to d of the taps."""
        return self.first - self.q_first

    def _reach(self, block: int) -> Iterator[tuple[int, int]]:
        """Of each tap: inputs of a block that there are, and those of them that reach an output."""
        inputs = range(block * self.dimension.parallel, min((block + 1) * self.dimension.parallel, self.inputs))
        for d, f in self.dimension.taps:
            yield len(inputs), sum(0 <= self.dimension.stride * (i + d + self.shift) + f < self.outputs for i in inputs)

    @cached_property
    def _sums(self) -> tuple[int, int, int]:
        pairs = [pair for block in range(self.blocks) for pair in self._reach(block) if pair[1]]
        return len(pairs), sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)

    @property
    def issues(self) -> int:
        """Pairs of a block and a tap of which at least one input reaches an output."""
        return self._sums[0]

    @property
    def useful(self) -> int:
        """Pairs of an input and a tap in these issues."""
        return self._sums[1]

    @property
    def kept(self) -> int:
        """Pairs of an input and a tap that reach an output."""
        return self._sums[2]

    @cached_property
    def empty(self) -> int:
        """Outputs that nothing reaches."""
        reached = {
            self.dimension.stride * (i + d + self.shift) + f for i in range(self.inputs) for d, f in self.dimension.taps
        }
        return sum(o not in reached for o in range(self.outputs))


@dataclass(frozen=True)
class Layout:
    """How a tensor of `sides` and `channels` lies in the banks; see `layout`. `words` a bank holds of it."""

    sides: tuple[int, int, int]
    channels: int
    blocks: tuple[int, int, int]
    position: int
    io_words: int

    @property
    def row(self) -> int:
        """Words of a row of blocks."""
        return self.blocks[2] * self.position

    @property
    def plane(self) -> int:
        """Words of a plane of blocks."""
        return self.blocks[1] * self.row

    @property
    def words(self) -> int:
        """Words of all."""
        return self.blocks[0] * self.plane


def merged(layer: Layer, engine: Engine) -> bool:
    """Whether the z lanes take channels of one position."""
    return layer.dimensions == 2 and engine.tz > 1


def lanes(engine: Engine, is_merged: bool) -> tuple[int, int, int]:
    """Positions in parallel in each dimension."""
    return (1 if is_merged else engine.tz, engine.tr, engine.tc)


def layout(sides: tuple[int, int, int], channels: int, engine: Engine, is_merged: bool) -> Layout:
    """The layout of a tensor: blocks of positions in parallel, words of `engine.wide` channels."""
    blocks = tuple(-(-side // count) for side, count in zip(sides, lanes(engine, is_merged), strict=True))
    words = -(-channels // engine.wide)
    position = -(-words // engine.tz) if is_merged else words
    return Layout(sides, channels, (blocks[0], blocks[1], blocks[2]), position, words)


def dimensions(layer: Layer, engine: Engine) -> tuple[Dimension, Dimension, Dimension]:
    """The three dimensions of a layer."""
    parallel = lanes(engine, merged(layer, engine))
    kernel = (layer.kernel, layer.stride, layer.padding)
    found = [
        Dimension(side, out, *kernel, count)
        for side, out, count in zip(layer.shape, layer.shape_out, parallel[3 - layer.dimensions :], strict=True)
    ]
    if layer.dimensions == 2:
        found.insert(0, Dimension(1, 1, 1, 1, 0, parallel[0]))
    return found[0], found[1], found[2]


@dataclass(frozen=True)
class Tile:
    """A box of the outputs of a layer, on an engine."""

    layer: Layer
    engine: Engine
    spans: tuple[Span, Span, Span]

    @cached_property
    def source(self) -> Layout:
        """Layout of its inputs."""
        z, r, c = self.spans
        sides = (z.inputs, r.inputs, c.inputs)
        return layout(sides, self.layer.channels_in, self.engine, merged(self.layer, self.engine))

    @cached_property
    def result(self) -> Layout:
        """Layout of its outputs."""
        z, r, c = self.spans
        sides = (z.outputs, r.outputs, c.outputs)
        return layout(sides, self.layer.channels_out, self.engine, merged(self.layer, self.engine))

    @property
    def folds(self) -> int:
        """Folds of the input channels."""
        taken = self.engine.tn * (self.engine.tz if merged(self.layer, self.engine) else 1)
        return -(-self.layer.channels_in // taken)

    @property
    def groups(self) -> int:
        """Groups of output channels."""
        return -(-self.layer.channels_out // self.engine.tm)

    @property
    def taps(self) -> int:
        """Taps of the kernel."""
        return math.prod(span.dimension.kernel for span in self.spans)

    @property
    def phases(self) -> int:
        """Phases of the outputs."""
        return math.prod(span.dimension.stride for span in self.spans)

    @property
    def psum_words(self) -> int:
        """Partial sums in a bank."""
        return self.phases * math.prod(span.q_blocks for span in self.spans)

    @property
    def empty(self) -> int:
        """Outputs that no input reaches; the bias is all that they get."""
        outputs = [span.outputs for span in self.spans]
        return math.prod(outputs) - math.prod(n - span.empty for n, span in zip(outputs, self.spans, strict=True))

    @property
    def issues(self) -> int:
        """Cycles in which the array works, without waits."""
        if self.engine.dataflow == "reverse_loop":
            return self.groups * (self.folds * math.prod(span.kept for span in self.spans) + self.empty)
        return self.groups * self.folds * math.prod(span.issues for span in self.spans)

    @property
    def cycles(self) -> int:
        """Estimate of the cycles, with waits for the drain, and for the weights and the drain at the ends."""
        ends = START + (0 if self.engine.resident else self.taps * self.folds)
        if self.engine.dataflow == "reverse_loop":
            return self.issues + ends
        drain = self.phases * math.prod(s.q_blocks * s.dimension.parallel for s in self.spans) // self.engine.drain
        return max(self.issues, self.groups * drain) + drain + ends

    @property
    def products(self) -> tuple[int, int]:
        """(useful, kept): products of real inputs and channels, and those whose sum goes to an output."""
        pairs = self.layer.channels_in * self.layer.channels_out
        kept = pairs * math.prod(span.kept for span in self.spans)
        if self.engine.dataflow == "reverse_loop":
            return kept, kept
        return pairs * math.prod(span.useful for span in self.spans), kept


def whole(layer: Layer, engine: Engine) -> Tile:
    """The tile that is all of a layer."""
    z, r, c = (dimension.whole for dimension in dimensions(layer, engine))
    return Tile(layer, engine, (z, r, c))


def cuts(layer: Layer, engine: Engine, most: int) -> Iterator[tuple[Tile, ...]]:
    """All ways to cut a layer into at most `most` about equal boxes, by halves in each dimension, the fewest first."""
    sides = dimensions(layer, engine)
    choices = []
    for dimension in sides:
        lengths, length = [], dimension.side_q
        while length not in lengths:
            lengths.append(length)
            length = max(1, -(-length // 2 // dimension.parallel)) * dimension.parallel
            length = min(length, dimension.side_q)
        choices.append(sorted(set(lengths), reverse=True))

    def boxes(lengths: tuple[int, ...]) -> int:
        return math.prod(-(-d.side_q // n) for d, n in zip(sides, lengths, strict=True))

    for chosen in sorted(product(*choices), key=boxes):
        if boxes(chosen) > most:
            return
        spans = [
            [d.span(q, min(q + n, d.side_q)) for q in range(0, d.side_q, n)] for d, n in zip(sides, chosen, strict=True)
        ]
        yield tuple(Tile(layer, engine, (z, r, c)) for z in spans[0] for r in spans[1] for c in spans[2])
