"""`fixed`: the arithmetic of the FPGA engine as exact integers, step after step. The design equals it bit for bit.

* A position is X = cell * 2^position + place, one integer for each of x, y, z, modulo the box.
* A pair at d = x_j - x_i counts when r^2 = d^2 < cutoff2, exactly.
* R = r^2 >> (2 position - address_bits). Segment s is the number of leading zeros of R, at most segments - 1; below the
  leading one follow `bins` bits of index and `delta` bits of place in the bin (both 0 where R has none there).
  value = base + (slope * place >> delta), of each term. K is their sum, each times its coefficient >> 17 if there are
  any.
* Force on j: f = K d / 2^position, rounded to the nearest, halves away from zero: an odd function, so that it does not
  matter which of the two is i. Sums of forces wrap at `sums` bits.
* With several masses, the force on a particle is times ratio >> 17. Kick: v += F; the first and the last are half of
  it, (F + 1) >> 1. Drift: X += (v + half) >> velocity_fraction.
* Flags: CLOSE when r^2 < close2, FAST when a velocity leaves its bits (its low bits stay) or a particle moves by more
  than one cell (it moves by one).

All shifts round down. Nothing depends on the order of particles or on the list of candidate pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from workloads.md import pairs
from workloads.md.system import Reals, System, check_kinds, check_positions, check_velocities
from workloads.md.tables import COEFFICIENT, Format, Integers, Tables, format_of, tables

__all__ = ["Flags", "Format", "State", "Tables", "forces", "format_of", "quantise", "run", "step", "tables"]


class Flags(IntFlag):
    """What went wrong, sticky. OVERFLOW is the engine's alone: a cell got more particles than its memory holds."""

    NONE = 0
    OVERFLOW = 1
    CLOSE = 2
    FAST = 4


@dataclass(frozen=True)
class State:
    """Positions and velocities (N, 3) as integers, kinds (N,), flags so far, and in words what raised the first."""

    positions: Integers
    velocities: Integers
    kinds: NDArray[np.uint8]
    flags: Flags = Flags.NONE
    fault: str = ""

    def cells(self, form: Format) -> Integers:
        """The cell of each particle in x, y, z (N, 3)."""
        return self.positions >> form.position

    def places(self, form: Format) -> Integers:
        """The place of each particle in its cell (N, 3)."""
        return self.positions & ((1 << form.position) - 1)

    def cell_index(self, table: Tables) -> Integers:
        """(cz CELLS_Y + cy) CELLS_X + cx of each particle (N,)."""
        c = self.cells(table.format)
        nx, ny, _ = table.system.cells
        return np.asarray((c[:, 2] * ny + c[:, 1]) * nx + c[:, 0])


@dataclass(frozen=True)
class Sums:
    """Sums of forces (N, 3), pairs within the cutoff, flags, and in words what raised them."""

    forces: Integers
    pairs: int
    flags: Flags
    fault: str = ""


#: Candidate pairs of a state, each once, that hold all pairs within the cutoff.
Candidates = Callable[[State], tuple[Integers, Integers]]


def quantise(table: Tables, positions: Reals, velocities: Reals, kinds: NDArray[np.uint8]) -> State:
    """The nearest integers of positions and velocities (N, 3) in the units of the system; halves up.

    Errors: ValueError for a wrong shape, coordinates that are not finite, kinds that there are not, and velocities
    that do not fit.
    """
    check_positions(table.system, positions)
    check_velocities(table.system, velocities)
    check_kinds(table.system, kinds)
    form = table.format
    unit = 2.0**form.position / table.edge
    at = np.floor(positions * unit + 0.5).astype(np.int64) % _period(table)
    moving = np.floor(velocities * table.system.step * unit * 2.0**form.velocity_fraction + 0.5)
    if np.abs(moving).max() >= 2.0 ** (form.velocity - 1):
        raise ValueError(f"{table.system.name}: {_too_fast(table, moving)}")
    return State(at, moving.astype(np.int64), kinds)


def positions(table: Tables, state: State) -> Reals:
    """Positions (N, 3) in the units of the system."""
    found: Reals = state.positions.astype(np.float64) * (table.edge / 2.0**table.format.position)
    return found


def velocities(table: Tables, state: State) -> Reals:
    """Velocities (N, 3) in the units of the system."""
    form = table.format
    unit = table.edge / 2.0 ** (form.position + form.velocity_fraction) / table.system.step
    found: Reals = state.velocities.astype(np.float64) * unit
    return found


def forces(table: Tables, state: State, candidates: Candidates | None = None) -> Sums:
    """Sums of the forces on all particles. Candidates: those of cell lists unless given."""
    axes = list(zip(state.positions.T.copy(), _period(table), strict=True))
    total = np.zeros((3, len(state.positions)), np.int64)
    count = 0
    closest: tuple[int, int, int] | None = None
    for i, j in pairs.blocks(*(candidates or by_cells(table))(state)):
        d = [_separation(x, i, j, side) for x, side in axes]
        r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
        near = np.flatnonzero(r2 < table.cutoff2)
        i, j, r2 = i[near], j[near], r2[near]
        k = strength(table, r2, state.kinds[i], state.kinds[j])
        for axis in range(3):
            f = round_odd(k * d[axis][near], table.format.position)
            np.add.at(total[axis], j, f)
            np.subtract.at(total[axis], i, f)
        count += len(i)
        if bool((r2 < table.close2).any()):
            at = int(r2.argmin())
            found = (int(r2[at]), int(min(i[at], j[at])), int(max(i[at], j[at])))
            closest = min(closest or found, found)
    half = 1 << (table.format.sums - 1)
    total = ((total + half) & (2 * half - 1)) - half
    flags, fault = (Flags.CLOSE, _too_close(table, *closest)) if closest else (Flags.NONE, "")
    return Sums(np.ascontiguousarray(total.T), count, flags, fault)


def strength(table: Tables, r2: Integers, kinds_i: NDArray[np.uint8], kinds_j: NDArray[np.uint8]) -> Integers:
    """K of pairs with these r^2 (n,) and kinds."""
    address, place = lookup(table.format, r2)
    values = table.base[:, address] + (table.slope[:, address] * place >> table.format.delta)
    if table.coefficients is not None:
        values = values * table.coefficients[:, kinds_i, kinds_j] >> COEFFICIENT
    return np.asarray(values.sum(0))


def lookup(form: Format, r2: Integers) -> tuple[Integers, Integers]:
    """Address in the table and place in the bin of r^2 (n,) below 2^(2 position)."""
    big = r2 >> (2 * form.position - form.address_bits)
    # The exponent of a float64 is exact for integers below 2^53.
    length = np.frexp(big.astype(np.float64))[1].astype(np.int64)
    segment = np.minimum(form.address_bits - length, form.segments - 1)
    below = np.maximum((big << segment) - (1 << (form.address_bits - 1)), 0)
    low = form.address_bits - 1 - form.bins - form.delta
    index = below >> (form.delta + low)
    return (segment << form.bins) + index, (below >> low) & ((1 << form.delta) - 1)


def step(table: Tables, state: State, half: bool = False, candidates: Candidates | None = None) -> State:
    """One step: forces, a kick (half of one if `half`), a drift."""
    kicked = kick(table, state, half, candidates)
    form = table.format
    move = kicked.velocities + (1 << (form.velocity_fraction - 1)) >> form.velocity_fraction
    far = state.places(form) + move >> form.position
    near = np.clip(far, -1, 1)
    flags, fault = kicked.flags, kicked.fault
    if bool((far != near).any()):
        flags, fault = flags | Flags.FAST, fault or _too_far(far)
    at = state.positions + move + (near - far << form.position)
    return replace(kicked, positions=at % _period(table), flags=flags, fault=fault)


def kick(table: Tables, state: State, half: bool, candidates: Candidates | None = None) -> State:
    """Forces and a kick without a drift."""
    found = forces(table, state, candidates)
    f = found.forces
    if table.ratios is not None:
        f = f * table.ratios[state.kinds][:, None] >> COEFFICIENT
    moving = state.velocities + (f + 1 >> 1 if half else f)
    limit = 1 << (table.format.velocity - 1)
    flags, fault = state.flags | found.flags, state.fault or found.fault
    if bool((moving >= limit).any() or (moving < -limit).any()):
        flags, fault = flags | Flags.FAST, fault or _too_fast(table, moving)
    moving = ((moving + limit) & (2 * limit - 1)) - limit
    return replace(state, velocities=moving, flags=flags, fault=fault)


def run(
    table: Tables,
    state: State,
    steps: int,
    first_half: bool = True,
    last_half: bool = True,
    candidates: Candidates | None = None,
) -> State:
    """As the engine's RUN: `steps` steps, the first with half a kick, and half a kick at the end; each if asked for."""
    for number in range(steps):
        state = step(table, state, first_half and number == 0, candidates)
    return kick(table, state, True, candidates) if last_half else state


def by_cells(table: Tables) -> Candidates:
    """Candidates found anew at every step by cell lists."""

    def find(state: State) -> tuple[Integers, Integers]:
        # A hair more than the cutoff: the exact test follows.
        return pairs.listed(table.system.box, positions(table, state), table.system.cutoff * (1 + 1e-9))

    return find


def by_list(table: Tables, skin: float) -> Candidates:
    """Candidates from a list of pairs within cutoff and skin, made anew once a particle has moved by half the skin."""
    made: list[tuple[Integers, Integers, Integers]] = []
    period = _period(table)
    reach = table.system.cutoff + skin
    limit = skin / 2 / table.edge * 2.0**table.format.position

    def find(state: State) -> tuple[Integers, Integers]:
        if made:
            moved = (state.positions - made[0][0] + period // 2) % period - period // 2
            if np.sqrt(np.einsum("nd,nd->n", moved, moved).max()) < limit:
                return made[0][1:]
        made[:] = [(state.positions, *pairs.listed(table.system.box, positions(table, state), reach))]
        return made[0][1:]

    return find


def round_odd(values: Integers, shift: int) -> Integers:
    """values / 2^shift to the nearest integer, halves away from zero."""
    result: Integers = (values + (1 << (shift - 1)) - (values < 0)) >> shift
    return result


def trajectory(table: Tables, state: State, steps: int, candidates: Candidates | None = None) -> Iterator[State]:
    """The state after each of `steps` whole velocity Verlet steps without last halves: what a DUMP after RUN shows."""
    for number in range(steps):
        state = step(table, state, number == 0, candidates)
        yield state


def decode_forces(table: Tables, sums: Sums) -> Reals:
    """Sums of forces (N, 3) in the units of the system. Errors: ValueError naming particles that came too close."""
    if sums.flags:
        raise ValueError(f"{table.system.name}: {sums.fault}")
    found: Reals = sums.forces.astype(np.float64) * table.force_unit
    return found


def check(system: System, state: State) -> None:
    """Errors: RuntimeError naming the system, the particles, the value and the limit of the first flag raised."""
    if state.flags:
        raise RuntimeError(f"{system.name}: {state.fault or f'begun with the flag {state.flags.name}'}")


def _too_close(table: Tables, r2: int, i: int, j: int) -> str:
    apart = r2**0.5 * table.edge / 2.0**table.format.position
    return (
        f"particles {i} and {j} are {apart:g} apart, but the table ends at {table.system.closest:g}: "
        "take a start without overlaps, or a shorter step"
    )


def _too_fast(table: Tables, moving: Integers | Reals) -> str:
    """Of velocities (N, 3) before they wrap."""
    form = table.format
    unit = table.edge / 2.0 ** (form.position + form.velocity_fraction) / table.system.step
    speeds = np.abs(moving).max(1) * unit
    worst = int(speeds.argmax())
    return (
        f"particle {worst} has a velocity of {speeds[worst]:g}, but {form.velocity} bits hold less than "
        f"{2.0 ** (form.velocity - 1) * unit:g}: take a shorter step, or a start without overlaps"
    )


def _too_far(cells: Integers) -> str:
    """Of cells (N, 3) by which particles would move."""
    far = np.abs(cells).max(1)
    worst = int(far.argmax())
    return f"particle {worst} would move by {far[worst]} cells in one step, at most 1: take a shorter step"


def _separation(x: Integers, i: Integers, j: Integers, period: int) -> Integers:
    """x_j - x_i along one axis, of the nearest images: places in the box differ by less than its side."""
    d = x[j] - x[i]
    half = period // 2
    d -= period * ((d >= half).astype(np.int64) - (d < -half))
    return np.asarray(d)


def _period(table: Tables) -> Integers:
    """Length of the box in x, y, z in the unit of positions (3,)."""
    return np.array(table.system.cells, np.int64) << table.format.position
