"""deconv_finish against `workloads.deconv.fixed`: ties, both ends of every range, tables of 8 and 16 bits."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from players import Player, pack, play, unpack

from designs.flow.tools import FlowError
from designs.flow.verilator import build, lint
from designs.lib import closure
from workloads.deconv.fixed import activate, round_shift, table
from workloads.deconv.layer import Activation

FOLDER = Path(__file__).resolve().parents[3] / "designs" / "deconv"
SOURCES = [*closure("delay"), FOLDER / "deconv_finish.sv"]
TAG = 7
#: Cycles of one setting, the last few without values, and the settings of a test.
STRETCH, QUIET, SETTINGS = 60, 12, 9

#: BITS, ACC, N, the activation of the table
SHAPES: tuple[tuple[int, int, int, Activation | None], ...] = (
    (8, 24, 3, None),
    (8, 11, 1, None),
    (8, 27, 3, "tanh"),
    (8, 22, 2, "sigmoid"),
    (16, 48, 2, None),
    (16, 40, 1, "tanh"),
    (16, 47, 4, "sigmoid"),
)


def image(activation: Activation, bits: int) -> str:
    """The memory image of an activation's table."""
    values = table(activation, bits)
    if bits == 8:
        words = [int(v) & 0xFF for v in values[:-1]]
    else:
        words = [((int(b) - int(a)) & 0x3FF) << 16 | int(a) & 0xFFFF for a, b in itertools.pairwise(values)]
    return "".join(f"{word:07x}\n" for word in words)


def player(shape: tuple[int, int, int, Activation | None]) -> Player:
    bits, acc, n, activation = shape
    parameters: dict[str, int | str] = {"BITS": bits, "ACC": acc, "N": n, "TAG": TAG}
    if activation:
        parameters["TABLE"] = f'"{activation}{bits}.hex"'
    inputs = {"shift": 6, "activation": 2, "valid": 1, "tag": TAG, "sums": n * acc, "biases": n * acc}
    return Player("deconv_finish", parameters, inputs, {"out_valid": 1, "out_tag": TAG, "values": n * bits})


def latency(shape: tuple[int, int, int, Activation | None]) -> int:
    bits, _, _, activation = shape
    return 6 if activation is None else 8 if bits == 8 else 9


def numbers(rng: np.random.Generator, bits: int, acc: int, shift: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums and biases: anything at all, results near zero, ties, near the ends of the result and of the table."""
    low, high = -(1 << (acc - 1)), (1 << (acc - 1)) - 1
    half = (1 << shift) >> 1
    step = 1 << shift
    kinds = (
        rng.integers(low, high + 1, count),
        rng.integers(-40 * step, 40 * step + 1, count),
        rng.integers(-300, 300, count) * step + rng.choice([-half - 1, -half, -half + 1, half - 1, half], count),
        rng.choice([-4, -1, 1, 4], count) * (step << (bits - 1)) + rng.integers(-2 * step, 2 * step + 1, count),
        rng.integers(-(step << (bits + 1)), step << (bits + 1), count),
        rng.choice([low, high, 0, -1], count),
    )
    wanted = kinds[int(rng.integers(len(kinds)))]
    # Biases that make wanted - bias representable; the sum with its bias may need a bit more than either.
    bias = rng.integers(low, high + 1, count) if rng.random() < 0.5 else rng.integers(-3, 4, count)
    return np.clip(wanted - bias, low, high), bias


def stimulus(rng: np.random.Generator, shape: tuple[int, int, int, Activation | None]) -> tuple[dict, dict]:
    bits, acc, n, table_of = shape
    values: dict[str, list[int]] = {name: [] for name in player(shape).inputs}
    wanted: dict[int, tuple[int, np.ndarray]] = {}
    for setting in range(SETTINGS):
        largest = acc - bits - 3
        shift = (0, min(1, largest), largest)[setting] if setting < 3 else int(rng.integers(0, largest + 1))
        code = (setting + setting // 3) % 3 if table_of else setting % 2
        activation: Activation = ("linear", "clip", table_of or "linear")[code]
        for cycle in range(setting * STRETCH, (setting + 1) * STRETCH):
            valid = rng.random() < 0.8 and cycle % STRETCH < STRETCH - QUIET
            tag = int(rng.integers(1 << TAG))
            sums, bias = numbers(rng, bits, acc, shift, n)
            row = (shift, code, int(valid), tag, pack(sums, acc), pack(bias, acc))
            for name, value in zip(values, row, strict=True):
                values[name].append(value)
            if valid:
                wanted[cycle] = tag, activate(round_shift(sums + bias, shift), activation, bits)
    return values, wanted


def test_finish_is_the_workload_s_arithmetic(tmp_path: Path) -> None:
    seed = 11
    print("seed", seed)
    rng = np.random.default_rng(seed)
    drawn = [stimulus(rng, shape) for shape in SHAPES]
    data = []
    for bits, _, _, activation in SHAPES:
        if activation:
            data.append(tmp_path / f"{activation}{bits}.hex")
            data[-1].write_text(image(activation, bits))
    duts = [player(shape) for shape in SHAPES]
    seen = play(duts, [v for v, _ in drawn], sources=SOURCES, results=tmp_path / "results", seed=seed, data=data)
    for shape, answer, (_, wanted) in zip(SHAPES, seen, drawn, strict=True):
        bits, _, n, activation = shape
        late = latency(shape)
        ended = [cycle for cycle, valid in enumerate(answer["out_valid"]) if valid]
        assert ended == [cycle + late for cycle in wanted], shape
        results = []
        for cycle, (tag, values) in wanted.items():
            assert answer["out_tag"][cycle + late] == tag
            got = unpack(answer["values"][cycle + late], bits, n)
            assert got == list(values), f"{shape}, cycle {cycle}"
            results += got
        # Both ends were reached, or all would be in the middle of the range.
        assert max(results) == (1 << (bits - 1)) - 1, activation
        assert activation == "sigmoid" or min(results) <= -(1 << (bits - 1)) + 1, activation


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"BITS": 12}, "BITS must be 8 or 16"),
        ({"ACC": 18}, "ACC must be at least BITS . 3 and at most 62"),
        ({"ACC": 63}, "ACC must be at least BITS . 3 and at most 62"),
        ({"N": 0}, "N and TAG must be at least 1"),
    ],
)
def test_illegal_parameters_stop_elaboration(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(FlowError, match=f"deconv_finish: {message}"):
        build("deconv_finish", SOURCES, parameters=parameters)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("with_table", [False, True])
def test_the_module_is_clean(tmp_path: Path, bits: int, with_table: bool) -> None:
    # Through a top, for Yosys takes no quoted parameter.
    parameters = f".BITS({bits}), .ACC(40), .N(3)"
    if with_table:
        (tmp_path / "table.hex").write_text(image("tanh", bits))
        parameters += f', .TABLE("{tmp_path}/table.hex")'
    ports = {"shift": 6, "activation": 2, "valid": 1, "tag": 1, "sums": 120, "biases": 120}
    outputs = {"out_valid": 1, "out_tag": 1, "values": 3 * bits}
    declared = ["input wire clk", "input wire rst"]
    declared += [f"input wire [{width - 1}:0] {name}" for name, width in ports.items()]
    declared += [f"output wire [{width - 1}:0] {name}" for name, width in outputs.items()]
    connected = ", ".join(f".{name}({name})" for name in ("clk", "rst", *ports, *outputs))
    top = tmp_path / "finish_top.sv"
    top.write_text(
        f"module finish_top ({', '.join(declared)});\n  deconv_finish #({parameters}) u ({connected});\nendmodule\n"
    )
    lint("finish_top", [*SOURCES, top])
