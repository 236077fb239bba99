"""The comparison of `md` on invented records: pairs and ns/day, sizes, whole applications, traces, the claims."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import md_records as made
import numpy as np
import pytest
from synthetic_records import measurement, rows
from test_tables import terminal

from compare import application, motion_tables, plots, tables, text, traces, writers
from compare.comparison import Comparison, compare
from compare.drawings import drawings
from compare.judge import Verdict
from compare.motion import ATOMS, PAIRS, TIME
from compare.outputs import write_outputs
from compare.provenance import hash_sources
from compare.record import Boundary, Record
from compare.referee import Ratio, Refusal, ratio
from compare.rows import with_quality
from compare.store import write_records


def compared(folder: Path, records: Iterable[Record]) -> Comparison:
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a").write_text("a")
    now = hash_sources(folder, ["src"])
    fresh = [replace(r, provenance=replace(r.provenance, sources_hash=now)) for r in records]
    write_records(folder / "records", "t", fresh)
    return compare("md", folder, [folder / "records"])


@pytest.fixture(scope="module")
def story() -> Comparison:
    with tempfile.TemporaryDirectory() as folder:
        return compared(Path(folder), made.whole_story())


def lines(found: Comparison, title: str) -> list[dict[str, str]]:
    (one,) = [t for t in tables.tables(found) if t.title == title]
    return [dict(zip(one.columns, row, strict=True)) for row in one.rows]


def test_nothing_was_lost(story: Comparison) -> None:
    assert (story.problems, story.stale, story.superseded) == ((), (), 0)
    assert {row.device for row in story.rows} == {"nvidia-h200", "lfe5u-85f", "xcvu9p"}


def test_rates_follow_from_the_counts_of_a_step_and_carry_the_band(story: Comparison) -> None:
    (row,) = [r for r in story.rows if r.device == "lfe5u-85f"]
    rate = row.figures["throughput"]
    assert rate.value == pytest.approx(90e6 / 6_200)
    for name, factor in ((PAIRS, 23_800), (ATOMS, 864)):
        figure = row.figures[name]
        assert (figure.value, figure.low, figure.high) == pytest.approx(
            (rate.value * factor, (rate.low or 0) * factor, (rate.high or 0) * factor)
        )
        assert figure.grade == "simulated × post-route"
    assert TIME not in row.figures  # reduced units have no day


def test_nanoseconds_a_day(story: Comparison) -> None:
    (row,) = [r for r in story.rows if r.device == "xcvu9p"]
    # 340e6 / 112,000 steps/s of 2 fs for 86,400 s
    assert row.figures[TIME].value == pytest.approx(340e6 / 112_000 * 2e-6 * 86_400)
    line = next(each for each in lines(story, motion_tables.MOTION) if each["device"] == "xcvu9p")
    assert (line["ns/day"], line["force error"]) == ("525", "4.0e-05")
    assert "assumed" in line["evidence"]


def test_without_counts_nothing_is_derived(tmp_path: Path) -> None:
    bare = compared(tmp_path, (r for r in made.whole_story() if r.get("pairs") is None))
    assert not any(PAIRS in row.figures or TIME in row.figures for row in bare.rows)
    assert bare.points == bare.sizes == bare.applications == ()


def test_systems(story: Comparison) -> None:
    line = next(each for each in lines(story, motion_tables.SYSTEMS) if each["case"] == "argon20k")
    assert line["pass"] == "15.5 %"
    assert line["useful flop a step"] == "76.4 Mflop"
    assert line["time step"] == "2 fs"


def test_errors_that_are_small_enough_are_alike_and_others_within_a_factor(story: Comparison) -> None:
    fpga = next(r for r in story.rows if r.device == "lfe5u-85f")
    gpu = next(r for r in story.rows if r.case == "lj864" and r.implementation == "gpu/md/cuda" and r.batch == 1000)
    assert set(fpga.quality) == {"force_error", "energy_drift"}
    assert {name: f.value for name, f in gpu.quality.items()} == {"force_error": 3e-7}  # its own; nobody saw it drift
    allowed = ratio(fpga, gpu, "throughput")
    assert isinstance(allowed, Ratio)
    assert "quality by force error; energy drift of one side only" in allowed.notes
    bad = replace(gpu, quality={**gpu.quality, "force_error": replace(gpu.quality["force_error"], value=3e-3)})
    refused = ratio(fpga, bad, "throughput")
    assert isinstance(refused, Refusal)
    assert "force_error 4e-05 against 0.003 is too unlike" in refused.reason


def test_only_who_equals_the_oracle_has_a_drift_that_it_did_not_measure(story: Comparison) -> None:
    fpga = next(r for r in story.rows if r.device == "lfe5u-85f")
    known = {("md", "lj864", "fixed"): fpga.quality}
    own = {"force_error": replace(fpga.quality["force_error"], value=5e-5)}
    measured = replace(fpga, quality=own)
    assert with_quality(measured, known).quality == own
    record = replace(fpga.records[0], conditions={"arithmetic": "fixed", "worst_difference": 0.0, "tolerance": 0.0})
    proved = with_quality(replace(measured, records=(record,)), known)
    assert set(proved.quality) == {"force_error", "energy_drift"}
    assert (text.quality(fpga), text.quality(measured)) == ("drift 1.5e-04 / force 4.0e-05", "force 5.0e-05")


def test_without_a_force_error_on_both_sides_nothing_is_divided(story: Comparison) -> None:
    fpga = next(r for r in story.rows if r.device == "lfe5u-85f")
    gpu = next(r for r in story.rows if r.case == "lj864" and r.implementation == "gpu/md/cuda" and r.batch == 1000)
    for names in (["energy_drift"], []):
        one = replace(fpga, quality={name: fpga.quality[name] for name in names})
        assert isinstance(ratio(one, gpu, "throughput"), Refusal)


def test_change_of_energy_of_what_was_timed_stands_beside_its_steps(story: Comparison, tmp_path: Path) -> None:
    found = {
        (r["case"], r["implementation"]): r["energy change a particle"] for r in lines(story, motion_tables.MOTION)
    }
    assert found["lj864", "gpu/md/cuda"] == "-1.3e-04 ε in 411,000 steps"
    assert found["argon20k", "gpu/md/cuda"] == "-1.3e-04 kJ/mol in 411,000 steps"
    assert found["lj864", made.ENGINE] == "–"
    write_outputs(story, tmp_path)
    assert all("411,000 steps" in (tmp_path / f"md{end}").read_text() for end in ("-motion.csv", ".md", ".html"))
    row = next(r for r in csv.DictReader((tmp_path / "md.csv").open()) if r["energy_change"])
    assert (row["energy_change"], row["steps_run"], row["boundary"]) == ("-0.000125", "411000.0", "kernel")


def test_size_from_which_the_gpu_is_ahead(story: Comparison) -> None:
    by_kernel = {(c.fpga.row.case, c.points[0].row.implementation): c for c in story.sizes}
    # JAX-MD does 7,000 x 23,800 = 167 M pairs/s at 864 atoms and the engine 345 M; at 20,000 atoms it does 4.3 G.
    crossing = by_kernel["lj864", "gpu/md/jax_md"]
    assert crossing.atoms is not None
    assert 1_372 < crossing.atoms < 20_000
    assert crossing.low is not None
    assert crossing.high is not None
    assert crossing.low < crossing.atoms < crossing.high
    assert by_kernel["lj864", "gpu/md/cuda"].reason == "at every size measured"
    # An atom of argon20k has six times as many pairs: it is no point of the line through the melts.
    assert {p.row.case for c in story.sizes for p in c.points} == {"lj864", "melt1k", "melt108k"}
    shown = lines(story, motion_tables.SIZES)
    assert any(line["ahead from, atoms"] == "at every size measured" for line in shown)


def test_a_slower_line_is_ahead_at_no_size(tmp_path: Path) -> None:
    slow = [r for r in made.whole_story() if not r.implementation.startswith("gpu/")]
    slow += [made.kernel("gpu/md/jax_md", case, 1000, 1.0) for case in made.SYSTEMS]
    found = compared(tmp_path, slow)
    assert {c.reason for c in found.sizes} == {"at no size measured"}


def test_gain_of_an_application_is_bounded_by_its_host_work(story: Comparison) -> None:
    (small,) = [a for a in story.applications if a.engine.over.case == "lj864"]
    assert small.engine.under.implementation == "gpu/md/cuda"
    assert small.engine.value == pytest.approx(90e6 / 6_200 / 90_000)
    assert list(small.shared) == sorted(small.shared)  # a slower engine matters less the more there is besides
    assert small.shared[-1] == pytest.approx(1.0, abs=0.06)
    assert small.halved is None
    assert application.gain(1.0, 10.0, 0.0, 0.0) == 10.0
    host = application.limit(1.0, 10.0, 0.5, 2.0)
    assert host == 7.5
    assert application.gain(1.0, 10.0, host, 0.5) == pytest.approx(2.0)


def test_trace_there_and_back() -> None:
    energy = np.linspace(-5, -4.9, 7)
    record = made.of_oracle("lj864", measurement("points", 7, statistic="count", boundary=Boundary.NONE),
                            arithmetic="fp64", **traces.pack(energy, 50, "epsilon"))  # fmt: skip
    (trace,), problems = traces.traces_of(rows(record))
    assert problems == []
    assert np.array_equal(trace.energies, energy)
    assert (trace.steps, trace.unit) == (50, "epsilon")


@pytest.mark.parametrize(
    ("change", "message"),
    [({"trace": "no base 64!"}, "base64"), ({"steps": 0}, "positive integer"), ({"trace": None}, "808 are stated")],
)
def test_a_broken_trace_is_a_problem(change: dict[str, str | int | None], message: str) -> None:
    good = made.trace("lj864", "fp64", 0.0)
    found, problems = traces.traces_of(rows(replace(good, conditions={**good.conditions, **change})))
    assert found == ()
    assert message in str(problems[0])


@pytest.mark.parametrize("energy", [np.zeros(1), np.zeros((2, 2)), np.array([0.0, np.nan])])
def test_what_is_no_trace_is_refused(energy: np.ndarray) -> None:
    with pytest.raises(ValueError, match="a trace has"):
        traces.pack(energy, 1, "epsilon")


def test_claims_are_judged(story: Comparison) -> None:
    verdicts = {judged.claim.name: judged.verdict for judged in story.claims}
    assert verdicts["FPGA against GPU, 20,000 atoms"] == Verdict.CONTRADICTED
    assert verdicts["small systems"] == Verdict.CONTRADICTED
    assert verdicts["energy"] in (Verdict.NO_EVIDENCE, Verdict.NOT_COMPARABLE)
    assert verdicts["one FPGA, 20,000 atoms"] == Verdict.CONTRADICTED  # 525 of 590 ns/day


def test_figures_and_files(story: Comparison, tmp_path: Path) -> None:
    names = {drawing.name for drawing in drawings(story)}
    assert {"lj864-energy", "sizes"} <= names
    written = {path.name for path in write_outputs(story, tmp_path)}
    assert {"md-motion.csv", "md-systems.csv", "md-sizes.csv", "md-application.csv", "md-sizes.svg"} <= written
    assert "whole application" in terminal(story)
    said = writers.markdown(story)
    for title in (motion_tables.SYSTEMS, motion_tables.MOTION, motion_tables.SIZES, motion_tables.APPLICATION):
        assert title in said


def test_one_size_has_no_figure_of_sizes(tmp_path: Path) -> None:
    found = compared(tmp_path, (r for r in made.whole_story() if r.case == "lj864"))
    assert "sizes" not in {drawing.name for drawing in drawings(found)}
    assert plots.figures(found)
