"""Which points are measured, in which order, and what is refused before the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu.api import Subject
from gpu.runtime.device import DeviceError
from workloads.api import UnknownNameError


@dataclass(frozen=True)
class Point:
    """One thing to measure: what, how many items at once, and the launch modes, of which the best is taken."""

    subject: Subject
    batch: int
    arithmetic: str
    modes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.subject.name} batch {self.batch} {self.arithmetic} {'/'.join(self.modes)}"


def check_numbers(case: str, batches: Sequence[int], energy_batches: Sequence[int], seed: int, largest: int) -> None:
    """Errors: DeviceError for a batch that is not positive or above `largest`, for energy elsewhere, for the seed."""
    if not batches or min(batches) < 1:
        raise DeviceError(f"batch sizes must be positive, got {list(batches)}")
    if max(batches) > largest:
        raise DeviceError(
            f"{case}: batch {max(batches)} is too large, at most {largest}: more would not fit into memory, or would "
            "take seconds a launch"
        )
    if other := sorted(set(energy_batches) - set(batches)):
        raise DeviceError(
            f"energy is asked for at batch {', '.join(map(str, other))}, which is not measured; "
            f"batches: {', '.join(map(str, batches))}"
        )
    if seed < 0:
        raise DeviceError(f"the seed must not be negative, got {seed}")


def points(
    device: str,
    subjects: Sequence[Subject],
    batches: Sequence[int],
    arithmetics: Sequence[str] | None,
    modes: Sequence[str] | None,
) -> list[Point]:
    """What is to be measured, batch by batch. A name that nothing has, or that leads to no point, is an error.

    Errors: UnknownNameError, DeviceError.
    """
    for kind, asked, valid in (
        ("arithmetic", arithmetics, [a for s in subjects for a in s.arithmetics]),
        ("launch mode", modes, [m for s in subjects for m in s.modes]),
    ):
        for name in asked or ():
            if name not in valid:
                raise UnknownNameError(f"{kind} on {device}", name, tuple(dict.fromkeys(valid)))
    found = [
        Point(subject, batch, arithmetic, ways)
        for batch in batches
        for subject in subjects
        for arithmetic in subject.arithmetics
        if arithmetics is None or arithmetic in arithmetics
        for ways in _ways(subject, modes)
    ]
    idle = [a for a in arithmetics or () if not any(p.arithmetic == a for p in found)]
    idle += [m for m in modes or () if not any(m in p.modes for p in found)]
    if idle or not found:
        have = "; ".join(f"{s.name}: {', '.join(s.arithmetics)} by {', '.join(s.modes)}" for s in subjects)
        raise DeviceError(f"nothing on {device} would be measured for {', '.join(idle) or 'these options'}; {have}")
    return found


def _ways(subject: Subject, modes: Sequence[str] | None) -> list[tuple[str, ...]]:
    """The launch modes of each point of a subject: one each, or all at once where it chooses."""
    asked = [m for m in subject.modes if modes is None or m in modes]
    return [tuple(asked)] if subject.chooses and asked else [(m,) for m in asked]
