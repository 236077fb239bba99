"""`gatewarp deploy` and `gatewarp boards` as a user meets them, with stand-ins for programmer, board and subject."""

from __future__ import annotations

import json
import math
import os
import pty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from deploy_stand_ins import BAUD, CLOSED, ULX3S, Port, Programmer, detected, kept_bitstream, scan, subject

from compare.deployed import LINE, ON_BOARD
from compare.record import Boundary, Record, Stage
from compare.rows import RAN_ON
from compare.store import read_store
from designs.boards.line_errors import NoPort, PortBusy, PortError, PortForbidden, Stalled
from designs.boards.link import open_serial
from designs.boards.subject import Sample
from gatewarp import board_record, cli, deploy

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def programmer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programmer:
    made = Programmer(tmp_path / "tool")
    made.install()
    monkeypatch.setenv("OPENFPGALOADER", str(made.path))
    return made


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Port:
    made = Port()
    monkeypatch.setattr(deploy, "open_serial", made)
    monkeypatch.setattr(deploy, "port_of", lambda board, found, given: given or "/dev/x")
    return made


@pytest.fixture
def run(
    tmp_path: Path, programmer: Programmer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """The command line in this process: exit code, standard output, standard error."""
    monkeypatch.setenv("GATEWARP_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(deploy, "subject_of", lambda workload: subject())
    # The board in Python counts no cycles of the line; tests/gatewarp/test_board_record.py has that check.
    monkeypatch.setattr(board_record, "LONG_SECONDS", math.inf)

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["gatewarp", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = capsys.readouterr()
        code = end.value.code
        return (code if isinstance(code, int) else int(code is not None)), said.out, said.err

    return call


def on_ulx3s(tmp_path: Path, *more: object) -> tuple[object, ...]:
    return ("deploy", "track", "--board", "ulx3s", "--bitstream", kept_bitstream(tmp_path), *more)


def records(tmp_path: Path) -> list[Record]:
    return read_store(tmp_path / "results")[0]


def test_a_board_is_programmed_run_checked_and_recorded(
    tmp_path: Path, run: Run, port: Port, programmer: Programmer
) -> None:
    code, out, err = run(*on_ulx3s(tmp_path, "--port", "/dev/x", "--runs", 2, "--power-watts", "1.5",
                                   "--power-source", "bench supply", "--power-boundary", "board"))  # fmt: skip
    assert code == 0, err
    assert "track/four on ulx3s-85f: 100 hits, every bit equal to the oracle" in out
    assert port.opened == [("/dev/x", deploy.LOOK_BAUD), ("/dev/x", BAUD)]
    assert programmer.calls[-1][-1].endswith("four.bit")
    assert not any("flash" in word for call in programmer.calls for word in call)
    (made,) = records(tmp_path)
    assert (made.device, made.conditions[RAN_ON], made.conditions["board"]) == (ULX3S.part, ON_BOARD, "ulx3s-85f")
    assert (made.conditions["bitstream_fmax_hz"], made.conditions["nextpnr_options"]) == (60e6, "--no-tmdriv")
    assert {m.stage for m in made.measurements} == {Stage.MEASURED}
    cuts = {(m.quantity, m.boundary) for m in made.measurements}
    assert cuts >= {
        ("interval", Boundary.KERNEL), ("cycles", Boundary.KERNEL), ("throughput", Boundary.KERNEL),
        ("throughput", Boundary.HOST), (LINE, Boundary.DEVICE), ("power", Boundary.BOARD),
    }  # fmt: skip
    interval, rate = made.get("interval"), made.get("throughput", boundary="kernel")
    assert interval is not None
    assert rate is not None
    assert rate.value == pytest.approx(50e6 / interval.value)


def test_json_for_scripts(tmp_path: Path, run: Run, port: Port) -> None:
    code, out, _ = run(*on_ulx3s(tmp_path, "--port", "/dev/x", "--json"))
    told = json.loads(out)
    assert code == 0
    assert told["equal"]
    assert told["identity"]["name"] == "track/four"
    assert len(told["seconds"]) == 5


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ({"scan": (0, scan())}, "no Radiona ULX3S, LFE5U-85F is plugged in"),
        ({"scan": (0, scan("D00084", "D00213"))}, "serial numbers D00084, D00213; choose one with --serial NUMBER"),
        ({"scan": (0, scan() + CLOSED)}, 'SUBSYSTEM=="usb", ATTR{idVendor}=="0403"'),
        ({"detect": (0, detected(0x41111043))}, "a board with LFE5U-25F"),
        ({"load": (1, "CRC ERR\n")}, "programming"),
    ],
    ids=["no board", "two boards", "permission", "other part", "programmer fails"],
)
def test_boards_that_cannot_be_programmed(
    tmp_path: Path, run: Run, port: Port, programmer: Programmer, steps: dict[str, tuple[int, str]], message: str
) -> None:
    programmer.install(**steps)
    code, _, err = run(*on_ulx3s(tmp_path, "--port", "/dev/x"))
    assert code == 1
    assert message in " ".join(err.split())
    assert port.opened == [("/dev/x", deploy.LOOK_BAUD)]
    assert not records(tmp_path)


def test_nothing_is_built_for_a_board_that_is_not_there(
    run: Run, programmer: Programmer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deploy.bitstream, "plan", lambda *_, **__: pytest.fail("built before the board was found"))
    programmer.install(scan=(0, scan()))
    code, _, err = run("deploy", "track", "--board", "ulx3s")
    assert code == 1
    assert "no Radiona ULX3S, LFE5U-85F is plugged in" in err


def test_one_of_two_boards_is_chosen_by_its_serial_number(
    tmp_path: Path, run: Run, port: Port, programmer: Programmer
) -> None:
    programmer.install(scan=(0, scan("D00084", "D00213")))
    code, _, err = run(*on_ulx3s(tmp_path, "--port", "/dev/x", "--serial", "D00213"))
    assert code == 0, err
    assert "D00213" in programmer.calls[-1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"idcode": 0x41111043}, "four.bit is for LFE5U-25F"),
        ({"sources_hash": "0" * 64}, "is older than its sources: one of 1 files has changed"),
        ({"sources": ["designs/lib/gone.sv"]}, "is older than its sources"),
        ({"board": "ulx3s-12f"}, "was built for the board ulx3s-12f, not for ulx3s-85f"),
        ({"sha256": "0" * 64}, "not the file that four.json tells of"),
        ({"case": "five"}, "holds track/five"),
        ({"design": "f" * 32}, "holds design ffffffff"),
        ({"baud": 500_000}, "was built from another text of the top level"),
        ({"clock_mhz": 40.0}, "was built from another text of the top level"),
        ({"contents_hash": "0" * 64}, "was built from another text of the sources (000000000000)"),
        ({"clock_mhz": "x"}, "four.json, which gatewarp writes with it (clock_mhz cannot be 'x')"),
        ({"clock_mhz": float("nan")}, "clock_mhz cannot be 'nan'"),
        ({"baud": 0}, "baud cannot be '0'"),
        ({"sources": 5}, "sources cannot be '5'"),
        ({"sources": [5]}, "sources cannot be '[5]'"),
        ({"seed": None}, "seed cannot be 'None'"),
    ],
)
def test_bitstreams_that_are_refused_before_anything_is_sent(
    tmp_path: Path, run: Run, port: Port, programmer: Programmer, changes: dict[str, object], message: str
) -> None:
    path = kept_bitstream(tmp_path, **changes)
    code, _, err = run("deploy", "track", "--board", "ulx3s", "--case", "four", "--bitstream", path)
    assert code == (1 if "idcode" in changes else 2)
    assert message in " ".join(err.split())  # a terminal breaks lines, and where depends on the path
    assert not any(str(path) in call for call in programmer.calls)


def test_a_bitstream_that_nothing_is_known_of(tmp_path: Path, run: Run, port: Port) -> None:
    path = kept_bitstream(tmp_path)
    for damaged in ("", "5", "[]", "{}", "null", '{"workload": "track"}'):
        path.with_suffix(".json").write_text(damaged)
        code, _, err = run("deploy", "track", "--board", "ulx3s", "--bitstream", path)
        assert (code, "what it is should stand in four.json" in err) == (2, True), damaged
    path.with_suffix(".json").unlink()
    code, _, err = run("deploy", "track", "--board", "ulx3s", "--bitstream", path)
    assert (code, "what it is should stand in four.json" in err) == (2, True)
    code, _, err = run("deploy", "track", "--board", "ulx3s", "--bitstream", tmp_path / "none.bit")
    assert (code, "no bitstream" in err) == (2, True)


def test_flash_is_written_after_a_yes_only(
    tmp_path: Path, run: Run, port: Port, programmer: Programmer, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = run(*on_ulx3s(tmp_path, "--port", "/dev/x", "--flash"))
    assert code == 1
    assert "nothing was written" in err
    assert not any("--write-flash" in call for call in programmer.calls)
    monkeypatch.setattr("gatewarp.board_commands._confirm", lambda question: "flash" in question)
    code, _, err = run(*on_ulx3s(tmp_path, "--port", "/dev/x", "--flash"))
    assert code == 0, err
    assert any("--write-flash" in call for call in programmer.calls)


@pytest.fixture
def terminal() -> Iterator[str]:
    """A pseudo-terminal that another program has open for itself alone."""
    host, device = pty.openpty()
    name = os.ttyname(device)
    with open_serial(name, 115_200):
        yield name
    os.close(host)
    os.close(device)


def test_a_serial_port_that_is_busy(tmp_path: Path, run: Run, terminal: str) -> None:
    code, _, err = run(*on_ulx3s(tmp_path, "--port", terminal))
    assert code == 1
    assert f"{terminal} is in use by another program" in err


def test_a_serial_port_that_is_not_there(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, programmer: Programmer
) -> None:
    monkeypatch.setattr(deploy, "_bitstream", lambda *_: pytest.fail("built before the port was found"))
    monkeypatch.setattr("gatewarp.ports.AWAY_S", 0.0)
    code, _, err = run(*on_ulx3s(tmp_path, "--port", "/dev/none"))
    assert (code, "no serial port /dev/none" in err) == (1, True)
    code, _, err = run(*on_ulx3s(tmp_path))
    assert code == 1
    assert "no serial port of Radiona ULX3S" in err
    assert "name one with --port" in err
    assert not any(word.endswith("four.bit") for call in programmer.calls for word in call)


@pytest.mark.parametrize("error", [NoPort, PortForbidden, PortBusy])
@pytest.mark.parametrize("given", [True, False])
def test_a_port_that_programming_takes_away_for_a_while(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, given: bool, error: type[PortError]
) -> None:
    """It is there for the first look, away after programming, and back in time or not."""
    made, away, asked = Port(), 3, list[str]()

    def there(*_: object) -> str:
        if made.opened and len(asked) < away:
            asked.append("too early")
            raise error("the port is away")
        return "/dev/x"

    def opening(name: str, baud: int) -> Port:
        return made(there() if given else name, baud)

    monkeypatch.setattr(deploy, "open_serial", opening)
    if not given:
        monkeypatch.setattr(deploy, "port_of", there)
    code, _, err = run(*on_ulx3s(tmp_path, *(["--port", "/dev/x"] if given else [])))
    assert code == 0, err
    assert (len(asked), len(made.opened)) == (3, 2)
    made, away = Port(), 1_000_000
    monkeypatch.setattr("gatewarp.ports.AWAY_S", 0.25)
    code, _, err = run(*on_ulx3s(tmp_path, *(["--port", "/dev/x"] if given else [])))
    assert (code, err.strip().splitlines()[-1]) == (1, "error: the port is away")


@pytest.mark.parametrize(
    ("registers", "message"),
    [
        ({"design": "f" * 32}, "the board says design ffff"),
        ({"name": "track/other"}, "the board says name track/other"),
        ({"clock_hz": 1}, "the board says clock 1, the bitstream has 50000000"),
        ({"version": 9}, "the board has shell version 9"),
        ({"magic": 1}, "no shell of this project"),
    ],
)
def test_a_board_that_holds_something_else(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, registers: dict[str, object], message: str
) -> None:
    monkeypatch.setattr(deploy, "open_serial", Port(**registers))
    code, _, err = run(*on_ulx3s(tmp_path, "--port", "/dev/x"))
    assert code == 1
    assert message in err
    assert not records(tmp_path)


def test_a_wrong_output_is_an_error_and_no_record(
    tmp_path: Path, run: Run, port: Port, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deploy, "subject_of", lambda workload: subject(wrong=True))
    code, _, err = run(*on_ulx3s(tmp_path, "--port", "/dev/x"))
    assert code == 1
    assert "100 of 100 hits differ from the oracle, first hit 0: number 0 is" in err
    assert not records(tmp_path)


def test_an_arithmetic_of_its_own_says_what_it_costs(
    tmp_path: Path, run: Run, port: Port, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = subject()
    of.quality = lambda case: {"force_error": Sample(3.3e-4, 4)}
    monkeypatch.setattr(deploy, "subject_of", lambda workload: of)
    code, out, err = run(*on_ulx3s(tmp_path, "--port", "/dev/x"))
    assert code == 0, err
    assert "arithmetic: fixed, force error 3.3e-04" in out
    (made,) = records(tmp_path)
    (told,) = (m for m in made.measurements if m.quantity == "quality.force_error")
    assert (told.value, told.samples, told.stage) == (3.3e-4, 4, Stage.MEASURED)
    assert made.provenance.source.endswith("quality: its integer model, which every output equalled")


def test_a_design_that_hangs_is_one_line(tmp_path: Path, run: Run, port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object, **__: object) -> None:
        raise Stalled("the design gave and took nothing")

    monkeypatch.setattr(deploy.session, "run", hang)
    code, _, err = run(*on_ulx3s(tmp_path, "--port", "/dev/x"))
    assert code == 1
    assert err.strip().splitlines()[-1] == "error: the design gave and took nothing"


def test_a_run_with_faults_is_no_measurement(tmp_path: Path, run: Run, port: Port) -> None:
    code, out, err = run(*on_ulx3s(tmp_path, "--port", "/dev/x", "--flip", "1e-3", "--runs", 1))
    assert code == 0, err
    assert "no record: faults were put in" in out
    assert not records(tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("deploy", "nope", "--board", "ulx3s"), "unknown workload 'nope'"),
        (("deploy", "track", "--board", "nope"), "unknown board 'nope'; boards: "),
        (("deploy", "track", "--board", "ulx3s", "--case", "nope"), "unknown case on a board 'nope'; valid: four"),
        (("deploy", "track", "--board", "ulx3s", "--simulated", "--port", "/dev/x"), "--port is for a real board"),
        (("deploy", "track", "--board", "ulx3s", "--simulated", "--serial", "x"), "--serial is for a real board"),
        (("deploy", "track", "--board", "ulx3s", "--simulated", "--flash"), "--flash is for a real board"),
        (("deploy", "track", "--board", "icebreaker", "--simulated"), "only boards with an ECP5 can be simulated"),
        (("deploy", "track", "--board", "ulx3s", "--simulated", "--power-watts", "1", "--power-source", "x",
          "--power-boundary", "board"), "a simulated board draws no power"),
        (("deploy", "track", "--board", "ulx3s", "--power-watts", "1"), "power without its source"),
        (("deploy", "track", "--board", "ulx3s", "--baud", "9000000"), "9,000,000 baud is above the 3,000,000"),
        (("deploy", "track", "--board", "ulx3s", "--clock", "1"), "outside what the PLL gives"),
        (("deploy", "track", "--board", "ulx3s", "--clock", "50", "--bitstream", "x.bit"), "decided in the bitstream"),
        (("deploy", "track", "--board", "icebreaker"), "is only programmed through its flash; say --flash"),
        (("deploy", "track", "--board", "ulx3s", "--flip", "2"), "Invalid value for '--flip'"),
        (("deploy", "track", "--board", "ulx3s", "--flip", "0.6", "--drop", "0.6"), "together they must not"),
        (("deploy", "track", "--board", "pynq-z2", "--transport", "nonsense"), "pynq-z2: no --transport here"),
        (("deploy", "track", "--board", "alveo-u50", "--address", "10.0.0.9"), "alveo-u50: no --address here"),
        (("deploy", "track", "--board", "ulx3s", "--samples", "0"), "Invalid value for '--samples'"),
        (("deploy", "track", "--board", "ulx3s", "--samples", "10000001"), "Invalid value for '--samples'"),
        (("deploy", "track", "--board", "ulx3s", "--baud", "299"), "Invalid value for '--baud'"),
        (("deploy", "track", "--board", "ulx3s", "--clock", "0"), "Invalid value for '--clock'"),
        (("deploy", "track", "--board", "ulx3s", "--clock=-5"), "Invalid value for '--clock'"),
        (("deploy", "track", "--board", "ulx3s", "--clock", "inf"), "a clock of inf MHz cannot be"),
        (("deploy", "track", "--board", "vc709", "--clock", "0"), "Invalid value for '--clock'"),
        (("deploy", "track", "--board", "vc709", "--clock", "inf"), "a clock of inf MHz cannot be"),
    ],
)  # fmt: skip
def test_misuse_is_one_message(run: Run, port: Port, words: tuple[str, ...], message: str) -> None:
    code, _, err = run(*words)
    assert code == 2, err
    assert message in " ".join(err.split())


def test_boards_that_are_plugged_in(run: Run, programmer: Programmer) -> None:
    code, out, _ = run("boards")
    assert code == 0
    assert "0403:6015" in out
    assert "D00084" in out
    assert "ulx3s-85f" in out
    assert "Always here, with --simulated:" in out
    programmer.install(scan=(0, scan()))
    code, out, _ = run("boards")
    assert "No board is plugged in" in out
    programmer.install(scan=(0, scan() + CLOSED))
    code, out, _ = run("boards", "--json")
    (only,) = json.loads(out)["plugged_in"]
    assert "permission denied; add to /etc/udev/rules.d/" in only["note"]


def test_list_boards(run: Run) -> None:
    code, out, _ = run("list", "boards")
    assert code == 0
    assert "icebreaker" in out
