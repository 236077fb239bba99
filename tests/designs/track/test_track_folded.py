"""The folded design in Verilator: random networks and foldings, a slice of the wide case, and what has to fail."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from track_networks import fixed_network, table_network

from designs.boards import BoardError
from designs.flow.folding import divisors
from designs.flow.parts import DoesNotFit
from designs.flow.verilator import BuildOptions, lint, simulate
from designs.flow.yosys import cell_library, synth_ecp5
from designs.track import folded, folding, generate
from designs.track.integers import layers_of
from workloads.api import UnknownNameError
from workloads.track import quantise
from workloads.track.network import FixedNetwork, Ints
from workloads.track.quantise import TableNetwork

BENCH = Path(folded.__file__).parent / "bench_folded.py"
HITS = 150


def random_folding(rng: np.random.Generator, layers: tuple) -> folding.Folding:
    def any_of(number: int) -> int:
        return int(rng.choice(divisors(number)))

    return folding.of(layers, {layer.name: (any_of(layer.n_in), any_of(layer.n_out)) for layer in layers})


def prove(network: FixedNetwork | TableNetwork, chosen: folding.Folding, tmp_path: Path, seed: int) -> dict:
    """Simulate and compare; the payload of the simulation."""
    made = generate.generate(layers_of(network), chosen, "test")
    x = np.random.default_rng(seed).integers(-2048, 2048, (HITS, network.widths[0]))
    x[:2] = [[-2048], [2047]]
    outcome, got = folded.run(made, x, tmp_path, seed)
    assert outcome.passed, outcome.message
    for rows in got.values():
        assert np.array_equal(rows, network.evaluate(x)), f"seed {seed}, {chosen}"
    return dict(outcome.payload)


def interval(payload: dict, skip: int = 20) -> float:
    """Cycles between hits at the pins, once the core is full."""
    left = payload["free_out"][skip:]
    return float(left[-1] - left[0]) / (len(left) - 1)


@pytest.mark.parametrize("seed", range(4))
def test_random_networks_and_foldings(tmp_path: Path, seed: int) -> None:
    print("seed", seed)
    rng = np.random.default_rng(100 + seed)
    network = (table_network if seed == 3 else fixed_network)(rng, (3, 6, 10, 4))
    chosen = random_folding(rng, layers_of(network))
    payload = prove(network, chosen, tmp_path, seed)
    assert chosen.interval <= interval(payload) <= 1.02 * chosen.interval
    assert set(payload["alone"]) == {payload["free_out"][0] - payload["free_in"][0]}


def test_wholly_unrolled_and_wholly_folded(tmp_path: Path) -> None:
    network = fixed_network(np.random.default_rng(8), (3, 4, 2))
    layers = layers_of(network)
    for chosen in (folding.for_reuse(layers, 1), folding.for_multipliers(layers, len(layers))):
        assert interval(prove(network, chosen, tmp_path / str(chosen.interval), 1)) == chosen.interval


def slice_of(network: TableNetwork, widths: tuple[int, ...]) -> TableNetwork:
    """The first neurons of the first layers and of the last one."""
    chosen = [*network.layers[: len(widths) - 2], network.layers[-1]]
    layers = []
    for layer, n_in, n_out in zip(chosen, widths[:-1], widths[1:], strict=True):
        dense, out = layer.dense, layer.dense.output
        output, values = (
            replace(f, signed=f.signed[:n_out], integer=f.integer[:n_out], fraction=f.fraction[:n_out])
            for f in (out, layer.values)
        )
        cut = replace(dense, weight=dense.weight[:n_in, :n_out], bias=dense.bias[:n_out], output=output)
        layers.append(replace(layer, dense=cut, values=values))
    return TableNetwork(network.input, tuple(layers))


def test_a_slice_of_the_wide_case(tmp_path: Path) -> None:
    network = slice_of(quantise.load("exatrkx"), (12, 32, 32, 8))
    chosen = folding.for_interval(layers_of(network), 32)
    assert interval(prove(network, chosen, tmp_path, 3)) == chosen.interval == 32


def multiplier() -> str:
    """The ECP5's MULT18X18D as synthesis uses it, without registers: Yosys has no simulation model of it."""
    a, b, p = (
        "{" + ", ".join(f"{x}{i}" for i in reversed(range(n))) + "}" for x, n in (("A", 18), ("B", 18), ("P", 36))
    )
    ports = [f"input {x}{i}" for x in "ABC" for i in range(18)] + [f"output P{i}" for i in range(36)]
    ports += [f"input {name}" for name in ("SIGNEDA", "SIGNEDB", "SOURCEA", "SOURCEB")]
    return f"""\
module MULT18X18D ({", ".join(ports)});
  wire signed [18:0] a = {{SIGNEDA && A17, {a}}};
  wire signed [18:0] b = {{SIGNEDB && B17, {b}}};
  wire signed [37:0] product = a * b;
  assign {p} = product[35:0];
endmodule
"""


def test_after_synthesis(tmp_path: Path) -> None:
    network = fixed_network(np.random.default_rng(21), (2, 4, 3))
    layers = layers_of(network)
    made = generate.generate(layers, folding.for_interval(layers, 4), "test")
    synthesis = synth_ecp5(made.top, made.sources, data=made.memories)
    assert synthesis.cells["dsps"] == made.folding.multipliers, "every product is a DSP block"
    x = np.random.default_rng(2).integers(-2048, 2048, (60, 2))
    (tmp_path / "MULT18X18D.sv").write_text(multiplier())
    library = cell_library()
    result = simulate(
        made.top,
        [synthesis.verilog, library, tmp_path / "MULT18X18D.sv"],
        BENCH,
        results=tmp_path / "results",
        vectors={"words": folded.pack(x, 12), "out_bytes": -(-made.out_bits // 8), "patience": 2000},
        options=BuildOptions(includes=(str(library.parent),)),
    )
    assert result.passed, result.message
    rows = folded.unpack(result.payload["paused_words"], layers[-1].value_bits, layers[-1].n_out)
    assert np.array_equal(rows, network.evaluate(x))


@pytest.mark.parametrize(("case", "top"), [("compact", "track_core"), ("exatrkx", "track_layer7")])
def test_the_rtl_is_clean_and_the_same_every_time(tmp_path: Path, case: str, top: str) -> None:
    whole = folded.design(case)
    made = whole if top == whole.top else generate.layer_of(whole, top.removeprefix("track_"))
    # Yosys reads the memories when it elaborates, by a path that has to lead to them.
    own = made.memories[0].parent
    for path in own.glob("*.sv"):
        (tmp_path / path.name).write_text(re.sub(r'"(\w+\.\w+\.hex)"', rf'"{own}/\1"', path.read_text()))
    lint(made.top, [tmp_path / p.name if p.parent == own else p for p in made.sources])
    assert folded.design(case).digest == whole.digest
    assert folded.design("embed", folding.for_interval(folded.network("embed").layers, 98)).digest != whole.digest


def test_one_wrong_weight_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    right = folded.network("compact")
    layer = right.layers[0]
    weight = layer.weight.copy()
    row, column = np.argwhere(weight)[0]
    weight[row, column] += 1
    layers = (replace(layer, weight=weight), *right.layers[1:])
    monkeypatch.setattr(folded, "network", lambda case: replace(right, layers=layers))
    (check,) = folded.verify("compact", samples=300, seed=2)
    assert not check.passed
    assert check.worst > 0
    assert check.records == ()


def test_what_is_measured_at_the_pins() -> None:
    (check,) = folded.verify("compact", samples=800, seed=5)
    assert check.passed
    (record,) = check.records
    ideal = record.conditions["ideal_interval"]
    found, latency = record.get("interval"), record.get("cycles")
    assert ideal <= found.value <= 1.02 * ideal
    assert found.samples == 798  # of 800 hits; nothing follows the last
    # Alone in the core a hit takes each layer's cycles in turn and a few registers.
    least = sum(folded.default_folding("compact").cycles)
    assert least < latency.value == latency.low == latency.high < least + 60
    assert record.conditions["design"] == folded.design("compact").digest


@pytest.mark.parametrize("width", [2, 5, 12])
def test_words_carry_rows(width: int) -> None:
    seed = 3
    print("seed", seed)
    rows: Ints = np.random.default_rng(seed).integers(-(1 << (width - 1)), 1 << (width - 1), (50, 4))
    assert np.array_equal(folded.unpack(folded.pack(rows, width), width, 4), rows)
    assert folded.pack(np.array([[1, -1]]), 4).tolist() == [[0xF1]]


def test_bad_input_is_refused_before_any_tool_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_tool(*args: object, **kwargs: object) -> None:
        raise AssertionError("a tool was started")

    monkeypatch.setattr("designs.flow.tools.run_tool", no_tool)
    monkeypatch.setattr("designs.flow.yosys.run_tool", no_tool)
    wide = r"exatrkx does not fit {}: 10,567,680 bits of weights, of which layer2 has 2,097,152, against {}; choose"
    with pytest.raises(DoesNotFit, match=wide.format("lfe5u-85f", "3,833,856")):
        next(folded.build("exatrkx", board="ulx3s-85f"))
    with pytest.raises(DoesNotFit, match=wide.format("ice40up5k", "122,880")):
        next(folded.build_part("exatrkx", part="ice40up5k"))
    assert [folded.fits(case, "ulx3s-85f") for case in folded.CASES] == [True, True, False]
    assert [folded.fits_part(case, "ice40up5k") for case in folded.CASES] == [True, True, False]
    assert folded.fits_part("exatrkx", "xc7z020"), "only counted there"
    with monkeypatch.context() as larger:
        larger.setattr(folded, "SIZED_FOR", {"embed": ("lfe5u-12f", 28)})
        with pytest.raises(
            DoesNotFit, match=r"ice40up5k: 26 multipliers, of which layer2 has 14, against 8; .* fold it"
        ):
            next(folded.build_part("embed", part="ice40up5k"))
    with pytest.raises(BoardError, match=r"lfe5u-85f is placed and routed for a board; boards: .*ulx3s-85f"):
        next(folded.build_part("embed", part="lfe5u-85f"))
    with pytest.raises(UnknownNameError, match="unknown part 'xc7z'"):
        next(folded.build_part("embed", part="xc7z"))
    with pytest.raises(BoardError, match="unknown board 'icestick'"):
        next(folded.build("embed", board="icestick"))
    with pytest.raises(UnknownNameError, match="unknown case 'big'"):
        folded.design("big")
    layers = folded.network("compact").layers
    with pytest.raises(ValueError, match="the folding is of layers"):
        folded.design("embed", folding.for_multipliers(layers, 8))
    with pytest.raises(UnknownNameError, match="unknown layer 'layer9'; valid: layer1, layer2, layer3"):
        generate.layer_of(folded.design("compact"), "layer9")
