"""The host's end of a bridge: the byte port of a PYNQ board or an Alveo card as a stream for `Link`.

with open_bridge("127.0.0.1:2000") as stream: Link(stream)
"""

from __future__ import annotations

import select
import socket
from types import TracebackType

from designs.boards.line_errors import LinkLost, NoPort, PortError

#: Where a bridge listens unless told otherwise.
PORT = 2000

#: Longest wait of a read for its first byte, in seconds: a link looks at its timers at least that often.
WAIT = 0.002


class BridgeStream:
    """Bytes to and from a bridge over TCP, as `designs.boards.serial_line.Stream` says; also a context manager."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection

    def read(self, size: int, /) -> bytes:
        """See `Stream.read`."""
        if not select.select([self._socket], [], [], WAIT)[0]:
            return b""
        try:
            data = self._socket.recv(size)
        except OSError as error:
            raise self._lost(error) from error
        if not data:
            raise self._lost("it closed the connection")
        return data

    def write(self, data: bytes, /) -> int:
        """See `Stream.write`; none are taken while the bridge takes none."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise self._lost(error) from error

    def _lost(self, error: object) -> LinkLost:
        return LinkLost(
            f"the bridge on the board's side went away in mid-run ({error}); start it again and repeat the run"
        )

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
    """Connect to a bridge at "host" or "host:port". Errors: NoPort where none answers, PortError for no address."""
    host, _, port = address.partition(":")
    if not host or (port and not port.isdigit()):
        raise PortError(f"{address!r} is no address of a bridge: give host:port, such as 192.168.2.99:{PORT}")
    try:
        connection = socket.create_connection((host, int(port or PORT)), timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return BridgeStream(connection)
    except (OSError, OverflowError) as error:
        raise NoPort(
            f"no bridge answers at {host}:{port or PORT} ({error}); start it on the board's side as README.md of the "
            "project says"
        ) from error
