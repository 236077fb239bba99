"""Ethernet frames for tests, written without a look at the RTL: what a network card would send and check.

Addresses are bytes in network order, ports and checksums are numbers. A frame has no preamble and, but for `wire` and
`unwire`, no FCS.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

BOARD_MAC, BOARD_IP, BOARD_PORT = bytes.fromhex("0247c0a84d02"), bytes((192, 168, 77, 2)), 0x4741
HOST_MAC, HOST_IP, HOST_PORT = bytes.fromhex("020000000001"), bytes((192, 168, 77, 1)), 40_000
EVERYONE = b"\xff" * 6
PREAMBLE = b"\x55" * 7 + b"\xd5"


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) of some bytes."""
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def wire(frame: bytes, *, pad: bool = True) -> bytes:
    """A frame with padding and FCS."""
    frame = frame.ljust(60, b"\0") if pad else frame
    return frame + zlib.crc32(frame).to_bytes(4, "little")


def unwire(data: bytes) -> bytes:
    """The frame out of bytes on the wire; asserts its length and FCS."""
    assert 64 <= len(data) <= 1518, len(data)
    assert zlib.crc32(data[:-4]) == int.from_bytes(data[-4:], "little")
    return data[:-4]


def arp(operation: int, sender_mac: bytes, sender_ip: bytes, target_mac: bytes, target_ip: bytes, to: bytes) -> bytes:
    """An ARP packet: 1 asks, 2 answers."""
    head = to + sender_mac + b"\x08\x06" + bytes.fromhex("0001080006040000")[:6] + operation.to_bytes(2, "big")
    return head + sender_mac + sender_ip + target_mac + target_ip


def question(ip: bytes = BOARD_IP, to: bytes = EVERYONE) -> bytes:
    """Who has an address?"""
    return arp(1, HOST_MAC, HOST_IP, b"\0" * 6, ip, to)


def ipv4(
    protocol: int,
    payload: bytes,
    *,
    mac: bytes = BOARD_MAC,
    ip: bytes = BOARD_IP,
    from_mac: bytes = HOST_MAC,
    from_ip: bytes = HOST_IP,
    fragment: int = 0x4000,
    wrong_sum: int = 0,
    total: int | None = None,
) -> bytes:
    """An IPv4 packet."""
    size = 20 + len(payload) if total is None else total
    head = struct.pack(">BBHHHBBH", 0x45, 0, size, 7, fragment, 64, protocol, 0) + from_ip + ip
    head = head[:10] + struct.pack(">H", checksum(head) ^ wrong_sum) + head[12:]
    return mac + from_mac + b"\x08\x00" + head + payload


def udp(
    payload: bytes,
    *,
    port: int = BOARD_PORT,
    from_port: int = HOST_PORT,
    length: int | None = None,
    mac: bytes = BOARD_MAC,
    ip: bytes = BOARD_IP,
    from_mac: bytes = HOST_MAC,
    from_ip: bytes = HOST_IP,
    fragment: int = 0x4000,
    wrong_sum: int = 0,
    total: int | None = None,
) -> bytes:
    """A datagram, its checksum left out."""
    size = 8 + len(payload) if length is None else length
    head = struct.pack(">HHHH", from_port, port, size, 0)
    more = {"fragment": fragment, "wrong_sum": wrong_sum, "total": total}
    return ipv4(17, head + payload, mac=mac, ip=ip, from_mac=from_mac, from_ip=from_ip, **more)


def numbered(number: int, line: bytes) -> bytes:
    """The payload of a datagram of the line."""
    return struct.pack("<I", number & 0xFFFFFFFF) + line


def ping(size: int, *, kind: int = 8) -> bytes:
    """An echo request with `size` bytes behind its number."""
    body = struct.pack(">BBHHH", kind, 0, 0, 0x1234, 5) + bytes(i & 255 for i in range(size))
    return ipv4(1, body[:2] + struct.pack(">H", checksum(body)) + body[4:])


@dataclass(frozen=True)
class Datagram:
    """A datagram out of a frame of the board, everything in it checked."""

    to_mac: bytes
    to_ip: bytes
    to_port: int
    from_port: int
    payload: bytes


def parse(frame: bytes) -> Datagram:
    """Take a UDP frame of the board apart; asserts what must hold."""
    assert frame[6:14] == BOARD_MAC + b"\x08\x00", frame.hex()
    head = frame[14:34]
    version, _, size, _, fragment, life, protocol, _ = struct.unpack(">BBHHHBBH", head[:12])
    assert (version, fragment, protocol) == (0x45, 0x4000, 17), frame.hex()
    assert life > 1
    assert checksum(head) == 0, frame.hex()
    assert head[12:16] == BOARD_IP
    from_port, to_port, length, udp_sum = struct.unpack(">HHHH", frame[34:42])
    assert length == size - 20
    assert udp_sum == 0
    assert 14 + size <= len(frame), (size, len(frame))
    assert frame[14 + size :] == b"\0" * (len(frame) - 14 - size), "padding"
    return Datagram(frame[:6], head[16:20], to_port, from_port, frame[42 : 34 + length])
