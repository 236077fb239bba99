"""The byte stream of the shell, written a second time for its tests: bit by bit and byte by byte, without the product's
code. Numbers of kinds and registers are those of the format; a test compares them with the product's."""

from __future__ import annotations

from typing import NamedTuple

POLL, DATA, WRITE, READ, RESEND = 0x00, 0x01, 0x02, 0x03, 0x04
STATE, RESULT, WRITTEN, REGISTERS, NAK = 0x80, 0x81, 0x82, 0x83, 0x84

CONTROL, FLAGS, LAST_TAG = 18, 19, 20
RESET, HOLD, CLEAR = 1, 2, 4

#: Registers 18 to 38 in order; of pairs the lower half comes first.
COUNTERS = (
    "control",
    "flags",
    "last_tag",
    "frames_ok",
    "frames_bad",
    "words_in",
    "words_out",
    "items_in",
    "items_out",
    "cycles",
    "cycles_hi",
    "steady",
    "steady_hi",
    "latency_min",
    "latency_max",
    "latency_sum",
    "latency_sum_hi",
    "stall_in",
    "stall_out",
    "line",
    "line_hi",
)


class Packet(NamedTuple):
    """A good packet, taken apart."""

    kind: int
    seq: int
    ack: int
    limit: int
    payload: bytes


def crc32(data: bytes) -> int:
    """CRC-32 of IEEE 802.3, a bit at a time."""
    register = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            feedback = (register ^ byte >> bit) & 1
            register = register >> 1 ^ (0xEDB88320 if feedback else 0)
    return register ^ 0xFFFFFFFF


def encode(packet: bytes) -> bytes:
    """COBS with the delimiter, a byte at a time."""
    out, code = bytearray(1), 0
    for byte in packet:
        if byte:
            out.append(byte)
        else:
            out[code] = len(out) - code
            code = len(out)
            out.append(0)
    out[code] = len(out) - code
    return bytes(out) + b"\0"


def decode(data: bytes) -> bytes | None:
    """COBS without the delimiter, a byte at a time; None when a code points beyond the end."""
    out, at = bytearray(), 0
    while at < len(data):
        code = data[at]
        for _ in range(code - 1):
            at += 1
            if at >= len(data):
                return None
            out.append(data[at])
        at += 1
        if at < len(data):
            out.append(0)
    return bytes(out)


def frame(kind: int, seq: int, ack: int, limit: int, payload: bytes = b"") -> bytes:
    """One frame of the host."""
    body = bytes((kind, seq & 255, ack & 255, limit & 255)) + payload
    return encode(body + crc32(body).to_bytes(4, "little"))


def parse(data: bytes) -> Packet:
    """A frame of the board without its delimiter; AssertionError when it is no good."""
    packet = decode(data)
    assert packet is not None, f"no packet: {data.hex()}"
    assert 8 <= len(packet) <= 248, f"a packet of {len(packet)} bytes"
    assert crc32(packet[:-4]) == int.from_bytes(packet[-4:], "little"), f"wrong CRC: {data.hex()}"
    return Packet(packet[0], packet[1], packet[2], packet[3], packet[4:-4])
