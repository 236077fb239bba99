"""The record of runs on a board: what the chip counted apart from what the host saw.

On the simulated board there are cycles and no times: no clock of the world ran. Their stage is `simulated`.
The clock of a real board is what its PLL is set to; no instrument measures it, and a record says so. It only must not
contradict the host's clock.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.deployed import CLOCK_BASIS, LINE, NOMINAL, ON_BOARD, ON_SIMULATED
from compare.provenance import make_provenance, repo_root
from compare.record import Boundary, Measurement, Record, Scalar, Stage, unit_of
from compare.rows import RAN_ON, SIMULATION
from designs.boards.bitstream import Built, sources_of
from designs.boards.session import Outcome
from designs.boards.subject import Counted, Sample
from designs.flow.tools import versions
from gatewarp.power import Power

#: Modules of the host's side that determine what is counted and how it is checked.
_HOST = ("frames", "identity", "link", "pace", "serial_line", "session", "window")

#: What determines the cycles of a simulated board besides.
_SIMULATED = tuple(f"designs/boards/simulated/{name}" for name in ("main.cpp", "process.h", "simulator.py"))

#: Crystals of board and host together are off by less than this.
CRYSTALS = 0.01

#: From so many seconds on, the line is busy for at least this fraction of what the host sees.
LONG_SECONDS, BUSY = 0.5, 0.5


@dataclass(frozen=True)
class Over:
    """How items got to a board and back.

    `launch` stands where a GPU's record has its way to launch. `told` says it in words. `conditions` are
    those of a record. `built`, `host` and `simulated` are repository-relative files that it needs besides the serial
    line's, for any bitstream, on the host, and on a simulated board.
    """

    launch: str
    told: str
    conditions: Mapping[str, Scalar]
    built: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    simulated: tuple[str, ...] = ()


def serial(built: Built) -> Over:
    """The serial line of a bitstream."""
    return Over("serial", f"at {built.baud:,} baud", {"baud": built.baud})


class ClockContradictedError(ValueError):
    """The cycles that the chip counted do not fit the seconds of the host at the clock that it should have."""


@dataclass(frozen=True)
class Runs:
    """Runs of one input, one after the other, every output equal to the oracle; `counted` what the design counted."""

    outcomes: tuple[Outcome, ...]
    counted: tuple[Counted, ...] = ()

    @property
    def intervals(self) -> tuple[float, ...]:
        """Cycles between items at the core's own rate: the design's own count where it has one, else of bursts."""
        if self.counted:
            return tuple(each.interval for each in self.counted)
        return tuple(value for each in self.outcomes for value in each.chip.intervals)

    @property
    def latencies(self) -> tuple[float, ...]:
        """Cycles of items that each met an empty core."""
        return tuple(float(value) for each in self.outcomes for value in each.chip.latencies)


def record(
    built: Built,
    runs: Runs,
    *,
    simulated: bool,
    command: str,
    sources: Sequence[str],
    seed: int,
    power: Power | None = None,
    over: Over | None = None,
    quality: Mapping[str, Sample] | None = None,
) -> Record:
    """The record of some runs, over the serial line unless `over` says otherwise. `sources` determine the core.

    `quality` is that of an arithmetic which the oracle's own records do not have.

    Errors: ValueError for none, ClockContradictedError."""
    if not runs.outcomes:
        raise ValueError("no run to make a record of")
    if not simulated:
        check_clock(built, runs)
    over = over or serial(built)
    core, board, stage = built.core, built.board, Stage.SIMULATED if simulated else Stage.MEASURED
    made = [*_on_chip(built, runs, stage), *(() if simulated else _in_time(built, runs))]
    made += [
        Measurement(f"quality.{k}", q.value, unit_of(f"quality.{k}"), "mean", q.samples, stage, Boundary.NONE)
        for k, q in (quality or {}).items()
    ]
    instrument = "counters of the shell on the simulated board" if simulated else "counters of the shell, host's clock"
    if quality:
        instrument += "; quality: its integer model, which every output equalled"
    drawn: dict[str, Scalar] = {}
    if power is not None and not simulated:
        made.append(power.measurement)
        drawn = {"power_source": power.source}
        instrument += f"; power: {power.source}"
    return Record(
        workload=core.workload,
        case=core.case,
        implementation=core.implementation,
        device=SIMULATION if simulated else board.part,
        conditions={**core.conditions, **_conditions(built, runs, simulated, over), "seed": seed, **drawn},
        provenance=make_provenance(
            command,
            [
                *sources,
                *sources_of(board),
                *(f"designs/boards/{name}.py" for name in _HOST),
                *(_simulator(built) if simulated else ()),
                *over.built,
                *over.host,
                *(over.simulated if simulated else ()),
            ],
            versions("pyosys", "verilator"),
            source=instrument,
        ),
        measurements=tuple(made),
    )


def check_clock(built: Built, runs: Runs) -> None:
    """Compare the chip's cycles over the line with the host's seconds of the same run. Errors: ClockContradictedError.

    The chip counts from its first byte in to its last byte out, the host from before the one to after the other.
    """
    clock = built.clocking.frequency_hz
    for each in runs.outcomes:
        chip, host = each.line.cycles / clock, each.line.seconds
        if chip > host * (1 + CRYSTALS) or (host > LONG_SECONDS and chip < host * BUSY):
            raise ClockContradictedError(
                f"{built.board.name}: the chip counted {each.line.cycles:,} cycles over the line, {chip:.4g} s "
                f"at its nominal {clock / 1e6:.4g} MHz, the host saw {host:.4g} s: one of the clocks is wrong, and no "
                "record is made; program the board again, and check that its oscillator is the one in docs/boards.md"
            )


def _simulator(built: Built) -> Iterator[str]:
    """Repository-relative files that only a simulation has: the PLL's stand-in, the main program."""
    for path in built.clocking.simulated_sources:
        yield path.relative_to(repo_root()).as_posix()
    yield from _SIMULATED


def _conditions(built: Built, runs: Runs, simulated: bool, over: Over) -> dict[str, Scalar]:
    first = runs.outcomes[0]
    last = runs.outcomes[-1].statistics
    return {
        RAN_ON: ON_SIMULATED if simulated else ON_BOARD,
        "board": built.board.name,
        "launch_mode": over.launch,
        "items": first.items,
        "runs": len(runs.outcomes),
        "worst_difference": 0.0,
        "tolerance": 0.0,
        **over.conditions,
        "bytes_in": first.line.bytes_in,
        "bytes_out": first.line.bytes_out,
        "burst_items": first.chip.items,
        "bitstream_sha256": built.sha256,
        "bitstream_seed": built.seed,
        "bitstream_fmax_hz": built.fmax_hz,
        **({"nextpnr_options": " ".join(built.options)} if built.options else {}),
        "shell_version": first.identity.shell_version,
        # Of the link as a whole, bursts included.
        "frames_sent": last.sent,
        "frames_received": last.received,
        "frames_resent": last.data_again,
        "frames_bad": last.bad,
        **({} if simulated else {CLOCK_BASIS: f"{NOMINAL}: {built.clocking.how}"}),
    }


def _on_chip(built: Built, runs: Runs, stage: Stage) -> Iterator[Measurement]:
    yield Measurement("clock", built.clocking.frequency_hz, "Hz", "exact", 1, stage, Boundary.NONE)
    if runs.intervals:
        yield _repeated("interval", runs.intervals, "cycles", stage, Boundary.KERNEL)
    if runs.latencies:
        yield _repeated("cycles", runs.latencies, "cycles", stage, Boundary.KERNEL)
    yield _repeated(LINE, [float(each.line.cycles) for each in runs.outcomes], "cycles", stage, Boundary.DEVICE)


def _in_time(built: Built, runs: Runs) -> Iterator[Measurement]:
    """Rates and times of a real board: of the chip at the nominal clock, and as the host saw them."""
    clock, stage = built.clocking.frequency_hz, Stage.MEASURED
    if runs.intervals:
        rates = [clock / interval for interval in runs.intervals]
        yield _repeated("throughput", rates, "items/s", stage, Boundary.KERNEL)
    if runs.latencies:
        times = [float(round(cycles / clock * 1e9)) for cycles in runs.latencies]
        yield _repeated("latency", times, "ns", stage, Boundary.KERNEL)
    host = [each.items / each.line.seconds for each in runs.outcomes]
    yield _repeated("throughput", host, "items/s", stage, Boundary.HOST)


def _repeated(quantity: str, values: Sequence[float], unit: str, stage: Stage, boundary: Boundary) -> Measurement:
    """The median of several values with their range, exact where all are alike; one value has no band."""
    middle = statistics.median_low(values)
    if len(values) == 1:
        return Measurement(quantity, middle, unit, "mean", 1, stage, boundary)
    low, high = min(values), max(values)
    kind = "exact" if low == high else "median"
    return Measurement(quantity, middle, unit, kind, len(values), stage, boundary, low, high, "min-max", tuple(values))
