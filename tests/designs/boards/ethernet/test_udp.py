"""The host's UDP socket: real ones on 127.0.0.1 against a board in Python, and each way a network can refuse."""

from __future__ import annotations

import errno
import random
import socket
import struct
import time
from ipaddress import IPv4Address
from typing import Any

import pytest
from udp_models import SocketBoard, expected_output, running_sum

from designs.boards import BoardError
from designs.boards.ethernet import udp
from designs.boards.ethernet.address import DEFAULT_PORT, Address
from designs.boards.ethernet.udp import UdpStream, open_udp, pieces, silence
from designs.boards.line_errors import LinkLost, NoAnswer, NoPort, PortBusy, PortError, PortForbidden
from designs.boards.link import Link

SOME = Address.of(None)


def test_a_whole_run_over_sockets() -> None:
    data = random.Random(5).randbytes(48_000)
    with SocketBoard(running_sum()) as board, open_udp(board.address) as stream:
        assert stream.here == "127.0.0.1"
        assert stream.wait_for_board(5).bad == 2
        link = Link(stream)
        assert link.identify().name == "test/model"
        link.reset()
        assert link.exchange(data, len(data)) == expected_output(data, 16)
        counts = stream.counts()
        assert (counts.foreign, counts.late, counts.lost, counts.asked, counts.sent) == (3, 0, 5, 6, board.sent)
        assert stream.late == 0


def test_one_run_at_a_time() -> None:
    with SocketBoard(running_sum()) as board:
        with open_udp(board.address), pytest.raises(PortBusy, match=r"in use by another run on this machine"):
            open_udp(board.address)
        open_udp(board.address).close()


def test_a_silent_board_is_told_with_what_to_check() -> None:
    with SocketBoard(running_sum()) as board:
        board.mute = True
        with open_udp(board.address) as stream:
            began = time.monotonic()
            with pytest.raises(NoAnswer, match=r"no answer from 127.0.0.1:\d+ in 0.6 s: check that it is programmed"):
                stream.wait_for_board(0.6)
            assert time.monotonic() - began < 3
    assert "is not in 192.168.77.0/24, so through a router" in silence(SOME, "10.0.0.7", 15)
    assert "sudo ip address add 192.168.77.1/24 dev INTERFACE" in silence(SOME, "10.0.0.7", 15)
    assert "lights of the socket show gigabit" in silence(SOME, "192.168.77.9", 15)


def test_nobody_at_a_port_of_this_machine() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gone = Address(IPv4Address("127.0.0.1"), port)
    with open_udp(gone) as stream, pytest.raises(LinkLost, match=r"refuses UDP port"):
        stream.wait_for_board(1)


class Refusing:
    """A socket of which everything fails with one error."""

    def __init__(self, code: int) -> None:
        self.code = code

    def send(self, data: bytes, /) -> int:
        raise OSError(self.code, "refused")

    def recv(self, size: int, /) -> bytes:
        raise OSError(self.code, "refused")

    def renew(self) -> None:
        return None

    def close(self) -> None:
        return None


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        (errno.ENETUNREACH, NoPort, r"no way to 192.168.77.0/24: give .* sudo ip address add 192.168.77.1/24"),
        (errno.EHOSTUNREACH, NoPort, r"nobody answers for 192.168.77.2 \(ARP\): check the cable"),
        (errno.EPERM, PortForbidden, r"a firewall forbids it"),
        (errno.EACCES, PortForbidden, r"a firewall forbids it"),
        (errno.ENETDOWN, LinkLost, r"went down; plug the cable in"),
        (errno.ECONNREFUSED, LinkLost, r"another machine has this address"),
        (errno.EIO, PortError, r"cannot reach 192.168.77.2:18241 over UDP"),
    ],
)
def test_each_refusal_has_its_way_out(code: int, kind: type[Exception], said: str) -> None:
    stream = UdpStream(Refusing(code), SOME)
    with pytest.raises(kind, match=said):
        stream.write(b"\1\0")
    with pytest.raises(kind, match=said):
        stream.read(10)


@pytest.mark.parametrize("code", [errno.EAGAIN, errno.ENOBUFS])
def test_a_full_buffer_loses_a_datagram_and_no_more(code: int) -> None:
    assert UdpStream(Refusing(code), SOME).write(b"\1\0") == 2


def test_no_network_is_said_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nowhere(socket.socket):
        def connect(self, address: Any) -> None:
            raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(udp.socket, "socket", Nowhere)
    with pytest.raises(NoPort, match=r"no way to 192.168.77.0/24"):
        open_udp(SOME)
    monkeypatch.undo()
    open_udp(Address(IPv4Address("127.0.0.9"), 9)).close()


def test_the_interface_may_come_up_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the link comes up ARP has no answer; a board that answers in time is no error."""
    tries = 0

    class Late(socket.socket):
        def send(self, data: Any, *more: Any) -> int:
            nonlocal tries
            tries += 1
            if tries < 3:
                raise OSError(errno.EHOSTUNREACH, "No route to host")
            return super().send(data, *more)

    with SocketBoard(running_sum()) as board, open_udp(board.address) as stream:
        monkeypatch.setattr(udp.socket, "socket", Late)
        assert stream.wait_for_board(5).lost == 5
    assert tries >= 3


def test_datagrams_end_where_frames_end() -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    rng = random.Random(seed)
    frames = [bytes(rng.randrange(1, 256) for _ in range(rng.randrange(250))) + b"\0" for _ in range(60)]
    data = b"".join(frames)
    cut = list(pieces(data))
    assert b"".join(cut) == data
    assert all(piece.endswith(b"\0") and len(piece) <= udp.MOST for piece in cut)
    assert len(cut) < len(data) / (udp.MOST - 250) + 1
    assert list(pieces(b"")) == []
    assert [len(piece) for piece in pieces(b"x" * 3000)] == [1468, 1468, 64]


def test_what_is_read_in_small_portions_stays_whole() -> None:
    waiting = [struct.pack("<I", 7) + b"abcdef", b"abc", struct.pack("<I", 8) + b"gh"]

    class Given(Refusing):
        def recv(self, size: int, /) -> bytes:
            if not waiting:
                raise BlockingIOError
            return waiting.pop(0)

    stream = UdpStream(Given(0), SOME)
    assert [stream.read(4) for _ in range(5)] == [b"abcd", b"ef", b"gh", b"", b""]


def test_addresses() -> None:
    assert str(SOME) == f"192.168.77.2:{DEFAULT_PORT}"
    other = Address.of("10.1.2.3:999")
    assert (str(other), other.mac.hex(), str(other.network), str(other.neighbour)) == (
        "10.1.2.3:999", "02470a010203", "10.1.2.0/24", "10.1.2.1",
    )  # fmt: skip
    assert str(Address.of("10.1.2.1").neighbour) == "10.1.2.2"
    assert Address.of("10.1.2.3").mac[0] & 3 == 2, "locally administered, of one machine"
    for text, said in (
        ("board", r"'board' is no address of a board"),
        ("10.1.2", r"give IP or IP:PORT, such as 192.168.77.2:18241"),
        ("10.1.2.3:x", r"is no address"),
        ("10.1.2.3:0", r"port 0 cannot be"),
        ("10.1.2.3:65535", r"give one from 1 to 65534"),
        ("127.0.0.1", r"127.0.0.1 is no address of one board"),
        ("239.0.0.1", r"no address of one board"),
        ("0.0.0.0", r"no address of one board"),
        ("255.255.255.255", r"no address of one board"),
    ):
        with pytest.raises(BoardError, match=said):
            Address.of(text)
