"""A record is stale when its sources are not what they were."""

from pathlib import Path

import pytest
from synthetic_records import measurement, record

from compare.provenance import hash_sources
from compare.stale import StaleCheck


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
    assert str(stale) == "a file it depends on (1 in all) changed since it was taken; renew with `gatewarp measure track`"
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
