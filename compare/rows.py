"""What is compared: rows of figures, each figure with its evidence, made from records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction

from compare.devices import kind_of
from compare.record import Boundary, Measurement, Record, Scalar, Stage
from compare.stale import Stale, StaleCheck
from compare.store import Stored

#: Implementation name and device of the records that carry a workload's quality figures.
ORACLE = "oracle"
SIMULATION = "simulation"
#: Whether a record came with the product or is the user's own.
SHIPPED, LOCAL = "shipped", "local"

#: Figure name -> quantity, and the statistics that may stand for it, best first. Other quantities keep their own name.
_TIMES = {
    "latency_p50": ("latency", "p50", "median", "exact"),
    "latency_p99": ("latency", "p99", "exact"),
    "launch_floor": ("launch_floor", "p50", "median", "exact"),
}
_CUT_IN_TIME = ("throughput", "latency", "launch_floor", "variation")
_TIME_BOUNDARIES = (Boundary.KERNEL, Boundary.DEVICE, Boundary.HOST)
_POWER_BOUNDARIES = (Boundary.CHIP, Boundary.BOARD, Boundary.SYSTEM)
_PAPER = (Stage.PUBLISHED, Stage.DATASHEET)
#: Condition of a row whose clock nobody routed: the clock that was assumed, Hz.
ASSUMED_CLOCK = "assumed_clock_hz"
#: Condition of a run on a board or on a simulated one: which of the two. Such runs differ by these and their clock.
RAN_ON = "ran_on"
_BY_RUN = ("baud", "items")
_SAME_RUN_SECONDS = 3600
#: Conditions that tell the configurations of one FPGA design apart: its multipliers, and the sides of their array.
ARRAY = ("multipliers", "Tm", "Tn", "Tz", "Tr", "Tc")
#: Condition that tells configurations of an engine of molecular dynamics apart: its force pipelines.
PIPELINES = "pipelines"
#: Condition of a record about one layer of a network; such a record is no row of the network.
LAYER = "layer"
#: The spread of a throughput that is the mean of runs of equal work, kept to see how much they vary.
DEVIATION = "std"
#: What `utilisation` is called as a figure when a simulation counted it: of multipliers in time, not of a part.
BUSY = "busy"
#: The spread of a percentile that carries its own distribution-free 99 % confidence band.
CONFIDENCE_BAND = "ci99"


@dataclass(frozen=True)
class Figure:
    """One number with its evidence. A figure derived from several stages names them all."""

    quantity: str
    value: float
    unit: str
    statistic: str
    samples: int
    boundary: Boundary
    stages: tuple[Stage, ...]
    low: float | None = None
    high: float | None = None
    spread: str = ""
    #: A percentile that carried a confidence band before its band was widened.
    confident: bool = False

    @classmethod
    def of(cls, m: Measurement) -> Figure:
        """Return a measurement as a figure."""
        return cls(m.quantity, m.value, m.unit, m.statistic, m.samples, m.boundary, (m.stage,), m.low, m.high, m.spread)

    def times(self, factor: float, quantity: str, unit: str) -> Figure:
        """Return another quantity that is the figure and its band times a factor, known in the same way."""
        low, high = (None if x is None else x * factor for x in (self.low, self.high))
        return replace(self, quantity=quantity, value=self.value * factor, unit=unit, low=low, high=high)

    @property
    def grade(self) -> str:
        """How the figure is known, for example `simulated × post-route`."""
        return " × ".join(stage.replace("_", "-") for stage in self.stages)

    @property
    def weakest(self) -> Stage:
        """The weakest of its stages."""
        return min(self.stages, key=list(Stage).index)

    @property
    def on_paper(self) -> bool:
        """Whether it stands on a publication or a data sheet."""
        return self.weakest in _PAPER

    @property
    def lacking(self) -> int:
        """Samples that a percentile would need to be printed when it has too few; 0 when it may be printed.

        A percentile whose band is the 99 % one of its order statistics (`ci99`) says itself how sure it is.
        """
        if self.statistic[0] != "p" or self.confident or self.spread == CONFIDENCE_BAND:
            return 0
        needed = samples_needed(self.statistic[1:])
        return needed if self.samples < needed else 0


def samples_needed(percent: str) -> int:
    """Return how many samples a percentile needs at 99 % confidence.

    Tails, as in the MLPerf Inference rules: margin (1 - p) / 20, n = z² p (1 - p) / margin² with z = 2.576, rounded up
    to a multiple of 2^13; this gives 24,576 for p90 and 270,336 for p99. For the median and below, the smallest n whose
    range holds the percentile with that confidence: 1 - p^n - (1 - p)^n >= 0.99.
    """
    p = Fraction(percent) / 100
    if p > Fraction(1, 2):
        margin = (1 - p) / 20
        n = Fraction("2.576") ** 2 * p * (1 - p) / margin**2
        return math.ceil(n / 8192) * 8192
    n_range = 1
    while 1 - float(p) ** n_range - float(1 - p) ** n_range < 0.99:
        n_range += 1
    return n_range


@dataclass(frozen=True)
class Row:
    """One implementation on one device under stated conditions, cut at one boundary, with what is known of it.

    `figures` maps `throughput`, `latency_p50`, `latency_p99`, `energy`, `fmax`, `luts`, ... to figures; what is missing
    is not known. `quality` maps names such as `efficiency` to figures. `batch` is a number of items, `any` for a
    pipeline that does not batch, or None when it is not stated. `stale` is empty while all sources are unchanged.
    `origins` tells of each of `records` whether it is `shipped` or `local`.
    """

    workload: str
    case: str
    implementation: str
    device: str
    arithmetic: str
    batch: int | str | None
    launch: str
    boundary: Boundary
    figures: Mapping[str, Figure]
    records: tuple[Record, ...]
    origins: tuple[str, ...]
    conditions: Mapping[str, Scalar] = field(default_factory=dict)
    quality: Mapping[str, Figure] = field(default_factory=dict)
    stale: tuple[Stale, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """`fpga`, `gpu`, `cpu`, `simulation`, or empty when nobody knows the device."""
        return SIMULATION if self.device == SIMULATION else kind_of(self.device)

    @property
    def tier(self) -> str:
        """`product`, or `outside baseline` when any of its records is one."""
        tiers = {record.provenance.tier for record in self.records}
        return "outside baseline" if "outside baseline" in tiers else "product"

    @property
    def on_paper(self) -> bool:
        """Whether all that is known of it stands on publications or data sheets."""
        found = (*self.figures.values(), *self.quality.values())
        return bool(found) and all(figure.on_paper for figure in found)

    @property
    def proved(self) -> str:
        """The arithmetic of the oracle that its outputs equalled in every bit, or empty where no record says so.

        A record says so by a `worst_difference` of 0 where the allowed `tolerance` was 0; `reference` names the
        oracle's arithmetic where it is not the record's own.
        """
        for record in self.records:
            said = [record.conditions.get(name) for name in ("worst_difference", "tolerance")]
            if all(isinstance(value, (int, float)) and value == 0 for value in said):
                return text(record.conditions.get("reference")) or text(record.conditions.get("arithmetic"))
        return ""

    @property
    def assumed_clock(self) -> float | None:
        """The clock, Hz, that its time stands on when nobody has routed the design for this device."""
        clock = self.conditions.get(ASSUMED_CLOCK)
        return float(clock) if isinstance(clock, (int, float)) else None

    @property
    def array(self) -> str:
        """The array of multipliers of an FPGA design, `2,048 = 2 × 64 × 1 × 4 × 4`, or empty where it has none."""
        count, *sides = (self.conditions.get(name) for name in ARRAY)
        known = [f"{side:g}" for side in sides if isinstance(side, (int, float))]
        return f"{count:,} = {' × '.join(known)}" if known and isinstance(count, (int, float)) else ""

    @property
    def shipped(self) -> bool:
        """Whether nothing of it is the user's own."""
        return set(self.origins) == {SHIPPED}

    @property
    def identity(self) -> tuple[Scalar, ...]:
        """What makes two rows the same row, so that the newer one replaces the older."""
        return (
            self.workload,
            self.case,
            self.implementation,
            self.device,
            self.arithmetic,
            self.batch,
            self.launch,
            self.boundary,
            self.conditions.get("board"),
            *(self.conditions.get(name) for name in (*ARRAY, PIPELINES, LAYER)),
            *self._by_run,
        )

    @property
    def _by_run(self) -> tuple[Scalar, ...]:
        """What tells runs of one design on one board apart: a short run is no newer form of a long one."""
        if RAN_ON not in self.conditions:
            return ()
        clock = self.records[0].get("clock")
        return (*(self.conditions.get(name) for name in _BY_RUN), clock.value if clock else None)

    @property
    def time(self) -> str:
        """When its newest record was taken, ISO 8601."""
        return max(record.provenance.time for record in self.records)

    @property
    def command(self) -> str:
        """The command that renews its newest record."""
        return max(self.records, key=lambda r: r.provenance.time).provenance.command

    @property
    def grade(self) -> str:
        """How its main figure is known: throughput, else latency, else the first there is."""
        for name in ("throughput", "latency_p50", "energy", *self.figures):
            if name in self.figures:
                return self.figures[name].grade
        return ""

    @property
    def label(self) -> str:
        """A short name for sentences: implementation, device, arithmetic, batch, launch mode."""
        parts = [self.arithmetic]
        if self.kind != "fpga" and self.batch is not None:
            parts.append(f"batch {batch_text(self.batch)}")
        parts += [self.launch] if self.launch else []
        parts += [f"{self.array.split(' = ')[0]} multipliers"] if self.array else []
        pipelines = self.conditions.get(PIPELINES)
        parts += [f"{pipelines} pipelines"] if isinstance(pipelines, int) else []
        parts += [f"{self.assumed_clock / 1e6:g} MHz assumed"] if self.assumed_clock else []
        said = ", ".join(part for part in parts if part)
        return f"{self.implementation} on {self.device}" + (f" ({said})" if said else "")


def batch_text(batch: int | str | None) -> str:
    """Return a batch as text: powers of two from 2^13 as such, others with separators, unknown as an en-dash."""
    if batch is None:
        return "–"
    if isinstance(batch, int) and batch >= 8192 and batch & (batch - 1) == 0:
        return f"2^{batch.bit_length() - 1}"
    return f"{batch:,}" if isinstance(batch, int) else batch


def rows_of(stored: Stored, stale: StaleCheck) -> Iterator[Row]:
    """Yield the rows of a record: one for each boundary at which its time or throughput was cut, else a single one."""
    record = stored.record
    cuts = [b for b in _TIME_BOUNDARIES if any(m.boundary == b for m in record.measurements if _is_timed(m))]
    found, note = stale(record), stale.note(record)
    quality = {
        m.quantity.removeprefix("quality."): Figure.of(m)
        for m in record.measurements
        if m.quantity.startswith("quality.")
    }
    batch = record.conditions.get("batch")
    for number, cut in enumerate(cuts or [Boundary.NONE]):
        figures = dict(_timed_figures(record, cut))
        if number == 0:  # energy, resources and clocks stand once, in the row nearest the chip
            figures |= dict(_other_figures(record))
        yield Row(
            workload=record.workload,
            case=record.case,
            implementation=record.implementation,
            device=record.device,
            arithmetic=text(record.conditions.get("arithmetic")),
            batch=batch if isinstance(batch, str) else int(batch) if isinstance(batch, (int, float)) else None,
            launch=text(record.conditions.get("launch_mode")),
            boundary=cut,
            figures=figures,
            records=(record,),
            origins=(SHIPPED if stored.shipped else LOCAL,),
            conditions=record.conditions,
            quality=quality,
            stale=(found,) if found else (),
            notes=(note,) if note else (),
        )


def text(value: Scalar) -> str:
    """Return a condition as text; missing is empty."""
    return "" if value is None else str(value)


def _is_timed(m: Measurement) -> bool:
    return m.quantity in _CUT_IN_TIME


def _timed_figures(record: Record, cut: Boundary) -> Iterator[tuple[str, Figure]]:
    for name in ("throughput", "variation"):
        if found := [m for m in record.measurements if (m.quantity, m.boundary) == (name, cut)]:
            yield name, Figure.of(min(found, key=lambda m: m.spread == DEVIATION))
    for name, (quantity, *statistics) in _TIMES.items():
        for statistic in statistics:
            if m := record.get(quantity, statistic=statistic, boundary=cut):
                yield name, Figure.of(m)
                break


def _other_figures(record: Record) -> Iterator[tuple[str, Figure]]:
    order = [*_POWER_BOUNDARIES, Boundary.NONE, *_TIME_BOUNDARIES]
    seen: set[str] = set()
    for m in sorted(record.measurements, key=lambda m: order.index(m.boundary)):
        name = m.quantity.replace("utilisation", BUSY) if m.stage == Stage.SIMULATED else m.quantity
        if not _is_timed(m) and not m.quantity.startswith("quality.") and name not in seen:
            seen.add(name)
            yield name, Figure.of(m)


def newest(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Keep one row for each identity, the user's own before shipped, then the newest; return them, and what fell.

    Of shipped rows that are not stale, one whose record has energy stands before a newer one without: such a run is
    made for something else, and would hide what was metered.
    """
    kept: dict[tuple[Scalar, ...], Row] = {}
    replaced: list[Row] = []
    for row in sorted(rows, key=lambda r: (not r.shipped, r.shipped and not r.stale and _metered(r), r.time)):
        if row.identity in kept:
            replaced.append(kept[row.identity])
        kept[row.identity] = row
    return list(kept.values()), replaced


def _metered(row: Row) -> bool:
    return any(m.quantity == "energy" for record in row.records for m in record.measurements)


def same_run(a: Row, b: Row) -> bool:
    """Whether two rows come from one run: one `run` condition, or one command on one host and device within an hour."""
    runs = (a.conditions.get("run"), b.conditions.get("run"))
    if runs != (None, None):
        return runs[0] == runs[1]
    if a.device != b.device or _taken(a) != _taken(b):
        return False
    apart = datetime.fromisoformat(a.time) - datetime.fromisoformat(b.time)
    return abs(apart.total_seconds()) <= _SAME_RUN_SECONDS


def _taken(row: Row) -> set[tuple[str, str]]:
    return {(record.provenance.host, record.provenance.command) for record in row.records}


def with_quality(row: Row, known: Mapping[tuple[str, str, str], Mapping[str, Figure]]) -> Row:
    """Return the row with the quality of its workload, case and arithmetic, but for what it measured itself.

    Who measured one of these figures had a run of his own, of which the others are not known: an arithmetic alone says
    nothing of a drift. Who equalled the oracle in every bit has all of them. A record verified against the oracle of
    another arithmetic says so in the condition `reference` and then takes that one's figures, with a note.
    """
    if found := known.get((row.workload, row.case, row.arithmetic)):
        apart = not row.proved and not set(found).isdisjoint(row.quality)
        return row if apart else replace(row, quality={**found, **row.quality})
    reference = text(row.conditions.get("reference"))
    if row.quality:
        return row
    if found := known.get((row.workload, row.case, reference)):
        return replace(row, quality=found, notes=(*row.notes, f"quality of the {reference} reference"))
    return row
