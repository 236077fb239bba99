"""Frames: stuffing against two independent implementations, packets, and a decoder fed in any pieces."""

from __future__ import annotations

import itertools
import zlib

import pytest
from cobs import cobs
from hypothesis import given
from hypothesis import strategies as st

from designs.boards import frames
from designs.boards.frames import FRAME, PAYLOAD, Decoder, Frame, Kind, Register, pack, stuff, unpack, unstuff

#: Bytes with many zeros, which are what stuffing is about.
ZEROS = st.lists(st.one_of(st.just(0), st.integers(0, 255)), max_size=253).map(bytes)
NUMBER = st.integers(0, 255)
PACKETS = st.builds(Frame, NUMBER, NUMBER, NUMBER, NUMBER, st.binary(max_size=PAYLOAD))


def naive_unstuff(data: bytes) -> bytes:
    """Byte by byte after the paper, as a shell would do it."""
    out = bytearray()
    left = 0
    for byte in data:
        if left == 0:
            out.append(0)
            left = byte
        else:
            out.append(byte)
        left -= 1
    assert left == 0
    return bytes(out[1:])


@given(ZEROS)
def test_stuffing_agrees_with_others(packet: bytes) -> None:
    stuffed = stuff(packet)
    assert stuffed == cobs.encode(packet)
    assert 0 not in stuffed
    assert len(stuffed) == len(packet) + 1
    assert unstuff(stuffed) == packet == naive_unstuff(stuffed)


@given(st.binary(max_size=300).map(lambda data: data.replace(b"\0", b"\1")))
def test_unstuffing_refuses_what_others_refuse(data: bytes) -> None:
    try:
        expected = cobs.decode(data) if data else None
    except cobs.DecodeError:
        expected = None
    if b"\xff" not in data:  # a run of 254 does not occur: packets are shorter
        assert unstuff(data) == expected


@given(PACKETS)
def test_a_packet_comes_back(frame: Frame) -> None:
    wire = pack(*frame)
    assert wire[-1] == 0
    assert len(wire) == len(frame.payload) + 10 <= FRAME
    assert unpack(wire[:-1]) == frame


def test_bytes_on_the_wire() -> None:
    body = bytes([0x01, 5, 250, 20, 0, 7])
    packet = body + zlib.crc32(body).to_bytes(4, "little")
    assert pack(Kind.DATA_IN, 5, 250, 20, b"\0\7") == cobs.encode(packet) + b"\0"
    assert pack(Kind.POLL, 256 + 3)[2:3] == pack(Kind.POLL, 3)[2:3]


@given(PACKETS, st.data())
def test_no_change_of_up_to_32_bits_in_a_row_passes(frame: Frame, data: st.DataObject) -> None:
    """CRC-32 sees every burst of up to 32 bits; a change of a code of COBS moves more and is left to chance."""
    wire = bytearray(pack(*frame)[:-1])
    packet = bytearray(unstuff(bytes(wire)) or b"")
    at = data.draw(st.integers(0, len(packet) - 4))
    change = data.draw(st.integers(1, 2**32 - 1)).to_bytes(4, "little")
    for i in range(4):
        packet[at + i] ^= change[i]
    assert unpack(stuff(bytes(packet))) is None


@pytest.mark.parametrize("frame", [Frame(Kind.DATA_IN, 1, 2, 3, bytes(range(60))), Frame(Kind.STATE, 0, 0, 0, b"")])
def test_no_wrong_byte_anywhere_passes(frame: Frame) -> None:
    wire = pack(*frame)[:-1]
    for at in range(len(wire)):
        for value in range(256):
            if value != wire[at]:
                pieces = (wire[:at] + bytes([value]) + wire[at + 1 :]).split(b"\0")
                assert [unpack(piece) for piece in pieces if piece] == [None] * len([p for p in pieces if p])
        assert unpack(wire[:at] + wire[at + 1 :]) is None, "a byte lost"
        again = unpack(wire[: at + 1] + wire[at:])
        assert again is None, "a byte twice"


@given(st.lists(PACKETS, max_size=5), st.lists(st.integers(0, 300), max_size=8), st.data())
def test_decoder_in_any_pieces(sent: list[Frame], cuts: list[int], data: st.DataObject) -> None:
    stream = b"".join(b"\0" * data.draw(st.integers(0, 2)) + pack(*frame) for frame in sent)
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    decoder = Decoder()
    got = [f for a, b in itertools.pairwise(places) for f in decoder.feed(stream[a:b])]
    assert got == sent


def test_decoder_reports_what_is_no_good_and_goes_on() -> None:
    decoder = Decoder()
    good = Frame(Kind.STATE, 0, 1, 2, b"")
    assert decoder.feed(pack(*good)) == [good]
    assert decoder.feed(b"noise" + pack(*good)) == [None]
    assert decoder.feed(pack(*good)) == [good]
    assert decoder.feed(b"\5" * 10_000) == []
    assert len(decoder._rest) <= FRAME
    assert decoder.feed(b"\0" + pack(*good)) == [None, good]
    long = bytes([0x81, 0, 0, 0]) + bytes(PAYLOAD + 1)
    long += zlib.crc32(long).to_bytes(4, "little")
    assert decoder.feed(stuff(long) + b"\0") == [None], "one byte too long"
    short = b"\x80\0\0"
    assert decoder.feed(stuff(short + zlib.crc32(short).to_bytes(4, "little")) + b"\0") == [None], "one byte too short"


@pytest.mark.parametrize("first", [b"\0", b""])
def test_the_tail_of_a_frame_begun_before_we_listened_is_no_bad_frame(first: bytes) -> None:
    good = Frame(Kind.STATE, 0, 1, 2, b"")
    wire = pack(*good)
    for cut in range(1, len(wire)):
        decoder = Decoder()
        assert decoder.feed(wire[cut:]) == []
        assert decoder.feed(wire[cut:]) == ([None] if wire[cut:-1] else []), "but the second is"
    split = Decoder()
    assert split.feed(first + wire[1:4]) == []
    assert split.feed(wire[4:] + wire) == ([None, good] if first else [good])
    assert split.feed(b"noise\0") == [None]


def test_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="254 bytes, at most 253"):
        stuff(bytes(254))
    with pytest.raises(ValueError, match="241 bytes, a frame carries 240"):
        pack(Kind.DATA_IN, payload=bytes(241))


def test_register_map_has_no_gap() -> None:
    sizes = {Register.DESIGN: 4, Register.NAME: 8}
    at = 0
    for register in Register:
        assert register == at
        at += sizes.get(register, 2 if register.name.endswith("_LO") else 1)
    assert at == frames.REGISTER_WORDS <= frames.READ_WORDS


def test_identification_words() -> None:
    words = frames.identification(
        design="0123456789abcdef" * 4,
        name="track/hgq_1",
        clock_hz=48_000_000,
        words_in=(2, 16),
        words_out=(1, 5),
        fifos=(2048, 1024),
    )
    assert words[:6] == [int.from_bytes(b"GATE", "big"), 1, 0x01234567, 0x89ABCDEF, 0x01234567, 0x89ABCDEF]
    assert b"".join(w.to_bytes(4, "little") for w in words[6:14]) == b"track/hgq_1".ljust(32, b"\0")
    assert words[14:] == [48_000_000, 16 << 16 | 2, 5 << 16 | 1, 1024 << 16 | 2048]
    with pytest.raises(ValueError, match="33 characters, the register holds 32"):
        frames.identification(
            design="0" * 64, name="n" * 33, clock_hz=1, words_in=(1, 1), words_out=(1, 1), fifos=(1, 1)
        )
    with pytest.raises(ValueError, match="FIFO"):
        frames.identification(
            design="0" * 64, name="n", clock_hz=1, words_in=(1, 1), words_out=(1, 1), fifos=(65536, 1)
        )
