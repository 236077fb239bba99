"""The smallest core for the vendor boards: the loopback core of the board tests, as the flow takes a core."""

from __future__ import annotations

from pathlib import Path

from designs.boards.shell.top import Items
from designs.flow.evidence import Core
from designs.lib import source

#: Bits of its words; a word travels as three bytes.
BITS = 21

ITEMS = Items(1, 1)


def core() -> Core:
    """Adds one to the low 20 bits, keeps the top bit."""
    return Core(
        workload="track",
        case="compact",
        implementation="designs/loopback",
        arithmetic="fixed",
        top="loopback_core",
        sources=(Path(__file__).parents[1] / "loopback_core.sv", *source("credit_stream", "stream_fifo")),
        in_bits=BITS,
        out_bits=BITS,
        digest="c0ffee" + "0123456789" * 5 + "ab" * 4,
        facts={"adders": 1},
    )


def expected(data: bytes) -> bytes:
    """Output stream of an input stream."""
    low = (1 << BITS - 1) - 1
    words = (int.from_bytes(data[at : at + 3], "little") for at in range(0, len(data), 3))
    return b"".join(((word & 1 << BITS - 1) | (word + 1 & low)).to_bytes(3, "little") for word in words)
