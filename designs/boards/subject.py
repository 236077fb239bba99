"""What a workload offers to be run on a board: the module `on_board` beside its FPGA implementation.

    data = subject.encode("compact", subject.inputs("compact", 1000, seed=1))

A module is a subject when it has the members of `Subject`. The name of a case comes first everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from designs.boards import load
from designs.boards.shell.top import Items
from designs.flow.evidence import Core

#: A clock in MHz that leaves routing at ease, by family of part; a serial line is no reason for a higher one. Those of
#: small parts divide to 3 Mbaud exactly.
EASY_MHZ: Mapping[str, float] = {"ecp5": 48.0, "ice40": 18.0, "gowin": 27.0, "gatemate": 24.0, "xilinx": 48.0}


@dataclass(frozen=True)
class Counted:
    """Cycles that a design counted itself, where the pins do not show an item: mean cycles between `items` items."""

    interval: float
    items: int


@dataclass(frozen=True)
class Sample:
    """A figure of quality, over so many samples."""

    value: float
    samples: int


class Subject(Protocol):
    """A workload on a board.

    `NAME` is the implementation, `CASES` what it can do (the first is the default), `SAMPLES` how many items a run of a
    case takes unless told otherwise, `ITEM` what an item is called. A module may have `OPTIONS` by board, for
    `bitstream.build`; see `options_of`. Where its arithmetic on a board is one of its own, it has `quality(case)`; see
    `quality_of`.
    """

    NAME: str
    CASES: tuple[str, ...]
    SAMPLES: Mapping[str, int]
    ITEM: str

    def core(self, case: str) -> Core:
        """The design with the streaming ports of this project. Errors: UnknownNameError, and those of its generator."""

    def items(self, case: str) -> Items:
        """Words of the core that an item takes and gives; zeros where its pins show no items."""

    def clock_mhz(self, case: str, board: str) -> float:
        """A clock that the first seeds of place and route meet, in MHz."""

    def sources(self, case: str) -> list[str]:
        """Repository-relative files that determine the design, its streams and its oracle."""

    def inputs(self, case: str, n: int, seed: int) -> Any:
        """`n` items to run, the same for the same seed, extremes first where there are any."""

    def count(self, case: str, inputs: Any) -> int:
        """How many items `inputs` are."""

    def encode(self, case: str, inputs: Any) -> bytes:
        """The input stream: each word of the core as whole bytes, the lowest first."""

    def expected_bytes(self, case: str, n: int) -> int:
        """Bytes of the output stream of `n` items."""

    def decode(self, case: str, data: bytes, n: int) -> Any:
        """What the output stream of `n` items says. Errors: ValueError for a stream that says nothing."""

    def check(self, case: str, inputs: Any, outputs: Any) -> str:
        """Empty when every bit equals the oracle's, else one line that names the first difference."""

    def counted(self, case: str, outputs: Any) -> Counted | None:
        """Cycles that the design counted itself, or None where the counters at the pins tell all there is."""


def options_of(subject: Subject, board: str) -> tuple[str, ...]:
    """Options of nextpnr that a subject has for the first seed on a board; none where it says nothing."""
    options: Mapping[str, tuple[str, ...]] = getattr(subject, "OPTIONS", {})
    return options.get(load(board).name, ())


def quality_of(subject: Subject, case: str) -> Mapping[str, Sample]:
    """Figures of the arithmetic on a board by name; none where it is that of the workload's oracle records."""
    found: Callable[[str], Mapping[str, Sample]] | None = getattr(subject, "quality", None)
    return {} if found is None else found(case)


def easy_clock(board: str) -> float:
    """The clock of EASY_MHZ for a board. Errors: BoardError."""
    return EASY_MHZ[load(board).family]


def first_difference(got: Any, want: Any, item: str) -> str:
    """Empty for equal arrays (n, ...) of integers, else a line with the first item that differs and how many do."""
    if got.shape != want.shape:
        return f"the board gave an array of {got.shape}, the oracle {want.shape}"
    unlike = (got != want).reshape(len(want), -1)
    wrong = unlike.any(axis=1)
    if not wrong.any():
        return ""
    first = int(wrong.argmax())
    place = int(unlike[first].argmax())
    mine, theirs = got.reshape(len(want), -1)[first, place], want.reshape(len(want), -1)[first, place]
    return (
        f"{int(wrong.sum()):,} of {len(want):,} {item}s differ from the oracle, first {item} {first:,}: "
        f"number {place} is {mine}, not {theirs}"
    )
