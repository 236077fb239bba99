"""Device facts as data: `compare/facts/*.toml`, one file a device, and the local CPU as the system describes it.

Each fact has a unit, a source, a date and a trust mark: `read` in a source, `calculated` from other facts, `measured`
by us, or `unverified` (remembered only). What nobody knows is absent.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from compare.provenance import cpu_model, cpu_slug, utc_now

TRUST = ("read", "calculated", "measured", "unverified")
KINDS = ("fpga", "board", "gpu", "cpu")


class UnknownDeviceError(ValueError):
    """No facts for this device; the message lists the devices that have them."""


class FactError(ValueError):
    """A facts file breaks its form; the message names the file and the field."""


@dataclass(frozen=True)
class Fact:
    """One known thing about a device: a value, or a range `low` to `high`, in `unit`."""

    value: float | str | None
    unit: str
    source: str
    date: str
    trust: str
    low: float | None = None
    high: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.trust not in TRUST:
            raise FactError(f"trust {self.trust!r} is not one of {', '.join(TRUST)}")
        if (self.low is None) != (self.high is None):
            raise FactError("low and high come together")
        if self.value is None and self.low is None:
            raise FactError("neither a value nor a range")
        if not self.source or not self.date:
            raise FactError("source and date must be given")


@dataclass(frozen=True)
class Device:
    """A device and its facts; a board names the `part` on it."""

    slug: str
    name: str
    kind: str
    facts: Mapping[str, Fact]
    part: str = ""

    def number(self, name: str) -> float | None:
        """Return a fact that is a single number, in its unit, or None when it is not known."""
        fact = self.facts.get(name)
        return float(fact.value) if fact is not None and isinstance(fact.value, (int, float)) else None


def device(slug: str) -> Device:
    """Return a device by its name; UnknownDeviceError lists the valid names."""
    known = devices()
    try:
        return known[slug]
    except KeyError:
        raise UnknownDeviceError(f"unknown device {slug!r}; valid: {', '.join(known)}") from None


@cache
def devices() -> Mapping[str, Device]:
    """Return all devices by name: the shipped facts, sorted, and the local CPU last."""
    shipped = [load_facts(path) for path in sorted(Path(__file__).with_name("facts").glob("*.toml"))]
    return {found.slug: found for found in [*shipped, local_cpu()]}


def kind_of(slug: str) -> str:
    """Return the kind of a device, also of one without facts when its name tells it, else an empty string."""
    found = devices().get(slug)
    if found is not None:
        return found.kind
    return "cpu" if slug.startswith("cpu-") else ""


def share(slug: str, resource: str, count: float) -> float | None:
    """Return `count` as a fraction of what the device (or a board's part) has of `resource`, or None if unknown."""
    found = devices().get(slug)
    if found is not None and found.part:
        found = devices().get(found.part)
    whole = found.number(resource) if found is not None else None
    return count / whole if whole else None


def load_facts(path: Path) -> Device:
    """Read one facts file; FactError names the file and what is wrong in it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        facts = {name: _fact(name, entry) for name, entry in data.pop("facts").items()}
        found = Device(facts=facts, **data)
    except KeyError as error:
        raise FactError(f"{path.name}: missing {error}") from None
    except (TypeError, ValueError) as error:
        raise FactError(f"{path.name}: {error}") from None
    if found.kind not in KINDS:
        raise FactError(f"{path.name}: kind {found.kind!r} is not one of {', '.join(KINDS)}")
    return found


def _fact(name: str, entry: dict[str, Any]) -> Fact:
    try:
        return Fact(value=entry.pop("value", None), **entry)
    except (TypeError, FactError) as error:
        raise FactError(f"{name}: {error}") from None


def local_cpu() -> Device:
    """Describe the CPU of this machine from what the system tells; what it does not tell is absent."""
    today = utc_now()[:10]

    def told(value: float | None, unit: str, source: str, note: str = "") -> Fact | None:
        return None if value is None else Fact(value, unit, source, today, "read", note=note)

    maximum = _number("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "")
    memory = _number("/proc/meminfo", "MemTotal:")
    facts = {
        "threads": told(os.cpu_count(), "1", "operating system", "hardware threads, as many as this machine shows"),
        "clock_maximum": told(maximum and maximum * 1e3, "Hz", "cpuinfo_max_freq"),
        "memory": told(memory and memory * 1024, "byte", "/proc/meminfo"),
    }
    return Device(cpu_slug(), cpu_model(), "cpu", {name: fact for name, fact in facts.items() if fact is not None})


def _number(path: str, key: str) -> float | None:
    try:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            if line.startswith(key):
                return float(line.removeprefix(key).split()[0])
    except (OSError, ValueError, IndexError):
        pass
    return None
