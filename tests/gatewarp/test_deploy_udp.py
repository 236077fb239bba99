"""`gatewarp deploy --transport udp`: the simulated board at its RGMII pins, a real one played in Python, and refusals.

The bitstream is a stand-in, an empty one of the same part, so that nothing is routed here: the simulated part captures
it and then runs the RTL of the whole top. This one routes, in about five minutes the first time:

    gatewarp deploy track --board ecpix5-45f --simulated --transport udp
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deploy_stand_ins import SIZE, Programmer, detected, scan, subject

from compare.deployed import LINE, ON_BOARD, ON_SIMULATED
from compare.provenance import repo_root
from compare.record import Boundary, Record, Stage
from compare.rows import RAN_ON
from compare.stale import StaleCheck
from compare.store import read_store
from designs import boards
from designs.boards.bitstream import Built, Routed, of
from designs.boards.ethernet.address import Address
from designs.boards.ethernet.bitstream import EthernetPlan
from designs.flow import ecppack
from gatewarp import board_record, cli, deploy, over_udp

sys.path.append(str(Path(__file__).parents[1] / "designs" / "boards" / "ethernet"))
from udp_models import Registers, SocketBoard

Run = Callable[..., tuple[int, str, str]]
BOARD = boards.load("ecpix5-45f")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in this process, with the stand-in for routing: exit code, standard output, standard error."""
    monkeypatch.setenv("GATEWARP_RESULTS", str(tmp_path / "results"))
    empty = tmp_path / "routed.config"
    empty.write_text(".device LFE5UM5G-45F\n")

    def build(planned: EthernetPlan, **_: Any) -> Built:
        return of(planned, Routed(1, 60e6, True, ecppack.pack(empty, idcode=planned.board.idcode)))

    monkeypatch.setattr(over_udp.bitstream, "build", build)

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["gatewarp", "deploy", "track", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = capsys.readouterr()
        code = end.value.code
        return (code if isinstance(code, int) else int(code is not None)), said.out, said.err

    return call


def record_of(tmp_path: Path) -> Record:
    (made,), problems = read_store(tmp_path / "results")
    assert not problems
    return made


def test_the_simulated_board_over_its_pins(tmp_path: Path, run: Run) -> None:
    """openFPGALoader, ARP, UDP, RGMII, shell and core; every bit equal; the record names the transport."""
    code, out, err = run("--board", "ecpix5-45f", "--simulated", "--transport", "udp", "--samples", 600)
    assert code == 0, err
    assert "track/compact on ecpix5-45f, simulated: 600 hits, every bit equal to the oracle" in out
    assert "1 cycle between hits" in out
    assert "out over UDP on gigabit Ethernet" in out
    assert "programmed LambdaConcept ECPIX-5, LFE5UM5G-45F (simulated)" in err
    made = record_of(tmp_path)
    assert (made.conditions[RAN_ON], made.conditions["launch_mode"], made.conditions["transport"]) == (
        ON_SIMULATED, "udp", "UDP on gigabit Ethernet (RGMII)",
    )  # fmt: skip
    assert "baud" not in made.conditions
    for name in ("bad", "foreign", "lost"):
        assert made.conditions[f"ethernet_{name}"] == 0
    assert {(m.quantity, m.boundary) for m in made.measurements} >= {
        ("interval", Boundary.KERNEL), ("cycles", Boundary.KERNEL), (LINE, Boundary.DEVICE),
    }  # fmt: skip
    assert {m.stage for m in made.measurements} == {Stage.SIMULATED}
    sources = set(made.provenance.sources)
    assert {"designs/boards/ethernet/main.cpp", "designs/boards/ethernet/eth_udp.sv", "designs/boards/ethernet/udp.py",
            "designs/boards/ethernet/ecpix5.toml", "designs/boards/ecpix5.lpf", "designs/boards/shell/shell.sv",
            "designs/lib/async_fifo.sv", "designs/lib/sim/ddr_in.sv", "designs/boards/link.py"} <= sources  # fmt: skip
    assert StaleCheck(repo_root())(made) is None


def test_faults_of_the_network_change_no_bit(tmp_path: Path, run: Run) -> None:
    faults = ("--flip", "1e-2", "--drop", "1e-2", "--repeat", "1e-2", "--delay", "1e-2", "--seed", 7, "--json")
    code, out, err = run("--board", "ecpix5-45f", "--simulated", "--transport", "udp", "--samples", 3000, *faults)
    assert code == 0, f"seed 7\n{err}"
    told = json.loads(out)
    assert (told["equal"], told["record"], told["transport"]) == (True, None, "udp")
    assert told["line"]["ethernet_late"] + told["line"]["ethernet_late_here"] > 0
    assert not (tmp_path / "results").exists()


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SocketBoard:
    """A board that stands where 192.168.77.2 would, with the stand-in subject's design and a scripted programmer."""
    programmer = Programmer(tmp_path / "tool")
    programmer.install(scan=(0, scan("D1").replace("6015", "6010")), detect=(0, detected(BOARD.idcode)))
    monkeypatch.setenv("OPENFPGALOADER", str(programmer.path))
    monkeypatch.setattr(deploy, "subject_of", lambda workload: subject())
    monkeypatch.setattr(board_record, "LONG_SECONDS", math.inf)
    told = Registers(design="0123456789abcdef".ljust(32, "0"), name="track/four", clock_hz=50_000_000)
    board = SocketBoard(lambda item: bytes((byte + 1) % 256 for byte in item), SIZE, told)
    monkeypatch.setattr(Address, "of", lambda text: board.address)
    return board


def test_a_real_board_is_reached_at_its_address(tmp_path: Path, run: Run, real: SocketBoard) -> None:
    with real:
        code, out, err = run("--board", "ecpix5-45f", "--transport", "udp", "--runs", 2)
    assert code == 0, err
    assert f"identified track/four on UDP {real.address}" in err
    assert "track/four on ecpix5-45f: 100 hits, every bit equal to the oracle" in out
    made = record_of(tmp_path)
    assert (made.conditions[RAN_ON], made.conditions["launch_mode"]) == (ON_BOARD, "udp")
    assert {m.stage for m in made.measurements} == {Stage.MEASURED}
    assert ("throughput", Boundary.HOST) in {(m.quantity, m.boundary) for m in made.measurements}
    assert not any("sim/" in path or path.endswith("main.cpp") for path in made.provenance.sources)


def test_a_board_that_never_answers(monkeypatch: pytest.MonkeyPatch, run: Run, real: SocketBoard) -> None:
    monkeypatch.setattr("designs.boards.ethernet.udp.UdpStream.wait_for_board", lambda self: self.counts(0.3))
    real.mute = True
    with real:
        code, _, err = run("--board", "ecpix5-45f", "--transport", "udp")
    assert code == 1
    assert "no answer from 127.0.0.1" in err
    assert "check that it is programmed for this address" in " ".join(err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--board", "ulx3s", "--transport", "udp"), "no Ethernet here; boards that have it: colorlight-i5"),
        (("--board", "ecpix5", "--transport", "tcp"), "no transport 'tcp'; there are: serial, udp"),
        (("--board", "ecpix5", "--address", "10.0.0.2"), "--address is for --transport udp"),
        (("--board", "ecpix5", "--transport", "udp", "--address", "10.0.0"), "'10.0.0' is no address of a board"),
        (
            ("--board", "ecpix5", "--transport", "udp", "--address", "10.0.0.255"),
            "no address of one board in 10.0.0.0/24",
        ),
        (("--board", "ecpix5", "--transport", "udp", "--baud", "9600"), "--baud is for the serial line; leave it out"),
        (("--board", "ecpix5", "--transport", "udp", "--keep", "x"), "--keep is for the serial line; leave it out"),
    ],
)
def test_what_cannot_be_meant(run: Run, words: tuple[str, ...], said: str) -> None:
    code, _, err = run(*words, "--simulated")
    assert code == 2
    assert said in " ".join(err.split())
