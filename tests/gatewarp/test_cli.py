"""The command line as a user meets it: names, exit codes, errors that show the way out, nothing half-written."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.main import get_command

from compare.provenance import repo_root
from compare.store import read_store
from gatewarp.cli import app

ROOT = repo_root()


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A results folder of the test's own."""
    folder = tmp_path / "results"
    monkeypatch.setenv("GATEWARP_RESULTS", str(folder))
    return folder


def gatewarp(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from gatewarp.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)


@pytest.mark.parametrize(
    "verb", ["doctor", "list", "verify", "build", "measure", "compare", "query", "deploy", "boards"]
)
def test_every_command_has_help_with_an_example(verb: str) -> None:
    done = gatewarp(verb, "--help")
    assert done.returncode == 0
    assert re.search(f"Examples?: gatewarp {verb}", done.stdout)


def test_measure_tells_of_all_baselines_and_launch_modes() -> None:
    measure = get_command(app).commands["measure"]  # type: ignore[attr-defined]
    helps = {option.name: str(option.help) for option in measure.params if option.name != "workload"}
    for name in ("PyTorch", "JAX-MD", "OpenMM"):
        assert name in helps["baseline"]
    for name in ("queue", "graph", "eager", "compile", "jit", "best"):
        assert re.search(rf"\b{name}\b", helps["mode"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("verify", "nope"), "unknown workload 'nope'; valid: bcnn, deconv, md, track"),
        (("compare", "nope"), "unknown workload 'nope'; valid: bcnn, deconv, md, track"),
        (("verify", "track", "--case", "nope"), "unknown case 'nope'; valid: embed, compact, exatrkx"),
        (("compare", "track", "--case", "nope"), "unknown case 'nope'; valid: embed, compact, exatrkx"),
        (("verify", "track", "--implementation", "nope"), "unknown implementation 'nope'; valid: designs/track/folded"),
        (("build", "track", "--board", "nope"), "unknown board 'nope'; boards: "),
        (("build", "track", "--case", "exatrkx", "--board", "ulx3s-85f"), "exatrkx does not fit lfe5u-85f"),
        (
            ("build", "track", "--board", "icebreaker"),
            "is taken on boards with an ECP5, not on icebreaker",
        ),
        (("build", "bcnn", "--part", "nope"), "unknown part 'nope'; valid: lfe5u-85f, ice40up5k, xc7z020, xc7vx690t"),
        (("build", "bcnn", "--part", "xc7z020", "--board", "ulx3s-85f"), "give either --board or --part"),
        (("build", "bcnn", "--case", "digits", "--part", "lfe5u-85f"), "for a board; boards: "),
        (("build", "bcnn", "--case", "binarynet", "--part", "ice40up5k"), "too few block RAMs for this network"),
        (("measure", "track", "--device", "nope"), "unknown device 'nope'; valid: null:0"),
        (("measure", "track", "--device", "opencl:99"), "unknown device 'opencl:99'; valid: null:0"),
        (("measure", "track", "--device", "null", "--batch", "0"), "batch sizes must be positive"),
        (
            ("measure", "md", "--device", "null", "--batch", "1001"),
            "lj864: batch 1001 is too large, at most 1000: more",
        ),
        (("measure", "track", "--device", "null", "--arithmetic", "int4"), "unknown arithmetic"),
        (("list", "nope"), "unknown listing 'nope'; valid: workloads, cases"),
        (("query", "select * from nothing"), "nothing"),
        (("build", "track"), "give either --board or --part"),
        (("nope",), "No such command 'nope'"),
        (("verify", "track", "--seed", "-1"), "greater than or equal to 0"),
        (
            ("verify", "track", "--case", "exatrkx", "--implementation", "hls/track/da4ml"),
            "unknown case of hls/track/da4ml 'exatrkx'; valid: embed, compact",
        ),
    ],
)
def test_misuse_is_exit_2_and_lists_what_is_valid(words: tuple[str, ...], message: str, results: Path) -> None:
    done = gatewarp(*words)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not results.exists()


def test_lists_as_json() -> None:
    rows = json.loads(gatewarp("list", "cases", "--json").stdout)
    assert {r["case"] for r in rows} >= {"embed", "compact", "exatrkx"}
    assert next(r for r in rows if r["case"] == "exatrkx")["parameters"] == "untrained"
    (gan3d,) = [r for r in rows if r["case"] == "gan3d"]
    counts = ("MACs per item", "of them kept", "with inserted zeros")
    assert [gan3d[name] for name in counts] == ["3,898,867,712", "3,331,358,208", "31,557,943,296"]


def test_doctor_finds_what_the_tests_need() -> None:
    done = gatewarp("doctor", "--json")
    found = {f["name"]: f for f in json.loads(done.stdout)}
    assert done.returncode == 0, done.stdout
    assert found["verilator"]["version"]
    assert found["OpenCL device"]["version"]


def test_doctor_names_the_command_for_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    from gatewarp import doctor

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    monkeypatch.setenv("PATH", "")
    found = {f.name: f for f in doctor.findings()}
    assert not found["pyosys"].found
    assert found["pyosys"].mend == "pip install 'gatewarp[sim]'"
    assert not found["g++"].found
    assert "apt-get install g++" in found["g++"].mend


def test_verify_proves_and_records(results: Path) -> None:
    words = ("verify", "track", "--case", "compact", "--implementation", "hls/track/da4ml", "--samples", "1000")
    done = gatewarp(*words, "--renew", "--json")
    assert done.returncode == 0, done.stderr
    (check,) = json.loads(done.stdout)
    assert check["passed"]
    records, problems = read_store(results)
    assert not problems
    assert {r.implementation for r in records} == {"hls/track/da4ml", "workloads/track"}
    assert {r.conditions["arithmetic"] for r in records if r.device == "oracle"} == {"fixed", "fp32", "fp16"}


def test_a_failed_check_is_exit_1(results: Path) -> None:
    code = (
        "from hls.track import model\n"
        "right = model.oracle\n"
        "def wrong(case):\n"
        "    network = right(case)\n"
        "    network.layers[0].bias[0] += 1 << 8\n"
        "    return network\n"
        "model.oracle = wrong\n"
        "from gatewarp.cli import main\n"
        "main()\n"
    )
    words = ["verify", "track", "--case", "compact", "--implementation", "hls/track/da4ml", "--samples", "1000"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=ROOT, timeout=300, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "FAILED" in done.stdout
    assert all(r.device == "oracle" for r in read_store(results)[0])


def test_measure_compare_and_query_go_together(results: Path, tmp_path: Path) -> None:
    words = ("measure", "track", "--device", "opencl", "--case", "compact", "--batch", "64", "--seconds", "0.05")
    assert gatewarp(*words).returncode == 0
    done = gatewarp("compare", "track", "--case", "compact", "--out", str(tmp_path / "report"))
    assert done.returncode == 0, done.stderr
    assert "gpu/track/opencl" in done.stdout
    names = {p.suffix for p in (tmp_path / "report").iterdir()}
    assert names >= {".md", ".csv", ".tex", ".html", ".svg", ".png", ".json"}
    rows = json.loads(gatewarp("query", "select count(*) as n from measurements where not shipped", "--json").stdout)
    assert rows[0]["n"] > 0


@pytest.mark.parametrize("line", ["{not json", '{"schema": 0}', '{"schema": 99, "workload": "track"}'])
def test_an_unreadable_record_is_named_kept_and_exit_1(line: str, results: Path) -> None:
    results.mkdir()
    bad = results / "old.jsonl"
    bad.write_text(line + "\n")
    for words in (("compare", "track"), ("query", "select 1 as one")):
        done = gatewarp(*words)
        assert done.returncode == 1
        assert "old.jsonl" in done.stderr
        assert "skipped" in done.stderr
        assert done.stdout.strip()
    assert bad.read_text() == line + "\n"


@pytest.mark.parametrize(
    "words",
    [
        ("measure", "track", "--device", "opencl", "--case", "embed", "--seconds", "5"),
        ("verify", "track", "--case", "embed", "--samples", "200000"),
    ],
)
def test_an_interrupt_leaves_nothing_half_written(words: tuple[str, ...], results: Path) -> None:
    command = [sys.executable, "-c", "from gatewarp.cli import main; main()", *words]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # A shell starts background jobs with interrupts ignored, and the child would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(4)
    assert process.poll() is None, "it ended before it could be interrupted"
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode not in (0, None)
    assert not results.exists() or not list(results.iterdir())


def test_what_the_system_refuses_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a-file"
    file.write_text("")
    done = gatewarp("compare", "track", "--case", "compact", "--out", str(file))
    assert done.returncode == 1
    assert str(file) in done.stderr
    assert "Traceback" not in done.stderr
    monkeypatch.setenv("GATEWARP_RESULTS", str(file))
    done = gatewarp("measure", "track", "--device", "null", "--case", "compact", "--batch", "1", "--seconds", "0.02")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_being_terminated_unwinds_so_that_tools_are_stopped() -> None:
    code = """
import os, signal, time
from gatewarp import cli
def app():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(20)
    finally:
        print("stopped its tools", flush=True)
cli.app = app
cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert (done.stdout, done.returncode) == ("stopped its tools\n", 143)


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    code = "import sys; sys.modules['da4ml'] = None\nfrom gatewarp.cli import main; main()"
    words = ["verify", "track", "--case", "compact", "--implementation", "hls/track/da4ml", "--samples", "600"]
    environment = {**os.environ, "GATEWARP_CACHE": str(tmp_path), "GATEWARP_RESULTS": str(tmp_path / "r")}
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "da4ml" in done.stderr
    assert "doctor" in done.stderr
    assert "Traceback" not in done.stderr


def test_reuse_keeps_a_routing_only_of_enough_seeds() -> None:
    from gatewarp.build import unchanged

    shipped = [ROOT / "compare" / "reference"]
    assert unchanged("ulx3s-85f", 10, shipped).get(("hls/track/da4ml", "embed")) is not None
    assert unchanged("ulx3s-85f", 1000, shipped).get(("hls/track/da4ml", "embed")) is None
    assert unchanged("another-board", 1, shipped).get(("hls/track/da4ml", "embed")) is None


def test_version_and_the_long_view() -> None:
    assert gatewarp("--version").stdout.startswith("gatewarp 0.")
    short, long = gatewarp("compare", "track").stdout, gatewarp("compare", "track", "--all").stdout
    assert "Host boundary" not in short
    assert "--all" in short
    assert "Host boundary" in long
