"""The protocol: inputs, references, counts, quality, sources."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from md_oracles import LIQUID, SALT

from compare.provenance import repo_root
from workloads.api import UnknownNameError
from workloads.md import WORKLOAD, cases, fixed, forces, quality, traces, work
from workloads.md.traces import Trace


def test_inputs() -> None:
    found = WORKLOAD.inputs("melt1k", 3, 5)
    assert found.shape == (3, 1372, 6)
    assert (WORKLOAD.inputs("melt1k", 2, 5) == found[:2]).all()
    assert (found[0] != found[1]).any()
    assert (WORKLOAD.inputs("melt1k", 1, 6) != found[:1]).any()


@pytest.mark.parametrize("case", ["lj864", "nist"])
def test_references_in_floats_are_the_oracle(case: str) -> None:
    inputs = WORKLOAD.inputs(case, 2, 1)
    for arithmetic in ("fp64", "fp32"):
        found = WORKLOAD.reference(case, inputs, arithmetic)
        wanted = forces.evaluate(cases.system(case), inputs[1, :, :3], cases.system(case).kinds()).forces
        assert (found[1] == wanted).all()


def test_reference_in_integers() -> None:
    inputs = WORKLOAD.inputs("lj864", 1, 1)
    system = cases.system("lj864")
    table = fixed.tables(system, fixed.format_of(system))
    found = WORKLOAD.reference("lj864", inputs, "fixed")[0] / table.force_unit
    assert np.abs(found - np.round(found)).max() < 1e-6
    exact = forces.evaluate(system, inputs[0, :, :3], system.kinds()).forces / table.force_unit
    assert 0 < np.sqrt(((found - exact) ** 2).sum() / (exact**2).sum()) < 5e-5
    with pytest.raises(ValueError, match="nist: 2 cells a side, but the mapping needs at least 3"):
        WORKLOAD.reference("nist", WORKLOAD.inputs("nist", 1, 1), "fixed")


def test_overlaps_have_no_reference_in_integers() -> None:
    inputs = WORKLOAD.inputs("lj864", 2, 1)
    for apart, said in ((0.0, "0"), (0.5, r"0\.5")):
        bad = inputs.copy()
        bad[1, 7, :3] = bad[1, 400, :3] + [0, apart, 0]
        with pytest.raises(
            ValueError, match=f"lj864: particles 7 and 400 are {said} apart, but the table ends at 0.75: take a start"
        ):
            WORKLOAD.reference("lj864", bad, "fixed")
    bad[1, 7, :3] = bad[1, 400, :3]
    with pytest.raises(ValueError, match=r"lj864: particles (7 and 400|400 and 7) are at the same place"):
        WORKLOAD.reference("lj864", bad, "fp64")


def test_bad_numbers_and_shapes_of_states_are_named() -> None:
    for n in (0, -1):
        with pytest.raises(ValueError, match=rf"lj864: {n} start states are asked for, at least 1"):
            WORKLOAD.inputs("lj864", n, 1)
    for shape in ((864, 6), (1, 864, 3), (1, 863, 6), (0, 864, 6)):
        for arithmetic in quality.ARITHMETICS:
            with pytest.raises(
                ValueError, match=r"lj864: states of shape \(.*\), expected \(n, 864, 6\), n at least 1"
            ):
                WORKLOAD.reference("lj864", np.zeros(shape), arithmetic)


@pytest.mark.parametrize("case", ["lj864", "melt1k", "nist"])
def test_counts_are_those_of_a_loop(case: str) -> None:
    system, state = cases.system(case), cases.state(case, work.SEED)
    counts = WORKLOAD.counts(case)
    assert counts["atoms"] == system.n
    assert counts["pairs"] == forces.all_pairs(system, state.positions, state.kinds).pairs
    if case == "nist":
        assert counts["candidates"] == 30 * 29 / 2
        return
    place = (state.positions / np.array(system.cell_edges)).astype(int)
    tested = 0
    for off in itertools.product((-1, 0, 1), repeat=3):
        for cell in {tuple(p) for p in place.tolist()}:
            near = (np.array(cell) + off) % system.cells
            here = int((place == cell).all(1).sum())
            tested += here * (int((place == near).all(1).sum()) - (1 if off == (0, 0, 0) else 0))
    assert counts["candidates"] == tested / 2


def test_counts_of_large_cases_follow_the_density(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "LIKE", "melt4k")
    work.pairs.cache_clear()
    work.counts.cache_clear()
    monkeypatch.setattr(work, "LARGEST", 50_000)
    for case in ("melt20k", "melt108k"):
        system, counts = cases.system(case), WORKLOAD.counts(case)
        sphere = 4 / 3 * math.pi * system.cutoff**3 / system.volume
        assert counts["pairs"] == pytest.approx(system.n**2 / 2 * sphere, rel=0.06)
        volume = 27 * math.prod(system.cell_edges) / system.volume
        assert counts["candidates"] == pytest.approx(system.n**2 / 2 * volume, rel=0.02)
    work.pairs.cache_clear()
    assert "step_fs" not in counts
    monkeypatch.setattr(work, "pairs", lambda _: 2_400_000)
    dhfr = WORKLOAD.counts("dhfr")
    work.counts.cache_clear()
    assert dhfr["step_fs"] == pytest.approx(2.0)
    assert dhfr["candidates"] == pytest.approx(23_558**2 / 2 * 27 / 343, rel=0.02)


def test_operations_of_a_pair() -> None:
    assert work.flops(replace(LIQUID, switch=None)) == 24
    assert work.flops(LIQUID) == 43
    assert work.flops(SALT) == 63


def test_force_errors() -> None:
    assert 1e-7 < quality.force_error("melt1k", "fp32", 1) < 5e-6
    assert 1e-6 < quality.force_error("melt1k", "fixed", 1) < 1e-4
    assert quality.force_error("melt1k", "fp64", 1) < 1e-12
    assert quality.force_error("nist", "fp32", 1) < 5e-6


def test_quality_of_cases_without_traces() -> None:
    for arithmetic, names in (("fp64", set()), ("fp32", {"force_error"}), ("fixed", {"force_error"})):
        assert set(WORKLOAD.quality("melt1k", arithmetic)) == names
    assert WORKLOAD.quality("nist", "fixed") == {}
    assert WORKLOAD.quality("melt4m", "fp32") == {}


def test_quality_of_a_case_with_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    slopes = iter((1e-5, -3e-5, 2e-5, 0.5e-5))

    def short(*_: object, **__: object) -> Trace:
        return Trace(50, np.zeros(2), "epsilon", next(slopes), 1e-6, 2e-6, 3e-7)

    monkeypatch.setattr(traces, "run", short)
    traces.trace.cache_clear()
    found = WORKLOAD.quality("lj864", "fixed")
    traces.trace.cache_clear()
    assert found["energy_drift"] == pytest.approx(math.sqrt((1 + 9 + 4 + 0.25) / 4) * 1e-5)
    assert 0 < found["energy_drift_error"] < found["energy_drift"]
    assert found["energy_deviation"] == pytest.approx(2e-6)
    assert found["momentum"] == pytest.approx(3e-7)
    assert 1e-6 < found["force_error"] < 1e-4
    assert quality.samples("lj864") == WORKLOAD.cases["lj864"].quality_samples == 4


@pytest.mark.parametrize("case", list(cases.SYSTEMS))
def test_sources_exist_and_are_all(case: str) -> None:
    sources = WORKLOAD.sources(case)
    assert all((repo_root() / s).is_file() for s in sources)
    modules = {str(p.relative_to(repo_root())) for p in (repo_root() / "workloads/md").glob("*.py")}
    assert modules - set(sources) == {"workloads/md/equilibrate.py"}
    assert ("workloads/md/states/lj864.npz" in sources) == (case == "lj864")


def test_unknown_names_are_named() -> None:
    inputs = np.zeros((1, 1, 6))
    for call in (
        lambda: WORKLOAD.inputs("nope", 1, 1),
        lambda: WORKLOAD.reference("nope", inputs, "fp64"),
        lambda: WORKLOAD.operations("nope"),
        lambda: WORKLOAD.counts("nope"),
        lambda: WORKLOAD.quality("nope", "fp64"),
        lambda: WORKLOAD.sources("nope"),
    ):
        with pytest.raises(UnknownNameError, match="unknown case 'nope'; valid: lj864"):
            call()
    with pytest.raises(UnknownNameError, match="unknown arithmetic 'fp16'; valid: fp64, fp32, fixed"):
        WORKLOAD.reference("lj864", inputs, "fp16")
    with pytest.raises(UnknownNameError, match="unknown arithmetic 'int8'"):
        WORKLOAD.quality("lj864", "int8")


def test_operations() -> None:
    found = WORKLOAD.operations("lj864")
    assert (found.macs, found.bytes_in, found.bytes_out) == (0, 864 * 24, 864 * 24)
