"""Serial ports with pyserial over a real pseudo-terminal: a whole run, and each way in which a port can refuse."""

from __future__ import annotations

import errno
import os
import random
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import serial
from serial_shell_model import Core, Shell, expected_output, running_sum

from designs.boards import serial_line
from designs.boards.faults import FaultyStream
from designs.boards.line_errors import LinkLost, NoPort, PortBusy, PortError, PortForbidden
from designs.boards.link import Link, open_serial


class Board:
    """A shell in Python behind a pseudo-terminal, in real time, in a thread of its own."""

    def __init__(self, **kwargs: object) -> None:
        self.master, slave = os.openpty()
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        os.close(slave)
        os.set_blocking(self.master, False)
        self.shell = Shell(Core(16, 16, running_sum), **kwargs)  # type: ignore[arg-type]
        self.running = True
        self.taken = 0
        self.unplug_after: int | None = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        pending = b""
        while self.running:
            try:
                data = os.read(self.master, 4096)
            except OSError:  # nothing there, or nobody has opened the port
                data = b""
            self.taken += len(data)
            if self.unplug_after is not None and self.taken >= self.unplug_after:
                break
            now = time.monotonic()
            if data:
                self.shell.feed(data, now)
            pending = pending or self.shell.next_frame(now) or b""
            if pending:
                try:
                    pending = pending[os.write(self.master, pending) :]
                except BlockingIOError:
                    time.sleep(0.001)
            elif not data:
                time.sleep(0.0005)
        os.close(self.master)

    def stop(self) -> None:
        self.running = False
        self.thread.join()


@contextmanager
def board(**kwargs: object) -> Iterator[Board]:
    made = Board(**kwargs)
    try:
        yield made
    finally:
        made.stop()


def test_a_run_over_a_real_terminal() -> None:
    with board() as there, open_serial(there.path, 3_000_000) as stream:
        link = Link(stream)
        assert link.identify().name == "test/model"
        data = random.Random(1).randbytes(160_000)
        assert link.exchange(data, len(data)) == expected_output(data, 16)
        assert link.statistics.bad == 0
        assert link.counters().items_out == 10_000


def test_a_noisy_run_over_a_real_terminal() -> None:
    with board() as there, open_serial(there.path, 115_200) as stream:
        faulty = FaultyStream(stream, 3, flip=3e-4, drop=3e-4, repeat=3e-4, delay=1e-5)
        link = Link(faulty)
        data = random.Random(1).randbytes(48_000)
        assert link.exchange(data, len(data)) == expected_output(data, 16)
        assert link.statistics.bad > 5
        assert faulty.written.dropped


def test_the_second_run_forgets_what_the_first_left() -> None:
    with board() as there:
        for seed in (1, 2):
            data = random.Random(seed).randbytes(32_000)
            with open_serial(there.path, 3_000_000) as stream:
                link = Link(stream)
                link.reset()
                assert link.exchange(data, len(data) // 2) == expected_output(data, 16)[: len(data) // 2]


def test_what_lies_in_the_port_is_forgotten() -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    os.write(master, b"left by an earlier run")
    with open_serial(os.ttyname(slave), 115_200) as stream:
        assert stream.read(100) == b""
        os.write(master, b"new")
        assert stream.read(100) == b"new"
    os.close(master)
    os.close(slave)


def test_unplugged_in_mid_run() -> None:
    with board() as there, open_serial(there.path, 3_000_000) as stream:
        link = Link(stream)
        link.identify()
        there.unplug_after = 20_000
        data = random.Random(1).randbytes(160_000)
        with pytest.raises(LinkLost, match=rf"serial port {there.path} went away in mid-run .*was the board unplugged"):
            link.exchange(data, len(data))


def test_a_port_that_is_not_there() -> None:
    with pytest.raises(NoPort, match="no serial port /dev/ttyGatewarp9; ports here: "):
        open_serial("/dev/ttyGatewarp9", 115_200)


def test_a_port_in_use() -> None:
    with (
        board() as there,
        open_serial(there.path, 115_200),
        pytest.raises(PortBusy, match=f"{there.path} is in use by another program.*fuser {there.path}"),
    ):
        open_serial(there.path, 115_200)


def test_a_port_that_the_user_may_not_open() -> None:
    with board() as there:
        root = os.geteuid() == 0
        os.chmod(there.path, 0)
        try:
            if root:
                os.seteuid(65534)
            with pytest.raises(PortForbidden, match=r"no permission to open .*dialout.*SUBSYSTEM==.tty.*udev/rules.d"):
                open_serial(there.path, 115_200)
        finally:
            if root:
                os.seteuid(0)


def test_a_file_that_is_no_port(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(NoPort, match=f"{path} is no serial port; ports here: "):
        open_serial(str(path), 115_200)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ValueError("Failed to set custom baud rate (12345678): [Errno 22]"), PortError, "does not do 12345678 baud"),
        (serial.SerialException(errno.EBUSY, "Device or resource busy"), PortBusy, "in use by another program"),
        (serial.SerialException("could not open port 'COM9': FileNotFoundError(2)"), NoPort, "no serial port"),
    ],
)
def test_other_refusals(monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[PortError], text: str) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(serial_line.serial, "Serial", refuse)
    with pytest.raises(kind, match=text):
        open_serial("/dev/null", 12_345_678)


class Blocked:
    """A port that takes nothing."""

    port = "/dev/ttyUSB0"
    is_open = False

    def write(self, data: bytes) -> int:
        raise serial.SerialTimeoutException("Write timeout")


def test_a_blocked_port_counts_as_a_lossy_one() -> None:
    assert serial_line.SerialStream(Blocked()).write(b"abc") == 3  # type: ignore[arg-type]
