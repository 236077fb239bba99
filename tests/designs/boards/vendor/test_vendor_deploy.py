"""`gatewarp deploy` on a vendor board: stand-ins build and program it, its own top runs in simulation behind a port."""

from __future__ import annotations

import json
import os
import subprocess
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
import vendor_loopback
import vendor_stand_ins
from test_vendor_rtl import in_order
from typer.testing import CliRunner

from designs.boards import vendor
from designs.boards.line_errors import NoPort
from designs.boards.simulated.simulator import build_simulator
from designs.boards.subject import Sample
from designs.boards.top import clocks_per_bit
from designs.boards.vendor.facts import plain
from gatewarp import board_record, deploy, vendor_deploy
from gatewarp.cli import app

WORDS = 2_000
MHZ = 50.0


@contextmanager
def serial_port(project: vendor.Project) -> Iterator[str]:
    """The board's inner top in a simulator behind a pseudo-terminal: the path of that."""
    inner = plain(project.vendor, project.clock_hz)
    sources = [path for path in in_order(project.folder) if path.stem not in ("board_top", "vc709_top", "vc709_clock")]
    program = build_simulator(
        (project.folder / "rtl" / "board_top.sv").read_text(),
        sources,
        inner,
        clocks_per_bit=clocks_per_bit(project.clock_hz, inner.highest_baud),
        memories=project.core.memories,
    )
    host, device = os.openpty()
    reading, writing = os.pipe()
    tty.setraw(device)
    command = [str(program), "--terminal", str(host), "--lifeline", str(reading), "--awake-ms", "3000"]
    running = subprocess.Popen(command, pass_fds=(host, reading), stdout=subprocess.DEVNULL, cwd=program.parent)
    try:
        yield os.ttyname(device)
    finally:
        running.terminate()
        running.wait(timeout=10)
        for descriptor in (host, device, reading, writing):
            os.close(descriptor)


def test_deploy_to_the_vc709(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way of `gatewarp deploy track --board vc709`, but for the vendor's tools and the copper."""
    monkeypatch.setenv("GATEWARP_RESULTS", str(tmp_path / "results"))
    stand_ins = vendor_stand_ins.install(
        tmp_path / "bin", monkeypatch, "vivado", period=1e3 / MHZ, clock="clk", ultrascale=False
    )
    words = ["deploy", "track", "--board", "vc709", "--clock", str(MHZ), "--samples", str(WORDS), "--runs", "1"]
    words += ["--keep", str(tmp_path / "project"), "--json"]
    monkeypatch.setitem(cast(dict[str, str], deploy.SUBJECTS), "track", "vendor_loopback")
    told = {"force_error": Sample(3e-4, 2)}
    monkeypatch.setattr(vendor_loopback, "quality", lambda case: told, raising=False)
    monkeypatch.setattr(board_record, "BUSY", 0)  # the simulator's clock is far slower than the board's
    core = vendor_loopback.core()
    project = vendor.generate(core, "vc709", tmp_path / "project", mhz=MHZ, items=vendor_loopback.ITEMS)
    with serial_port(project) as port:
        done = CliRunner().invoke(app, [*words, "--port", port])
    assert done.exit_code == 0, (done.output, done.exception)
    assert [call[-1] for call in stand_ins.runs("vivado")] == ["build.tcl", "program.tcl"]
    built, run = json.loads(done.stdout)
    assert {each["stage"] for each in built["measurements"]} == {"post_route"}
    assert {each["stage"] for each in run["measurements"]} == {"measured"}
    assert run["conditions"]["items"] == WORDS
    assert (run["conditions"]["launch_mode"], run["device"]) == ("serial", "xc7vx690t")
    assert run["conditions"]["design"] == built["conditions"]["design"] == core.digest
    values = {each["quantity"]: each["value"] for each in run["measurements"]}
    assert values["clock"] == 50e6
    assert 1 <= values["interval"] < 1.05
    assert values["quality.force_error"] == 3e-4


def test_a_bridge_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vendor_stand_ins.install(tmp_path / "bin", monkeypatch, "vivado", period=7.0, clock="clk_fpga_0", ultrascale=False)
    said: list[str] = []
    request = deploy.Request("track", "pynq-z2", keep=tmp_path / "project", clock_mhz=150)
    monkeypatch.setitem(cast(dict[str, str], deploy.SUBJECTS), "track", "vendor_loopback")
    with pytest.raises(NoPort, match=r"--port is needed to reach pynq-z2; the steps: \(1\) .*pynq_bridge\.py"):
        vendor_deploy.deploy(request, say=said.append, progress=lambda *_: None)
    assert "clock of 142.857 MHz met" in said[1]
    request = deploy.Request("track", "pynq-z2", keep=tmp_path / "project", clock_mhz=150, port="127.0.0.1:1")
    with pytest.raises(NoPort, match=r"no bridge answers at 127\.0\.0\.1:1"):
        vendor_deploy.deploy(request, say=said.append, progress=lambda *_: None)
