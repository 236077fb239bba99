"""Whole cases on the RTL: what `verify` records; wrong numbers, wrong counts and idle multipliers fail its checks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deconv_networks import CHAINS, item, network

from designs.deconv import config, evidence, generate, input_oriented, reverse_loop, simulation
from designs.deconv.config import Engine
from designs.deconv.simulation import Run, SimulationFailed, Trace
from workloads.deconv import parameters
from workloads.deconv.cases import LAYERS

SMALL = Engine(
    "tiny", "reverse_loop", 8, tm=2, tn=4, acc=28, a_words=96, b_words=96, w_words=1024, resident=False, bias_words=4
)


def test_digits_are_recorded_as_network_and_layers() -> None:
    equal, counted, used = reverse_loop.verify("digits", samples=8, seed=3)
    assert [equal.passed, counted.passed, used.passed] == [True, True, True]
    assert (equal.tolerance, equal.worst, equal.samples) == (None, 0, 8)
    whole, *layers = equal.records
    design = generate.generate("digits", config.preset("reverse_loop", "ulx3s_digits"))
    assert whole.conditions["design"] == design.digest
    assert (whole.conditions["multipliers"], whole.conditions["Tm"], whole.conditions["Tn"]) == (64, 2, 32)
    assert [record.conditions["layer"] for record in layers] == ["deconv1", "deconv2", "deconv3"]
    assert "layer" not in whole.conditions
    interval, cycles, busy = (whole.get(name) for name in ("interval", "cycles", "utilisation"))
    assert interval is not None
    assert cycles is not None
    assert busy is not None
    kept = sum(layer.kept_macs for layer in LAYERS["digits"])
    assert busy.value == pytest.approx(kept / 64 / interval.value)
    assert busy.value > 0.8
    assert sum(record.get("cycles").value for record in layers) < interval.value  # type: ignore[union-attr]
    zero = whole.get("zero_products")
    assert zero is not None
    assert zero.value == 0
    outputs = whole.get("bandwidth.outputs")
    assert outputs is not None
    assert outputs.value * interval.value == pytest.approx(64 * 32)


def test_digits_input_oriented_use_the_array_as_it_is_filled() -> None:
    equal, counted, used = input_oriented.verify("digits", samples=8, seed=4)
    assert [equal.passed, counted.passed, used.passed] == [True, True, True], (equal, counted, used)
    whole, *layers = equal.records
    assert [whole.conditions[name] for name in ("Tm", "Tn", "Tz", "Tr", "Tc")] == [2, 16, 1, 2, 2]
    # One position in four lanes; then 4 x 4 positions in blocks of 2 x 2.
    first, second = (record.get("utilisation") for record in layers[:2])
    assert first is not None
    assert second is not None
    assert first.value < 0.25
    assert second.value > 0.95
    kept = layers[1].get("utilisation.kept")
    assert kept is not None
    assert kept.value / second.value == pytest.approx(LAYERS["digits"][1].kept_macs / LAYERS["digits"][1].macs)


def simulated(engine: Engine = SMALL, seed: int = 5) -> tuple[generate.Design, np.ndarray]:
    chain = CHAINS["a generator"]
    design = generate.generate_network(network(chain, 8, seed), engine, "odd")
    return design, np.stack([item(chain, 8, seed + n) for n in range(3)])


ORIENTED = Engine(
    "tiny", "input_oriented", 8, tm=2, tn=4, tz=2, tr=2, tc=2, acc=28, a_words=8, b_words=8, w_words=1024,
    resident=False, bias_words=4, psum_words=24, drain=2, io=2,
)  # fmt: skip


@pytest.mark.parametrize("engine", [SMALL, ORIENTED], ids=str)
def test_tiles_with_streamed_weights_at_every_pace(engine: Engine) -> None:
    design, x = simulated(engine)
    if engine is SMALL:
        assert any(len(step.tiles) > 1 for step in design.program.steps)
    print("seed", 7)
    runs = [Run(3, seed=7), Run(2, single=True), Run(3, idle=240, stall=240, seed=9)]
    traces = simulation.run(design, x, runs, seed=7)
    assert simulation.worst(design, traces, [design.program.expect(each) for each in x]) == 0
    assert not [problem for trace in traces for problem in evidence.miscounts(design, trace)]
    full, alone, paused = traces
    assert (alone.entered[1:] > alone.left[:-1]).all()
    assert paused.cycles > 1.5 * full.cycles


def test_a_wrong_number_and_a_wrong_count_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = simulation.run

    def off_by_one(*arguments: object) -> list[Trace]:
        traces = right(*arguments)  # type: ignore[arg-type]
        traces[0].beats[1, 2, 0] += 1
        traces[2].counts[1, simulation.COUNTERS.index("kept")] += 3
        return traces

    monkeypatch.setattr(evidence.simulation, "run", off_by_one)
    equal, counted, used = reverse_loop.verify("digits", samples=8, seed=3)
    assert [equal.passed, counted.passed, used.passed] == [False, False, True]
    assert equal.worst == 1 / 128
    assert equal.records == ()
    assert counted.detail == "item 0, deconv2: 401,411 kept counted, 401,408 due"


def test_what_is_unused_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "NETWORK", 1.0)
    *_, used = reverse_loop.verify("digits", samples=8, seed=3)
    assert not used.passed
    assert used.worst == pytest.approx(1 - 0.93, abs=0.03)


def test_what_stands_still_fails_all_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    def stands(*_: object) -> list[Trace]:
        raise SimulationFailed("nothing moved")

    monkeypatch.setattr(evidence.simulation, "run", stands)
    checks = list(reverse_loop.verify("mnist", samples=8))
    assert len(checks) == 6, "two engines"
    assert not any(check.passed for check in checks)
    assert {check.detail for check in checks} == {"nothing moved"}


def test_a_program_that_waits_for_nothing_is_reported() -> None:
    design, x = simulated(replace(SMALL, name="stuck"))
    # Without its last two commands, STORE and END, the program ends early.
    program = replace(design.program, commands=design.program.commands[:-2])
    with pytest.raises(SimulationFailed, match=r"nothing moved for 2000 cycles; .* beat:\d+ out:\d+"):
        simulation.run(replace(design, program=program), x, [Run(1, patience=2000)])
    with pytest.raises(ValueError, match="a run of 4 items, but there are 3"):
        simulation.run(design, x, [Run(4)])


def test_the_items_of_a_check() -> None:
    assert evidence.inputs("digits", 2, 1, 8).shape == (2, 1, 1, 32)
    few = evidence.inputs("digits", 2, 1, 8)
    assert set(np.unique(few[1])) == {-128, 127}
    many = evidence.inputs("digits", 12, 1, 8)
    assert (many[-1] == 0).all()
    assert len(np.unique(many[:8])) > 50
    assert parameters.load("digits").network.input_shape == many.shape[1:]


def test_a_product_too_many_is_one_with_an_inserted_zero() -> None:
    layer = LAYERS["digits"][1]
    right = evidence.Share(layer, (1,), layer.macs, layer.kept_macs, {})
    assert evidence.inserted_zeros([right, right]) == 0
    assert evidence.inserted_zeros([right, replace(right, kept=layer.kept_macs + 5)]) == 5
