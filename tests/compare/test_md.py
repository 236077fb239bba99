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
from matplotlib.figure import Figure as Canvas
from synthetic_records import measurement, rows
from test_tables import terminal

from compare import application, motion_tables, plots, tables, text, traces, writers
from compare.batches import Crossing
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
    assert any(line["on that line ahead from, atoms"] == "at every size measured" for line in shown)


def test_sizes_say_which_systems_a_line_is_of_and_who_is_ahead_at_the_designs_own(story: Comparison) -> None:
    shown = {(c.fpga.row.case, c.points[0].row.implementation): (c, line)
             for c, line in zip(story.sizes, lines(story, motion_tables.SIZES), strict=True)}  # fmt: skip
    crossing, line = shown["argon20k", "gpu/md/cuda"]
    assert "argon20k of 166 pairs an atom" in line["FPGA design"]
    assert line["line of sizes"] == "lj864 to melt108k, 864 to 108,000 atoms of 28 pairs, systems of another kind"
    assert crossing.own is not None
    # The engine does 340e6 / 112,000 steps/s of argon20k, the kernel 15,000; the same system, so as many pairs.
    assert crossing.own.value == pytest.approx(15_000 * 112_000 / 340e6)
    assert line["at the design's own case"].startswith("GPU ahead, 4.94")
    jax = shown["argon20k", "gpu/md/jax_md"][1]
    assert jax["at the design's own case"].startswith("FPGA ahead, 2.34")
    own, line = shown["lj864", "gpu/md/jax_md"]
    assert own.alike
    assert "another kind" not in line["line of sizes"]


def test_a_case_that_no_kernel_ran_has_no_ratio_of_its_own(tmp_path: Path) -> None:
    bare = (r for r in made.whole_story() if r.case != "argon20k" or not r.implementation.startswith("gpu/"))
    found = compared(tmp_path, bare)
    assert {c.own for c in found.sizes if c.fpga.row.case == "argon20k"} == {None}
    assert "–" in {line["at the design's own case"] for line in lines(found, motion_tables.SIZES)}


def test_a_slower_line_is_ahead_at_no_size(tmp_path: Path) -> None:
    slow = [r for r in made.whole_story() if not r.implementation.startswith("gpu/")]
    slow += [made.kernel("gpu/md/jax_md", case, 1000, 1.0) for case in made.SYSTEMS]
    found = compared(tmp_path, slow)
    assert {c.reason for c in found.sizes} == {"at no size measured"}


def test_gain_of_an_application_is_bounded_by_its_host_work(story: Comparison) -> None:
    small, package = [a for a in story.applications if a.engine.over.case == "lj864"]
    assert small.engine.under.implementation == "gpu/md/cuda"
    assert package.engine.under.implementation == "gpu/md/jax_md"
    assert small.engine.value == pytest.approx(90e6 / 6_200 / 90_000)
    assert list(small.shared) == sorted(small.shared)  # a slower engine matters less the more there is besides
    assert small.shared[-1] == pytest.approx(1.0, abs=0.06)
    # The GPU's lead falls to 2 as the host adds what its step lacks to half the engine's.
    moved = 2 * 864 * 12 / 12e9
    assert small.halved == pytest.approx(6_200 / 90e6 - 2 / 90_000 - moved)
    assert application.gain(1 / 90_000, 6_200 / 90e6, small.halved, moved) == pytest.approx(2.0)
    assert application.gain(1.0, 10.0, 0.0, 0.0) == 10.0
    host = application.limit(1.0, 10.0, 0.5, 2.0)
    assert host == 7.5
    assert application.gain(1.0, 10.0, host, 0.5) == pytest.approx(2.0)


def test_whole_steps_have_host_work_and_both_transfers(story: Comparison) -> None:
    row = next(r for r in story.rows if r.case == "argon20k" and r.device == "xcvu9p")
    whole = row.figures[application.WHOLE]
    assert whole.value == pytest.approx(1 / (112_000 / 340e6 + 100e-6 + 2 * 20_000 * 12 / 12e9))
    assert (whole.grade, whole.low) == ("simulated × modelled", None)
    kernel = next(r for r in story.rows if r.case == "argon20k" and r.implementation == "gpu/md/cuda")
    seen = kernel.figures[application.WHOLE]
    assert seen.grade == "measured × modelled"
    assert seen.low is not None
    assert seen.high is not None
    assert seen.low < seen.value < seen.high < kernel.figures["throughput"].value
    assert all(application.WHOLE not in r.figures for r in story.rows if r.boundary != Boundary.KERNEL)


def test_the_gain_of_an_application_is_claimed_of_whole_steps(story: Comparison) -> None:
    (judged,) = [j for j in story.claims if j.claim.name == "gain of an application"]
    assert judged.verdict == Verdict.CONTRADICTED
    by_side = {f.test.what.rpartition("over ")[2]: f for f in judged.findings}
    moved = 100e-6 + 2 * 20_000 * 12 / 12e9
    found = by_side["the fastest GPU kernel"]
    assert found.value == pytest.approx((1 / 15_000 + moved) / (112_000 / 340e6 + moved))
    assert by_side["JAX-MD"].verdict == Verdict.SUPPORTED  # 1.94: the engine alone does 2.34
    assert all(word in judged.claim.note for word in ("100 µs", "12 GB/s", "assumed"))


def test_ratios_are_headed_by_the_rule_of_errors(story: Comparison) -> None:
    (title,) = [t.title for t in tables.tables(story) if t.title.startswith("Ratios")]
    assert title == (
        "Ratios: A over B (same quality: errors of both at most 0.001, or the larger at most 2 times the smaller)"
    )


def of_kernels(canvas: Canvas) -> dict[str, str]:
    return {t.get_text().split("\n")[0]: t.get_color() for t in canvas.axes[0].texts if t.get_text()[:4] == "gpu/"}


def test_a_kernel_has_one_colour_in_all_figures(story: Comparison) -> None:
    found = {drawing.name: of_kernels(drawing.canvas) for drawing in drawings(story)}
    assert set(found["lj864"]) == {"gpu/cuda fp32", "gpu/jax_md fp32"}
    # There is no FPGA design in the figure of melt1k, so colours in order would differ.
    assert found["lj864"] == found["argon20k"] == found["melt1k"] == found["sizes"]


def test_colours_in_one_figure_differ_whatever_is_shared(story: Comparison) -> None:
    rows = [r for r in story.rows if r.boundary == Boundary.KERNEL][:5]
    assert len(set(plots.painted(rows, {plots._name(r): "#000000" for r in rows}))) == len(rows)
    assert plots.painted(rows[:2], {}) == list(plots.PALETTE[:2])


def test_a_label_says_of_what_a_kernel_is_ahead_and_at_which_batch() -> None:
    def said(**crossing: object) -> str:
        return plots._from(Crossing(**crossing))  # type: ignore[arg-type]

    assert said(first=1000, last=1000, batch=1000) == "ahead of FPGA at batch 1,000"
    assert said(first=1000, last=1000) == "behind FPGA at batch 1,000"
    assert said(first=1, last=512, batch=1) == "ahead of FPGA at every batch"
    assert said(first=1, last=512, batch=33, between=(32, 64)) == "ahead of FPGA from 33"
    assert said(first=1, last=512) == "behind FPGA up to 512"


def test_leaders_are_no_data_and_names_of_traces_say_of_how_many_runs(story: Comparison) -> None:
    found = {drawing.name: drawing.canvas for drawing in drawings(story)}
    for name in ("melt1k", "sizes"):
        grey = [line for line in found[name].axes[0].lines if line.get_color() == plots.LEADER["color"]]
        assert len(grey) >= 2
    names = [t.get_text() for t in found["lj864-energy"].axes[0].texts]
    assert any("rms of 8 runs" in name for name in names)
    assert "one run" in found["lj864-energy"].axes[0].get_title(loc="left")


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
