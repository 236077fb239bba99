"""Programs against the numpy model of the engine: every chain equals the oracle, with the counts that are predicted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deconv_networks import CHAINS, ORIENTED, REVERSE, STEEP, item, network, of_bits

from designs.deconv.commands import VALUE_BITS, Action
from designs.deconv.compiler import Program, compile_network
from designs.deconv.config import ENGINES_OF, Engine, EngineError, engines, preset
from designs.deconv.model import Model, ModelError
from workloads.deconv import WORKLOAD, parameters
from workloads.deconv.fixed import encode
from workloads.deconv.layer import Layer

SEED = 11


def model_of(program: Program) -> Model:
    weights = np.concatenate([w.reshape(-1, w.shape[-1]) for w in program.weights])
    biases = np.concatenate(program.biases)
    if not program.engine.resident:
        order = [(program.weights[run.layer], program.biases[run.layer]) for run in program.runs]
        weights = np.concatenate([w.reshape(-1, w.shape[-1]) for w, _ in order])
        biases = np.concatenate([b for _, b in order])
    return Model(program.engine, weights, biases, program.table)


def prove(layers: tuple[Layer, ...], engine: Engine, *, chained: bool = True) -> Program:
    """Compile, run, compare outputs and counters."""
    print("seed", SEED)
    net, x = network(layers, engine.bits, SEED, chained), item(layers, engine.bits, SEED + 1, chained)
    program = compile_network(net, engine)
    model = model_of(program)
    out = model.run(program.commands, program.pack(x))
    expected, matters = program.expect(x)
    assert (out[matters] == expected[matters]).all()
    assert (program.unpack(out) == net(x[None])[0]).all()
    for number, layer in enumerate(layers):
        mine = [c for c, run in zip(model.counters, program.runs, strict=True) if run.layer == number]
        tiles = program.steps[number].tiles
        assert sum(c.kept for c in mine) == layer.kept_macs
        assert [c.useful for c in mine] == [tile.products[0] for tile in tiles]
        empty = engine.dataflow == "reverse_loop" and any(tile.empty for tile in tiles)
        if not empty:
            assert [c.issues for c in mine] == [tile.issues for tile in tiles]
        if len(tiles) == 1 and engine.lanes == 1:
            assert sum(c.useful for c in mine) <= layer.macs
    return program


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("chain", [*CHAINS, *STEEP])
def test_reverse_loop(chain: str, bits: int) -> None:
    prove((CHAINS | STEEP)[chain], of_bits(REVERSE, bits))


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("chain", CHAINS)
def test_input_oriented(chain: str, bits: int) -> None:
    prove(CHAINS[chain], of_bits(ORIENTED, bits))


@pytest.mark.parametrize("chain", STEEP)
def test_steep_strides_take_one_position_at_a_time(chain: str) -> None:
    prove(STEEP[chain], replace(ORIENTED, tz=1, tr=1, tc=1, io=1, drain=1, a_words=512, b_words=4096, psum_words=4096))
    with pytest.raises(EngineError, match=r"one: a stride of \d; engine small takes 2"):
        prove(STEEP[chain], ORIENTED)


@pytest.mark.parametrize(
    "engine",
    [
        replace(REVERSE, tm=16, tn=1, w_words=16384),
        replace(REVERSE, tm=4, tn=2),
        replace(REVERSE, tm=1, tn=1, w_words=16384, bias_words=128, a_words=2048, b_words=2048),
        replace(ORIENTED, tz=1, tr=4, tc=1, io=1),
        replace(ORIENTED, tz=4, tr=1, tc=2, drain=8),
        replace(ORIENTED, tz=1, tr=1, tc=1, tm=1, tn=8, io=1, drain=1, a_words=512, b_words=512, psum_words=1024),
    ],
    ids=str,
)
def test_other_arrays(engine: Engine) -> None:
    prove(CHAINS["a generator"], engine)
    prove(CHAINS["a volume"], replace(engine, a_words=2048, b_words=2048, psum_words=2048, w_words=16384))


@pytest.mark.parametrize("engine", [REVERSE, ORIENTED], ids=str)
@pytest.mark.parametrize("chain", ["a generator", "a volume", "extra outputs, sides of their own"])
def test_tiles_when_memories_are_small(chain: str, engine: Engine) -> None:
    words = 96 if engine.dataflow == "reverse_loop" else 8 * len(CHAINS[chain][0].shape) - 8
    small = replace(engine, a_words=words, b_words=words, psum_words=24, resident=False, w_words=1024, bias_words=4)
    program = prove(CHAINS[chain], small)
    assert any(len(step.tiles) > 1 for step in program.steps)
    assert program.stores[-1].layer == len(CHAINS[chain]) - 1


def test_layers_with_inputs_of_their_own() -> None:
    layers = (Layer("one", (2, 2, 2), 5, 4, 2, 2), Layer("two", (2, 4, 3), 3, 5, 2, 2))
    for engine in (REVERSE, ORIENTED):
        program = prove(layers, engine, chained=False)
        assert [op.layer for op in program.loads] == [0, 1]


@pytest.mark.parametrize("dataflow", ["reverse_loop", "input_oriented"])
def test_digits(dataflow: str) -> None:
    engine = preset(dataflow, "ulx3s_digits")  # type: ignore[arg-type]
    net = parameters.fixed("digits", 8)
    program = compile_network(net, engine)
    x = encode(WORKLOAD.inputs("digits", 1, SEED), 8)
    model = model_of(program)
    out = program.unpack(model.run(program.commands, program.pack(x[0])))
    assert (out == net(x)[0]).all()
    assert sum(c.kept for c in model.counters) == sum(layer.layer.kept_macs for layer in net.layers)


@pytest.mark.parametrize(("dataflow", "case"), [(d, c) for d, cases in ENGINES_OF.items() for c in cases])
def test_every_case_compiles_and_keeps_its_products(dataflow: str, case: str) -> None:
    for engine in engines(dataflow, case):  # type: ignore[arg-type]
        program = compile_network(parameters.fixed(case, engine.bits), engine)
        tiles = [tile for step in program.steps for tile in step.tiles]
        for step in program.steps:
            assert sum(tile.products[1] for tile in step.tiles) == step.layer.kept_macs
        useful = sum(tile.products[0] for tile in tiles)
        assert useful / engine.multipliers / sum(tile.cycles for tile in tiles) >= 0.75


def test_a_wrong_program_is_found_out() -> None:
    chain = CHAINS["a generator"]
    net, x = network(chain, 8, SEED), item(chain, 8, SEED)
    program = compile_network(net, ORIENTED)
    expected = net(x[None])[0]
    wrong = program.commands.copy()
    first = next(n for n, c in enumerate(wrong) if c >> VALUE_BITS == Action.TAP)
    wrong[first] ^= 1 << 6
    assert (program.unpack(model_of(program).run(wrong, program.pack(x))) != expected).any()
    with pytest.raises(ModelError, match="beats"):
        model_of(program).run(program.commands, np.repeat(program.pack(x), 2, axis=0))
