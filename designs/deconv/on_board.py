"""`deconv` on a board: the beats of a seed in, those of the image out; see `designs.boards.subject`.

Words are those of `designs.deconv.port`: a beat is several, the first the lowest. A beat of the output carries as many
channels as the engine is wide; numbers of channels that the image does not have are not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designs.boards.shell.top import Items
from designs.boards.subject import Counted, easy_clock, first_difference
from designs.deconv import evidence, reverse_loop
from designs.deconv.bench import sizes
from designs.deconv.compiler_images import packed
from designs.deconv.config import Engine
from designs.deconv.generate import Design, generate
from designs.deconv.port import PORT_BITS, narrow
from designs.flow.evidence import Core
from workloads.api import UnknownNameError
from workloads.deconv import WORKLOAD
from workloads.deconv.fixed import Integers
from workloads.deconv.fixed import encode as quantised

NAME = reverse_loop.NAME
CASES = ("digits",)
SAMPLES: Mapping[str, int] = {"digits": 64}
ITEM = "image"

#: A quarter of the multipliers of `gatewarp build`'s engine, so that it is placed and routed in a minute, and
#: multipliers that any part has.
ENGINES: Mapping[str, Engine] = {
    "digits": Engine(
        "board_digits", reverse_loop.DATAFLOW, 8, tm=2, tn=8, acc=24, a_words=512, b_words=512, w_words=4224,
        bias_words=64,
    ),
}  # fmt: skip


@cache
def design(case: str) -> Design:
    """A case on its engine for boards. Errors: UnknownNameError."""
    if case not in ENGINES:
        raise UnknownNameError("case", case, CASES)
    return generate(case, ENGINES[case])


def core(case: str) -> Core:
    """The engine behind words of a few bytes."""
    return narrow(evidence.core_of(NAME, design(case)))


def items(case: str) -> Items:
    """Words of a seed and of an image."""
    size, made = sizes(design(case)), design(case)
    return Items(size.beats_in * made.in_bits // PORT_BITS, size.beats_out * made.out_bits // PORT_BITS)


def clock_mhz(case: str, board: str) -> float:
    """One that is easily met, in MHz."""
    return easy_clock(board)


def sources(case: str) -> list[str]:
    """Files that determine the design, its streams and its oracle."""
    own = ("designs/deconv/on_board.py", "designs/deconv/port.py", "designs/lib/stream_width.sv")
    return [*evidence.sources_of(NAME, design(case)), *own]


def inputs(case: str, n: int, seed: int) -> Integers:
    """Seeds (n, *input_shape) as integers, extremes first."""
    extremes = WORKLOAD.extremes(case)[:n]
    values = np.concatenate([extremes, WORKLOAD.inputs(case, n - len(extremes), seed)])
    return quantised(values, design(case).engine.bits)


def count(case: str, inputs: Any) -> int:
    """Images."""
    return len(inputs)


def encode(case: str, inputs: Integers) -> bytes:
    """Beats of the seeds, lowest byte first."""
    made = design(case)
    return b"".join(packed(made.program.pack(item), made.engine.bits).tobytes() for item in inputs)


def expected_bytes(case: str, n: int) -> int:
    """Bytes of the beats of `n` images."""
    return n * sizes(design(case)).beats_out * design(case).out_bits // 8


def decode(case: str, data: bytes, n: int) -> Integers:
    """Images (n, *output_shape) as integers."""
    made = design(case)
    beats = np.frombuffer(data, f"<i{made.engine.bits // 8}").astype(np.int64).reshape(n, -1, made.engine.beat)
    return np.stack([made.program.unpack(each) for each in beats])


def check(case: str, inputs: Integers, outputs: Integers) -> str:
    """Against the network in the engine's arithmetic."""
    return first_difference(outputs, np.asarray(design(case).program.network(inputs)), ITEM)


def counted(case: str, outputs: NDArray[Any]) -> Counted | None:
    """The pins tell all."""
    return None
