"""The Xilinx Virtual Cable server: its requests over a socket, however they are cut, and clients that misbehave."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Iterator

import pytest

from designs.boards.ecp5 import PARTS
from designs.boards.simulated.chip import Chip
from designs.boards.simulated.tap import State, Tap
from designs.boards.simulated.xvc import LARGEST, XvcServer

PART = PARTS["LFE5UM5G-45F"]


@pytest.fixture
def server() -> Iterator[XvcServer]:
    with XvcServer(Tap(Chip(PART, start=lambda fingerprint: None, stop=lambda: None))) as running:
        yield running


def connect(server: XvcServer) -> socket.socket:
    return socket.create_connection((server.host, server.port), timeout=5)


def shift(tms: bytes, tdi: bytes, bits: int) -> bytes:
    return b"shift:" + struct.pack("<I", bits) + tms + tdi


def receive(client: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = client.recv(count - len(data))
        assert piece, f"closed after {data!r}"
        data += piece
    return data


def test_getinfo_and_settck(server: XvcServer) -> None:
    with connect(server) as client:
        client.sendall(b"getinfo:")
        assert client.recv(100) == b"xvcServer_v1.0:%d\n" % LARGEST
        client.sendall(b"settck:" + struct.pack("<I", 166))
        assert client.recv(100) == struct.pack("<I", 166)


def test_reads_the_idcode(server: XvcServer) -> None:
    with connect(server) as client:
        # Reset, then idle, select, capture: 5 ones and 0, 1, 0, 0; then 32 bits of Shift-DR.
        client.sendall(shift(b"\x5f\0", b"\0\0", 9) + shift(bytes(4), bytes(4), 32))
        answer = receive(client, 6)
    assert int.from_bytes(answer[2:], "little") == PART.idcode


@pytest.mark.parametrize("piece", [1, 3, 7])
def test_requests_in_pieces(server: XvcServer, piece: int) -> None:
    stream = b"getinfo:" + b"settck:" + bytes(4) + shift(b"\x5f\0", b"\0\0", 9) + shift(bytes(4), bytes(4), 32)
    with connect(server) as client:
        for start in range(0, len(stream), piece):
            client.sendall(stream[start : start + piece])
            time.sleep(0.001)
        answer = receive(client, len(b"xvcServer_v1.0:%d\n" % LARGEST) + 4 + 2 + 4)
    assert int.from_bytes(answer[-4:], "little") == PART.idcode


@pytest.mark.parametrize(
    "nonsense", [b"hello world", b"getinfo;", shift(bytes(LARGEST // 2 + 1), bytes(LARGEST // 2 + 1), 4 * LARGEST + 8)]
)
def test_a_client_that_breaks_the_protocol_is_disconnected_and_the_next_is_served(
    server: XvcServer, nonsense: bytes
) -> None:
    with connect(server) as client:
        client.sendall(nonsense)
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(10) == b""
    test_reads_the_idcode(server)


def test_the_largest_vector_and_a_client_that_leaves_in_the_middle(server: XvcServer) -> None:
    with connect(server) as client:
        half = LARGEST // 2
        client.sendall(shift(bytes(half), b"\xff" * half, 8 * half))
        assert receive(client, half) == b"\xff" * half, "outside Shift-DR the line reads one"
        client.sendall(b"shift:\x08\0")
    test_reads_the_idcode(server)


def test_close_disconnects_and_serves_nobody() -> None:
    tap = Tap(Chip(PART, start=lambda fingerprint: None, stop=lambda: None))
    with XvcServer(tap) as first, XvcServer(tap) as second:
        assert first.port != second.port
        client = connect(first)
        client.sendall(b"getinfo:")
        client.recv(100)
        first.close()
        assert client.recv(10) == b""
        client.close()
        with pytest.raises(OSError, match=r"refused|reset"):
            connect(first)
        test_reads_the_idcode(second)
        assert tap.state is State.SHIFT_DR
