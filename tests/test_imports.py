"""Imports follow the data: the table of docs/architecture.md, enforced on every module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("gatewarp", "workloads", "designs", "hls", "gpu", "compare")

#: Package -> prefixes of ours that it may import, besides itself.
ALLOWED = {
    "compare": (),
    "workloads": ("compare.record", "compare.provenance"),
    "designs": ("workloads", "compare.record", "compare.provenance"),
    "hls": ("workloads", "compare.record", "compare.provenance", "designs.flow", "designs.boards", "designs.lib"),
    "gpu": ("workloads", "compare.record", "compare.provenance", "compare.store"),
    "gatewarp": PACKAGES,
}

#: What a bare measuring machine needs beyond the standard library; each loaded only when its device is used.
BARE = (
    "workloads.api",
    "workloads.track",
    "workloads.bcnn",
    "workloads.deconv",
    "workloads.md",
    "gpu",
    "compare.record",
    "compare.provenance",
    "compare.store",
)


def imports_of(path: Path) -> Iterator[str]:
    """Dotted names that a module imports anywhere in it, `from x import y` as x.y."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def violations(package: str, names: list[str]) -> list[str]:
    """The imports among `names` that `package` may not make."""
    ours = [n for n in names if n.split(".")[0] in PACKAGES and n.split(".")[0] != package]
    return [n for n in ours if not any(n == a or n.startswith(f"{a}.") for a in ALLOWED[package])]


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_follow_the_data(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    found = {str(f.relative_to(ROOT)): violations(package, list(imports_of(f))) for f in files}
    assert {k: v for k, v in found.items() if v} == {}


def test_the_rule_can_be_broken() -> None:
    assert violations("gpu", ["designs.flow.cache", "numpy"]) == ["designs.flow.cache"]
    assert violations("compare", ["workloads.track"]) == ["workloads.track"]
    assert violations("hls", ["designs.flow.cache", "gpu.measure"]) == ["gpu.measure"]


def test_a_bare_machine_needs_only_numpy() -> None:
    """Modules for the measuring machine import nothing else at module level."""
    standard = __import__("sys").stdlib_module_names
    for prefix in BARE:
        base = ROOT / prefix.replace(".", "/")
        files = sorted(base.rglob("*.py")) if base.is_dir() else [base.with_suffix(".py")]
        for file in files:
            if file.name in ("train.py", "export.py"):
                continue  # run where Keras is
            top = [n for n in ast.parse(file.read_text()).body if isinstance(n, ast.Import | ast.ImportFrom)]
            for node in top:
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                for name in names:
                    root = name.split(".")[0]
                    assert root in standard or root in PACKAGES or root == "numpy", f"{file}: {name}"
