"""The ECP5's bitstream engine on real bitstreams of the open flow: whole, in pieces, damaged, and for other parts."""

from __future__ import annotations

import numpy as np
import pytest
import table_design

from designs.boards import ecp5
from designs.boards.ecp5 import PARTS, BitstreamError, bitstream_idcode, crc16, fingerprint, payload
from designs.boards.simulated.chip import ERASE_CLOCKS, Chip, Instruction, Status
from designs.boards.simulated.configuration import Configuration, Error
from designs.boards.simulated.tap import Bits

PART = PARTS["LFE5U-25F"]


@pytest.fixture(scope="module")
def bitstream() -> bytes:
    return table_design.bitstream().read_bytes()


@pytest.fixture(scope="module")
def plain() -> bytes:
    return table_design.bitstream(compress=False).read_bytes()


def configured(data: bytes, part: ecp5.Part = PART) -> Configuration:
    loading = Configuration(part)
    loading.feed(data)
    return loading


def test_crc_of_the_usual_check_string() -> None:
    assert crc16(b"123456789") == 0xFEE8, "CRC-16/BUYPASS in the catalogue of CRC algorithms"
    assert crc16(b"456789", crc16(b"123")) == 0xFEE8


def test_parts() -> None:
    # Frames and bits a frame (with padding) from devices.json of Project Trellis.
    sizes = {"LFE5U-12F": (7562, 592), "LFE5U-45F": (9470, 848), "LFE5UM5G-85F": (13294, 1136)}
    for name, (frames, bits) in sizes.items():
        assert (PARTS[name].frames, 8 * PARTS[name].frame_bytes) == (frames, bits)
    assert len({part.idcode for part in PARTS.values()}) == len(PARTS) == 10
    assert ecp5.by_idcode(0x81112043) is PARTS["LFE5UM5G-45F"]
    assert ecp5.by_idcode(0x12345678) is None


def test_good_bitstreams(bitstream: bytes, plain: bytes) -> None:
    assert len(plain) > 4 * len(bitstream), "one is compressed, the other not"
    for data in (bitstream, plain):
        loading = configured(data)
        assert (loading.error, loading.done, loading.frames) == (Error.NONE, True, PART.frames)
        assert bytes(loading.captured) == data
        assert bitstream_idcode(data) == PART.idcode
    assert bitstream.count(bytes([ecp5.LSC_EBR_WRITE, 0xD0])) > 0, "a block memory is configured, too"


def test_pieces_of_any_size(bitstream: bytes) -> None:
    seed = 3
    rng = np.random.default_rng(seed)
    for largest in (7, 1000, 50_000):
        loading = Configuration(PART)
        at = 0
        # Bytes one by one around the start and the end, where commands are; frames are in between.
        while at < len(bitstream):
            near = at < 1200 or at > len(bitstream) - 3000
            size = int(rng.integers(1, (largest if near else 50_000) + 1))
            assert not loading.done
            loading.feed(bitstream[at : at + size])
            at += size
        assert (loading.error, loading.frames) == (Error.NONE, PART.frames), f"seed {seed}, largest {largest}"
        assert loading.done
        assert bytes(loading.captured) == bitstream


@pytest.mark.parametrize("compressed", [True, False])
def test_any_flipped_bit_is_found(bitstream: bytes, plain: bytes, compressed: bool) -> None:
    seed = 5
    rng = np.random.default_rng(seed)
    data = bitstream if compressed else plain
    start = data.find(ecp5.PREAMBLE) + 8  # behind the preamble and its dummies
    for _ in range(25 if compressed else 6):
        at, bit = int(rng.integers(start, len(data) - 20)), int(rng.integers(8))
        damaged = bytearray(data)
        damaged[at] ^= 1 << bit
        loading = configured(bytes(damaged))
        assert not loading.done, f"seed {seed}, byte {at}, bit {bit}"
        # A damaged length or opcode may let the engine wait for more, as the chip would: DONE is what counts.
        if start + 60 < at < len(data) - 4000:
            assert loading.error is Error.CRC, f"seed {seed}, byte {at}, bit {bit}"
            assert loading.frames <= PART.frames


def test_other_parts_refuse_it(bitstream: bytes) -> None:
    for part in PARTS.values():
        loading = configured(bitstream, part)
        assert loading.done == (part is PART)
        assert loading.error is (Error.NONE if part is PART else Error.ID)
        assert part is PART or loading.frames == 0


def test_packed_for_another_idcode() -> None:
    data = table_design.bitstream(idcode=PARTS["LFE5UM-25F"].idcode).read_bytes()
    assert bitstream_idcode(data) == PARTS["LFE5UM-25F"].idcode
    assert configured(data).error is Error.ID
    assert configured(data, PARTS["LFE5UM-25F"]).done


def test_truncated_is_neither_error_nor_done(bitstream: bytes) -> None:
    for length in (0, 100, 2000, len(bitstream) // 2, len(bitstream) - 30):
        loading = configured(bitstream[:length])
        assert (loading.error, loading.done) == (Error.NONE, False), length


def test_unknown_command_and_too_many_frames(bitstream: bytes) -> None:
    header = b"\xff\xff\xbd\xb3\xff\xff\xff\xff"
    assert configured(header + b"\x55\0\0\0").error is Error.COMMAND
    done = bytes([ecp5.ISC_PROGRAM_DONE, 0, 0, 0])
    assert configured(header + done).done
    # One frame more than the part has, without CRC or dummies.
    count = (PART.frames + 1).to_bytes(2, "big")
    frames = bytes([ecp5.LSC_PROG_INCR_RTI, 0]) + count + bytes(PART.frame_bytes) * (PART.frames + 1)
    loading = configured(header + frames + done)
    assert (loading.error, loading.frames, loading.done) == (Error.SIZE, PART.frames, False)
    again = bytes([ecp5.LSC_INIT_ADDRESS, 0, 0, 0])
    one = bytes([ecp5.LSC_PROG_INCR_RTI, 0, 0, 1]) + bytes(PART.frame_bytes)
    assert configured(header + one + again + one + done).frames == 2


def test_registers_and_crc_once_at_the_end() -> None:
    def command(opcode: int, info: bytes, value: bytes = b"") -> bytes:
        return bytes([opcode]) + info + value

    usercode = command(ecp5.ISC_PROGRAM_USERCODE, b"\x80\0\0", b"\xde\xad\xbe\xef")
    control = command(ecp5.LSC_PROG_CNTRL0, bytes(3), b"\x40\0\0\0")
    frames = command(ecp5.LSC_PROG_INCR_RTI, b"\xc0\0\x02", bytes(range(PART.frame_bytes)) * 2)
    reset = command(ecp5.LSC_RESET_CRC, bytes(3))
    head = b"\xff\xff\xbd\xb3" + b"\xff" * 4 + control + reset
    for wrong in (0, 1):
        body = frames + (crc16(frames) ^ wrong).to_bytes(2, "big")
        tail = usercode + crc16(usercode).to_bytes(2, "big") + command(ecp5.ISC_PROGRAM_DONE, bytes(3))
        loading = configured(head + body + tail)
        assert loading.error is (Error.CRC if wrong else Error.NONE)
        assert loading.done == (not wrong)
        assert loading.control == 0x40000000
        assert loading.usercode == (0 if wrong else 0xDEADBEEF)


def test_what_identifies_a_bitstream(bitstream: bytes) -> None:
    start = bitstream.find(ecp5.PREAMBLE)
    assert start > 10, "text for people stands before"
    assert payload(bitstream) == bitstream[start:]
    assert fingerprint(bitstream) == fingerprint(b"other text" + bitstream[start:]) != fingerprint(bitstream[:-1])
    for broken in (b"", b"no bitstream", bitstream[:start], bitstream[: start + 12]):
        with pytest.raises(BitstreamError, match="no ECP5 bitstream"):
            bitstream_idcode(broken)


# The part around the engine: instructions and status.


class Events:
    """A chip with a list of what it started and stopped, and shortcuts for scans without a TAP."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.chip = Chip(PART, start=self.events.append, stop=lambda: self.events.append("stop"))

    def instruct(self, opcode: int, operand: int | None = None) -> None:
        self.chip.update_ir(bits(opcode, 8))
        if operand is not None:
            self.chip.update_dr(bits(operand, 8))

    def burst(self, data: bytes, piece: int = 8191) -> None:
        self.instruct(Instruction.LSC_BITSTREAM_BURST)
        line = np.unpackbits(np.frombuffer(data, np.uint8))
        for start in range(0, line.size, piece):
            self.chip.shifted_dr(line[start : start + piece])
        self.chip.update_dr(bits(0, 1))

    def load(self, data: bytes) -> int:
        self.instruct(Instruction.ISC_ENABLE, 0)
        self.instruct(Instruction.ISC_ERASE, 1)
        self.chip.idle(ERASE_CLOCKS)
        self.burst(data)
        return self.chip.status


def bits(value: int, count: int) -> Bits:
    return np.array([value >> i & 1 for i in range(count)], np.uint8)


def test_loading_sets_done_and_the_design_runs_when_the_interface_is_disabled(bitstream: bytes) -> None:
    part = Events()
    assert not part.chip.status & (Status.DONE | Status.FAIL | Status.ISC_ENABLED)
    status = part.load(bitstream)
    assert status & Status.DONE
    assert status & Status.ISC_ENABLED
    assert not status & (Status.FAIL | Status.BUSY)
    assert part.events == []
    part.instruct(Instruction.ISC_DISABLE)
    assert part.events == [fingerprint(bitstream)]
    assert part.chip.status & Status.DONE
    # A new configuration ends the old run as soon as the part is taken offline.
    part.instruct(Instruction.ISC_ENABLE, 0)
    assert part.events[1:] == ["stop"]
    part.instruct(Instruction.ISC_ERASE, 1)
    assert not part.chip.status & Status.DONE
    part.instruct(Instruction.ISC_DISABLE)
    assert len(part.events) == 2, "an erased part runs nothing"


@pytest.mark.parametrize(
    ("damage", "code", "flags"),
    [("crc", 3, 0), ("id", 1, int(Status.ID_ERROR)), ("command", 2, int(Status.INVALID_COMMAND))],
)
def test_errors_show_in_the_status_and_nothing_runs(bitstream: bytes, damage: str, code: int, flags: int) -> None:
    data = bytearray(bitstream)
    verify = bitstream.find(bytes([ecp5.VERIFY_ID, 0, 0, 0]))
    if damage == "crc":
        data[len(data) // 2] ^= 1
    elif damage == "id":
        data[verify + 4] ^= 0x60
    else:
        data[verify] = 0x55
    part = Events()
    status = part.load(bytes(data))
    assert status >> 23 & 7 == code
    assert status & Status.FAIL
    assert not status & Status.DONE
    assert status & (Status.ID_ERROR | Status.INVALID_COMMAND) == flags
    part.instruct(Instruction.ISC_DISABLE)
    assert part.events == []
    # Erasing clears the error, and a good bitstream then loads.
    assert part.load(bitstream) & Status.DONE
    assert not part.chip.status & Status.FAIL


def test_nothing_without_enabling(bitstream: bytes) -> None:
    part = Events()
    part.burst(bitstream)
    assert part.chip.status & Status.FAIL
    assert not part.chip.loading.captured
    part.instruct(Instruction.ISC_ERASE, 1)
    part.instruct(Instruction.ISC_DISABLE)
    assert part.events == []


def test_erasing_takes_time_and_refresh_forgets(bitstream: bytes) -> None:
    part = Events()
    part.load(bitstream)
    part.instruct(Instruction.ISC_DISABLE)
    part.instruct(Instruction.LSC_REFRESH)
    assert part.events == [fingerprint(bitstream), "stop"]
    part.instruct(Instruction.LSC_CHECK_BUSY)
    assert part.chip.status & Status.BUSY
    assert part.chip.capture_dr().tolist() == [1]
    part.chip.idle(ERASE_CLOCKS - 1)
    assert part.chip.capture_dr().tolist() == [1]
    part.chip.idle(1)
    assert part.chip.capture_dr().tolist() == [0]
    assert not part.chip.status & (Status.BUSY | Status.DONE)
    assert part.chip.history[-1] == Instruction.LSC_CHECK_BUSY


def test_a_burst_in_several_scans(bitstream: bytes) -> None:
    part = Events()
    part.instruct(Instruction.ISC_ENABLE, 0)
    part.instruct(Instruction.ISC_ERASE, 1)
    middle = len(bitstream) // 3
    part.burst(bitstream[:middle])
    assert not part.chip.status & (Status.DONE | Status.FAIL)
    part.burst(bitstream[middle:])
    assert part.chip.status & Status.DONE
    assert bytes(part.chip.loading.captured) == bitstream
