"""SQL over the records of several folders."""

from pathlib import Path

import pytest
from synthetic_records import kernel, record, routed, simulated

from compare import store
from compare.query import QueryError, query
from compare.store import write_records


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setattr(store, "repo_root", lambda: tmp_path)
    found = [tmp_path / "compare" / "reference", tmp_path / "results"]
    write_records(found[0], "a", [routed(), kernel(4096)])
    write_records(found[1], "b", [simulated(), kernel(conditions={"seed": "odd", "power_cap": 300})])
    return found


def test_one_row_a_record(folders: list[Path]) -> None:
    sql = "SELECT implementation, device, shipped FROM records ORDER BY shipped, device, batch"
    columns, rows, problems = query(sql, folders)
    assert columns == ["implementation", "device", "shipped"]
    assert rows == [
        ("gpu/track/opencl", "nvidia-h200", False),
        ("hls/track/da4ml", "simulation", False),
        ("hls/track/da4ml", "lfe5u-85f", True),
        ("gpu/track/opencl", "nvidia-h200", True),
    ]
    assert problems == []


def test_one_row_a_measurement_with_all_fields_of_its_record(folders: list[Path]) -> None:
    sql = """SELECT value, unit, statistic, samples, low, high, spread, stage, boundary,
                    "case", target_clock_hz, time::VARCHAR
             FROM measurements WHERE quantity = 'fmax'"""
    assert query(sql, folders)[1] == [
        (125e6, "Hz", "median", 10, 120e6, 130e6, "seeds", "post_route", "none", "embed", 120e6, "2026-01-02 03:04:05")
    ]
    assert query("SELECT count(*) FROM measurements", folders)[1] == [(5 + 5 + 2 + 5,)]


def test_conditions_are_columns_and_json(folders: list[Path]) -> None:
    sql = "SELECT batch, seed, CAST(conditions->>'power_cap' AS INT) FROM records WHERE conditions->>'power_cap' > '0'"
    assert query(sql, folders)[1] == [("1", None, 300)]


def test_no_records_is_no_error(tmp_path: Path) -> None:
    assert query("SELECT count(*) AS n FROM measurements", [tmp_path / "none"]) == (["n"], [(0,)], [])


def test_unreadable_records_are_reported(folders: list[Path]) -> None:
    (folders[1] / "bad.jsonl").write_text("x\n")
    _, rows, problems = query("SELECT count(*) FROM records", folders)
    assert rows == [(4,)]
    assert [p.path.name for p in problems] == ["bad.jsonl"]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM nowhere", "nowhere"),
        ("SELECT nothing FROM records", "nothing"),
        ("SELECT * FROM read_text('/etc/passwd')", "Permission Error"),
        ("COPY records TO 'out.csv'", "Permission Error"),
        ("SET enable_external_access = true", "Cannot enable external access"),
    ],
)
def test_bad_sql_gives_a_short_error(folders: list[Path], sql: str, said: str) -> None:
    with pytest.raises(QueryError, match=said) as caught:
        query(sql, folders)
    assert len(str(caught.value).splitlines()) <= 5


def test_an_empty_statement_is_no_crash(folders: list[Path]) -> None:
    assert query("", folders)[1] == []


def test_quotes_in_names_are_no_sql(tmp_path: Path) -> None:
    write_records(tmp_path, "q", [record(*kernel().measurements, case="'); DROP TABLE records; --")])
    assert query('SELECT "case" FROM records', [tmp_path])[1] == [("'); DROP TABLE records; --",)]
