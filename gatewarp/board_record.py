"""The record of runs on a board: what the chip counted apart from what the host saw.

On the simulated board there are cycles and no times: no clock of the world ran. Their stage is `simulated`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compare.deployed import LINE, ON_BOARD, ON_SIMULATED
from compare.provenance import make_provenance
from compare.record import Boundary, Measurement, Record, Scalar, Stage
from compare.rows import RAN_ON, SIMULATION
from designs.boards.bitstream import Built, sources_of
from designs.boards.session import Outcome
from designs.boards.subject import Counted
from designs.flow.tools import versions
from gatewarp.power import Power

#: How items get to a board, in the place where a GPU's record has its way to launch.
LAUNCH = "serial"

#: Modules of the host's side that determine what is counted and how it is checked.
_HOST = ("frames", "identity", "link", "pace", "serial_line", "session", "window")


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
) -> Record:
    """The record of some runs. `sources` determine the core. Errors: ValueError for none."""
    if not runs.outcomes:
        raise ValueError("no run to make a record of")
    core, board, stage = built.core, built.board, Stage.SIMULATED if simulated else Stage.MEASURED
    made = [*_on_chip(built, runs, stage), *(() if simulated else _in_time(built, runs))]
    instrument = "counters of the shell on the simulated board" if simulated else "counters of the shell, host's clock"
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
        conditions={**core.conditions, **_conditions(built, runs, simulated), "seed": seed, **drawn},
        provenance=make_provenance(
            command,
            [*sources, *sources_of(board), *(f"designs/boards/{name}.py" for name in _HOST)],
            versions("pyosys", "verilator"),
            source=instrument,
        ),
        measurements=tuple(made),
    )


def _conditions(built: Built, runs: Runs, simulated: bool) -> dict[str, Scalar]:
    first = runs.outcomes[0]
    last = runs.outcomes[-1].statistics
    return {
        RAN_ON: ON_SIMULATED if simulated else ON_BOARD,
        "board": built.board.name,
        "launch_mode": LAUNCH,
        "items": first.items,
        "runs": len(runs.outcomes),
        "worst_difference": 0.0,
        "tolerance": 0.0,
        "baud": built.baud,
        "bytes_in": first.line.bytes_in,
        "bytes_out": first.line.bytes_out,
        "burst_items": first.chip.items,
        "bitstream_sha256": built.sha256,
        "bitstream_seed": built.seed,
        "bitstream_fmax_hz": built.fmax_hz,
        "shell_version": first.identity.shell_version,
        # Of the link as a whole, bursts included.
        "frames_sent": last.sent,
        "frames_received": last.received,
        "frames_resent": last.data_again,
        "frames_bad": last.bad,
    }


def _on_chip(built: Built, runs: Runs, stage: Stage) -> Iterator[Measurement]:
    yield Measurement("clock", built.clocking.frequency_hz, "Hz", "exact", 1, stage, Boundary.NONE)
    if runs.intervals:
        yield _repeated("interval", runs.intervals, "cycles", stage, Boundary.KERNEL)
    if runs.latencies:
        yield _repeated("cycles", runs.latencies, "cycles", stage, Boundary.KERNEL)
    yield _repeated(LINE, [float(each.line.cycles) for each in runs.outcomes], "cycles", stage, Boundary.DEVICE)


def _in_time(built: Built, runs: Runs) -> Iterator[Measurement]:
    """Rates and times of a real board: of the chip at the clock that its PLL makes, and as the host saw them."""
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
