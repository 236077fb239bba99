"""Content-addressed cache of builds: synthesis, place and route, compiled simulators.

    entry = build({"step": "synthesis", "top": "fifo"}, [Path("fifo.sv")], produce)

The entry is a folder named by the hash of the key parts (JSON values: step, parameters, tool versions) and of the names
and contents of the input files. `produce(folder)` fills it; it runs at most once per key, also with several processes.
The folder is produced under a temporary name and renamed, so an interrupted build leaves nothing that looks finished.
Default root: `<repository>/.cache/builds`, or the user's cache folder when installed without the repository; the
environment variable GATEWARP_CACHE overrides it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_REPOSITORY = Path(__file__).resolve().parents[2]


def root() -> Path:
    """Root folder of the cache (not created here)."""
    override = os.environ.get("GATEWARP_CACHE")
    if override:
        return Path(override).expanduser().resolve()
    if (_REPOSITORY / "pyproject.toml").exists():
        return _REPOSITORY / ".cache" / "builds"
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "gatewarp" / "builds"


def key(key_parts: Mapping[str, Any], inputs: Sequence[Path] = ()) -> str:
    """Name of the entry: 32 hexadecimal digits from the key parts and the inputs' names and contents, in order.

    A folder among the inputs stands for all files below it. Errors: FileNotFoundError for a missing input, TypeError
    for a key part that JSON cannot hold.
    """
    digest = hashlib.sha256(json.dumps(dict(key_parts), sort_keys=True).encode())
    for path in inputs:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            name = file.relative_to(path.parent).as_posix()
            digest.update(f"\0{name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:32]


def build(key_parts: Mapping[str, Any], inputs: Sequence[Path], produce: Callable[[Path], None]) -> Path:
    """Return the folder of an entry, calling `produce(temporary_folder)` first when it is not there yet.

    A second process that wants the same entry waits for the first. When `produce` raises, the temporary folder
    `<key>.part` is kept for its logs until the next try, and nothing is entered.
    """
    folder = root() / key(key_parts, inputs)
    if folder.is_dir():
        return folder
    with _lock(folder):
        if folder.is_dir():
            return folder
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            (part / "key.json").write_text(json.dumps(dict(key_parts), sort_keys=True, indent=1) + "\n")
            produce(part)
            os.rename(part, folder)
        except Exception:
            raise
        except BaseException:  # Ctrl-C: leave nothing behind
            shutil.rmtree(part, ignore_errors=True)
            raise
    return folder


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold the entry's lock, across processes and threads; a process that dies lets go of it."""
    locks = folder.parent / ".locks"
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / folder.name).open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
