"""What a workload and an implementation look like. Standard library and numpy only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from compare.record import Record

#: May be called at any time of long work: what is being done, how much of it is done, how much there is.
Progress = Callable[[str, int, int], None]


class UnknownNameError(ValueError):
    """A name that nobody has; the message lists the valid ones."""

    def __init__(self, kind: str, name: str, valid: Sequence[str]) -> None:
        super().__init__(f"unknown {kind} {name!r}; valid: {', '.join(valid) or 'none'}")


@dataclass(frozen=True)
class Case:
    """A named size of a workload.

    `trained` False means seeded parameters, of which no figure says how well they solve a task; what an arithmetic does
    to them (a signal-to-noise ratio) may still be shown.
    `quality_samples`, unless 0, says how many things stand behind the quality of this case in place of the workload's
    number.
    """

    name: str
    summary: str
    trained: bool
    quality_samples: int = 0


@dataclass(frozen=True)
class Operations:
    """Useful work per item: multiply-accumulates, and bytes in and out at a stated width.

    `bit_operations` are those of the multiply-accumulates whose both operands are one bit: two each, an XNOR and a
    count. Multiply-accumulates with a wider operand, such as those of a first layer on pixels, are in `macs` alone.
    `weight_bytes` is what the weights occupy, packed; thresholds and biases are not in it. `equivalent_macs` is what
    some publications count in place of `macs`: products with inserted zeros included. `kept_macs` are those of `macs`
    whose product reaches an output. All are 0 where a workload does not state them.
    """

    macs: int
    bytes_in: int
    bytes_out: int
    bit_operations: int = 0
    weight_bytes: int = 0
    equivalent_macs: int = 0
    kept_macs: int = 0


@dataclass(frozen=True)
class Check:
    """The outcome of proving one implementation against the oracle.

    `tolerance` None means exact equality was required. `worst` is the largest absolute difference seen.
    `records` carries what the check measured on the way (cycle counts of a simulation).
    """

    implementation: str
    case: str
    arithmetic: str
    device: str
    samples: int
    seed: int
    passed: bool
    worst: float
    tolerance: float | None
    detail: str = ""
    seconds: float = 0.0
    records: tuple[Record, ...] = ()


class Workload(Protocol):
    """One workload: `workloads.<name>.WORKLOAD`. Errors of all: UnknownNameError for a case or arithmetic."""

    name: str
    item: str
    cases: Mapping[str, Case]
    #: The arithmetics of which the workload knows the quality.
    arithmetics: tuple[str, ...]
    #: How many independent things (events, images) stand behind a quality figure.
    quality_samples: int

    def inputs(self, case: str, n: int, seed: int) -> NDArray[Any]:
        """`n` inputs, the same for the same seed."""

    def reference(self, case: str, inputs: NDArray[Any], arithmetic: str) -> NDArray[Any]:
        """What the oracle makes of the inputs."""

    def operations(self, case: str) -> Operations:
        """Useful work of one item."""

    def quality(self, case: str, arithmetic: str) -> Mapping[str, float]:
        """Quality figures by name, computed now; empty for untrained parameters."""

    def sources(self, case: str) -> Sequence[str]:
        """Repository-relative files that determine the oracle and the quality of a case."""
