"""The comparison of `bcnn` on invented records: every implementation, what may be divided, the claims, all outputs.

`python tests/compare/test_bcnn.py` writes the golden files anew; read the difference before you commit it.
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

import bcnn_records as made
import pytest
from rich.console import Console
from test_outputs import Reader, text_box
from test_tables import GOLDEN, terminal

from compare import claim_tables, devices, plots, tables, writers
from compare.comparison import Comparison, compare
from compare.devices import Device, Fact
from compare.judge import Judged, Verdict
from compare.outputs import write_outputs
from compare.provenance import hash_sources
from compare.record import Boundary, Record, Stage
from compare.referee import SAME_ARITHMETIC, SAME_RESULTS
from compare.store import write_records
from workloads.bcnn.cases import LAYERS

#: Parts of the story, with totals of our own, so that the tables do not move with the product's facts.
PARTS = {
    "xc7vx690t": {"luts": 433_200, "ffs": 866_400, "brams": 2_940, "dsps": 3_600},
    "xc7z020": {"luts": 53_200, "ffs": 106_400, "brams": 280, "dsps": 220},
}


def known_devices() -> dict[str, Device]:
    """The product's devices, and the parts of the story."""
    found = dict(REAL())
    for slug, totals in PARTS.items():
        facts = {name: Fact(total, "1", "test", "2026-01-01", "read") for name, total in totals.items()}
        found[slug] = Device(slug, slug, "fpga", facts)
    return found


REAL = devices.devices


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "devices", known_devices)


def compared(folder: Path, records: Iterable[Record], case: str | None = None) -> Comparison:
    """Compare records as their sources' hashes are today's."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a").write_text("a")
    now = hash_sources(folder, ["src"])
    fresh = [
        replace(r, provenance=replace(r.provenance, sources_hash=now)) if r.provenance.sources else r for r in records
    ]
    write_records(folder / "records", "t", fresh)
    return compare("bcnn", folder, [folder / "records"], case)


@pytest.fixture(scope="module")
def story() -> Comparison:
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(devices, "devices", known_devices):
        return compared(Path(folder), made.whole_story())


WRITERS = {"bcnn.md": writers.markdown, "bcnn.txt": terminal, "bcnn.tex": writers.latex}


@pytest.mark.parametrize("name", WRITERS)
def test_golden(story: Comparison, name: str) -> None:
    assert WRITERS[name](story) == (GOLDEN / name).read_text(encoding="utf-8")


def test_nothing_was_lost_and_nothing_is_stale(story: Comparison) -> None:
    assert story.cases == ("binarynet", "cnv", "digits")
    assert (story.problems, story.stale, story.superseded) == ((), (), 0)


def test_the_paper_s_network_has_time_only_at_an_assumed_clock(story: Comparison) -> None:
    fpgas = {(r.case, r.device): r for r in story.rows if r.kind == "fpga" and r.boundary == Boundary.KERNEL}
    assert {key: row.grade for key, row in fpgas.items()} == {
        ("binarynet", "xc7vx690t"): "simulated × modelled",
        ("cnv", "xc7z020"): "simulated × modelled",
        ("digits", "lfe5u-85f"): "simulated × post-route",
    }
    row = fpgas["binarynet", "xc7vx690t"]
    assert row.figures["throughput"].value == pytest.approx(90e6 / 12_300)
    assert row.figures["latency_p50"].value == round(41_800 / 90e6 * 1e9)
    said = " ".join(tables.remarks(story))
    assert "90.0 MHz is assumed for designs/bcnn/stream on xc7vx690t, binarynet: clock of the paper's design" in said
    assert "recalled, not verified" in said
    assert "does not fit: 115 % of the luts of this part" in fpgas["cnv", "xc7z020"].notes


def test_unlike_arithmetics_compare_where_both_equalled_the_oracle(story: Comparison, tmp_path: Path) -> None:
    def asked(found: Comparison) -> set[tuple[str, str, str]]:
        ratios = [r for r in found.ratios if r.over.case == "binarynet" and r.over.kind == "fpga"]
        return {(r.figure, r.under.arithmetic, r.division) for r in ratios}

    assert ("throughput", "binary", SAME_ARITHMETIC) in asked(story)
    assert ("throughput", "int8", SAME_RESULTS) in asked(story)
    assert ("latency_p50", "fp16", SAME_RESULTS) in asked(story)
    unproved = [
        replace(r, conditions={k: v for k, v in r.conditions.items() if k != "worst_difference"})
        if r.implementation == "gpu/bcnn/torch"
        else r
        for r in made.whole_story()
    ]
    found = compared(tmp_path, unproved, "binarynet")
    assert {division for *_, division in asked(found)} == {SAME_ARITHMETIC}
    assert any("unlike arithmetic, binary against int8" in r.reason for r in found.refusals)


def test_a_product_meets_the_baselines_of_its_run_in_their_arithmetics(story: Comparison) -> None:
    asked = {
        (r.over.implementation, r.under.implementation, r.under.arithmetic, r.under.batch)
        for r in story.ratios
        if r.figure == "throughput" and r.over.case == "binarynet" and r.over.kind == "gpu"
    }
    for ours in ("gpu/bcnn/cuda", "gpu/bcnn/opencl"):
        for arithmetic in ("fp16", "int8"):
            assert (ours, "gpu/bcnn/torch", arithmetic, 4096) in asked


def test_no_ratio_and_no_short_row_stands_on_a_publication(story: Comparison) -> None:
    assert {row.implementation for row in story.published} == {
        "paper/li-2018", "paper/finn-2017", "paper/finn-examples",
    }  # fmt: skip
    for row in (*story.rows, *(side for r in story.ratios for side in (r.over, r.under))):
        assert not any(f.on_paper for f in row.figures.values())
    table = next(t for t in tables.tables(story) if t.title == claim_tables.PUBLISHED)
    said = {row[1]: row[-1] for row in table.rows}
    assert said["paper/li-2018"].startswith("recalled, not verified: Li et al.")
    assert said["paper/finn-2017"].startswith("read at the source: ")


def verdicts(found: Comparison) -> dict[str, Verdict]:
    return {judged.claim.name: judged.verdict for judged in found.claims}


def test_every_claim_has_its_verdict(story: Comparison) -> None:
    assert verdicts(story) == {
        "batch size": Verdict.SUPPORTED,
        "small batch, speed": Verdict.CONTRADICTED,
        "small batch, energy": Verdict.NOT_COMPARABLE,
        "large batch, speed": Verdict.CONTRADICTED,
        "large batch, energy": Verdict.NOT_COMPARABLE,
        "rate": Verdict.NOT_COMPARABLE,
        "power": Verdict.NO_EVIDENCE,
        "resources": Verdict.NOT_COMPARABLE,
    }
    for judged in story.claims:
        for finding in judged.findings:
            assert finding.reason or finding.verdict in (Verdict.SUPPORTED, Verdict.CONTRADICTED)


def slower(r: Record, factor: float) -> Record:
    """A GPU record with times stretched, rates and energy to match."""
    change = {"latency": factor, "throughput": 1 / factor, "energy": factor}
    return replace(
        r,
        measurements=tuple(
            m
            if (by := change.get(m.quantity)) is None
            else replace(m, value=float(round(m.value * by)) if m.unit == "ns" else m.value * by, low=None, high=None)
            for m in r.measurements
        ),
    )


def jittery(r: Record) -> Record:
    return made.simulated("binarynet", 12_300, 41_800, jitter=900) if r.device == "simulation" else r


def slow_design(r: Record) -> Record:
    return made.simulated("binarynet", 20_000, 60_000) if r.device == "simulation" else r


def on_its_part(r: Record) -> Record:
    """The synthesis becomes a routing with a measured power."""
    if r.device != "xc7vx690t" or r.implementation != made.FPGA or r.get("luts") is None:
        return r
    route = made.routed("binarynet", "xc7vx690t", "vc709", 95, luts=330_000, ffs=1, brams=1_000, dsps=0)
    power = made.measurement("power", 7.5, statistic="mean", boundary=Boundary.BOARD)
    energy = made.measurement("energy", 1e-3, statistic="mean", boundary=Boundary.BOARD)
    return replace(route, measurements=(*route.measurements, power, energy))


@pytest.mark.parametrize(
    ("change", "flipped"),
    [
        (
            lambda r: slower(r, 300) if r.device == "nvidia-h200" else r,
            {"small batch, speed": Verdict.SUPPORTED, "large batch, speed": Verdict.CONTRADICTED},
        ),
        (
            lambda r: slower(r, 9.5 if "opencl" not in r.implementation else 0.4) if r.device == "nvidia-h200" else r,
            {"small batch, speed": Verdict.CONTRADICTED},
        ),
        (jittery, {"batch size": Verdict.CONTRADICTED}),
        (slow_design, {"rate": Verdict.CONTRADICTED}),
        (
            on_its_part,
            {
                "power": Verdict.SUPPORTED,
                "resources": Verdict.SUPPORTED,
                "small batch, energy": Verdict.CONTRADICTED,
                "large batch, energy": Verdict.CONTRADICTED,
            },
        ),
    ],
)
def test_verdicts_flip_when_the_records_do(
    tmp_path: Path, change: Callable[[Record], Record], flipped: dict[str, Verdict]
) -> None:
    story = [change(r) for r in made.whole_story() if r.case == "binarynet"]
    found = verdicts(compared(tmp_path, story))
    assert {name: found[name] for name in flipped} == flipped


def test_without_records_every_claim_waits(tmp_path: Path) -> None:
    found = compared(tmp_path, made.published())
    assert set(verdicts(found).values()) == {Verdict.NO_EVIDENCE}
    assert [(r.over.device, r.reason) for r in found.refusals] == [
        ("xc7vx690t", "no record of a simulation"),
        ("xc7z020", "no record of a simulation"),
    ]
    assert "No records yet" in terminal(found)


def test_claims_of_other_cases_stay_out(tmp_path: Path) -> None:
    assert compared(tmp_path, made.whole_story(), "digits").claims == ()


def test_the_claims_say_what_the_published_records_say(story: Comparison) -> None:
    paper = next(row for row in story.published if row.implementation == "paper/li-2018")
    trials = {(j.claim.name, t.quantity, t.times): t for j in story.claims for t in j.claim.tests}
    for name, quantity, bound in (
        ("rate", "interval", "at_most"),
        ("rate", "throughput", "at_least"),
        ("power", "power", "at_most"),
        ("resources", "luts", "at_most"),
        ("resources", "brams", "at_most"),
    ):
        assert getattr(trials[name, quantity, 1.0], bound) == paper.figures[quantity].value
    operations = next(t.times for t in trials.values() if t.times != 1)
    assert operations == 2 * sum(layer.macs for layer in LAYERS["binarynet"])
    assert paper.figures["clock"].value / paper.figures["interval"].value == pytest.approx(6218, abs=1)
    assert paper.figures["energy"].value == pytest.approx(8.2 / 6218)


def test_published_records_say_how_they_are_known() -> None:
    for r in made.published():
        assert r.conditions["trust"] in ("read", "unverified")
        assert r.provenance.source
        assert {m.stage for m in r.measurements} <= {Stage.PUBLISHED, Stage.MODELLED}
        assert (r.conditions["trust"] == "unverified") == ("1702.06392" in r.provenance.source)


def test_json_and_csv_have_all_of_it(story: Comparison) -> None:
    data = json.loads(writers.as_json(story))
    assert [c["verdict"] for c in data["claims"]] == [j.verdict for j in story.claims]
    sides = [side for c in data["claims"] for f in c["findings"] for side in f["sides"]]
    assert all(side["grade"] and side["value"] for side in sides)
    assert {o["case"] for o in data["overtakings"]} == {"binarynet", "digits"}
    assert {p["device"] for p in data["published"]} == {"xc7vx690t", "zc706", "aup-zu3"}
    modelled = [row for row in data["rows"] if row["assumed_clock"]]
    assert [(row["case"], row["assumed_clock"]) for row in modelled] == [("binarynet", 90e6), ("cnv", 100e6)]
    assert all(row["equal_to_oracle"] == "binary" for row in data["rows"] if row["kind"] == "gpu")
    lines = list(csv.DictReader(io.StringIO(writers.csv_text(story))))
    assert len(lines) == len(story.rows) + len(story.published)
    assert {line["grade"] for line in lines if line["implementation"].startswith("paper/")} == {"published"}
    claimed = list(csv.DictReader(io.StringIO(writers.csv_of(claim_tables.claims(story.claims)))))
    assert [line["claim"] for line in claimed if line["claim"]] == [j.claim.name for j in story.claims]


@pytest.mark.parametrize("width", [60, 80, 100, 130, 200])
def test_a_terminal_of_any_width_gets_every_word(story: Comparison, width: int) -> None:
    stream = io.StringIO()
    writers.render_terminal(story, Console(file=stream, width=width, color_system=None))
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    printed = "".join("".join(lines).split())
    for judged in story.claims:
        for part in (judged.verdict, judged.claim.name, claim_tables.says(judged)):
            assert squeezed(part) in printed, part
        for line in claim_tables.lines(judged):
            for part in (line.what, line.wanted, line.verdict, line.ground, *line.sides):
                assert squeezed(part) in printed, part
    for table in tables.tables(story):
        if table.title != claim_tables.CLAIMS:
            assert squeezed(table.title) in printed


def squeezed(said: str) -> str:
    return "".join(said.split())


def test_the_report_has_a_box_for_each_claim_and_is_self_contained(story: Comparison, tmp_path: Path) -> None:
    paths = {p.name for p in write_outputs(story, tmp_path)}
    assert {"bcnn-claims.csv", "bcnn-overtaking.csv", "bcnn-digits.png", "bcnn.html"} <= paths
    page = (tmp_path / "bcnn.html").read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.outside == []
    assert page.count('<div class="claim ') == len(story.claims)
    assert reader.titles.count(claim_tables.CLAIMS) == 1
    for judged in story.claims:
        assert f'<span class="verdict {judged.verdict.replace(" ", "-")}">{judged.verdict}</span>' in page


def test_the_figure_has_one_line_an_implementation_with_bands_and_rings(story: Comparison) -> None:
    canvas = plots.figures(story)["digits"]
    canvas.canvas.draw()
    for axes, ringed in zip(canvas.axes, (4, 3), strict=True):
        names = [label.get_text().split("\n")[0] for label in axes.texts]
        assert sorted(names) == [
            "designs/stream binary", "gpu/cuda binary", "gpu/opencl binary", "gpu/torch fp16", "gpu/torch int8",
        ]  # fmt: skip
        rings = [line for line in axes.lines if line.get_markersize() == 11]
        assert len(rings) == ringed
        assert len(axes.collections) == len(names), "a band for each line"
        boxes = [text_box(label) for label in axes.texts]
        assert min(box.x0 for box in boxes) > axes.get_window_extent().x1, "names stand beside the data"
    rate = next(o.rate for o in story.overtakings if o.fpga.case == "digits" and "opencl" in o.gpu.implementation)
    assert any(line.get_xdata() == [rate.meets] for line in canvas.axes[0].lines if line.get_markersize() == 11)


def test_a_line_on_an_assumed_clock_looks_like_one(story: Comparison) -> None:
    canvas = plots.figures(story)["binarynet"]
    canvas.canvas.draw()
    line = canvas.axes[0].lines[0]
    assert line.get_linestyle() == "-."
    assert any(t.get_text() == "designs/stream binary\nxc7vx690t, 90 MHz assumed" for t in canvas.axes[0].texts)
    left, right = (axes.get_tightbbox() for axes in canvas.axes)
    assert left.x1 <= right.x0
    assert right.x1 <= canvas.bbox.x1


def test_lines_keep_their_colours_from_case_to_case(story: Comparison) -> None:
    def colours(case: str) -> dict[str, str]:
        drawn = plots.figures(story)[case]
        return {t.get_text().split("\n")[0]: t.get_color() for t in drawn.axes[0].texts}

    assert colours("binarynet") == colours("digits")


def test_a_claim_of_several_tests_shows_each(story: Comparison) -> None:
    judged: Judged = next(j for j in story.claims if j.claim.name == "small batch, speed")
    assert [line.what for line in claim_tables.lines(judged)] == [t.what for t in judged.claim.tests]
    assert all(len(line.sides) == 2 for line in claim_tables.lines(judged))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where, mock.patch.object(devices, "devices", known_devices):
        told = compared(Path(where), made.whole_story())
        for file, write in WRITERS.items():
            (GOLDEN / file).write_text(write(told), encoding="utf-8")
