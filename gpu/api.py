"""What a workload offers to be measured on a device: the module `gpu.<workload>.subjects`, here as a Protocol.

`gpu.measure` decides what is measured and in which order, `gpu.session` times it; neither knows a workload.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from compare.record import Scalar
from gpu.runtime.device import Device
from gpu.runtime.loop import Runner

Array = NDArray[Any]


class CheckedRunner(Runner, Protocol):
    """A runner whose outputs can be read. It may have `close()`, which frees its buffers."""

    def output(self, index: int) -> Array:
        """What buffer set `index` holds now, item by item."""
        ...


@dataclass(frozen=True)
class Prepared:
    """An implementation bound to a batch, ready to be timed.

    Set i of the runner holds the inputs rotated by i items, its outputs poisoned until the first launch. `conditions`
    tells what was chosen (kernel, tuning, number types in and out), `files` the sources that determine its result and
    `tools` the versions behind it.
    """

    runner: CheckedRunner
    conditions: Mapping[str, Scalar]
    files: tuple[str, ...]
    tools: Mapping[str, str]


class Subject(Protocol):
    """One implementation of one case on one device, in the arithmetics and launch modes that it has there.

    `chooses` is for an outside baseline of which only the best counts: it is measured once, in the best of the launch
    modes that are asked for, and its record says which that is. `max_sets` bounds the buffer sets.
    """

    name: str
    tier: str
    arithmetics: Sequence[str]
    modes: Sequence[str]
    chooses: bool
    max_sets: int

    def item_bytes(self, arithmetic: str) -> int:
        """Bytes of one item in and out."""
        ...

    def prepare(self, arithmetic: str, modes: Sequence[str], inputs: Array, sets: int) -> Prepared:
        """Bind it to `sets` buffer sets of `inputs`, tuned for this batch; one mode unless it `chooses`."""
        ...

    def reference(self, arithmetic: str, inputs: Array) -> Array:
        """What the oracle makes of `inputs`."""
        ...

    def tolerance(self, arithmetic: str, inputs: Array) -> float:
        """Largest absolute difference that its outputs may have from `reference`; 0 is exact."""
        ...


class Offer(Protocol):
    """The module `gpu.<workload>.subjects`.

    `BATCHES` are measured by default, `MAX_BATCH` fits into memory and a short launch; `DISTINCT` items of a batch
    differ and larger batches repeat them; `CHECKED` outputs of each point are compared with the oracle. `BASELINES` are
    the public names of outside baselines; their modules also have `device_slug()`. Optional: `LARGEST_BATCH`, a case to
    its largest batch where that is less; `RUNS`, windows for the run-to-run variation (`gpu.variation`);
    `SESSION`, a `gpu.session.Session` of its own for items that follow from each other.
    """

    BATCHES: tuple[int, ...]
    MAX_BATCH: int
    DISTINCT: int
    CHECKED: int
    BASELINES: tuple[str, ...]

    def kernels(self, case: str, device: Device) -> Subject:
        """Our kernels of a case on an open device."""
        ...

    def baseline(self, name: str, case: str, device: Device) -> Subject:
        """The outside baseline of this name on the same device."""
        ...
