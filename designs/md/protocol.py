"""What the engine's streams carry: commands and particles in, states and counters out. Words are Python integers.

    script = Script(design)
    script.load(state); script.run(100); script.dump(); script.status()
    script.words, script.answers

An engine may be asked for what it cannot do, which the checks of flags need; `designs.md.config` refuses it beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from designs.md import config
from designs.md.generate import Design
from workloads.md.fixed import Flags, State
from workloads.md.tables import Integers

#: Bits of a kind in a beat, and of a counter of a worker.
KIND_BITS, COUNTER_BITS = 8, 48

#: Flag of the engine beyond those of the model: an unknown command, cell or kind came in.
INVALID = 8


class EngineFault(RuntimeError):
    """An engine raised a flag: its state is worth nothing; the message says which, and what to do."""


class Command(IntEnum):
    """Lowest byte of a command beat."""

    LOAD = 1
    RUN = 2
    DUMP = 3
    STATUS = 4
    CLEAR = 5


@dataclass(frozen=True)
class Status:
    """The engine's counters since the last CLEAR.

    `force_cycles` those of the force phases, `run_cycles` of all of RUN; `pairs` within the cutoff, `candidates` and
    `stalled` cycles of each worker (workers,).
    """

    flags: int
    workers: int
    steps: int
    force_cycles: int
    run_cycles: int
    particles: int
    lost: int
    pairs: Integers
    candidates: Integers
    stalled: Integers

    @property
    def useful(self) -> float:
        """Share of the cycles of the force phases in which a pipeline took a pair within the cutoff, mean."""
        return float(self.pairs.sum()) / (self.workers * self.force_cycles)


@dataclass
class Script:
    """Words for an engine, and how many packets it answers with."""

    design: Design
    words: list[int] = field(default_factory=list)
    answers: int = 0

    def load(self, state: State, ids: Sequence[int] | None = None) -> None:
        """Particles, numbered in their order unless `ids` are given."""
        self._command(Command.LOAD, len(state.positions))
        form, table = self.design.table.format, self.design.table
        rows = zip(
            state.places(form).tolist(), state.velocities.tolist(), state.kinds.tolist(),
            ids if ids is not None else range(len(state.positions)), state.cell_index(table).tolist(), strict=True,
        )  # fmt: skip
        widths = (*(form.position,) * 3, *(form.velocity,) * 3, KIND_BITS, config.ID_BITS, config.CELL_BITS)
        self.words += [packed((*place, *speed, kind, name, cell), widths) for place, speed, kind, name, cell in rows]

    def run(self, steps: int, first_half: bool = True, last_half: bool = True) -> None:
        """As `workloads.md.fixed.run`."""
        self._command(Command.RUN, steps, first_half | last_half << 1)

    def dump(self) -> None:
        """Ask for all particles."""
        self._command(Command.DUMP)
        self.answers += 1

    def status(self) -> None:
        """Ask for flags and counters."""
        self._command(Command.STATUS)
        self.answers += 1

    def clear(self) -> None:
        """Empty all cells; flags and counters become zero."""
        self._command(Command.CLEAR)

    def _command(self, kind: Command, argument: int = 0, flags: int = 0) -> None:
        self.words.append(packed((kind, flags, argument), (8, 8, 32)))


def dumped(design: Design, packet: Sequence[int]) -> State:
    """The state of a DUMP, in the order of the particles' numbers; FLAGS are not in it.

    Errors: ValueError when the packet is not of the length that it says, or a number is there twice.
    """
    table, form = design.table, design.table.format
    count = packet[0] & 0xFFFFFFFF
    if len(packet) != count + 1:
        raise ValueError(f"a dump of {count} particles with {len(packet) - 1} beats")
    widths = (*(form.position,) * 3, *(form.velocity,) * 3, KIND_BITS, config.ID_BITS, config.CELL_BITS)
    rows = np.array([unpacked(word, widths) for word in packet[1:]], np.int64).reshape(count, len(widths))
    rows = rows[np.argsort(rows[:, 7], kind="stable")]
    if len(np.unique(rows[:, 7])) != count:
        raise ValueError("a dump in which a particle comes twice")
    nx, ny, _ = table.system.cells
    cell = rows[:, 8]
    cells = np.stack([cell % nx, cell // nx % ny, cell // (nx * ny)], axis=1)
    half = 1 << (form.velocity - 1)
    speeds = ((rows[:, 3:6] + half) & (2 * half - 1)) - half
    return State((cells << form.position) + rows[:, :3], speeds, rows[:, 6].astype(np.uint8), Flags.NONE)


def reported(packet: Sequence[int]) -> Status:
    """The counters of a STATUS. Errors: ValueError when a worker is missing."""
    flags, workers, steps, force, run, particles, lost = unpacked(packet[0], (8, 8, 32, 48, 48, 32, 32))
    if len(packet) != workers + 1:
        raise ValueError(f"a status of {workers} workers with {len(packet) - 1} beats")
    rows = np.array([unpacked(word, (COUNTER_BITS,) * 3) for word in packet[1:]], np.int64)
    return Status(flags, workers, steps, force, run, particles, lost, rows[:, 0], rows[:, 1], rows[:, 2])


def check(design: Design, status: Status) -> None:
    """What a host does with a status. Errors: EngineFault that names each flag that is up, with value and limit."""
    system, engine = design.system, design.engine
    said = {
        int(Flags.OVERFLOW): f"{status.lost} particles lost: a cell got more than the {engine.capacity} of its memory",
        int(Flags.CLOSE): f"two particles came closer than {system.closest:g}, where the table ends",
        int(Flags.FAST): f"a particle became too fast for {design.table.format.velocity} bits; take a shorter step",
        INVALID: "a command, cell or kind came in that the engine does not have",
    }
    found = [text for flag, text in said.items() if status.flags & flag]
    if found:
        raise EngineFault(f"{system.name} on {engine.name}, after {status.steps} steps: {'; '.join(found)}")


def packed(values: Iterable[int], widths: Iterable[int]) -> int:
    """One word of fields, the first lowest; negative values as two's complement."""
    word = at = 0
    for value, width in zip(values, widths, strict=True):
        word |= (int(value) & ((1 << width) - 1)) << at
        at += width
    return word


def unpacked(word: int, widths: Iterable[int]) -> list[int]:
    """The fields of a word, the first lowest, without sign."""
    found, at = [], 0
    for width in widths:
        found.append(word >> at & ((1 << width) - 1))
        at += width
    return found
