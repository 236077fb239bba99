"""Content hash, revision, host and the standard-library promise of the bare-machine modules."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from compare import provenance
from compare.provenance import SourceError, hash_sources, host, make_provenance, repo_root, revision


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "pkg" / "deep").mkdir(parents=True)
    (tmp_path / "pkg" / "a.py").write_text("a = 1\n")
    (tmp_path / "pkg" / "deep" / "b.sv").write_text("module b; endmodule\n")
    (tmp_path / "top.toml").write_text("x = 1\n")
    return tmp_path


def test_hash_follows_contents_and_names(tree: Path) -> None:
    before = hash_sources(tree, ["pkg", "top.toml"])
    assert re.fullmatch(r"[0-9a-f]{64}", before)
    (tree / "pkg" / "deep" / "b.sv").write_text("module b ; endmodule\n")
    changed = hash_sources(tree, ["pkg", "top.toml"])
    assert changed != before
    (tree / "pkg" / "deep" / "b.sv").write_text("module b; endmodule\n")
    assert hash_sources(tree, ["pkg", "top.toml"]) == before
    (tree / "pkg" / "a.py").rename(tree / "pkg" / "c.py")
    assert hash_sources(tree, ["pkg", "top.toml"]) != before


def test_hash_ignores_order_repetition_caches_and_dot_files(tree: Path) -> None:
    before = hash_sources(tree, ["pkg", "top.toml"])
    (tree / "pkg" / "__pycache__").mkdir()
    (tree / "pkg" / "__pycache__" / "a.pyc").write_bytes(b"1")
    (tree / "pkg" / ".swp").write_bytes(b"1")
    (tree / "pkg" / ".cache").mkdir()
    (tree / "pkg" / ".cache" / "x").write_bytes(b"1")
    assert hash_sources(tree, ["top.toml", "pkg/", "pkg/a.py", "./pkg"]) == before


@pytest.mark.parametrize("path", ["pkg/gone.py", "../outside", "/etc/hostname"])
def test_a_bad_source_is_named(tree: Path, path: str) -> None:
    with pytest.raises(SourceError, match=re.escape(path)):
        hash_sources(tree, ["pkg", path])


def test_revision_unknown_without_git_and_dirty_with_changes(tree: Path) -> None:
    assert revision(tree) == "unknown"
    git = ["git", "-C", str(tree), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
    clean = revision(tree)
    assert re.fullmatch(r"[0-9a-f]{4,40}", clean)
    assert revision(tree / "pkg") == "unknown", "a folder inside some other checkout is not that checkout"
    (tree / "top.toml").write_text("x = 2\n")
    assert revision(tree) == f"{clean}-dirty"


def test_revision_unknown_when_git_is_missing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tree))
    assert revision(tree) == "unknown"


def test_host_tells_the_machine_but_not_its_name() -> None:
    assert "core" in host()
    assert socket.gethostname() not in host()


@pytest.mark.parametrize(
    ("model", "slug"),
    [
        ("AMD EPYC", "cpu-amd-epyc"),
        ("AMD EPYC 9B14 96-Core Processor", "cpu-amd-epyc-9b14"),
        ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "cpu-intel-xeon-e5-2680-v4"),
        ("aarch64", "cpu-aarch64"),
    ],
)
def test_cpu_slug(monkeypatch: pytest.MonkeyPatch, model: str, slug: str) -> None:
    monkeypatch.setattr(provenance, "cpu_model", lambda: model)
    assert provenance.cpu_slug() == slug


def test_make_provenance_carries_all(tree: Path) -> None:
    made = make_provenance("gatewarp x", ["top.toml", "pkg"], {"t": "1"}, "outside baseline", "meter", root=tree)
    assert (made.command, made.tier, made.source, made.tools) == ("gatewarp x", "outside baseline", "meter", {"t": "1"})
    assert made.sources == ("pkg", "top.toml")
    assert made.sources_hash == hash_sources(tree, made.sources)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", made.time)


def test_repo_root_holds_the_package() -> None:
    assert (repo_root() / "compare" / "provenance.py").resolve() == Path(provenance.__file__).resolve()


def test_bare_machine_modules_need_only_the_standard_library(tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(repo_root())!r})
import compare.record, compare.provenance, compare.store
p = compare.provenance.make_provenance("c", ["compare/record.py"])
m = compare.record.Measurement("clock", 1.0, "Hz", "exact", 1, "measured", "none")
r = compare.record.Record("w", "c", "i", "d", {{}}, p, (m,))
compare.store.write_records({str(tmp_path)!r}, "s", [r])
allowed = sys.stdlib_module_names | {{"compare", "__main__"}}
foreign = sorted({{name.split(".")[0] for name in sys.modules}} - allowed)
assert not foreign, foreign
"""
    done = subprocess.run([sys.executable, "-S", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
