"""Boards behind UDP in Python: one in virtual time for many frames, one with real sockets for the host's own code."""

from __future__ import annotations

import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path

from designs.boards.ethernet.address import Address
from designs.boards.ethernet.udp import pieces

# The model of the shell is the one that the tests of the link have.
sys.path.append(str(Path(__file__).parents[1]))
from serial_shell_model import Core, Line, Registers, Shell, expected_output, running_sum

__all__ = ["Core", "ModelDatagrams", "Registers", "Shell", "SocketBoard", "expected_output", "running_sum"]

#: Bytes of the shell in a datagram.
MOST = 512


class Numbers:
    """The board's rule: from one sender only what is newer than the last."""

    def __init__(self) -> None:
        self.sender: object = None
        self.last = 0
        self.late = 0

    def takes(self, sender: object, number: int) -> bool:
        good = sender != self.sender or 0 < (number - self.last) & 0xFFFFFFFF < 1 << 31
        if good:
            self.sender, self.last = sender, number
        self.late += not good
        return good


class ModelDatagrams:
    """A socket to a shell in virtual time; see `Datagrams`."""

    def __init__(self, shell: Shell, baud: float = 80e6, latency: float = 0.0001) -> None:
        self.line = Line(shell, baud, latency)
        self.numbers = Numbers()
        self.port = self.sent = 0
        self.arrived: deque[bytes] = deque()

    def send(self, data: bytes, /) -> int:
        if len(data) >= 4 and self.numbers.takes(self.port, int.from_bytes(data[:4], "little")):
            self.line.write(data[4:])
        return len(data)

    def recv(self, size: int, /) -> bytes:
        if not self.arrived:
            for piece in pieces(self.line.read(1 << 20), MOST):
                self.arrived.append(struct.pack("<I", self.sent) + piece)
                self.sent += 1
        if not self.arrived:
            raise BlockingIOError
        return self.arrived.popleft()

    def renew(self) -> None:
        self.port += 1
        self.arrived.clear()

    def close(self) -> None:
        return None


class SocketBoard:
    """A shell on 127.0.0.1 in real time, in a thread of its own. A `mute` one takes all and says nothing."""

    def __init__(self, core: Callable[[bytes], bytes], item: int = 16, registers: Registers | None = None) -> None:
        self.shell = Shell(Core(item, item, lambda: core), registers or Registers())
        self.numbers = Numbers()
        self.running, self.mute = True, False
        self.sent = 0
        while True:
            self.socket, self.counters = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
            self.socket.bind(("127.0.0.1", 0))
            try:
                self.counters.bind(("127.0.0.1", self.socket.getsockname()[1] + 1))
                break
            except OSError:
                self.socket.close()
                self.counters.close()
        for each in (self.socket, self.counters):
            each.setblocking(False)
        self.address = Address(IPv4Address("127.0.0.1"), self.socket.getsockname()[1])
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        peer = None
        while self.running:
            moved = False
            try:
                _, asker = self.counters.recvfrom(2048)
                if not self.mute:
                    told = (0x47415445, self.numbers.last & 0xFFFF, 2, 3, self.numbers.late, 5, 6, self.sent)
                    self.counters.sendto(struct.pack("<8I", *told), asker)
            except OSError:
                pass
            try:
                data, sender = self.socket.recvfrom(2048)
                moved = True
                if self.numbers.takes(sender, int.from_bytes(data[:4], "little")):
                    peer = sender
                    self.shell.feed(data[4:], time.monotonic())
            except OSError:
                pass
            frame = self.shell.next_frame(time.monotonic())
            if frame is not None and peer is not None and not self.mute:
                moved = True
                self.socket.sendto(struct.pack("<I", self.sent & 0xFFFFFFFF) + frame, peer)
                self.sent += 1
            if not moved:
                time.sleep(0.0002)

    def __enter__(self) -> SocketBoard:
        return self

    def __exit__(self, *_: object) -> None:
        self.running = False
        self.thread.join()
        self.socket.close()
        self.counters.close()
