"""The store only ever adds, and a broken file is named, skipped and left alone."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from synthetic_records import measurement, record

from compare import store
from compare.record import Record
from compare.store import read_store, scan, write_records

A = record(measurement("latency", 5))
B = record(measurement("latency", 6))


def test_written_records_come_back(tmp_path: Path) -> None:
    path = write_records(tmp_path / "results", "track-embed", [A, B])
    assert path.name.startswith("track-embed-")
    assert read_store(tmp_path / "results") == ([A, B], [])
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_run_in_the_same_second_gets_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "utc_now", lambda: "2026-01-02T03:04:05+00:00")
    paths = [write_records(tmp_path, "s", [made]) for made in (A, B, A)]
    assert [p.name for p in paths] == [
        "s-20260102T030405Z.jsonl",
        "s-20260102T030405Z-2.jsonl",
        "s-20260102T030405Z-3.jsonl",
    ]
    assert paths[0].read_text() == A.to_json() + "\n"
    assert read_store(tmp_path) == ([B, A], []), "an identical record is taken once"


@pytest.mark.parametrize("stem", ["", "../x", "a/b", ".hidden", "a b"])
def test_a_stem_is_a_plain_name(tmp_path: Path, stem: str) -> None:
    with pytest.raises(ValueError, match="stem"):
        write_records(tmp_path, stem, [A])


def test_no_records_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no records"):
        write_records(tmp_path, "s", [])
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_records_are_made_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Record]:
        yield A
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_records(tmp_path, "s", interrupted())
    assert list(tmp_path.iterdir()) == []


def test_records_are_on_the_disk_as_they_come(tmp_path: Path) -> None:
    def watched() -> Iterator[Record]:
        yield A
        yield B
        (path,) = tmp_path.iterdir()
        assert path.name.startswith(".s-")
        assert path.read_text() == A.to_json() + "\n" + B.to_json() + "\n"

    write_records(tmp_path, "s", watched())


def test_records_before_an_interrupt_are_kept_when_asked(tmp_path: Path) -> None:
    def interrupted(*before: Record) -> Iterator[Record]:
        yield from before
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_records(tmp_path / "none", "s", interrupted(), keep=True)
    assert not (tmp_path / "none").exists()
    with pytest.raises(KeyboardInterrupt):
        write_records(tmp_path, "s", interrupted(A), keep=True)
    assert read_store(tmp_path) == ([A], [])
    assert len(list(tmp_path.iterdir())) == 1


def test_an_interrupt_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_records(tmp_path, "s", [A])
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_at_the_rename_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_records(tmp_path, "s", [A])
    assert list(tmp_path.iterdir()) == []


def test_bad_lines_are_named_skipped_and_left_alone(tmp_path: Path) -> None:
    good = tmp_path / "good.jsonl"
    good.write_text(A.to_json() + "\n\n")
    bad = tmp_path / "bad.jsonl"
    older = A.to_json().replace('"schema":1', '"schema":0')
    bad.write_text(f"{B.to_json()[:-9]}\n{older}\n[1]\n{B.to_json()}\n")
    before = bad.read_bytes()
    found, problems = read_store(tmp_path, tmp_path / "absent")
    assert found == [B, A]
    assert [(p.path, p.line) for p in problems] == [(bad, 1), (bad, 2), (bad, 3)]
    assert "bad.jsonl:1: skipped: not JSON" in str(problems[0])
    assert "schema 0, this version reads 1" in str(problems[1])
    assert bad.read_bytes() == before


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"\xff\xfe\x00")
    found, problems = read_store(tmp_path)
    assert found == []
    assert len(problems) == 1
    assert problems[0].line == 0
    assert "x.jsonl: cannot be read" in str(problems[0])


def test_shipped_records_are_told_from_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "repo_root", lambda: tmp_path)
    write_records(tmp_path / "results", "s", [A, B])
    write_records(tmp_path / "compare" / "reference", "s", [A])
    stored, _ = scan(tmp_path / "results", tmp_path / "compare" / "reference")
    assert {s.record.id: s.shipped for s in stored} == {A.id: True, B.id: False}


def test_the_repositorys_own_records_are_readable() -> None:
    _, problems = read_store(store.repo_root() / store.REFERENCE)
    assert problems == []


def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    records, problems = read_store(tmp_path / "results")
    assert records == []
    assert "is no folder of records" in str(problems[0])
