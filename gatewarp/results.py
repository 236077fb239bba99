"""What a deployment came to, in words and for programs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from gatewarp.deploy import Deployed
from gatewarp.words import with_article


def lines(done: Deployed) -> Iterator[str]:
    """What came of it, in words: on the chip, over the line, end to end."""
    built, first = done.built, done.runs.outcomes[0]
    clock = built.clocking.frequency_hz
    where = f"{built.board.name}, simulated" if done.simulated else built.board.name
    what = f"{built.core.workload}/{built.core.case}"
    yield f"{what} on {where}: {first.items:,} {done.item}s, every bit equal to the oracle"
    if done.quality:
        found = ", ".join(f"{name.replace('_', ' ')} {q.value:.1e}" for name, q in done.quality.items())
        yield f"arithmetic: {built.core.arithmetic}, {found}"
    if intervals := done.runs.intervals:
        interval = statistics.median(intervals)
        rate = "" if done.simulated else f", {clock / interval:,.0f} {done.item}s/s"
        cycles = "1 cycle" if interval == 1 else f"{interval:,.6g} cycles"
        yield f"on the chip: {cycles} between {done.item}s at {clock / 1e6:.4g} MHz{rate}"
    if latencies := done.runs.latencies:
        cycles = f"{statistics.median(latencies):,.0f} cycles"
        yield f"on the chip: {cycles} for {with_article(done.item)} that meets an empty core"
    elif first.chip.missing and not done.runs.counted:
        yield f"on the chip: not counted, {first.chip.missing}"
    line, stats = first.line, done.runs.outcomes[-1].statistics
    busier = max(line.bytes_in, line.bytes_out)
    if built.baud:
        share = 100 * 10 * built.clocks_per_bit * busier / max(line.cycles, 1)
        carried = f"{share:.1f} % of the busier direction in payload"
    else:
        carried = (
            f"{busier * clock / max(line.cycles, 1) / 1e6:.2f} MB/s of payload in the busier direction of that time"
        )
    yield (
        f"over the line: {line.cycles:,} cycles for {line.bytes_in:,} bytes in and {line.bytes_out:,} out "
        f"{done.over.told}, {carried}"
    )
    if done.simulated:
        yield "end to end: not said of a simulated board, whose clock is not the world's"
    else:
        rates = [each.items / each.line.seconds for each in done.runs.outcomes]
        yield f"end to end: {statistics.median(rates):,.0f} {done.item}s/s as the host saw {len(rates)} runs"
    frames = f"{stats.sent:,} sent, {stats.received:,} received, {stats.data_again:,} sent again, {stats.bad:,} bad"
    yield f"frames: {frames}"
    if done.record is None:
        yield "no record: faults were put in, so this proves the link and measures nothing"


def as_data(done: Deployed) -> dict[str, Any]:
    """The same for programs."""
    first, last = done.runs.outcomes[0], done.runs.outcomes[-1]
    return {
        "bitstream": str(done.built.path), "sha256": done.built.sha256, "clock_hz": done.built.clocking.frequency_hz,
        "seed": done.built.seed, "transport": done.over.launch,
        "line": dict(done.over.conditions), "identity": asdict(done.identity), "items": first.items, "equal": True,
        "intervals": done.runs.intervals, "latencies": done.runs.latencies, "line_cycles": first.line.cycles,
        "seconds": None if done.simulated else [each.line.seconds for each in done.runs.outcomes],
        "statistics": asdict(last.statistics), "simulated": done.simulated,
        "record": None if done.record is None else json.loads(done.record.to_json()),
    }  # fmt: skip
