"""deconv_scatter against sums in Python: every turn, the same address in consecutive cycles, one half drained while the
other is added to."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from players import Player, pack, play, unpack

from designs.flow.tools import FlowError
from designs.flow.verilator import build, lint
from designs.lib import closure

FOLDER = Path(__file__).resolve().parents[3] / "designs" / "deconv"
SOURCES = [*closure("delay"), *(FOLDER / f"deconv_{name}.sv" for name in ("rotate", "sums", "scatter"))]
GROUPS = 5

#: ACC, TM, TZ, TR, TC, DRAIN, PSUM_WORDS
SHAPES = (
    (20, 2, 1, 1, 1, 1, 16),
    (24, 1, 1, 2, 4, 2, 20),
    (17, 3, 2, 2, 2, 8, 32),
    (40, 1, 4, 1, 2, 1, 16),
    (22, 2, 4, 4, 1, 4, 64),
)
NAMES = ("ACC", "TM", "TZ", "TR", "TC", "DRAIN", "PSUM_WORDS")


class Shape:
    """Widths that follow from the parameters."""

    def __init__(self, values: tuple[int, ...]) -> None:
        self.acc, self.tm, self.tz, self.tr, self.tc, self.drain, self.words = values
        self.sides = (self.tz, self.tr, self.tc)
        self.lanes = self.tz * self.tr * self.tc
        self.address = (self.words - 1).bit_length()
        self.side_bits = [max(1, side.bit_length() - 1) for side in self.sides]
        self.groups = self.lanes // self.drain
        self.group_bits = max(1, self.groups.bit_length() - 1)
        self.tag_bits = 2 + self.address + 2 * sum(self.side_bits) + sum(self.sides)
        self.stages = sum(side > 1 for side in self.sides)
        inputs = {"q_plane": self.address, "q_row": self.address, "sum_valid": 1, "sum_tag": self.tag_bits}
        inputs |= {"sums": self.lanes * self.tm * self.acc, "drain_enable": 1, "drain_half": 1}
        inputs |= {"drain_address": self.address, "drain_group": self.group_bits}
        outputs = {"drain_data": self.drain * self.tm * self.acc, "full": 2, "ready": 1}
        self.player = Player("deconv_scatter", dict(zip(NAMES, values, strict=True)), inputs, outputs)

    def tag(self, last: int, half: int, address: int, low: list[int], turn: list[int], reached: list[int]) -> int:
        fields = [(last, 1), (half, 1), (address, self.address)]
        fields += [*zip(low, self.side_bits, strict=True), *zip(turn, self.side_bits, strict=True)]
        fields += [*zip(reached, self.sides, strict=True)]
        word = low_bit = 0
        for value, bits in fields:
            word |= value << low_bit
            low_bit += bits
        return word


class Script:
    """Values of each cycle of one instance, and what must come out in which cycle."""

    def __init__(self, shape: Shape, rng: np.random.Generator) -> None:
        self.shape, self.rng = shape, rng
        self.values: dict[str, list[int]] = {name: [] for name in shape.player.inputs}
        self.plane, self.row = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        self.sums = np.zeros((2, shape.lanes, shape.words, shape.tm), object)
        self.drained: dict[int, np.ndarray] = {}
        self.full: dict[int, int] = {}
        self.clear_cycles = shape.words + 6
        for _ in range(self.clear_cycles):
            self.cycle(None, None)
        takes: list[tuple[int, int, int]] = []
        for group in range(GROUPS + 1):
            half = group % 2
            adds = [] if group == GROUPS else [int(n) for n in rng.random(40) < 0.85] + [1]
            # Both at the same time, then as long as either takes.
            for number, (add, take) in enumerate(itertools.zip_longest(adds, takes)):
                self.cycle((half, number == len(adds) - 1) if add else None, take)
            for _ in range(shape.stages + 5):
                self.cycle(None, None)
            takes = [(half, a, g) for a in range(shape.words) for g in range(shape.groups)]
            takes = [takes[i] for i in rng.permutation(len(takes))]

    def cycle(self, add: tuple[int, bool] | None, take: tuple[int, int, int] | None) -> None:
        s, rng, now = self.shape, self.rng, len(self.values["sums"])
        low, turn = ([int(rng.integers(side)) for side in s.sides] for _ in range(2))
        reached = [int(rng.integers(1 << side)) for side in s.sides]
        # Few addresses, so that the same one often comes again at once, and within the next cycles.
        address = int(rng.integers(0, 3))
        sums = rng.integers(-(1 << (s.acc - 1)), 1 << (s.acc - 1), (s.lanes, s.tm)).astype(object)
        half, last = add or (int(rng.integers(2)), False)
        if add:
            self.add(half, address, low, turn, reached, sums)
            if last:
                self.full[now + s.stages + 5] = 1 << half
        if take:
            first = take[2] * s.drain
            self.drained[now + 3] = self.sums[take[0], first : first + s.drain, take[1]].copy()
            self.sums[take[0], first : first + s.drain, take[1]] = 0
        row = (self.plane, self.row, int(add is not None), s.tag(int(last), half, address, low, turn, reached))
        row += (pack(sums, s.acc), int(take is not None), *(take or (int(rng.integers(2)), 0, 0)))
        for name, value in zip(self.values, row, strict=True):
            self.values[name].append(value)

    def add(
        self, half: int, address: int, low: list[int], turn: list[int], reached: list[int], sums: np.ndarray
    ) -> None:
        for lane, place in enumerate(itertools.product(*map(range, self.shape.sides))):
            bank = [(p + by) % side for p, by, side in zip(place, turn, self.shape.sides, strict=True)]
            if not all(mask >> b & 1 for mask, b in zip(reached, bank, strict=True)):
                continue
            number = (bank[0] * self.shape.tr + bank[1]) * self.shape.tc + bank[2]
            steps = (self.plane, self.row, 1)
            at = address + sum(step for b, first, step in zip(bank, low, steps, strict=True) if b < first)
            self.sums[half, number, at] += sums[lane]


def test_scatter_adds_and_drains(tmp_path: Path) -> None:
    seed = 17
    print("seed", seed)
    rng = np.random.default_rng(seed)
    shapes = [Shape(values) for values in SHAPES]
    scripts = [Script(shape, rng) for shape in shapes]
    length = max(len(script.values["sums"]) for script in scripts) + 4
    for script in scripts:
        while len(script.values["sums"]) < length:
            script.cycle(None, None)
    players = [shape.player for shape in shapes]
    seen = play(players, [s.values for s in scripts], sources=SOURCES, results=tmp_path, seed=seed)
    for shape, script, answer in zip(shapes, scripts, seen, strict=True):
        count = shape.drain * shape.tm
        assert len(script.drained) == GROUPS * shape.words * shape.groups
        for cycle, sums in script.drained.items():
            wanted = unpack(pack(sums, shape.acc), shape.acc, count)
            got = unpack(answer["drain_data"][cycle], shape.acc, count)
            assert got == wanted, f"{shape.player.parameters}, cycle {cycle}"
        after = range(script.clear_cycles, length)
        assert {c: answer["full"][c] for c in after if answer["full"][c]} == script.full
        assert answer["ready"][0] == 0
        assert all(answer["ready"][c] for c in after)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"DRAIN": 3}, "DRAIN must be a power of two and at most the lanes"),
        ({"DRAIN": 16}, "DRAIN must be a power of two and at most the lanes"),
        ({"TM": 0}, "PSUM_WORDS and TM must be at least 1"),
        ({"TR": 3, "DRAIN": 1}, "TZ, TR and TC must be powers of two"),
    ],
)
def test_illegal_parameters_stop_elaboration(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(FlowError, match=f"deconv_scatter: {message}"):
        build("deconv_scatter", SOURCES, parameters=parameters)


@pytest.mark.parametrize("values", SHAPES)
def test_the_modules_are_clean(values: tuple[int, ...]) -> None:
    lint("deconv_scatter", SOURCES, parameters=Shape(values).player.parameters)
