"""Small states that raise each flag of an engine, and one that raises none.

    for each in provoked(design):
        each.script, each.problems(packets)

What is due comes from the integer model, but for what only a memory does: a particle that finds its cell full is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from designs.md.generate import Design
from designs.md.protocol import INVALID, Script, reported
from workloads.md import fixed
from workloads.md.fixed import Flags, State
from workloads.md.tables import Integers


@dataclass(frozen=True)
class Provocation:
    """A script whose only answer is a status, and the flags and lost particles that are due."""

    name: str
    script: Script
    flags: int
    lost: int

    def problems(self, packets: Sequence[Sequence[int]]) -> Iterator[str]:
        """What the status says that it must not."""
        status = reported(packets[0])
        for what, seen, due in (("flags", status.flags, self.flags), ("particles lost", status.lost, self.lost)):
            if seen != due:
                yield f"{self.script.design.engine}: {self.name}: {what} {seen}, due {due}"


def provoked(design: Design) -> tuple[Provocation, ...]:
    """Each flag, and at the end none: CLEAR must take back what was raised."""
    table, form = design.table, design.table.format
    near = design.system.closest / table.edge
    top = (1 << (form.velocity - 1)) - 1
    full = _grid(design.engine.capacity)
    # A little less than an eighth of a cell, the most that a velocity has, across the border of the full cell.
    fast = int(0.96 * top)
    arrives = np.array([[1.0 + 0.8 * fast / 2.0 ** (form.position + form.velocity_fraction), 0.4, 0.4]])
    still = np.zeros((len(full), 3))
    return (
        _stepped(design, "two particles too close", np.array([[0.5, 0.5, 0.5], [0.5 + 0.9 * near, 0.5, 0.5]]), None),
        _stepped(
            design, "a push at the highest velocity", np.array([[0.4, 0.5, 0.5], [0.4 + 1.05 * near, 0.5, 0.5]]),
            np.array([[0, 0, 0], [top, 0, 0]]),
        ),
        _stepped(
            design, "a particle that moves into a full cell", np.concatenate([full, arrives]),
            np.concatenate([still, [[-fast, 0, 0]]]),
        ),
        _loaded(design, "a particle too many for a cell", np.concatenate([full, [[0.99, 0.99, 0.99]]])),
        _unknown(design),
        _stepped(design, "two particles far apart", np.array([[0.5, 0.5, 0.5], [1.25, 0.5, 0.5]]), None),
    )  # fmt: skip


def _grid(count: int) -> NDArray[np.float64]:
    """So many places in the first cell (count, 3) in edges, evenly."""
    side = int(np.ceil(count ** (1 / 3)))
    return (np.stack(np.unravel_index(np.arange(count), (side,) * 3), axis=1) + 0.5) / side


def _state(design: Design, places: NDArray[np.float64], speeds: Integers | None) -> State:
    at = np.floor(places * 2.0**design.table.format.position).astype(np.int64)
    kinds = np.zeros(len(at), np.uint8)
    return State(at, np.zeros_like(at) if speeds is None else speeds.astype(np.int64), kinds)


def _stepped(design: Design, name: str, places: NDArray[np.float64], speeds: Integers | None) -> Provocation:
    state = _state(design, places, speeds)
    script = Script(design)
    script.clear()
    script.load(state)
    script.run(1, first_half=False, last_half=False)
    script.status()
    after = fixed.step(design.table, state, candidates=every_pair)
    lost = int(np.maximum(np.bincount(after.cell_index(design.table)) - design.engine.capacity, 0).sum())
    return Provocation(name, script, int(after.flags | (Flags.OVERFLOW if lost else Flags.NONE)), lost)


def _loaded(design: Design, name: str, places: NDArray[np.float64]) -> Provocation:
    script = Script(design)
    script.clear()
    script.load(_state(design, places, None))
    script.status()
    return Provocation(name, script, int(Flags.OVERFLOW), 1)


def _unknown(design: Design) -> Provocation:
    script = Script(design)
    script.clear()
    script.words.append(0xFF)
    script.status()
    return Provocation("a command that there is not", script, INVALID, 0)


def every_pair(state: State) -> tuple[Integers, Integers]:
    """Candidates of the model: all pairs of a few particles."""
    i, j = np.triu_indices(len(state.positions), 1)
    return i.astype(np.int64), j.astype(np.int64)
