"""Puts stand-ins of vivado and v++ on PATH, and says afterwards how they were called."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parent / "vendor_tool.py"


@dataclass(frozen=True)
class StandIns:
    """Stand-ins in a folder that is first on PATH; `plan` says what they do and may be changed between runs."""

    folder: Path

    def plan(self, **changes: Any) -> None:
        """Change what the tools do; see vendor_tool for the keys."""
        path = self.folder / "plan.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    @property
    def calls(self) -> list[list[str]]:
        """Every run of a tool and every vendor command in it, in order: name and words."""
        path = self.folder / "calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []

    def runs(self, *names: str) -> list[list[str]]:
        """The calls of these names."""
        return [call for call in self.calls if call[0] in names]


def install(
    folder: Path, patch: pytest.MonkeyPatch, *tools: str, period: float, clock: str, ultrascale: bool
) -> StandIns:
    """Write executables `tools` into `folder` and put it first on PATH."""
    folder.mkdir()
    plan = {
        "calls": str(folder / "calls.jsonl"),
        "clock": clock,
        "period": period,
        "ultrascale": ultrascale,
        "platforms": ["xilinx_u50_gen3x16_xdma_5_202210_1", "xilinx_u250_gen3x16_xdma_4_1_202210_1"],
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    for name in tools:
        command = shlex.join([sys.executable, str(TOOL), name, str(folder / "plan.json")])
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / name).chmod(0o755)
    patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return StandIns(folder)
