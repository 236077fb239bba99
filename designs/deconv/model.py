"""The engine in numpy, command by command and bank by bank: it proves a program without knowing how it was compiled.

    outputs = Model(engine, weights, biases, table).run(commands, beats)

It does what the RTL does with addresses, banks, lanes, rotation of sums and folds, but not in how many cycles: units
work one after another in the order of their commands. Words that were never written are poison, so that reading them
is found out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from designs.deconv.commands import ACTIVATION_CLIP, ACTIVATION_TABLE, TAP_ENTRIES, VALUE_BITS, Action, Register, Unit
from designs.deconv.config import Engine
from workloads.deconv.fixed import TABLE_ENTRIES, Integers, round_shift, saturate

#: What memory holds before it is written.
POISON = -(1 << 40)


class ModelError(RuntimeError):
    """A program that does what the engine cannot."""


@dataclass
class Counters:
    """What the engine counts: issues of the array, products of real inputs and channels, those kept, weight words."""

    issues: int = 0
    useful: int = 0
    kept: int = 0
    weights: int = 0


@dataclass
class Model:
    """One engine. `weights` (words, numbers) and `biases` (words, TM) resident, or in the order of the weight stream.

    `table` (1024, 1 or 2) as of `compiler_images.table_words`.
    """

    engine: Engine
    weights: Integers
    biases: Integers
    table: Integers
    counters: list[Counters] = field(default_factory=list)

    def __post_init__(self) -> None:
        words = (self.engine.a_words, self.engine.b_words)
        self.memory = [np.full((self.engine.lanes, n, self.engine.wide), POISON, np.int64) for n in words]
        self.taps: list[int] = [0] * TAP_ENTRIES

    def run(self, commands: Sequence[int] | NDArray[np.uint32], beats: Integers) -> Integers:
        """Do a program once: beats (n, io * wide) in, all of which are used up, to beats out.

        Errors: ModelError for an access outside of a memory or to what was never written.
        """
        registers = dict.fromkeys(Register, 0)
        self.beats, self.position = beats, 0
        self.out: list[Integers] = []
        self.weight_at = self.bias_at = 0
        for command in commands:
            code, value = int(command) >> VALUE_BITS, int(command) & ((1 << VALUE_BITS) - 1)
            if code in Register._value2member_map_:
                registers[Register(code)] = value
            elif code == Action.TAP:
                self.taps[registers[Register.TAP_INDEX]] = value
                registers[Register.TAP_INDEX] = (registers[Register.TAP_INDEX] + 1) % TAP_ENTRIES
            elif code == Action.LOAD:
                self._load(registers)
            elif code == Action.STORE:
                self._store(registers)
            elif code == Action.RUN:
                self._run(registers)
            elif code == Action.WAIT and not 0 < value <= sum(Unit):
                raise ModelError(f"WAIT of {value}")
        if self.position != len(beats):
            raise ModelError(f"{self.position} of {len(beats)} beats were taken")
        return np.array(self.out)

    def _places(self, r: dict[Register, int]) -> Iterator[tuple[list[tuple[int, int] | None]]]:
        """(bank, address) of the words of each beat of a LOAD or STORE; None for columns that are not there."""
        e = self.engine
        is_merged, base = r[Register.IO_MERGED], r[Register.IO_BASE]
        for z, row, first in itertools.product(
            range(r[Register.IO_Z]), range(r[Register.IO_R]), range(0, r[Register.IO_C], e.io)
        ):
            for w in range(r[Register.IO_WORDS]):
                places: list[tuple[int, int] | None] = []
                for column in range(first, first + e.io):
                    if column >= r[Register.IO_C]:
                        places.append(None)
                        continue
                    strides = (r[Register.IO_STRIDE_Z], r[Register.IO_STRIDE_R], r[Register.IO_STRIDE_C])
                    places.append(self._place((z, row, column), w, base, strides, is_merged))
                yield (places,)

    def _place(
        self,
        position: tuple[int, int, int],
        w: int,
        base: int,
        strides: tuple[int, int, int],
        is_merged: int,
    ) -> tuple[int, int]:
        e = self.engine
        z, row, column = position
        bz, br, bc = z if is_merged else z // e.tz, row // e.tr, column // e.tc
        lane_r, lane_c = (row + br) % e.tr, (column + bc) % e.tc
        lane_z, fold = (w % e.tz, w // e.tz) if is_merged else ((z + bz) % e.tz, w)
        address = base + bz * strides[0] + br * strides[1] + bc * strides[2] + fold
        return (lane_z * e.tr + lane_r) * e.tc + lane_c, address

    def _load(self, r: dict[Register, int]) -> None:
        memory = self.memory[r[Register.IO_MEM]]
        for (places,) in self._places(r):
            if self.position >= len(self.beats):
                raise ModelError("a LOAD of more beats than there are")
            words = self.beats[self.position].reshape(self.engine.io, -1)
            self.position += 1
            for place, values in zip(places, words, strict=True):
                if place:
                    self._check(memory, place[1])
                    memory[place] = values

    def _store(self, r: dict[Register, int]) -> None:
        memory = self.memory[r[Register.IO_MEM]]
        for (places,) in self._places(r):
            zero = np.zeros(self.engine.wide, np.int64)
            for place in places:
                if place:
                    self._check(memory, place[1])
            self.out.append(np.concatenate([memory[place] if place else zero for place in places]))

    def _check(self, memory: Integers, address: int) -> None:
        if not 0 <= address < memory.shape[1]:
            raise ModelError(f"address {address} of a bank of {memory.shape[1]} words")

    def _run(self, r: dict[Register, int]) -> None:
        self.counters.append(Counters())
        weight_base, bias_base = r[Register.WEIGHT_BASE], r[Register.BIAS_BASE]
        if not self.engine.resident:
            weight_base, bias_base = self.weight_at, self.bias_at
            self.weight_at += r[Register.GROUPS] * r[Register.WEIGHT_GROUP]
            self.bias_at += r[Register.GROUPS]
        for group in range(r[Register.GROUPS]):
            weight = weight_base + group * r[Register.WEIGHT_GROUP]
            bias = self.biases[bias_base + group]
            self.counters[-1].weights += r[Register.WEIGHT_GROUP]
            if self.engine.dataflow == "reverse_loop":
                self._reverse(r, group, weight, bias)
            else:
                self._oriented(r, group, weight, bias)

    def _reverse(self, r: dict[Register, int], group: int, weight: int, bias: Integers) -> None:
        e, source = self.engine, self.memory[r[Register.SRC]]
        strides = [r[Register.IN_STRIDE_Z], r[Register.IN_STRIDE_R], r[Register.IN_STRIDE_C]]
        ranges = [self._ranges(r, name) for name in "ZRC"]
        steps = [r[Register[f"K_STRIDE_{name}"]] for name in "ZRC"]
        valid_out = min(e.tm, r[Register.CHANNELS_OUT] - group * e.tm)
        per_word = e.wide // e.tn
        for position in itertools.product(*(range(len(each)) for each in ranges)):
            total = bias.copy()
            for inputs in itertools.product(*(each[o] for each, o in zip(ranges, position, strict=True))):
                tap = weight + sum(k * step for (_, k), step in zip(inputs, steps, strict=True))
                at = r[Register.SRC_BASE] + sum(i * step for (i, _), step in zip(inputs, strides, strict=True))
                for fold in range(r[Register.IN_FOLDS]):
                    part = fold % per_word
                    x = self._read(source[0], at + fold // per_word)[part * e.tn : (part + 1) * e.tn]
                    w = self.weights[tap + fold].reshape(e.tm, e.tn)
                    valid_in = max(0, min(e.tn, r[Register.CHANNELS_IN] - fold * e.tn))
                    total += w[:, :valid_in] @ self._real(x[:valid_in])
                    self.counters[-1].issues += 1
                    self.counters[-1].useful += valid_in * valid_out
                    self.counters[-1].kept += valid_in * valid_out
            self._write(r, group, position, self._finish(r, total))

    def _ranges(self, r: dict[Register, int], name: str) -> list[list[tuple[int, int]]]:
        """Pairs (input, kernel element) of each output of a dimension, from the registers that reverse_loop has."""
        stride = r[Register.STRIDE_Z if name == "Z" else Register.STRIDE]
        inputs = r[Register[f"IN_{name}"]]
        high, low = r[Register[f"START_HIGH_{name}"]], r[Register[f"START_LOW_{name}"]]
        element, last = high >> 16, high & 0xFFFF
        part, first = low >> 16, _signed(low & 0xFFFF, 16)
        found = []
        for _ in range(r[Register[f"OUT_{name}"]]):
            found.append([(i, element + stride * (last - i)) for i in range(max(first, 0), last + 1)])
            element, part = element + 1, part + 1
            if element == stride and last < inputs - 1:
                element, last = 0, last + 1
            if part == stride:
                part, first = 0, first + 1
        return found

    def _oriented(self, r: dict[Register, int], group: int, weight: int, bias: Integers) -> None:
        e = self.engine
        is_merged = r[Register.MODE] & 1
        parallel = (1 if is_merged else e.tz, e.tr, e.tc)
        strides = (r[Register.STRIDE_Z], r[Register.STRIDE], r[Register.STRIDE])
        q_blocks = [r[Register[f"Q_BLOCKS_{name}"]] for name in "ZRC"]
        q_words = q_blocks[0] * q_blocks[1] * q_blocks[2]
        phases = strides[0] * strides[1] * strides[2]
        if phases * q_words > e.psum_words:
            raise ModelError(f"{phases * q_words} partial sums; there is room for {e.psum_words}")
        sums = np.zeros((*parallel, phases * q_words, e.tm), np.int64)
        sides = [r[Register[f"IN_{name}"]] for name in "ZRC"]
        outs = [r[Register[f"OUT_{name}"]] for name in "ZRC"]
        blocks = [range(r[Register[f"IN_BLOCKS_{name}"]]) for name in "ZRC"]
        in_strides = (r[Register.IN_STRIDE_Z], r[Register.IN_STRIDE_R], r[Register.IN_STRIDE_C])
        valid_out = min(e.tm, r[Register.CHANNELS_OUT] - group * e.tm)
        for block in itertools.product(*blocks):
            at = r[Register.SRC_BASE] + sum(b * s for b, s in zip(block, in_strides, strict=True))
            for t in range(r[Register.TAPS]):
                entry = self.taps[r[Register.TAP_BASE] + t]
                shifts = [_signed(entry >> 12 & 63, 6), _signed(entry >> 6 & 63, 6), _signed(entry & 63, 6)]
                phase = entry >> 18
                offsets = (phase // strides[1] // strides[2], phase // strides[2] % strides[1], phase % strides[2])
                lanes = list(self._lanes(parallel, block, sides, shifts, strides, offsets, outs))
                if not any(q is not None for _, _, q in lanes):
                    continue
                self._issue(r, (group, valid_out), at, weight + t * r[Register.IN_FOLDS], lanes, sums, phase, q_blocks)
        self._drain(r, group, bias, sums, parallel, strides, q_blocks, outs)

    @staticmethod
    def _lanes(
        parallel: Sequence[int], block: Sequence[int], sides: Sequence[int],
        shifts: Sequence[int], strides: Sequence[int], offsets: Sequence[int], outs: Sequence[int],
    ) -> Iterator[tuple[tuple[int, ...], bool, tuple[int, ...] | None]]:  # fmt: skip
        """Each lane: where it is, whether it has a real input, and the q of the output it reaches, or None."""
        for lane in itertools.product(*(range(count) for count in parallel)):
            place = [count * b + (x - b) % count for count, b, x in zip(parallel, block, lane, strict=True)]
            real = all(i < side for i, side in zip(place, sides, strict=True))
            q = tuple(i + d for i, d in zip(place, shifts, strict=True))
            inside = all(0 <= s * each + f < out for s, each, f, out in zip(strides, q, offsets, outs, strict=True))
            yield lane, real, q if real and inside else None

    def _issue(
        self, r: dict[Register, int], numbers: tuple[int, int], at: int, weight: int,
        lanes: Sequence[tuple[tuple[int, ...], bool, tuple[int, ...] | None]], sums: Integers, phase: int,
        q_blocks: Sequence[int],
    ) -> None:  # fmt: skip
        e, source = self.engine, self.memory[r[Register.SRC]]
        is_merged, (_, valid_out) = r[Register.MODE] & 1, numbers
        depth = e.tz if is_merged else 1
        per_word = e.wide // e.tn
        for fold in range(r[Register.IN_FOLDS]):
            w = self.weights[weight + fold].reshape(e.tm, depth, e.tn)
            self.counters[-1].issues += 1
            for lane, real, q in lanes:
                if not real:
                    continue
                total = np.zeros(e.tm, np.int64)
                for z in range(depth):
                    lane_z = z if is_merged else lane[0]
                    bank = source[(lane_z * e.tr + lane[1]) * e.tc + lane[2]]
                    channel = (fold * depth + z) * e.tn
                    valid_in = max(0, min(e.tn, r[Register.CHANNELS_IN] - channel))
                    if valid_in:
                        part = fold % per_word
                        x = self._read(bank, at + fold // per_word)[part * e.tn : part * e.tn + valid_in]
                        total += w[:, z, :valid_in] @ self._real(x)
                    self.counters[-1].useful += valid_in * valid_out
                    self.counters[-1].kept += valid_in * valid_out * (q is not None)
                if q is not None:
                    parallel = sums.shape[:3]
                    address = _address(phase, [x // t for x, t in zip(q, parallel, strict=True)], q_blocks)
                    bank_at = tuple(x % t for x, t in zip(q, parallel, strict=True))
                    sums[(*bank_at, address)] += total

    def _drain(
        self, r: dict[Register, int], group: int, bias: Integers, sums: Integers, parallel: Sequence[int],
        strides: Sequence[int], q_blocks: Sequence[int], outs: Sequence[int],
    ) -> None:  # fmt: skip
        for position in itertools.product(*(range(out) for out in outs)):
            q = [o // s for o, s in zip(position, strides, strict=True)]
            f = [o % s for o, s in zip(position, strides, strict=True)]
            phase = (f[0] * strides[1] + f[1]) * strides[2] + f[2]
            address = _address(phase, [x // t for x, t in zip(q, parallel, strict=True)], q_blocks)
            total = sums[(*(x % t for x, t in zip(q, parallel, strict=True)), address)] + bias
            self._write(r, group, position, self._finish(r, total))

    def _finish(self, r: dict[Register, int], total: Integers) -> Integers:
        bits, activation = self.engine.bits, r[Register.MODE] >> 2
        if np.any(np.abs(total) >= 1 << (self.engine.acc - 1)):
            raise ModelError(f"a sum of {np.abs(total).max()} in {self.engine.acc} bits")
        rounded = round_shift(total, r[Register.SHIFT])
        if activation != ACTIVATION_TABLE:
            values = saturate(rounded, bits)
            return np.maximum(values, 0) if activation == ACTIVATION_CLIP else values
        if bits == 8:
            looked_up: Integers = self.table[saturate(rounded, 10) + TABLE_ENTRIES // 2, 0]
            return looked_up
        address = saturate(rounded, 18) + (1 << 17)
        entry = self.table[address >> 8]
        return saturate(entry[:, 0] + round_shift(entry[:, 1] * (address & 255), 8), bits)

    def _write(self, r: dict[Register, int], group: int, position: Sequence[int], values: Integers) -> None:
        e, memory = self.engine, self.memory[1 - r[Register.SRC]]
        strides = (r[Register.OUT_STRIDE_Z], r[Register.OUT_STRIDE_R], r[Register.OUT_STRIDE_C])
        channel = group * e.tm
        place = self._place(
            (position[0], position[1], position[2]), channel // e.wide, r[Register.DST_BASE], strides,
            r[Register.MODE] >> 1 & 1,
        )  # fmt: skip
        self._check(memory, place[1])
        memory[place][channel % e.wide : channel % e.wide + e.tm] = values

    def _read(self, bank: Integers, address: int) -> Integers:
        if not 0 <= address < len(bank):
            raise ModelError(f"address {address} of a bank of {len(bank)} words")
        word: Integers = bank[address]
        return word

    @staticmethod
    def _real(x: Integers) -> Integers:
        if np.any(x == POISON):
            raise ModelError("a word that was never written")
        return x


def _address(phase: int, q: Sequence[int], q_blocks: Sequence[int]) -> int:
    z, r, c = q
    return ((phase * q_blocks[0] + z) * q_blocks[1] + r) * q_blocks[2] + c


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value
