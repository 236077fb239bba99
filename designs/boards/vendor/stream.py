"""The host's end of a bridge: the byte port of a PYNQ board or an Alveo card as a stream for `Link`.

with open_bridge("192.168.2.99:2000") as stream: Link(stream)
"""

from __future__ import annotations

import select
import socket
from types import TracebackType

from designs.boards import BoardError

#: Where a bridge listens unless told otherwise.
PORT = 2000

#: Longest wait of a read for its first byte, and of a write for room, in seconds.
READ_S, WRITE_S = 0.002, 5.0


class BridgeStream:
    """Bytes to and from a bridge over TCP; `read` returns what is there, `write` takes all or raises OSError."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(WRITE_S)
        self._socket = connection

    def read(self, count: int) -> bytes:
        """At most `count` bytes, none when none came within READ_S; ConnectionError when the bridge is gone."""
        if not select.select([self._socket], [], [], READ_S)[0]:
            return b""
        data = self._socket.recv(count)
        if not data:
            raise ConnectionError("the bridge closed the connection; is it still running on the board?")
        return data

    def write(self, data: bytes) -> int:
        """Send all of `data`; its length. OSError when the bridge is gone or takes nothing for WRITE_S."""
        self._socket.sendall(data)
        return len(data)

    def close(self) -> None:
        """Hang up; the bridge then waits for another client."""
        self._socket.close()

    def __enter__(self) -> BridgeStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_bridge(address: str, *, timeout: float = 5.0) -> BridgeStream:
    """Connect to a bridge at "host" or "host:port"; BoardError says how to start one where none answers."""
    host, _, port = address.partition(":")
    if port and not port.isdigit():
        raise BoardError(f"{address!r} is not host:port")
    try:
        return BridgeStream(socket.create_connection((host, int(port or PORT)), timeout))
    except OSError as error:
        raise BoardError(
            f"no bridge answers at {host}:{port or PORT} ({error}); "
            "start it on the board's side as README.md of the project says"
        ) from None
