"""Golden tables of a small invented story, and the rules behind them.

`python tests/compare/test_tables.py` writes the golden files anew; read the difference before you commit it.
"""

import csv
import io
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from synthetic_records import kernel, measurement, oracle, record, routed, rows, simulated, whole_story

from compare import tables, text, writers
from compare.comparison import Comparison, compare
from compare.provenance import hash_sources
from compare.record import Boundary, Record, Stage
from compare.store import write_records

GOLDEN = Path(__file__).with_name("golden")


def comparison(folder: Path, records: list[Record], case: str | None = None) -> Comparison:
    (folder / "src").mkdir(exist_ok=True)
    (folder / "src" / "a").write_text("a")
    now = hash_sources(folder, ["src"])
    fresh = [
        replace(r, provenance=replace(r.provenance, sources_hash=now)) if r.provenance.sources == ("src",) else r
        for r in records
    ]
    write_records(folder / "records", "t", fresh)
    return compare("track", folder, [folder / "records"], case)


def terminal(found: Comparison, width: int = 150) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    writers.render_terminal(found, console)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"  # type: ignore[attr-defined]


def story(folder: Path) -> Comparison:
    old = record(measurement("interval", 1, samples=9, stage=Stage.SIMULATED), device="simulation",
                 implementation="hls/track/hls4ml", conditions={"arithmetic": "fixed"}, sources=("gone",))  # fmt: skip
    return comparison(folder, [*whole_story(), old])


WRITERS = {
    "track.md": writers.markdown,
    "track.txt": terminal,
    "track.tex": writers.latex,
    "track.csv": writers.csv_text,
    "track.json": writers.as_json,
}


@pytest.mark.parametrize("name", ["track.md", "track.txt", "track.tex"])
def test_golden(tmp_path: Path, name: str) -> None:
    assert WRITERS[name](story(tmp_path)) == (GOLDEN / name).read_text(encoding="utf-8")


def test_csv_has_every_row_and_no_percentile_without_samples(tmp_path: Path) -> None:
    found = story(tmp_path)
    lines = list(csv.DictReader(io.StringIO(writers.csv_text(found))))
    assert len(lines) == len(found.rows) > len(found.shown)
    host = next(line for line in lines if line["boundary"] == "host")
    assert (host["latency_p99"], host["latency_p99 samples"]) == ("", "50000")
    assert host["latency_p50"] != ""
    fpga = next(line for line in lines if line["kind"] == "fpga")
    assert (float(fpga["throughput"]), fpga["throughput grade"]) == (125e6, "simulated × post-route")
    assert (float(fpga["throughput low"]), float(fpga["throughput high"])) == (120e6, 130e6)
    assert fpga["energy"] == ""
    assert fpga["quality.efficiency"] == "0.991"


def test_json_says_the_same(tmp_path: Path) -> None:
    found = story(tmp_path)
    data = json.loads(writers.as_json(found))
    assert len(data["rows"]) == len(found.rows)
    assert [r["value"] for r in data["ratios"]] == [r.value for r in found.ratios]
    assert all(r["reason"] for r in data["refusals"])


def test_latex_braces_and_columns_balance(tmp_path: Path) -> None:
    found = comparison(tmp_path, [kernel(), kernel(implementation="gpu/track/a_b%&#{}~^\\$é")])
    said = writers.latex(found)
    body = said.replace("\\{", "").replace("\\}", "")
    assert body.count("{") == body.count("}")
    assert "a\\_b\\%\\&\\#\\{\\}\\textasciitilde{}\\textasciicircum{}\\textbackslash{}\\$é" in said
    columns = {len(table.columns) for table in tables.tables(found)}
    for line in said.splitlines():
        if line.endswith(r" \\"):
            assert line.replace("\\&", "").count("&") + 1 in columns, line


def test_cases_are_told_apart_or_chosen(tmp_path: Path) -> None:
    both = [kernel(), kernel(case="small"), simulated(case="small"), routed(case="small")]
    found = comparison(tmp_path, both)
    assert found.cases == ("embed", "small")
    assert all("case" in table.columns or "case" in table.title for table in tables.tables(found) if not table.long)
    assert [t.title.split(",")[0] for t in tables.tables(found) if "batch by batch" in t.title] == ["embed", "small"]
    assert all(r.over.case == r.under.case for r in found.ratios)
    (tmp_path / "one").mkdir()
    assert comparison(tmp_path / "one", both, case="small").cases == ("small",)


def test_other_workloads_stay_out_and_an_empty_comparison_says_so(tmp_path: Path) -> None:
    found = comparison(tmp_path, [kernel(workload="md")])
    assert found.rows == ()
    assert "No records yet" in terminal(found)
    assert writers.markdown(found).startswith("# track · no records")


def test_problems_and_superseded_rows_are_reported(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "bad.jsonl").write_text("{\n")
    new = kernel(p50=7000, time="2026-06-01T00:00:00+00:00")
    found = comparison(tmp_path, [kernel(), new, oracle("fixed", 0.9, 0.5), oracle("fixed", 0.8, 0.5)])
    assert found.superseded == 2
    assert [p.path.name for p in found.problems] == ["bad.jsonl"]
    assert found.rows[0].figures["latency_p50"].value == 7000
    said = terminal(found)
    assert "2 rows were superseded" in said
    assert "bad.jsonl:1: skipped: not JSON" in said


def test_a_stale_row_is_marked_and_its_command_named(tmp_path: Path) -> None:
    found = comparison(tmp_path, [kernel(sources=("elsewhere",))])
    assert len(found.stale) == 1
    said = terminal(found)
    assert "STALE" in said
    assert "source 'elsewhere' does not exist; renew with `gatewarp measure track`" in said


def test_a_routing_without_its_simulation_is_shown_with_its_resources_and_refused(tmp_path: Path) -> None:
    found = comparison(tmp_path, [routed(), simulated(design="e" * 64), kernel()])
    refusal = found.refusals[-1]
    assert refusal.reason.startswith("the simulation ran design eeee")
    assert refusal.command == "gatewarp build track --board ulx3s-85f"
    assert {r.over.kind for r in found.ratios} == {"gpu"}
    said = terminal(found)
    assert "no throughput: the simulation ran design" in " ".join(said.split())
    assert "20,910" in said


def test_shown_is_a_selection_with_the_best_of_each_sweep(tmp_path: Path) -> None:
    rates = {1: 1e5, 64: 9e6, 256: 1e9, 4096: 5e8, 65536: 6e8, 2**20: 7e8}
    found = comparison(tmp_path, [kernel(batch, rate) for batch, rate in rates.items()])
    assert [row.batch for row in found.shown] == [1, 256, 4096, 2**20]
    assert len(found.rows) == 6


def test_ratios_ask_for_the_best_batch_one_item_and_the_baseline_of_the_run(tmp_path: Path) -> None:
    found = comparison(tmp_path, whole_story())
    asked = [(r.figure, r.over.implementation, r.under.implementation, r.under.batch, r.division) for r in found.ratios]
    assert ("throughput", "hls/track/da4ml", "gpu/track/opencl", 2**20, "same arithmetic") in asked
    assert ("throughput", "hls/track/da4ml", "gpu/track/opencl", 2**20, "same quality") in asked
    assert ("latency_p50", "hls/track/da4ml", "gpu/track/opencl", 1, "same arithmetic") in asked
    assert ("throughput", "gpu/track/opencl", "gpu/track/torch", 2**20, "same arithmetic") in asked
    assert ("latency_p50", "gpu/track/opencl", "gpu/track/torch", 1, "same arithmetic") in asked
    assert ("latency_p50 over bare launch", "gpu/track/opencl", "an empty kernel", 4096, "same arithmetic") in asked
    reasons = {(r.figure, r.reason) for r in found.refusals}
    assert ("energy", "FPGA power is not known; no record carries it") in reasons
    assert ("latency_p50", "unlike boundary: kernel against host") in reasons
    assert any("fixed against fp16, and efficiency" in reason for _, reason in reasons)


def test_of_other_arithmetics_the_best_that_may_be_divided_counts_and_better_ones_refused(tmp_path: Path) -> None:
    known = [
        oracle(a, q, 0.6) for a, q in (("fixed", 0.99), ("fp8", 0.5), ("fp16", 0.991), ("fp32", 0.992), ("int4", 0.1))
    ]
    rates = {"fp8": 9e9, "fp16": 8e9, "fp32": 7e9, "int4": 6e9}
    found = comparison(
        tmp_path, [simulated(), routed(), *known, *(kernel(1, rate, arithmetic=a) for a, rate in rates.items())]
    )
    assert [r.under.arithmetic for r in found.ratios if r.figure == "throughput"] == ["fp16"]
    assert [r.under.arithmetic for r in found.refusals if r.figure == "throughput"] == ["fp8"]


def test_a_baseline_of_another_run_is_refused(tmp_path: Path) -> None:
    base = kernel(implementation="gpu/track/torch", tier="outside baseline", time="2026-05-01T00:00:00+00:00")
    found = comparison(tmp_path, [kernel(), base])
    assert {r.reason for r in found.refusals} == {"the two were not taken in one run"}


def test_a_baseline_taken_again_beside_another_product_leaves_the_ratio_of_the_first_run(tmp_path: Path) -> None:
    """Two products, each with the baseline in its own run: the table has the newer baseline, each ratio its own."""

    def torch(throughput: float, **run: str) -> Record:
        return kernel(1, throughput, implementation="gpu/track/torch", tier="outside baseline", **run)

    first = {"time": "2026-01-01T00:00:00+00:00", "command": "gatewarp measure track --device cuda:0"}
    second = {"time": "2026-05-01T00:00:00+00:00", "command": "gatewarp measure track --device opencl"}
    found = comparison(
        tmp_path,
        [
            kernel(1, 8e5, implementation="gpu/track/cuda", **first), torch(1e5, **first),
            kernel(1, 6e5, implementation="gpu/track/opencl", **second), torch(2e5, **second),
        ],
    )  # fmt: skip
    assert [r.figures["throughput"].value for r in found.rows if r.implementation == "gpu/track/torch"] == [2e5]
    ratios = {r.over.implementation: r.value for r in found.ratios if r.figure == "throughput"}
    assert ratios == pytest.approx({"gpu/track/cuda": 8, "gpu/track/opencl": 3})
    assert not [r for r in found.refusals if r.figure == "throughput"]


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0"), (1.0, "1.00"), (999.6, "1,000"), (0.00012345, "0.000123"), (123456, "123,000"), (9.999, "10.0")],
)
def test_digits(value: float, said: str) -> None:
    assert text.digits(value) == said


@pytest.mark.parametrize(
    ("value", "band", "said"),
    [
        (124e6, (118e6, 131e6), "124 MHz [118–131]"),
        (124e6, (124e6, 124e6), "124 MHz"),
        (999.9e3, None, "1.00 MHz"),
        (1e-15, None, "0.00100 pHz"),
        (0.0, None, "0 Hz"),
        (5.0, (0.0, 9.0), "5.00 Hz [0–9.00]"),
    ],
)
def test_si(value: float, band: tuple[float, float] | None, said: str) -> None:
    assert text.si(value, "Hz", *(band or ())) == said


@pytest.mark.parametrize(
    ("value", "band", "said"),
    [
        (14_573_570.4, (14_521_670, 14_573_571), "14,573,570 [14,521,670–14,573,571]"),
        (2_427_501, None, "2,427,501"),
        (6_050.336734, (5_949, 6_207), "6,050.337 [5,949–6,207]"),
        (16_202, (16_202, 16_202), "16,202"),
    ],
)
def test_cycles_are_whole_from_a_million_on(value: float, band: tuple[float, float] | None, said: str) -> None:
    m = measurement("interval", value, samples=3, stage=Stage.SIMULATED, band=band, spread="min-max" if band else "")
    (row,) = rows(record(m, device="simulation"))
    assert text.count(row, "interval") == said
    assert text.amount(row.figures["interval"]) == f"{said} cycles"


@pytest.mark.parametrize(("value", "said"), [(20.0, "20.0"), (1.0, "1.00"), (0.05, "1/20.0")])
def test_times(value: float, said: str) -> None:
    assert text.times(value) == said


def test_rows_of_other_boundaries_stand_in_other_tables(tmp_path: Path) -> None:
    found = comparison(tmp_path, [kernel(), kernel(boundary=Boundary.DEVICE, energy=None)])
    titles = [table.title.split(":")[0] for table in tables.tables(found)]
    assert titles[:2] == ["Kernel boundary", "Device boundary"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        told = story(Path(made))
    GOLDEN.mkdir(exist_ok=True)
    for file in ("track.md", "track.txt", "track.tex"):
        (GOLDEN / file).write_text(WRITERS[file](told), encoding="utf-8")


def test_a_narrow_terminal_gets_every_cell_and_no_broken_word(tmp_path: Path) -> None:
    found = story(tmp_path)
    stream = io.StringIO()
    writers.render_terminal(found, Console(file=stream, width=72))
    printed = " ".join(stream.getvalue().split())
    for table in tables.tables(found):
        if "A" in table.columns:
            continue
        for row in tables.without(table, "quality").rows:
            assert all(" ".join(cell.split()) in printed for cell in row), row
