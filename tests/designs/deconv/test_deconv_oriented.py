"""The datapath of input_oriented (deconv_tiles, _array, _scatter, _drain) on whole layers, against
`workloads.deconv`: images and volumes, lanes as positions and as channels, slabs, late weights."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from players import pack, unpack
from test_deconv_finish import image

from designs.flow.verilator import simulate
from designs.lib import closure
from workloads.deconv.algorithms import scatter
from workloads.deconv.fixed import activate, round_shift
from workloads.deconv.layer import Activation, Layer

HERE = Path(__file__).parent
FOLDER = Path(__file__).resolve().parents[3] / "designs" / "deconv"
COMPUTE = ("lane", "array", "finish", "rotate", "sums", "scatter")
CONTROL = ("reach", "phases", "issue", "tiles", "walk_sums", "spread", "place", "drain")
SOURCES = [*closure("adder_tree", "delay"), *(FOLDER / f"deconv_{name}.sv" for name in (*COMPUTE, *CONTROL))]
SOURCES.append(HERE / "oriented_dut.sv")
#: Words of the memories of the device under test: the same for all tests of an engine, which share a simulator.
WORDS = {"source": 1024, "weights": 8192, "biases": 64, "taps": 256}
CODES: dict[Activation, int] = {"linear": 0, "clip": 1, "tanh": 2, "sigmoid": 2}


@dataclass(frozen=True)
class Engine:
    bits: int
    acc: int
    tm: int
    tn: int
    tz: int
    tr: int
    tc: int
    drain: int
    psum_words: int
    table: Activation | None = None

    @property
    def sides(self) -> tuple[int, int, int]:
        return self.tz, self.tr, self.tc

    @property
    def lanes(self) -> int:
        return math.prod(self.sides)


@dataclass(frozen=True)
class Part:
    """A layer as it is run: `merged` input and output, depth held and computed, order of the taps."""

    layer: Layer
    merged_in: bool = False
    merged_out: bool = False
    depth_in: tuple[int, int] | None = None
    depth_out: tuple[int, int] | None = None
    lag: int = 0
    shuffle: bool = False


@dataclass
class Images:
    """What the memories of the device under test hold."""

    source: list[np.ndarray] = field(default_factory=list)  # (lanes, tn) a word
    weights: list[int] = field(default_factory=list)
    biases: list[int] = field(default_factory=list)
    taps: list[int] = field(default_factory=list)


def strides(blocks: Sequence[int], words: int) -> tuple[int, int, int]:
    """Words of a bank from a block to the next along z, rows and columns."""
    return blocks[1] * blocks[2] * words, blocks[2] * words, words


def place(engine: Engine, position: Sequence[int], w: int, merged: bool, steps: Sequence[int]) -> tuple[int, int]:
    """(bank, address) of word w of a position."""
    parallel = (1 if merged else engine.tz, engine.tr, engine.tc)
    block = [p // t for p, t in zip(position, parallel, strict=True)]
    lane = [(p + b) % t for p, b, t in zip(position, block, parallel, strict=True)]
    if merged:
        lane[0], w = w % engine.tz, w // engine.tz
    at = sum(b * step for b, step in zip(block, steps, strict=True)) + w
    return (lane[0] * engine.tr + lane[1]) * engine.tc + lane[2], at


def blocks_of_q(sides: Sequence[int], steps: Sequence[int], parallel: Sequence[int]) -> list[int]:
    """Blocks of the outputs of one phase."""
    return [math.ceil(math.ceil(side / step) / t) for side, step, t in zip(sides, steps, parallel, strict=True)]


class Run:
    """One part on one engine: fills the images, gives the registers, and knows what must be written."""

    def __init__(self, engine: Engine, part: Part, images: Images, rng: np.random.Generator) -> None:
        self.engine, self.part, layer = engine, part, part.layer
        self.pad = (1,) * (3 - layer.dimensions)
        full_in, full_out = (*self.pad, *layer.shape), (*self.pad, *layer.shape_out)
        self.depth_in = part.depth_in or (0, full_in[0])
        self.depth_out = part.depth_out or (0, full_out[0])
        self.sides_in = (self.depth_in[1] - self.depth_in[0], *full_in[1:])
        self.sides_out = (self.depth_out[1] - self.depth_out[0], *full_out[1:])
        high = 1 << (engine.bits - 1)
        self.x = rng.integers(-high, high, (*layer.shape, layer.channels_in))
        self.weight = rng.integers(-high, high, layer.weight_shape)
        self.bias = rng.integers(-high * high, high * high, layer.channels_out)
        self.shift = int(rng.integers(0, 2 * engine.bits))
        self.kept_issues = 0
        self.registers = self._registers(images, rng)

    def _registers(self, images: Images, rng: np.random.Generator) -> dict[str, int]:
        e, part, layer = self.engine, self.part, self.part.layer
        k, s, p = layer.kernel, layer.stride, layer.padding
        flat_in = (1 if part.merged_in else e.tz, e.tr, e.tc)
        flat_out = (1 if part.merged_out else e.tz, e.tr, e.tc)
        depth = e.tz if part.merged_in else 1
        self.folds = -(-layer.channels_in // (e.tn * depth))
        words_out = -(-layer.channels_out // e.tn)
        folds_out = -(-words_out // e.tz) if part.merged_out else words_out
        blocks_in = [-(-side // t) for side, t in zip(self.sides_in, flat_in, strict=True)]
        blocks_out = [-(-side // t) for side, t in zip(self.sides_out, flat_out, strict=True)]
        steps_in, self.steps_out = strides(blocks_in, self.folds), strides(blocks_out, folds_out)
        self.strides = (s if layer.dimensions == 3 else 1, s, s)
        q_blocks = blocks_of_q(self.sides_out, self.strides, flat_in)
        assert math.prod(self.strides) * math.prod(q_blocks) <= e.psum_words, "too large for the test's engine"

        # Inputs; what is not one is random.
        base, high = len(images.source), 1 << (e.bits - 1)
        images.source += list(rng.integers(-high, high, (math.prod(blocks_in) * self.folds, e.lanes, e.tn)))
        x = self.x.reshape(*self.pad, *self.x.shape)[self.depth_in[0] : self.depth_in[1]]
        for position in itertools.product(*map(range, self.sides_in)):
            for w in range(-(-layer.channels_in // e.tn)):
                bank, at = place(e, position, w, part.merged_in, steps_in)
                values = x[position][w * e.tn : (w + 1) * e.tn]
                images.source[base + at][bank, : len(values)] = values

        # Taps, then their weights for each group.
        dims = [[divmod(i - p, s) for i in range(k)]] * layer.dimensions
        if layer.dimensions == 2:
            dims = [[(0, 0)], *dims]
        shift_z = self.depth_in[0] - self.depth_out[0] // self.strides[0]
        taps = list(itertools.product(*map(enumerate, dims)))
        if part.shuffle:
            taps = [taps[i] for i in rng.permutation(len(taps))]
        tap_base = len(images.taps)
        for (_, (dz, fz)), (_, (dr, fr)), (_, (dc, fc)) in taps:
            phase = (fz * s + fr) * s + fc
            images.taps.append(phase << 18 | (dz + shift_z) % 64 << 12 | dr % 64 << 6 | dc % 64)
        groups = -(-layer.channels_out // e.tm)
        weight_base, bias_base = len(images.weights), len(images.biases)
        kernel = np.zeros((groups * e.tm, self.folds * depth * e.tn, *(1,) * len(self.pad), *layer.kernel_shape), int)
        kernel[: layer.channels_out, : layer.channels_in] = np.moveaxis(
            self.weight.reshape(layer.channels_in, *self.pad, *layer.kernel_shape, layer.channels_out), -1, 0
        )
        for g in range(groups):
            for (kz, _), (kr, _), (kc, _) in taps:
                for fold in range(self.folds):
                    channels = slice(fold * depth * e.tn, (fold + 1) * depth * e.tn)
                    images.weights.append(pack(kernel[g * e.tm : (g + 1) * e.tm, channels, kz, kr, kc], e.bits))
            bias = np.zeros(e.tm, int)
            real = self.bias[g * e.tm : (g + 1) * e.tm]
            bias[: len(real)] = real
            images.biases.append(pack(bias, e.acc))
        self.groups = groups
        return {
            "src_base": base, "dst_base": int(rng.integers(8)), "groups": groups, "shift": self.shift,
            "merged_in": part.merged_in, "merged_out": part.merged_out, "activation": CODES[layer.activation],
            **dict(zip(("in_z", "in_r", "in_c"), self.sides_in, strict=True)),
            **dict(zip(("in_blocks_z", "in_blocks_r", "in_blocks_c"), blocks_in, strict=True)),
            "in_folds": self.folds,
            **dict(zip(("in_stride_z", "in_stride_r", "in_stride_c"), steps_in, strict=True)),
            **dict(zip(("out_z", "out_r", "out_c"), self.sides_out, strict=True)),
            **dict(zip(("out_stride_z", "out_stride_r", "out_stride_c"), self.steps_out, strict=True)),
            "stride": s, "stride_z": self.strides[0], "taps": len(taps), "tap_base": tap_base,
            **dict(zip(("q_blocks_z", "q_blocks_r", "q_blocks_c"), q_blocks, strict=True)),
            "weight_base": weight_base, "weight_group": len(taps) * self.folds, "bias_base": bias_base,
            "lag": part.lag,
        }  # fmt: skip

    def expected(self) -> dict[tuple[int, int, int], int]:
        """Channel values that must be written, by (bank, address, channel of the word)."""
        e, part, layer = self.engine, self.part, self.part.layer
        sums = scatter(layer, self.x[None], self.weight)[0] + self.bias
        values = activate(round_shift(sums, self.shift), layer.activation, e.bits)
        values = values.reshape(*self.pad, *values.shape)[self.depth_out[0] : self.depth_out[1]]
        found = {}
        for position in itertools.product(*map(range, self.sides_out)):
            for channel in range(layer.channels_out):
                bank, at = place(e, position, channel // e.tn, part.merged_out, self.steps_out)
                key = (bank, at + self.registers["dst_base"], channel % e.tn)
                found[key] = int(values[position][channel])
        return found

    def macs(self, fold: int, group: int, positions: int) -> int:
        """Products with real channels of an issue that concerns so many positions."""
        e, layer = self.engine, self.part.layer
        channels = e.tn * (e.tz if self.part.merged_in else 1)
        valid_in = min(channels, layer.channels_in - fold * channels)
        return positions * valid_in * min(e.tm, layer.channels_out - group * e.tm)


def prove(engine: Engine, parts: Sequence[Part], results: Path, seed: int) -> list[tuple[Run, np.ndarray]]:
    """Run the parts one after another; each with its counts: cycles, issues, stalls for weights and for the drain."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    images = Images()
    runs = [Run(engine, part, images, rng) for part in parts]
    files = {
        "source": [pack(word, engine.bits) for word in images.source],
        "weights": images.weights,
        "biases": images.biases,
        "taps": images.taps,
    }
    results.mkdir(parents=True, exist_ok=True)
    data = []
    parameters: dict[str, int | str] = {
        "BITS": engine.bits, "ACC": engine.acc, "TM": engine.tm, "TN": engine.tn, "TZ": engine.tz, "TR": engine.tr,
        "TC": engine.tc, "DRAIN": engine.drain, "PSUM_WORDS": engine.psum_words, "SOURCE_WORDS": WORDS["source"],
        "WEIGHT_WORDS": WORDS["weights"], "BIAS_WORDS": WORDS["biases"],
    }  # fmt: skip
    for name, words in files.items():
        assert len(words) <= WORDS[name], f"{len(words)} {name}"
        data.append(results / f"{name}.hex")
        data[-1].write_text("".join(f"{word:x}\n" for word in [*words, *[0] * (WORDS[name] - len(words))]))
    if engine.table:
        data.append(results / "table.hex")
        data[-1].write_text(image(engine.table, engine.bits))
        parameters["TABLE"] = '"table.hex"'
    names = list(runs[0].registers)
    vectors = {"names": np.array(names), "registers": np.array([[int(r.registers[n]) for n in names] for r in runs])}
    result = simulate(
        "oriented_dut", SOURCES, HERE / "bench_oriented.py", results=results / "run", parameters=parameters,
        vectors=vectors, seed=seed, data=data,
    )  # fmt: skip
    assert result.passed, result.message
    found: list[dict[tuple[int, int, int], int]] = [{} for _ in runs]
    for (number, bank, address, sub), word in zip(result.payload["writes"], result.payload["words"], strict=True):
        values = unpack(int.from_bytes(word.tobytes(), "little"), engine.bits, engine.tm)
        for m, value in enumerate(values):
            key = (int(bank), int(address), int(sub) * engine.tm + m)
            assert key not in found[number], f"run {number}: {key} is written twice"
            found[number][key] = value
    for number, run in enumerate(runs):
        wanted = run.expected()
        at = f"run {number}: {run.part}, seed {seed}"
        positions = {key[:2] for key in wanted}
        strange = {key for key in found[number] if key[:2] not in positions}
        assert not strange, f"{at}: written where no output is: {sorted(strange)[:5]}"
        wrong = {
            key: (found[number].get(key), value) for key, value in wanted.items() if found[number].get(key) != value
        }
        assert not wrong, f"{at}: {len(wrong)} of {len(wanted)} (got, wanted): {list(wrong.items())[:5]}"
        issues = result.payload["issues"][result.payload["issues"][:, 0] == number]
        kept = sum(run.macs(int(fold), int(group), int(count)) for _, group, fold, _, count in issues)
        useful = sum(run.macs(int(fold), int(group), int(count)) for _, group, fold, count, _ in issues)
        if run.part.depth_in is None and run.part.depth_out is None:
            assert kept == run.part.layer.kept_macs, at
        assert kept <= useful <= run.part.layer.macs, at
    return list(zip(runs, result.payload["cycles"], strict=True))


ENGINES = (
    Engine(8, 24, 2, 4, 1, 2, 2, 1, 64),
    Engine(16, 44, 1, 2, 2, 2, 4, 4, 64, "tanh"),
    Engine(8, 26, 2, 2, 4, 1, 1, 4, 256, "sigmoid"),
    Engine(16, 40, 2, 4, 2, 2, 1, 4, 128),
    Engine(8, 24, 1, 1, 2, 4, 2, 16, 64),
    Engine(8, 24, 2, 2, 1, 1, 1, 1, 512),
)


def draw(engine: Engine, rng: np.random.Generator) -> Part:
    """A random layer that fits the engine, run in a random way."""
    while True:
        merged_in, merged_out = bool(rng.integers(2)) and engine.tz > 1, bool(rng.integers(2)) and engine.tz > 1
        dimensions = 2 if merged_in or merged_out else int(rng.integers(2, 4))
        shape = tuple(int(n) for n in rng.integers(1, 7 if dimensions == 2 else 5, dimensions))
        stride = int(rng.integers(1, 3 if max(engine.tr, engine.tc) > 1 else 4))
        if dimensions == 3 and engine.tz > 1:
            stride = min(stride, 2)
        kernel = int(rng.integers(1, 6 if dimensions == 2 else 5))
        chosen: Activation = ("linear", "clip", engine.table or "linear")[int(rng.integers(3))]
        channels = [int(n) for n in rng.integers(1, 3 * engine.tn * (engine.tz if merged_in else 1) + 1, 2)]
        extra = int(rng.integers(stride))
        try:
            layer = Layer("drawn", shape, channels[0], min(channels[1], 7), kernel, stride, int(rng.integers(0, 3)),
                          extra, chosen)  # fmt: skip
        except ValueError:
            continue
        steps = (stride if dimensions == 3 else 1, stride, stride)
        sides = (*(1,) * (3 - dimensions), *layer.shape_out)
        flat = (1 if merged_in else engine.tz, engine.tr, engine.tc)
        blocks = blocks_of_q(sides, steps, flat)
        if math.prod(steps) * math.prod(blocks) > engine.psum_words or math.prod(sides) > 400:
            continue
        lag = int(rng.choice([0, 0, 5, 300]))
        return Part(layer, merged_in, merged_out, lag=lag, shuffle=bool(rng.integers(2)))


@pytest.mark.parametrize("number", range(len(ENGINES)))
def test_random_layers(tmp_path: Path, number: int) -> None:
    engine = ENGINES[number]
    rng = np.random.default_rng(100 + number)
    # Those that meet every branch come first: upsampled volumes, and images with every kind of lanes.
    volume = Layer("volume", (3, 2, 2), 3, 3, 4, 2, 1, activation="linear")
    square = Layer("image", (3, 3), engine.tn * engine.tz + 1, 2 * engine.tn, 3, 1, 1, activation="clip")
    parts = [Part(volume), Part(square)]
    if engine.tz > 1:
        parts += [Part(square, merged_in=True), Part(square, merged_out=True), Part(square, True, True)]
    prove(engine, [*parts, *(draw(engine, rng) for _ in range(6))], tmp_path, 100 + number)


def test_a_slab_of_a_volume_is_the_volume_s_slab(tmp_path: Path) -> None:
    layer = Layer("volume", (6, 3, 4), 5, 3, 4, 2, 1, activation="linear")
    # Outputs 4 to 8 need inputs 1 to 4.
    part = Part(layer, depth_in=(1, 5), depth_out=(4, 8))
    prove(ENGINES[1], [part, Part(layer, depth_in=(0, 3), depth_out=(0, 4))], tmp_path, 7)


def test_no_cycle_is_lost_between_jobs(tmp_path: Path) -> None:
    engine = ENGINES[0]
    layer = Layer("square", (8, 8), 16, 12, 4, 2, 1, activation="clip")
    ((run, (cycles, issued, weights, drain)),) = prove(engine, [Part(layer)], tmp_path, 8)
    assert issued == run.groups * 16 * 16 * 4, "groups, taps, blocks, folds"
    assert (weights, drain) == (0, 0)
    assert cycles - issued < 350, "the start, and the drain of the last group: 256 outputs"


def test_late_weights_and_a_slow_drain_stall(tmp_path: Path) -> None:
    layer = Layer("square", (4, 4), 4, 8, 2, 2, activation="clip")
    (_, late), (_, slow) = prove(ENGINES[0], [Part(layer, lag=400), Part(layer)], tmp_path, 9)
    assert late[2] > 1000
    assert slow[2] == 0
    assert slow[3] > 100, "64 outputs a group, 16 issues"
