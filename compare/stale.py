"""Whether what a record measured is still what the repository holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from compare.provenance import SourceError, hash_sources
from compare.record import Record


@dataclass(frozen=True)
class Stale:
    """Why a record no longer speaks for the present sources, and the command that renews it."""

    reason: str
    command: str

    def __str__(self) -> str:
        return f"{self.reason}; renew with `{self.command}`" if self.command else self.reason


class StaleCheck:
    """Checks records against the sources under `root`; each set of sources is hashed once."""

    def __init__(self, root: Path | str) -> None:
        self._hash = lru_cache(maxsize=None)(lambda sources: _hash(Path(root), sources))

    def __call__(self, record: Record) -> Stale | None:
        """Return why the record is stale, or None while its sources are what they were."""
        provenance = record.provenance
        if not provenance.sources:
            return Stale("it names no sources", provenance.command)
        now = self._hash(provenance.sources)
        if now == provenance.sources_hash:
            return None
        reason = now if now.startswith("source ") else f"a file it depends on ({len(provenance.sources)} in all) changed since it was taken"
        return Stale(reason, provenance.command)


def _hash(root: Path, sources: tuple[str, ...]) -> str:
    try:
        return hash_sources(root, sources)
    except SourceError as error:
        return str(error).removesuffix(f" in {root.resolve()}")
