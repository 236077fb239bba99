"""`track` on a board: hits of three numbers in, their embeddings out, a word each; see `designs.boards.subject`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designs.boards.shell.top import Items
from designs.boards.subject import Counted, easy_clock, first_difference
from designs.flow.evidence import Core
from hls.track import da4ml, model
from hls.track.core import TOP
from workloads.track.network import Ints

NAME = da4ml.NAME
CASES = ("compact", "embed")
SAMPLES: Mapping[str, int] = dict.fromkeys(CASES, 10_000)
ITEM = "hit"

_ELEMENTS = 3


def core(case: str) -> Core:
    """The da4ml pipeline as a stream. Errors: model.MissingPackage."""
    design = da4ml.generate(case)
    return Core(
        workload="track", case=case, implementation=NAME, arithmetic="fixed", top=TOP, sources=design.sources,
        in_bits=design.in_bits, out_bits=design.out_bits, digest=design.digest, facts={"adders": design.adders},
    )  # fmt: skip


def items(case: str) -> Items:
    """A hit is a word, and so is its embedding."""
    return Items(1, 1)


def clock_mhz(case: str, board: str) -> float:
    """One that is easily met, in MHz."""
    return easy_clock(board)


def sources(case: str) -> list[str]:
    """Files that determine the design, its streams and its oracle."""
    return [*da4ml.sources_of(case), "hls/track/on_board.py"]


def inputs(case: str, n: int, seed: int) -> NDArray[np.float32]:
    """Hits (n, 3), extremes first."""
    return model.vectors(case, n, seed)[:n]


def count(case: str, inputs: Any) -> int:
    """Hits."""
    return len(inputs)


def encode(case: str, inputs: NDArray[np.float32]) -> bytes:
    """Words of three elements of 12 bits, the first lowest."""
    size = -(-_ELEMENTS * model.IN_WIDTH // 8)
    words = model.pack(model.oracle(case).encode(inputs), model.IN_WIDTH)
    return b"".join(word.to_bytes(size, "little") for word in words)


def expected_bytes(case: str, n: int) -> int:
    """Bytes of `n` embeddings."""
    return n * _out_bytes(case)


def decode(case: str, data: bytes, n: int) -> Ints:
    """Embeddings (n, 4) as integers on the output grid."""
    network, size = model.oracle(case), _out_bytes(case)
    words = [int.from_bytes(data[at : at + size], "little") for at in range(0, n * size, size)]
    return model.unpack(words, model.out_width(network), network.widths[-1])


def check(case: str, inputs: NDArray[np.float32], outputs: Ints) -> str:
    """Against the integers of the trained network."""
    network = model.oracle(case)
    return first_difference(outputs, network.evaluate(network.encode(inputs)), ITEM)


def counted(case: str, outputs: Ints) -> Counted | None:
    """The pins tell all."""
    return None


def _out_bytes(case: str) -> int:
    network = model.oracle(case)
    return -(-network.widths[-1] * model.out_width(network) // 8)
