"""Time one point after another with the same instruments, check its outputs, and make its record."""

from __future__ import annotations

from uuid import uuid4

import numpy as np

from compare.provenance import make_provenance
from compare.record import Measurement, Record, Scalar
from gpu.api import Array, CheckedRunner, Offer, Prepared, Subject
from gpu.points import Point
from gpu.quantities import from_timing, from_windows
from gpu.runtime import loop, nvml
from gpu.runtime.device import Info
from workloads.api import Workload

#: What decides what is timed, besides the sources of the kernel or of the baseline and the workload's own offer.
TIMED = ("gpu/session.py", "gpu/quantities.py")
#: The buffer sets together exceed the last-level cache of any device that we know twice over, as far as MAX_SETS goes.
ROTATE_BYTES = 192 * 2**20
MAX_SETS = 256
#: The SM clock is read with about this much work, s, in the queue.
CLOCK_SECONDS = 0.05


class WrongResultError(RuntimeError):
    """A measured kernel gave outputs that the oracle refuses; nothing is recorded."""


class Session:
    """What the points of one run share: its id, inputs, what the oracle makes of them, NVML, the idle power."""

    def __init__(
        self,
        work: Workload,
        case: str,
        offer: Offer,
        info: Info,
        budget: loop.Budget,
        seed: int,
        command: str,
        *,
        meter: nvml.Nvml | None = None,
        windows: int = nvml.WINDOWS,
    ) -> None:
        self.work, self.case, self.offer, self.info = work, case, offer, info
        self.budget, self.seed, self.command = budget, seed, command
        self._distinct: Array | None = None
        self._wanted: dict[tuple[str, str], Array] = {}
        self._meter, self._windows = meter, windows
        self._run = uuid4().hex[:12]
        self._idle: float | None = None

    def inputs(self, batch: int) -> Array:
        """`batch` inputs; up to DISTINCT of them differ."""
        if self._distinct is None:
            self._distinct = self.work.inputs(self.case, self.offer.DISTINCT, self.seed)
        return self._distinct[np.arange(batch) % len(self._distinct)]

    def record(self, point: Point, energy: bool) -> Record:
        """Prepare, measure, check, and make the record of one point."""
        subject, batch = point.subject, point.batch
        item = subject.item_bytes(point.arithmetic)
        sets = sets_for(item, batch, subject.max_sets)
        inputs = self.inputs(batch)
        prepared = subject.prepare(point.arithmetic, point.modes, inputs, sets)
        conditions = {**self._conditions(point, sets, item), **prepared.conditions}
        runner = prepared.runner
        try:
            timing = loop.measure(runner, self.budget)
            measurements = from_timing(timing)
            conditions["warmup_launches"] = timing.warmup
            conditions["launches_per_round"] = timing.per_round
            if (clock := self._sm_clock(runner)) is not None:
                conditions["sm_clock_mhz"] = clock
            if energy:
                measurements += self._energy(runner, conditions)
            self._check(point, runner, inputs, conditions)
        finally:
            close = getattr(runner, "close", None)
            if close is not None:
                close()
        return Record(
            workload=self.work.name,
            case=self.case,
            implementation=subject.name,
            device=self.info.slug,
            conditions=conditions,
            provenance=make_provenance(
                self.command, self._sources(prepared, energy), prepared.tools, subject.tier, _instruments(energy)
            ),
            measurements=tuple(measurements),
        )

    def _conditions(self, point: Point, sets: int, item: int) -> dict[str, Scalar]:
        working_set = sets * item * point.batch
        return {
            "run": self._run,
            "batch": point.batch,
            "arithmetic": point.arithmetic,
            "launch_mode": "best" if point.subject.chooses else point.modes[0],
            "parameters": "trained" if self.work.cases[self.case].trained else "untrained",
            "clocks": "free-running",
            "transfers": "none at boundaries kernel and host; in and out, pageable host memory, at boundary device",
            "seed": self.seed,
            "distinct_inputs": min(point.batch, self.offer.DISTINCT),
            "buffer_sets": sets,
            "working_set_bytes": working_set,
            "exceeds_cache": working_set >= ROTATE_BYTES,
        }

    def _sources(self, prepared: Prepared, energy: bool) -> list[str]:
        meter = ["gpu/runtime/nvml.py"] if energy else []
        return [*TIMED, f"gpu/{self.work.name}/subjects.py", *prepared.files, *meter]

    def _check(self, point: Point, runner: CheckedRunner, inputs: Array, conditions: dict[str, Scalar]) -> None:
        """Outputs of the measured launches against the oracle: every buffer set, items spread over the batch."""
        if self.info.api == "null":
            conditions["checked_items"] = 0
            return
        # The rates and percentiles above come from exactly these buffers.
        each = max(self.offer.CHECKED // runner.sets, 64)
        pick = np.unique(np.linspace(0, point.batch - 1, min(each, point.batch)).astype(np.int64))
        wanted = self._reference(point.subject, point.arithmetic, point.batch)
        checked, worst = 0, 0.0
        for index in range(runner.sets):
            held = (pick + index) % point.batch % len(wanted)  # set i holds the inputs rotated by i
            got = runner.output(index)[pick].astype(np.float64)
            difference = np.abs(got - wanted[held])
            worst = max(worst, float(difference.max()) if np.isfinite(difference).all() else float("inf"))
            checked += len(pick)
        allowed = point.subject.tolerance(point.arithmetic, inputs[: self.offer.CHECKED])
        if worst > allowed:
            raise WrongResultError(f"{point}: outputs differ from the oracle by {worst:g}, allowed {allowed:g}")
        conditions |= {"checked_items": checked, "worst_difference": worst, "tolerance": allowed}

    def _reference(self, subject: Subject, arithmetic: str, batch: int) -> Array:
        """Oracle outputs, float64, of the first `batch` distinct inputs at least; each is computed once a run."""
        key, count = (subject.name, arithmetic), min(batch, self.offer.DISTINCT)
        known = self._wanted.get(key)
        have = 0 if known is None else len(known)
        if known is None or have < count:
            more = subject.reference(arithmetic, self.inputs(count)[have:]).astype(np.float64)
            self._wanted[key] = known = more if known is None else np.concatenate([known, more])
        return known[: min(batch, len(known))]

    def _sm_clock(self, runner: loop.Runner) -> int | None:
        """The clock of the multiprocessors, MHz, with launches in the queue; None without NVML."""
        if self._meter is None:
            return None
        for i in range(loop.launches_for(runner, CLOCK_SECONDS)):
            runner.launch(i % runner.sets)
        clock = self._meter.sm_clock()
        runner.finish()
        return clock

    def _energy(self, runner: loop.Runner, conditions: dict[str, Scalar]) -> list[Measurement]:
        assert self._meter is not None
        if self._idle is None:
            self._idle = nvml.idle_power(self._meter)
        chunk = loop.launches_for(runner, 0.01)

        def work() -> int:
            for i in range(chunk):
                runner.launch(i % runner.sets)
            runner.finish()
            return chunk

        before = self._meter.celsius()
        work()
        windows = [nvml.measure_window(self._meter, work) for _ in range(self._windows)]
        gaps = [w.disagreement for w in windows if w.disagreement is not None]
        conditions |= {
            "energy_windows": len(windows),
            "energy_window_seconds": round(min(w.seconds for w in windows), 3),
            "energy_idle": "included",
            "temperature_before": before,
            "temperature_after": self._meter.celsius(),
            "power_check": round(max(gaps), 4) if gaps else None,
            "power_check_passed": max(gaps) <= nvml.AGREEMENT if gaps else None,
        }
        return from_windows(windows, runner.batch, self._idle)


def sets_for(item_bytes: int, batch: int, most: int = MAX_SETS) -> int:
    """Buffer sets of a batch: as many as exceed the cache, at least 2, at most `most` and MAX_SETS."""
    return int(min(MAX_SETS, most, max(2, -(-ROTATE_BYTES // (item_bytes * batch)))))


def _instruments(energy: bool) -> str:
    return "device clock, host monotonic clock" + (", NVML total-energy counter" if energy else "")
