"""The build cache: keys by content, one producer at a time, nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from designs.flow import cache

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GATEWARP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) if folder.exists() else []


def test_produces_once_and_again_when_an_input_or_a_part_changes(tmp_path: Path) -> None:
    source = tmp_path / "a.sv"
    source.write_text("one")
    calls: list[Path] = []

    def produce(folder: Path) -> None:
        calls.append(folder)
        (folder / "out").write_text(source.read_text())

    first = cache.build({"step": "x", "n": 1}, [source], produce)
    assert cache.build({"n": 1, "step": "x"}, [source], produce) == first
    assert (first / "out").read_text() == "one"
    assert len(calls) == 1
    source.write_text("two")
    second = cache.build({"step": "x", "n": 1}, [source], produce)
    assert (second / "out").read_text() == "two"
    assert cache.build({"step": "x", "n": 2}, [source], produce) not in (first, second)
    assert len(calls) == 3


def test_key_holds_names_order_and_folders(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("same")
    a, b = tmp_path / "a", tmp_path / "b"
    assert cache.key({}, [a]) != cache.key({}, [b])
    assert cache.key({}, [a, b]) != cache.key({}, [b, a])
    whole = cache.key({}, [tmp_path])
    (tmp_path / "c").write_text("more")
    assert cache.key({}, [tmp_path]) != whole
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "a").write_text("same")
    assert cache.key({}, [moved / "a"]) == cache.key({}, [a]), "a moved repository keeps its cache"


def test_missing_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.sv"):
        cache.build({}, [tmp_path / "none.sv"], lambda folder: None)


def test_failure_enters_nothing_and_the_next_try_starts_afresh(own_cache: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("written")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        cache.build({"k": 1}, [], fail)
    assert all(name.endswith(".part") for name in entries(own_cache)), "kept for its logs, under a temporary name"
    entry = cache.build({"k": 1}, [], lambda folder: (folder / "whole").touch())
    assert sorted(path.name for path in entry.iterdir()) == ["key.json", "whole"]
    assert entries(own_cache) == [entry.name]


def test_interrupt_leaves_nothing(own_cache: Path, tmp_path: Path) -> None:
    script = f"""
import sys
from designs.flow import cache, tools
def produce(folder):
    (folder / "half").write_text("x")
    tool = "import os, time; open({str(tmp_path / "tool")!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    tools.run_tool([sys.executable, "-c", tool], cwd=folder, log=folder / "log")
cache.build({{"k": 1}}, [], produce)
"""
    process = subprocess.Popen([sys.executable, "-c", script], cwd=REPOSITORY, stderr=subprocess.PIPE, env=os.environ)
    tool = tmp_path / "tool"
    while not (tool.exists() and tool.read_text()):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in errors
    assert entries(own_cache) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(tool.read_text()), 0)


def test_concurrent_builders_produce_once(own_cache: Path, tmp_path: Path) -> None:
    script = f"""
import os, time
from pathlib import Path
from designs.flow import cache
def produce(folder):
    (Path({str(tmp_path)!r}) / f"produced-{{os.getpid()}}").touch()
    time.sleep(0.3)
    (folder / "out").write_text("done")
print((cache.build({{"k": 1}}, [], produce) / "out").read_text())
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", script], cwd=REPOSITORY, stdout=subprocess.PIPE) for _ in range(4)
    ]
    assert [process.communicate(timeout=30)[0].strip() for process in processes] == [b"done"] * 4
    assert len(list(tmp_path.glob("produced-*"))) == 1
    assert len(entries(own_cache)) == 1


def test_default_root_is_in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GATEWARP_CACHE")
    assert cache.root() == REPOSITORY / ".cache" / "builds"
