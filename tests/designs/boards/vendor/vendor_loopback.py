"""The smallest core for the vendor boards: the loopback core of the board tests, also as what a workload offers.

The functions with a case are those of `designs.boards.subject.Subject`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from designs.boards.shell.top import Items
from designs.flow.evidence import Core
from designs.lib import source

#: Bits of its words; a word travels as three bytes.
BITS = 21

ITEMS = Items(1, 1)

NAME, CASES, SAMPLES, ITEM = "designs/loopback", ("compact",), {"compact": 2_000}, "word"


def core(case: str = "compact") -> Core:
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


def items(case: str) -> Items:
    return ITEMS


def clock_mhz(case: str, board: str) -> float:
    return 100.0


def sources(case: str) -> list[str]:
    return []


def inputs(case: str, n: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, 1 << BITS, size=n)


def count(case: str, inputs: NDArray[np.int64]) -> int:
    return len(inputs)


def encode(case: str, inputs: NDArray[np.int64]) -> bytes:
    return b"".join(int(word).to_bytes(3, "little") for word in inputs)


def expected_bytes(case: str, n: int) -> int:
    return 3 * n


def decode(case: str, data: bytes, n: int) -> bytes:
    return data


def check(case: str, inputs: NDArray[np.int64], outputs: bytes) -> str:
    return "" if outputs == expected(encode(case, inputs)) else "a word differs"


def counted(case: str, outputs: bytes) -> None:
    return None
