"""Facts of Lattice ECP5 parts and their bitstreams: IDCODEs, frames, commands, CRC, and what identifies a bitstream.

    part = by_idcode(0x41113043)
    bitstream_idcode(Path("design.bit").read_bytes())

IDCODEs and the meaning of commands are those of Lattice's ECP5 sysCONFIG Usage Guide (FPGA-TN-02039); sizes of frames
and the layout of commands agree with Project Trellis (devices.json, bitstream_format.rst), whose ecppack we use.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

#: What starts the part of a bitstream file that the chip acts on; text for people stands before it.
PREAMBLE = b"\xff\xff\xbd\xb3"

# Commands in a bitstream (and, most of them, instructions over JTAG).
DUMMY = 0xFF
LSC_RESET_CRC = 0x3B
VERIFY_ID = 0xE2
LSC_WRITE_COMP_DIC = 0x02
LSC_PROG_CNTRL0 = 0x22
LSC_INIT_ADDRESS = 0x46
LSC_WRITE_ADDRESS = 0xB4
LSC_PROG_INCR_CMP = 0xB8
LSC_PROG_INCR_RTI = 0x82
LSC_PROG_SED_CRC = 0xA2
ISC_PROGRAM_SECURITY = 0xCE
ISC_PROGRAM_USERCODE = 0xC2
LSC_EBR_ADDRESS = 0xF6
LSC_EBR_WRITE = 0xB2
ISC_PROGRAM_DONE = 0x5E
SPI_MODE = 0x79
JUMP = 0x7E

#: Bytes behind a command's opcode and its three bytes of information, for commands of a fixed length.
PAYLOAD = {
    LSC_RESET_CRC: 0,
    VERIFY_ID: 4,
    LSC_WRITE_COMP_DIC: 8,
    LSC_PROG_CNTRL0: 4,
    LSC_INIT_ADDRESS: 0,
    LSC_WRITE_ADDRESS: 4,
    LSC_PROG_SED_CRC: 4,
    ISC_PROGRAM_SECURITY: 0,
    ISC_PROGRAM_USERCODE: 4,
    LSC_EBR_ADDRESS: 4,
    ISC_PROGRAM_DONE: 0,
    SPI_MODE: 0,
    JUMP: 4,
}


class BitstreamError(ValueError):
    """A file that is no ECP5 bitstream; the message says what is missing."""


@dataclass(frozen=True)
class Part:
    """An ECP5 part: its name, the IDCODE that it answers over JTAG, its configuration frames and their bytes."""

    name: str
    idcode: int
    frames: int
    frame_bytes: int


_SIZES = {"12": (7562, 74), "25": (7562, 74), "45": (9470, 106), "85": (13294, 142)}
_NAMES = {
    "LFE5U-12F": 0x21111043,
    "LFE5U-25F": 0x41111043,
    "LFE5U-45F": 0x41112043,
    "LFE5U-85F": 0x41113043,
    "LFE5UM-25F": 0x01111043,
    "LFE5UM-45F": 0x01112043,
    "LFE5UM-85F": 0x01113043,
    "LFE5UM5G-25F": 0x81111043,
    "LFE5UM5G-45F": 0x81112043,
    "LFE5UM5G-85F": 0x81113043,
}

#: All parts by name.
PARTS = {name: Part(name, idcode, *_SIZES[name[-3:-1]]) for name, idcode in _NAMES.items()}


def by_idcode(idcode: int) -> Part | None:
    """The part with an IDCODE, or None when no ECP5 has it."""
    return next((part for part in PARTS.values() if part.idcode == idcode), None)


def payload(bitstream: bytes) -> bytes:
    """The part of a bitstream file that the chip acts on: from the preamble to the end. Errors: BitstreamError."""
    start = bitstream.find(PREAMBLE)
    if start < 0:
        raise BitstreamError("no ECP5 bitstream: the preamble FF FF BD B3 is missing")
    return bitstream[start:]


def fingerprint(bitstream: bytes) -> str:
    """SHA-256 (hexadecimal) of what the chip acts on, so that the text before it does not matter."""
    return hashlib.sha256(payload(bitstream)).hexdigest()


def bitstream_idcode(bitstream: bytes) -> int:
    """The IDCODE that a bitstream demands (its VERIFY_ID command, which stands before all data). Errors:
    BitstreamError.
    """
    data = payload(bitstream)
    at = len(PREAMBLE)
    while at < len(data):
        command = data[at]
        if command == DUMMY:
            at += 1
        elif command == VERIFY_ID and at + 8 <= len(data):
            return int.from_bytes(data[at + 4 : at + 8], "big")
        elif command in PAYLOAD:
            at += 4 + PAYLOAD[command]
        else:
            break
    raise BitstreamError("no ECP5 bitstream: it does not say for which part it is (no VERIFY_ID before its data)")


def _table() -> list[int]:
    table = []
    for value in range(256):
        crc = value << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x8005) & 0xFFFF if crc & 0x8000 else crc << 1
        table.append(crc)
    return table


_CRC = _table()


def crc16(data: bytes, crc: int = 0) -> int:
    """CRC-16 of a bitstream: polynomial 0x8005, start 0, no reflection (known as CRC-16/BUYPASS)."""
    for byte in data:
        crc = crc << 8 & 0xFF00 ^ _CRC[crc >> 8 ^ byte]
    return crc
