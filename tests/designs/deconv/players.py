"""Plays given values into modules, cycle by cycle, several modules in one simulator, and returns what came out.

For modules without handshakes, whose outputs are a function of the cycle alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from designs.flow.verilator import simulate

BENCH = Path(__file__).parent / "bench_players.py"
Values = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Player:
    """A module with its parameters (strings quoted), and the widths of its ports other than clk and rst."""

    module: str
    parameters: Mapping[str, int | str]
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    has_reset: bool = True

    def instance(self, name: str, low_in: int, low_out: int) -> str:
        """SystemVerilog of an instance whose ports lie from bit `low_in` of `data` and from `low_out` of `seen`."""
        ports = [".clk(clk)", *([".rst(rst)"] if self.has_reset else [])]
        for port, width in self.inputs.items():
            ports.append(f".{port}(data[{low_in} +: {width}])")
            low_in += width
        for port, width in self.outputs.items():
            ports.append(f".{port}(seen[{low_out} +: {width}])")
            low_out += width
        chosen = ", ".join(f".{key}({value})" for key, value in self.parameters.items())
        return f"  {self.module} #({chosen}) {name} (\n    " + ",\n    ".join(ports) + "\n  );"


def wrapper(players: Sequence[Player]) -> str:
    """The top module `players_dut`."""
    lines, low_in, low_out = [], 0, 0
    for number, player in enumerate(players):
        lines.append(player.instance(f"u{number}", low_in, low_out))
        low_in += sum(player.inputs.values())
        low_out += sum(player.outputs.values())
    ports = f"input wire clk, input wire rst, input wire [{low_in - 1}:0] data, output wire [{low_out - 1}:0] seen"
    return "\n".join([f"module players_dut ({ports});", *lines, "endmodule\n"])


def play(
    players: Sequence[Player],
    stimuli: Sequence[Values],
    *,
    sources: Sequence[Path],
    results: Path,
    seed: int,
    data: Sequence[Path] = (),
) -> list[dict[str, list[int]]]:
    """What each module's outputs were in each cycle, seen with the inputs of that cycle. All stimuli are as long."""
    (cycles,) = {len(values) for stimulus in stimuli for values in stimulus.values()}
    width_in = sum(sum(player.inputs.values()) for player in players)
    size = (width_in + 7) // 8
    rows = np.zeros((cycles, size), np.uint8)
    for cycle in range(cycles):
        word = low = 0
        for player, stimulus in zip(players, stimuli, strict=True):
            for port, width in player.inputs.items():
                word |= (stimulus[port][cycle] & ((1 << width) - 1)) << low
                low += width
        rows[cycle] = np.frombuffer(word.to_bytes(size, "little"), np.uint8)
    results.mkdir(parents=True, exist_ok=True)
    top = results / "players_dut.sv"
    top.write_text(wrapper(players))
    result = simulate(
        "players_dut", [*sources, top], BENCH, results=results, vectors={"rows": rows}, seed=seed, data=data
    )
    assert result.passed, result.message
    found: list[dict[str, list[int]]] = [{port: [] for port in player.outputs} for player in players]
    for row in result.payload["seen"]:
        word = int.from_bytes(row.tobytes(), "little")
        for player, answer in zip(players, found, strict=True):
            for port, width in player.outputs.items():
                answer[port].append(word & ((1 << width) - 1))
                word >>= width
    return found


def pack(numbers: Sequence[int] | np.ndarray, bits: int) -> int:
    """Numbers side by side, two's complement of `bits` bits, the first lowest."""
    mask = (1 << bits) - 1
    return sum((int(number) & mask) << (i * bits) for i, number in enumerate(np.ravel(np.asarray(numbers, object))))


def unpack(word: int, bits: int, count: int) -> list[int]:
    """The `count` signed numbers of `bits` bits in a word, the lowest first."""
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    return [((word >> (i * bits) & mask) ^ half) - half for i in range(count)]
