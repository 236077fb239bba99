"""requantise against `Format.quantise`, and activation_table against its table, in one simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from many_streams import Dut, run_many

from designs.flow.folding import Fold, bits_of, hexadecimal
from designs.flow.tools import FlowError
from designs.flow.verilator import build, lint
from designs.lib import closure
from designs.track import core
from designs.track.integers import Dense, layers_of
from workloads.track.network import FixedLayer, FixedNetwork, Format, uniform_format

#: Neurons, and how many of them come in one beat.
NEURONS = 12
LANES = (1, 3, 4, 12)
INPUT = uniform_format(1, 1, 0, 11)


def one_layer(rng: np.random.Generator, overflow: str, relu: bool, form: Format | None = None) -> FixedNetwork:
    """A layer with one input, so that every sum is a multiple of a number of our choice."""
    fraction = rng.integers(-2, 9, NEURONS)
    mixed = Format(rng.integers(0, 2, NEURONS), rng.integers(-1, 5, NEURONS), fraction, overflow)
    weight = rng.integers(-60, 60, (1, NEURONS))
    # Biases finer and coarser than the products, formats finer than both.
    bias_fraction = int(rng.integers(0, 20))
    bias = rng.integers(-(1 << bias_fraction), 1 << bias_fraction, NEURONS)
    layer = FixedLayer(weight, int(rng.integers(0, 7)), bias, bias_fraction, relu, form or mixed)
    return FixedNetwork(INPUT, (layer,))


def networks(rng: np.random.Generator) -> list[FixedNetwork]:
    found = [one_layer(rng, overflow, relu) for overflow in ("SAT", "WRAP") for relu in (False, True) for _ in LANES]
    for overflow in ("SAT", "WRAP"):
        for signed in (0, 1):
            found.append(one_layer(rng, overflow, False, uniform_format(NEURONS, signed, 2, 4, overflow)))
    # A single bit, only its sign, wider than any sum, and finer than one.
    for signed, integer, fraction in ((0, 0, 1), (1, 0, 0), (1, 12, 3), (1, 2, 19)):
        found.append(one_layer(rng, "SAT", False, uniform_format(NEURONS, signed, integer, fraction, "SAT")))
        found.append(one_layer(rng, "WRAP", False, uniform_format(NEURONS, signed, integer, fraction, "WRAP")))
    return found


def words(rows: np.ndarray, width: int, lanes: int) -> list[int]:
    """Rows (n, NEURONS) as one word for each `lanes` numbers, the first lowest."""
    bits = bits_of(rows, width).reshape(-1, lanes * width)
    return [int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little") for row in bits]


def files(layer: Dense, fold: Fold, folder: Path) -> list[Path]:
    paths = []
    for what, image in core.images(layer, fold).items():
        paths.append(folder / f"{layer.name}.{what}.hex")
        paths[-1].write_text(hexadecimal(image))
    return paths


def test_requantise_is_the_format_s_quantisation(tmp_path: Path) -> None:
    seed = 5
    print("seed", seed)
    rng = np.random.default_rng(seed)
    x = np.concatenate([[-2048, 2047, 0, 1, -1], rng.integers(-2048, 2048, 55)])[:, np.newaxis]
    duts, sent, expected, data, lanes_of = [], [], [], [], []
    for number, network in enumerate(networks(rng)):
        lanes = LANES[number % len(LANES)]
        layer = replace(layers_of(network)[0], name=f"l{number}")
        fold = Fold(1, lanes)
        stage = next(s for s in core.stages(layer, fold, 1, NEURONS) if s.module == "requantise")
        duts.append(Dut("requantise", stage.parameters, lanes * layer.acc_bits, lanes * layer.out_bits))
        sent.append(words(x @ layer.weight, layer.acc_bits, lanes))
        expected.append(words(network.evaluate(x), layer.out_bits, lanes))
        data += files(layer, fold, tmp_path)
        lanes_of.append(lanes)
    assert {dut.parameters["LEFT"] == 0 for dut in duts} == {True, False}
    assert {dut.parameters["RIGHT"] == 0 for dut in duts} == {True, False}
    assert {dut.parameters["FORMAT_WORDS"] == 1 for dut in duts} == {True, False}
    seen = run_many(duts, sent, expected, results=tmp_path / "results", seed=seed, data=data)
    for one, lanes in zip(seen, lanes_of, strict=True):
        full_rate = one[0]
        assert set(full_rate.out_cycles - full_rate.in_cycles) == {2}, "two registers"
        assert set(np.diff(full_rate.out_cycles)) == {1}, f"a beat a cycle, {lanes} lanes"


@pytest.mark.parametrize("lanes", [1, 2, 5])
def test_activation_table(tmp_path: Path, lanes: int) -> None:
    seed = lanes
    print("seed", seed)
    rng = np.random.default_rng(seed)
    table = rng.integers(-128, 128, 64)
    (tmp_path / "t.hex").write_text(hexadecimal(bits_of(table, 8)))
    address = rng.integers(-32, 32, (50, lanes))
    dut = Dut("activation_table", {"LANES": lanes, "IN": 6, "OUT": 8, "TABLE": '"t.hex"'}, lanes * 6, lanes * 8)
    results = table[address & 63]
    (seen,) = run_many(
        [dut],
        [words(address, 6, lanes)],
        [words(results, 8, lanes)],
        results=tmp_path / "results",
        seed=seed,
        data=[tmp_path / "t.hex"],
    )
    assert set(seen[0].out_cycles - seen[0].in_cycles) == {1}
    assert set(np.diff(seen[0].out_cycles)) == {1}


@pytest.mark.parametrize(
    ("module", "parameters", "message"),
    [
        ("requantise", {"LANES": 0}, "LANES, FOLDS, IN and OUT must be at least 1"),
        ("requantise", {"IN": 16, "LEFT": 2, "SUM": 17}, "SUM must be at least IN . LEFT"),
        ("requantise", {"RIGHT": 17}, "RIGHT must be at least 0 and less than SUM"),
        ("requantise", {"FOLDS": 4, "FORMAT_WORDS": 2}, "FORMAT_WORDS must be FOLDS or 1"),
        ("activation_table", {"OUT": 0}, "LANES and OUT must be at least 1"),
        ("activation_table", {"IN": 17}, "IN must be 1 to 16"),
        ("activation_table", {}, "TABLE must name a file"),
    ],
)
def test_illegal_parameters_stop_elaboration(module: str, parameters: dict[str, int], message: str) -> None:
    with pytest.raises(FlowError, match=message):
        build(module, closure(module), parameters=parameters)


def test_the_modules_are_clean(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    layer = replace(layers_of(one_layer(rng, "SAT", True))[0], name="l")
    images = core.images(layer, Fold(1, 4))
    (tmp_path / "table.hex").write_text(hexadecimal(bits_of(np.arange(16), 8)))
    for what in ("offsets", "formats"):
        (tmp_path / f"{what}.hex").write_text(hexadecimal(images[what]))
    stage = next(s for s in core.stages(layer, Fold(1, 4), 1, NEURONS) if s.module == "requantise")
    numbers = {k: v for k, v in stage.parameters.items() if isinstance(v, int)}
    stages = (
        Dut("requantise", {**numbers, **{f"{w.upper()}": f'"{tmp_path}/{w}.hex"' for w in ("offsets", "formats")}},
            4 * layer.acc_bits, 4 * layer.out_bits),
        Dut("activation_table", {"LANES": 3, "IN": 4, "TABLE": f'"{tmp_path}/table.hex"'}, 12, 24),
    )  # fmt: skip
    from many_streams import sources

    lint("many", sources(stages, tmp_path))
