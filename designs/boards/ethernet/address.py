"""Where a board is on the network: an IPv4 address and a UDP port, and the hardware address that follows from them.

Address.of("192.168.77.2"), Address.of("192.168.77.2:18241")
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Self

from designs.boards import BoardError

#: Where a board is unless told otherwise; the port is "GA" as a number.
DEFAULT_IP, DEFAULT_PORT = "192.168.77.2", 0x4741


@dataclass(frozen=True)
class Address:
    """An address that is built into a bitstream. The port behind `port` answers with counters."""

    ip: ipaddress.IPv4Address
    port: int

    @classmethod
    def of(cls, text: str | None) -> Self:
        """Read "IP" or "IP:PORT"; None is the default. Errors: BoardError for what no board can have."""
        host, _, port = (text or DEFAULT_IP).partition(":")
        try:
            ip = ipaddress.IPv4Address(host)
            number = int(port) if port else DEFAULT_PORT
        except ValueError:
            raise BoardError(f"{text!r} is no address of a board: give IP or IP:PORT, such as {cls.of(None)}") from None
        if not 1 <= number <= 65534:
            raise BoardError(f"port {number} cannot be: give one from 1 to 65534 (the one behind it has the counters)")
        if ip.is_multicast or ip.is_unspecified or ip.is_loopback or ip.is_reserved:
            raise BoardError(f"{ip} is no address of one board; give one of your network, such as {DEFAULT_IP}")
        return cls(ip, number)

    @property
    def mac(self) -> bytes:
        """Six bytes: locally administered, one address each, from the IP address."""
        return b"\x02\x47" + self.ip.packed

    @property
    def network(self) -> ipaddress.IPv4Network:
        """The network of 256 addresses around it, which a host on the same cable should have an address in."""
        return ipaddress.IPv4Network((self.ip, 24), strict=False)

    @property
    def neighbour(self) -> ipaddress.IPv4Address:
        """An address for the host."""
        first = self.network.network_address + 1
        return first if first != self.ip else first + 1

    def __str__(self) -> str:
        return f"{self.ip}:{self.port}"
