"""The record: one run of one implementation of one case on one device, with its evidence.

Standard library only, so that a bare measuring machine can write records from a copied folder.
A record is frozen; it becomes one JSON line. `compare/record.schema.json` is the same contract for other programs.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

SCHEMA_VERSION = 1

Scalar = str | int | float | bool | None


class Stage(StrEnum):
    """How a number is known, weakest first."""

    PUBLISHED = "published"
    DATASHEET = "datasheet"
    MODELLED = "modelled"
    POST_SYNTHESIS = "post_synthesis"
    POST_ROUTE = "post_route"
    SIMULATED = "simulated"
    MEASURED = "measured"


class Boundary(StrEnum):
    """Where a number was cut.

    Time and throughput: `kernel` (operands already in device memory, or at the stream pins of an FPGA design),
    `device` (with transfers to and from the device), `host` (seen by the calling program, launch and wait included).
    Power and energy: `chip`, `board`, `system`. Quantities that have no such cut (resources, clocks, quality): `none`.
    """

    KERNEL = "kernel"
    DEVICE = "device"
    HOST = "host"
    CHIP = "chip"
    BOARD = "board"
    SYSTEM = "system"
    NONE = "none"


#: The one vocabulary: quantity -> unit. `quality.<name>` (dimensionless where it is not listed) and `bandwidth.<name>`
#: are open-ended.
UNITS: Mapping[str, str] = {
    "throughput": "items/s",
    "latency": "ns",
    "throughput.application": "items/s",  # of a whole program with assumed host work and transfers in every step
    "launch_floor": "ns",  # latency of an empty kernel on the same device in the same run
    "interval": "cycles",
    "cycles": "cycles",
    "cycles.line": "cycles",  # of a run on a board, from the first byte of data off the line to the last one on it
    "fmax": "Hz",
    "clock": "Hz",
    "power": "W",
    "idle_power": "W",
    "energy": "J/item",
    "luts": "1",
    "ffs": "1",
    "dsps": "1",
    "brams": "1",
    "utilisation": "1",  # of a part by a design; in a simulation, useful products over multipliers times cycles
    "utilisation.kept": "1",  # the same, of products that reach an output only
    "variation": "1",  # standard deviation over mean of the throughput, from run to run
    # Two for each multiply-accumulate. Useful: every input times the whole kernel. Kept: what reaches an output.
    # Equivalent: what a convolution over inputs with zeros between them would take. They are never mixed.
    "operations.useful": "op/item",
    "operations.kept": "op/item",
    "operations.equivalent": "op/item",
    "rate.useful": "op/s",
    "rate.equivalent": "op/s",
    "efficiency.useful": "op/J",  # the same as op/s/W
    "efficiency.equivalent": "op/J",
    "saving": "1",  # equivalent over useful operations of one item: a fact about a case, no speed
    "zero_products": "1",  # multiplications by an inserted zero that the counters of a design saw
    # Of a step of molecular dynamics: atoms, pairs within the cutoff, pairs whose distance is tested, flops of a pair.
    "atoms": "1",
    "pairs": "1",
    "candidates": "1",
    "flops": "1",
    "rate.pairs": "pair/s",
    "rate.atoms": "atom/s",  # atoms times steps a second
    "simulated_time": "ns/day",
    "points": "1",  # of a trace, in the condition `trace`
    "samples": "1",  # things that a network generated, in the condition `pixels`
    "quality.sqnr": "dB",
}
#: Unit of `bandwidth.<name>`, the memory traffic of a design in steady state.
TRAFFIC = "B/cycle"

#: No quantity of the vocabulary is negative, and none comes near this; both catch a slip of the pen.
LARGEST = 1e30

#: Names of statistics. A percentile is `p50`, `p99`, ... and says in `samples` how many stand behind it.
STATISTICS = ("exact", "median", "mean", "min", "max", "count", "std")


class RecordError(ValueError):
    """A record breaks its contract; the message names the field and the value."""


def unit_of(quantity: str) -> str:
    """Return the unit of a quantity; raise RecordError for a name outside the vocabulary."""
    if quantity in UNITS:
        return UNITS[quantity]
    for family, unit in (("quality.", "1"), ("bandwidth.", TRAFFIC)):
        if quantity.startswith(family) and quantity != family:
            return unit
    raise RecordError(f"unknown quantity {quantity!r}; known: {', '.join(UNITS)}, quality.<name>, bandwidth.<name>")


def _is_statistic(name: str) -> bool:
    if name in STATISTICS:
        return True
    if not name.startswith("p"):
        return False
    try:
        return 0.0 < float(name[1:]) < 100.0
    except ValueError:
        return False


@dataclass(frozen=True)
class Measurement:
    """One number and how it is known.

    `low` and `high` bound the value; `spread` says what they are (`min-max`, `p5-p95`, `seeds`, `ci95`, `windows`,
    `accuracy`). `values` keeps the raw samples where they are few (seeds, windows).
    Errors: RecordError when the unit is not the quantity's, a number is not finite, or low <= value <= high fails.
    """

    quantity: str
    value: float
    unit: str
    statistic: str
    samples: int
    stage: Stage
    boundary: Boundary
    low: float | None = None
    high: float | None = None
    spread: str = ""
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "stage", _member(Stage, "stage", self.stage))
        object.__setattr__(self, "boundary", _member(Boundary, "boundary", self.boundary))
        object.__setattr__(self, "values", tuple(self.values))
        expected = unit_of(self.quantity)
        if self.unit != expected:
            raise RecordError(f"{self.quantity}: unit {self.unit!r}, expected {expected!r}")
        if not _is_statistic(self.statistic):
            raise RecordError(f"{self.quantity}: unknown statistic {self.statistic!r}")
        if self.samples < 1:
            raise RecordError(f"{self.quantity}: samples must be at least 1, got {self.samples}")
        for name in ("value", "low", "high"):
            number = getattr(self, name)
            if number is not None and not 0 <= number <= LARGEST:
                raise RecordError(f"{self.quantity}: {name} must lie between 0 and {LARGEST:g}, got {number}")
        if not all(map(math.isfinite, self.values)):
            raise RecordError(f"{self.quantity}: values are not all finite: {self.values}")
        if (self.low is None) != (self.high is None):
            raise RecordError(f"{self.quantity}: low and high come together")
        if self.low is not None and self.high is not None:
            if not self.low <= self.value <= self.high:
                raise RecordError(f"{self.quantity}: {self.value} outside its own band [{self.low}, {self.high}]")
            if not self.spread:
                raise RecordError(f"{self.quantity}: a band needs `spread`, what low and high are")
        if expected == "ns" and self.value != int(self.value):
            raise RecordError(f"{self.quantity}: times are integer nanoseconds, got {self.value}")


@dataclass(frozen=True)
class Provenance:
    """Where a record came from.

    `sources` are repository-relative files or folders, `sources_hash` their content hash (see
    `compare.provenance.hash_sources`); a record whose hash differs from today's is stale. `command` renews it.
    `tier` is `product` or `outside baseline`. `source` names a publication, data sheet or instrument.
    """

    time: str
    host: str
    command: str
    revision: str
    sources: tuple[str, ...]
    sources_hash: str
    tools: Mapping[str, str] = field(default_factory=dict)
    tier: str = "product"
    source: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", tuple(self.sources))
        object.__setattr__(self, "tools", dict(self.tools))
        if self.tier not in ("product", "outside baseline"):
            raise RecordError(f"tier must be 'product' or 'outside baseline', got {self.tier!r}")


@dataclass(frozen=True)
class Record:
    """One run of one implementation of one case on one device.

    `conditions` holds what the numbers depend on: batch, arithmetic, clock, folding, seed, launch mode, `design` (the
    content hash of a netlist, so that a simulation and a routing of the same design may be joined), and so on.
    Errors: RecordError, naming the field.
    """

    workload: str
    case: str
    implementation: str
    device: str
    conditions: Mapping[str, Scalar]
    provenance: Provenance
    measurements: tuple[Measurement, ...]
    schema: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "conditions", dict(self.conditions))
        object.__setattr__(self, "measurements", tuple(self.measurements))
        if self.schema != SCHEMA_VERSION:
            raise RecordError(f"schema {self.schema} is not {SCHEMA_VERSION}")
        for name in ("workload", "case", "implementation", "device"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise RecordError(f"{name} must be a non-empty string, got {getattr(self, name)!r}")
        for key, value in self.conditions.items():
            if not isinstance(value, (str, int, float, bool, type(None))):
                raise RecordError(f"condition {key!r} must be a scalar, got {type(value).__name__}")
        batch = self.conditions.get("batch", "any")
        if batch != "any" and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
            raise RecordError(f"condition 'batch' must be a positive integer or 'any', got {batch!r}")
        if not self.measurements:
            raise RecordError("a record needs at least one measurement")

    @property
    def id(self) -> str:
        """Content hash of the record, 16 hexadecimal digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """One line of JSON, keys sorted."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> Record:
        """Read one JSON line; raise RecordError naming what is wrong."""
        try:
            data = json.loads(line)
        except ValueError as error:
            raise RecordError(f"not JSON: {error}") from None
        if not isinstance(data, dict):
            raise RecordError("not a JSON object")
        schema = data.get("schema")
        if schema != SCHEMA_VERSION:
            raise RecordError(f"schema {schema!r}, this version reads {SCHEMA_VERSION}")
        try:
            data["provenance"] = Provenance(**data["provenance"])
            data["measurements"] = tuple(Measurement(**m) for m in data["measurements"])
            return cls(**data)
        except (KeyError, TypeError) as error:
            raise RecordError(f"fields do not match the schema: {error}") from None

    def get(self, quantity: str, *, statistic: str | None = None, boundary: str | None = None) -> Measurement | None:
        """The first measurement that matches, or None: missing is missing."""
        for m in self.measurements:
            if (
                m.quantity == quantity
                and (statistic is None or m.statistic == statistic)
                and (boundary is None or m.boundary == boundary)
            ):
                return m
        return None


def _member(enum: type[StrEnum], name: str, value: Any) -> StrEnum:
    try:
        return enum(value)
    except ValueError:
        raise RecordError(f"{name} {value!r} is not one of {', '.join(enum)}") from None
