"""A record is stale when its sources are not what they were."""

import hashlib
import tomllib
from pathlib import Path

import pytest
from synthetic_records import measurement, record

from compare.provenance import hash_sources, repo_root
from compare.record import Boundary, Stage
from compare.stale import StaleCheck, equivalents


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.cl").write_text("kernel")
    return tmp_path


def test_fresh_then_stale_then_gone(root: Path) -> None:
    made = record(measurement("latency", 5), sources=("src",), sources_hash=hash_sources(root, ["src"]))
    assert StaleCheck(root)(made) is None
    (root / "src" / "a.cl").write_text("kernel 2")
    stale = StaleCheck(root)(made)
    assert (
        str(stale) == "a file it depends on (1 in all) changed since it was taken; renew with `gatewarp measure track`"
    )
    (root / "src" / "a.cl").unlink()
    (root / "src").rmdir()
    gone = StaleCheck(root)(made)
    assert gone is not None
    assert gone.reason == "source 'src' does not exist"
    assert gone.command == "gatewarp measure track"


def test_a_record_without_sources_cannot_be_fresh(root: Path) -> None:
    stale = StaleCheck(root)(record(measurement("latency", 5), sources=()))
    assert stale is not None
    assert "no sources" in stale.reason


@pytest.mark.parametrize("stage", [Stage.PUBLISHED, Stage.DATASHEET, Stage.MODELLED])
def test_nothing_here_can_change_what_was_copied_or_assumed(root: Path, stage: Stage) -> None:
    stated = measurement("clock", 9e7, stage=stage, boundary=Boundary.NONE)
    assert StaleCheck(root)(record(stated, sources=())) is None
    assert StaleCheck(root)(record(stated, measurement("latency", 5), sources=())) is not None


def test_an_equivalent_text_keeps_a_record_fresh_and_says_so(root: Path) -> None:
    made = record(measurement("latency", 5), sources=("src",), sources_hash=hash_sources(root, ["src"]))
    listed = root / "compare" / "reference" / "equivalent.toml"
    listed.parent.mkdir(parents=True)

    def change(text: str) -> StaleCheck:
        was = hashlib.sha256(b"kernel").hexdigest()
        now = hashlib.sha256(b"kernel // a remark").hexdigest()
        entry = f'[[file]]\npath = "src/a.cl"\nwas = "{was}"\nnow = "{now}"\nreason = "a remark"\n'
        listed.write_text(entry)
        (root / "src" / "a.cl").write_text(text)
        return StaleCheck(root)

    check = change("kernel // a remark")
    assert check(made) is None
    assert check.note(made) == "taken with another text of src/a.cl: a remark"
    # A third text is equivalent to neither, and without the list the second is not.
    assert change("kernel 2")(made) is not None
    change("kernel // a remark")
    listed.unlink()
    assert StaleCheck(root)(made) is not None


def test_a_long_list_costs_nothing_where_it_is_of_other_files(tmp_path: Path) -> None:
    """Forty entries of files that a record does not depend on, and two that it does, both changed."""
    texts = {f"src/{name}": (f"{name} was", f"{name} now") for name in ("a", "b", *(f"other{i}" for i in range(40)))}
    (tmp_path / "src").mkdir()
    (tmp_path / "compare" / "reference").mkdir(parents=True)
    for path, (was, _) in texts.items():
        (tmp_path / path).write_text(was)
    sources = ("src/a", "src/b")
    made = record(measurement("latency", 5), sources=sources, sources_hash=hash_sources(tmp_path, sources))
    hashed = {path: [hashlib.sha256(text.encode()).hexdigest() for text in both] for path, both in texts.items()}
    (tmp_path / "compare" / "reference" / "equivalent.toml").write_text(
        "".join(
            f'[[file]]\npath = "{path}"\nwas = "{was}"\nnow = "{now}"\nreason = "r"\n'
            for path, (was, now) in hashed.items()
        )
    )
    for path, (_, now) in texts.items():
        (tmp_path / path).write_text(now)
    check = StaleCheck(tmp_path)
    assert check(made) is None
    assert check.note(made).count("taken with another text") == 2


def test_the_shipped_list_is_true_of_today_s_files() -> None:
    """An entry that no longer applies is to be removed."""
    root = repo_root()
    entries = tomllib.loads((root / "compare" / "reference" / "equivalent.toml").read_text())["file"]
    assert len(equivalents(root)) == len(entries)
