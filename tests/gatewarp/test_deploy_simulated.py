"""`gatewarp deploy --simulated`, all of it: place and route, the real openFPGALoader, the serial line, the oracle.

The first run of a case routes it, which takes a minute or two; then it comes out of the cache. The larger engines take
a kept bitstream whose frames are those of the smallest one, since the simulated board does not interpret them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from compare.deployed import LINE, ON_SIMULATED
from compare.provenance import repo_root
from compare.record import Boundary, Stage
from compare.rows import RAN_ON
from compare.stale import StaleCheck
from compare.store import read_store
from designs import boards
from designs.boards import bitstream, kept
from gatewarp.deploy import subject_of

ROOT = repo_root()


def gatewarp(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from gatewarp.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=1500, check=False)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "results"
    monkeypatch.setenv("GATEWARP_RESULTS", str(folder))
    return folder


@pytest.mark.parametrize(
    ("workload", "case", "samples", "item"),
    [("track", "compact", 600, "hits"), ("bcnn", "digits_small", 60, "images")],
)
def test_every_bit_and_the_record(results: Path, workload: str, case: str, samples: int, item: str) -> None:
    done = gatewarp("deploy", workload, "--board", "ulx3s", "--simulated", "--samples", str(samples))
    assert done.returncode == 0, done.stderr
    assert f"{workload}/{case} on ulx3s-85f, simulated: {samples} {item}, every bit equal to the oracle" in done.stdout
    assert "programmed Radiona ULX3S, LFE5U-85F (simulated)" in done.stderr
    assert ", 0 bad" in done.stdout
    (made,), problems = read_store(results)
    assert not problems
    assert (made.device, made.conditions[RAN_ON], made.conditions["items"]) == ("simulation", ON_SIMULATED, samples)
    assert {m.stage for m in made.measurements} == {Stage.SIMULATED}
    # No clock of the world ran: cycles, and the clock of the bitstream.
    assert {m.unit for m in made.measurements} == {"cycles", "Hz"}
    assert {(m.quantity, m.boundary) for m in made.measurements} >= {
        ("interval", Boundary.KERNEL), ("cycles", Boundary.KERNEL), (LINE, Boundary.DEVICE),
    }  # fmt: skip
    assert StaleCheck(ROOT)(made) is None
    compared = gatewarp("compare", workload, "--case", case, "--json")
    assert compared.returncode == 0, compared.stderr
    table = gatewarp("compare", workload, "--case", case)
    assert "On boards: the chip's own counters apart from end to end" in table.stdout
    assert "simulated on the simulated board, cycles only" in " ".join(table.stdout.split())


def plan_of(workload: str, case: str) -> bitstream.Plan:
    subject, board = subject_of(workload), boards.load("ulx3s")
    mhz = subject.clock_mhz(case, board.name)
    return bitstream.plan(subject.core(case), board, mhz=mhz, items=subject.items(case))


@pytest.mark.parametrize(
    ("workload", "case", "samples", "item"), [("deconv", "digits", 2, "images"), ("md", "lj864", 2, "steps")]
)
def test_larger_engines_behind_a_kept_bitstream(
    results: Path, tmp_path: Path, workload: str, case: str, samples: int, item: str
) -> None:
    small = bitstream.build(plan_of("track", "compact"))
    routed = bitstream.Routed(small.seed, small.fmax_hz, True, small.path, small.options)
    stand_in = bitstream.of(plan_of(workload, case), routed)
    path = kept.keep(stand_in, tmp_path / "kept", subject_of(workload).sources(case))
    words = ("--simulated", "--samples", str(samples), "--bitstream", str(path))
    done = gatewarp("deploy", workload, "--board", "ulx3s", *words)
    assert done.returncode == 0, done.stderr
    assert f"{workload}/{case} on ulx3s-85f, simulated: {samples} {item}, every bit equal to the oracle" in done.stdout
    assert ", 0 bad" in done.stdout
    (made,), problems = read_store(results)
    assert not problems
    assert {m.stage for m in made.measurements} == {Stage.SIMULATED}
    assert made.conditions["bitstream_sha256"] == small.sha256


def test_track_answers_a_hit_a_cycle_on_the_chip(results: Path) -> None:
    done = gatewarp("deploy", "track", "--board", "ulx3s", "--simulated", "--samples", "200", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert set(told["intervals"]) == {1.0}
    assert len(set(told["latencies"])) == 1
    # Both directions at once, ten bits a byte: no fewer cycles than the line takes.
    assert told["line_cycles"] >= 200 * 5 * 10 * round(told["clock_hz"] / 3e6)


@pytest.mark.parametrize(
    ("samples", "faults"),
    [("300", ("--flip", "1e-3", "--drop", "3e-4", "--repeat", "3e-4")), ("100", ("--flip", "1e-2"))],
)
def test_faults_in_the_line_change_no_bit(results: Path, samples: str, faults: tuple[str, ...]) -> None:
    words = ("deploy", "track", "--board", "ulx3s", "--simulated", "--samples", samples, "--seed", "7")
    done = gatewarp(*words, *faults)
    assert done.returncode == 0, f"seed 7\n{done.stderr}"
    assert "every bit equal to the oracle" in done.stdout
    assert "on the chip: not counted, faults were put in" in done.stdout
    assert "no record: faults were put in" in done.stdout
    assert not results.exists()
