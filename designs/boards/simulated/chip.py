"""A Lattice ECP5 behind its JTAG port: instructions, status register, and when a configured design starts and stops.

    chip = Chip(PARTS["LFE5U-85F"], start=..., stop=...)
    tap = Tap(chip)

Opcodes and the status register are those of the ECP5 sysCONFIG Usage Guide (FPGA-TN-02039). What is modelled is loading
the SRAM: enable, erase, bitstream, disable. As in the chip, the outside of a configured part goes quiet when the
configuration interface is enabled, and the design runs once it is disabled with DONE set. Not modelled: boundary cells,
the flash behind the part, encryption, reading back. Opcodes that are not modelled select BYPASS.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

import numpy as np

from designs.boards.ecp5 import Part, fingerprint
from designs.boards.simulated.configuration import Configuration, Error
from designs.boards.simulated.tap import Bits

#: Clocks in Run-Test/Idle for which an erasure keeps the part busy.
ERASE_CLOCKS = 5000


class Instruction(IntEnum):
    """Opcodes of the 8-bit instruction register."""

    ISC_ERASE = 0x0E
    UIDCODE_PUB = 0x19
    PRELOAD_SAMPLE = 0x1C
    LSC_READ_CNTRL0 = 0x20
    ISC_DISABLE = 0x26
    ISC_NOOP = 0x30
    LSC_PROG_SPI = 0x3A
    LSC_READ_STATUS = 0x3C
    LSC_INIT_ADDRESS = 0x46
    ISC_ENABLE_X = 0x74
    LSC_REFRESH = 0x79
    LSC_BITSTREAM_BURST = 0x7A
    USERCODE = 0xC0
    ISC_ENABLE = 0xC6
    IDCODE_PUB = 0xE0
    LSC_CHECK_BUSY = 0xF0
    BYPASS = 0xFF


I = Instruction  # noqa: E741

#: Instructions with an operand of eight bits; they act when it was shifted in.
_WITH_OPERAND = (I.ISC_ENABLE, I.ISC_ENABLE_X, I.ISC_ERASE)


class Status(IntEnum):
    """Bits of the status register."""

    TRANSPARENT = 1 << 0
    JTAG_ACTIVE = 1 << 4
    DONE = 1 << 8
    ISC_ENABLED = 1 << 9
    WRITE_ENABLED = 1 << 10
    READ_ENABLED = 1 << 11
    BUSY = 1 << 12
    FAIL = 1 << 13
    PREAMBLE = 1 << 21
    BSE_ERROR = 1 << 23  # lowest of three bits
    ID_ERROR = 1 << 27
    INVALID_COMMAND = 1 << 28


class Chip:
    """The device behind a TAP. `start(fingerprint)` and `stop()` are called when a design begins and ceases to run.

    `history` lists every opcode that was loaded, in order; `loading` is the present configuration.
    """

    def __init__(self, part: Part, *, start: Callable[[str], None], stop: Callable[[], None]) -> None:
        self.part = part
        self.history: list[int] = []
        self.loading = Configuration(part)
        self.running = False
        self._start, self._stop = start, stop
        self._instruction = int(I.IDCODE_PUB)
        self._enabled = self._transparent = self._refused = False
        self._busy = 0
        self._burst: list[Bits] = []

    @property
    def status(self) -> int:
        """The status register (32 bits)."""
        error = self.loading.error
        flags = {
            Status.TRANSPARENT: self._transparent,
            Status.JTAG_ACTIVE: True,
            Status.DONE: self.loading.done,
            Status.ISC_ENABLED: self._enabled,
            Status.WRITE_ENABLED: self._enabled,
            Status.READ_ENABLED: self._enabled,
            Status.BUSY: self._busy > 0,
            Status.FAIL: error is not Error.NONE or self._refused,
            Status.PREAMBLE: self.loading.preamble,
            Status.ID_ERROR: error is Error.ID,
            Status.INVALID_COMMAND: error is Error.COMMAND,
        }
        return sum(flag for flag, on in flags.items() if on) | error * Status.BSE_ERROR

    def reset(self) -> None:
        """Test-Logic-Reset selects IDCODE; the configuration is not touched."""
        self._instruction = int(I.IDCODE_PUB)

    def capture_ir(self) -> Bits:
        """The standard asks for 01 in the lowest bits."""
        return _bits(0b01, 8)

    def update_ir(self, bits: Bits) -> None:
        """Select a register; instructions without an operand act now."""
        self._instruction = int(np.packbits(bits, bitorder="little")[0])
        self.history.append(self._instruction)
        if self._instruction == I.ISC_DISABLE:
            self._enabled = self._transparent = False
            if self.loading.done and not self.running:
                self.running = True
                self._start(fingerprint(bytes(self.loading.captured)))
        elif self._instruction == I.LSC_REFRESH:
            # As a pulse on PROGRAMN: the part forgets, and there is no flash to load from.
            self._erase()
        elif self._instruction == I.LSC_INIT_ADDRESS and self._allowed():
            self.loading.init_address()
        elif self._instruction == I.LSC_BITSTREAM_BURST:
            self._burst = []

    def capture_dr(self) -> Bits:
        """The register that the instruction selects."""
        match self._instruction:
            case I.IDCODE_PUB:
                return _bits(self.part.idcode, 32)
            case I.USERCODE:
                return _bits(self.loading.usercode, 32)
            case I.LSC_READ_STATUS:
                return _bits(self.status, 32)
            case I.LSC_READ_CNTRL0:
                return _bits(self.loading.control, 32)
            case I.LSC_CHECK_BUSY:
                return _bits(int(self._busy > 0), 1)
            case I.UIDCODE_PUB:
                return _bits(0, 64)
            case instruction if instruction in _WITH_OPERAND:
                return _bits(0, 8)
        return _bits(0, 1)

    def shifted_dr(self, bits: Bits) -> None:
        """A burst is taken as it comes, however long."""
        if self._instruction == I.LSC_BITSTREAM_BURST and self._enabled:
            self._burst.append(bits)

    def update_dr(self, bits: Bits) -> None:
        """Instructions with an operand act now; a burst ends."""
        if self._instruction == I.LSC_BITSTREAM_BURST:
            self._end_burst()
        elif self._instruction in _WITH_OPERAND:
            self._act(int(np.packbits(bits, bitorder="little")[0]))

    def idle(self, clocks: int) -> None:
        """Time passes for what keeps the part busy."""
        self._busy = max(0, self._busy - clocks)

    def _act(self, operand: int) -> None:
        if self._instruction == I.ISC_ENABLE:
            self._enabled = True
            self._halt()
        elif self._instruction == I.ISC_ENABLE_X:
            self._enabled = self._transparent = True
        elif operand & 1 and self._allowed():
            self._erase()

    def _allowed(self) -> bool:
        """Whether the configuration interface is enabled; what asks for it without sets FAIL."""
        self._refused = not self._enabled
        return self._enabled

    def _erase(self) -> None:
        self._halt()
        self.loading = Configuration(self.part)
        self._refused = False
        self._busy = ERASE_CLOCKS

    def _halt(self) -> None:
        if self.running:
            self.running = False
            self._stop()

    def _end_burst(self) -> None:
        """Hand the bits to the engine, the highest of each byte first; bits of a last, broken byte are lost."""
        if not self._allowed() or not self._burst:
            return
        bits = np.concatenate(self._burst)
        self._burst = []
        self.loading.feed(np.packbits(bits[: bits.size // 8 * 8]).tobytes())


def _bits(value: int, size: int) -> Bits:
    """The `size` lowest bits of a number, lowest first."""
    return np.array([value >> i & 1 for i in range(size)], np.uint8)
