"""The comparison of `deconv` on invented records: two ways to count, layers, variation, pictures, the claims.

`python tests/compare/test_deconv.py` writes the golden files anew; read the difference before you commit it.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from unittest import mock

import deconv_records as made
import pytest
from synthetic_records import measurement
from test_bcnn import known_devices
from test_outputs import Reader, text_box
from test_tables import GOLDEN, terminal

from compare import claim_tables, devices, drawings, tables, work_tables, writers
from compare.claim import load_claims
from compare.comparison import Comparison, compare
from compare.judge import Judged, Verdict
from compare.outputs import write_outputs
from compare.provenance import hash_sources
from compare.record import Boundary, Record, Stage
from compare.referee import SAME_ARITHMETIC, SAME_QUALITY
from compare.store import write_records
from workloads.deconv import WORKLOAD


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "devices", known_devices)


def compared(folder: Path, records: Iterable[Record], case: str | None = None) -> Comparison:
    """Compare records as their sources' hashes are today's, but for those of sources named `gone`."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a").write_text("a")
    now = hash_sources(folder, ["src"])
    fresh = [
        replace(r, provenance=replace(r.provenance, sources_hash=now)) if r.provenance.sources == ("src",) else r
        for r in records
    ]
    write_records(folder / "records", "t", fresh)
    return compare("deconv", folder, [folder / "records"], case)


@pytest.fixture(scope="module")
def story() -> Comparison:
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(devices, "devices", known_devices):
        return compared(Path(folder), made.whole_story())


WRITERS = {"deconv.md": writers.markdown, "deconv.txt": terminal, "deconv.tex": writers.latex}


@pytest.mark.parametrize("name", WRITERS)
def test_golden(story: Comparison, name: str) -> None:
    assert WRITERS[name](story) == (GOLDEN / name).read_text(encoding="utf-8")


def test_nothing_was_lost_and_nothing_is_stale(story: Comparison) -> None:
    assert story.cases == ("celeba", "dcgan", "digits", "gan3d", "mnist")
    assert (story.problems, story.stale, story.superseded) == ((), (), 0)
    assert len(story.layers) == sum(made.LAYERS.values())


def table(found: Comparison, title: str) -> list[dict[str, str]]:
    (one,) = [t for t in tables.tables(found) if t.title.startswith(title)]
    return [dict(zip(one.columns, row, strict=True)) for row in one.rows]


def test_the_story_counts_as_the_workload_does() -> None:
    for case, (useful, kept, equivalent) in made.MACS.items():
        work = WORKLOAD.operations(case)
        assert (work.macs, work.kept_macs, work.equivalent_macs) == (useful, kept, equivalent)


def test_rates_are_shown_apart_and_what_a_watt_gives_only_where_it_was_metered(story: Comparison) -> None:
    lines = table(story, "Operations a second")
    assert {"useful, op/s", "equivalent, op/s", "useful, op/s/W", "equivalent, op/s/W"} <= set(lines[0])
    for line in lines:
        fpga = line["implementation"].startswith("designs/")
        assert (line["useful, op/s/W"] == "–") == (line["equivalent, op/s/W"] == "–") == fpga
    (oriented,) = [line for line in lines if line["case"] == "dcgan" and line["device"] == "xc7vx690t"]
    assert (oriented["useful, op/s"], oriented["equivalent, op/s"]) == ("782 G", "3.15 T")
    assert oriented["evidence"] == "simulated × modelled"


def test_no_ratio_sets_a_way_to_count_against_another(story: Comparison) -> None:
    for found in story.ratios:
        assert found.figure.partition(" ")[0] in ("throughput", "latency_p50", "latency_p99", "energy")
    counted = [row.figures["rate.useful"].value / row.figures["throughput"].value
               for row in story.rows if "rate.useful" in row.figures and row.case == "dcgan"]  # fmt: skip
    assert min(counted) == max(counted) == pytest.approx(2 * made.MACS["dcgan"][0])


def test_layers_are_no_rows_and_have_a_table_of_their_own(story: Comparison) -> None:
    assert not any("layer" in row.conditions for row in story.rows)
    lines = table(story, work_tables.LAYERS)
    assert [line["layer"] for line in lines if line["case"] == "gan3d"] == [f"deconv{n}" for n in range(1, 6)]
    assert lines[0]["multipliers"] == "16 = 4 × 4 × 1 × 1 × 1"
    whole = {line["case"]: line for line in table(story, work_tables.ARRAYS)}
    assert (whole["dcgan"]["useful"], whole["dcgan"]["kept"]) == ("95.5 %", "80.0 %")
    assert whole["dcgan"]["memory traffic, B/cycle"] == "weights 61.2 (12.2 GB/s), inputs 0.500 (100 MB/s)"
    assert {line["by inserted zeros"] for line in whole.values()} == {"0"}


def test_configurations_of_one_design_stand_side_by_side(tmp_path: Path) -> None:
    small = {**made.VC709, "multipliers": 128, "Tm": 2, "Tn": 4, "Tz": 1}
    both = [
        *made.simulated("dcgan", made.ORIENTED, small, 0.8),
        *made.simulated("dcgan", made.ORIENTED, made.VC709, 0.9),
    ]
    found = compared(tmp_path, [*both, *(r for r in made.published() if r.case == "dcgan")])
    assert {(row.device, row.array.split(" ")[0]) for row in found.rows} == {
        ("simulation", "128"),
        ("xc7vx690t", "2,048"),
    }
    assert len(found.layers) == 10
    assert found.superseded == 0
    assert found.refusals == ()


def test_an_assumed_clock_is_of_an_array(tmp_path: Path) -> None:
    small = {**made.VC709, "multipliers": 128}
    records = [*made.simulated("dcgan", made.ORIENTED, small, 0.8), *(r for r in made.published() if r.case == "dcgan")]
    (refused,) = compared(tmp_path, records).refusals
    assert refused.reason == "multipliers 128 was simulated, the clock is assumed for 2048"


def test_an_interval_of_two_items_counts_when_its_layers_bear_it_out(story: Comparison, tmp_path: Path) -> None:
    (row,) = [r for r in story.rows if r.case == "gan3d" and r.assumed_clock]
    assert row.figures["throughput"].value == pytest.approx(200e6 / round(made.MACS["gan3d"][0] / 2048 / 0.93))
    assert "interval of 2 items, 0.0 % above the sum of its layers' own cycles; the longer counts" in row.notes
    assert "variation" not in row.figures, "one step shows none"

    def stretched(factor: float) -> Comparison:
        network, *layers = made.simulated("gan3d", made.ORIENTED, made.VC709, 0.93)
        figures = network.measurements
        slower = tuple(replace(m, value=m.value * factor) if m.quantity == "interval" else m for m in figures)
        records = [replace(network, measurements=slower), *layers, *(r for r in made.published() if r.case == "gan3d")]
        return compared(tmp_path / str(factor), records)

    least = row.figures["interval"].value
    for factor, longer in ((1.04, 1.04), (0.96, 1.0)):
        (joined,) = stretched(factor).rows
        assert joined.figures["interval"].value == pytest.approx(least * longer, rel=1e-5)
    for factor in (1.06, 0.94):
        (refused,) = stretched(factor).refusals
        assert refused.reason == "2 items at the pins give no interval, 8 are needed"


def test_quality_of_untrained_parameters_is_labelled(story: Comparison) -> None:
    lines = table(story, "Quality")
    assert all(
        (line["mmd"] == "–") == ("untrained" in line["evidence"]) == (line["case"] != "digits") for line in lines
    )
    said = " ".join(tables.remarks(story))
    assert "Parameters of celeba, dcgan, gan3d, mnist are untrained" in said


def test_noise_below_that_of_pixels_is_the_same_quality_and_more_is_not(story: Comparison) -> None:
    asked = {(r.under.arithmetic, r.division) for r in story.ratios
             if r.over.device == "xc7vx690t" and r.figure == "throughput"}  # fmt: skip
    assert asked == {("fixed16", SAME_ARITHMETIC), ("fp16", SAME_QUALITY)}
    reasons = {r.reason for r in story.refusals if r.over.device == "xc7vx690t" and r.under.arithmetic == "fixed8"}
    assert (
        "unlike arithmetic, fixed16 against fixed8, and sqnr 71.9 against 24.1 dB differs by more than 1 dB" in reasons
    )


def test_the_variation_of_a_gpu_has_a_band_and_that_of_a_pipeline_is_none(story: Comparison) -> None:
    lines = table(story, work_tables.VARIATIONS)
    steady = {line["case"] for line in lines if line["implementation"].startswith("designs/")}
    assert steady == {"digits", "mnist"}, "two items do not show that a network takes as long each time"
    for line in lines:
        if line["implementation"].startswith("designs/"):
            assert line["from run to run"] == "none, exact"
        else:
            assert line["from run to run"].endswith("], n = 30")
            assert "a run: 400 launches one after another" in line["evidence"]


def verdicts(found: Comparison) -> dict[tuple[str, str], Verdict]:
    return {(judged.claim.case, judged.claim.name): judged.verdict for judged in found.claims}


PEAK, ENERGY, ZEROS = "peak throughput", "energy against a GPU", "no inserted zeros"


def test_every_claim_has_its_verdict(story: Comparison) -> None:
    assert verdicts(story) == {
        ("celeba", "throughput per watt"): Verdict.NOT_COMPARABLE,
        ("mnist", "variation"): Verdict.NO_EVIDENCE,
        ("celeba", "variation"): Verdict.NO_EVIDENCE,
        ("dcgan", f"{PEAK}, 2D"): Verdict.NOT_COMPARABLE,
        ("gan3d", f"{PEAK}, 3D"): Verdict.NOT_COMPARABLE,
        ("gan3d", "speed against a CPU"): Verdict.NO_EVIDENCE,
        ("dcgan", f"{ENERGY}, 2D"): Verdict.NOT_COMPARABLE,
        ("gan3d", f"{ENERGY}, 3D"): Verdict.NOT_COMPARABLE,
        ("dcgan", f"{ZEROS}, 2D"): Verdict.SUPPORTED,
        ("gan3d", f"{ZEROS}, 3D"): Verdict.SUPPORTED,
        ("gan3d", "one architecture"): Verdict.SUPPORTED,
    }
    for judged in story.claims:
        for finding in judged.findings:
            assert finding.reason or finding.verdict in (Verdict.SUPPORTED, Verdict.CONTRADICTED)


def line_of(found: Comparison, claim: str, what: str) -> claim_tables.Line:
    judged: Judged = next(j for j in found.claims if j.claim.name == claim)
    return next(line for line in claim_tables.lines(judged) if what in line.what)


def test_without_a_meter_at_the_fpga_the_claim_says_what_it_could_draw(story: Comparison) -> None:
    ground = line_of(story, f"{ENERGY}, 2D", "PyTorch").ground
    energy = next(r.figures["energy"].value for r in story.rows
                  if (r.case, r.implementation, r.batch) == ("dcgan", "gpu/deconv/torch", 512))  # fmt: skip
    watts = energy * 200e6 / round(made.MACS["dcgan"][0] / 2048 / 0.955) / 8.3
    assert ground.startswith(
        "FPGA power is not known; no record carries it; it would hold if designs/deconv/input_oriented"
    )
    assert ground.endswith(f"drew at most {watts:.3g} W at its rate")
    # The kernel of least energy is of another quality: the bound is against the best that may be divided.
    best = line_of(story, f"{ENERGY}, 2D", "the best GPU kernel").ground
    assert best.endswith(
        "the bound is against gpu/deconv/cuda on nvidia-h200 (fp16, batch 512, graph), whose quality is the same"
    )
    assert "no record has energy of any row on jetson*" in line_of(story, "throughput per watt", "embedded").ground


def test_the_figures_of_the_claims_are_those_of_the_paper_and_of_the_workload() -> None:
    trials = {(c.name, t.quantity): t for c in load_claims("deconv") for t in c.tests}
    peak = next(m.value for r in made.published() for m in r.measurements if m.quantity == "rate.equivalent")
    clock = next(m.value for r in made.published() for m in r.measurements
                 if m.quantity == "clock" and r.implementation == "paper/wang-2019")  # fmt: skip
    assert 2 * 2048 * clock == pytest.approx(0.82e12, rel=0.01), "the ceiling of useful operations"
    for case, dimensions in (("dcgan", 2), ("gan3d", 3)):
        name = f"{PEAK}, {dimensions}D"
        assert trials[name, "rate.equivalent"].at_least == peak == 3.0e12
        cycles = 2 * WORKLOAD.operations(case).equivalent_macs / (peak / clock)
        assert trials[name, "interval"].at_most == int(cycles)
        assert trials[f"{ZEROS}, {dimensions}D", "saving"].at_least == 2**dimensions


def slow(r: Record) -> list[Record]:
    return [] if r.device == "simulation" and r.case in ("dcgan", "gan3d") else [r]


def changed(case: str, share: float, zeros: int = 0) -> Callable[[Record], list[Record]]:
    def change(r: Record) -> list[Record]:
        if r.device != "simulation" or r.case != case:
            return [r]
        return [] if "layer" in r.conditions else made.simulated(case, made.ORIENTED, made.VC709, share, zeros)

    return change


def another_engine(r: Record) -> list[Record]:
    return [replace(r, conditions={**r.conditions, "engine": "other"})] if r.case == "dcgan" else [r]


def metered(watts: float) -> Callable[[Record], list[Record]]:
    """As if a board had been on the meter: power and rate of the FPGA in one record."""

    def change(r: Record) -> list[Record]:
        if r.device != "xc7vx690t" or r.case != "gan3d" or r.get("luts") is None:
            return [r]
        power = measurement("power", watts, statistic="mean", boundary=Boundary.BOARD)
        rate = measurement("throughput", 98.0, statistic="median", samples=9)
        return [r, replace(r, measurements=(power, rate), conditions={**r.conditions, "board": "vc709"})]

    return change


def on_a_cpu(rate: float) -> Callable[[Record], list[Record]]:
    def change(r: Record) -> list[Record]:
        if r.case != "gan3d" or r.conditions.get("batch") != 1 or r.conditions["arithmetic"] != "fixed16":
            return [r]
        made_here = measurement("throughput", rate, statistic="median", samples=9)
        return [r, replace(r, device="cpu-test", measurements=(made_here,))]

    return change


@pytest.mark.parametrize(
    ("change", "name", "verdict"),
    [
        (changed("dcgan", 0.5), f"{PEAK}, 2D", Verdict.CONTRADICTED),
        (changed("dcgan", 0.5), "one architecture", Verdict.CONTRADICTED),
        (changed("gan3d", 0.4), f"{PEAK}, 3D", Verdict.CONTRADICTED),
        (changed("gan3d", 0.9, zeros=12), f"{ZEROS}, 3D", Verdict.CONTRADICTED),
        (another_engine, "one architecture", Verdict.CONTRADICTED),
        (slow, "one architecture", Verdict.NO_EVIDENCE),
        (slow, f"{ZEROS}, 2D", Verdict.NO_EVIDENCE),
        (metered(0.01), f"{ENERGY}, 3D", Verdict.SUPPORTED),
        (metered(30.0), f"{ENERGY}, 3D", Verdict.CONTRADICTED),
        (on_a_cpu(0.5), "speed against a CPU", Verdict.SUPPORTED),
        (on_a_cpu(50.0), "speed against a CPU", Verdict.CONTRADICTED),
    ],
)
def test_verdicts_flip_when_the_records_do(
    tmp_path: Path, change: Callable[[Record], list[Record]], name: str, verdict: Verdict
) -> None:
    records = [new for r in made.whole_story() if r.case in ("dcgan", "gan3d") for new in change(r)]
    found = {judged.claim.name: judged.verdict for judged in compared(tmp_path, records).claims}
    assert found[name] == verdict


def test_without_records_every_claim_waits(tmp_path: Path) -> None:
    found = compared(tmp_path, made.published())
    assert set(verdicts(found).values()) == {Verdict.NO_EVIDENCE}
    assert {r.reason for r in found.refusals} == {"no record of a simulation"}


def test_a_claim_about_two_cases_stays_out_of_one(tmp_path: Path) -> None:
    found = compared(tmp_path, made.whole_story(), "gan3d")
    assert {judged.claim.name for judged in found.claims} == {
        f"{PEAK}, 3D", "speed against a CPU", f"{ENERGY}, 3D", f"{ZEROS}, 3D",
    }  # fmt: skip


def test_published_records_say_how_they_are_known() -> None:
    for r in made.published():
        assert r.conditions["trust"] in ("read", "unverified")
        assert {m.stage for m in r.measurements} <= {Stage.PUBLISHED, Stage.MODELLED}
        assert (r.conditions["trust"] == "read") == ("abstract" in r.provenance.source)


def test_json_and_csv_have_all_of_it(story: Comparison) -> None:
    data = json.loads(writers.as_json(story))
    assert {r["case"] for r in data["operations"]} == set(made.MACS)
    assert len(data["layers"]) == len(story.layers)
    names = ("fp32", "fp16", "fixed16", "fixed8", "real")
    assert {s["arithmetic"]: s["pictures"] for s in data["samples"]} == dict.fromkeys(names, 24)
    assert {v["runs"]["statistic"] for v in data["variations"]} == {"exact", "std"}
    lines = list(csv.DictReader(io.StringIO(writers.csv_text(story))))
    rated = [line for line in lines if line["rate.useful"]]
    assert all(float(line["rate.equivalent"]) > float(line["rate.useful"]) for line in rated)
    assert {line["rate.useful unit"] for line in rated} == {"op/s"}


def test_the_report_shows_pictures_and_variation_and_is_self_contained(story: Comparison, tmp_path: Path) -> None:
    names = {p.name for p in write_outputs(story, tmp_path)}
    assert {"deconv-digits-samples.png", "deconv-digits-variation.svg", "deconv-layers.csv", "deconv-operations.csv",
            "deconv-variation.csv"} <= names  # fmt: skip
    page = (tmp_path / "deconv.html").read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.outside == []
    assert page.count("<svg") == len(drawings.drawings(story)) == 5 + 5 + 1
    assert page.index("Generated samples, digits") < page.index(claim_tables.CLAIMS)
    assert page.index(work_tables.VARIATIONS) < page.index('aria-label="Variation of the throughput')
    assert "never divided by what was counted in the other" in page


def test_stale_pictures_and_counts_are_named(tmp_path: Path) -> None:
    gone = [replace(r, provenance=replace(r.provenance, sources=("gone",))) if r.device == "oracle" else r
            for r in made.whole_story() if r.case == "digits"]  # fmt: skip
    found = compared(tmp_path, gone)
    assert ("workloads/deconv", "oracle", "digits") in {row[:3] for row in tables.stale(found).rows}
    assert any("Stale: workloads/deconv on oracle" in said for said in tables.remarks(found))
    (sheet,) = [d.canvas for d in drawings.drawings(found) if d.name == "digits-samples"]
    assert "fixed8\nSTALE" in [t.get_text() for t in sheet.texts]


def test_the_figure_of_variation_has_a_line_for_each_side_and_readable_names(story: Comparison) -> None:
    (canvas,) = [d.canvas for d in drawings.drawings(story) if d.name == "mnist-variation"]
    canvas.canvas.draw()
    (axes,) = canvas.axes
    names = [label.get_text().split("\n")[0] for label in axes.texts]
    assert sorted(names) == [
        "designs/reverse_loop fixed16", "gpu/cuda fixed8", "gpu/cuda fp16", "gpu/opencl fixed16", "gpu/torch fp16",
    ]  # fmt: skip
    assert any("none, exact" in label.get_text() for label in axes.texts)
    boxes = [text_box(label) for label in axes.texts]
    assert min(box.x0 for box in boxes) > axes.get_window_extent().x1, "names stand beside the data"
    assert max(box.x1 for box in boxes) <= canvas.bbox.x1
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where, mock.patch.object(devices, "devices", known_devices):
        told = compared(Path(where), made.whole_story())
        for file, write in WRITERS.items():
            (GOLDEN / file).write_text(write(told), encoding="utf-8")
