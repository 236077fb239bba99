"""Registers as named values."""

from __future__ import annotations

from designs.boards import frames
from designs.boards.frames import Flag, Register
from designs.boards.identity import COUNTERS_FROM, counters, identity


def test_counters_are_the_registers_of_their_name() -> None:
    words = [1000 + index for index in range(frames.REGISTER_WORDS)]
    words[Register.FLAGS] = 0x5
    got = counters(words[COUNTERS_FROM:])
    assert got.flags == Flag.SERIAL_FRAME | Flag.BAD_FRAME
    for register in Register:
        if register <= COUNTERS_FROM:
            continue
        name = register.name.lower()
        expected = words[register]
        if name.endswith("_lo"):
            name, expected = name[:-3], words[register] | words[register + 1] << 32
        assert getattr(got, name) == expected, name
    assert got.interval == got.steady / (words[Register.ITEMS_OUT] - 1)
    assert got.latency == got.latency_sum / words[Register.ITEMS_OUT]


def test_means_of_nothing() -> None:
    none = counters([0] * (frames.REGISTER_WORDS - COUNTERS_FROM))
    assert none.interval is None
    assert none.latency is None


def test_identity_reads_what_a_generator_writes() -> None:
    design = "0123456789abcdef" * 4
    got = identity(
        frames.identification(
            design=design, name="n" * 32, clock_hz=3, words_in=(4, 5), words_out=(6, 7), fifos=(8, 65535)
        )
    )
    assert (got.design, got.name, got.clock_hz) == (design[:32], "n" * 32, 3)
    assert (got.in_bytes, got.in_words, got.out_bytes, got.out_words) == (4, 5, 6, 7)
    assert (got.in_fifo, got.out_fifo, got.item_in, got.item_out) == (8, 65535, 20, 42)
