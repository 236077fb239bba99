"""`md` on a board: a small engine runs whole time steps of a case; see `designs.boards.subject`.

A run clears the engine, loads the particles, makes one step, asks for the counters, makes the others, and asks for the
counters and for all particles. An item is a step: no word of the pins belongs to one, so the engine's own counters tell
how long it takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from designs.boards.shell.top import Items
from designs.boards.subject import Counted, Sample, easy_clock, first_difference
from designs.flow.evidence import Core
from designs.md import evidence, protocol, range_limited
from designs.md.config import Engine
from designs.md.evidence import SKIN, start
from designs.md.generate import Design, generate_system
from designs.md.port import PORT_BITS, narrow
from designs.md.protocol import Script, Status
from workloads.api import UnknownNameError
from workloads.md import cases, fixed
from workloads.md.fixed import State
from workloads.md.forces import evaluate
from workloads.md.quality import SEED, samples
from workloads.md.tables import format_of

NAME = range_limited.NAME
CASES = ("lj864",)
SAMPLES: Mapping[str, int] = {"lj864": 20}
ITEM = "step"

#: Steps that a run has at least: one before the counters are read first, one after.
LEAST_STEPS = 2

#: Options of nextpnr by board, for the first seed: wire lengths alone decide, and another placer finds shorter ones, so
#: that it takes half the time. That placer does not end with every design, so only boards are here where it did.
OPTIONS: Mapping[str, tuple[str, ...]] = {"ulx3s-85f": ("--placer", "static", "--no-tmdriv")}

#: One force pipeline, so that it is placed and routed in two minutes; that of `gatewarp build` fills its part. Without
#: ECP5's own multipliers, since it goes to other families as well.
ENGINE = Engine("board_lj864", workers=1, filters=1, capacity=24, queue=32, filter_bits=6, rings=True)

#: Its numbers are narrower than those of `gatewarp build` (positions of 24 bits, tables of twice as many bins), for the
#: same reason: `quality` says what that costs. A difference of two positions fits a multiplier of 18 bits.
NARROW: Mapping[str, int] = {
    "position": 17, "velocity_fraction": 10, "velocity": 26, "bins": 7, "delta": 9, "sums": 30,
}  # fmt: skip

#: The arithmetic of records: fixed point with places in a cell of so many bits. `fixed` is that of 24.
ARITHMETIC = f"fixed{NARROW['position']}"


class TooFewSteps(ValueError):
    """Steps that the counters could not be read twice in; the message says how many are enough."""


@dataclass(frozen=True)
class Job:
    """What a run does: the state it starts from, and its steps. Errors: TooFewSteps."""

    state: State
    steps: int

    def __post_init__(self) -> None:
        if self.steps < LEAST_STEPS:
            least = LEAST_STEPS
            raise TooFewSteps(f"{self.steps} step: a run of md takes at least {least}; give --samples {least}")


@dataclass(frozen=True)
class Answer:
    """What came back: counters after the first step and at the end, and the state at the end, before its last kick."""

    first: Status
    last: Status
    state: State


@cache
def design(case: str) -> Design:
    """A case on the small engine. Errors: UnknownNameError."""
    if case not in CASES:
        raise UnknownNameError("case", case, CASES)
    system = cases.system(case)
    return generate_system(system, ENGINE, replace(format_of(system), **NARROW))


def core(case: str) -> Core:
    """The engine behind words of a byte."""
    return narrow(replace(evidence.core_of(NAME, design(case)), arithmetic=ARITHMETIC))


def items(case: str) -> Items:
    """None at the pins."""
    return Items(0, 0)


def clock_mhz(case: str, board: str) -> float:
    """One that is easily met, in MHz."""
    return easy_clock(board)


def sources(case: str) -> list[str]:
    """Files that determine the design, its streams and its oracle."""
    own = ("on_board", "port", "protocol")
    code = [f"designs/md/{name}.py" for name in own]
    return [*evidence.sources_of(NAME, design(case)), *code, "designs/lib/stream_width.sv"]


def inputs(case: str, n: int, seed: int) -> Job:
    """`n` steps from the start state of a seed. Errors: TooFewSteps for fewer than LEAST_STEPS."""
    return Job(start(design(case), seed), n)


def count(case: str, inputs: Job) -> int:
    """Steps."""
    return inputs.steps


def encode(case: str, inputs: Job) -> bytes:
    """The beats of the whole script, lowest byte first."""
    script = Script(design(case))
    script.clear()
    script.load(inputs.state)
    script.run(1, last_half=False)
    script.status()
    script.run(inputs.steps - 1, first_half=False, last_half=False)
    script.status()
    script.dump()
    return b"".join(word.to_bytes(_beat(case), "little") for word in script.words)


def expected_bytes(case: str, n: int) -> int:
    """Bytes of two statuses and a dump, whatever the steps."""
    status, dump = _packets(case)
    return (2 * status + dump) * _beat(case)


def decode(case: str, data: bytes, n: int) -> Answer:
    """The counters and the state. Errors: ValueError for packets of other lengths, EngineFault for a flag."""
    made, size = design(case), _beat(case)
    words = [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]
    status, _ = _packets(case)
    first, last = protocol.reported(words[:status]), protocol.reported(words[status : 2 * status])
    protocol.check(made, last)
    return Answer(first, last, protocol.dumped(made, words[2 * status :]))


def check(case: str, inputs: Job, outputs: Answer) -> str:
    """Against the integer model: every position, velocity and kind, and the count of pairs."""
    made = design(case)
    near = fixed.by_list(made.table, SKIN * made.system.cutoff)
    passed = list(fixed.trajectory(made.table, inputs.state, inputs.steps, near))
    due = sum(fixed.forces(made.table, each, near).pairs for each in (inputs.state, *passed[:-1]))
    got, want = outputs.state, passed[-1]
    for mine, theirs in ((got.positions, want.positions), (got.velocities, want.velocities), (got.kinds, want.kinds)):
        if said := first_difference(mine, theirs, "particle"):
            return said
    if (seen := int(outputs.last.pairs.sum())) != due:
        return f"{seen:,} pairs counted, {due:,} due"
    return "" if outputs.last.steps == inputs.steps else f"{outputs.last.steps} steps counted, {inputs.steps} due"


def counted(case: str, outputs: Answer) -> Counted | None:
    """Cycles of a step, from the counters after the first and at the end."""
    steps = outputs.last.steps - outputs.first.steps
    return Counted((outputs.last.run_cycles - outputs.first.run_cycles) / steps, steps)


def quality(case: str) -> Mapping[str, Sample]:
    """Force error: relative RMS over all particles of start states, against float64, as in `workloads.md.quality`.

    Errors of energy take long runs and are not known.
    """
    table, states = design(case).table, samples(case)
    wrong = right = 0.0
    for k in range(states):
        state = cases.state(case, SEED + k)
        exact = evaluate(table.system, state.positions, state.kinds).forces
        held = fixed.quantise(table, state.positions, state.velocities, state.kinds)
        near = fixed.by_list(table, SKIN * table.system.cutoff)
        wrong += float(((fixed.decode_forces(table, fixed.forces(table, held, near)) - exact) ** 2).sum())
        right += float((exact**2).sum())
    return {"force_error": Sample(math.sqrt(wrong / right), states)}


def _beat(case: str) -> int:
    return design(case).bits // PORT_BITS


def _packets(case: str) -> tuple[int, int]:
    """Beats of a status and of a dump."""
    return 1 + design(case).engine.workers, 1 + design(case).system.n
