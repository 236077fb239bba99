"""Frames between a host and the shell on a board, over any byte stream, and the shell's register map.

    frame  = COBS(packet) 0x00
    packet = kind(1) seq(1) ack(1) limit(1) payload(0..240) crc(4, little endian)

    send(pack(Kind.READ, tag, ack, limit, bytes([address, count])))
    for item in decoder.feed(received): ...          # a Frame, or None for each frame that is no good

`ack` is the sequence number that the sender expects next, `limit` the first one that the other side may not send yet;
both count DATA frames modulo 256 and start at 0 after a reset. For WRITE, READ and their answers `seq` is a tag.
The byte 0x00 never occurs inside a frame, so a receiver finds the next frame after any damage. Empty
frames are ignored.

COBS: S. Cheshire and M. Baker, Consistent Overhead Byte Stuffing, IEEE/ACM Transactions on Networking 7(2), 1999. A
packet is shorter than 254 bytes, so it is always one byte longer after stuffing. CRC-32: IEEE 802.3, as `zlib.crc32`.
"""

from __future__ import annotations

import zlib
from enum import IntEnum, IntFlag
from typing import NamedTuple

#: Most bytes of payload in a frame, of a packet, and of a frame with its stuffing and its delimiter.
PAYLOAD = 240
PACKET = PAYLOAD + 8
FRAME = PACKET + 2

#: Frames that a sender may be ahead of `ack`, whatever `limit` says; and those that the board keeps to send again.
WINDOW = 64
SLOTS = 8

#: Most registers in one answer to a READ (one byte of payload is the address).
READ_WORDS = 58

MAGIC = 0x47415445  # "GATE"
SHELL_VERSION = 1


class Kind(IntEnum):
    """What a frame is; bit 7 is set in those that the board sends. Payloads of registers are little endian."""

    POLL = 0x00  #: host: answer with STATE
    DATA_IN = 0x01  #: host: bytes of the input stream
    WRITE = 0x02  #: host: address(1) value(4); done once for a tag
    READ = 0x03  #: host: address(1) count(1)
    RESEND = 0x04  #: host: answer with STATE, and send again all DATA_OUT from `ack` on
    STATE = 0x80  #: board: only its `ack` and `limit`
    DATA_OUT = 0x81  #: board: bytes of the output stream
    WRITTEN = 0x82  #: board: address(1) value(4)
    REGISTERS = 0x83  #: board: address(1) words(4 each)
    NAK = 0x84  #: board: a frame was no good or out of order; send again from `ack`


class Register(IntEnum):
    """Registers of the shell: 32-bit words by index; a name with _LO is followed by its upper half."""

    MAGIC = 0
    SHELL_VERSION = 1
    DESIGN = 2  #: four words: the first 128 bits of the design's SHA-256, hex digits in order
    NAME = 6  #: eight words: "workload/case" in ASCII, first character in the lowest byte, padded with zeros
    CLOCK_HZ = 14
    IN = 15  #: bytes a word [15:0], words an item [31:16]; 0 words: items have no fixed length
    OUT = 16
    FIFO = 17  #: bytes of the input FIFO [15:0], of the output FIFO [31:16]
    CONTROL = 18  #: written only, see Control
    FLAGS = 19  #: see Flag
    LAST_TAG = 20  #: tag of the last WRITE done [7:0]; bit 8: there was one since configuration
    FRAMES_OK = 21
    FRAMES_BAD = 22
    WORDS_IN = 23
    WORDS_OUT = 24
    ITEMS_IN = 25
    ITEMS_OUT = 26
    CYCLES_LO = 27  #: from the first word into the core to the last word out of it
    STEADY_LO = 29  #: from the last word of the first item out to the last word of the last item out
    LATENCY_MIN = 31  #: of an item, from its first word in to its last word out, in cycles
    LATENCY_MAX = 32
    LATENCY_SUM_LO = 33
    STALL_IN = 35  #: cycles with a word there and the core not ready
    STALL_OUT = 36  #: cycles with a result there and no room
    LINE_LO = 37  #: cycles from the first byte of the first DATA in to the last byte of the last DATA out


#: Words in the register map.
REGISTER_WORDS = 39


class Control(IntFlag):
    """Bits of the register CONTROL; all but HOLD go back to 0 by themselves."""

    RESET = 1  #: core, FIFOs, sequence numbers, counters
    HOLD = 2  #: words stay in the input FIFO
    CLEAR = 4  #: counters and flags


class Flag(IntFlag):
    """Bits of the register FLAGS; they stay until cleared."""

    SERIAL_FRAME = 1  #: a stop bit was missing
    SERIAL_OVERRUN = 2
    BAD_FRAME = 4
    OUT_OF_ORDER = 8
    INPUT_OVERFLOW = 16
    LATENCY_OVERFLOW = 32  #: more items inside the core than the latency memory holds
    OUTPUT_FULL = 64  #: the output FIFO was full once


class Frame(NamedTuple):
    """One good frame, its packet taken apart."""

    kind: int
    seq: int
    ack: int
    limit: int
    payload: bytes


def stuff(packet: bytes) -> bytes:
    """COBS of a packet of 0 to 253 bytes, without the delimiter: one byte longer and free of zeros."""
    if len(packet) > 253:
        raise ValueError(f"a packet of {len(packet)} bytes, at most 253 fit one block of COBS; send it in pieces")
    return b"".join(bytes((len(run) + 1,)) + run for run in packet.split(b"\0"))


def unstuff(data: bytes) -> bytes | None:
    """The packet of a stuffed block without delimiter; None when it is empty or its codes do not end where it ends."""
    runs, at, end = [], 0, len(data)
    if not end:
        return None
    while at < end:
        after = at + data[at]
        runs.append(data[at + 1 : after])
        at = after
    return b"\0".join(runs) if at == end else None


def pack(kind: int, seq: int = 0, ack: int = 0, limit: int = 0, payload: bytes = b"") -> bytes:
    """One frame with its delimiter; numbers are taken modulo 256, more than 240 bytes of payload are a ValueError."""
    if len(payload) > PAYLOAD:
        raise ValueError(f"a payload of {len(payload)} bytes, a frame carries {PAYLOAD}; send it in pieces")
    body = bytes((kind, seq & 255, ack & 255, limit & 255)) + payload
    return stuff(body + zlib.crc32(body).to_bytes(4, "little")) + b"\0"


def unpack(data: bytes) -> Frame | None:
    """A frame from the bytes between two delimiters; None when it does not decode, has a wrong size or a wrong CRC."""
    if len(data) > FRAME - 1:
        return None
    packet = unstuff(data)
    if packet is None or len(packet) < 8:
        return None
    body, crc = packet[:-4], packet[-4:]
    if zlib.crc32(body) != int.from_bytes(crc, "little"):
        return None
    return Frame(body[0], body[1], body[2], body[3], body[4:])


class Decoder:
    """Cuts a byte stream into frames. What has no delimiter yet waits, never more than one frame of it.

    Who begins to listen while a frame is under way gets its tail: before the first delimiter only a good frame counts.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._cut = True

    def feed(self, data: bytes) -> list[Frame | None]:
        """Bytes as they came; returns the frames that end in them, None for each that is no good."""
        pieces = (self._rest + data).split(b"\0")
        self._rest = pieces.pop()[:FRAME]  # a longer one is known to be bad, its tail tells nothing
        frames = [unpack(piece) for piece in pieces if piece]
        if self._cut and pieces:
            self._cut = False
            if pieces[0] and frames[0] is None:
                del frames[0]
        return frames


def identification(
    *,
    design: str,
    name: str,
    clock_hz: int,
    words_in: tuple[int, int],
    words_out: tuple[int, int],
    fifos: tuple[int, int],
) -> list[int]:
    """Words 0 to 17 of the map, as the generator of a shell writes them and a model answers them.

    `design` is a SHA-256 in hex, `words_in` and `words_out` are (bytes a word, words an item), `fifos` are bytes.
    """
    label = name.encode("ascii")
    if len(label) > 32:
        raise ValueError(
            f"the name {name!r} has {len(label)} characters, the register holds 32; shorten the case's name"
        )
    for what, value in (("IN", words_in), ("OUT", words_out), ("FIFO", fifos)):
        if not all(0 <= half < 65536 for half in value):
            raise ValueError(f"{what} {value}: each half of the register holds 0 to 65535")
    label = label.ljust(32, b"\0")
    return [
        MAGIC,
        SHELL_VERSION,
        *(int(design[i : i + 8], 16) for i in range(0, 32, 8)),
        *(int.from_bytes(label[i : i + 4], "little") for i in range(0, 32, 4)),
        clock_hz,
        words_in[0] | words_in[1] << 16,
        words_out[0] | words_out[1] << 16,
        fifos[0] | fifos[1] << 16,
    ]
