"""The tutorial's commands work, in order, as they stand in the text."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "tutorial.md").read_text()
COMMANDS = re.findall(r"^\$ (gatewarp .*)$", TEXT, re.MULTILINE)


def test_every_command_of_the_tutorial_runs(tmp_path: Path) -> None:
    assert len(COMMANDS) >= 8
    environment = {**os.environ, "GATEWARP_RESULTS": str(tmp_path / "results")}
    for line in COMMANDS:
        words = [str(tmp_path / w) if w == "report/tutorial" else w for w in shlex.split(line)[1:]]
        command = [sys.executable, "-c", "from gatewarp.cli import main; main()", *words]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        assert done.stdout.strip(), line
    assert (tmp_path / "report" / "tutorial" / "track.html").is_file()


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_between_pages_hold(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{page}: {target}"


def test_the_readme_names_only_commands_that_exist() -> None:
    from gatewarp.cli import app

    known = {c.name or c.callback.__name__ for c in app.registered_commands if c.callback}
    named = set(re.findall(r"gatewarp ([a-z]+)", (ROOT / "README.md").read_text()))
    assert named <= known
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"make ([a-z]+)", (ROOT / "README.md").read_text())) <= targets
