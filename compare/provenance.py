"""Where a record comes from: content hash of the sources, revision, anonymous host, time.

Standard library only, so that a bare measuring machine can use it from a copied folder.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from compare.record import Provenance


class SourceError(ValueError):
    """A source path that is missing, absolute or outside the repository; the message names it."""


def repo_root() -> Path:
    """Return the folder that holds the packages, whether it is a git checkout or a copied folder."""
    return Path(__file__).resolve().parents[1]


def hash_sources(root: Path | str, paths: Iterable[str], instead: Mapping[str, str] | None = None) -> str:
    """Return the SHA-256 (64 hexadecimal digits) over the names and contents of files and folders.

    `paths` are relative to `root`; folders count with all that is in them, except `__pycache__` and names that begin
    with a dot. Order and repetition of `paths` do not matter. `instead` gives, by path, the SHA-256 of another text
    of some files. Errors: SourceError, naming a path that is missing, absolute or outside `root`.
    """
    top = Path(root).resolve()
    files: dict[str, Path] = {}
    for path in paths:
        start = top / path
        if Path(path).is_absolute() or not start.resolve().is_relative_to(top):
            raise SourceError(f"source {path!r} is not a path inside {top}")
        if not start.exists():
            raise SourceError(f"source {path!r} does not exist in {top}")
        for file in _files(start):
            files[Path(os.path.normpath(file)).relative_to(top).as_posix()] = file
    digest = hashlib.sha256()
    for name in sorted(files):
        other = (instead or {}).get(name)
        content = bytes.fromhex(other) if other else hashlib.sha256(files[name].read_bytes()).digest()
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()


def revision(root: Path | str) -> str:
    """Return the short git hash of `root`, with `-dirty` when a tracked file differs, or `unknown` without git."""
    top = Path(root).resolve()
    where = _git(top, "rev-parse", "--show-toplevel")
    head = _git(top, "rev-parse", "--short", "HEAD")
    changes = _git(top, "status", "--porcelain", "--untracked-files=no")
    if where is None or head is None or changes is None or Path(where).resolve() != top:
        return "unknown"
    return f"{head}-dirty" if changes else head


def host() -> str:
    """Describe this machine without naming it, for example `AMD EPYC, 2 cores, Linux x86_64`."""
    count = os.cpu_count() or 1
    return f"{cpu_model()}, {count} core{'s' if count != 1 else ''}, {platform.system()} {platform.machine()}"


def cpu_model() -> str:
    """Return the CPU's model name as the system tells it, or the machine type when it tells none."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model") and value.strip():
            return " ".join(value.split())
    return platform.machine() or "unknown CPU"


def cpu_slug() -> str:
    """Return the device name of the local CPU, such as `cpu-amd-epyc`: its model in lower case, joined by hyphens."""
    model = re.sub(r"\((r|tm|c)\)|@.*|\b(cpu|processor)\b|\b\d+-core\b", " ", cpu_model().lower())
    return "cpu-" + re.sub(r"[^a-z0-9]+", "-", model).strip("-")


def utc_now() -> str:
    """Return the present time as ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def make_provenance(
    command: str,
    sources: Iterable[str],
    tools: Mapping[str, str] | None = None,
    tier: str = "product",
    source: str = "",
    *,
    root: Path | str | None = None,
) -> Provenance:
    """Return the provenance of a record made now, here, from these sources.

    `command` renews the record; `sources` are repository-relative files or folders; `tools` maps tool to version.
    Errors: SourceError for a bad source, RecordError for an unknown tier.
    """
    top = Path(root) if root is not None else repo_root()
    paths = tuple(sorted(set(sources)))
    return Provenance(
        time=utc_now(),
        host=host(),
        command=command,
        revision=revision(top),
        sources=paths,
        sources_hash=hash_sources(top, paths),
        tools=dict(tools or {}),
        tier=tier,
        source=source,
    )


def _files(start: Path) -> Iterator[Path]:
    if start.is_file():
        yield start
        return
    for entry in start.iterdir():
        if entry.name != "__pycache__" and not entry.name.startswith("."):
            yield from _files(entry)


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
