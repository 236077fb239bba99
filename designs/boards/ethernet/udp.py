"""A UDP socket as the byte stream that `Link` wants.

with open_udp(Address.of("192.168.77.2")) as stream:
    stream.wait_for_board()
    link = Link(stream)

A datagram is a number (4 bytes, little endian) and whole frames. Each side takes only datagrams whose number is above
the last one's (modulo 2^32), so that what comes late or twice is lost instead: bytes keep their order, as on a serial
line, and the link's evidence of loss holds. The board accepts any number from a sender that is new to it, which is how
a stream starts, and starts anew after silence, should a number have been damaged.
"""

from __future__ import annotations

import errno
import ipaddress
import math
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn, Protocol, Self

from designs.boards.ethernet.address import Address
from designs.boards.line_errors import LinkLost, NoAnswer, NoPort, PortBusy, PortError, PortForbidden

#: Most bytes of frames in a datagram: what one Ethernet frame of 1,500 bytes leaves beside headers and number.
MOST = 1468

#: Seconds that a read waits for a first datagram: a link looks at its timers at least that often.
WAIT = 0.002

#: Seconds for which a board may be silent at first: after its reset a PHY takes some to agree on gigabit.
LINK_UP_S = 15.0

#: Seconds without an answer after which the next datagrams go out from another port; twice as many each further time.
RENEW_S = 1.0

#: Bytes of an answer with counters, its first word, and between two questions seconds.
_ANSWER, _MAGIC, _ASK_S = 32, 0x47415445, 0.25


class Datagrams(Protocol):
    """What a stream needs of a socket that is connected to the board."""

    def send(self, data: bytes, /) -> int:
        """Send one datagram; bytes taken. Errors: OSError."""

    def recv(self, size: int, /) -> bytes:
        """The next datagram; waits `WAIT` for it. Errors: BlockingIOError for none, OSError."""

    def renew(self) -> None:
        """Go on from another port of this machine. Errors: OSError."""

    def close(self) -> None:
        """Close the socket."""


@dataclass(frozen=True)
class BoardCounts:
    """What the Ethernet side of a board counted since its reset.

    Datagrams `taken`; frames that were `bad` (FCS, length, error of the PHY) or `foreign` (not for it); datagrams that
    came `late` or twice, or were `lost` for want of room; questions `asked` (ARP, ping, counters); datagrams `sent`.
    """

    taken: int
    bad: int
    foreign: int
    late: int
    lost: int
    asked: int
    sent: int


class _Socket:
    """A connected UDP socket."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self.socket = connected

    def send(self, data: bytes, /) -> int:
        """See `Datagrams.send`."""
        return self.socket.send(data)

    def recv(self, size: int, /) -> bytes:
        """See `Datagrams.recv`."""
        try:
            return self.socket.recv(size)
        except BlockingIOError:
            select.select([self.socket], [], [], WAIT)
            return self.socket.recv(size)

    def renew(self) -> None:
        """See `Datagrams.renew`."""
        board = self.socket.getpeername()
        self.socket.close()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(board)
        self.socket.setblocking(False)

    def close(self) -> None:
        """See `Datagrams.close`."""
        self.socket.close()


class UdpStream:
    """Bytes to and from a board, as `designs.boards.serial_line.Stream` says; also a context manager.

    `late` counts datagrams of the board that came behind a newer one, or twice.
    """

    def __init__(
        self,
        datagrams: Datagrams,
        address: Address,
        here: str = "",
        *,
        kept: socket.socket | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.address, self.here = address, here
        self.late = 0
        self._datagrams, self._kept, self._clock = datagrams, kept, clock
        self._next = int(time.time() * 1000) & 0xFFFFFFFF
        self._last: int | None = None
        self._arrived: deque[bytes] = deque()
        self._patience, self._renew_at = RENEW_S, math.inf

    def read(self, size: int, /) -> bytes:
        """See `Stream.read`."""
        try:
            while not self._arrived:
                self._take(self._datagrams.recv(2048))
        except BlockingIOError:
            self._check_silence()
            return b""
        except OSError as error:
            self._fail(error)
        first = self._arrived.popleft()
        if len(first) > size:
            self._arrived.appendleft(first[size:])
        return first[:size]

    def _take(self, datagram: bytes) -> None:
        if len(datagram) < 4:
            return
        (number,) = struct.unpack_from("<I", datagram)
        if self._last is not None and not 0 < (number - self._last) & 0xFFFFFFFF < 1 << 31:
            self.late += 1
            return
        self._last = number
        self._arrived.append(datagram[4:])
        self._patience, self._renew_at = RENEW_S, math.inf

    def _check_silence(self) -> None:
        """Start numbers anew, at both ends, when those we have may be why nothing is taken any more."""
        if self._clock() < self._renew_at:
            return
        self._datagrams.renew()
        self._last = None
        self._patience *= 2  # a slow board's answers on their way to the old port are lost
        self._renew_at = math.inf

    def write(self, data: bytes, /) -> int:
        """See `Stream.write`. Frames that fit share a datagram; a full buffer of the system loses one, as a cable."""
        for piece in pieces(data):
            try:
                self._datagrams.send(struct.pack("<I", self._next) + piece)
            except BlockingIOError:
                pass
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    self._fail(error)
            self._next = (self._next + 1) & 0xFFFFFFFF
        if self._renew_at == math.inf:
            self._renew_at = self._clock() + self._patience
        return len(data)

    def _fail(self, error: OSError) -> NoReturn:
        raise _way_out(self.address, self.here, error) from error

    def counts(self, timeout: float = 1.0) -> BoardCounts:
        """Ask the board for its counters. Errors: NoAnswer after `timeout` seconds, NoPort, PortForbidden, LinkLost."""
        with _connect(self.address, self.address.port + 1) as asking:
            end = time.monotonic() + timeout
            while (left := end - time.monotonic()) > 0:
                try:
                    asking.send(b"?")
                    if select.select([asking], [], [], min(left, _ASK_S))[0]:
                        words = struct.unpack("<8I", asking.recv(_ANSWER))
                        if words[0] == _MAGIC:
                            return BoardCounts(*words[1:])
                except (struct.error, BlockingIOError):
                    continue
                except OSError as error:
                    if error.errno != errno.EHOSTUNREACH or end - time.monotonic() < _ASK_S:
                        self._fail(error)
                    time.sleep(_ASK_S)  # nobody answers ARP yet: the link may still be coming up
        raise NoAnswer(silence(self.address, self.here, timeout))

    def wait_for_board(self, timeout: float = LINK_UP_S) -> BoardCounts:
        """Wait until the board answers at all; its counters. Errors: as `counts`, each with what to check."""
        return self.counts(timeout)

    def behind(self, network: Callable[[Datagrams], Datagrams]) -> Self:
        """The same stream with something between it and its socket, such as faults."""
        self._datagrams = network(self._datagrams)
        return self

    def close(self) -> None:
        """Close the sockets."""
        self._datagrams.close()
        if self._kept is not None:
            self._kept.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def pieces(data: bytes, most: int = MOST) -> Iterator[bytes]:
    """Cut bytes of the line into datagrams of at most `most` bytes, behind the end of a frame where there is one."""
    at = 0
    while len(data) - at > most:
        end = data.rfind(0, at, at + most) + 1 or at + most
        yield data[at:end]
        at = end
    if at < len(data):
        yield data[at:]


def open_udp(address: Address) -> UdpStream:
    """A stream to a board, for one program of this machine alone.

    Nothing is sent yet. Errors: NoPort without a way to the network of the board, PortBusy, PortForbidden, PortError.
    """
    kept = _alone(address)
    try:
        connected = _connect(address, address.port)
    except BaseException:
        if kept is not None:
            kept.close()
        raise
    return UdpStream(_Socket(connected), address, connected.getsockname()[0], kept=kept)


def _connect(address: Address, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        made.connect((str(address.ip), port))
    except OSError as error:
        made.close()
        raise _way_out(address, "", error) from error
    made.setblocking(False)
    return made


def _alone(address: Address) -> socket.socket | None:
    """A name that one process of this machine has at a time; Linux forgets it when the process ends."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    kept = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        kept.bind(f"\0gatewarp board {address}")
    except OSError as error:
        kept.close()
        if error.errno == errno.EADDRINUSE:
            raise PortBusy(
                f"the board at {address} is in use by another run on this machine, and the board answers only one; "
                "wait for it or end it"
            ) from error
        return None  # a system without such names
    return kept


def _way_out(address: Address, here: str, error: OSError) -> PortError | LinkLost:
    """The error that names what to do, from what the operating system said."""
    network, neighbour = address.network, address.neighbour
    give = f"sudo ip address add {neighbour}/24 dev INTERFACE (`ip link` lists them)"
    if error.errno == errno.ENETUNREACH:
        return NoPort(f"this machine has no way to {network}: give the interface that leads to the board {give}")
    if error.errno in (errno.EHOSTUNREACH, errno.EHOSTDOWN):
        return NoPort(
            f"nobody answers for {address.ip} (ARP): check the cable and its lights (gigabit only), that the board is "
            f"programmed for this address, and that no other interface has {network}"
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return PortForbidden(
            f"this machine may not send to {address}: a firewall forbids it; allow it, for example sudo iptables -I "
            f"OUTPUT -d {network} -j ACCEPT"
        )
    if error.errno in (errno.ENETDOWN, errno.ENODEV, errno.ENXIO):
        return LinkLost(f"the network interface {here or 'to the board'} went down; plug the cable in, repeat the run")
    if error.errno == errno.ECONNREFUSED:
        return LinkLost(
            f"{address.ip} refuses UDP port {address.port}: another machine has this address, or a simulated board has "
            "ended; choose another --address"
        )
    return PortError(f"cannot reach {address} over UDP: {error}")


def silence(address: Address, here: str, seconds: float) -> str:
    """What to say of a board that does not answer, given the address of this machine that is used to reach it."""
    said = f"no answer from {address} in {seconds:g} s"
    if here and ipaddress.IPv4Address(here) not in address.network and not here.startswith("127."):
        return (
            f"{said}: this machine sends there from {here}, which is not in {address.network}, so through a router; "
            f"give the interface to the board an address: sudo ip address add {address.neighbour}/24 dev INTERFACE"
        )
    return (
        f"{said}: check that it is programmed for this address, that the lights of the socket show gigabit, and that "
        f"no firewall drops UDP from port {address.port} and {address.port + 1}"
    )
