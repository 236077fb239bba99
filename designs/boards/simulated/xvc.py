"""A server for the Xilinx Virtual Cable protocol 1.0 (XAPP1251) on the loopback interface, in front of a TAP.

    with XvcServer(tap) as server:
        server.port

Three requests: `getinfo:` is answered by the protocol's version and the largest vector, `settck:` by the period it asks
for, `shift:` by TDO. One client at a time, as on a cable; a client that breaks the protocol is disconnected.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from types import TracebackType

from designs.boards.simulated.tap import Tap

#: Largest vector in bytes, TMS and TDI together. openFPGALoader sends 1024 bytes of a bitstream at a time.
LARGEST = 4096

_REQUESTS = (b"getinfo:", b"settck:", b"shift:")


class _Disconnected(Exception):
    """The client went away, or broke the protocol."""


class XvcServer:
    """Serves `tap` on a free port of 127.0.0.1 from a thread of its own, from entering the context to leaving it."""

    host = "127.0.0.1"

    def __init__(self, tap: Tap) -> None:
        self._tap = tap
        self._listener = socket.create_server((self.host, 0), backlog=1)
        self.port: int = self._listener.getsockname()[1]
        self._client: socket.socket | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="xvc", daemon=True)

    def __enter__(self) -> XvcServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect the client and serve no other; waits for the thread, unless called from it."""
        self._closed = True
        for connection in (self._listener, self._client):
            if connection is not None:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            self._client = client
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with client, contextlib.suppress(_Disconnected, OSError):
                while not self._closed:
                    self._answer(client)
            self._client = None

    def _answer(self, client: socket.socket) -> None:
        # An answer goes out in one piece: openFPGALoader 1.1.1 reads it with a single recv.
        request = _receive_request(client)
        if request == b"getinfo:":
            client.sendall(b"xvcServer_v1.0:%d\n" % LARGEST)
        elif request == b"settck:":
            client.sendall(_receive(client, 4))
        else:
            (bits,) = struct.unpack("<I", _receive(client, 4))
            size = -(-bits // 8)
            if 2 * size > LARGEST:
                raise _Disconnected
            vectors = _receive(client, 2 * size)
            client.sendall(self._tap.shift(vectors[:size], vectors[size:], bits))


def _receive_request(client: socket.socket) -> bytes:
    request = b""
    while request not in _REQUESTS:
        if not any(known.startswith(request) for known in _REQUESTS):
            raise _Disconnected
        # The shortest request is six characters; from there on one at a time.
        request += _receive(client, 1 if request else 6)
    return request


def _receive(client: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = client.recv(size - len(data))
        if not piece:
            raise _Disconnected
        data += piece
    return bytes(data)
