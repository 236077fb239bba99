"""The engine's parameters: how many force workers, what each is made of, and the engines of the cases.

engine = preset("ulx3s_lj864")
check(system("lj864"), engine)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workloads.api import UnknownNameError
from workloads.md.fixed import State
from workloads.md.system import System
from workloads.md.tables import Tables, check_mapping

#: Bits of a particle's number and of its cell in a beat, and kinds that a particle can have.
ID_BITS, CELL_BITS, KINDS = 24, 16, 2

#: Most bits of a table's value plus the binary logarithm of the terms: the multipliers behind it.
STRENGTH_BITS = 35

#: Cells a side at least: with two, a neighbour would be met from both sides.
LEAST_CELLS = 3


class EngineError(ValueError):
    """Parameters that an engine cannot have, or a system that it cannot do; the message has value and limit."""


@dataclass(frozen=True)
class Engine:
    """One engine; what depends on the system (cells, tables, widths) comes from `designs.md.generate`.

    `workers` force pipelines, each with `filters` home particles at a time, a queue of `queue` particles that passed a
    filter, and a copy of all positions. `filter_bits` of a position are compared in a filter. `capacity` slots of a
    cell. `huge`: memories of more than some thousand words go to UltraRAM. `ecp5`: multipliers as a part
    of that family has them. `rings`: long delay lines in distributed RAM, for parts without shift registers in LUTs.
    Errors: EngineError naming the parameter.
    """

    name: str
    workers: int
    filters: int = 16
    capacity: int = 24
    queue: int = 512
    filter_bits: int = 9
    huge: bool = False
    ecp5: bool = False
    rings: bool = False

    def __post_init__(self) -> None:
        for what, least, most in (
            ("workers", 1, 255),
            ("filters", 1, 32),
            ("capacity", 2, 1024),
            ("queue", 4, 4096),
            ("filter_bits", 2, 16),
        ):
            value = getattr(self, what)
            if type(value) is not int or not least <= value <= most:
                self._refuse(what, value, f"a whole number from {least} to {most}")
        if self.queue & (self.queue - 1):
            self._refuse("queue", self.queue, "a power of two")

    def __str__(self) -> str:
        return f"{self.name}: {self.workers} workers of {self.filters} filters, {self.capacity} slots a cell"

    def _refuse(self, what: str, value: object, limit: str) -> None:
        raise EngineError(f"engine {self.name}: {what} of {value}; it must be {limit}")


#: Engines by name. That of ulx3s fills its part; `argon_40` has as many pipelines as the chip of Yang
#: et al. (SC'19).
PRESETS: Mapping[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine("ulx3s_lj864", workers=3, filters=16, capacity=24, ecp5=True, rings=True),
        Engine("argon_40", workers=40, filters=8, capacity=112, huge=True),
    )
}

#: The engine that a case is proved on.
ENGINE_OF: Mapping[str, str] = {"lj864": "ulx3s_lj864", "argon20k": "argon_40"}


def preset(name: str) -> Engine:
    """An engine by name. Errors: UnknownNameError listing the engines."""
    if name not in PRESETS:
        raise UnknownNameError("engine", name, tuple(PRESETS))
    return PRESETS[name]


def engine_of(case: str) -> Engine:
    """The engine of a case. Errors: UnknownNameError listing the cases that have one."""
    if case not in ENGINE_OF:
        raise UnknownNameError("case", case, tuple(ENGINE_OF))
    return PRESETS[ENGINE_OF[case]]


def check(system: System, engine: Engine) -> None:
    """Errors: EngineError naming the system, the value and the limit, for a system that the engine cannot do."""
    try:
        check_mapping(system, LEAST_CELLS)
    except ValueError as error:
        raise EngineError(f"engine {engine.name}: {error}") from None
    cells = int(np.prod(system.cells))
    for what, value, limit in (
        ("kinds of particles", len(system.species), KINDS),
        ("particles", system.n, 1 << ID_BITS),
        ("cells", cells, 1 << CELL_BITS),
    ):
        if value > limit:
            raise EngineError(f"engine {engine.name}: {system.name} has {value:,} {what}; at most {limit:,}")
    if system.n > cells * engine.capacity:
        raise EngineError(
            f"engine {engine.name}: {system.name} has {system.n / cells:.1f} particles a cell; its memory holds "
            f"{engine.capacity}"
        )


def check_tables(table: Tables, engine: Engine) -> None:
    """Errors: EngineError for table values that the multipliers are too narrow for."""
    bits = table.value_bits + (len(table.base) - 1).bit_length()
    if bits > STRENGTH_BITS:
        raise EngineError(
            f"engine {engine.name}: {table.system.name} has pair strengths of {bits} bits; at most {STRENGTH_BITS}"
        )
    form = table.format
    if form.velocity > form.position + form.velocity_fraction + 1:
        raise EngineError(
            f"engine {engine.name}: velocities of {form.velocity} bits; at most "
            f"{form.position + form.velocity_fraction + 1}, one cell a step"
        )


def check_state(table: Tables, engine: Engine, state: State) -> None:
    """Errors: EngineError naming the first cell that has more particles than slots."""
    counts = np.bincount(state.cell_index(table), minlength=int(np.prod(table.system.cells)))
    if counts.max() > engine.capacity:
        raise EngineError(
            f"engine {engine.name}: {table.system.name} has {counts.max()} particles in cell {counts.argmax()}; its "
            f"memory holds {engine.capacity}"
        )
