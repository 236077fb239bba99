"""Whether what a record measured is still what the repository holds."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

from compare.provenance import SourceError, hash_sources
from compare.record import Record, Stage

#: How the note begins that `StaleCheck.note` makes.
EQUIVALENT = "taken with another text of"
#: What stands on these alone was copied or assumed: nothing in the repository determines it.
_STATED = (Stage.PUBLISHED, Stage.DATASHEET, Stage.MODELLED)


@dataclass(frozen=True)
class Stale:
    """Why a record no longer speaks for the present sources, and the command that renews it."""

    reason: str
    command: str

    def __str__(self) -> str:
        return f"{self.reason}; renew with `{self.command}`" if self.command else self.reason


@dataclass(frozen=True)
class Equivalent:
    """Two texts of one file, by SHA-256, whose difference cannot change a result, and why it cannot."""

    path: str
    was: str
    now: str
    reason: str


def equivalents(root: Path | str) -> tuple[Equivalent, ...]:
    """Return the entries of `compare/reference/equivalent.toml` whose `now` is today's text of the file."""
    listed = Path(root) / "compare" / "reference" / "equivalent.toml"
    if not listed.is_file():
        return ()
    entries = (Equivalent(**entry) for entry in tomllib.loads(listed.read_text(encoding="utf-8"))["file"])
    return tuple(e for e in entries if (f := Path(root) / e.path).is_file() and _sha256(f) == e.now)


class StaleCheck:
    """Checks records against the sources under `root`; each set of sources is hashed once."""

    def __init__(self, root: Path | str) -> None:
        same = equivalents(root)
        self._hashes = lru_cache(maxsize=None)(lambda sources: _hashes(Path(root), sources, same))

    def __call__(self, record: Record) -> Stale | None:
        """Return why the record is stale, or None while its sources are what they were, or equivalent to it."""
        provenance = record.provenance
        if not provenance.sources and all(m.stage in _STATED for m in record.measurements):
            return None
        if not provenance.sources:
            return Stale("it names no sources", provenance.command)
        now = self._hashes(provenance.sources)
        if isinstance(now, str):
            return Stale(now, provenance.command)
        if provenance.sources_hash in now:
            return None
        count = len(provenance.sources)
        return Stale(f"a file it depends on ({count} in all) changed since it was taken", provenance.command)

    def note(self, record: Record) -> str:
        """Say which file had another, equivalent text when a fresh record was taken; "" where none had."""
        now = self._hashes(record.provenance.sources) if record.provenance.sources else ""
        return "" if isinstance(now, str) else now.get(record.provenance.sources_hash, "")


def _hashes(root: Path, sources: tuple[str, ...], same: tuple[Equivalent, ...]) -> dict[str, str] | str:
    """Return the hashes under which the sources pass, with what to say of each, or why there is none."""
    try:
        found = {hash_sources(root, sources): ""}
        # Only files among the sources can make a difference; each one doubles the number of hashes.
        texts: dict[str, list[Equivalent | None]] = {}
        for entry in same:
            if any(Path(entry.path).is_relative_to(source) for source in sources):
                texts.setdefault(entry.path, [None]).append(entry)
        for picked in product(*texts.values()):
            chosen = [entry for entry in picked if entry is not None]
            hashed = hash_sources(root, sources, {e.path: e.was for e in chosen})
            found.setdefault(hashed, "; ".join(f"{EQUIVALENT} {e.path}: {e.reason}" for e in chosen))
        return found
    except SourceError as error:
        return str(error).removesuffix(f" in {root.resolve()}")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
