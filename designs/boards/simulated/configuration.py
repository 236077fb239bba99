"""What an ECP5 does with the bytes of a bitstream: the commands, the checks, and what they leave behind.

    loading = Configuration(part)
    loading.feed(data)
    loading.done, loading.error

Bytes may come in pieces of any size. As in the chip, the first error ends the reading: what follows is ignored, and
DONE is not set. The frames' bits are not interpreted; they are counted, and every CRC in the bitstream is checked.
"""

from __future__ import annotations

from collections.abc import Generator
from enum import IntEnum

from designs.boards import ecp5
from designs.boards.ecp5 import PREAMBLE, Part, crc16

_Step = Generator[None, None, bytes]


class Error(IntEnum):
    """The BSE error code of the status register (FPGA-TN-02039), as far as this engine finds errors."""

    NONE = 0
    ID = 1
    COMMAND = 2
    CRC = 3
    SIZE = 7


class _Failed(Exception):
    def __init__(self, error: Error) -> None:
        super().__init__(error.name)
        self.error = error


class Configuration:
    """The bitstream engine of one part between two erasures.

    `captured` holds all bytes in order, `preamble` whether the preamble was seen, `frames` how many frames were
    written, `done` whether the bitstream set DONE, `usercode` and `control` the registers that it wrote (32 bits each).
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        self.captured = bytearray()
        self.preamble = False
        self.done = False
        self.error = Error.NONE
        self.frames = 0
        self.usercode = 0
        self.control = 0
        self._at = 0
        self._crc = 0
        self._address = 0
        self._engine = self._run()
        next(self._engine)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the bitstream and act on them."""
        self.captured += data
        if not self.done and self.error is Error.NONE:
            try:
                next(self._engine)
            except _Failed as failed:
                self.error = failed.error
            except StopIteration:
                self.done = True

    def init_address(self) -> None:
        """Start again at the first frame."""
        self._address = 0

    def _take(self, size: int, *, counted: bool = True) -> _Step:
        """The next `size` bytes, once they are there; into the CRC when `counted`."""
        while len(self.captured) < self._at + size:
            yield
        data = bytes(self.captured[self._at : self._at + size])
        self._at += size
        if counted:
            self._crc = crc16(data, self._crc)
        return data

    def _check(self) -> Generator[None, None, None]:
        expected = yield from self._take(2, counted=False)
        if int.from_bytes(expected, "big") != self._crc:
            raise _Failed(Error.CRC)
        self._crc = 0

    def _run(self) -> Generator[None, None, None]:
        """Everything from the first byte to DONE; yields where more bytes are needed."""
        while (found := self.captured.find(PREAMBLE)) < 0:
            yield
        self._at = found + len(PREAMBLE)
        self.preamble = True
        while True:
            (command,) = yield from self._take(1, counted=False)
            if command == ecp5.DUMMY:
                continue
            self._crc = crc16(bytes([command]), self._crc)
            info = yield from self._take(3)
            if command in (ecp5.LSC_PROG_INCR_CMP, ecp5.LSC_PROG_INCR_RTI):
                yield from self._frames(info, compressed=command == ecp5.LSC_PROG_INCR_CMP)
            elif command == ecp5.LSC_EBR_WRITE:
                # Block memories come in words of 72 bits.
                yield from self._take(9 * int.from_bytes(info[1:], "big"))
                if info[0] & 0x80:
                    yield from self._check()
            elif command in ecp5.PAYLOAD:
                value = yield from self._take(ecp5.PAYLOAD[command])
                self._execute(command, value)
                # The first byte of SPI_MODE is its mode, not a flag.
                if info[0] & 0x80 and command != ecp5.SPI_MODE:
                    yield from self._check()
                if command == ecp5.ISC_PROGRAM_DONE:
                    return
            else:
                raise _Failed(Error.COMMAND)

    def _execute(self, command: int, value: bytes) -> None:
        if command == ecp5.LSC_RESET_CRC:
            self._crc = 0
        elif command == ecp5.VERIFY_ID:
            if int.from_bytes(value, "big") != self.part.idcode:
                raise _Failed(Error.ID)
        elif command == ecp5.LSC_INIT_ADDRESS:
            self.init_address()
        elif command == ecp5.LSC_WRITE_ADDRESS:
            # Frame addresses are not linear; bitstreams that use them write few frames.
            self.init_address()
        elif command == ecp5.LSC_PROG_CNTRL0:
            self.control = int.from_bytes(value, "big")
        elif command == ecp5.ISC_PROGRAM_USERCODE:
            self.usercode = int.from_bytes(value, "big")

    def _frames(self, info: bytes, *, compressed: bool) -> Generator[None, None, None]:
        """Frames of configuration; `info` has the flags, the dummy bytes behind each frame, and how many there are."""
        checked, once, dummies = info[0] & 0x80, info[0] & 0x40, info[0] & 0x0F
        count = int.from_bytes(info[1:], "big")
        for index in range(count):
            if self._address >= self.part.frames:
                raise _Failed(Error.SIZE)
            if compressed:
                yield from self._compressed_frame()
            else:
                yield from self._take(self.part.frame_bytes)
            self._address += 1
            self.frames += 1
            if checked and (not once or index == count - 1):
                yield from self._check()
            yield from self._take(dummies)

    def _compressed_frame(self) -> _Step:
        """One frame in the prefix code: 0 is a zero byte, 10xxxx a byte of the dictionary, 11xxxxxxxx the byte itself.

        Frames are padded to a multiple of eight bytes before they are compressed, and to whole bytes after.
        """
        symbols = -(-self.part.frame_bytes // 8) * 8
        while True:
            window = self.captured[self._at : self._at + symbols * 10 // 8]
            text = format(int.from_bytes(window, "big"), f"0{8 * len(window)}b")
            length = _code_length(text, symbols)
            if length <= len(text):
                return (yield from self._take(-(-length // 8)))
            yield


def _code_length(text: str, symbols: int) -> int:
    """Bits that `symbols` codes take from the start of `text`; more than there are when the text ends before."""
    at = 0
    while symbols > 0:
        one = text.find("1", at, at + symbols)
        if one < 0:
            return at + symbols
        symbols -= one - at + 1
        at = one + (10 if text[one + 1 : one + 2] == "1" else 6)
    return at
