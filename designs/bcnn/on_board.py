"""`bcnn` on a board: the pixels of an image in, a word each, its sums out in one; see `designs.boards.subject`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designs.bcnn import stream
from designs.bcnn.core import SUM_BITS
from designs.bcnn.generate import generate
from designs.boards.shell.top import Items
from designs.boards.subject import Counted, easy_clock, first_difference
from designs.flow.evidence import Core
from designs.flow.folding import bits_of
from workloads.bcnn import WORKLOAD
from workloads.bcnn.cases import LAYERS

NAME = stream.NAME
CASES = ("digits_small", "digits")
SAMPLES: Mapping[str, int] = dict.fromkeys(CASES, 1_000)
ITEM = "image"


def core(case: str) -> Core:
    """The network with its preset folding."""
    return stream.core_of(generate(case))


def items(case: str) -> Items:
    """Pixels in, one word out."""
    return Items(LAYERS[case][0].side ** 2, 1)


def clock_mhz(case: str, board: str) -> float:
    """One that is easily met, in MHz."""
    return easy_clock(board)


def sources(case: str) -> list[str]:
    """Files that determine the design, its streams and its oracle."""
    return [*stream.sources_of(generate(case)), "designs/bcnn/on_board.py"]


def inputs(case: str, n: int, seed: int) -> NDArray[np.int8]:
    """Images (n, rows, columns, channels), extremes first."""
    extremes = WORKLOAD.extremes(case)[:n]
    return np.concatenate([extremes, WORKLOAD.inputs(case, n - len(extremes), seed)])


def count(case: str, inputs: Any) -> int:
    """Images."""
    return len(inputs)


def encode(case: str, inputs: NDArray[np.int8]) -> bytes:
    """Pixels in raster order, channel 0 lowest, each word in whole bytes."""
    first = LAYERS[case][0]
    bits = bits_of(inputs, first.input_bits).reshape(-1, first.channels_in * first.input_bits)
    return np.packbits(bits, axis=1, bitorder="little").tobytes()


def expected_bytes(case: str, n: int) -> int:
    """Bytes of the sums of `n` images."""
    return n * LAYERS[case][-1].channels_out * SUM_BITS // 8


def decode(case: str, data: bytes, n: int) -> NDArray[np.int64]:
    """Sums (n, classes)."""
    return np.frombuffer(data, f"<i{SUM_BITS // 8}").reshape(n, -1).astype(np.int64)


def check(case: str, inputs: NDArray[np.int8], outputs: NDArray[np.int64]) -> str:
    """Against the sums of the oracle."""
    return first_difference(outputs, WORKLOAD.reference(case, inputs, "binary"), ITEM)


def counted(case: str, outputs: Any) -> Counted | None:
    """The pins tell all."""
    return None
