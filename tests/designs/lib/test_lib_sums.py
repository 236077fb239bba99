"""popcount and adder_tree against Python's integers, each in both of its forms: for synthesis and for simulators."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from many_streams import packed, unpacked

from designs.flow.verilator import simulate
from designs.lib import closure

BENCH = Path(__file__).parent / "bench_sums.py"
WORDS = 250
DATA = 1536


@dataclass(frozen=True)
class Sum:
    """A module that adds `count` numbers of `bits` bits to a number of `out` bits, `latency` cycles later."""

    count: int
    latency: int
    bits: int = 1
    signed: int = 0
    out: int = 0

    def instance(self, number: int, tree: int, low: int) -> str:
        """SystemVerilog of an instance of one form, whose output lies from bit `low` of `sums`."""
        data = f".clk(clk), .data(data[{self.count * self.bits - 1}:0])"
        out = f"sums[{low} +: {self.width}]"
        if not self.out:
            parameters = f".WIDTH({self.count}), .LATENCY({self.latency}), .TREE({tree})"
            return f"  popcount #({parameters}) u{number}_{tree} ({data}, .count({out}));"
        parameters = f".COUNT({self.count}), .BITS({self.bits}), .SIGNED({self.signed}), .LATENCY({self.latency})"
        parameters += f", .OUT_BITS({self.out}), .TREE({tree})"
        return f"  adder_tree #({parameters}) u{number}_{tree} ({data}, .sum({out}));"

    @property
    def width(self) -> int:
        return self.out or self.count.bit_length()

    def of(self, word: int) -> int:
        """The sum of the numbers in a word, modulo 2**width."""
        mask = (1 << self.bits) - 1
        numbers = [word >> (i * self.bits) & mask for i in range(self.count)]
        if self.signed:
            numbers = [n - (1 << self.bits) if n >> (self.bits - 1) else n for n in numbers]
        return sum(numbers) % (1 << self.width)


POPCOUNTS = tuple(
    Sum(*item)
    for item in ((1, 1), (2, 1), (3, 2), (4, 1), (7, 3), (16, 2), (27, 6), (63, 4), (64, 1), (100, 3), (1536, 6))
)
TREES = (
    Sum(1, 0, 4, 1, 4),
    Sum(1, 3, 4, 1, 9),
    Sum(2, 0, 3, 0, 4),
    Sum(3, 1, 5, 1, 12),
    Sum(5, 2, 4, 0, 7),
    Sum(8, 3, 6, 1, 9),
    Sum(8, 5, 6, 1, 4),  # cut
    Sum(27, 3, 8, 1, 14),
    Sum(64, 2, 9, 1, 15),
)


def test_sums(tmp_path: Path) -> None:
    units = [*POPCOUNTS, *TREES]
    total = 2 * sum(unit.width for unit in units)
    lines, places, low = [], [], 0
    for number, unit in enumerate(units):
        for tree in (0, 1):
            lines.append(unit.instance(number, tree, low))
            places.append((unit, tree, low))
            low += unit.width
    top = tmp_path / "sums_dut.sv"
    ports = f"input wire clk, input wire rst, input wire [{DATA - 1}:0] data, output wire [{total - 1}:0] sums"
    top.write_text("\n".join([f"module sums_dut ({ports});", *lines, "endmodule\n"]))
    rng = np.random.default_rng(31)
    print("seed 31")
    # Words from all zeros to all ones, dense and thin.
    density = rng.choice([0.0, 0.05, 0.5, 0.95, 1.0], (WORDS, 1))
    bits = rng.random((WORDS, DATA)) < density
    words = unpacked(np.packbits(bits, axis=1, bitorder="little"))
    result = simulate(
        "sums_dut",
        [*closure("popcount", "adder_tree"), top],
        BENCH,
        results=tmp_path,
        vectors={"words": packed(words, DATA)},
        seed=31,
    )
    assert result.passed, result.message
    seen = unpacked(result.payload["seen"])
    for unit, tree, place in places:
        late = unit.latency
        got = [out >> place & ((1 << unit.width) - 1) for out in seen[late:]]
        wanted = [unit.of(word) for word in words[: WORDS - late]]
        assert got == wanted, f"{unit}, tree {tree}"
