"""Designs on boards among the other rows: measured ones take part, those of the simulated board stand apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from synthetic_records import DESIGN, kernel, measurement, record, routed, rows, simulated

from compare import tables
from compare.comparison import Comparison, compare
from compare.deployed import CLOCK_BASIS, LINE, ON_BOARD, ON_SIMULATED
from compare.record import Boundary, Record, Stage
from compare.referee import Refusal
from compare.rows import RAN_ON, newest
from compare.store import write_records
from compare.writers import as_json

CLOCK = 48e6


def ran(on: str, items: int = 1000, **more: object) -> Record:
    """A run: 2 cycles between items, 20 of latency, 160 cycles of the line for each; 9,000 items/s at the host."""
    stage = Stage.MEASURED if on == ON_BOARD else Stage.SIMULATED
    made = [
        measurement("interval", 2, statistic="mean", samples=items - 1, stage=stage),
        measurement("cycles", 20, samples=items, stage=stage, band=(20, 20)),
        measurement(LINE, 160 * items, stage=stage, boundary=Boundary.DEVICE),
        measurement("clock", CLOCK, stage=stage, boundary=Boundary.NONE),
    ]
    if on == ON_BOARD:
        made += [
            measurement("throughput", CLOCK / 2, statistic="median", samples=3, band=(CLOCK / 2, CLOCK / 2)),
            measurement("throughput", 9_000, statistic="median", samples=3, boundary=Boundary.HOST),
            measurement("power", 1.5, statistic="mean", samples=10, boundary=Boundary.BOARD),
        ]
    return record(
        *made,
        implementation="hls/track/da4ml",
        device="lfe5u-85f" if on == ON_BOARD else "simulation",
        conditions={
            RAN_ON: on, "board": "ulx3s-85f", "arithmetic": "fixed", "batch": "any", "design": DESIGN,
            "baud": 3_000_000, "items": items, "worst_difference": 0.0, "tolerance": 0.0,
            "launch_mode": "serial", **({CLOCK_BASIS: "nominal: PLL"} if on == ON_BOARD else {}), **more,
        },
        command="gatewarp deploy track --board ulx3s-85f",
    )  # fmt: skip


def compared(folder: Path, *records: Record) -> Comparison:
    write_records(folder / "results", "test", records)
    (folder / "src").mkdir(exist_ok=True)
    return compare("track", folder, [folder / "results"])


def table_of(comparison: Comparison) -> list[dict[str, str]]:
    found = next(each for each in tables.tables(comparison) if each.title.startswith("On boards"))
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_a_simulated_board_has_cycles_and_takes_part_in_nothing(tmp_path: Path) -> None:
    alone = compared(tmp_path / "a", simulated(), routed(), kernel(boundary=Boundary.HOST))
    beside = compared(tmp_path / "b", simulated(), routed(), kernel(boundary=Boundary.HOST), ran(ON_SIMULATED))
    assert [r.figures for r in beside.rows] == [r.figures for r in alone.rows]
    assert [(v.figure, v.value) for v in beside.ratios] == [(v.figure, v.value) for v in alone.ratios]
    (row,) = table_of(beside)
    assert row["interval, cycles"] == "2"
    assert row["over the line, cycles an item"] == "160.0"
    assert row["clock"] == "48.0 MHz"
    assert row["line"] == "3.00 Mbaud"
    assert "simulated on the simulated board, cycles only" in row["evidence"]
    # No clock of the world ran: nothing a second.
    assert not [column for column in row if column.endswith("items/s") or column == "power"]


def test_an_arithmetic_of_its_own_is_named_with_its_engine_and_quality(tmp_path: Path) -> None:
    plain, narrow = ran(ON_SIMULATED), ran(ON_SIMULATED, arithmetic="fixed17", engine="board_lj864")
    told = measurement("quality.force_error", 3.3e-4, stage=Stage.SIMULATED, boundary=Boundary.NONE)
    narrow = replace(narrow, measurements=(*narrow.measurements, told))
    first, second = table_of(compared(tmp_path / "both", plain, narrow))
    assert {row["arithmetic"]: (row["engine"], row["force error"]) for row in (first, second)} == {
        "fixed": ("–", "–"), "fixed17": ("board_lj864", "3.3e-04"),
    }  # fmt: skip
    (alone,) = table_of(compared(tmp_path / "plain", plain))
    assert {"engine", "force error"}.isdisjoint(alone)


def test_a_measured_board_stands_beside_what_was_simulated_and_routed(tmp_path: Path) -> None:
    found = compared(tmp_path, simulated(), routed(), ran(ON_BOARD), ran(ON_SIMULATED))
    chip = [r for r in found.rows if r.boundary == Boundary.KERNEL and r.device == "lfe5u-85f"]
    assert sorted(round(r.figures["throughput"].value) for r in chip) == [24_000_000, 125_000_000]
    measured, pretended = sorted(table_of(found), key=lambda row: row["evidence"])
    assert measured["evidence"].startswith("measured on the board, clock nominal")
    assert (measured["on the chip, items/s"], measured["end to end, items/s"]) == ("24.0 M", "9.00 k")
    assert measured["power"] == "1.50 W"
    assert pretended["end to end, items/s"] == pretended["on the chip, items/s"] == pretended["power"] == "–"


def test_end_to_end_is_compared_with_what_a_host_saw_and_refused_else(tmp_path: Path) -> None:
    both = compared(tmp_path / "a", ran(ON_BOARD), kernel(boundary=Boundary.HOST), kernel())
    host = [v for v in both.ratios if v.over.boundary == Boundary.HOST and v.figure == "throughput"]
    assert [(v.over.device, v.under.boundary) for v in host] == [("lfe5u-85f", Boundary.HOST)]
    chip = compared(tmp_path / "b", ran(ON_BOARD), kernel())
    refused = [v for v in chip.refusals if v.over.boundary == Boundary.HOST and v.figure == "throughput"]
    assert refused
    assert all(isinstance(v, Refusal) and "unlike boundary: host against kernel" in v.reason for v in refused)


def test_json_has_every_run(tmp_path: Path) -> None:
    told = json.loads(as_json(compared(tmp_path, ran(ON_BOARD), ran(ON_SIMULATED))))
    seen = {row["conditions"][RAN_ON]: set(row["figures"]) for row in told["boards"]}
    assert "throughput.host" in seen[ON_BOARD]
    assert not {name for name in seen[ON_SIMULATED] if name.startswith(("throughput", "latency"))}


def test_a_newer_run_replaces_an_older_and_boards_stand_apart(tmp_path: Path) -> None:
    old, new = ran(ON_SIMULATED, 20, run_of="old"), ran(ON_SIMULATED, 20)
    new = replace(new, provenance=replace(new.provenance, time="2026-02-02T03:04:05+00:00"))
    other = ran(ON_SIMULATED, 30, board="other")
    found = compared(tmp_path, old, new, other)
    assert sorted((row["board"], row["items"]) for row in table_of(found)) == [("other", "30"), ("ulx3s-85f", "20")]
    assert found.superseded == 1
    assert len(found.everything) == 2


def test_a_run_of_other_items_line_or_clock_replaces_nothing(tmp_path: Path) -> None:
    """A user's short try stands beside the shipped run, on each of its rows."""
    for on in (ON_BOARD, ON_SIMULATED):
        shipped = ran(on, 10_000)
        slower = ran(on, 10_000, slower=True)
        clock = next(m for m in slower.measurements if m.quantity == "clock")
        others = [m for m in slower.measurements if m is not clock]
        slower = replace(slower, measurements=(*others, replace(clock, value=CLOCK / 2)))
        tries = (ran(on, 300), ran(on, 10_000, baud=115_200), slower)
        kept, fallen = newest([*rows(shipped, shipped=True), *rows(*tries)])
        assert not fallen
        assert len(kept) == (8 if on == ON_BOARD else 4)
        again = ran(on, 10_000, seed=2)
        kept, fallen = newest([*rows(shipped, shipped=True), *rows(again)])
        assert [row.records[0] for row in kept] == [again] * len(kept)
